"""From outputs back to lines of files, and the marks of lines that a journal withholds."""

from __future__ import annotations

import pytest

from execledger.core.fingerprint import digest
from execledger.core.lines import (
    Returned,
    returned,
    split_lines,
    split_numbers,
    with_marks,
    withheld_digests,
    withheld_mark,
)
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.records import CHANGED, WHOLE, Lines, View
from tests.core.stories import numbered

A = View("/repo/a.py", (WHOLE,))


def shown(output: str, cut: int | None = None) -> Observation:
    return Observation(output, exit_status=0, cut=cut, truncated=cut is not None)


def part(*ranges: Lines, numbering: str = "", floating: bool = False) -> View:
    return View("/repo/a.py", ranges, numbering, floating)


def test_a_whole_read_tells_where_the_file_ends() -> None:
    """All lines, and the last of them."""
    assert returned(A, shown("a\nb\nc\n")) == Returned((("a", "b", "c"),), (None,), (Lines(1, 3),), 3)


def test_fewer_lines_than_asked_for_mean_the_end_of_the_file() -> None:
    """Four asked, two returned: the file ends there."""
    assert returned(part(Lines(5, 8)), shown("a\nb\n")) == Returned((("a", "b"),), (None,), (Lines(5, 6),), 6)


def test_as_many_lines_as_asked_for_say_nothing_about_the_end() -> None:
    """There may be more."""
    assert returned(part(Lines(5, 6)), shown("a\nb\n")) == Returned((("a", "b"),), (None,), (Lines(5, 6),), None)


def test_several_ranges_are_filled_in_order() -> None:
    """The output is dealt out to the ranges, and the one that is not filled tells the end."""
    view = part(Lines(2, 3), Lines(7, 9))
    assert returned(view, shown("a\nb\nc\n")) == Returned((("a", "b", "c"),), (None,), (Lines(2, 3), Lines(7, 7)), 7)


def test_an_unreached_second_range_claims_nothing_of_its_own() -> None:
    """The first range is full and the second empty: the first lines are certain."""
    found = returned(part(Lines(2, 3), Lines(7, 9)), shown("a\nb\n"))
    assert found is not None and found.ranges == (Lines(2, 3),)


def test_more_lines_than_asked_for_are_ambiguous() -> None:
    """Something else stands in the output."""
    assert returned(part(Lines(1, 2)), shown("a\nb\nc\n")) is None


def test_a_tail_makes_no_absolute_claim() -> None:
    """Without numbers we only know that these were the last lines."""
    view = part(Lines(-3), floating=True)
    assert returned(view, shown("x\ny\nz\n")) == Returned((("x", "y", "z"),), (None,), (Lines(-3),), None)


def test_a_numbered_tail_says_which_lines_it_shows() -> None:
    """Printed numbers are as good as an absolute range."""
    view = part(Lines(-2), numbering="\t", floating=True)
    assert returned(view, shown(numbered(["y", "z"], 41))) == Returned((("y", "z"),), ((41, 42),), (Lines(41, 42),), 42)


def test_numbers_that_were_not_asked_for_are_ambiguous() -> None:
    """The numbers must be those of the lines asked for, each once and ascending."""
    view = part(Lines(5, 9), numbering="\t")
    outputs = (numbered(["a", "b"], 4), numbered(["a"], 6) + numbered(["b"], 5), "no number\n")
    assert [returned(view, shown(output)) for output in outputs] == [None, None, None]


def test_a_gap_in_printed_numbers_is_a_gap_in_what_was_seen() -> None:
    """Blank lines that a tool does not number were not certainly returned."""
    found = returned(View("/repo/a.py", (WHOLE,), "\t"), shown(numbered(["a"], 1) + numbered(["c"], 3)))
    assert found is not None and found.ranges == (Lines(1, 1), Lines(3, 3))


def test_an_elision_keeps_the_whole_lines_at_both_ends() -> None:
    """The line before and the line after the cut are not whole; the end counts from the end."""
    head, tail = "a\nb\nc-cu", "t-x\ny\nz\n"
    expected = Returned((("a", "b"), ("y", "z")), (None, None), (Lines(1, 2), Lines(-2)), None)
    assert returned(A, shown(head + tail, len(head))) == expected


def test_the_end_of_an_elided_range_makes_no_claim_without_numbers() -> None:
    """The last line of a bounded range may be the file's end or not."""
    head, tail = "a\nb\nc-cu", "t-x\ny\nz\n"
    found = returned(part(Lines(11, 400)), shown(head + tail, len(head)))
    assert found is not None and (found.ranges, found.end) == ((Lines(11, 12),), None)


def test_an_elided_numbered_read_covers_both_ends_absolutely() -> None:
    """Numbers tell what the end shows, and with it where the file ends."""
    head, tail = numbered(["a", "b"]) + "     3\tc-", "cut\n" + numbered(["y", "z"], 98)
    found = returned(View("/repo/a.py", (WHOLE,), "\t"), shown(head + tail, len(head)))
    assert found == Returned((("a", "b"), ("y", "z")), ((1, 2), (98, 99)), (Lines(1, 2), Lines(98, 99)), 99)


@pytest.mark.parametrize(
    "observation",
    [
        Observation("a\n", exit_status=1),
        Observation("a\n", failed=True),
        Observation("a\n", timed_out=True),
        Observation("a\n", exit_status=0, truncated=True),
        Observation("", exit_status=0),
    ],
)
def test_a_failed_cut_or_empty_read_returns_nothing(observation: Observation) -> None:
    """No claim is made about the file."""
    assert returned(A, observation) is None


def test_altered_lines_are_not_the_files_lines() -> None:
    """What ``cat -A`` prints is not what the file holds."""
    assert returned(part(WHOLE, numbering=CHANGED), shown("a$\n")) is None


@pytest.mark.parametrize(
    "complaint",
    [
        "cat: a.py: No such file or directory\n",
        "cat: /repo/a.py: Is a directory\n",
        "sed: can't read a.py: No such file or directory\n",
        "head: cannot open 'a.py' for reading: No such file or directory\n",
        "bash: a.py: Permission denied\n",
    ],
)
def test_a_complaint_behind_a_pipe_leaves_no_record(complaint: str) -> None:
    """The last program of a pipe reports success whatever the first one said."""
    assert returned(A, shown(complaint)) is None


def test_a_file_that_quotes_a_complaint_about_another_is_a_file() -> None:
    """Only a complaint in an output that names the file itself is one."""
    found = returned(A, shown("the log says:\ncat: other.txt: No such file or directory\nthat is all\n"))
    assert found is not None and found.ranges == (Lines(1, 3),)


def test_lines_end_at_newlines_only() -> None:
    """Form feeds and carriage returns stand inside lines, as for every reader we know."""
    assert split_lines("a\r\nb\x0cc\n\n") == ["a\r", "b\x0cc", ""]


def test_numbers_are_split_at_their_separator() -> None:
    """A tab in the text stays in the text."""
    assert split_numbers(["  7\ta\tb", "  8\t"], "\t") == (("a\tb", ""), (7, 8))


def lines(*pieces: str) -> Returned:
    """Pieces of lines, one letter each."""
    return Returned(tuple(map(tuple, pieces)), (None,) * len(pieces), (Lines(1, 3),), None)


def test_what_was_changed_is_known_by_place_and_digest() -> None:
    """Places are counted over all pieces; what was kept as it is has none."""
    assert withheld_digests(lines("abc", "de"), lines("aXc", "dX")) == ((1, digest("b")), (4, digest("e")))
    assert withheld_digests(lines("abc"), lines("abc")) == ()


def test_a_mark_stands_where_a_line_was_withheld() -> None:
    """Everything else of what was returned stays as it is."""
    kept = lines("aXc", "dX")
    expected = Returned(
        (("a", withheld_mark("b"), "c"), ("d", withheld_mark("e"))),
        kept.numbers,
        kept.ranges,
        kept.end,
        frozenset({withheld_mark("b"), withheld_mark("e")}),
    )
    assert with_marks(kept, withheld_digests(lines("abc", "de"), kept)) == expected


def test_a_mark_is_no_line_and_its_own_mark() -> None:
    """No line of any file can be taken for it."""
    assert "\n" in withheld_mark("a") and withheld_mark("a") != withheld_mark("b")
    assert withheld_mark(withheld_mark("a")) == withheld_mark("a")
