"""Whether lines that a read asks for were already returned, and by which results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from execledger.core.policy import Policy
from execledger.core.records import Lines, View

if TYPE_CHECKING:
    from execledger.core.observations import ObservationRecord

Held = list[tuple[Lines, tuple[int, ...]]]
"""Runs of lines, and the steps whose results hold their text."""


def cover(
    view: View, records: list[ObservationRecord], shown: Callable[[int], bool], policy: Policy
) -> tuple[int, ...] | None:
    """The steps whose visible results hold every line that ``view`` asks for; None if some line is missing.

    ``records`` must all be of the file as it stands. A line counts only in a contiguous run of ``policy.min_run``
    lines, unless one run is the whole answer.
    """
    held, end = _held(records, shown)
    steps: list[int] = []
    for asked in view.ranges:
        lines = absolute(asked, end, floating=view.floating)
        if lines is None or lines.last is None:
            return None
        found = _cut(lines, held, policy.min_run, alone=len(view.ranges) == 1)
        if found is None:
            return None
        steps += found
    unique = tuple(sorted(set(steps)))
    return unique if len(unique) <= policy.max_results else None


def _held(records: list[ObservationRecord], shown: Callable[[int], bool]) -> tuple[Held, int | None]:
    """What visible results hold, newest first, counted from the file's start; and where the file ends, if known."""
    end = next((record.end for record in reversed(records) if record.end is not None), None)
    held: Held = []
    for record in reversed(records):
        if all(shown(step) for step in record.holders):
            runs = (absolute(run, end) for run in record.ranges)
            held += [(run, record.holders) for run in runs if run is not None]
    return held, end


def absolute(lines: Lines, end: int | None, *, floating: bool = False) -> Lines | None:
    """``lines`` with both ends counted from the file's start and inside the file; None if that can't be told."""
    if lines.first < 0:
        if end is None:
            return None
        until = end if lines.last is None else end + lines.last + 1
        return Lines(max(end + lines.first + 1, 1), until) if until >= 1 else None
    last = lines.last if lines.last is not None else end
    if floating and (end is None or last is None or last > end):
        return None
    if last is None:
        return None
    last = last if end is None else min(last, end)
    return Lines(lines.first, last) if last >= lines.first else None


def _cut(asked: Lines, held: Held, min_run: int, *, alone: bool) -> list[int] | None:
    """The steps that hold ``asked`` in runs of at least ``min_run`` lines, as few as a greedy choice finds."""
    assert asked.last is not None
    steps: list[int] = []
    at = previous = asked.first
    while at <= asked.last:
        reaching = [one for one in held if one[0].first <= at <= (one[0].last or 0)]
        if not reaching:
            return None
        best = max(reaching, key=lambda one: one[0].last or 0)
        run, holders = best
        last = min(run.last or asked.last, asked.last)
        # A run that is too short from here on may begin inside the one before it, if that stays long enough.
        begin = min(at, last - min_run + 1)
        whole = alone and at == asked.first and last == asked.last
        if not whole and (begin < run.first or begin - previous < (min_run if begin < at else 0)):
            return None
        steps += holders
        previous, at = begin, last + 1
    return steps
