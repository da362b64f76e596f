"""The runs at some places: listed at once with what is known of them, while another process counts.

What is there is looked at again whenever somebody asks, though not more often than once in a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from execledger.viewer.counting import RunLine, run_id
from execledger.viewer.filters import ANY, Filter, choices
from execledger.viewer.scan import Begun, Counted, Counting, Done, Errand, Found, Listed, Note, Unread, stamp_of
from execledger.viewer.seeking import Seeker

LIVE_SECONDS = 900.0
"""How long a journal without an end may stay as it is and still be taken for one that grows: commands can be slow."""
LOOK_SECONDS = 1.0
"""How long a look at the places counts as new."""
MAX_UNREADABLE = 200
"""Files that can't be read and are named."""
SORTABLE = RunLine.__struct_fields__
"""The fields that the list can be sorted by."""


class Entry(Struct):
    """One run that was found."""

    found: Found
    """Where."""
    line: RunLine
    """What is known of it."""
    over: bool = True
    """Its end is recorded, or it is of a kind that does not grow."""
    reason: str = ""
    """Why it can't be read; "" if it can."""
    there: bool = True
    """It was there when its place was last looked at."""


class Listing(Struct, frozen=True):
    """A part of the list of runs."""

    runs: list[RunLine]
    """The runs."""
    unreadable: list[dict[str, str]]
    """What can't be read: names and reasons."""
    total: int
    """How many runs there are, in all parts."""
    pending: int
    """How many of them are not counted yet."""
    listed: bool
    """Everything that is there was found."""
    choices: dict[str, list[tuple[str, int]]]
    """By field, the values that can be chosen, and how many of all runs have them."""
    comparable: bool = True
    """Any two of them can be compared."""


class Shelf:
    """The runs at some places. Every question may be asked on any thread."""

    def __init__(self, errand: Errand, clock: Callable[[], float] = time.time) -> None:
        """Runs as ``errand`` says; they are looked for from now on."""
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._listed, self._looking, self._looked = False, False, 0.0
        # Guards all of the above, and tells of every change.
        self._changed = threading.Condition()
        self._seeker = Seeker(errand, self._take)
        self.look()

    def close(self) -> None:
        """Look no more."""
        self._seeker.close()

    def look(self) -> None:
        """See that what is known is new, or will soon be."""
        with self._changed:
            if self._looking or time.monotonic() - self._looked < LOOK_SECONDS:
                return
            self._looking = True
        self._seeker.look()

    def wait(self, seconds: float | None = None, *, counted: bool = False) -> bool:
        """Wait until everything that is there was found, or even ``counted``, but not for longer than told."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._looking if counted else self._listed, seconds)

    def listed(self) -> bool:
        """Everything that is there was found, at least once."""
        with self._changed:
            return self._listed

    def listing(
        self, chosen: Filter = ANY, sort: str = "", desc: bool = False, offset: int = 0, limit: int = 1000
    ) -> Listing:
        """The runs that are asked for, by the field ``sort``; the newest first if that is ""."""
        with self._changed:
            entries = list(self._entries.values())
            listed = self._listed
        readable = [one for one in entries if not one.reason]
        shown = [one for one in readable if chosen.takes(one.line)]
        shown.sort(key=lambda one: one.found.name)
        if sort:
            shown.sort(key=lambda one: _order(getattr(one.line, sort)), reverse=desc)
        else:
            shown.sort(key=lambda one: -one.found.stamp[0])
        broken = [{"name": one.found.name, "reason": one.reason} for one in entries if one.reason]
        return Listing(
            runs=[replace(one.line, live=self._lives(one)) for one in shown[offset : offset + limit]],
            unreadable=broken[:MAX_UNREADABLE],
            total=len(shown),
            pending=sum(one.line.pending for one in shown),
            listed=listed,
            choices=choices(one.line for one in readable),
        )

    def find(self, identity: str) -> Found | None:
        """Where the run with this id is; None if none has it."""
        with self._changed:
            entry = self._entries.get(identity)
            return entry.found if entry is not None and not entry.reason else None

    def _lives(self, entry: Entry) -> bool:
        return not entry.over and lives(entry.found.stamp[0], self._clock())

    def _take(self, note: Note) -> None:
        """Take in what was found."""
        with self._changed:
            match note:
                case Begun():
                    for entry in self._entries.values():
                        entry.there = False
                case Found():
                    self._entry(note)
                case Counted():
                    entry = self._entries[run_id(note.name)]
                    entry.line, entry.over, entry.reason = note.line, note.over, ""
                case Unread():
                    self._entry(Found(note.name, note.name, stamp_of(note.name))).reason = note.reason
                case Listed():
                    self._entries = {key: entry for key, entry in self._entries.items() if entry.there}
                    self._listed = True
                case Done(rest):
                    self._listed, self._looking, self._looked = True, rest > 0, time.monotonic()
                    if rest:
                        self._seeker.look()
                case Counting():
                    return
            self._changed.notify_all()

    def _entry(self, found: Found) -> Entry:
        """The entry of a run, made if it is new."""
        identity = run_id(found.name)
        entry = self._entries.get(identity)
        if entry is None:
            line = RunLine(id=identity, name=found.name, pending=True)
            entry = self._entries[identity] = Entry(found, line)
        entry.found, entry.there = found, True
        return entry


def lives(changed_ns: int, now: float) -> bool:
    """A journal without an end that was last written at that time may still grow."""
    return now - changed_ns / 1e9 < LIVE_SECONDS


def _order(value: str | float | None) -> tuple[str, float]:
    """What is not known comes first, and text is sorted as people do."""
    return (value.casefold(), 0.0) if isinstance(value, str) else ("", -1.0 if value is None else float(value))
