"""Line-range algebra: what a chain of readers leaves of a file.

A reader shows a ``View`` of one file. A filter behind a pipe selects lines of that stream by their position, and the
result is again a view of the file, or nothing that we can name.
"""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from execledger.vocabulary.records import CHANGED, WHOLE, Lines, View


def select(view: View, positions: tuple[Lines, ...]) -> View | None:
    """The view that is left when only the lines at ``positions`` of its stream pass."""
    ranges: list[Lines] = []
    floating = view.floating
    for wanted in positions:
        if wanted.first < 0:
            ending = _from_end(view.ranges, wanted)
            if ending is None or len(positions) > 1:
                return None
            ranges, moved = ending
            floating = floating or moved
        else:
            picked = _from_start(view.ranges, wanted)
            if picked is None:
                return None
            ranges += picked
    if not ranges or not ascending(ranges):
        return None
    floating = floating or any(lines.first < 0 for lines in ranges)
    return replace(view, ranges=tuple(merge(ranges)), floating=floating)


def number(view: View, separator: str) -> View:
    """The view when its stream is numbered from 1: right only if it starts at the file's first line without gaps."""
    counts_file = view.numbering == "" and len(view.ranges) == 1 and view.ranges[0].first == 1 and not view.floating
    return replace(view, numbering=separator if counts_file else CHANGED)


def ascending(ranges: list[Lines]) -> bool:
    """The ranges are in ascending order and do not overlap."""
    return all(not (before.last is None or after.first <= before.last) for before, after in itertools.pairwise(ranges))


def merge(ranges: list[Lines]) -> list[Lines]:
    """The same lines with touching runs joined."""
    joined: list[Lines] = []
    for lines in ranges:
        if joined and joined[-1].last is not None and joined[-1].last + 1 == lines.first and lines.first > 1:
            joined[-1] = Lines(joined[-1].first, lines.last)
        else:
            joined.append(lines)
    return joined


def size(lines: Lines) -> int | None:
    """How many lines a run has if the file is long enough; None if that depends on where the file ends."""
    if lines.first < 0:
        return (-lines.first if lines.last is None else lines.last - lines.first + 1) or None
    return None if lines.last is None else lines.last - lines.first + 1


def _from_start(ranges: tuple[Lines, ...], wanted: Lines) -> list[Lines] | None:
    """The file's lines at stream positions ``wanted``, which count from the start."""
    if any(lines.first < 0 for lines in ranges) and wanted != WHOLE:
        # Where the last lines begin is known only if the file is long enough.
        return None
    picked: list[Lines] = []
    offset = 0
    for lines in ranges:
        length = size(lines)
        first = max(wanted.first - offset, 1)
        last = None if wanted.last is None else wanted.last - offset
        if (length is None or first <= length) and (last is None or last >= first):
            end = lines.last if last is None or (length is not None and last >= length) else lines.first + last - 1
            picked.append(Lines(lines.first + first - 1, end))
        if length is None:
            break
        offset += length
    return picked or None


def _from_end(ranges: tuple[Lines, ...], wanted: Lines) -> tuple[list[Lines], bool] | None:
    """The file's lines at stream positions that count from the end, and whether the file's length decides."""
    if wanted.last is not None or not ranges:
        return None
    if ranges == (WHOLE,):
        return [wanted], True
    if len(ranges) > 1:
        return None
    (lines,) = ranges
    count = -wanted.first
    length = size(lines)
    if length is None:
        return [wanted], True
    if count >= length:
        return [lines], False
    if lines.last is None:
        return [wanted], True
    return [Lines(lines.last - count + 1, lines.last)], True


def covers(seen: tuple[Lines, ...], asked: Lines, end: int | None) -> bool:
    """Every line of ``asked`` lies in ``seen`` (ascending, positive); ``end`` is the file's last line, if known."""
    last = end if asked.last is None or (end is not None and asked.last > end) else asked.last
    if asked.first < 0 or last is None:
        return asked.first > 0 and any(run.last is None and run.first <= asked.first for run in seen)
    position = asked.first
    for run in seen:
        if run.first > position:
            break
        if run.last is None or run.last >= last:
            return True
        position = max(position, run.last + 1)
    return position > last


def union(seen: tuple[Lines, ...], more: tuple[Lines, ...]) -> tuple[Lines, ...]:
    """The lines in either, as ascending disjoint runs; all runs count from the start."""
    joined: list[Lines] = []
    for lines in sorted((*seen, *more), key=lambda run: run.first):
        if joined and (joined[-1].last is None or lines.first <= joined[-1].last + 1):
            before = joined[-1]
            last = None if before.last is None or lines.last is None else max(before.last, lines.last)
            joined[-1] = Lines(before.first, last)
        else:
            joined.append(lines)
    return tuple(joined)


def overlap(one: tuple[Lines, ...], other: tuple[Lines, ...]) -> bool:
    """Some line may lie in both; runs that count from the end overlap with everything."""
    return any(
        a.first < 0 or b.first < 0 or ((b.last is None or a.first <= b.last) and (a.last is None or b.first <= a.last))
        for a in one
        for b in other
    )


def subtract(lines: tuple[Lines, ...], known: tuple[Lines, ...]) -> tuple[Lines, ...]:
    """The lines that are not in ``known`` (ascending); all runs count from the start."""
    left: list[Lines] = []
    for run in lines:
        first: int | None = run.first
        for seen in known:
            if first is None or (run.last is not None and seen.first > run.last):
                break
            if seen.last is not None and seen.last < first:
                continue
            if seen.first > first:
                left.append(Lines(first, seen.first - 1))
            first = None if seen.last is None else seen.last + 1
        if first is not None and (run.last is None or first <= run.last):
            left.append(Lines(first, run.last))
    return tuple(left)
