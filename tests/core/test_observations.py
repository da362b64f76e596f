"""Observation records, and the requests that they cover."""

from __future__ import annotations

import pytest

from execledger.core.observations import (
    MAX_RECORDS,
    MAX_RUNS,
    Held,
    ObservationRecord,
    ObservedFile,
    absolute,
    cover,
    cut,
)
from execledger.core.policy import Policy
from execledger.vocabulary.records import WHOLE, Lines, View


def record(step: int, *ranges: Lines, end: int | None = None, holder: int | None = None) -> ObservationRecord:
    return ObservationRecord(step, ranges, end, 0, 0, 0, step if holder is None else holder)


def left(*records: ObservationRecord) -> list[tuple[int, str]]:
    """What a view can say after these records: step and words, newest first."""
    seen = ObservedFile("a.py")
    for one in records:
        seen.add(one)
    return [(part.record.step, part.text) for part in seen.parts]


def test_a_newer_record_hides_the_lines_that_it_shows_again() -> None:
    """What is left of the older one stays."""
    assert left(record(0, Lines(1, 30)), record(1, Lines(11, 20))) == [(1, "11-20"), (0, "1-10, 21-30")]


def test_a_whole_read_hides_everything() -> None:
    """Nothing older has anything to add."""
    assert left(record(0, Lines(1, 30)), record(1, Lines(-5)), record(2, Lines(1, 40), end=40)) == [
        (2, "whole, 40 lines")
    ]


def test_a_tail_stays_beside_lines_that_count_from_the_start() -> None:
    """It is not known whether they overlap."""
    assert left(record(0, Lines(-5)), record(1, Lines(1, 30))) == [(1, "1-30"), (0, "last 5")]


def test_a_record_without_lines_leaves_the_words_alone() -> None:
    """A read that proves no line says nothing."""
    assert left(record(0, Lines(1, 30)), record(1)) == [(0, "1-30")]


def test_records_are_bounded_and_the_newest_stay() -> None:
    """A file that is read again and again does not grow."""
    seen = ObservedFile("a.py")
    for step in range(10 * MAX_RECORDS):
        seen.add(record(step, Lines(step + 1, step + 1)))
    assert (len(seen.records) <= MAX_RECORDS, seen.records[-1].step) == (True, 10 * MAX_RECORDS - 1)


def ask(*ranges: Lines, floating: bool = False) -> View:
    return View("/repo/a.py", ranges, floating=floating)


def runs(view: View, *records: ObservationRecord, hidden: frozenset[int] = frozenset()) -> Held | None:
    return cover(view, list(records), lambda step: step not in hidden, Policy())


def found(view: View, *records: ObservationRecord, hidden: frozenset[int] = frozenset()) -> tuple[int, ...] | None:
    """The steps that hold what is asked for."""
    held = runs(view, *records, hidden=hidden)
    return None if held is None else tuple(sorted({step for _, step in held}))


def test_one_record_that_holds_everything_is_enough() -> None:
    """The longest run is taken, so the answer is as short as it can be."""
    assert found(ask(Lines(5, 25)), record(0, Lines(1, 15)), record(1, Lines(1, 40)), record(2, Lines(16, 30))) == (1,)


def test_touching_records_are_joined() -> None:
    """Runs that meet without a gap cover together; with a gap they do not."""
    first = record(0, Lines(1, 10))
    assert found(ask(Lines(1, 20)), first, record(1, Lines(11, 20))) == (0, 1)
    assert found(ask(Lines(1, 20)), first, record(1, Lines(12, 20))) is None


def test_a_whole_file_needs_a_known_end() -> None:
    """Without it nobody knows which lines are missing."""
    assert found(ask(WHOLE), record(0, Lines(1, 10))) is None
    assert found(ask(WHOLE), record(0, Lines(1, 10)), record(1, Lines(8, 13), end=13)) == (0, 1)


def test_lines_beyond_the_end_are_not_asked_for() -> None:
    """A range that reaches over the known end asks for the lines up to it."""
    assert found(ask(Lines(5, 900)), record(0, Lines(1, 10), end=10)) == (0,)


def test_a_tail_is_placed_by_a_known_end() -> None:
    """The last five of ten lines are 6 to 10."""
    assert found(ask(Lines(-5), floating=True), record(0, Lines(1, 10), end=10)) == (0,)
    assert found(ask(Lines(-5), floating=True), record(0, Lines(1, 10))) is None


def test_a_seen_tail_covers_once_the_end_is_known() -> None:
    """An end that another record tells turns a tail into lines."""
    assert found(ask(Lines(7, 10)), record(0, Lines(-5)), record(1, Lines(1, 3), end=10)) == (0,)


def test_every_range_must_be_covered() -> None:
    """Two ranges, one of them missing, is a miss."""
    seen = record(0, Lines(1, 10))
    assert found(ask(Lines(1, 3), Lines(6, 8)), seen) == (0,)
    assert found(ask(Lines(1, 3), Lines(16, 18)), seen) is None


def test_a_single_short_range_counts_if_it_is_the_whole_answer() -> None:
    """One line is covered by a read that holds it; as one of several ranges it is too short."""
    seen = record(0, Lines(1, 10))
    assert found(ask(Lines(4, 4)), seen) == (0,)
    assert found(ask(Lines(4, 4), Lines(6, 6)), seen) is None


def test_a_record_counts_only_where_its_holder_is_shown() -> None:
    """A reference has found the lines unchanged, but the text stands in the result that it points at."""
    seen = record(5, Lines(1, 20), holder=1)
    assert found(ask(Lines(2, 9)), seen) == (1,)
    assert found(ask(Lines(2, 9)), seen, hidden=frozenset({1})) is None


def test_every_line_is_in_one_run() -> None:
    """Also where a run begins inside the one before it, so that both are long enough."""
    held = runs(ask(Lines(1, 12)), record(0, Lines(1, 10)), record(1, Lines(8, 12)))
    assert held == [(Lines(1, 9), 0), (Lines(10, 12), 1)]


def test_the_end_of_the_file_is_shown_by_a_result_that_ends_there() -> None:
    """A read to the end is told where the file ends."""
    records = record(0, Lines(1, 10)), record(1, Lines(6, 10), end=10)
    assert runs(ask(WHOLE), *records) == [(Lines(1, 7), 0), (Lines(8, 10), 1)]
    assert runs(ask(Lines(1, 10)), *records) == [(Lines(1, 10), 0)]
    assert runs(ask(Lines(1, 99)), *records) == [(Lines(1, 7), 0), (Lines(8, 10), 1)]


def test_a_reference_of_too_many_runs_is_none() -> None:
    """It would be a puzzle."""
    pieces = [(Lines(at, at + 2), at % 2) for at in range(1, 3 * MAX_RUNS + 2, 3)]
    assert cut(Lines(1, 3 * MAX_RUNS), pieces, 3, alone=True) is not None
    assert cut(Lines(1, 3 * MAX_RUNS + 3), pieces, 3, alone=True) is None


@pytest.mark.parametrize(
    ("lines", "end", "expected"),
    [
        (Lines(3, 9), None, Lines(3, 9)),
        (Lines(3, 9), 5, Lines(3, 5)),
        (Lines(3), 5, Lines(3, 5)),
        (Lines(3), None, None),
        (Lines(7, 9), 5, None),
        (Lines(-3), 10, Lines(8, 10)),
        (Lines(-30), 10, Lines(1, 10)),
        (Lines(-5, -3), 10, Lines(6, 8)),
        (Lines(-30, -20), 10, None),
        (Lines(-3), None, None),
    ],
)
def test_lines_are_counted_from_the_start(lines: Lines, end: int | None, expected: Lines | None) -> None:
    """Inside the file, or not at all."""
    assert absolute(lines, end) == expected


def test_floating_lines_are_placed_only_inside_the_file() -> None:
    """Which lines ``head -80 | tail -20`` shows depends on whether the file has eighty."""
    placed = [absolute(Lines(61, 80), end, floating=True) for end in (None, 70, 80, 100)]
    assert placed == [None, None, Lines(61, 80), Lines(61, 80)]
