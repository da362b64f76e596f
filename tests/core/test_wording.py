"""Texts, names, ranges and distances as a model or a person reads them."""

from __future__ import annotations

import pytest

from execledger.core.wording import ago, clip, printable, shown_name, span, spans
from execledger.shell.paths import UNRECORDED_DIRECTORY
from execledger.vocabulary.records import Lines


@pytest.mark.parametrize(
    ("text", "budget", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 4, "abcd"),
        ("abcde", 4, "a..."),
        ("abcd", 3, ""),
        ("ab cdef", 6, "ab..."),
        ("\ud800", 9, "?"),
    ],
)
def test_text_is_clipped_to_its_budget(text: str, budget: int, expected: str) -> None:
    """Whole where it fits, marked where it was cut, nothing where not even the mark fits."""
    assert clip(text, budget) == expected


@pytest.mark.parametrize(
    ("lines", "words"),
    [(Lines(3, 9), "3-9"), (Lines(3, 3), "3"), (Lines(3), "3-end"), (Lines(-20), "last 20")],
)
def test_a_run_of_lines_in_words(lines: Lines, words: str) -> None:
    """As short as it can be said."""
    assert span(lines) == words


def test_distances_and_printable_text() -> None:
    """One is singular, and every white space is a space."""
    assert (ago(1), ago(2), printable(" a\t\x07b\n")) == ("1 command ago", "2 commands ago", "a ?b")


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
        (f"{UNRECORDED_DIRECTORY}/a.py", "/elsewhere", "a.py"),
        (UNRECORDED_DIRECTORY, UNRECORDED_DIRECTORY, "."),
        ("/repo/a\nb\x1b[31m.py", "/repo", "a b?[31m.py"),
    ],
)
def test_a_file_is_named_as_the_agent_would_type_it(path: str, home: str, expected: str) -> None:
    """Relative to where the work is, on one line, without control characters."""
    assert shown_name(path, home) == expected
