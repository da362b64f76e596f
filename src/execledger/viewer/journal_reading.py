"""A journal, told step by step while it may still be written.

Only the places of its lines are kept: a step in full is read again when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from execledger.core.fingerprint import fingerprint
from execledger.errors import UnreadableRun
from execledger.journal.events import Event, StepRecorded, ViewRendered
from execledger.viewer.counting import Origin
from execledger.viewer.journal_lines import NO_EVENT, JournalLines, Place, decoded_line, has_end
from execledger.viewer.model import Telling, Told
from execledger.viewer.reading import Reading
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Step


class JournalReading(Reading):
    """What Ledger did, from the journal that it kept."""

    def __init__(self, name: str, opener: Callable[[], BinaryIO]) -> None:
        """The journal that ``opener`` opens for reading; raises ``UnreadableRun`` if it is none."""
        with opener() as file:
            self._journal = JournalLines(name, file)
        start = self._journal.start
        super().__init__(Telling(Origin.of_journal(name, start), start.known_policy(), governed=True))
        self._opener = opener
        self._file: BinaryIO | None = None
        self._lines: list[tuple[Place, Place | None]] = []
        self._views: dict[str, tuple[int | None, Place]] = {}

    @property
    def offset(self) -> int:
        """How much of the file was read."""
        return self._journal.offset

    def ends(self) -> bool:
        """The end of the journal is written, though it may not be read yet."""
        if self.waits or self.over:
            return self.telling.count.over
        with self._opener() as file:
            return has_end(file)

    def trouble(self) -> tuple[str, ...]:
        """What was not as it should be in the journal."""
        return (*super().trouble(), *self._journal.trouble.sentences())

    @contextmanager
    def _opened(self) -> Iterator[None]:
        with self._opener() as self._file:
            self._file.seek(self.offset)
            yield
        self._file = None

    def _next(self) -> bool:
        """Take in lines up to the next step."""
        assert self._file is not None
        while (found := self._journal.next(self._file)) is not None:
            place, event = found
            self._take(event, place)
            if isinstance(event, StepRecorded):
                return True
        self.over = self.telling.count.over
        return False

    def _take(self, event: Event, place: Place) -> None:
        if isinstance(event, StepRecorded):
            self.telling.tracks.ledger.record(event.step)
            self.telling.add(event.step, event.turn, event.since)
            self._lines.append((place, self._view_of(event)))
        elif isinstance(event, ViewRendered):
            self._views[event.thread] = (None, place)
        self.telling.count.add_event(event)

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
            return decoded_line(line).event
        except NO_EVENT:
            return None
