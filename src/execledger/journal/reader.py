"""The one reader of journals: whole files, growing files, whether a file is a journal, and whether it may still grow.

What a killed process, a full disk or a newer version leaves behind is tolerated and reported in ``Trouble``. Bytes that
are not UTF-8 become U+FFFD, and their line still counts. Steps behind a gap are dropped and counted: the state that
they were decided in is unknown.
"""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Iterator
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta, Struct

from execledger.core.ledger import Ledger
from execledger.errors import UnreadableRun
from execledger.journal.codec import Decoded, decode
from execledger.journal.events import BYPASSED, Ended, Event, FaultCaught, Sighted, Started, StepRecorded, ViewRendered
from execledger.journal.migrate import NewerVersion
from execledger.symbols.edits import edited_symbols

LIVE_SECONDS = 900.0
"""How long a journal without an end may stay unchanged and still count as growing: commands can be slow."""
TAIL_BYTES = 100_000
"""How far from the end of a file its last line is searched for: the line that ends a journal is short."""
MAX_MODEL_CALLS = 1_000_000
"""Calls of the model that one run may have: no run has so many, and each is looked at when its cost is counted."""
NO_EVENT = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The errors that decoding a line raises if it is not an event."""
_VERSION = msgspec.json.Decoder(Annotated[int, Meta(ge=0)])


class Trouble(Struct):
    """Damage and unknown content in a journal."""

    torn: bool = False
    """The last line is not whole: the writer was killed, or had no room."""
    damaged: int = 0
    """Other lines that are not events, or steps that refer to steps which are not before them."""
    lost: int = 0
    """Steps behind a gap: the state that they were decided in is unknown."""
    unknown_events: int = 0
    """Events of a kind that this version does not know."""
    unknown_fields: int = 0
    """Fields of known events that this version does not know."""
    miscounted: bool = False
    """The end counts another number of steps than there are."""

    def sentences(self) -> tuple[str, ...]:
        """The damage in sentences."""
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
    sightings: tuple[Sighted, ...]
    """What a witness found in the files."""
    views: tuple[ViewRendered, ...]
    """The state views."""
    faults: tuple[FaultCaught, ...]
    """The faults that were caught."""
    ended: Ended | None
    """How it ended; None if the end is missing."""
    trouble: Trouble
    """What was not as it should be."""


class Mismatch(Struct, frozen=True):
    """The first step after which the rebuilt ledger differs from the recorded one."""

    index: int
    """The step."""
    recorded: str
    """The digest in the journal."""
    rebuilt: str
    """The digest of the rebuilt ledger."""
    altered: bool
    """A secret was redacted from the task or an action up to here, so a difference is expected."""


class Rebuilt(Struct, frozen=True):
    """The ledger rebuilt from a journal's steps."""

    ledger: Ledger
    """The state after the last step."""
    mismatch: Mismatch | None
    """The first difference from what was recorded; None if there is none."""

    @property
    def faults(self) -> int:
        """Faults of Ledger itself during the rebuild; after one, a mismatch says nothing about the journal."""
        return self.ledger.faults.count


class Place(Struct, frozen=True):
    """The position of a line in a journal."""

    offset: int
    """The offset of its first byte."""
    size: int
    """Its length in bytes."""


class Header(Struct, frozen=True, kw_only=True):
    """What the first line of a journal has in every version."""

    event: str
    """The kind of event."""
    version: int = 0
    """The version of the format."""
    software: str
    """The version of execledger that wrote it."""
    run: str
    """The run's name."""


class _Kind(Struct):
    """What every line of a journal has, in every version."""

    event: str = ""
    """The kind of event."""


class JournalReader:
    """A position in a journal that may still be written to: each call of ``next`` reads one event more."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Read the first line of ``file``; raises ``UnreadableRun`` if it is not the start of a readable journal."""
        line = file.readline()
        if not line.endswith(b"\n"):
            raise UnreadableRun(name, "found no whole line yet, expected the start of a journal")
        self.trouble = Trouble()
        """What was not as it should be, so far."""
        self.version, self.start = _start(name, line)
        """The version of its format, and the first event."""
        self.offset = len(line)
        """How many bytes were read."""
        self._steps = 0

    def next(self, file: BinaryIO) -> tuple[Place, Event] | None:
        """The next event of ``file``, which is positioned at ``offset``; None if there is no whole one yet."""
        while line := file.readline():
            event = self._event(line)
            if self.trouble.torn:
                # The rest of the line may still be written.
                return None
            place = Place(self.offset, len(line))
            self.offset += len(line)
            if event is not None:
                return place, event
        self.trouble.torn = False
        return None

    def decode(self, line: bytes) -> Decoded:
        """Decode one line, with U+FFFD for bytes that are not UTF-8; raises one of ``NO_EVENT``."""
        try:
            return decode(line, self.version)
        except NO_EVENT:
            text = valid_utf8(line)
            if text == line:
                raise
            return decode(text, self.version)

    def _event(self, line: bytes) -> Event | None:
        """The event on a line; None, noted in ``trouble``, if the line is damaged, unknown or behind a gap."""
        trouble = self.trouble
        try:
            decoded = self.decode(line)
        except NO_EVENT:
            trouble.torn = not line.endswith(b"\n")
            trouble.damaged += not trouble.torn and bool(line.strip())
            return None
        trouble.torn = False
        trouble.unknown_fields += decoded.unknown_fields
        trouble.unknown_events += decoded.event is None
        if decoded.event is not None and _model_calls(decoded.event) > MAX_MODEL_CALLS:
            trouble.damaged += 1
            return None
        return self._in_order(decoded.event) if isinstance(decoded.event, StepRecorded) else decoded.event

    def _in_order(self, event: StepRecorded) -> StepRecorded | None:
        """The step if it is the next one; after a gap nothing is, since its indices refer to other steps."""
        if not event.step.valid_at(event.index):
            self.trouble.damaged += 1
        elif self.trouble.lost or event.index != self._steps:
            self.trouble.lost += 1
        else:
            self._steps += 1
            return event
        return None


def _model_calls(event: Event) -> int:
    """How many calls of the model there were, as an event says it."""
    if isinstance(event, StepRecorded):
        return event.turn
    return (event.model_calls or 0) if isinstance(event, Ended) else 0


def valid_utf8(data: bytes) -> bytes:
    """The data with U+FFFD in place of every byte that is not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def is_journal(data: bytes) -> bool:
    """Whether the first line of ``data`` is the start of a journal, of whichever version."""
    line = data[: data.find(b"\n") + 1] or data
    return b'"event"' in line and b'"start"' in line and _kind(valid_utf8(line)) == "start"


def is_journal_file(path: str) -> bool:
    """Whether the first line of a file is the start of a journal; False if it can't be read."""
    try:
        with open(path, "rb") as file:
            return is_journal(file.readline())
    except OSError:
        return False


def is_bypassed(path: str) -> bool:
    """Whether a file is the journal of a run whose agent sent nothing through Ledger; False if it can't be read."""
    try:
        with open(path, "rb") as file:
            reader = JournalReader(path, file)
            while (found := reader.next(file)) is not None and not isinstance(found[1], StepRecorded):
                if isinstance(found[1], Ended):
                    return found[1].reason == BYPASSED
    except (OSError, UnreadableRun):
        pass
    return False


def read_header(line: bytes) -> Header | None:
    """The first line of a journal, of whichever version; None if it is not a whole one."""
    try:
        header = msgspec.json.decode(line, type=Header)
    except NO_EVENT:
        return None
    return header if header.event == "start" and line.endswith(b"\n") else None


def has_end(file: BinaryIO) -> bool:
    """Whether the last line of a journal is its end, told by the tail of the file without reading the rest."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    return _kind(file.read().rstrip(b"\n").rpartition(b"\n")[2]) == "end"


def may_grow(changed: float, now: float, seconds: float = LIVE_SECONDS) -> bool:
    """Whether a journal without an end, last written at ``changed``, counts as still being written at ``now``."""
    return now - changed < seconds


def _kind(line: bytes) -> str:
    """The kind of event on a line; "" if it is none."""
    try:
        return msgspec.json.decode(line, type=_Kind).event
    except NO_EVENT:
        return ""


def read_events(name: str, data: bytes, trouble: Trouble) -> Iterator[Event]:
    """The events of the journal ``name``, one at a time; what can't be read is noted in ``trouble``."""
    # A file that was cut behind its first line is a journal all the same.
    file = io.BytesIO(data if b"\n" in data else data + b"\n")
    reader = JournalReader(name, file)
    reader.trouble = trouble
    yield reader.start
    while (found := reader.next(file)) is not None:
        yield found[1]


def _start(name: str, line: bytes) -> tuple[int, Started]:
    """Decode the first line; raises ``UnreadableRun`` if it does not start a journal that this version reads."""
    line = valid_utf8(line)
    try:
        version = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).get("version", msgspec.Raw(b"0"))
        number = _VERSION.decode(version)
        event = decode(line, number).event
        if isinstance(event, Started):
            event.known_policy()
            return number, event
    except NewerVersion as error:
        raise UnreadableRun(name, error.message, hint=error.hint) from error
    except NO_EVENT as error:
        raise UnreadableRun(name, f"expected the start of a journal, found: {error}") from error
    raise UnreadableRun(name, "expected the start of a journal, found another event")


def read_journal(name: str, data: bytes) -> JournalRun:
    """Read a whole journal; raises ``UnreadableRun`` if it is none, or of a newer version."""
    trouble = Trouble()
    start, *events = read_events(name, data, trouble)
    assert isinstance(start, Started), "read_events begins with the start"
    steps = tuple(event for event in events if isinstance(event, StepRecorded))
    ended = next((event for event in reversed(events) if isinstance(event, Ended)), None)
    # Older journals count the steps that a forked thread inherits, newer ones do not.
    every, inherited = len(steps) + trouble.lost, sum(event.step.inherits is not None for event in steps)
    trouble.miscounted = ended is not None and ended.counts.proposed not in (every, every - inherited)
    return JournalRun(
        name=name,
        start=start,
        steps=steps,
        sightings=tuple(event for event in events if isinstance(event, Sighted)),
        views=tuple(event for event in events if isinstance(event, ViewRendered)),
        faults=tuple(event for event in events if isinstance(event, FaultCaught)),
        ended=ended,
        trouble=trouble,
    )


def rebuild(run: JournalRun) -> Rebuilt:
    """Fold the steps into a new ledger, and compare its digest with the recorded one after each."""
    ledger = Ledger(run.start.task, run.start.known_policy(), edited_symbols)
    altered, mismatch = run.start.altered, None
    sightings = deque(run.sightings)
    for event in run.steps:
        while sightings and sightings[0].index <= event.index:
            ledger.witness(sightings.popleft().sighting)
        ledger.record(event.step)
        altered |= event.altered
        if mismatch is None and ledger.digest != event.digest:
            mismatch = Mismatch(event.index, event.digest, ledger.digest, altered)
    for left in sightings:
        ledger.witness(left.sighting)
    return Rebuilt(ledger, mismatch)
