"""The focused cadence: before which calls there is a view, what it lists, and what it may cost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from execledger.core.cadence import Budget
from execledger.core.inform import StateView
from execledger.core.ledger import Ledger
from execledger.core.policy import Cadence, Policy, Preset
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Fingerprint, Shown, Step
from tests.core.stories import HOME, Story, text, wrapped

TASK = "<issue>\nThe sum is off by one.\n</issue>\n"
FOCUSED = Policy(cadence=Cadence.FOCUSED)


def focused(task: str = TASK, policy: Policy = FOCUSED, *, sealed: bool = True) -> Story:
    return Story(task, policy, sealed=sealed)


def read_in_parts(story: Story, name: str = "a.py", start: int = 1) -> None:
    story.do(f"sed -n '{start},{start + 9}p' {name}", text(10, start))
    story.do(f"sed -n '{start + 20},{start + 29}p' {name}", text(10, start + 20))


def test_nothing_is_sent_before_a_file_was_read_in_parts() -> None:
    """What the last result shows needs no index, nor does a task that is at hand."""
    story = focused()
    assert story.view() == StateView("", 0)
    story.do("cat a.py", text(30))
    assert story.view().text == ""
    story.do("cat b.py", text(30))
    assert story.view().text == ""


def test_a_file_that_was_read_once_is_listed_when_a_later_command_names_it() -> None:
    """Its lines are not the last that the model has read."""
    story = focused()
    story.do("cat a.py", text(30))
    story.do("echo x > notes.txt")
    assert story.view().text == ""
    story.do("grep -n value_3 a.py", "3:value_3 = compute(number=3)\n")
    assert "- a.py: whole, 30 lines" in story.view().text


def test_a_file_that_was_read_in_parts_is_listed_with_merged_ranges() -> None:
    """One line per file; that its lines are in context goes without saying, and the task is at hand."""
    story = focused()
    read_in_parts(story)
    story.do("sed -n '8,20p' a.py", text(13, 8))
    assert story.view().text == snapshot("""\
<execution_state>
Seen recently:
- a.py: 1-30 (current)
</execution_state>\
""")


def test_words_are_for_what_may_have_changed() -> None:
    """Ranges without a claim have none, and come last."""
    story = focused(sealed=False)
    read_in_parts(story)
    story.do("sed -i s/x/y/ a.py")
    story.do("sed -n '1,5p' a.py", text(5, 700))
    assert story.view().text == snapshot("""\
<execution_state>
Seen recently:
- a.py: 6-10, 21-30 (stale); 1-5
</execution_state>\
""")


def test_files_read_longer_ago_are_listed_again_when_a_command_names_them() -> None:
    """After twenty other commands a file is not at hand any more."""
    story = focused(policy=Policy(cadence=Cadence.FOCUSED, view_credit=5000))
    read_in_parts(story)
    story.idle(19)
    assert "a.py" in story.view().text
    story.idle(1)
    assert story.view().text == ""
    story.do("grep -n sum src/a.py a.py", "a.py:3:x\n")
    assert "a.py" in story.view().text


@pytest.mark.parametrize("command", ["pytest tests", "pip install x", "git diff > patch.txt"])
def test_none_is_sent_right_after_tests_and_set_up(command: str) -> None:
    """Visible lines are rarely read again there."""
    story = focused()
    read_in_parts(story)
    assert story.view().text
    story.do(command, "done\n")
    assert story.view().text == ""


def test_only_three_files_are_listed() -> None:
    """The files read last."""
    story = focused()
    for number, name in enumerate(("a.py", "b.py", "c.py", "d.py")):
        read_in_parts(story, name, 1 + 100 * number)
    listed = re.findall(r"^- (\S+):", story.view().text, re.MULTILINE)
    assert listed == ["d.py", "c.py", "b.py"]


def test_checks_say_how_tests_ended_and_what_was_edited_since() -> None:
    """The outcome is said where the exit status is the test's own; of a test in a pipeline only that it ran."""
    story = focused(sealed=False)
    story.do("cd /repo && pytest tests/test_a.py", "1 failed\n", 1)
    story.do("pytest tests/test_b.py", "1 passed\n")
    story.do("pytest tests/test_c.py | tail -n 5", "1 passed\n")
    story.do("echo x > a.py")
    read_in_parts(story)
    assert wrapped(story.view().text) == snapshot("""\
<execution_state>
Seen recently:
- a.py: 1-10, 21-30
Checks: `pytest tests/test_c.py | tail -n 5`
ran 4 commands ago, before your last edit of a.py; `pytest tests/test_b.py` succeeded 5 commands
ago, before your last edit of a.py
</execution_state>\
""")
    story.do("pytest tests/test_a.py", "1 passed\n")
    read_in_parts(story, start=101)
    assert wrapped(story.view().text) == snapshot("""\
<execution_state>
Seen recently:
- a.py: 1-10, 21-30 (possibly stale); 101-110, 121-130
Checks:
`pytest tests/test_a.py` succeeded 3 commands ago; `pytest tests/test_c.py | tail -n 5` ran 7
commands ago, before your last edit of a.py
</execution_state>\
""")


@pytest.mark.parametrize(
    ("between", "words"),
    [("git checkout main", ", files may have changed since"), ("grep -n x a.py", "")],
)
def test_checks_do_not_hide_what_may_have_been_written_since(between: str, words: str) -> None:
    """A command that is no edit may still have changed what was tested."""
    story = focused(sealed=False)
    story.do("pytest tests/test_b.py", "1 passed\n")
    story.do(between, "x\n")
    read_in_parts(story)
    assert f"Checks: `pytest tests/test_b.py` succeeded 4 commands ago{words}\n" in story.view().text


def test_a_test_beside_other_commands_proves_nothing_about_their_files() -> None:
    """It may have run before a command that is recorded before it."""
    story = focused(sealed=False)
    story.do("echo x > a.py")
    story.do("pytest tests/test_b.py", "1 passed\n")
    alone = story.steps.pop()
    story.ledger = Ledger(TASK, FOCUSED)
    for step in (*story.steps, replace(alone, concurrent=True)):
        story.ledger.record(step)
    read_in_parts(story, "b.py")
    assert "succeeded 3 commands ago, files may have changed since" in story.view().text


def test_an_edit_of_another_conversation_is_not_called_yours() -> None:
    """A sub-agent's edit is told without saying whose it was."""
    story = focused(sealed=False)
    story.do("pytest tests/test_b.py", "1 passed\n")
    story.do("echo x > a.py", thread="another")
    read_in_parts(story)
    assert "succeeded 3 commands ago, before a.py was edited" in story.view().text


def test_a_test_that_ran_just_now_is_not_repeated() -> None:
    """Its result is among the last that the model has read; an older run of it is no news either."""
    story = focused(sealed=False)
    read_in_parts(story)
    story.do("pytest tests", "1 failed\n", 1)
    story.idle(1)
    assert "Checks" not in story.view().text


@pytest.mark.parametrize("command", ["pytest tests &", "! pytest tests", "pytest tests; true", "pytest x || true"])
def test_an_exit_status_that_is_not_the_tests_own_is_no_outcome(command: str) -> None:
    """Without an edit behind it there is nothing to say."""
    story = focused(sealed=False)
    story.do(command, "1 failed\n", 0)
    story.idle(2)
    read_in_parts(story)
    assert "Checks" not in story.view().text


def test_the_task_is_repeated_where_it_is_far_back() -> None:
    """Behind 50,000 tokens of context."""
    story = focused()
    for number in range(9):
        story.do(f"cat big{number}.txt", f"{number}" * 24_999 + "\n")
    read_in_parts(story)
    assert story.view().text.split("\n")[1] == "Task: The sum is off by one."


def test_right_after_a_compaction_the_view_is_whole() -> None:
    """Nothing else tells what was done before; then it is focused again, with the task and what was modified."""
    story = focused()
    story.do("echo x > c.py")
    read_in_parts(story)
    story.visible = range(3, 3)
    assert story.view().text == snapshot("""\
<execution_state>
Task: The sum is off by one.
Modified, most recent first:
- c.py
Seen, no longer in context:
- a.py: 1-10, 21-30 (current)
</execution_state>\
""")
    story.visible = range(3, 100)
    read_in_parts(story, "b.py")
    assert story.view().text.startswith("<execution_state>\nTask: ")
    story.do("sed -n '50,60p' b.py", text(11, 50))
    assert story.view().text == snapshot("""\
<execution_state>
Task: The sum is off by one.
Modified, most recent first:
- c.py
Seen recently:
- b.py: 1-10, 21-30, 50-60 (current)
</execution_state>\
""")


def test_as_published_the_view_is_whole_and_sent_with_every_call() -> None:
    """The cadence is a setting of its own: ``paper`` may be asked for focused views."""
    paper = Policy(preset=Preset.PAPER)
    story = Story(TASK, paper)
    assert story.view().text == "<execution_state>\nTask: The sum is off by one.\n</execution_state>"
    assert not paper.focused and Policy(preset=Preset.PAPER, cadence=Cadence.FOCUSED).focused


def reference(size: int) -> Step:
    """A step whose output of ``size`` bytes a reference replaced."""
    shown = Shown("reference", "[Ledger: omitted.]", (0,), "same", (0,), Fingerprint("x", "x", size, 1))
    return Step(Action("cat a.py", HOME), Allow("ok"), Observation(shown.text), shown)


def plain(command: str) -> Step:
    return Step(Action(command, HOME), Allow("ok"), Observation("x\n"), Shown("full"))


@given(
    st.integers(0, 2000),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(1, 3000), st.booleans()), max_size=60),
)
def test_views_never_cost_more_than_the_credit_and_what_was_saved(
    credit: int, caches: bool, story: list[tuple[int, int, bool]]
) -> None:
    """Checked with sums of the test's own: tokens of the omitted bytes, doubled for later calls, against prices."""
    budget = Budget(Policy(view_credit=credit, caches_output=caches))
    saved = spent = written = 0.0
    for number, (omitted, command, likely) in enumerate(story, 1):
        step = reference(omitted) if omitted else plain("x" * command)
        budget.record(step)
        written += len(step.action.command)
        saved += max(omitted - 140, 0) / 4 * 2
        price = 35 + (0.9 * written / number / 4 if caches else 0)
        if budget.pay(likely=likely):
            spent += price
        assert spent <= credit + saved + 1e-6


COMMANDS = st.sampled_from(
    [
        *(f"sed -n '{first},{first + 9}p' {name}" for first in (1, 6, 31) for name in ("a.py", "b.py", "c.py", "d.py")),
        "echo x > a.py",
        "pytest tests/a.py",
        "pytest b.py | tail -n 3",
        "./run",
        "ls",
    ]
)


def play(ledger: Ledger, commands: list[str]) -> list[str]:
    """Take the steps, and return the view before each of them."""
    views = []
    for command in commands:
        views.append(ledger.inform(None, True).text)
        first = re.match(r"sed -n '(\d+)", command)
        output = text(10, int(first[1])) if first else "x\n"
        ledger.record(Step(Action(command, HOME), Allow("ok"), Observation(output, exit_status=0), Shown("full")))
    return views


@settings(max_examples=60)
@given(st.lists(COMMANDS, max_size=50), st.integers(200, 2000))
def test_a_view_is_small_and_depends_on_the_steps_alone(commands: list[str], budget: int) -> None:
    """Equal steps, equal views, however often one is rendered; within the budget in bytes."""
    policy = Policy(cadence=Cadence.FOCUSED, view_budget=budget)
    once, again = Ledger(TASK, policy), Ledger(TASK, policy)
    views = play(once, commands)
    for _ in range(3):
        again.inform(None, True)
    assert play(again, commands) == views
    assert all(len(view.encode()) <= budget for view in views)


@settings(max_examples=60)
@given(st.lists(COMMANDS, max_size=50))
def test_every_line_that_a_view_lists_was_shown_and_every_check_is_true(commands: list[str]) -> None:
    """Read from the text of the views, against the list of commands alone."""
    views = play(Ledger(TASK, FOCUSED), commands)
    for at, view in enumerate(views):
        before = commands[:at]
        for name, ranges in re.findall(r"^- (\S+): (.*)$", view, re.MULTILINE):
            shown = {
                int(place) + more
                for command in before
                for place in re.findall(rf"^sed -n '(\d+),\d+p' {name}$", command)
                for more in range(10)
            }
            for first, last in re.findall(r"(\d+)-(\d+)", ranges):
                assert set(range(int(first), int(last) + 1)) <= shown
        for command, outcome, back, edited in re.findall(
            r"`([^`]+)` (\w+) (\d+) commands ago(?:, before your last edit of (\S+?))?(?:;|$)", view, re.MULTILINE
        ):
            assert before[-int(back)] == command and command not in before[len(before) - int(back) + 1 :]
            assert outcome == ("ran" if "|" in command else "succeeded")
            assert bool(edited) == ("echo x > a.py" in before[len(before) - int(back) + 1 :])
