"""Comparison of two runs: their steps aligned by equal commands, and their totals."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct

from execledger.core.task import task_title
from execledger.runs.account import METRICS
from execledger.viewer.counting import RunLine, task_in_short
from execledger.viewer.reading import Reading

TASK_BYTES = 100_000
"""How many bytes of the two tasks are compared."""
MAX_PLACES = 32
"""How many occurrences of a command are considered for one step, the nearest: bounds the work."""
TOTALS = {
    "steps": ("steps", "steps"),
    "calls": ("turns", "model calls"),
    "input_tokens": ("input_tokens", "input tokens"),
    "uncached_tokens": ("uncached_tokens", "uncached"),
    "written_tokens": ("written_tokens", "written to a cache"),
    "cached_tokens": ("cached_tokens", "cached"),
    "output_tokens": ("output_tokens", "output tokens"),
    "run_cost": ("run_cost", "cost"),
    "reuses": ("reuses", "reused before"),
    "elided": ("elided", "reused after"),
    "nudges": ("nudges", "nudged"),
    **{metric.name: (metric.name, metric.title) for metric in METRICS if not metric.detailed},
    "rereads": ("rereads", "re-reads"),
    "saved_cost": ("saved_cost", "saved"),
    "spent_cost": ("spent_cost", "spent"),
    "net_cost": ("net_cost", "net"),
    "faults": ("faults", "faults"),
}
"""The totals that are compared, by name, with the fields of a run's line that hold them, and their titles."""


class Comparison(Struct, frozen=True):
    """Two runs, compared."""

    a: RunLine
    """The first run."""
    b: RunLine
    """The second run."""
    pairs: list[tuple[int | None, int | None, str]]
    """Steps of both, in order: ``same``, ``changed`` (another result), ``removed`` (not in b), ``added`` (not in a)."""
    totals: dict[str, tuple[float | None, float | None]]
    """The totals of both."""
    titles: dict[str, str]
    """The titles of the totals."""
    same_task: bool | None
    """Both had the same task; None if one of them has none recorded."""


def compare(one: Reading, other: Reading) -> Comparison:
    """Compare two runs that were read completely."""
    a, b = (reading.line() for reading in (one, other))
    totals = {name: (getattr(a, field), getattr(b, field)) for name, (field, _) in TOTALS.items()}
    titles = {name: title for name, (_, title) in TOTALS.items()}
    return Comparison(a, b, pairs(one.model.marks, other.model.marks), totals, titles, _same_task(one, other))


def _same_task(one: Reading, other: Reading) -> bool | None:
    """Whether two runs had the same task: by its title, and by the text behind it as far as both tell that.

    The text around a task differs between agents, and without tags only the first paragraph is known to be the task's.
    """
    texts = [reading.model.origin.task for reading in (one, other)]
    titles, tasks = ([words(text, TASK_BYTES) for text in texts] for words in (task_title, task_in_short))
    if not all(titles):
        return None
    shorter, longer = sorted((task.partition(titles[0])[2] for task in tasks), key=len)
    return titles[0] == titles[1] and longer.startswith(shorter)


def pairs(one: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]]) -> list[tuple[int | None, int | None, str]]:
    """The steps of both runs in order, those with equal commands aligned."""
    aligned: list[tuple[int | None, int | None, str]] = []
    i = j = 0
    for left, right in [*common([mark for mark, _ in one], [mark for mark, _ in other]), (len(one), len(other))]:
        aligned += [(step, None, "removed") for step in range(i, left)]
        aligned += [(None, step, "added") for step in range(j, right)]
        if left < len(one):
            aligned.append((left, right, "same" if one[left] == other[right] else "changed"))
        i, j = left + 1, right + 1
    return aligned


def common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence as pairs of positions; of frequent words only the nearest positions are tried.

    Every pair of equal words is a point; the result is the longest chain of points that increases in both coordinates.
    """
    places: dict[str, list[int]] = {}
    for at, word in enumerate(other):
        places.setdefault(word, []).append(at)
    ends: list[int] = []
    points: list[tuple[int, int, int]] = []
    tails: list[int] = []
    for i, word in enumerate(one):
        for j in reversed(_near(places.get(word, []), i)):
            length = bisect_left(ends, j)
            points.append((i, j, tails[length - 1] if length else -1))
            if length == len(ends):
                ends.append(j)
                tails.append(len(points) - 1)
            else:
                ends[length], tails[length] = j, len(points) - 1
    chain: list[tuple[int, int]] = []
    at = tails[-1] if tails else -1
    while at >= 0:
        i, j, at = points[at]
        chain.append((i, j))
    return chain[::-1]


def _near(places: list[int], at: int) -> list[int]:
    """The positions nearest to ``at``, ascending."""
    begin = min(max(bisect_left(places, at) - MAX_PLACES // 2, 0), max(len(places) - MAX_PLACES, 0))
    return places[begin : begin + MAX_PLACES]
