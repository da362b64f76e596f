"""What a read displays: which lines of which file, with which printed numbers, computed from the file's own bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

Numbers = Literal["none", "true", "position", "nonblank"]


class Line(NamedTuple):
    """One line as it was displayed."""

    number: int
    """Its number in the file; 0 for text that belongs to no file."""
    text: str
    """What it says, with its line ending, without a printed number."""
    label: int | None
    """The number printed before it."""
    printed: str
    """The whole displayed line."""
    unended: bool = False
    """Whether nothing is shown of its line ending, as of the last one where lines are joined."""


@dataclass(frozen=True)
class Span:
    """Lines ``first`` to ``last``; without ``last`` to the end of the file."""

    first: int = 1
    last: int | None = None

    def choose(self, lines: Sequence[str]) -> list[int]:
        return list(range(self.first, min(self.last or len(lines), len(lines)) + 1))

    def ended(self, total: int) -> bool:
        """Whether a reader of the output sees that the file ends there."""
        return self.last is None or self.last > total


@dataclass(frozen=True)
class Last:
    """The last ``count`` lines."""

    count: int

    def choose(self, lines: Sequence[str]) -> list[int]:
        return list(range(max(1, len(lines) - self.count + 1), len(lines) + 1))

    def ended(self, total: int) -> bool:
        return True


@dataclass(frozen=True)
class Chosen:
    """Lines that depend on the contents of the file: a search, or all but the last few."""

    choice: Callable[[Sequence[str]], list[int]]
    counted: bool = False
    """The command itself says which lines these are, by their numbers."""

    def choose(self, lines: Sequence[str]) -> list[int]:
        return self.choice(lines)

    def ended(self, total: int) -> bool:
        return False


Selection = Span | Last | Chosen


@dataclass(frozen=True)
class Style:
    """How a program prints a line."""

    numbers: Numbers = "none"
    """The line's number in the file, its position in the output, or its position among lines that are not empty."""
    template: str = "{number:6}\t{text}"
    unnumbered: str = "{text}"
    """How a line without a number looks."""
    completes: bool = False
    """Whether a missing final newline is added."""
    start: int = 1
    """The first number, where positions are numbered."""
    increment: int = 1


PLAIN, COMPLETED = Style(), Style(completes=True)


@dataclass(frozen=True)
class Part:
    """What one part of a command asks for."""

    path: Path
    selection: Selection = Span()
    style: Style = PLAIN

    def display(self) -> Piece:
        """What it shows of the file as it is now."""
        text = self.path.read_bytes().decode("utf-8", "replace")
        lines = split(text)
        shown: list[Line] = []
        filled = 0
        for position, number in enumerate(self.selection.choose(lines), 1):
            said = lines[number - 1]
            if self.style.completes and not said.endswith("\n"):
                said += "\n"
            blank = said in ("", "\n")
            filled += not blank
            counted = self.style.start + (position - 1) * self.style.increment
            labels = {"none": None, "true": number, "position": counted, "nonblank": None if blank else filled}
            label = labels[self.style.numbers]
            template = self.style.unnumbered if label is None else self.style.template
            shown.append(Line(number, said, label, template.format(number=label, text=said)))
        path, ended = os.path.realpath(self.path), self.selection.ended(len(lines))
        name = os.path.abspath(self.path)
        return Piece(path, tuple(shown), self.selection, ended, self.style.completes, text, name)


@dataclass(frozen=True)
class Echo:
    """Text between two reads of one command."""

    text: str

    def display(self) -> Piece:
        return Piece("", (Line(0, self.text, None, self.text),), Span(), False)


@dataclass(frozen=True)
class Piece:
    """Consecutive output about one file."""

    path: str
    """The file itself, behind any links; empty for other text."""
    lines: tuple[Line, ...]
    selection: Selection
    ended: bool
    """Whether the output shows that the file ends with its last line."""
    completes: bool = False
    """Whether the program adds a missing final newline."""
    file: str = ""
    """All that stood in the file at that moment."""
    name: str = ""
    """The name by which it is shown: a reader can't see that another name leads to the same file."""

    @property
    def numbered(self) -> bool:
        return any(line.label is not None for line in self.lines)

    def find(self, number: int) -> Line | None:
        """The line that a reader takes for line ``number``: by the printed numbers, where there are any."""
        numbered = self.numbered
        return next((one for one in self.lines if (one.label if numbered else one.number) == number), None)

    def places(self) -> list[int]:
        """The numbers under which a reader finds the lines."""
        numbered = self.numbered
        keys = [line.label if numbered else line.number for line in self.lines]
        return [key for key in keys if key is not None]


def split(text: str) -> list[str]:
    """The lines of a text with their ends; only a line feed ends a line, as in every program of the shell."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
