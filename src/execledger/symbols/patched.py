"""The symbols that a patch touches, file by file."""

from __future__ import annotations

from msgspec import Struct

from execledger.shell.patches import FilePatch, Hunk, parse_patch
from execledger.symbols.definitions import definitions
from execledger.symbols.languages import Language, is_readable, language_of
from execledger.symbols.touched import Change, Heading, distinct, touched

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
