"""Redundant snippet re-reads by brute force, from the definition in docs/metrics.md.

Nothing here is Ledger's: the caller says which lines a command returned, of which files, under which numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple


class Piece(NamedTuple):
    """Lines that a command returned one after the other."""

    files: frozenset[str]
    """The files that they may be of, without folders; "" means any file."""
    lines: tuple[tuple[int | None, str], ...]
    """The line number that is printed in front of each, where there is one, and the text."""


class Truth:
    """What was returned so far, word for word."""

    def __init__(self, *, any_file: bool = False, min_words: int = 2) -> None:
        """``any_file`` takes all files for one; ``min_words`` of three lines have to hold a letter or a digit."""
        self._any_file = any_file
        self._min_words = min_words
        self._returned: dict[tuple[str, ...], list[frozenset[str]]] = {}

    def take(self, pieces: Sequence[Piece]) -> bool:
        """As ``again``, and these lines were returned from now on."""
        found = self.again(pieces)
        for files, texts in self._triples(pieces):
            self._returned.setdefault(texts, []).append(files)
        return found

    def again(self, pieces: Sequence[Piece]) -> bool:
        """Whether some three consecutive lines were returned before, unchanged and of the same file."""
        return any(
            self._any_file or "" in files or "" in of or files & of
            for files, texts in self._triples(pieces)
            for of in self._returned.get(texts, ())
        )

    def _triples(self, pieces: Sequence[Piece]) -> Iterator[tuple[frozenset[str], tuple[str, ...]]]:
        for files, lines in pieces:
            for at in range(len(lines) - 2):
                numbers, texts = zip(*lines[at : at + 3], strict=True)
                adjoin = all(a is None or b is None or b == a + 1 for a, b in pairwise(numbers))
                if adjoin and sum(re.search(r"\w", text) is not None for text in texts) >= self._min_words:
                    yield files, texts
