"""A chronicle that is written a moment later, when the request is on its way and nobody waits for us."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from execledger.agents.chronicle import Chronicle
from execledger.journal.events import Event

Later: TypeAlias = Callable[[Callable[[], None]], object]
"""Calls what it is given, now or soon."""


def at_once(work: Callable[[], None]) -> None:
    """Not later but now."""
    work()


class LateChronicle(Chronicle):
    """Takes events in whenever ``later`` lets it, in their order."""

    def __init__(self, folder: Path | None, name: str, tell: Callable[[str], None], later: Later) -> None:
        """As a chronicle, written when ``later`` says."""
        super().__init__(folder, name, tell)
        self._later = later
        self._waiting: list[Event] = []

    def note(self, event: Event) -> None:
        """Take in one event, soon."""
        self._waiting.append(event)
        if len(self._waiting) == 1:
            self._later(self.catch_up)

    def catch_up(self) -> None:
        """Take in what waits."""
        events, self._waiting = self._waiting, []
        for event in events:
            super().note(event)

    def end(self, reason: str = "") -> None:
        """Close the run, with everything that waits before its end."""
        self.catch_up()
        self._later = at_once
        super().end(reason)
