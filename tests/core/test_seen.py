"""The lines of a file that results show, by place: what covers a line, and what contradicts it."""

from __future__ import annotations

from collections.abc import Container

import pytest
from msgspec.structs import replace

from execledger.core.fingerprint import digest
from execledger.core.lines import Returned
from execledger.core.seen import MAX_DOUBTS, MAX_PASSAGES, Passage, SeenLines
from execledger.core.withheld import marked
from execledger.vocabulary.records import Lines


def returned(letters: str, first: int = 1, **more: object) -> Returned:
    """Lines, one letter each, from line ``first`` on."""
    lines = Returned((tuple(letters),), (None,), (Lines(first, first + len(letters) - 1),), None)
    return replace(lines, **more)


def index(*shown: tuple[int, str, int]) -> SeenLines:
    """What these steps showed: step, lines, place of the first."""
    seen = SeenLines()
    for step, letters, first in shown:
        seen.add(step, returned(letters, first))
    return seen


def held(
    seen: SeenLines, letters: str, first: int = 1, visible: range = range(1000), since: int = -1, **more: object
) -> list[tuple[int, int, int]]:
    """Which runs are held: first line, last line, step."""
    asked = replace(Passage(-1, first, tuple(letters)), **more)
    return [(run.first, run.last or 0, step) for run, step in seen.held(asked, visible, since, 3)]


def test_lines_are_held_at_their_place() -> None:
    """The same text at another line number is another matter."""
    seen = index((0, "abcdefgh", 1))
    assert held(seen, "cdef", 3) == [(3, 6, 0)]
    assert held(seen, "cdef", 4) == []


def test_the_newest_result_comes_first() -> None:
    """Each result holds what it shows of the lines."""
    seen = index((0, "abcdefgh", 1), (1, "cdef", 3))
    assert held(seen, "bcdefg", 2) == [(3, 6, 1), (2, 7, 0)]


def test_a_newer_result_that_shows_a_place_differently_ends_what_older_ones_hold() -> None:
    """As long as it is visible."""
    seen = index((0, "abcdefgh", 1), (1, "X", 4))
    assert held(seen, "abcdefgh") == [(1, 3, 0), (5, 8, 0)]
    assert held(seen, "abcdefgh", visible=range(1)) == [(1, 8, 0)]


def test_a_newer_end_ends_what_older_results_hold_behind_it() -> None:
    """The place was seen not to exist."""
    seen = index((0, "abcdefgh", 1))
    seen.add(1, returned("ab", end=2))
    assert held(seen, "abcdefgh") == []
    assert held(seen, "ab") == [(1, 2, 1), (1, 2, 0)]


def test_runs_that_are_too_short_are_left_out() -> None:
    """Unless they are all that is asked for."""
    seen = index((0, "abXdef", 1))
    assert (held(seen, "abcdef"), held(seen, "ab"), held(seen, "d", 4)) == ([(4, 6, 0)], [(1, 2, 0)], [(4, 4, 0)])


def test_numbers_are_held_by_numbered_results_only() -> None:
    """Plain lines are held by both."""
    seen = index((0, "abcd", 1))
    assert (held(seen, "abcd", numbered=True), held(seen, "abcd")) == ([], [(1, 4, 0)])
    seen.add(1, returned("abcd", numbers=((1, 2, 3, 4),)))
    assert (held(seen, "abcd", numbered=True), held(seen, "abcd")) == ([(1, 4, 1)], [(1, 4, 1), (1, 4, 0)])


def test_the_end_is_held_by_a_result_that_ends_there() -> None:
    """With the same final newline, and as long as no newer result shows another end or a line behind it."""
    seen = index((0, "abcdef", 1))
    assert held(seen, "abcdef", end=6) == [(1, 5, 0)]
    seen.add(1, returned("abcdef", end=6))
    assert held(seen, "abcdef", end=6) == [(1, 6, 1), (1, 5, 0)]
    assert held(seen, "abcdef", end=6, newline=False) == [(1, 5, 1), (1, 5, 0)]
    seen.add(2, returned("xyz", 7))
    assert held(seen, "abcdef", end=6) == [(1, 5, 1), (1, 5, 0)]


def test_a_missing_newline_is_held_only_where_it_is_missing() -> None:
    """A line that ends the output without a newline is the last one of the file."""
    seen = index((0, "abcdef", 1))
    assert held(seen, "abcd", newline=False) == [(1, 3, 0)]
    seen.add(1, returned("abcdef", newline=False))
    assert held(seen, "abcdef") == [(1, 5, 1), (1, 6, 0)]
    assert held(seen, "abcdef", newline=False) == [(1, 6, 1), (1, 5, 0)]


def test_lines_at_unknown_places_end_what_older_results_hold() -> None:
    """Of a result that may show the file at any place, and of its last lines, if their numbers are not told."""
    seen = index((0, "abcd", 1))
    seen.close(1)
    assert (held(seen, "abcd"), held(seen, "abcd", visible=range(1))) == ([], [(1, 4, 0)])
    seen = SeenLines()
    seen.add(0, returned("abcd", end=4))
    seen.add(1, Returned((("c", "d"),), (None,), (Lines(-2),), None))
    assert held(seen, "abcd") == []


def test_single_lines_contradict_and_hold_nothing() -> None:
    """The hits of a search are no target, but they are newer."""
    seen = index((0, "abcdefgh", 1))
    seen.doubt(1, [(2, "b"), (4, "X"), (100, "y")])
    assert held(seen, "abcdefgh") == [(1, 3, 0), (5, 8, 0)]
    seen.doubt(2, [(place, "-") for place in range(1, 9)] * MAX_DOUBTS)
    assert held(seen, "abcdefgh", since=0) == []


def test_results_before_one_that_may_show_any_file_hold_nothing() -> None:
    """From ``since`` on."""
    seen = index((0, "abcd", 1), (5, "abcd", 1))
    assert held(seen, "abcd", since=3) == [(1, 4, 5)]


@pytest.mark.parametrize("step", range(-1, 5))
def test_hits_are_contradicted_as_each_of_them_is(step: int) -> None:
    """By another text at its place, by an end before it, and by a result that may show any place."""
    seen = index((0, "abcdefgh", 1), (1, "bcX", 2))
    seen.add(2, returned("abc", end=3))
    seen.close(4)
    for visible in (range(5), range(4), range(2), range(1)):
        for hits in ([(2, "b")], [(3, "c"), (1, "a")], [(4, "d"), (2, "b")], [(3, "c"), (9, "z")], []):
            single = [seen.contradicted(Passage(-1, place, (text,)), visible, step) for place, text in hits]
            assert seen.any_contradicted(hits, visible, step) is any(single)


def test_many_hits_ask_each_passage_once() -> None:
    """The work is that of the passages and of the hits, not of every pair."""
    asked: list[object] = []

    class Visible(Container[int]):
        def __contains__(self, step: object) -> bool:
            asked.append(step)
            return True

    seen = index(*((step, "abcdefgh", 1) for step in range(20)))
    assert not seen.any_contradicted([(place, "h") for place in (8, *range(9, 500))], Visible(), 9)
    assert asked == list(range(10, 20))


def test_a_bounded_number_of_passages_is_kept() -> None:
    """The newest hold on, the oldest are let go of."""
    seen = index(*((step, "abcd", 1) for step in range(5 * MAX_PASSAGES)))
    found = held(seen, "abcd")
    assert len(found) <= MAX_PASSAGES and found[0] == (1, 4, 5 * MAX_PASSAGES - 1)


def test_a_withheld_line_is_found_by_its_text() -> None:
    """Whether it was shown as text before, is shown so later, or is asked for."""
    seen = index((0, "abcd", 1))
    seen.add(1, marked(returned("xyXz", 11), ((2, digest("c")),)))
    seen.add(2, returned("cdef", 21))
    asked = [("abc", 1), ("xyc", 11), ("cde", 21), ("xyX", 11), ("xyd", 11)]
    assert [held(seen, letters, first) for letters, first in asked] == [
        [(1, 3, 0)],
        [(11, 13, 1)],
        [(21, 23, 2)],
        [],
        [],
    ]


def test_what_a_step_showed_at_a_place() -> None:
    """All of it, or nothing; only its last line is at its end."""
    seen = SeenLines()
    seen.add(0, returned("abcd", 5, end=8, newline=False))
    assert seen.passage(0, Lines(6, 8)) == Passage(0, 6, ("b", "c", "d"), end=8, newline=False)
    assert seen.passage(0, Lines(5, 7)) == Passage(0, 5, ("a", "b", "c"))
    assert (seen.passage(0, Lines(5, 9)), seen.passage(1, Lines(5, 6))) == (None, None)
