"""Reading a journal back, and the ledger that its steps make.

What a killed process, a full disk or a newer version leaves behind is tolerated and reported, never guessed at.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from execledger.core.ledger import Ledger
from execledger.errors import UnreadableRun
from execledger.journal.codec import decode
from execledger.journal.events import VERSION, Ended, Event, FaultCaught, Started, StepRecorded, ViewRendered
from execledger.symbols.steps import edited_symbols

_NO_EVENT = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_HINT = "a newer execledger reads it"


class Trouble(Struct):
    """What was not as it should be in a journal."""

    torn: bool = False
    """The last line is not whole: the writer was killed, or had no room."""
    damaged: int = 0
    """Other lines that are no events, or steps that refer to what does not stand before them."""
    lost: int = 0
    """Steps that stand behind a gap: without the steps before them they mean nothing."""
    unknown_events: int = 0
    """Events of a kind that this version does not know."""
    unknown_fields: int = 0
    """Fields of known events that this version does not know."""
    miscounted: bool = False
    """The end counts another number of steps than there are."""

    def sentences(self) -> tuple[str, ...]:
        """The trouble in words."""
        said = {
            "the last line is torn": self.torn,
            f"lines that are no events: {self.damaged}": self.damaged,
            f"steps behind a gap: {self.lost}": self.lost,
            f"events of an unknown kind: {self.unknown_events}": self.unknown_events,
            f"unknown fields: {self.unknown_fields}": self.unknown_fields,
            "the end counts another number of steps than there are": self.miscounted,
        }
        return tuple(sentence for sentence, holds in said.items() if holds)


class JournalRun(Struct, frozen=True):
    """One journal, read."""

    name: str
    """Where it was found."""
    start: Started
    """What run it is."""
    steps: tuple[StepRecorded, ...]
    """The steps, in order and without a gap."""
    views: tuple[ViewRendered, ...]
    """The state views."""
    faults: tuple[FaultCaught, ...]
    """The faults that were caught."""
    ended: Ended | None
    """How it ended; None if the end is missing."""
    trouble: Trouble
    """What was not as it should be."""


class Mismatch(Struct, frozen=True):
    """The first step behind which the rebuilt ledger is not the one that was recorded."""

    index: int
    """The step."""
    recorded: str
    """The digest in the journal."""
    rebuilt: str
    """The digest of the rebuilt ledger."""
    altered: bool
    """A secret was redacted from the task or from an action up to here, so the two may well differ."""


class Rebuilt(Struct, frozen=True):
    """The ledger that a journal's steps make."""

    ledger: Ledger
    """The state behind the last step."""
    mismatch: Mismatch | None
    """Where it first differs from what was recorded; None if it never does."""

    @property
    def faults(self) -> int:
        """Faults of Ledger's own while it was rebuilt; after one, a mismatch says nothing about the journal."""
        return self.ledger.faults.count


def read_events(name: str, data: bytes, trouble: Trouble) -> Iterator[Event]:
    """The events of the journal ``name``, one at a time; what can't be read is noted in ``trouble``."""
    lines = io.BytesIO(data)
    yield _start(name, next(lines, b""))
    for line in lines:
        try:
            decoded = decode(line)
        except _NO_EVENT:
            torn = not line.endswith(b"\n")
            trouble.torn |= torn
            trouble.damaged += not torn and bool(line.strip())
            continue
        trouble.unknown_fields += decoded.unknown_fields
        event = decoded.event
        if event is None:
            trouble.unknown_events += 1
        elif isinstance(event, StepRecorded) and not event.step.valid_at(event.index):
            trouble.damaged += 1
        else:
            yield event


def _start(name: str, line: bytes) -> Started:
    """The first line, which says what the others are."""
    try:
        version = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).get("version", msgspec.Raw(b"0"))
        number = msgspec.json.decode(version, type=int)
        if number > VERSION:
            reason = f"found a journal of version {number}, expected at most {VERSION}"
            raise UnreadableRun(name, reason, hint=_HINT)
        event = decode(line).event
        if isinstance(event, Started):
            event.known_policy()
            return event
    except _NO_EVENT as error:
        raise UnreadableRun(name, f"expected the start of a journal, found: {error}") from error
    raise UnreadableRun(name, "expected the start of a journal, found another event")


def read_journal(name: str, data: bytes) -> JournalRun:
    """Read a whole journal; raises ``UnreadableRun`` if it is none, or of a newer version."""
    trouble = Trouble()
    events = list(read_events(name, data, trouble))
    start = events[0]
    assert isinstance(start, Started), "read_events begins with the start"
    all_steps = [event for event in events if isinstance(event, StepRecorded)]
    steps = [step for position, step in enumerate(all_steps) if step.index == position]
    gap = next((position for position, step in enumerate(all_steps) if step.index != position), len(all_steps))
    ended = next((event for event in reversed(events) if isinstance(event, Ended)), None)
    trouble.lost = len(all_steps) - gap
    trouble.miscounted = ended is not None and ended.counts.proposed != len(all_steps)
    return JournalRun(
        name=name,
        start=start,
        steps=tuple(steps[:gap]),
        views=tuple(event for event in events if isinstance(event, ViewRendered)),
        faults=tuple(event for event in events if isinstance(event, FaultCaught)),
        ended=ended,
        trouble=trouble,
    )


def rebuild(run: JournalRun) -> Rebuilt:
    """Fold the steps into a new ledger, and compare its digest with the recorded one behind each."""
    ledger = Ledger(run.start.task, run.start.known_policy(), edited_symbols)
    altered, mismatch = run.start.altered, None
    for event in run.steps:
        ledger.record(event.step)
        altered |= event.altered
        if mismatch is None and ledger.digest != event.digest:
            mismatch = Mismatch(event.index, event.digest, ledger.digest, altered)
    return Rebuilt(ledger, mismatch)
