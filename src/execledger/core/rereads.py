"""Redundant snippet re-reads: "requests for a previously returned file range that has not changed" (the paper).

A command is one if it shows file contents of which at least three consecutive lines were returned earlier, in the same
conversation, and are textually unchanged. It counts once, and it is judged by the text that came back:

- File contents are what readers and text searches print (``CommandRecord.contents``): not what tests and scripts print,
  no listings and no differences.
- Lines are compared without the line number and the file name that a program prints in front of them. Where numbers are
  printed, consecutive lines have consecutive numbers.
- At least two of the three lines hold a letter or a digit: blank lines and brackets occur in every file.
- Both results must be of the same file, identified by its name without the folder, because commands name it relative to
  folders that are not always known. Where a name is not known, the text decides alone.
- "Earlier" is any time before in the run, whether the result is still visible to the model or not.
- A command that was answered with a reference counts by the lines that the reference points at.

``Rereads`` holds what was returned as digests of three lines each, so that a step costs what its own output weighs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from posixpath import basename
from typing import TYPE_CHECKING

from msgspec import Struct

from execledger.core.lines import MAX_INDEXED, split_lines, split_numbers
from execledger.vocabulary.actions import Edit, Patch, Search, Write
from execledger.vocabulary.decisions import Reuse, Step
from execledger.vocabulary.records import CHANGED, Category, CommandRecord, View

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger

RUN = 3
"""Consecutive lines that make a snippet."""
MIN_WORDS = 2
"""Lines of a snippet that hold a letter or a digit, at least, if it is to count."""
MAX_LINES = 5_000
"""Lines of one result that are compared; those behind them neither count nor are kept."""
MAX_KEPT = 100_000
"""Snippets that are kept for each conversation; beyond that the older half is dropped."""
MAX_NAMES = 8
"""Files of one command that are distinguished; with more, only the text is compared."""
MAX_FILES = 64
"""Files that one snippet is known to be in; with more, as those of a licence text, only the newest result counts."""
WORD = re.compile(r"\w")
"""A letter or a digit."""
LEADING = re.compile(
    r" *(?:(?P<plain>\d{1,9})[\t→]|L(?P<listed>\d{1,9}): )"
    r"|(?:(?P<hit>[^\s:]{1,400}):)?(?P<number>\d{1,9}):"
    r"|(?:(?P<beside>[^\s:]{1,400}\.\w+)-)?(?P<place>\d{1,9})-"
)
"""Prefix of a line of ``cat -n``, of a hit of ``grep -n``, and of a line of its context."""
BREAK = "--"
"""What a search prints between hits that do not adjoin."""


class Reread(StrEnum):
    """The kinds of redundant snippet re-reads: each is of one kind."""

    EXACT = "same-range"
    """A read of one file that returned just what an earlier read of it did: the exact same range again."""
    COVERED = "covered"
    """A read of one file all of whose lines were returned by earlier reads."""
    PARTIAL = "partial"
    """A read of one file of which a part was returned by earlier reads."""
    EDITED = "edited"
    """A read of one file that was edited, elsewhere, since these lines were returned."""
    FOUND = "found"
    """A read of one file that returned lines which only a search had returned before."""
    PRINTED = "printed"
    """An edit that also prints lines of a file."""
    FILES = "files"
    """A read of several files."""
    SEARCH = "search"
    """A search, or a compound of several commands."""


VERDICTS: dict[str | None, Reread | None] = {"none": None, **{kind.value: kind for kind in Reread}}
"""What a journal holds of a command that was judged: its kind, or that it is none."""

COUNTS: dict[str, tuple[Reread, ...]] = {
    "rereads": tuple(Reread),
    "covered_rereads": (Reread.EXACT, Reread.COVERED),
    "exact_rereads": (Reread.EXACT,),
    "partial_rereads": (Reread.PARTIAL,),
    "edited_rereads": (Reread.EDITED,),
    "found_rereads": (Reread.FOUND,),
    "printed_rereads": (Reread.PRINTED,),
    "files_rereads": (Reread.FILES,),
    "search_rereads": (Reread.SEARCH,),
}
"""The numbers that are reported, and the kinds that each of them counts."""

TITLES = {
    "rereads": "redundant snippet re-reads",
    "covered_rereads": "  fully covered reads",
    "exact_rereads": "    the exact same range again",
    "partial_rereads": "  partial overlaps",
    "edited_rereads": "  after an edit elsewhere in the file",
    "found_rereads": "  lines from a search",
    "printed_rereads": "  edits that print",
    "files_rereads": "  reads of several files",
    "search_rereads": "  searches and compounds",
}
"""What they are called, each indented below the one that it is a part of."""


def counted(kinds: Iterable[Reread | None]) -> dict[str, int]:
    """How many re-reads there are among judged commands, in all and of each kind."""
    found = Counter(kinds)
    return {name: sum(found[kind] for kind in among) for name, among in COUNTS.items()}


class RereadCounts(Struct, kw_only=True):
    """The numbers that are reported, added up command by command."""

    rereads: int = 0
    """Redundant snippet re-reads."""
    covered_rereads: int = 0
    """Those that are reads of one file all of whose lines were returned by earlier reads."""
    exact_rereads: int = 0
    """Those of these that returned the exact same range again."""
    partial_rereads: int = 0
    """Those that are reads of one file of which a part was returned by earlier reads."""
    edited_rereads: int = 0
    """Those that are reads of one file that was edited, elsewhere, since these lines were returned."""
    found_rereads: int = 0
    """Those that are reads of one file, of lines that only a search had returned."""
    printed_rereads: int = 0
    """Those that are edits which also print lines of a file."""
    files_rereads: int = 0
    """Those that are reads of several files."""
    search_rereads: int = 0
    """Those that are searches, or compounds of several commands."""

    def count(self, kind: Reread | None) -> None:
        """Count one judged command."""
        for name, among in COUNTS.items():
            setattr(self, name, getattr(self, name) + (kind in among))

    def rows(self, note: str = "") -> Iterator[tuple[str, str, str]]:
        """Title, number and note of each row of a summary; kinds that there are none of have no row."""
        for name, title in TITLES.items():
            if name == "rereads" or getattr(self, name):
                yield title, f"{getattr(self, name):,}", note if name == "rereads" else ""


def judged(steps: Iterable[Step], ledger: Ledger) -> Iterator[Reread | None]:
    """Whether each step of a run is a redundant re-read; ``ledger`` is empty, and takes the steps in."""
    rereads = Rereads()
    for step in steps:
        yield rereads.take(step, ledger.classify(step.action))
        ledger.record(step)


class _Source(Struct, frozen=True):
    """A result that returned a snippet: the newest one, where several did."""

    names: frozenset[str]
    """The files that the snippet may be of; "" means any file."""
    step: int
    """The step."""
    read: bool
    """It was a read of one file."""


class _Result(Struct, frozen=True):
    """What is kept of each step, for the references to it."""

    view: View | None
    """The lines of one file that it showed."""
    names: frozenset[str]
    """The files that it returned snippets of; "" means any file."""


class Rereads:
    """Judges the steps of one run, in order."""

    def __init__(self) -> None:
        """Nothing was returned yet."""
        self._results: list[_Result] = []
        self._seen: dict[str, dict[bytes, _Source]] = {}
        self._wholes: dict[tuple[str, str], set[bytes]] = {}
        self._edited: dict[str, int] = {}

    def take(self, step: Step, record: CommandRecord) -> Reread | None:
        """Whether the next step is a redundant re-read, and of which kind; ``record`` is what its action does."""
        at = len(self._results)
        # Of several commands, one that failed may have followed an edit.
        if step.observation.succeeded or record.programs > 1:
            self._edited.update(dict.fromkeys(map(basename, record.writes), at))
        if step.shown.kind == "reference":
            found = self._referred(step, record)
            self._results.append(_Result(record.view, _names(record.contents) if found else frozenset()))
            return found if step.inherits is None else None
        echo = isinstance(step.action.call, Edit | Write | Patch)
        named = record.writes if echo else record.contents
        # Tools that print lines of files among other things number these lines.
        only = echo or isinstance(step.action.call, Search)
        text = _read(record.view, _names(named), step, numbered=only) if named else _Text([], 0)
        found = self._returned(step, text, record)
        names = frozenset[str]().union(*(one.names for one in text.snippets if one.counts))
        self._results.append(_Result(record.view, _shared(names)))
        self._keep(at, step, text, record)
        # Neither the lines that an edit tool prints nor a result copied from another conversation were requested here.
        return None if echo or step.inherits is not None else found

    def _returned(self, step: Step, text: _Text, record: CommandRecord) -> Reread | None:
        """Judge a result by its text; lines that it omits were returned by the results that it refers to."""
        thread, shown = step.action.thread, step.shown
        seen = self._seen.get(thread, {})
        pairs = ((one, seen.get(one.digest)) for one in text.snippets)
        again = [(one, source) for one, source in pairs if source is not None and _one_file(one.names, source.names)]
        sources = [source for one, source in again if one.counts]
        if shown.kind == "partial":
            sources += [_Source(frozenset(), at, read=True) for at in shown.refers_to]
        if not sources:
            return None
        if record.view is None:
            return _shape(record)
        name = basename(record.view.path)
        if min(source.step for source in sources) < self._edited.get(name, -1):
            return Reread.EDITED
        if shown.kind != "partial" and text.digest in self._wholes.get((thread, name), ()):
            return Reread.EXACT
        if not any(source.read for source in sources):
            return Reread.FOUND
        lines = {one.first + number for one, _ in again for number in range(RUN)}
        return Reread.COVERED if len(lines) == text.lines else Reread.PARTIAL

    def _referred(self, step: Step, record: CommandRecord) -> Reread | None:
        """Judge a command that was answered with a reference, by what that points at."""
        steps = step.shown.refers_to or step.decision.refers_to
        names = frozenset[str]().union(*(self._results[one].names for one in steps))
        told = step.shown.lines or (step.decision.lines if isinstance(step.decision, Reuse) else ())
        long = not told or any(one.last - one.first + 1 >= RUN for one in told)
        if not (long and _one_file(_names(record.contents), names)):
            return None
        if record.view is None:
            return _shape(record)
        if min(steps) < self._edited.get(basename(record.view.path), -1):
            return Reread.EDITED
        views = [self._results[one].view for one in steps]
        exact = step.shown.compared == "same" or any(one and one.ranges == record.view.ranges for one in views)
        return Reread.EXACT if exact else Reread.COVERED

    def _keep(self, at: int, step: Step, text: _Text, record: CommandRecord) -> None:
        """Take in what was returned."""
        thread = step.action.thread
        seen, read = self._seen.setdefault(thread, {}), record.view is not None
        sources: dict[frozenset[str], _Source] = {}
        for one in text.snippets:
            before = seen.pop(one.digest, None)
            names = one.names if before is None else _joined(one.names, before.names)
            seen[one.digest] = sources.setdefault(names, _Source(names, at, read))
        if len(seen) > MAX_KEPT:
            for digest in list(seen)[: -MAX_KEPT // 2]:
                del seen[digest]
        if record.view is not None and text.snippets and step.shown.kind != "partial":
            self._wholes.setdefault((thread, basename(record.view.path)), set()).add(text.digest)


class _Snippet(Struct, frozen=True):
    """Three consecutive lines that a result returned."""

    names: frozenset[str]
    """The files that they may be of; "" means any file."""
    digest: bytes
    """Of their text."""
    first: int
    """Which line of the result the first one is."""
    counts: bool
    """At least ``MIN_WORDS`` of them hold a letter or a digit."""


class _Text(Struct, frozen=True):
    """The file contents in a result."""

    snippets: list[_Snippet]
    """All snippets, in order."""
    lines: int
    """How many lines there are."""

    @property
    def digest(self) -> bytes:
        """Of all that was returned."""
        return _digest("".join(one.digest.hex() for one in self.snippets))


def _read(view: View | None, names: frozenset[str], step: Step, *, numbered: bool) -> _Text:
    """The file contents in a result: all lines, or those alone that are ``numbered``."""
    snippets: list[_Snippet] = []
    at, observation = 0, step.observation
    pieces = step.shown.pieces(observation.output) if step.shown.kind == "partial" else observation.pieces
    for piece in pieces if len(observation.output) <= MAX_INDEXED else ():
        for own, texts in _runs(view, names, split_lines(piece)[: MAX_LINES - at], numbered=numbered):
            words = [WORD.search(text) is not None for text in texts]
            for first in range(len(texts) - RUN + 1):
                digest = _digest("\n".join(texts[first : first + RUN]))
                snippets.append(_Snippet(own, digest, at + first, sum(words[first : first + RUN]) >= MIN_WORDS))
            at += len(texts)
    return _Text(snippets, at)


def _runs(
    view: View | None, names: frozenset[str], lines: list[str], *, numbered: bool
) -> Iterator[tuple[frozenset[str], list[str]]]:
    """Consecutive lines of one file, without what is printed in front of them."""
    run: list[str] = []
    of, last = names, None
    for line in lines:
        own, number, text = _plain(line) if view is None else ("", *_numbered(line, view))
        mine = frozenset((basename(own),)) if own else names
        adjoins = number is None or last is None or number == last + 1
        if run and not (mine == of and adjoins and line != BREAK):
            yield of, run
            run = []
        if line != BREAK and (number is not None or not numbered):
            run.append(text)
        of, last = mine, number
    if run:
        yield of, run


def _plain(line: str) -> tuple[str, int | None, str]:
    """The file and the line number that are printed in front of a line, where they are, and its text."""
    found = LEADING.match(line)
    if found is None:
        return "", None, line
    number = found["plain"] or found["listed"] or found["number"] or found["place"]
    return found["hit"] or found["beside"] or "", int(number), line[found.end() :]


def _numbered(line: str, view: View) -> tuple[int | None, str]:
    """The line number that a reader prints in front of a line, and its text."""
    found = split_numbers([line], view.numbering, view.prefix) if view.numbering not in ("", CHANGED) else None
    return (None, line) if found is None else (found[1][0], found[0][0])


def _names(paths: Iterable[str]) -> frozenset[str]:
    """The names that files go by."""
    names = frozenset(map(basename, paths))
    return _shared(names if len(names) <= MAX_NAMES else frozenset(("",)))


@lru_cache(maxsize=4096)
def _shared(names: frozenset[str]) -> frozenset[str]:
    """The same names, as one object for all equal sets: a set takes several times the memory of a result."""
    return names


def _joined(new: frozenset[str], old: frozenset[str]) -> frozenset[str]:
    """The files that a snippet is in, by its newest result and by older ones; bounded, so that a step costs no more in
    a long run."""
    if new <= old:
        return old
    return new | old if len(new) + len(old) <= MAX_FILES else new


def _one_file(one: frozenset[str], other: frozenset[str]) -> bool:
    """Both may be of the same file."""
    return bool(one and other) and ("" in one or "" in other or not one.isdisjoint(other))


def _shape(record: CommandRecord) -> Reread:
    """The kind of a command that is no plain read of one file."""
    if record.category is Category.MODIFY:
        return Reread.PRINTED
    several = record.category is Category.INSPECT and len(_names(record.contents)) > 1
    return Reread.FILES if several else Reread.SEARCH


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
