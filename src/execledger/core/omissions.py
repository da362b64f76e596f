"""Which lines of a read are omitted if only some of them are visible already: longer runs, each from one result.

``visible_runs`` finds the runs, with a few lines left on each side for context, as in a diff. ``worthwhile`` chooses
those that save enough, in few pieces and from few results, so that the rest can still be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from execledger.core.observations import Held
from execledger.core.policy import Policy
from execledger.vocabulary.records import Lines

CONTEXT = 3
"""Visible lines that are shown again beside lines that are shown, as in a diff: new lines are read in their place."""
MAX_OMISSIONS = 4
"""Omissions in one output: with more gaps it is a list of pieces."""
MAX_RUNS = 64
"""Visible runs that are considered for one range of lines, the longest: the bound limits the search."""


class Omission(Struct, frozen=True):
    """A run of output lines that is omitted, and the line that replaces it."""

    at: int
    """The index of its first line among the lines of the output."""
    lines: Lines
    """Its lines of the file."""
    step: int
    """The step whose result shows them."""
    text: str
    """The reference in its place."""
    size: int
    """Bytes of the omitted lines, with their line ends."""

    @property
    def saved(self) -> int:
        """Bytes that it saves."""
        return self.size - len(self.text.encode("utf-8", "surrogatepass")) - 1


def visible_runs(asked: Lines, held: Held) -> Iterator[tuple[Lines, int]]:
    """Yield the runs of ``asked`` that are in ``held``, ascending, each with the step whose result shows it.

    Next to lines that no result shows, they end ``CONTEXT`` lines earlier.
    """
    assert asked.last is not None
    known = sorted(held, key=lambda one: one[0].first - (one[0].last or 0))[:MAX_RUNS]
    for island in _islands(asked, known):
        first, last = island[0][0], island[-1][1]
        first += CONTEXT if first > asked.first else 0
        last -= CONTEXT if last < asked.last else 0
        for begin, end, step in island:
            if max(begin, first) <= min(end, last):
                yield Lines(max(begin, first), min(end, last)), step


def _islands(asked: Lines, held: Held) -> Iterator[list[tuple[int, int, int]]]:
    """Yield chains of adjoining runs, each with its step, that have all lines of ``asked`` that are in ``held``."""
    assert asked.last is not None
    at, used = asked.first, set[int]()
    chain: list[tuple[int, int, int]] = []
    while at <= asked.last:
        reaching = [one for one in held if one[0].first <= at <= (one[0].last or 0)]
        if not reaching:
            if chain:
                yield chain
            chain = []
            at = min((run.first for run, _ in held if run.first > at), default=asked.last + 1)
            continue
        run, step = max(reaching, key=lambda one: (one[0].last or 0, one[1] in used, one[1]))
        last = min(run.last or at, asked.last)
        chain.append((at, last, step))
        used.add(step)
        at = last + 1
    if chain:
        yield chain


def worthwhile(found: Iterable[Omission], policy: Policy) -> list[Omission]:
    """Return the omissions that are made, in order: those that save most, in few pieces and from few results."""
    chosen: list[Omission] = []
    steps: set[int] = set()
    for one in sorted(found, key=lambda each: (-each.saved, each.at)):
        short = one.lines.last is not None and one.lines.last - one.lines.first + 1 < policy.min_run
        small = one.saved < policy.min_omitted or one.size * policy.max_share < one.size - one.saved
        if not (short or small) and len(chosen) < MAX_OMISSIONS and len(steps | {one.step}) <= policy.max_results:
            chosen.append(one)
            steps.add(one.step)
    return sorted(chosen, key=lambda each: each.at)
