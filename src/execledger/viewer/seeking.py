"""The process that finds and counts runs, seen from the one that asks: started when needed, and replaced if it dies."""

from __future__ import annotations

import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from execledger.viewer.scan import Counting, Done, Errand, Note, Unread

COMMAND = (sys.executable, "-P", "-m", "execledger.viewer.worker")
"""The process."""


class Seeker:
    """Looks for runs again and again, on a thread of its own."""

    def __init__(self, errand: Errand, tell: Callable[[Note], None], command: Sequence[str] = COMMAND) -> None:
        """Looks for what ``errand`` says, and tells what it finds on its thread."""
        self._errand = errand
        self._tell = tell
        self._command = command
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="execledger-seeker", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """Look once more."""
        self._asked.put(True)

    def close(self) -> None:
        """Look no more."""
        self._closed = True
        self._asked.put(False)
        while self._thread.is_alive():
            # Whatever the thread reads from the process ends with it; it may just be starting one.
            if self._process is not None:
                self._process.kill()
            self._thread.join(0.05)

    def _work(self) -> None:
        while self._asked.get() and not self._closed:
            counting = ""
            for note in self._notes():
                counting = note.name if isinstance(note, Counting) else counting
                self._tell(note)
                if isinstance(note, Done):
                    break
            else:
                self._died(counting)
        self._let_go()

    def _let_go(self) -> None:
        """End the process, and let go of its pipes."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:
                return

    def _notes(self) -> Iterator[Note]:
        """What the process finds, until it is done or dies."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):
            pickle.dump(self._errand, process.stdin)
            process.stdin.flush()
            while True:
                yield pickle.load(process.stdout)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._process

    def _died(self, counting: str) -> None:
        """Go on without the run that the process died of; without one there is nothing to go on with."""
        self._let_go()
        if self._closed:
            return
        if counting and counting not in self._errand.without:
            self._tell(Unread(counting, "it can't be counted: the process that read it died"))
            self._errand = replace(self._errand, without=(*self._errand.without, counting))
            self.look()
        else:
            self._tell(Unread(self._command[-1], "runs can't be looked for: the process that does it died"))
            self._tell(Done())
