"""The judgement of looks: whatever a verdict says of a line is true of the file at that moment.

The oracle gives each line an identity of its own, and knows nothing of alignments.
"""

from __future__ import annotations

import hashlib
import random

import pytest

from execledger.core.lines import split_lines
from execledger.core.witness import (
    DISAGREED,
    NEVER_FOUND,
    TOO_DIFFERENT,
    UNPLACED,
    DigestedLines,
    ShownRange,
    Witnessed,
    WitnessedDigests,
    aligned,
    line_digests,
    resplit,
)
from execledger.core.witness_limits import MAX_ALIGNED_LINES
from execledger.vocabulary.sightings import FileSighting, ResultSighting, SightedLines, Verdict

FILE = "/w/a.py"
TEN = [f"line {number}" for number in range(1, 11)]


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def lines(first: int, last: int, step: int = 0, *, fresh: bool = True, of: list[str] = TEN) -> ShownRange:
    return ShownRange(step, first, tuple(of[first - 1 : last]), fresh)


def pieces(found: FileSighting) -> list[tuple[int, int, str, int | None]]:
    return [(one.first, one.last, one.verdict.value, one.place) for result in found.results for one in result.pieces]


def agreed(shown: ShownRange, before: list[str] = TEN) -> Witnessed:
    """A witness whose first look at the file agreed."""
    witnessed = Witnessed()
    assert {one[2] for one in pieces(witnessed.read(FILE, [shown], text(before)))} == {"same"}
    return witnessed


def test_a_look_reports_lines_and_digests() -> None:
    """A sighting of an unchanged file names its last line and has one piece per result."""
    found = Witnessed().read(FILE, [lines(2, 5)], text(TEN))
    assert (found.path, found.end, found.reason, len(found.digest)) == (FILE, 10, "", len(found.digest))
    assert found.results == (ResultSighting(0, (SightedLines(2, 5, Verdict.SAME),)),)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (TEN, [(3, 8, "same", None)]),
        (["new", *TEN], [(3, 8, "moved", 4)]),
        (TEN[1:], [(3, 8, "moved", 2)]),
        ([*TEN[:4], "new", *TEN[4:]], [(3, 4, "same", None), (5, 8, "moved", 6)]),
        ([*TEN[:4], "other", *TEN[5:]], [(3, 4, "same", None), (5, 5, "changed", None), (6, 8, "same", None)]),
        ([*TEN[:4], *TEN[5:]], [(3, 4, "same", None), (5, 5, "changed", None), (6, 8, "moved", 5)]),
        ([], [(3, 8, "changed", None)]),
        (TEN[:5], [(3, 5, "same", None), (6, 8, "changed", None)]),
    ],
)
def test_what_became_of_shown_lines(now: list[str], expected: list[tuple[int, int, str, int | None]]) -> None:
    """Lines are the same, have moved by an edit above them, or are named as changed."""
    assert pieces(agreed(lines(3, 8)).read(FILE, [lines(3, 8)], text(now))) == expected


def test_an_undone_edit_is_the_same_again() -> None:
    """Lines that were deleted and written again are at their places."""
    shown = lines(3, 8)
    witnessed = agreed(shown)
    witnessed.read(FILE, [shown], text(TEN[:2]))
    assert pieces(witnessed.read(FILE, [shown], text(TEN))) == [(3, 8, "same", None)]


def test_a_removed_file_is_gone_until_it_is_written_again() -> None:
    """A file that an earlier look has found is gone; one that none has found is unknown."""
    shown = lines(3, 8)
    witnessed = agreed(shown)
    assert pieces(witnessed.gone(FILE, [shown])) == [(3, 8, "gone", None)]
    assert pieces(witnessed.read(FILE, [shown], text(["new", *TEN]))) == [(3, 8, "moved", 4)]
    assert pieces(Witnessed().gone(FILE, [shown])) == [(3, 8, "unknown", None)]


@pytest.mark.guarantee("witness")
def test_a_first_look_that_disagrees_ends_all_claims_about_the_file() -> None:
    """A file with other line endings than were shown stays unknown, whatever later looks find."""
    witnessed = Witnessed()
    found = witnessed.read(FILE, [lines(3, 8)], text(TEN).replace("\n", "\r\n"))
    assert (found.reason, pieces(found)) == (DISAGREED, [(3, 8, "unknown", None)])
    assert pieces(witnessed.read(FILE, [lines(3, 8)], text(TEN))) == [(3, 8, "unknown", None)]
    assert pieces(witnessed.gone(FILE, [lines(3, 8)])) == [(3, 8, "unknown", None)]


def test_lines_that_may_have_been_written_before_the_first_look_are_unknown_alone() -> None:
    """A write between a result and the first look proves nothing against the file."""
    witnessed, early, late = Witnessed(), lines(3, 8, fresh=False), lines(1, 2, step=1, of=["new", *TEN])
    assert pieces(witnessed.read(FILE, [early], text(["new", *TEN]))) == [(3, 8, "unknown", None)]
    assert pieces(witnessed.read(FILE, [early, late], text(["new", *TEN]))) == [
        (3, 8, "unknown", None),
        (1, 2, "same", None),
    ]


@pytest.mark.guarantee("witness")
def test_one_of_two_equal_passages_is_not_taken_for_the_other() -> None:
    """Where the first of two equal functions is deleted, its lines are changed, and the second one has moved."""
    twice = ["def f():", "    a", "    b", "", "x", "", "def f():", "    a", "    b"]
    first, second = lines(1, 3, 0, of=twice), lines(7, 9, 1, of=twice)
    witnessed = Witnessed()
    witnessed.read(FILE, [first, second], text(twice))
    found = witnessed.read(FILE, [first, second], text(twice[4:]))
    assert pieces(found) == [(1, 3, "changed", None), (7, 9, "moved", 3)]


def test_what_is_too_much_to_align_is_unknown_unless_it_is_in_its_place() -> None:
    """Many equal lines between two differences are not aligned; lines at their places are the same nevertheless."""
    before = ["a", *["same"] * 300, "b", "kept", "c"]
    now = ["x", *["same"] * 301, "kept", "y"]
    assert aligned(before, now).lost
    shown = ShownRange(0, 302, ("b", "kept", "c"))
    witnessed = Witnessed()
    witnessed.read(FILE, [shown], text(before))
    found = witnessed.read(FILE, [shown], text(now))
    assert pieces(found) == [(302, 302, "unknown", None), (303, 303, "same", None), (304, 304, "unknown", None)]


def edited(chance: random.Random, before: list[str], fresh: list[int]) -> list[str]:
    """The file after a random edit; new lines have names of their own, as long as ``fresh`` counts them."""

    def new() -> str:
        fresh[0] += 1
        return chance.choice(("", "    pass", f"tag {fresh[0]}", f"tag {fresh[0]}", f"tag {fresh[0]}"))

    now = list(before)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(now))
        until = min(len(now), at + chance.randint(0, 6))
        kind = chance.choice(("insert", "delete", "replace", "copy", "move", "swap"))
        if kind == "insert":
            now[at:at] = [new() for _ in range(chance.randint(1, 4))]
        elif kind == "delete":
            del now[at:until]
        elif kind == "replace":
            now[at:until] = [new() for _ in range(chance.randint(0, 4))]
        elif kind == "copy":
            now[chance.randint(0, len(now)) : 0] = now[at:until]
        elif kind == "move":
            cut = now[at:until]
            del now[at:until]
            place = chance.randint(0, len(now))
            now[place:place] = cut
        elif len(now) > 1:
            one, other = chance.randrange(len(now)), chance.randrange(len(now))
            now[one], now[other] = now[other], now[one]
    return now


@pytest.mark.guarantee("witness")
@pytest.mark.parametrize("seed", range(60))
def test_no_verdict_is_wrong(seed: int) -> None:
    """Over random edits, undone edits, removals and rewrites, every verdict is true of the file as it is."""
    chance, fresh = random.Random(seed), [0]
    now: list[str] | None = edited(chance, [f"tag -{number}" for number in range(chance.randint(1, 60))], fresh)
    witnessed, shown, past, definite = Witnessed(), list[ShownRange](), list[list[str]](), 0
    for step in range(40):
        if now and chance.random() < 0.5:
            first = chance.randint(1, len(now))
            last = min(len(now), first + chance.randint(0, 20))
            shown.append(lines(first, last, step, of=now))
        found = witnessed.gone(FILE, shown) if now is None else witnessed.read(FILE, shown, text(now))
        texts = {(one.step, one.first + at): line for one in shown for at, line in enumerate(one.texts)}
        for result in found.results:
            for piece in result.pieces:
                for place in range(piece.first, piece.last + 1):
                    judge(piece, place, texts[result.step, place], now)
                    definite += piece.verdict is not Verdict.UNKNOWN
        past.append(now or [])
        now = chance.choices([edited(chance, now or [], fresh), chance.choice(past), None, now], weights=[12, 2, 1, 3])[
            0
        ]
    assert definite or not shown


def judge(piece: SightedLines, place: int, line: str, now: list[str] | None) -> None:
    """Say whether a verdict on one line is true of the file ``now``, as somebody would who believes it."""
    here = now[place - 1] if now is not None and place <= len(now) else None
    if piece.verdict is Verdict.SAME:
        assert here == line
    elif piece.verdict is Verdict.MOVED:
        assert now is not None and piece.place is not None and piece.place != piece.first
        assert now[piece.place + place - piece.first - 1] == line
    elif piece.verdict is Verdict.CHANGED:
        assert now is not None and here != line
    elif piece.verdict is Verdict.GONE:
        assert now is None


def test_an_empty_last_line_is_no_line_without_its_newline() -> None:
    """A file that has lost its last, empty line does not have the digest of one that ends with it."""
    shown = ShownRange(0, 1, ("a", "b", ""))
    assert hashlib.sha256(b"a\nb\n").hexdigest() not in line_digests(shown)
    assert hashlib.sha256(b"").hexdigest() not in line_digests(ShownRange(0, 9, ("",)))


def test_texts_with_very_many_differences_are_not_aligned() -> None:
    """The work is bounded: thousands of lines of which every second one differs take no time."""
    before = [f"line {number}" for number in range(20_000)]
    now = [line if at % 2 else f"other {at}" for at, line in enumerate(before)]
    assert aligned(before, now).lost


def test_some_lines_that_are_unknown_have_a_reason() -> None:
    """Also where others of the same file are known, and where there are digests alone."""
    known, unplaced = lines(1, 3), ShownRange(1, 5, ("never", "there"), fresh=False)
    assert agreed(known).read(FILE, [known, unplaced], text(TEN)).reason == UNPLACED
    assert agreed(known).gone(FILE, [known, unplaced]).reason == NEVER_FOUND
    whole = lines(1, 10)
    many = ["x", *(f"other {number}" for number in range(MAX_ALIGNED_LINES)), "line 5"]
    assert agreed(whole).read(FILE, [whole], text(many)).reason == TOO_DIFFERENT
    digests = WitnessedDigests()
    here, other = DigestedLines(line_digests(known)[0]), DigestedLines("other")
    assert digests.read(FILE, [known], 10, [here]).reason == ""
    assert digests.read(FILE, [known, unplaced], 10, [here, other]).reason == UNPLACED
    assert digests.gone(FILE, [known, unplaced]).reason == NEVER_FOUND
    assert digests.gone(FILE, [known]).reason == ""


@pytest.mark.guarantee("witness")
@pytest.mark.parametrize("seed", range(40))
def test_new_lines_are_those_that_the_file_did_not_have(seed: int) -> None:
    """Every line of fresh text is in a run of new lines, and what is left of the file is a part of what it was."""
    chance, fresh = random.Random(seed), [0]
    before = edited(chance, [f"tag -{number}" for number in range(chance.randint(1, 60))], fresh)
    now, shown = before, lines(1, len(before), of=before)
    witnessed = agreed(shown, before)
    for _ in range(chance.randint(1, 4)):
        now = edited(chance, now, fresh)
        found = witnessed.read(FILE, [shown], text(now))
        new = {place for first, last in found.new for place in range(first, last + 1)}
        assert {place for place, line in enumerate(now, 1) if line not in before} <= new
        kept = [line for place, line in enumerate(now, 1) if place not in new]
        rest = iter(before)
        assert all(line in rest for line in kept), "the other lines are in the order in which they were"
        if len(kept) < len(before) and not new:
            assert found.new, "where lines were deleted is said"


def test_new_lines_are_not_told_where_that_is_unknown() -> None:
    """Nothing is said of a file that was never compared as a whole run, nor of one that differs in too many places."""
    assert agreed(lines(1, 10)).read(FILE, [lines(1, 10)], text(["x", *TEN])).new == ((1, 1),)
    assert agreed(lines(1, 10)).read(FILE, [lines(1, 10)], text(TEN[:4] + TEN[6:])).new == ((5, 4),)
    unplaced = ShownRange(1, 5, ("never", "there"), fresh=False)
    assert agreed(lines(1, 3)).read(FILE, [lines(1, 3), unplaced], text(["x", *TEN])).new == ()
    many = [str(number) for number in range(MAX_ALIGNED_LINES)]
    assert agreed(lines(1, 10)).read(FILE, [lines(1, 10)], text(["x", *many, "line 9"])).new == ()


@pytest.mark.parametrize("seed", range(40))
def test_a_text_is_split_by_what_is_new_in_it(seed: int) -> None:
    """Given any other text with its lines, the lines are those of the text itself."""
    chance = random.Random(seed)
    for _ in range(300):
        before, now = ("".join(chance.choices("ab\n", k=chance.randint(0, 9))) for _ in range(2))
        at = chance.randint(0, len(before))
        for one in (now, before[:at] + now + before[at:], before[:at] + now, now + before[at:], before[at:]):
            ended = one.split("\n")
            assert resplit(before, split_lines(before), one) == (ended if ended[-1] else ended[:-1]), (before, one)
