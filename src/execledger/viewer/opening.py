"""Runs that somebody looks at, kept open: the few that were asked for last.

Nothing is opened but what the shelf has found: an id is looked up there, and no path ever comes from a request.
"""

from __future__ import annotations

import io
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from execledger.agents.formats import read_run
from execledger.core.policy import Policy
from execledger.errors import LedgerError
from execledger.runs.find import find_runs
from execledger.runs.journals import is_journal
from execledger.session.adapter import Resolve
from execledger.viewer.journal_lines import begins_journal, marked
from execledger.viewer.journal_reading import JournalReading
from execledger.viewer.reading import Reading, ReplayReading
from execledger.viewer.runs import Shelf, lives
from execledger.viewer.scan import NO_FILE, Found, Stamp, stamp_of

MAX_OPEN, MAX_BYTES = 6, 512_000_000
"""Runs that are kept open, and the sizes of their files together; the one that was asked for last always is."""


class NoSuchRun(LedgerError):
    """Nothing that was found has the id that was asked for."""


class Gone(NoSuchRun):
    """What had the id that was asked for is not there any more."""


class Opened(Struct):
    """A run that is kept open."""

    found: Found
    """Where it is."""
    reading: Reading
    """What was read of it."""
    stamp: Stamp
    """The state of its file when it was opened."""

    def stands(self) -> bool:
        """It can be read on: its file is as it was, or a journal that has only grown."""
        now = stamp_of(self.found.file)
        if now == self.stamp:
            return True
        reading = self.reading
        if not isinstance(reading, JournalReading) or reading.over:
            return False
        return now[2] == self.stamp[2] and now[1] >= reading.offset

    def lives(self) -> bool:
        """The agent may still be at work: its journal has no end, not even one that is still to be read."""
        reading = self.reading
        if not isinstance(reading, JournalReading) or not lives(stamp_of(self.found.file)[0], time.time()):
            return False
        try:
            return not reading.over and not reading.ends()
        except OSError:
            return False


class OpenRuns:
    """The runs that were asked for last, the very last one at the end."""

    def __init__(
        self, shelf: Shelf, policy: Policy | None = None, resolver: Callable[[], Resolve | None] = lambda: None
    ) -> None:
        """Runs of ``shelf``, replayed under ``policy``; ``resolver`` makes what knows the calls behind shims."""
        self._shelf = shelf
        self._policy = policy
        self._resolver = resolver
        self._open: OrderedDict[str, Opened] = OrderedDict()
        # Guards the two tables. Opening a run can take long: only those wait for it who have asked for that very run.
        self._lock = threading.Lock()
        self._doors: dict[str, threading.Lock] = {}

    def get(self, identity: str) -> Opened:
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

    def _get(self, identity: str) -> Opened:
        found = self._shelf.find(identity)
        if found is None:
            raise NoSuchRun("there is no such run here")
        with self._lock:
            opened = self._open.pop(identity, None)
        if opened is None or not opened.stands():
            opened = self._opened(found)
        with self._lock:
            self._open[identity] = opened
            while len(self._open) > 1 and self._too_much():
                self._open.popitem(last=False)
        return opened

    def _too_much(self) -> bool:
        return len(self._open) > MAX_OPEN or sum(one.stamp[1] for one in self._open.values()) > MAX_BYTES

    def _opened(self, found: Found) -> Opened:
        stamp = stamp_of(found.file)
        if stamp == NO_FILE:
            raise Gone("the file of this run is not there any more")
        return Opened(found, self._reading(found), stamp)

    def _reading(self, found: Found) -> Reading:
        if found.file == found.name and self._policy is None and begins_journal(found.file):
            return JournalReading(found.name, lambda: open(found.file, "rb"))
        for source in find_runs([found.file]):
            if source.name == found.name:
                return reading_of(found.name, source.read(), self._policy, self._resolver())
        raise Gone("this run is not in its file any more")


def reading_of(name: str, data: bytes, policy: Policy | None, resolve: Resolve | None) -> Reading:
    """A run from its content: a journal as it is, any other run, or under a ``policy`` of one's own, replayed."""
    text = marked(data)
    if policy is None and is_journal(text):
        return JournalReading(name, partial(io.BytesIO, data))
    return ReplayReading(read_run(name, text, resolve), policy)
