"""A journal whose events are written after the request has been forwarded, and by the worker where they are many."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from execledger.journal.events import Event, StepRecorded, ViewRendered
from execledger.proxy.limits import STEP
from execledger.proxy.offload import Work, whole
from execledger.session.chronicle import Chronicle

Later: TypeAlias = Callable[[Work[None]], object]
"""Runs the work that it is given, now or soon; may be called on any thread."""


def at_once(work: Work[None]) -> None:
    """Run the work now."""
    whole(work)


class LateChronicle(Chronicle):
    """Buffers events and writes them, in their order, when ``later`` runs the work."""

    def __init__(self, folder: Path | None, name: str, tell: Callable[[str], None], later: Later) -> None:
        """As a chronicle, written when ``later`` says."""
        super().__init__(folder, name, tell)
        self._later = later
        self._waiting: deque[Event] = deque()
        self._asked = False
        self._writing = threading.Lock()
        """Held while an event is taken and written: events are written in their order, whoever writes them."""

    def note(self, event: Event) -> None:
        """Take in one event, soon."""
        self._waiting.append(event)
        self._ask()

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._later(self.catch_up())

    def catch_up(self) -> Work[None]:
        """Write what waits."""
        while (event := self._next()) is not None:
            yield _weight(event)
            self._write()
        self._asked = False
        if self._waiting:
            # Noted on another thread just before.
            self._ask()

    def _next(self) -> Event | None:
        """The event to be written next; another thread may write it before."""
        with self._writing:
            return self._waiting[0] if self._waiting else None

    def _write(self) -> None:
        with self._writing:
            event = self._waiting.popleft() if self._waiting else None
            if event is not None:
                super().note(event)

    def end(self, reason: str = "") -> None:
        """Close the run, with everything that waits before its end."""
        self._later = at_once
        self._asked = False
        whole(self.catch_up())
        super().end(reason)


def _weight(event: Event) -> int:
    """What an event weighs: its long texts are redacted, encoded and written."""
    if isinstance(event, StepRecorded):
        return STEP + len(event.step.action.command) + len(event.step.observation.output)
    return STEP + len(event.text) if isinstance(event, ViewRendered) else STEP
