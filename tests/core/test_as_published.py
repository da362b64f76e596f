"""The preset ``paper``, sentence by sentence: each test holds one sentence of the paper against a scripted session.

Where ``verified`` has the same rule, both presets are asked; where it goes beyond the paper, its own test says so.
"""

from __future__ import annotations

import pytest

from execledger.core.decisions import Allow, Nudge
from execledger.core.policy import Policy, Preset
from tests.core.stories import Story, text

PAPER = Policy(preset=Preset.PAPER)
BOTH = pytest.mark.parametrize("policy", [PAPER, Policy()], ids=["paper", "verified"])
TEST = "python -m pytest tests/test_a.py"
FAILED = "F\n1 failed in 0.12s\n"


# "A test command repeated without an intervening edit receives NUDGE [...] Repeated normalized commands within a short
# execution window likewise receive NUDGE as a possible execution loop."


@pytest.mark.parametrize(
    "between",
    ["", "cat a.py", "./generate", "python repro.py", "pytest tests/test_b.py", "echo x > /tmp/note", "eval $X"],
)
def test_a_test_repeated_without_an_intervening_edit_is_nudged(between: str) -> None:
    """The global counter decides: what may have written without being recognised is no edit."""
    story = Story(policy=PAPER)
    story.do(TEST, FAILED, 1)
    if between:
        story.do(between, "done\n")
    assert story.ask(TEST) == Nudge(
        "repeated-test", ("same command at step 0", "global change counter: 0, then and now"), (0,)
    )


@pytest.mark.parametrize("between", ["echo x >> b.py", "sed -i s/a/b/ a.py", "git stash", f"echo x > a.py; {TEST}"])
def test_a_test_repeated_after_an_edit_is_not_nudged(between: str) -> None:
    """It may give new evidence."""
    story = Story(policy=PAPER)
    story.do(TEST, FAILED, 1)
    story.do(between, FAILED, 1)
    assert isinstance(story.ask(TEST), Allow)


def test_a_test_is_nudged_at_any_distance() -> None:
    """The window is that of loops alone."""
    story = Story(policy=PAPER)
    story.do(TEST, FAILED, 1)
    story.idle(60)
    assert story.ask(TEST).rule == "repeated-test"


@pytest.mark.parametrize("again", [FAILED, ".\n1 passed in 0.12s\n"])
def test_the_message_is_appended_whatever_the_result(again: str) -> None:
    """It says that the action may repeat prior work, and claims no more than what was recorded."""
    story = Story(policy=PAPER)
    story.do(TEST, FAILED, 1)
    story.do("echo x > /tmp/note")
    step = story.do(TEST, again)
    assert (step.shown.kind, step.shown.text, step.observation.output) == (
        "remark",
        "[Ledger: this may repeat earlier work. The same test ran 2 commands ago, and no change of a file was "
        "recorded in between, scratch files aside.]",
        again,
    )


def test_a_command_repeated_within_a_short_window_is_nudged() -> None:
    """Two commands in turn are a loop, whatever unknown programs ran in between and whatever they print."""
    story = Story(policy=Policy(preset=Preset.PAPER, nudge_cooldown=0))
    commands = ("date", "./generate", "ps aux", "date", "ps aux")
    kinds = [story.do(command, f"{at}\n").shown.kind for at, command in enumerate(commands)]
    assert kinds == ["full", "full", "full", "remark", "remark"]


def test_a_command_repeated_after_the_window_or_after_an_edit_is_no_loop() -> None:
    """Eight calls back is a loop, nine is a return to something."""
    story = Story(policy=PAPER)
    story.do("echo hello", "clean\n")
    story.idle(7)
    near = story.ask("echo hello").rule
    story.do("echo x >> a.py")
    assert (near, story.ask("echo hello").rule) == ("loop", "new")
    story.do("date", "x\n")
    story.idle(8)
    assert story.ask("date").rule == "new"


def test_a_result_that_vanished_ends_a_loop_and_not_a_repeated_test() -> None:
    """To look again at what is no longer in the context is no repetition; that a test ran before is still so."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do(TEST, FAILED, 1)
    story.visible = ()
    assert (story.ask("cat a.py").rule, story.ask(TEST).rule) == ("new", "repeated-test")


def test_verified_asks_for_more_before_it_nudges() -> None:
    """There, something that may have written in between, or another result, ends the suspicion."""
    story = Story()
    story.do(TEST, FAILED, 1)
    other = story.do(TEST, ".\n1 passed in 0.12s\n")
    story.do("./generate")
    assert (other.shown.kind, story.ask(TEST).rule) == ("full", "unknown-effects")
