"""The functions and classes that an edit touches, from the texts that a step carries or shows.

``edited_symbols`` answers for a whole step; ``outline`` for a text that is written as a whole, ``edited`` for a
replaced snippet and ``patched`` for a patch. Changed lines are mapped to the innermost definition that contains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from execledger.shell.patches import FilePatch, Hunk, looks_like_patch, parse_patch
from execledger.shell.paths import spell
from execledger.shell.transient import transient
from execledger.symbols.definitions import Definition, definitions
from execledger.symbols.languages import Language, is_readable, language_of
from execledger.vocabulary.actions import Action, Edit, Observation
from execledger.vocabulary.records import CommandRecord


def edited_symbols(record: CommandRecord, action: Action, observation: Observation) -> dict[str, tuple[str, ...]]:
    """By file, the functions and classes that are known to be touched; a file without an entry has unknown symbols."""
    found: dict[str, tuple[str, ...]] = {}
    if isinstance(action.call, Edit):
        _note(found, spell(record.cwd, action.call.path), edited(action.call.path, action.call.old, action.call.new))
        return found
    for path, text in record.texts:
        if path and not transient(path, record.cwd):
            _note(found, path, outline(path, text))
        elif not path:
            _patch(found, record, text)
    if looks_like_patch(observation.output):
        _patch(found, record, observation.output)
    return found


def _patch(found: dict[str, tuple[str, ...]], record: CommandRecord, text: str) -> None:
    for file in patched(text):
        _note(found, spell(record.cwd, file.path), file.symbols)


def _note(found: dict[str, tuple[str, ...]], path: str, symbols: tuple[str, ...] | None) -> None:
    if symbols:
        found[path] = tuple(dict.fromkeys((*found.get(path, ()), *symbols)))


MAX_COMPARED = 250_000
"""Texts are aligned line by line only if the product of their changed lengths, in lines, is at most this."""


def outline(path: str, text: str) -> tuple[str, ...] | None:
    """The qualified names defined in a text, in order; None where they are unknown."""
    language = language_of(path)
    found = None if language is None else definitions(language, text)
    return None if found is None else distinct(definition.name for definition in found)


def edited(path: str, old: str, new: str) -> tuple[str, ...] | None:
    """The symbols that the replacement of a snippet touches, in order; None where they are unknown.

    Each changed line counts for the innermost definition in the snippet that contains it, if there is one.
    """
    language = language_of(path)
    if language is None or not is_readable(language):
        return None
    before, after = old.split("\n"), new.split("\n")
    names = touched(language, before, after, _changes(before, after))
    return None if names is None else distinct(names)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """Where two texts differ."""
    shorter = min(len(old), len(new))
    head = next((row for row in range(shorter) if old[row] != new[row]), shorter)
    tail = next((row for row in range(shorter - head) if old[-1 - row] != new[-1 - row]), shorter - head)
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(before) * len(after) > MAX_COMPARED:
        yield range(head, head + len(before)), range(head, head + len(after))
        return
    for kind, first, last, start, stop in SequenceMatcher(None, before, after).get_opcodes():
        if kind != "equal":
            yield range(head + first, head + last), range(head + start, head + stop)


MAX_HEADING = 500
"""Longer headings are not code."""


class PatchedFile(Struct, frozen=True):
    """What a patch does to one file."""

    path: str
    """The file, as it is called in the end."""
    symbols: tuple[str, ...] | None
    """The functions and classes touched, in order; None where they are unknown."""
    added: int = 0
    """How many lines it gains."""
    removed: int = 0
    """How many lines it loses."""


def patched(text: str) -> tuple[PatchedFile, ...]:
    """What a patch does, in either form; nothing if the text is no patch."""
    return tuple(_patched_file(file) for file in parse_patch(text))


def _patched_file(file: FilePatch) -> PatchedFile:
    signs = [line[0] for hunk in file.hunks for line in hunk.lines]
    return PatchedFile(file.path, _symbols(file), signs.count("+"), signs.count("-"))


def _symbols(file: FilePatch) -> tuple[str, ...] | None:
    """The symbols of all hunks; one hunk that cannot be read makes the whole unknown."""
    language = language_of(file.path)
    if language is None or not is_readable(language):
        return None
    names: list[str] = []
    for hunk in file.hunks:
        old, new, changes = _sides(hunk)
        found = touched(language, old, new, changes, _heading(language, hunk.headings))
        if found is None:
            return None
        names += found
    return distinct(names)


def _sides(hunk: Hunk) -> tuple[list[str], list[str], list[Change]]:
    """The text of a hunk before and after, and the lines that differ."""
    old: list[str] = []
    new: list[str] = []
    changes: list[Change] = []
    for line in hunk.lines:
        lost, won = line[0] == "-", line[0] == "+"
        if lost or won:
            changes.append((range(len(old), len(old) + lost), range(len(new), len(new) + won)))
        if not won:
            old.append(line[1:])
        if not lost:
            new.append(line[1:])
    return old, new, changes


def _heading(language: Language, headings: list[str]) -> Heading | None:
    """The definition that the headings of a hunk name: the innermost, qualified by those before it."""
    names: list[str] = []
    is_type = False
    for heading in headings:
        found = definitions(language, heading, heading=True) if len(heading) <= MAX_HEADING else None
        if found:
            names.append(found[-1].name)
            is_type = found[-1].is_type
    return Heading(".".join(names), is_type) if names else None


MAX_SYMBOLS = 500
"""No answer holds more names."""

Change: TypeAlias = tuple[range, range]
"""Lines of the old text, and the lines of the new text that replace them."""

_OUTERMOST = re.compile(r"[\w@}]")


class Heading(Struct, frozen=True):
    """The definition that contains a text, known from the heading of a hunk."""

    name: str
    """Its qualified name."""
    is_type: bool
    """It is a class or another type, not a function."""


class _Side:
    """The text before or after a change; it is parsed only if one of its lines has changed."""

    def __init__(self, language: Language, lines: Sequence[str], heading: Heading | None) -> None:
        self.language = language
        self.lines = lines
        self.heading = heading
        # A line of code without indentation ends the definition of the heading.
        ends = (row for row, line in enumerate(lines) if _OUTERMOST.match(line))
        self.reach = next(ends, len(lines))
        self.owners: list[Definition | None] | None = None

    def parse(self) -> bool:
        """Find the innermost definition of each line; False if that cannot be known."""
        if self.owners is None:
            found = definitions(self.language, "\n".join(self.lines))
            if found is None:
                return False
            self.owners = [None] * len(self.lines)
            for definition in found:
                rows = range(definition.first, min(definition.last + 1, len(self.lines)))
                self.owners[rows.start : rows.stop] = [definition] * len(rows)
        return True

    def symbol(self, row: int) -> str | None:
        """Return the name of the definition that contains a line; None if it is unknown."""
        owner = self.owners[row] if self.owners else None
        if owner is None:
            return self.heading.name if self.heading and row < self.reach else None
        if self.heading and self.heading.is_type and owner.first < self.reach:
            return f"{self.heading.name}.{owner.name}"
        return owner.name


def touched(
    language: Language,
    old: Sequence[str],
    new: Sequence[str],
    changes: Iterable[Change],
    heading: Heading | None = None,
) -> list[str] | None:
    """Return the symbols that contain changed lines, in order; None if one of the texts cannot be parsed."""
    sides = _Side(language, old, heading), _Side(language, new, heading)
    names: dict[str, None] = {}
    for change in changes:
        for side, rows in zip(sides, change, strict=True):
            for row in rows:
                if not side.lines[row].strip():
                    continue
                if not side.parse():
                    return None
                if name := side.symbol(row):
                    names[name] = None
    return list(names)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, in order of appearance, as many as an answer may hold."""
    return tuple(islice(dict.fromkeys(names), MAX_SYMBOLS))
