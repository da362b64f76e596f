"""Long computations off the event loop: in portions, on one worker thread, so that other clients are not delayed.

Work is a generator that yields the weight of each piece before doing it. Short work runs on the loop, as a thread would
only delay it. Long work runs on the thread, one portion at a time; between two portions, the work of other sessions has
its turn. Work on a session holds the session's lock from beginning to end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Work: TypeAlias = Generator[int, None, T]
"""Yields the weight of its next piece, in characters of new text; returns its result."""
PORTION = 50_000
"""The weight of one portion, in characters of new text: 5 to 10 ms."""
LIGHTER = 20
"""How much less a byte weighs that is only split, hashed or copied."""


class WorkerClosed(Exception):
    """The proxy is closing: long work is abandoned, and so is its request."""


class WorkRunner(Protocol):
    """Runs work to its end."""

    async def run(self, work: Work[T], lock: asyncio.Lock | None = None) -> T:
        """The result of ``work``, computed with ``lock`` held."""
        ...

    async def close(self) -> None:
        """Accept no more work."""
        ...


def run_to_end(work: Work[T]) -> T:
    """The result of ``work``, computed now on the calling thread."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


class InlineRunner:
    """Runs all work on the calling thread, for callers without an event loop."""

    async def run(self, work: Work[T], lock: asyncio.Lock | None = None) -> T:
        """The result of ``work``."""
        return run_to_end(work)

    async def close(self) -> None:
        """Do nothing: no work is pending."""


class RunningWork:
    """Work that has begun."""

    def __init__(self, work: Work[T]) -> None:
        """Work of which nothing has been run yet."""
        self._work = work
        self._weight = 0
        self.result: object = None
        """The result, after the last portion."""

    def advance(self, *, at_least_one: bool) -> bool:
        """Run one portion; True if it was the last."""
        left = PORTION
        try:
            while self._weight <= left or at_least_one:
                at_least_one = False
                left -= self._weight
                self._weight = next(self._work)
        except StopIteration as end:
            self.result = end.value
            return True
        return False


class Worker:
    """Runs long work on a thread of its own."""

    def __init__(self) -> None:
        """A worker whose thread starts with the first long work."""
        self._pool = ThreadPoolExecutor(1, "execledger-worker")
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self, work: Work[T], lock: asyncio.Lock | None = None) -> T:
        """The result of ``work``, computed with ``lock`` held; cancelling the awaiting task does not stop it."""
        running, lock, ended = RunningWork(work), lock or asyncio.Lock(), True
        await lock.acquire()
        try:
            ended = running.advance(at_least_one=False)
            if not ended:
                task = self._keep(asyncio.get_running_loop().create_task(self._go_on(running, lock)))
        finally:
            if ended:
                lock.release()
        if not ended:
            await asyncio.shield(task)
        result: T = running.result  # type: ignore[assignment]
        return result

    def start(self, work: Work[None]) -> None:
        """Run ``work`` in the background; a closed worker starts nothing."""
        if not self._closed:
            self._keep(asyncio.get_running_loop().create_task(self.run(work)))

    def _keep(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _go_on(self, running: RunningWork, lock: asyncio.Lock) -> None:
        """Run the remaining portions on the thread, then release the lock."""
        loop, ended = asyncio.get_running_loop(), False
        try:
            while not ended:
                if self._closed:
                    raise WorkerClosed
                ended = await loop.run_in_executor(self._pool, _portion, running)
        finally:
            lock.release()

    async def close(self) -> None:
        """Abandon unfinished work after its current portion."""
        self._closed = True
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self._pool.shutdown()


def _portion(running: RunningWork) -> bool:
    return running.advance(at_least_one=True)
