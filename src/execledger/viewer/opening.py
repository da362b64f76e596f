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

from execledger.core.policy import Policy
from execledger.errors import LedgerError, UnreadableRun
from execledger.trajectories.codex import Resolve
from execledger.trajectories.find import find_runs
from execledger.trajectories.formats import read_run
from execledger.trajectories.journal import is_journal
from execledger.viewer.journal_reading import JournalReading
from execledger.viewer.notes import Found, Stamp, stamp_of
from execledger.viewer.readings import Reading, ReplayReading
from execledger.viewer.shelf import Shelf, lives

MAX_OPEN, MAX_BYTES = 6, 512_000_000
"""Runs that are kept open, and the sizes of their files together; the one that was asked for last always is."""
LISTING_SECONDS = 10.0
"""How long a run that is not known may be waited for, while places are still looked at for the first time."""


class NoSuchRun(LedgerError):
    """Nothing that was found has the id that was asked for."""


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
        """More may be written."""
        grows = isinstance(self.reading, JournalReading) and not self.reading.over
        return grows and lives(stamp_of(self.found.file)[0], time.time())


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
        # Guards the table above, and keeps a run from being opened twice at the same time.
        self._lock = threading.Lock()

    def get(self, identity: str) -> Opened:
        """The run with this id; raises ``NoSuchRun`` or ``UnreadableRun``."""
        found = self._shelf.find(identity)
        if found is None and self._shelf.wait(LISTING_SECONDS):
            found = self._shelf.find(identity)
        if found is None:
            raise NoSuchRun("there is no such run here")
        with self._lock:
            opened = self._open.pop(identity, None)
            if opened is None or not opened.stands():
                opened = self._opened(found)
            self._open[identity] = opened
            while len(self._open) > 1 and self._too_much():
                self._open.popitem(last=False)
            return opened

    def _too_much(self) -> bool:
        return len(self._open) > MAX_OPEN or sum(one.stamp[1] for one in self._open.values()) > MAX_BYTES

    def _opened(self, found: Found) -> Opened:
        stamp = stamp_of(found.file)
        return Opened(found, self._reading(found), stamp)

    def _reading(self, found: Found) -> Reading:
        if found.file == found.name and self._policy is None and _begins_journal(found.file):
            return JournalReading(found.name, lambda: open(found.file, "rb"))
        for source in find_runs([found.file]):
            if source.name == found.name:
                return reading_of(found.name, source.read(), self._policy, self._resolver())
        raise UnreadableRun(found.name, "it is not there any more")


def reading_of(name: str, data: bytes, policy: Policy | None, resolve: Resolve | None) -> Reading:
    """A run from its content: a journal as it is, any other run, or under a ``policy`` of one's own, replayed."""
    if policy is None and is_journal(data):
        return JournalReading(name, partial(io.BytesIO, data))
    return ReplayReading(read_run(name, data, resolve), policy)


def _begins_journal(file: str) -> bool:
    """The first line of a file is the start of a journal."""
    try:
        with open(file, "rb") as lines:
            return is_journal(lines.readline())
    except OSError:
        return False
