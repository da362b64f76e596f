"""Observation records: which portions of a file were really returned, and what of them still counts.

A newer observation hides the lines that it shows again, so that what is left of each record is worked out once, when
it is hidden, and a view only has to read it off.
"""

from __future__ import annotations

from msgspec import Struct, field

from execledger.core.plain import printable
from execledger.core.references import span
from execledger.shell.ranges import subtract, union
from execledger.vocabulary.records import Lines
from execledger.vocabulary.status import RangeStatus

MAX_RECORDS = 24
"""Records kept per file and thread: the newest bear on a decision."""
MAX_SIGHTS = 8
"""Records of one file that a view can speak of."""
MAX_SPANS = 8
"""Runs of lines that are listed one by one."""


class ObservationRecord(Struct, frozen=True):
    """A portion of a file that was really returned, with the counters at that time."""

    step: int
    """The step that returned it."""
    ranges: tuple[Lines, ...]
    """The lines, ascending; negative ones count from the end."""
    end: int | None
    """The file's last line, if the result told it."""
    local: int
    """The file's change counter."""
    everywhere: int
    """The global change counter."""
    clock: int
    """How many commands that may write had run."""
    holder: int
    """The step whose result shows the text: this one, or the one that its reference points at."""
    edits: int = 0
    """How many writes to this very file had succeeded."""


class Sight(Struct, frozen=True):
    """What of a record no newer one shows again."""

    record: ObservationRecord
    """The record."""
    ranges: tuple[Lines, ...]
    """Its lines that are not hidden."""
    text: str
    """These in words."""


class FileSeen(Struct):
    """Everything that was seen of one file on one thread."""

    name: str
    """The file's name, for people and models."""
    records: list[ObservationRecord] = field(default_factory=list)
    """The newest records, oldest first."""
    sights: list[Sight] = field(default_factory=list)
    """What is left of them, newest first."""
    settled: object = None
    """When its line was last made, if nothing but a write to this file or a compaction can change it."""
    moment: object = None
    """When its line was last made: nothing that it depends on differs at an equal moment."""
    statuses: list[RangeStatus] = field(default_factory=list)
    """The status and context of each sight in that line."""
    line: str = ""
    """The line that a view had for it last."""

    def rename(self, name: str) -> None:
        """Give the file another name; its line in the view is made anew."""
        self.name = name
        self.settled, self.moment, self.statuses = None, None, []

    def add(self, record: ObservationRecord) -> None:
        """Take in a new record; it hides what older ones show of the same lines."""
        if len(self.records) >= MAX_RECORDS:
            del self.records[: MAX_RECORDS // 2]
        self.records.append(record)
        self.settled, self.moment, self.statuses = None, None, []
        if not record.ranges:
            return
        sights = [Sight(record, record.ranges, spans(record.ranges, record.end))]
        whole = record.ranges == (Lines(1, record.end),)
        shown = tuple(run for run in record.ranges if run.first > 0)
        for sight in self.sights if not whole else ():
            left = subtract(tuple(run for run in sight.ranges if run.first > 0), shown)
            tails = tuple(run for run in sight.ranges if run.first < 0 and run not in record.ranges)
            if left or tails:
                ranges = (*left, *tails)
                kept = ranges == sight.ranges
                sights.append(sight if kept else Sight(sight.record, ranges, spans(ranges, None)))
        self.sights = sights[:MAX_SIGHTS]


def spans(ranges: tuple[Lines, ...], end: int | None) -> str:
    """Runs of lines in words; a whole file is called that."""
    counted = union((), tuple(run for run in ranges if run.first > 0))
    if end is not None and counted == (Lines(1, end),):
        return f"whole, {end} lines"
    tails = sorted({run for run in ranges if run.first < 0})[:1]
    words = ", ".join(span(run) for run in (*counted[:MAX_SPANS], *tails))
    return words + (f" and {len(counted) - MAX_SPANS} more" if len(counted) > MAX_SPANS else "")


def shown_name(path: str, home: str | None) -> str:
    """A path as the agent would type it, safe to print."""
    short = path.removeprefix(home + "/") if home and home != "/" else path
    # No name may look like the view's own closing mark.
    return printable(short).replace("<", "?").replace(">", "?")
