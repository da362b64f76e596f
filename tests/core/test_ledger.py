"""The fold: what recording a step does to the state, and that a saved run rebuilds it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from execledger.core.ledger import Ledger
from execledger.core.observations import ObservationRecord
from execledger.core.policy import Policy, Preset
from execledger.vocabulary.actions import Action, Edit, Observation, Patch, Write
from execledger.vocabulary.decisions import Allow, Shown, Step
from execledger.vocabulary.records import Lines
from tests.core.stories import Story, numbered, source, text
from tests.core.test_inform import SESSIONS


def observed(command: str, output: str | Observation, path: str = "/repo/a.py") -> list[ObservationRecord]:
    """The records that one read leaves."""
    story = Story()
    story.do(command, output)
    return story.ledger.observed("", path)


def record(*ranges: Lines, end: int | None = None) -> ObservationRecord:
    return ObservationRecord(0, ranges, end, 0, 0, 0, 0)


def test_a_repeated_command_is_kept_once() -> None:
    """Its steps share the command's text and its record."""
    story = Story()
    for words in (["sed -n '5,9p'", "a.py"], ["sed -n", "'5,9p' a.py"]):
        story.do(" ".join(words), text(5, 5))
    first, again = story.ledger.results
    assert again.record is first.record and again.command is first.command


# Observation records


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("cat a.py", text(20), record(Lines(1, 20), end=20)),
        ("sed -n '5,9p' a.py", text(5, 5), record(Lines(5, 9))),
        ("sed -n '5,9p' a.py", text(2, 5), record(Lines(5, 6), end=6)),
        ("head -n 30 a.py", text(20), record(Lines(1, 20), end=20)),
        ("tail -n 5 a.py", text(5, 16), record(Lines(-5))),
        ("cat -n a.py | tail -n 5", numbered(source(5, 16), 16), record(Lines(16, 20), end=20)),
        ("sed -n '1,3p;8,9p' a.py", text(5), record(Lines(1, 3), Lines(8, 9))),
    ],
)
def test_a_read_leaves_a_record_of_what_was_returned(command: str, output: str, expected: ObservationRecord) -> None:
    """Not of what was asked for."""
    assert observed(command, output) == [expected]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat a.py", Observation("cat: a.py: No such file or directory\n", exit_status=1)),
        ("cat a.py | head -n 5", "cat: a.py: No such file or directory\n"),
        ("cat a.py", Observation(text(20), exit_status=0, truncated=True)),
        ("cat a.py", Observation(text(20), timed_out=True)),
        ("sed -n '5,9p' a.py", text(8)),
        ("cat a.py b.py", text(20)),
        ("grep x a.py", text(20)),
        ("sed -n '/x/,/y/p' a.py", text(20)),
        ("cat $F", text(20)),
        ("cat a.py && make", text(20)),
    ],
)
def test_a_failed_ambiguous_or_cut_read_leaves_no_record(command: str, output: str | Observation) -> None:
    """Nothing is claimed about the file."""
    assert observed(command, output) == []


def test_an_elided_read_leaves_a_record_of_both_ends() -> None:
    """Whole lines only, and the end counts from the end."""
    output = text(60)
    head, tail = output[: output.index("value_20 ") + 5], output[output.index("value_41 ") + 5 :]
    shown = Observation(head + tail, exit_status=0, truncated=True, cut=len(head))
    assert observed("cat a.py", shown) == [record(Lines(1, 19), Lines(-19))]


def test_a_record_holds_the_counters_of_its_time() -> None:
    """Local, global, how many commands that may write had run, and how many edits of the file succeeded."""
    story = Story()
    story.do("echo x > a.py")
    story.do("echo x > b.py")
    story.do("python -m pytest", "ok\n")
    story.do("cat a.py", text(3))
    assert story.ledger.observed("", "/repo/a.py") == [ObservationRecord(3, (Lines(1, 3),), 3, 1, 2, 3, 3, 1)]


def test_a_read_that_was_not_run_leaves_no_record_of_its_own() -> None:
    """Nothing new was learned about the file."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20))
    story.do("cat a.py")
    assert [one.step for one in story.ledger.observed("", "/repo/a.py")] == [0]


# Counters


@pytest.mark.parametrize(
    "call",
    [
        Edit("a.py", "x", "y"),
        Write("a.py", "x"),
        Patch("*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"),
    ],
)
def test_a_structured_write_advances_the_counters(call: Edit | Write | Patch) -> None:
    """Like a redirection would."""
    story = Story()
    story.do("call", "done", call=call)
    changes = story.ledger.modifications
    assert (changes.local("/repo/a.py"), changes.everywhere, story.ledger.clock) == (1, 1, 1)


def test_looking_moves_no_counter() -> None:
    """Reads and searches change nothing."""
    story = Story()
    for command in ("cat a.py", "grep -rn x .", "ls", "git branch"):
        story.do(command, "x\n")
    assert (story.ledger.clock, story.ledger.modifications.everywhere, story.ledger.unsealed) == (0, 0, "")


def test_what_may_write_moves_the_clock_alone() -> None:
    """No file was certainly changed."""
    story = Story()
    for command in ("python -m pytest", "eval $X", "frobnicate"):
        story.do(command, "x\n")
    assert (story.ledger.clock, story.ledger.modifications.everywhere) == (3, 0)


def test_disturbances_say_what_happened_first() -> None:
    """The reason is kept for good."""
    story = Story()
    story.do("sleep 100 &")
    story.do("grep -rn x .", Observation("", timed_out=True))
    assert story.ledger.unsealed == "a job was left in the background"


# Fold


def refold(story: Story) -> Ledger:
    """The ledger that the saved steps build, after a way through JSON."""
    saved = msgspec.json.encode(story.steps)
    ledger = Ledger("task", story.ledger.policy)
    for step in msgspec.json.decode(saved, type=list[Step]):
        ledger.record(step)
    return ledger


def play(session: list[tuple[str, str]], policy: Policy | None = None) -> Story:
    story = Story("task", policy, sealed=True)
    for command, output in session:
        story.do(command, output)
    return story


@given(SESSIONS)
def test_a_saved_run_rebuilds_the_same_state(session: list[tuple[str, str]]) -> None:
    """Digest, view and the next decisions are equal, without asking any question on the way."""
    story = play(session)
    again = refold(story)
    assert again.digest == story.ledger.digest
    assert again.inform(None, True) == story.ledger.inform(None, True)
    for command in ("cat a.py", "ls", "python -m pytest", "cat file_1.py"):
        action = Action(command, "/repo")
        assert again.govern(action, None, True) == story.ledger.govern(action, None, True)


def test_questions_do_not_change_the_state() -> None:
    """Only a recorded step does."""
    story = play([("cat a.py", text(20)), ("echo x > b.py", "")])
    before = story.ledger.digest
    action = Action("cat a.py", "/repo")
    decision = story.ledger.govern(action, None, True)
    story.ledger.compare(action, decision, Observation(text(20), exit_status=0))
    story.ledger.inform()
    assert (story.ledger.digest, len(story.ledger)) == (before, 2)


@pytest.mark.parametrize(
    "other",
    [
        [("cat a.py", text(20)), ("echo x > c.py", "")],
        [("cat a.py", text(21)), ("echo x > b.py", "")],
        [("echo x > b.py", ""), ("cat a.py", text(20))],
        [("cat a.py", text(20))],
    ],
)
def test_different_runs_have_different_digests(other: list[tuple[str, str]]) -> None:
    """The command, its result and the order all count."""
    assert play(other).ledger.digest != play([("cat a.py", text(20)), ("echo x > b.py", "")]).ledger.digest


def test_the_policy_and_the_task_are_part_of_the_state() -> None:
    """Two ledgers that would decide differently are different."""
    digests = {
        Ledger("one").digest,
        Ledger("two").digest,
        Ledger("one", Policy(preset=Preset.PAPER)).digest,
        Ledger("one", Policy(min_run=4)).digest,
    }
    assert len(digests) == 4


def test_a_step_without_a_verdict_can_be_recorded() -> None:
    """An adapter that only observes builds the same observations."""
    ledger = Ledger()
    step = Step(Action("cat a.py", "/repo"), Allow("new"), Observation(text(20), exit_status=0), Shown("full"))
    ledger.record(step)
    assert ledger.observed("", "/repo/a.py") == [record(Lines(1, 20), end=20)]


def test_an_unknown_place_names_no_file() -> None:
    """Relative paths in a persistent shell leave no record and are never reused."""
    story = Story(sealed=True)
    action = Action("cat a.py", None)
    for _ in range(2):
        decision = story.ledger.govern(action, None, True)
        story.ledger.record(Step(action, decision, Observation(text(20), exit_status=0), Shown("full")))
        assert decision.refers_to == () or decision.rule == "loop"
    assert story.ledger.files("") == {}
