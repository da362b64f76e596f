"""Observation records: which portions of a file were really returned, and which requests they cover.

``ObservedFile`` keeps the records of one file. A newer record hides the lines that it shows again; what is left of each
record is worked out once, when a record is added, so that rendering a state view only reads it off. ``cover`` and
``cover_by_one`` say whether the lines that a read asks for were already returned, and by which results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field

from execledger.core.policy import Policy
from execledger.core.wording import spans
from execledger.shell.ranges import covers, subtract, union
from execledger.vocabulary.decisions import CoveredLines
from execledger.vocabulary.records import Lines, View
from execledger.vocabulary.status import RangeStatus

MAX_RECORDS = 24
"""Records kept per file and thread, the newest."""
MAX_PARTS = 8
"""Records of one file that a view can list."""
MAX_RUNS = 8
"""Runs that one reference may name: more are hard to follow, and the bound limits the search."""

Held: TypeAlias = list[tuple[Lines, int]]
"""Runs of lines, and the step whose result shows them, newest first."""
PlacedTexts: TypeAlias = tuple[tuple[int, tuple[str, ...]], ...]
"""Runs of lines: the number of the first one, and the lines."""


class ObservationRecord(Struct, frozen=True):
    """A portion of a file that was really returned, with the counters at that time."""

    step: int
    """The step that returned it."""
    ranges: tuple[Lines, ...]
    """The lines, ascending; negative ones count from the end."""
    end: int | None
    """The number of the file's last line, if the result shows it."""
    local: int
    """The file's change counter."""
    everywhere: int
    """The global change counter."""
    clock: int
    """How many commands that may write had run."""
    holder: int
    """The step whose result shows the text: this one, or the one that its reference points at."""
    edits: int = 0
    """How many writes to exactly this file had succeeded."""
    told: bool = False
    """The result that shows the text is not a read of these lines: they are listed, and nothing is covered by them."""
    texts: PlacedTexts = ()
    """If so, the number of the first line of each run, and the lines; nothing if they are not kept."""


class NewestPart(Struct, frozen=True):
    """The part of a record that no newer record shows again."""

    record: ObservationRecord
    """The record."""
    ranges: tuple[Lines, ...]
    """Its lines that are not hidden."""
    text: str
    """These lines in words."""


class ObservedFile(Struct):
    """The observation records of one file on one thread, and its line in the state view."""

    name: str
    """The file's name, for people and models."""
    records: list[ObservationRecord] = field(default_factory=list)
    """The newest records, oldest first."""
    parts: list[NewestPart] = field(default_factory=list)
    """The parts of them that no newer record shows again, newest first."""
    stale_at: object = None
    """The counters at the last rendering of its line, if only a write to this file or a compaction can change it."""
    rendered_at: object = None
    """The state at the last rendering of its line: at an equal state the line is the same."""
    statuses: list[RangeStatus] = field(default_factory=list)
    """The status and context of each part in that line."""
    line: str = ""
    """Its last rendered line in the state view; "" if none of its ranges is in context."""
    lost: str = ""
    """Its last rendered line among those that are no longer in context; "" if all of its ranges are."""

    def rename(self, name: str) -> None:
        """Change the file's name; its line in the view is rendered again."""
        self.name = name
        self.stale_at, self.rendered_at, self.statuses = None, None, []

    def add(self, record: ObservationRecord) -> None:
        """Add a record; it hides what older ones show of the same lines."""
        if len(self.records) >= MAX_RECORDS:
            del self.records[: MAX_RECORDS // 2]
        self.records.append(record)
        self.stale_at, self.rendered_at, self.statuses = None, None, []
        if not record.ranges:
            return
        parts = [NewestPart(record, record.ranges, spans(record.ranges, record.end))]
        whole = record.ranges == (Lines(1, record.end),)
        shown = tuple(run for run in record.ranges if run.first > 0)
        for part in self.parts if not whole else ():
            left = subtract(tuple(run for run in part.ranges if run.first > 0), shown)
            tails = tuple(run for run in part.ranges if run.first < 0 and run not in record.ranges)
            if left or tails:
                ranges = (*left, *tails)
                kept = ranges == part.ranges
                parts.append(part if kept else NewestPart(part.record, ranges, spans(ranges, None)))
        self.parts = parts[:MAX_PARTS]


def cover_by_one(view: View, records: list[ObservationRecord], shown: Callable[[int], bool]) -> Held | None:
    """Return the lines that ``view`` requests if one observation shows them all, by the newest such one; else None.

    ``records`` must all describe the file as it is now.
    """
    end = _end(records)
    asked = [absolute(lines, end, floating=view.floating) for lines in view.ranges]
    for record in reversed(records):
        returned = union((), tuple(filter(None, (absolute(run, end) for run in record.ranges))))
        if shown(record.holder) and all(lines is not None and covers(returned, lines, end) for lines in asked):
            return [(lines, record.holder) for lines in asked if lines is not None]
    return None


def cover(view: View, records: list[ObservationRecord], shown: Callable[[int], bool], policy: Policy) -> Held | None:
    """Return the lines that ``view`` requests as runs that visible results show; None if some line is missing.

    ``records`` must all describe the file as it is now. A line counts only in a contiguous run of ``policy.min_run``
    lines, unless one run is the whole answer. What is asked for to the end of the file must be shown by a result that
    shows that end.
    """
    end = _end(records)
    runs: Held = []
    for asked in view.ranges:
        lines = absolute(asked, end, floating=view.floating)
        if lines is None or lines.last is None:
            return None
        last = end if lines.last == end and (asked.last is None or asked.last > end) else None
        found = cut(lines, _held(records, shown, end, last), policy.min_run, alone=len(view.ranges) == 1)
        if found is None:
            return None
        runs += found
    return runs if len({step for _, step in runs}) <= policy.max_results else None


def _end(records: list[ObservationRecord]) -> int | None:
    """Return the number of the file's last line, if a record has it."""
    return next((record.end for record in reversed(records) if record.end is not None), None)


def _held(records: list[ObservationRecord], shown: Callable[[int], bool], end: int | None, last: int | None) -> Held:
    """Return the runs that visible results show, newest first; line ``last`` only of those that end there."""
    held: Held = []
    for record in reversed(records):
        if not shown(record.holder):
            continue
        for run in record.ranges:
            lines = absolute(run, end)
            if lines is not None and last is not None and lines.last == last != record.end:
                lines = Lines(lines.first, last - 1) if lines.first < last else None
            if lines is not None:
                held.append((lines, record.holder))
    return held


def absolute(lines: Lines, end: int | None, *, floating: bool = False) -> Lines | None:
    """Return ``lines`` with both ends counted from the file's start and inside the file; None if that is unknown."""
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


def cut(asked: Lines, held: Held, min_run: int, *, alone: bool) -> Held | None:
    """Return ``asked`` as runs of at least ``min_run`` held lines, of as few results as a greedy choice finds, or None.

    With ``alone``, a single shorter run will do if it is all that is asked for.
    """
    assert asked.last is not None
    runs: Held = []
    at = asked.first
    while at <= asked.last:
        reaching = [one for one in held if one[0].first <= at <= (one[0].last or 0)]
        if not reaching or len(runs) == MAX_RUNS:
            return None
        used = {step for _, step in runs}
        run, step = max(reaching, key=lambda one: (min(one[0].last or 0, asked.last or 0), one[1] in used))
        last = min(run.last or asked.last, asked.last)
        # A run that is too short from here on may begin inside the one before it, if that stays long enough.
        begin = min(at, last - min_run + 1)
        whole = alone and at == asked.first and last == asked.last
        if whole:
            return [(asked, step)]
        if begin < run.first or (begin < at and (not runs or begin - runs[-1][0].first < min_run)):
            return None
        if begin < at:
            runs[-1] = (Lines(runs[-1][0].first, begin - 1), runs[-1][1])
        runs.append((Lines(begin, last), step))
        at = last + 1
    return runs


def covered_lines(runs: Held, steps: tuple[int, ...]) -> tuple[CoveredLines, ...]:
    """Return the runs, each with the index of its step among the ``steps`` that are referred to."""
    return tuple(CoveredLines(lines.first, lines.last or lines.first, steps.index(step)) for lines, step in runs)
