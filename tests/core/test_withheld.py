"""Lines that a journal does not keep, known by their digests."""

from __future__ import annotations

from execledger.core.fingerprint import digest
from execledger.core.lines import Returned
from execledger.core.withheld import digests, mark, marked
from execledger.vocabulary.records import Lines


def lines(*pieces: str) -> Returned:
    """Pieces of lines, one letter each."""
    return Returned(tuple(map(tuple, pieces)), (None,) * len(pieces), (Lines(1, 3),), None)


def test_what_was_changed_is_known_by_place_and_digest() -> None:
    """Places are counted over all pieces; what was kept as it is has none."""
    assert digests(lines("abc", "de"), lines("aXc", "dX")) == ((1, digest("b")), (4, digest("e")))
    assert digests(lines("abc"), lines("abc")) == ()


def test_a_mark_stands_where_a_line_was_withheld() -> None:
    """Everything else of what was returned stays as it is."""
    kept = lines("aXc", "dX")
    expected = Returned(
        (("a", mark("b"), "c"), ("d", mark("e"))),
        kept.numbers,
        kept.ranges,
        kept.end,
        frozenset({mark("b"), mark("e")}),
    )
    assert marked(kept, digests(lines("abc", "de"), kept)) == expected


def test_a_mark_is_no_line_and_its_own_mark() -> None:
    """No line of any file can be taken for it."""
    assert "\n" in mark("a") and mark("a") != mark("b")
    assert mark(mark("a")) == mark("a")
