"""Whether anybody looks: an open page asks for something once in a while, if only to say that it is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Presence:
    """When the server was last asked for something. Asked on one thread, told on any."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody has asked yet."""
        self._clock = clock
        self._last: float | None = None
        self._open = 0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Somebody is being answered; a stream is one answer that takes as long as the page is open."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._last = self._clock()

    def quiet(self) -> float | None:
        """Seconds since somebody was last answered; None if nobody ever was."""
        if self._open:
            return 0.0
        return None if self._last is None else self._clock() - self._last
