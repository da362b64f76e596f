"""The worker process that finds and counts runs, so that the server can answer meanwhile.

    python -P -m execledger.viewer.worker

It reads pickled ``ScanRequest`` messages from standard input and writes pickled events to standard output. It ends with
its input, and so with the process that started it.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby

from execledger.agents.formats import find_recorded, shim_resolver
from execledger.errors import LedgerError, UnreadableRun
from execledger.journal.reader import JournalReader, is_journal_file
from execledger.runs.find import Source
from execledger.session.adapter import Resolve
from execledger.viewer.counting import JournalTally, RunLine, tallied
from execledger.viewer.scan import (
    NO_FILE,
    CountStarted,
    FoundRun,
    ListComplete,
    RunCounted,
    RunUnreadable,
    ScanDone,
    ScanEvent,
    ScanRequest,
    ScanStarted,
    Stamp,
    stamp_of,
)

LOOK_SECONDS = 2.0
"""How long one scan counts runs before the next one looks for new ones."""
MAX_GROWING = 64
"""Journals without an end whose counts are kept, to be continued; a count takes a few bytes per step."""


class RunSearch:
    """Scans the same paths repeatedly; what has not changed is not counted again."""

    def __init__(self, resolve: Resolve | None = None, budget: float = LOOK_SECONDS) -> None:
        """``resolve`` finds the calls that shims in a rollout replaced; ``budget`` is the time to count in one scan."""
        self._resolve = resolve
        self._budget = budget
        self._later: dict[str, list[tuple[FoundRun, Source]]] = {}
        self._journals: OrderedDict[str, tuple[int, JournalTally]] = OrderedDict()
        self._counted: dict[str, Stamp] = {}
        self._trees: dict[str, int] = {}
        self._found: dict[str, list[FoundRun]] = {}
        self._archives: dict[str, tuple[Stamp, list[FoundRun]]] = {}

    def notes(self, request: ScanRequest) -> Iterator[ScanEvent]:
        """The events of one scan; what can't be counted within the budget is counted in the next ones."""
        paths = tuple(dict.fromkeys(request.paths))
        yield ScanStarted()
        for path in paths:
            yield from self._listed(path, request)
        yield ListComplete()
        until = time.monotonic() + self._budget
        waiting = [(path, *one) for path in paths for one in self._later.pop(path, ()) if self._is_new(one[0], request)]
        # The newest first: a running agent is what the user most likely wants to see.
        waiting.sort(key=lambda one: one[1].stamp[0])
        while waiting:
            _, found, source = waiting.pop()
            yield from self._count(found, source, request)
            if time.monotonic() > until:
                break
        for path, found, source in waiting:
            self._later.setdefault(path, []).append((found, source))
        yield ScanDone(len(waiting))

    def _listed(self, path: str, request: ScanRequest) -> Iterator[ScanEvent]:
        """List every run at a path; members of archives are counted at once, files later."""
        tree = _state(path)
        if self._trees.get(path) == tree:
            yield from self._found[path]
            return
        found: list[FoundRun] = []
        later = self._later[path] = []
        known: list[FoundRun] = []
        try:
            for source in find_recorded([path], partial(self._is_unread, known)):
                file = _file_of(source.name)
                note = FoundRun(source.name, file, stamp_of(file))
                if request.newer and not _newer(note, request.newer):
                    continue
                found.append(note)
                yield note
                if file == source.name:
                    later.append((note, source))
                else:
                    yield from self._count(note, source, request)
        except LedgerError as error:
            yield RunUnreadable(path, error.message)
            return
        yield from known
        self._trees[path], self._found[path] = tree, [*found, *known]
        parts = sorted((note for note in found if note.file != note.name), key=lambda note: note.file)
        for file, notes in groupby(parts, key=lambda note: note.file):
            held = list(notes)
            self._archives[file] = (held[0].stamp, held)

    def _is_unread(self, known: list[FoundRun], archive: str) -> bool:
        """Whether an archive must be read; if it is unchanged, the runs known to be in it are added to ``known``."""
        stamp, held = self._archives.get(archive, (NO_FILE, []))
        if stamp != stamp_of(archive):
            self._archives.pop(archive, None)
            return True
        known += held
        return False

    def _is_new(self, found: FoundRun, request: ScanRequest) -> bool:
        """Whether a run is not counted yet in its present state."""
        return self._counted.get(found.name) != found.stamp and found.name not in request.without

    def _count(self, found: FoundRun, source: Source, request: ScanRequest) -> Iterator[ScanEvent]:
        if not self._is_new(found, request):
            return
        yield CountStarted(found.name)
        try:
            yield RunCounted(found.name, *self._line(found, source, request))
        except OSError as error:
            yield RunUnreadable(found.name, f"the file can't be read: {error.strerror or error}")
        except UnreadableRun as error:
            yield RunUnreadable(found.name, error.reason)
        # A file with unexpected content must not keep the next ones from being counted.
        except Exception as error:
            yield RunUnreadable(found.name, f"it can't be counted: {type(error).__name__}: {error}")
        self._counted[found.name] = found.stamp

    def _line(self, found: FoundRun, source: Source, request: ScanRequest) -> tuple[RunLine, bool]:
        """The line of a run, and whether it has ended; the count of a journal that has grown is continued."""
        if request.policy is not None or found.file != found.name or not is_journal_file(found.file):
            return tallied(found.name, source.read(), request.policy, self._resolve)
        with open(found.file, "rb") as file:
            state = os.fstat(file.fileno())
            inode, tally = self._journals.pop(found.name, (0, None))
            if tally is None or inode != state.st_ino or state.st_size < tally.lines.offset:
                tally = JournalTally(found.name, file)
            tally.read_on(file)
        if not tally.over:
            self._journals[found.name] = (state.st_ino, tally)
            while len(self._journals) > MAX_GROWING:
                self._journals.popitem(last=False)
        return tally.line(), tally.over


def _newer(found: FoundRun, moment: float) -> bool:
    """Whether a run began after ``moment``, by the start of its journal, else by the time of its file."""
    if found.stamp[0] < moment * 1e9:
        return False
    try:
        with open(found.file, "rb") as file:
            began = JournalReader(found.name, file).start.at
    except (OSError, UnreadableRun):
        return True
    return began is None or began >= moment


def _state(path: str) -> int:
    """A digest of all file states at a path: equal as long as no file was added, removed or changed."""
    if not os.path.isdir(path):
        return hash(stamp_of(path))
    stamps = [
        (folder, name, stamp_of(os.path.join(folder, name))) for folder, _, names in os.walk(path) for name in names
    ]
    return hash(tuple(sorted(stamps)))


def _file_of(name: str) -> str:
    """The file that a run is in: its name, up to the ``!`` before an archive member."""
    at = len(name)
    while at > 0 and not os.path.exists(name[:at]):
        at = name.rfind("!", 0, at)
    return name[: max(at, 0)] or name


def main() -> None:
    """Answer scan requests until the input ends."""
    search = RunSearch(shim_resolver())
    for request in _requests():
        for note in search.notes(request):
            # Pickled, since a name need not be text that any other encoding takes.
            pickle.dump(note, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _requests() -> Iterator[ScanRequest]:
    with suppress(EOFError):
        while True:
            yield pickle.load(sys.stdin.buffer)


if __name__ == "__main__":
    with suppress(BrokenPipeError, KeyboardInterrupt):
        main()
