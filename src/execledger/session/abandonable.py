"""Work that may never return, such as reading a file of a network mount that does not answer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import ClassVar


class AbandonableWork:
    """Runs work on another thread, and waits for it as long as it may take.

    What does not return in time is left to itself: nothing waits for it any more, nor does the end of the process.
    Until it has returned, no other work is started, so that there is at most one such thread.
    An instance belongs to one process: a child that is forked while work runs needs one of its own.
    """

    def __init__(self) -> None:
        """No work was started yet."""
        self._unfinished = threading.Lock()
        """Held from the start of work until it has returned."""

    @property
    def stuck(self) -> bool:
        """Earlier work has not returned yet."""
        return self._unfinished.locked()

    def run(self, work: Callable[[], None], seconds: float) -> None:
        """Run ``work``, and return when it has ended or its time is over; what it raises is raised here."""
        if not self._unfinished.acquire(blocking=False):
            return
        failed: list[BaseException] = []

        def catching() -> None:
            try:
                work()
            except BaseException as error:
                failed.append(error)

        try:
            _Thread.idle().run_next(catching, self._unfinished.release)
        except BaseException:
            self._unfinished.release()
            raise
        if self._unfinished.acquire(timeout=seconds):
            self._unfinished.release()
        if failed:
            raise failed[0]


class _Thread(threading.Thread):
    """A thread that is used again after its work has returned: starting one takes longer than most looks."""

    _idle: ClassVar[deque[_Thread]] = deque()
    """Threads without work, of the whole process."""

    def __init__(self) -> None:
        """A thread that the end of the process does not wait for."""
        super().__init__(name="execledger-look", daemon=True)
        self._given: SimpleQueue[tuple[Callable[[], None], Callable[[], None]]] = SimpleQueue()

    @classmethod
    def idle(cls) -> _Thread:
        """A thread without work."""
        try:
            # In a process that was forked, the threads of the other one do not run.
            while not (thread := cls._idle.pop()).is_alive():
                pass
        except IndexError:
            thread = cls()
            thread.start()
        return thread

    def run_next(self, work: Callable[[], None], ended: Callable[[], None]) -> None:
        """Run ``work``, which raises nothing, and call ``ended`` when the thread can be used again."""
        self._given.put((work, ended))

    def run(self) -> None:
        """Run the work that it is given, for as long as the process runs."""
        while True:
            work, ended = self._given.get()
            work()
            # What it refers to is not kept until there is other work.
            del work
            self._idle.append(self)
            ended()
