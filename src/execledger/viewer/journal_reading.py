"""A journal, read line by line while it may still be written.

Only the places of its lines are kept: a step in full is read again when it is asked for. A last line that is not whole
waits until it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import msgspec
from msgspec import Struct

from execledger.core.actions import Observation
from execledger.core.decisions import Step
from execledger.core.fingerprint import fingerprint
from execledger.errors import UnreadableRun
from execledger.journal.codec import decode
from execledger.journal.events import Event, Started, StepRecorded, ViewRendered
from execledger.journal.reader import Trouble, read_events
from execledger.viewer.counting import Origin
from execledger.viewer.model import Telling, Told
from execledger.viewer.readings import Reading

NO_EVENT = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding a line raises that is no event."""


class Place(Struct, frozen=True):
    """Where a line stands in a journal."""

    offset: int
    """Where it begins."""
    size: int
    """How long it is."""


class JournalReading(Reading):
    """What Ledger did, from the journal that it kept."""

    def __init__(self, name: str, opener: Callable[[], BinaryIO]) -> None:
        """The journal that ``opener`` opens for reading; raises ``UnreadableRun`` if it is none."""
        self._trouble = Trouble()
        with opener() as file:
            line = file.readline()
        if not line.endswith(b"\n"):
            raise UnreadableRun(name, "found no whole line yet, expected the start of a journal")
        start = next(read_events(name, line, self._trouble))
        assert isinstance(start, Started), "read_events begins with the start"
        super().__init__(Telling(Origin.of_journal(name, start), start.known_policy(), governed=True))
        self.offset = len(line)
        """How much of the file was read."""
        self._opener = opener
        self._file: BinaryIO | None = None
        self._since = 0
        self._lines: list[tuple[Place, Place | None]] = []
        self._views: dict[str, tuple[int | None, Place]] = {}

    def trouble(self) -> tuple[str, ...]:
        """What was not as it should be in the journal."""
        return (*super().trouble(), *self._trouble.sentences())

    @contextmanager
    def _opened(self) -> Iterator[None]:
        with self._opener() as self._file:
            self._file.seek(self.offset)
            yield
        self._file = None

    def _next(self) -> bool:
        """Take in lines up to the next step."""
        assert self._file is not None
        told = len(self.telling)
        while len(self.telling) == told:
            line = self._file.readline()
            self._trouble.torn = bool(line) and not line.endswith(b"\n")
            if not line or self._trouble.torn:
                self.over = self.telling.count.over
                return False
            place = Place(self.offset, len(line))
            self.offset += len(line)
            event = self._event(line)
            if event is not None:
                self._take(event, place)
        return True

    def _event(self, line: bytes) -> Event | None:
        """The event on a line; None, and it is noted, if this version can't read it."""
        try:
            decoded = decode(line)
        except NO_EVENT:
            self._trouble.damaged += bool(line.strip())
            return None
        self._trouble.unknown_fields += decoded.unknown_fields
        self._trouble.unknown_events += decoded.event is None
        return decoded.event

    def _take(self, event: Event, place: Place) -> None:
        if isinstance(event, StepRecorded):
            if event.index == len(self.telling):
                self._take_step(event, place)
            else:
                self._trouble.lost += 1
            return
        if isinstance(event, ViewRendered):
            self._views[event.thread] = (None, place)
        self.telling.count.add_event(event)

    def _take_step(self, event: StepRecorded, place: Place) -> None:
        self.telling.tracks.ledger.record(event.step)
        self.telling.add(event.step, event.turn, None, again=bool(event.reread))
        self.telling.count.over = False
        self._lines.append((place, self._view_of(event)))
        if event.since > self._since:
            self.telling.compactions.append(event.index)
        self._since = event.since

    def _view_of(self, event: StepRecorded) -> Place | None:
        """The view that the model read before a step: it is read in one turn, and the first step tells which."""
        thread = event.step.action.thread
        turn, view = self._views.get(thread, (None, None))
        if view is not None and turn is None:
            self._views[thread] = (event.turn, view)
        return view if turn in (None, event.turn) else None

    def _told(self, index: int) -> Told:
        place, view = self._lines[index]
        event = self._read(place)
        text = self._read(view) if view is not None else None
        if not isinstance(event, StepRecorded):
            name = self.telling.origin.name
            raise UnreadableRun(name, f"found another line at step {index}, expected the one that stood there")
        return Told(
            step=event.step,
            truth=self._truth(event.step),
            turn=event.turn,
            view=text.text if isinstance(text, ViewRendered) else "",
        )

    def _truth(self, step: Step) -> Observation:
        """What a step returned: what it shows, or what stands in the result that its reference points at."""
        shown = step.shown
        if shown.kind != "reference":
            return step.observation
        for index in shown.refers_to if shown.compared == "same" else ():
            holder = self._read(self._lines[index][0]) if 0 <= index < len(self._lines) else None
            if isinstance(holder, StepRecorded) and shown.result is not None:
                found = holder.step.observation
                if fingerprint(found, steady=False).digest == shown.result.digest:
                    return found
        return Observation(exit_status=step.observation.exit_status, truncated=True)

    def _read(self, place: Place) -> Event | None:
        """The event at a place; None if something else stands there by now."""
        with self._opener() as file:
            file.seek(place.offset)
            line = file.read(place.size)
        try:
            return decode(line).event
        except NO_EVENT:
            return None
