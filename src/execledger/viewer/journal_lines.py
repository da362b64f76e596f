"""The lines of a journal, one after the other, while it may still be written; the list and the page read them alike.

A line is an event, or it is noted what is wrong with it. Bytes that are no text are marked, and the line still counts.
A last line that is not whole waits until it is.
"""

from __future__ import annotations

import os
from typing import BinaryIO

import msgspec
from msgspec import Struct

from execledger.errors import UnreadableRun
from execledger.journal.codec import Decoded, decode
from execledger.journal.events import Ended, Event, Started, StepRecorded
from execledger.journal.reader import Trouble, read_events
from execledger.runs.journals import is_journal

NO_EVENT = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding a line raises that is no event."""
TAIL_BYTES = 100_000
"""How far from its end the last line of a journal is looked for: the line that ends one is short."""


class Place(Struct, frozen=True):
    """Where a line stands in a journal."""

    offset: int
    """Where it begins."""
    size: int
    """How long it is."""


class JournalLines:
    """How far a journal was read, and what was wrong so far."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Begin with the first line of ``file``; raises ``UnreadableRun`` if it is not the start of a journal."""
        line = file.readline()
        if not line.endswith(b"\n"):
            raise UnreadableRun(name, "found no whole line yet, expected the start of a journal")
        self.trouble = Trouble()
        """What was not as it should be."""
        start = next(read_events(name, marked(line), self.trouble))
        assert isinstance(start, Started), "read_events begins with the start"
        self.start = start
        """What run it is."""
        self.offset = len(line)
        """How much of the file was read."""
        self._steps = 0

    def next(self, file: BinaryIO) -> tuple[Place, Event] | None:
        """The next event of ``file``, which stands at ``offset``; None if there is none yet."""
        while True:
            line = file.readline()
            self.trouble.torn = bool(line) and not line.endswith(b"\n")
            if not line or self.trouble.torn:
                return None
            place = Place(self.offset, len(line))
            self.offset += len(line)
            event = self._event(line)
            if event is not None:
                return place, event

    def _event(self, line: bytes) -> Event | None:
        """The event on a line; None, and it is noted, if it is none that can be told."""
        trouble = self.trouble
        try:
            decoded = decoded_line(line)
        except NO_EVENT:
            trouble.damaged += bool(line.strip())
            return None
        trouble.unknown_fields += decoded.unknown_fields
        event = decoded.event
        trouble.unknown_events += event is None
        if not isinstance(event, StepRecorded):
            return event
        if not event.step.valid_at(event.index):
            trouble.damaged += 1
            return None
        if event.index != self._steps:
            # Without the steps before it, it means nothing.
            trouble.lost += 1
            return None
        self._steps += 1
        return event


def decoded_line(line: bytes) -> Decoded:
    """The event on a line, with marks for bytes that are no text; raises one of ``NO_EVENT``."""
    try:
        return decode(line)
    except NO_EVENT:
        text = marked(line)
        if text == line:
            raise
        return decode(text)


def marked(data: bytes) -> bytes:
    """The data as text: a mark, U+FFFD, stands for whatever is none."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def begins_journal(path: str) -> bool:
    """The first line of a file is the start of a journal."""
    try:
        with open(path, "rb") as file:
            return is_journal(marked(file.readline()))
    except OSError:
        return False


def has_end(file: BinaryIO) -> bool:
    """The last whole line of a journal is its end, as its tail tells without the rest being read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    *whole, _ = file.read().split(b"\n")
    try:
        return bool(whole) and isinstance(decoded_line(whole[-1]).event, Ended)
    except NO_EVENT:
        return False
