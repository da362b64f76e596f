"""Digests of results: exact ones for claims, steady ones for noticing repeats."""

from __future__ import annotations

import pytest

from execledger.core.actions import Observation
from execledger.core.fingerprint import digest, fingerprint


def exact(observation: Observation) -> str:
    return fingerprint(observation, steady=False).digest


def steady(output: str, status: int = 0) -> str:
    return fingerprint(Observation(output, exit_status=status), steady=True).steady


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
        ("======= 1 failed in 0.12s =======", "====== 1 failed in 12.50s ======"),
        ("at 0x7f00aa11", "at 0x7f00bb22"),
        ("2024-01-02 10:11:12 start", "2025-03-04 22:33:44 start"),
        ("wrote /tmp/pytest-of-me/pytest-3/x", "wrote /tmp/pytest-of-me/pytest-4/y"),
    ],
)
def test_what_differs_between_two_runs_of_one_test_is_steady(one: str, other: str) -> None:
    """Durations, addresses, dates and temporary names do not make a result new."""
    assert steady(one) == steady(other)


@pytest.mark.parametrize("other", ["==== 2 failed in 0.12s ====", "==== 1 passed in 0.12s ===="])
def test_a_real_difference_is_not_steady(other: str) -> None:
    """Counts and words are results."""
    assert steady(other) != steady("==== 1 failed in 0.12s ====")


def test_the_exit_status_is_never_left_out() -> None:
    """A test that prints the same and ends otherwise gave another result."""
    assert steady("x", 0) != steady("x", 1)


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
