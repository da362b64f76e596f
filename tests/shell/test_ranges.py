"""The algebra of line ranges; the brute-force model of it is in ``properties``."""

from __future__ import annotations

import pytest

from execledger.shell.ranges import covers, merge, number, overlap, select, size, subtract, union
from execledger.vocabulary.records import CHANGED, WHOLE, Lines, View

ALL = View("f", (WHOLE,))


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        ((WHOLE,), (Lines(5, 9),), (Lines(5, 9),)),
        ((Lines(10, 29),), (Lines(1, 5),), (Lines(10, 14),)),
        ((Lines(10, 29),), (Lines(3),), (Lines(12, 29),)),
        ((Lines(10, 29),), (Lines(15, 99),), (Lines(24, 29),)),
        ((Lines(1, 5), Lines(10, 15)), (Lines(4, 7),), (Lines(4, 5), Lines(10, 11))),
        ((Lines(1, 5),), (Lines(1, 2), Lines(4)), (Lines(1, 2), Lines(4, 5))),
        ((Lines(1, 5),), (Lines(1, 2), Lines(3, 4)), (Lines(1, 4),)),
    ],
)
def test_positions_from_the_start(
    before: tuple[Lines, ...], wanted: tuple[Lines, ...], after: tuple[Lines, ...]
) -> None:
    """Positions of a stream become lines of the file."""
    assert select(View("f", before), wanted) == View("f", after)


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        ((WHOLE,), Lines(-20), Lines(-20)),
        ((Lines(5),), Lines(-20), Lines(-20)),
        ((Lines(1, 80),), Lines(-20), Lines(61, 80)),
    ],
)
def test_positions_from_the_end_depend_on_the_files_length(
    before: tuple[Lines, ...], wanted: Lines, after: Lines
) -> None:
    """Which lines these are is only known with the output."""
    assert select(View("f", before), (wanted,)) == View("f", (after,), floating=True)


def test_the_start_of_the_end() -> None:
    """Which lines ``tail -20 f | head -5`` shows depends on whether the file has twenty."""
    assert select(View("f", (Lines(-20),), floating=True), (Lines(1, 5),)) is None


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ((Lines(1, 5),), (Lines(6, 9),)),
        ((WHOLE,), (Lines(5, 9), Lines(7, 12))),
        ((WHOLE,), (Lines(9), Lines(1, 2))),
        ((WHOLE,), (Lines(1, 2), Lines(-5))),
        ((Lines(1, 5), Lines(8, 9)), (Lines(-3),)),
    ],
)
def test_selections_without_a_range(before: tuple[Lines, ...], wanted: tuple[Lines, ...]) -> None:
    """Nothing, the same line twice, or lines that only the file's length would tell."""
    assert select(View("f", before), wanted) is None


def test_numbers_are_those_of_the_file_only_from_its_first_line() -> None:
    """Any other stream is numbered by something else."""
    assert number(ALL, "\t") == View("f", (WHOLE,), "\t")
    assert number(View("f", (Lines(1, 9),)), ":").numbering == ":"
    assert number(View("f", (Lines(5, 9),)), "\t").numbering == CHANGED
    assert number(View("f", (Lines(1, 2), Lines(5, 9))), "\t").numbering == CHANGED
    assert number(View("f", (Lines(-5),), floating=True), "\t").numbering == CHANGED
    assert number(View("f", (WHOLE,), "\t"), "\t").numbering == CHANGED


def test_runs() -> None:
    """Joining, counting and comparing runs of lines."""
    assert merge([Lines(1, 2), Lines(3, 4), Lines(6, 7)]) == [Lines(1, 4), Lines(6, 7)]
    assert [size(lines) for lines in (Lines(3, 5), Lines(3), Lines(-3), Lines(-5, -4))] == [3, None, 3, 2]
    assert union((Lines(5, 9),), (Lines(1, 4), Lines(20))) == (Lines(1, 9), Lines(20))
    assert subtract((Lines(1, 9),), (Lines(3, 4), Lines(8))) == (Lines(1, 2), Lines(5, 7))
    assert overlap((Lines(1, 5),), (Lines(5, 9),))
    assert not overlap((Lines(1, 4),), (Lines(5, 9),))
    assert overlap((Lines(-3),), (Lines(1, 1),))


def test_coverage() -> None:
    """A range that ends with the file is covered up to there, once that is known."""
    seen = (Lines(1, 10), Lines(11, 20))
    assert covers(seen, Lines(5, 15), None)
    assert not covers(seen, Lines(15, 25), None)
    assert covers(seen, Lines(15, 25), 20)
    assert not covers(seen, Lines(15), None)
    assert covers(seen, Lines(15), 20)
    assert covers((Lines(3),), Lines(5), None)
    assert not covers(seen, Lines(-5), 20)
