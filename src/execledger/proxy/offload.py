"""Long work off the event loop: in pieces, on one worker thread, so that no other client waits for it.

Work is a generator that yields, before each of its pieces, what that piece weighs. Short work is done on the loop, as a
thread would only delay it. Long work goes to the thread, a portion at a time: between two portions, the work of other
sessions has its turn. Work on a session holds the session's lock from its beginning to its end.
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
"""What is done at once, in characters of new text: 5 to 10 ms."""
LIGHTER = 20
"""How much less a byte weighs that is only split, hashed or copied."""


class Ended(Exception):
    """The proxy is closing: long work is given up, and so is its request."""


class Runner(Protocol):
    """Runs work to its end."""

    async def run(self, work: Work[T], lock: asyncio.Lock | None = None) -> T:
        """The result of ``work``, done with ``lock`` held."""
        ...

    async def close(self) -> None:
        """Do no more."""
        ...


def whole(work: Work[T]) -> T:
    """The result of ``work``, all of it done now."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


class Inline:
    """Does all work at once, for callers without an event loop."""

    async def run(self, work: Work[T], lock: asyncio.Lock | None = None) -> T:
        """The result of ``work``."""
        return whole(work)

    async def close(self) -> None:
        """Nothing is left to be done."""


class _Running:
    """Work that has begun."""

    def __init__(self, work: Work[T]) -> None:
        self._work = work
        self._weight = 0
        self.result: object = None

    def advance(self, *, at_least_one: bool) -> bool:
        """Do a portion; whether that was the last."""
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
    """Does long work on a thread of its own."""

    def __init__(self) -> None:
        """A worker whose thread begins with the first long work."""
        self._pool = ThreadPoolExecutor(1, "execledger-worker")
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self, work: Work[T], lock: asyncio.Lock | None = None) -> T:
        """The result of ``work``, done with ``lock`` held; if the waiting request is cancelled, the work goes on."""
        running, lock, ended = _Running(work), lock or asyncio.Lock(), True
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
        """Run ``work`` in the background; when the worker is closed, nothing is started."""
        if not self._closed:
            self._keep(asyncio.get_running_loop().create_task(self.run(work)))

    def _keep(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _go_on(self, running: _Running, lock: asyncio.Lock) -> None:
        """Do the rest on the thread, portion by portion, and unlock what was locked for it."""
        loop, ended = asyncio.get_running_loop(), False
        try:
            while not ended:
                if self._closed:
                    raise Ended
                ended = await loop.run_in_executor(self._pool, _portion, running)
        finally:
            lock.release()

    async def close(self) -> None:
        """Give up what has not ended, behind its current portion."""
        self._closed = True
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self._pool.shutdown()


def _portion(running: _Running) -> bool:
    return running.advance(at_least_one=True)
