"""An index of shown lines: where a run of lines already stands, found by hash.

One index serves one file on one thread. The search looks at a bounded number of places per line, so its cost does not
grow with the history.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.lines import Returned
from execledger.core.withheld import mark

MAX_PLACES = 16
"""Places that are remembered for one run of three lines, newest last: older copies of boilerplate are forgotten."""


class Piece(Struct, frozen=True):
    """A contiguous piece of output that shows lines of the file."""

    step: int
    """The step that showed it."""
    texts: tuple[str, ...]
    """Its lines."""
    numbers: tuple[int, ...] | None
    """Their printed numbers."""
    first: int | None
    """The line of the file that it begins with, if its lines are known to follow each other there."""


class Run(Struct, frozen=True):
    """Lines of a new output that stand in a visible piece."""

    step: int
    """The step that showed them."""
    length: int
    """How many."""
    in_place: bool
    """They stood at the same lines of the file as now."""


class SeenLines:
    """The lines of one file that were shown on one thread."""

    __slots__ = ("_pieces", "_single", "_triples", "_withheld")

    def __init__(self, withheld: frozenset[str] = frozenset()) -> None:
        """Nothing was shown yet; lines whose marks are in ``withheld`` will stand here by these."""
        self._withheld = withheld
        self._pieces: list[Piece] = []
        self._triples: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
        self._single: dict[str, list[tuple[int, int]]] = {}

    def add(self, step: int, shown: Returned) -> None:
        """Index the lines that ``step`` showed."""
        if not shown.withheld <= self._withheld:
            self._withhold(shown.withheld)
        for index, (texts, numbers) in enumerate(zip(shown.texts, shown.numbers, strict=True)):
            self._add(Piece(step, self._known(texts), numbers, shown.first(index)))

    def of(self, steps: Container[int]) -> SeenLines:
        """An index of what these steps showed and nothing else, with no place forgotten for the sake of others."""
        index = SeenLines(self._withheld)
        for piece in self._pieces:
            if piece.step in steps:
                index._add(piece)
        return index

    def _withhold(self, marks: frozenset[str]) -> None:
        """Let lines stand here by these marks, also where their text was shown before."""
        pieces, self._pieces = self._pieces, []
        self._triples.clear()
        self._single.clear()
        self._withheld |= marks
        for piece in pieces:
            self._add(replace(piece, texts=self._known(piece.texts)))

    def _known(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Lines as they stand here."""
        if not self._withheld:
            return texts
        return tuple(known if (known := mark(text)) in self._withheld else text for text in texts)

    def _add(self, piece: Piece) -> None:
        at = len(self._pieces)
        self._pieces.append(piece)
        for line, text in enumerate(piece.texts):
            _place(self._single, text, (at, line))
        for line, key in enumerate(zip(piece.texts, piece.texts[1:], piece.texts[2:], strict=False)):
            _place(self._triples, key, (at, line))

    def cut(self, shown: Returned, visible: Container[int], min_run: int) -> list[Run] | None:
        """Cut an output into runs of at least ``min_run`` lines that stand in visible pieces; None if that fails."""
        new = Piece(-1, self._known(shown.texts[0]), shown.numbers[0], shown.first(0))
        count = len(new.texts)
        if count <= 2 or count < min_run:
            whole = self._longest(new, 0, visible, ())
            return [whole] if whole is not None and whole.length >= count else None
        runs: list[tuple[int, Run]] = []
        at = 0
        while at < count:
            used = tuple(run.step for _, run in runs)
            for back in range(min(min_run, at + 1)):
                # A run may begin inside the one before it, if that stays long enough.
                if back and (not runs or at - back - runs[-1][0] < min_run):
                    continue
                run = self._longest(new, at - back, visible, used)
                if run is not None and run.length >= min_run and run.length > back:
                    break
            else:
                return None
            runs.append((at - back, run))
            at += run.length - back
        return [run for _, run in runs]

    def _longest(self, new: Piece, at: int, visible: Container[int], used: tuple[int, ...]) -> Run | None:
        """The longest run from line ``at``; among equals one in place, one in a result already used, the newest."""
        texts = new.texts
        best: Run | None = None
        rank = (0, False, False)
        for index, line in reversed(self._places(texts, at)):
            piece = self._pieces[index]
            if piece.step not in visible:
                continue
            length = _match(texts, new.numbers, at, piece, line)
            in_place = new.first is not None and piece.first is not None and new.first + at == piece.first + line
            if length and (length, in_place, piece.step in used) > rank:
                best, rank = Run(piece.step, length, in_place), (length, in_place, piece.step in used)
        return best

    def _places(self, texts: tuple[str, ...], at: int) -> list[tuple[int, int]]:
        """Where a run from line ``at`` may begin: by three lines, or by the rarer of the last two."""
        if at + 2 < len(texts):
            return self._triples.get((texts[at], texts[at + 1], texts[at + 2]), [])
        here = self._single.get(texts[at], [])
        if at + 1 == len(texts):
            return here
        behind = self._single.get(texts[at + 1], [])
        return here if len(here) <= len(behind) else [(index, line - 1) for index, line in behind if line]


def _place(index: dict[object, list[tuple[int, int]]] | dict, key: object, place: tuple[int, int]) -> None:  # type: ignore[type-arg]
    """Remember one more place, forgetting the oldest half of too many."""
    places = index.get(key)
    if places is None:
        index[key] = [place]
        return
    if len(places) >= MAX_PLACES:
        del places[: MAX_PLACES // 2]
    places.append(place)


def _match(texts: tuple[str, ...], numbers: tuple[int, ...] | None, at: int, piece: Piece, line: int) -> int:
    """How many lines from ``at`` stand in ``piece`` from ``line``, with equal numbers where both print them."""
    theirs = piece.texts
    limit = min(len(texts) - at, len(theirs) - line)
    if numbers is not None and piece.numbers is not None:
        return _match_numbered(texts, numbers, at, piece, line, limit)
    if texts[at : at + limit] == theirs[line : line + limit]:
        return limit
    length = 0
    while length < limit and texts[at + length] == theirs[line + length]:
        length += 1
    return length


def _match_numbered(
    texts: tuple[str, ...], numbers: tuple[int, ...], at: int, piece: Piece, line: int, limit: int
) -> int:
    theirs = piece.numbers or ()
    length = 0
    while (
        length < limit
        and texts[at + length] == piece.texts[line + length]
        and numbers[at + length] == theirs[line + length]
    ):
        length += 1
    return length
