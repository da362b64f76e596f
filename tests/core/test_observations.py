"""Observation records: what a newer one hides, and how ranges are put in words."""

from __future__ import annotations

import pytest

from execledger.core.observations import MAX_RECORDS, FileSeen, ObservationRecord, shown_name, spans
from execledger.vocabulary.records import Lines


def left(*records: ObservationRecord) -> list[tuple[int, str]]:
    """What a view can say after these records: step and words, newest first."""
    seen = FileSeen("a.py")
    for one in records:
        seen.add(one)
    return [(sight.record.step, sight.text) for sight in seen.sights]


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
    seen = FileSeen("a.py")
    for step in range(10 * MAX_RECORDS):
        seen.add(record(step, Lines(step + 1, step + 1)))
    assert (len(seen.records) <= MAX_RECORDS, seen.records[-1].step) == (True, 10 * MAX_RECORDS - 1)


@pytest.mark.parametrize(
    ("ranges", "end", "expected"),
    [
        ((Lines(1, 9),), 9, "whole, 9 lines"),
        ((Lines(1, 9),), None, "1-9"),
        ((Lines(2, 9),), 9, "2-9"),
        ((Lines(4, 4), Lines(5, 9)), None, "4-9"),
        ((Lines(4, 4), Lines(6), Lines(-3)), None, "4, 6-end, last 3"),
        (tuple(Lines(n, n) for n in range(1, 21, 2)), None, "1, 3, 5, 7, 9, 11, 13, 15 and 2 more"),
    ],
)
def test_runs_of_lines_are_put_in_words(ranges: tuple[Lines, ...], end: int | None, expected: str) -> None:
    """Touching runs are joined, and too many are counted."""
    assert spans(ranges, end) == expected


@pytest.mark.parametrize(
    ("path", "home", "expected"),
    [
        ("/repo/src/a.py", "/repo", "src/a.py"),
        ("/other/a.py", "/repo", "/other/a.py"),
        ("/repository/a.py", "/repo", "/repository/a.py"),
        ("/a.py", "/", "/a.py"),
        ("/repo/a\nb\x1b[31m.py", "/repo", "a b?[31m.py"),
    ],
)
def test_a_file_is_named_as_the_agent_would_type_it(path: str, home: str, expected: str) -> None:
    """Relative to where the work is, on one line, without control characters."""
    assert shown_name(path, home) == expected
