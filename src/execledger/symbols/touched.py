"""From changed lines to the definitions that they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from execledger.symbols.definitions import Definition, definitions
from execledger.symbols.languages import Language

MAX_SYMBOLS = 500
"""No answer holds more names."""

Change: TypeAlias = tuple[range, range]
"""Lines of the old text, and the lines of the new text that stand in their place."""

_OUTERMOST = re.compile(r"[\w@}]")


class Heading(Struct, frozen=True):
    """The definition that a text stands under, known from elsewhere."""

    name: str
    """Its qualified name."""
    is_type: bool
    """It is a class or another type, not a function."""


class _Side:
    """The text before or after a change. It is parsed only if some of its lines are asked for."""

    def __init__(self, language: Language, lines: Sequence[str], heading: Heading | None) -> None:
        self.language = language
        self.lines = lines
        self.heading = heading
        # A line of code without indentation ends what stands above the text.
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
        """The name that a line counts for; None where nothing is known of it."""
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
    """The symbols that changed lines stand in, in order; None if one of the texts cannot be parsed."""
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
