"""A journal that is created and written after requests have been forwarded; long events are written on the worker
thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from execledger.journal.events import Event, StepRecorded, ViewRendered
from execledger.proxy.limits import STEP
from execledger.proxy.worker import Work, run_to_end
from execledger.session.chronicle import Chronicle

Schedule: TypeAlias = Callable[[Work[None]], object]
"""Runs the given work, now or soon; may be called on any thread."""


class DeferredJournal(Chronicle):
    """Buffers journal events; completes and writes them, in order, after the request has been forwarded."""

    def __init__(self, folder: Path | None, name: str, tell: Callable[[str], None], schedule: Schedule) -> None:
        """A chronicle whose events are written by the work that ``schedule`` is given; the first one to a new file."""
        super().__init__(None, name, tell)
        self._uncreated = partial(self._create, folder, name) if folder is not None else None
        self._schedule = schedule
        self._buffer: deque[tuple[Event, Callable[[], Event] | None]] = deque()
        self._scheduled = False
        self._writing = threading.Lock()
        """Held while an event is taken from the buffer and written: the order is kept on whichever thread."""
        self._writer: int | None = None
        """The thread that is completing and writing an event, with that lock held."""

    def note(self, event: Event, completed: Callable[[], Event] | None = None) -> None:
        """Buffer one event, and schedule a flush."""
        self._buffer.append((event, completed))
        self._request_flush()

    def _request_flush(self) -> None:
        # A fault while an event is completed is noted in the midst of a flush, which writes it next. A second flush on
        # this thread would wait for the lock that the first one holds.
        # At the end every event is written before the next line of code, also while another thread is flushing.
        due = not self._scheduled or self._schedule is run_to_end
        if due and self._writer != threading.get_ident():
            self._scheduled = True
            self._schedule(self.flush())

    def flush(self) -> Work[None]:
        """Write the buffered events."""
        try:
            while (event := self._next()) is not None:
                yield _weight(event)
                self._write()
        finally:
            self._scheduled = False
        if self._buffer:
            # Noted on another thread after the last look at the buffer.
            self._request_flush()

    def _next(self) -> Event | None:
        """The next event in the buffer; another thread may write it first."""
        with self._writing:
            return self._buffer[0][0] if self._buffer else None

    def _write(self) -> None:
        with self._writing:
            if self._buffer:
                self._writer = threading.get_ident()
                create, self._uncreated = self._uncreated, None
                try:
                    if create is not None:
                        create()
                    super().note(*self._buffer.popleft())
                finally:
                    self._writer = None

    def end(self, reason: str = "") -> None:
        """Write the buffered events, then end the run."""
        self._schedule = run_to_end
        run_to_end(self.flush())
        super().end(reason)


def _weight(event: Event) -> int:
    """The weight of an event: its long texts are redacted, encoded and written."""
    if isinstance(event, StepRecorded):
        return STEP + len(event.step.action.command) + len(event.step.observation.output)
    return STEP + len(event.text) if isinstance(event, ViewRendered) else STEP
