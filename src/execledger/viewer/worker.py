"""Finds runs and counts them, in a process of its own, so that the server answers meanwhile.

    python -P -m execledger.viewer.worker

Standard input brings one ``Errand`` after the other, standard output takes what is found, one ``Note`` at a time. It
ends with its input, and so with the process that started it.
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

from execledger.agents.formats import shim_resolver
from execledger.errors import LedgerError, UnreadableRun
from execledger.journal.reader import JournalReader, is_journal_file
from execledger.runs.find import Source, find_runs
from execledger.session.adapter import Resolve
from execledger.viewer.counting import RunLine
from execledger.viewer.scan import (
    NO_FILE,
    Begun,
    Counted,
    Counting,
    Done,
    Errand,
    FoundRun,
    Listed,
    Note,
    Stamp,
    Unread,
    stamp_of,
)
from execledger.viewer.tallies import JournalTally, tallied

LOOK_SECONDS = 2.0
"""How long runs are counted before it is looked for new ones."""
MAX_GROWING = 64
"""Journals without an end that can be counted on; what is kept of one grows with its steps, a few bytes for each."""


class RunSearch:
    """Looks again and again at the same places; what has not changed is not counted twice."""

    def __init__(self, resolve: Resolve | None = None, budget: float = LOOK_SECONDS) -> None:
        """``resolve`` knows the calls that shims in a rollout stand for; ``budget`` is the time for a look."""
        self._resolve = resolve
        self._budget = budget
        self._later: dict[str, list[tuple[FoundRun, Source]]] = {}
        self._journals: OrderedDict[str, tuple[int, JournalTally]] = OrderedDict()
        self._counted: dict[str, Stamp] = {}
        self._trees: dict[str, int] = {}
        self._found: dict[str, list[FoundRun]] = {}
        self._archives: dict[str, tuple[Stamp, list[FoundRun]]] = {}

    def notes(self, errand: Errand) -> Iterator[Note]:
        """What is there now; if counting takes long, the rest is counted in the next look, behind what is new then."""
        paths = tuple(dict.fromkeys(errand.paths))
        yield Begun()
        for path in paths:
            yield from self._listed(path, errand)
        yield Listed()
        until = time.monotonic() + self._budget
        waiting = [(path, *one) for path in paths for one in self._later.pop(path, ()) if self._is_new(one[0], errand)]
        # The newest first: a run that goes on is what somebody wants to see.
        waiting.sort(key=lambda one: one[1].stamp[0])
        while waiting:
            _, found, source = waiting.pop()
            yield from self._count(found, source, errand)
            if time.monotonic() > until:
                break
        for path, found, source in waiting:
            self._later.setdefault(path, []).append((found, source))
        yield Done(len(waiting))

    def _listed(self, path: str, errand: Errand) -> Iterator[Note]:
        """Name every run at a path. What is a file of its own is counted later, a part of one as it comes by."""
        tree = _state(path)
        if self._trees.get(path) == tree:
            yield from self._found[path]
            return
        found: list[FoundRun] = []
        later = self._later[path] = []
        known: list[FoundRun] = []
        try:
            for source in find_runs([path], partial(self._is_unread, known)):
                file = _file_of(source.name)
                note = FoundRun(source.name, file, stamp_of(file))
                if errand.newer and not _newer(note, errand.newer):
                    continue
                found.append(note)
                yield note
                if file == source.name:
                    later.append((note, source))
                else:
                    yield from self._count(note, source, errand)
        except LedgerError as error:
            yield Unread(path, error.message)
            return
        yield from known
        self._trees[path], self._found[path] = tree, [*found, *known]
        parts = sorted((note for note in found if note.file != note.name), key=lambda note: note.file)
        for file, notes in groupby(parts, key=lambda note: note.file):
            held = list(notes)
            self._archives[file] = (held[0].stamp, held)

    def _is_unread(self, known: list[FoundRun], archive: str) -> bool:
        """An archive is to be read; if it is as it was, which costs much less, ``known`` gets what is in it."""
        stamp, held = self._archives.get(archive, (NO_FILE, []))
        if stamp != stamp_of(archive):
            self._archives.pop(archive, None)
            return True
        known += held
        return False

    def _is_new(self, found: FoundRun, errand: Errand) -> bool:
        """A run is still to be counted, or to be counted again."""
        return self._counted.get(found.name) != found.stamp and found.name not in errand.without

    def _count(self, found: FoundRun, source: Source, errand: Errand) -> Iterator[Note]:
        if not self._is_new(found, errand):
            return
        yield Counting(found.name)
        try:
            yield Counted(found.name, *self._line(found, source, errand))
        except OSError as error:
            yield Unread(found.name, f"the file can't be read: {error.strerror or error}")
        except UnreadableRun as error:
            yield Unread(found.name, error.reason)
        # Whatever others wrote into a file, the next one is still to be counted.
        except Exception as error:
            yield Unread(found.name, f"it can't be counted: {type(error).__name__}: {error}")
        self._counted[found.name] = found.stamp

    def _line(self, found: FoundRun, source: Source, errand: Errand) -> tuple[RunLine, bool]:
        """The line of a run, and whether it is over; a journal that has grown is counted on from where it was left."""
        if errand.policy is not None or found.file != found.name or not is_journal_file(found.file):
            return tallied(found.name, source.read(), errand.policy, self._resolve)
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
    """A run began after that moment, as its journal says or, without one, the time of its file."""
    if found.stamp[0] < moment * 1e9:
        return False
    try:
        with open(found.file, "rb") as file:
            began = JournalReader(found.name, file).start.at
    except (OSError, UnreadableRun):
        return True
    return began is None or began >= moment


def _state(path: str) -> int:
    """The state of everything at a path: equal if no file has come, gone or changed."""
    if not os.path.isdir(path):
        return hash(stamp_of(path))
    stamps = [
        (folder, name, stamp_of(os.path.join(folder, name))) for folder, _, names in os.walk(path) for name in names
    ]
    return hash(tuple(sorted(stamps)))


def _file_of(name: str) -> str:
    """The file that a run is in: its name, or what stands before one of the marks in it."""
    at = len(name)
    while at > 0 and not os.path.exists(name[:at]):
        at = name.rfind("!", 0, at)
    return name[: max(at, 0)] or name


def main() -> None:
    """Run errands until the input ends."""
    search = RunSearch(shim_resolver())
    for errand in _errands():
        for note in search.notes(errand):
            # Pickled, since a name need not be text that any other encoding takes.
            pickle.dump(note, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _errands() -> Iterator[Errand]:
    with suppress(EOFError):
        while True:
            yield pickle.load(sys.stdin.buffer)


if __name__ == "__main__":
    with suppress(BrokenPipeError, KeyboardInterrupt):
        main()
