"""The runs in the given files, folders and archives: listed and filtered while a worker counts them, and opened.

The list is refreshed when it is requested, at most once a second. ``OpenRuns`` keeps the few runs that were requested
last. Only runs that the scan has found are opened: an id is looked up there, and no request names a path.
"""

from __future__ import annotations

import io
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.formats import find_recorded, read_run
from execledger.core.policy import Policy
from execledger.errors import LedgerError
from execledger.journal.reader import is_journal, is_journal_file, may_grow, valid_utf8
from execledger.session.adapter import Resolve
from execledger.viewer.counting import ListTotals, RunLine, run_id, totals
from execledger.viewer.reading import JournalReading, Reading, ReplayReading
from execledger.viewer.scan import (
    NO_FILE,
    CountStarted,
    FoundRun,
    ListComplete,
    RunCounted,
    RunUnreadable,
    ScanClient,
    ScanDone,
    ScanEvent,
    ScanRequest,
    ScanStarted,
    Stamp,
    stamp_of,
)

CHOICES = ("agent", "model", "task")
"""The fields of which one value can be chosen."""
MAX_CHOICES = 200
"""Values of a field that are offered, those of most runs first."""


class Filter(Struct, frozen=True, kw_only=True):
    """Which runs a list shows."""

    q: str = ""
    """Words that must all occur in the name, agent, model or task."""
    agent: str = ""
    """The agent; "" is any."""
    model: str = ""
    """The model; "" is any."""
    task: str = ""
    """The task; "" is any."""
    faults: bool = False
    """Only runs in which faults of Ledger's own were caught."""

    def takes(self, line: RunLine) -> bool:
        """Whether the filter accepts a run."""
        if self.faults and not line.faults:
            return False
        if any(getattr(line, name) != chosen for name in CHOICES if (chosen := getattr(self, name))):
            return False
        text = f"{line.name} {line.agent} {line.model} {line.title} {line.task}".lower()
        return all(word in text for word in self.q.lower().split())


ANY = Filter()
"""All runs."""


def choices(lines: Iterable[RunLine]) -> dict[str, list[tuple[str, int]]]:
    """The values of each field, and how many runs have them."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in CHOICES}
    for line in lines:
        for name, counter in counts.items():
            counter[getattr(line, name)] += 1
    return {
        name: sorted(((value, many) for value, many in counter.items() if value), key=lambda one: (-one[1], one[0]))[
            :MAX_CHOICES
        ]
        for name, counter in counts.items()
    }


LOOK_SECONDS = 1.0
"""How many seconds the result of a scan counts as up to date."""
MAX_UNREADABLE = 200
"""How many unreadable files are named."""
SORTABLE = RunLine.__struct_fields__
"""The fields that the list can be sorted by."""


class Entry(Struct):
    """One run that was found."""

    found: FoundRun
    """Where it was found."""
    line: RunLine
    """What is known of it."""
    over: bool = True
    """Its end is recorded, or it is of a kind that does not grow."""
    reason: str = ""
    """Why it can't be read; "" if it can."""
    there: bool = True
    """The last scan found it."""


class Listing(Struct, frozen=True):
    """A part of the list of runs."""

    runs: list[RunLine]
    """The runs."""
    unreadable: list[dict[str, str]]
    """Names of the files that can't be read, with reasons."""
    total: int
    """How many runs there are on all pages of the list."""
    pending: int
    """How many of them are not counted yet."""
    listed: bool
    """Every run that exists was found."""
    choices: dict[str, list[tuple[str, int]]]
    """By field, the values that can be chosen, and how many of all runs have them."""
    totals: list[ListTotals]
    """All runs on all pages of the list, added up."""
    comparable: bool = True
    """Any two of them can be compared."""


class RunList:
    """The runs at the given paths; its methods may be called on any thread."""

    def __init__(self, request: ScanRequest, clock: Callable[[], float] = time.time) -> None:
        """Start to scan as ``request`` says."""
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._listed, self._looking, self._looked = False, False, 0.0
        # Guards all of the above, and is notified of every change.
        self._changed = threading.Condition()
        self._client = ScanClient(request, self._take)
        self.look()

    def close(self) -> None:
        """Stop scanning."""
        self._client.close()

    def look(self) -> None:
        """Start a scan unless one is running or the last one is recent."""
        with self._changed:
            if self._looking or time.monotonic() - self._looked < LOOK_SECONDS:
                return
            self._looking = True
        self._client.look()

    def wait(self, seconds: float | None = None, *, counted: bool = False) -> bool:
        """Wait until every run was found, or even ``counted``, at most ``seconds``; whether that happened."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._looking if counted else self._listed, seconds)

    def listed(self) -> bool:
        """Whether a first scan has found every run."""
        with self._changed:
            return self._listed

    def listing(
        self, chosen: Filter = ANY, sort: str = "", desc: bool = False, offset: int = 0, limit: int = 1000
    ) -> Listing:
        """The part of the list that ``chosen`` accepts, sorted by the field ``sort``; newest first if that is ""."""
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
            totals=totals(one.line for one in shown),
        )

    def find(self, identity: str) -> FoundRun | None:
        """Where the run with this id is; None if there is none."""
        with self._changed:
            entry = self._entries.get(identity)
            return entry.found if entry is not None and not entry.reason else None

    def _lives(self, entry: Entry) -> bool:
        return not entry.over and may_grow(entry.found.stamp[0] / 1e9, self._clock())

    def _take(self, note: ScanEvent) -> None:
        """Apply one event of the worker."""
        with self._changed:
            match note:
                case ScanStarted():
                    for entry in self._entries.values():
                        entry.there = False
                case FoundRun():
                    self._entry(note)
                case RunCounted():
                    entry = self._entries[run_id(note.name)]
                    entry.line, entry.over, entry.reason = note.line, note.over, ""
                case RunUnreadable():
                    self._entry(FoundRun(note.name, note.name, stamp_of(note.name))).reason = note.reason
                case ListComplete():
                    self._entries = {key: entry for key, entry in self._entries.items() if entry.there}
                    self._listed = True
                case ScanDone(rest):
                    self._listed, self._looking, self._looked = True, rest > 0, time.monotonic()
                    if rest:
                        self._client.look()
                case CountStarted():
                    return
            self._changed.notify_all()

    def _entry(self, found: FoundRun) -> Entry:
        """The entry of a run, created if it is new."""
        identity = run_id(found.name)
        entry = self._entries.get(identity)
        if entry is None:
            line = RunLine(id=identity, name=found.name, pending=True)
            entry = self._entries[identity] = Entry(found, line)
        entry.found, entry.there = found, True
        return entry


def _order(value: str | float | None) -> tuple[str, float]:
    """A sort key: unknown values come first, text is compared without regard to case."""
    return (value.casefold(), 0.0) if isinstance(value, str) else ("", -1.0 if value is None else float(value))


MAX_OPEN, MAX_BYTES = 6, 512_000_000
"""How many runs are kept open, and the total size of their files; the last requested one always is."""


class NoSuchRun(LedgerError):
    """No run that was found has the requested id."""


class Gone(NoSuchRun):
    """The run with the requested id does not exist any more."""


class OpenRun(Struct):
    """A run that is kept open."""

    found: FoundRun
    """Where it is."""
    reading: Reading
    """What was read of it."""
    stamp: Stamp
    """The state of its file when it was opened."""

    def is_current(self) -> bool:
        """Whether it can be read on: its file is unchanged, or a journal that has only grown."""
        now = stamp_of(self.found.file)
        if now == self.stamp:
            return True
        reading = self.reading
        if not isinstance(reading, JournalReading) or reading.over:
            return False
        return now[2] == self.stamp[2] and now[1] >= reading.offset

    def lives(self) -> bool:
        """Whether the agent may still be running: its journal has no end, not even one that is still to be read."""
        reading = self.reading
        if not isinstance(reading, JournalReading) or not may_grow(stamp_of(self.found.file)[0] / 1e9, time.time()):
            return False
        try:
            return not reading.over and not reading.ends()
        except OSError:
            return False


class OpenRuns:
    """The open runs, in the order in which they were requested, the latest at the end."""

    def __init__(
        self, runs: RunList, policy: Policy | None = None, resolver: Callable[[], Resolve | None] = lambda: None
    ) -> None:
        """Opens the runs of a list; ``resolver`` makes a function that finds the calls that shims replaced."""
        self._runs = runs
        self._policy = policy
        self._resolver = resolver
        self._open: OrderedDict[str, OpenRun] = OrderedDict()
        # Guards the two tables. Opening a run can take long: only requests for that very run wait for it.
        self._lock = threading.Lock()
        self._doors: dict[str, threading.Lock] = {}

    def get(self, identity: str) -> OpenRun:
        """The run with this id; raises ``NoSuchRun`` or ``UnreadableRun``."""
        with self._lock:
            door = self._doors.setdefault(identity, threading.Lock())
        try:
            with door:
                return self._get(identity)
        finally:
            with self._lock:
                if not door.locked():
                    self._doors.pop(identity, None)

    def _get(self, identity: str) -> OpenRun:
        found = self._runs.find(identity)
        if found is None:
            raise NoSuchRun("there is no such run here")
        with self._lock:
            opened = self._open.pop(identity, None)
        if opened is None or not opened.is_current():
            opened = self._opened(found)
        with self._lock:
            self._open[identity] = opened
            while len(self._open) > 1 and self._too_much():
                self._open.popitem(last=False)
        return opened

    def _too_much(self) -> bool:
        return len(self._open) > MAX_OPEN or sum(one.stamp[1] for one in self._open.values()) > MAX_BYTES

    def _opened(self, found: FoundRun) -> OpenRun:
        stamp = stamp_of(found.file)
        if stamp == NO_FILE:
            raise Gone("the file of this run is not there any more")
        return OpenRun(found, self._reading(found), stamp)

    def _reading(self, found: FoundRun) -> Reading:
        if found.file == found.name and self._policy is None and is_journal_file(found.file):
            return JournalReading(found.name, lambda: open(found.file, "rb"))
        for source in find_recorded([found.file]):
            if source.name == found.name:
                return reading_of(found.name, source.read(), self._policy, self._resolver())
        raise Gone("this run is not in its file any more")


def reading_of(name: str, data: bytes, policy: Policy | None, resolve: Resolve | None) -> Reading:
    """A run from its content: a journal as recorded; any other run, or any run under a given ``policy``, replayed."""
    if policy is None and is_journal(data):
        return JournalReading(name, partial(io.BytesIO, data))
    return ReplayReading(read_run(name, valid_utf8(data), resolve), policy)
