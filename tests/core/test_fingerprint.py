"""Digests of results: exact ones for claims, and likeness, for noticing repeats."""

from __future__ import annotations

import pytest

from execledger.core.fingerprint import MAX_TIMINGS, alike, digest, fingerprint
from execledger.vocabulary.actions import Observation


def exact(observation: Observation) -> str:
    return fingerprint(observation, steady=False).digest


def similar(one: str, other: str, status: int = 0) -> bool:
    """A test printed the one, and then the other with this exit status."""
    first, second = Observation(one, exit_status=0), Observation(other, exit_status=status)
    return alike(fingerprint(first, steady=True), fingerprint(second, steady=True))


@pytest.mark.parametrize(
    "other",
    [
        Observation("ab ", exit_status=0),
        Observation("ab", exit_status=1),
        Observation("ab", exit_status=None),
        Observation("ab", exit_status=0, failed=True),
        Observation("ab", exit_status=0, timed_out=True),
        Observation("ab", exit_status=0, stderr="x"),
        Observation("ab", exit_status=0, notice="x"),
        Observation("ab", exit_status=0, cut=1, truncated=True),
    ],
)
def test_every_part_of_a_result_is_in_its_digest(other: Observation) -> None:
    """Exit status, error output and cuts are part of a result."""
    assert exact(other) != exact(Observation("ab", exit_status=0))


def test_where_error_output_ends_matters() -> None:
    """Two texts that join to the same bytes are told apart."""
    assert exact(Observation("a", "b", "c")) != exact(Observation("a", "bc"))
    assert digest("a", "bc") != digest("ab", "c")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("======= 1 failed in 9.87s =======", "====== 1 failed in 10.12s ======"),
        ("1 passed in 0.00s", "1 passed in 0.02s"),
        ("5 ms", "7 ms"),
        ("took 90 seconds (0:01:30)", "took 91 seconds (0:01:31)"),
        ("Ran 3 tests in 0.150s", "Ran 3 tests in 0.099s"),
    ],
)
def test_close_timings_do_not_make_a_result_new(one: str, other: str) -> None:
    """They differ between two runs of one test."""
    assert similar(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1 failed in 0.12s", "2 failed in 0.12s"),
        ("1 failed in 0.12s", "1 passed in 0.12s"),
        ("50 ms", "5 ms"),
        ("1 passed in 0.12s", "1 passed in 12.50s"),
        ("2024-01-02 start", "2025-03-04 start"),
        ("at 10:11:12", "at 22:33:44"),
        ("speedup 3", "speedup 4"),
        ("1 passed", "1 passed in 0.1s"),
    ],
)
def test_other_numbers_make_a_result_new(one: str, other: str) -> None:
    """Counts, dates and timings of another order are results."""
    assert not similar(one, other)


def test_many_timings_must_be_equal() -> None:
    """Beyond a bound they are numbers like any others."""
    table = "".join(f"0.1{at % 10}s call\n" for at in range(MAX_TIMINGS + 1))
    assert similar(table, table) and not similar(table, table.replace("0.12s", "0.13s"))


def test_the_exit_status_is_never_left_out() -> None:
    """A test that prints the same and ends otherwise gave another result."""
    assert similar("x", "x") and not similar("x", "x", 1)


@pytest.mark.parametrize(
    ("output", "size", "lines"), [("", 0, 0), ("a", 1, 1), ("a\n", 2, 1), ("ä\nb", 4, 2), ("\n\n", 2, 2)]
)
def test_bytes_and_lines_are_counted(output: str, size: int, lines: int) -> None:
    """UTF-8 bytes, and a last line without a newline counts."""
    mark = fingerprint(Observation(output), steady=False)
    assert (mark.size, mark.lines) == (size, lines)


def test_text_that_is_not_unicode_has_a_digest() -> None:
    """Lone surrogates come from bytes that were not UTF-8."""
    assert exact(Observation("\udc80")) != exact(Observation("\udc81"))


@pytest.mark.parametrize("text", [f"({'9' * 5000}:00:00)", f"0.{'1' * 400}s", f"{'9' * 5000} s"])
def test_numbers_of_any_length_are_taken(text: str) -> None:
    """An output may hold what no number type does."""
    assert similar(text, text)
    assert not similar(text, text.replace("9", "8", 1).replace("1", "2", 1))
