"""The index of shown lines: runs are found by hash, with numbers where both sides print them."""

from __future__ import annotations

from execledger.core.fingerprint import digest
from execledger.core.lines import Returned
from execledger.core.seen import MAX_PLACES, Run, SeenLines
from execledger.core.withheld import marked


def index(*pieces: tuple[int, str]) -> SeenLines:
    """Lines, one letter each, that these steps showed."""
    seen = SeenLines()
    for step, letters in pieces:
        seen.add(step, Returned((tuple(letters),), (None,), (), None))
    return seen


def cut(seen: SeenLines, letters: str, visible: range = range(100), min_run: int = 3) -> list[Run] | None:
    return seen.cut(Returned((tuple(letters),), (None,), (), None), visible, min_run)


def test_a_run_is_as_long_as_it_can_be() -> None:
    """One longer piece is taken before two shorter ones."""
    assert cut(index((0, "abc"), (1, "xabcdefx"), (2, "def")), "abcdef") == [Run(1, 6, False)]


def test_lines_are_cut_into_runs() -> None:
    """Each run stands in a piece of its own."""
    assert cut(index((0, "abcd"), (1, "efg")), "abcdefg") == [Run(0, 4, False), Run(1, 3, False)]


def test_a_run_may_begin_inside_the_one_before() -> None:
    """Where the rest would be too short, the cut moves back, as long as both stay long enough."""
    assert cut(index((0, "abcdef"), (1, "fgh")), "abcdefgh") == [Run(0, 6, False), Run(1, 3, False)]
    assert cut(index((0, "abc"), (1, "cde")), "abcde") is None


def test_a_missing_line_fails_the_cut() -> None:
    """Every line has to stand somewhere."""
    assert cut(index((0, "abcdef")), "abcdefz") is None
    assert cut(index((0, "abcdef")), "zabcdef") is None


def test_a_short_output_counts_if_it_stands_whole() -> None:
    """One or two lines are the whole of the output."""
    seen = index((0, "abcdef"))
    assert (cut(seen, "c"), cut(seen, "cd"), cut(seen, "ce")) == ([Run(0, 1, False)], [Run(0, 2, False)], None)


def test_only_visible_pieces_count() -> None:
    """The newest visible one of equals is named."""
    seen = index((0, "abcd"), (1, "abcd"), (2, "abcd"))
    assert [cut(seen, "abcd", visible) for visible in (range(3), range(1), range(3, 9))] == [
        [Run(2, 4, False)],
        [Run(0, 4, False)],
        None,
    ]


def test_a_result_that_is_used_already_is_preferred() -> None:
    """Fewer results make a simpler reference."""
    assert cut(index((0, "abc-xyz"), (1, "xyz")), "abcxyz") == [Run(0, 3, False), Run(0, 3, False)]


def test_numbers_decide_where_both_print_them() -> None:
    """Equal text at other numbers is no match, but text without numbers matches either."""
    seen = SeenLines()
    seen.add(0, Returned((tuple("abcd"),), ((1, 2, 3, 4),), (), None))
    texts = tuple("bcd")
    found = [
        seen.cut(Returned((texts,), (numbers,), (), None), range(1), 3) for numbers in ((2, 3, 4), (3, 4, 5), None)
    ]
    assert found == [[Run(0, 3, True)], None, [Run(0, 3, False)]]


def test_the_newest_places_of_boilerplate_are_remembered() -> None:
    """The search stays bounded: old copies are forgotten, the newest are found."""
    seen = index(*((step, "abc") for step in range(5 * MAX_PLACES)))
    assert cut(seen, "abc") == [Run(5 * MAX_PLACES - 1, 3, False)]
    assert cut(seen, "abc", range(1)) is None


def test_a_withheld_line_is_found_by_its_text() -> None:
    """Whether it was shown as text before, is shown so later, or is asked for."""
    seen = index((0, "abcd"))
    seen.add(1, marked(Returned((tuple("xyXz"),), (None,), (), None), ((2, digest("c")),)))
    seen.add(2, Returned((tuple("cdef"),), (None,), (), None))
    found = [cut(seen, letters) for letters in ("abc", "xyc", "cde", "xyX", "xyd")]
    assert found == [[Run(0, 3, False)], [Run(1, 3, False)], [Run(2, 3, False)], None, None]
    alone = seen.of((1,))
    assert (cut(alone, "xycz"), cut(alone, "abc")) == ([Run(1, 4, False)], None)
