"""The functions and classes that a text defines, and those that a replaced snippet touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from execledger.symbols.definitions import definitions
from execledger.symbols.languages import is_readable, language_of
from execledger.symbols.touched import Change, distinct, touched

MAX_COMPARED = 250_000
"""Texts are aligned line by line only if the product of their changed lengths, in lines, is at most this."""


def outline(path: str, text: str) -> tuple[str, ...] | None:
    """The qualified names defined in a text, in order; None where they are unknown."""
    language = language_of(path)
    found = None if language is None else definitions(language, text)
    return None if found is None else distinct(definition.name for definition in found)


def edited(path: str, old: str, new: str) -> tuple[str, ...] | None:
    """The symbols that the replacement of a snippet touches, in order; None where they are unknown.

    Each changed line counts for the innermost definition in the snippet that it stands in, if there is one.
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
