"""Which calls were redundant, and in which way."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.core.policy import Policy, Preset
from execledger.evaluate.redundancy import Kind, Redundancies, Redundant
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import new_ledger, replay
from execledger.vocabulary.actions import Action, Edit, Observation
from tests.core.stories import text
from tests.runs.test_replay import READ, run

SEARCH = ("grep -rn value .", "a.py:1:value\n")
TEST = ("python -m pytest", "1 failed in 1.5s\n")


def found(recorded: Run, policy: Policy | None = None) -> list[Redundant | None]:
    """What is redundant in each call."""
    ledger = new_ledger(recorded, policy)
    redundancies = Redundancies(recorded, ledger)
    return [redundancies.take(call) for call in replay(recorded, ledger=ledger)]


def edited(*steps: tuple[str, bool]) -> Run:
    """A run of structured edits of /repo/a.py, each with whether it succeeded; "" is a read of the file."""
    made: list[Recorded] = []
    for turn, (old, succeeded) in enumerate(steps):
        call = Edit("/repo/a.py", old, "new") if old else None
        action = Action(f"edit_file {old}" if old else "cat a.py", "/repo", call)
        made.append(Recorded(action, Observation(text(20), failed=not succeeded), turn))
    return replace(run(), steps=tuple(made), turns=len(made) + 1)


@pytest.mark.parametrize("preset", list(Preset))
def test_the_same_read_again_is_an_exact_repeat(preset: Preset) -> None:
    """Whether it was suppressed or only compared."""
    assert found(run(READ, READ), Policy(preset=preset)) == [None, Redundant(Kind.REPEAT, len(READ[1]))]


def test_lines_that_all_stand_in_view_are_a_covered_read() -> None:
    """Also where the output is too small for a reference."""
    part = ("sed -n '5,9p' a.py", text(5, 5))
    assert found(run(READ, part)) == [None, Redundant(Kind.COVERED, len(part[1]))]


def test_lines_that_stand_in_view_in_part_are_an_overlapping_read() -> None:
    """Only the lines that stood there count."""
    first, second = ("sed -n '1,10p' a.py", text(10)), ("sed -n '6,15p' a.py", text(10, 6))
    assert found(run(first, second)) == [None, Redundant(Kind.OVERLAPPING, len(text(5, 6)))]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "the middle left out"])
def test_an_overlapping_read_counts_its_line_numbers(whole: bool) -> None:
    """What is sent again is what was printed; a reference in place of these lines spares all of it."""
    rows = [f"{n:6}\t{line}\n" for n, line in enumerate(text(10, 6).splitlines(), 6)]
    output = Observation("".join(rows), exit_status=0)
    if not whole:
        # The cut splits the fourth line and the last but one: of those at both ends, the first three overlap.
        head, tail = "".join(rows)[: len("".join(rows[:3])) + 9], "".join(rows[-2:])[9:]
        output = Observation(head + tail, exit_status=0, truncated=True, cut=len(head))
    recorded = run(("sed -n '1,10p' a.py", text(10)), ("nl -ba a.py | sed -n '6,15p'", ""))
    recorded = replace(recorded, steps=(recorded.steps[0], replace(recorded.steps[1], observation=output)))
    assert found(recorded) == [None, Redundant(Kind.OVERLAPPING, len("".join(rows[: 5 if whole else 3])))]


def test_two_lines_in_common_are_no_overlap() -> None:
    """They match by chance."""
    assert found(run(("sed -n '1,10p' a.py", text(10)), ("sed -n '9,18p' a.py", text(10, 9)))) == [None, None]


def test_nothing_overlaps_with_what_a_compaction_took_away() -> None:
    """Only what is visible counts."""
    first, second = ("sed -n '1,10p' a.py", text(10)), ("sed -n '6,15p' a.py", text(10, 6))
    assert found(run(first, second, compactions=(1,))) == [None, None]


def test_the_same_search_again_is_a_repeated_search() -> None:
    """However small its output is."""
    assert found(run(SEARCH, SEARCH)) == [None, Redundant(Kind.SEARCH, len(SEARCH[1]))]


def test_another_search_with_the_same_short_output_is_none() -> None:
    """Two searches that find the same line both had to be made; a long output is the same by no chance."""
    assert found(run(SEARCH, ("grep -rn val .", SEARCH[1]))) == [None, None]
    long = "".join(f"a.py:{n}:value\n" for n in range(40))
    assert found(run(("grep -rn value .", long), ("grep -rn val .", long)))[1] == Redundant(Kind.SEARCH, len(long))


def test_the_same_test_with_an_equal_result_is_a_repeated_test() -> None:
    """Durations aside, and only where no recognised write stands between."""
    again, edit = ("python -m pytest", "1 failed in 2.5s\n"), ("sed -i s/a/b/ a.py", "")
    assert found(run(TEST, again)) == [None, Redundant(Kind.TEST, len(again[1]))]
    assert found(run(TEST, ("python -m pytest", "2 failed in 1.5s\n"))) == [None, None]
    assert found(run(TEST, edit, again)) == [None, None, None]
    assert found(run(TEST, again, compactions=(1,))) == [None, None]


def test_an_edit_that_failed_behind_a_stale_read() -> None:
    """The file was read, then changed, and not read again."""
    assert found(edited(("", True), ("one", True), ("two", False)))[2] == Redundant(Kind.STALE, len(text(20)))


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((("", True), ("two", False)), id="the file was as it was seen"),
        pytest.param((("one", True), ("two", False)), id="the file was never read"),
        pytest.param((("", True), ("one", True), ("", True), ("two", False)), id="it was read again"),
        pytest.param((("", True), ("one", False), ("two", False)), id="nothing had changed it"),
        pytest.param((("", True), ("one", True), ("two", True)), id="the edit succeeded"),
    ],
)
def test_any_other_edit_is_not_called_stale(steps: tuple[tuple[str, bool], ...]) -> None:
    """Only what certainly failed on a changed file counts."""
    assert [one for one in found(edited(*steps)) if one is not None and one.kind is Kind.STALE] == []


def test_edits_behind_a_stale_read_are_counted_whether_they_fail_or_not() -> None:
    """In a count of their own."""
    recorded = edited(("", True), ("one", True), ("two", True), ("three", False))
    ledger = new_ledger(recorded)
    redundancies = Redundancies(recorded, ledger)
    for call in replay(recorded, ledger=ledger):
        redundancies.take(call)
    assert redundancies.blind_edits == 2


def test_a_false_reuse_is_no_redundancy() -> None:
    """The output was another one."""
    assert found(run(READ, ("cat a.py", text(20, 200)))) == [None, None]
