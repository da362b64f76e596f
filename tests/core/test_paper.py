"""One executed example for each claim that the paper makes about its system, under the preset ``paper``.

The names begin with the number that the claim has in ``docs/paper.md``; that page names each of these tests.
"""

from __future__ import annotations

import pytest

from execledger.core.classify import classify
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.symbols.edits import edited_symbols
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Allow, Nudge, Reuse
from execledger.vocabulary.records import Category, Lines
from tests.core.stories import Story, text

TASK = "<pr_description>\nThe total is off by one.\n</pr_description>\n\nFix it."
TRACEBACK = 'Traceback (most recent call last):\n  File "/repo/a.py", line 3, in run\nValueError: no\n'
TEST = "python -m pytest tests/test_a.py"
FAILED = "F\n1 failed in 0.12s\n"


def paper(task: str = "", max_interventions: int = 200) -> Story:
    """A story under the published rules."""
    return Story(task, Policy(preset=Preset.PAPER, max_interventions=max_interventions))


def line_of(story: Story, name: str) -> str:
    """The line of the observation index that tells of ``name``."""
    return next(line for line in story.view().text.splitlines() if line.startswith(f"- {name}: "))


# The runtime


def test_r1_the_state_follows_from_the_interactions_alone() -> None:
    """Equal steps make equal states and equal views."""
    stories = [paper(TASK), paper(TASK)]
    for story in stories:
        story.do("cat a.py", text(20))
        story.do("echo x >> b.py")
        story.do("cat a.py", text(20))
    one, other = stories
    assert (one.ledger.digest, one.view()) == (other.ledger.digest, other.view())


def test_r2_the_ledger_is_rebuilt_from_completed_steps() -> None:
    """Folding the saved steps again gives the same state, byte for byte."""
    story = paper(TASK)
    story.do("cat a.py", text(20))
    story.do("sed -i s/a/b/ b.py")
    story.do("sed -n '2,9p' a.py", text(8, 2))
    again = Ledger(TASK, story.ledger.policy)
    for step in story.steps:
        again.record(step)
    assert (again.digest, again.inform()) == (story.ledger.digest, story.view())


def test_r3_there_are_three_outcomes() -> None:
    """An action is run as it is, suppressed for a reference, or run with a message behind its result."""
    story = paper()
    read = story.do("cat a.py", text(20))
    again = story.do("cat a.py", text(20))
    story.do(TEST, FAILED, 1)
    test = story.do(TEST, FAILED, 1)
    assert [type(step.decision) for step in (read, again, test)] == [Allow, Reuse, Nudge]
    assert [step.shown.kind for step in (read, again, test)] == ["full", "reference", "remark"]
    assert story.ran == ["cat a.py", TEST, TEST]


def test_r4_the_ledger_learns_from_action_decision_and_observation() -> None:
    """A suppressed action is recorded too, as a call that did not run."""
    story = paper()
    story.do("cat a.py", text(20))
    story.do("cat a.py", text(20))
    assert [(result.kind, result.print is None) for result in story.ledger.results] == [
        ("full", False),
        ("reference", True),
    ]


# Observation records


def test_o1_a_record_has_the_file_the_portion_and_both_counters() -> None:
    """The counters are those of the moment of observation."""
    story = paper()
    story.do("echo x >> a.py")
    story.do("echo x >> b.py")
    story.do("sed -n '3,8p' a.py", text(6, 3))
    (record,) = story.ledger.observed("", "/repo/a.py")
    assert (record.ranges, record.local, record.everywhere) == ((Lines(3, 8),), 1, 2)


def test_o2_a_portion_is_the_whole_file_or_a_range() -> None:
    """The view tells the two apart."""
    story = paper()
    story.do("cat a.py", text(20))
    story.do("sed -n '3,8p' b.py", text(6, 3))
    assert (line_of(story, "a.py"), line_of(story, "b.py")) == (
        "- a.py: whole, 20 lines (current, in context)",
        "- b.py: 3-8 (current, in context)",
    )


def test_o3_what_was_returned_counts_and_not_what_was_asked_for() -> None:
    """Of lines 1 to 100 of a file of 40 lines, 40 were observed."""
    story = paper()
    story.do("sed -n '1,100p' a.py", text(40))
    (record,) = story.ledger.observed("", "/repo/a.py")
    assert record.ranges == (Lines(1, 40),)


def test_o4_a_failed_read_leaves_no_record() -> None:
    """Its output is an error message."""
    story = paper()
    story.do("cat a.py", "cat: a.py: No such file or directory\n", 1)
    assert story.ledger.observed("", "/repo/a.py") == []


def test_o5_a_read_of_several_files_leaves_no_record() -> None:
    """Which lines belong to which file is ambiguous."""
    story = paper()
    story.do("cat a.py b.py", text(40))
    assert (story.ledger.observed("", "/repo/a.py"), story.ledger.observed("", "/repo/b.py")) == ([], [])


def test_o6_a_truncated_read_leaves_no_record() -> None:
    """Also where it is known which part was cut out."""
    story = paper()
    shown = text(10) + text(10, 391)
    story.do("cat a.py", Observation(shown, truncated=True, cut=len(text(10))))
    assert story.ledger.observed("", "/repo/a.py") == []


# Modification state


def test_m1_modified_files_are_tracked_with_their_symbols() -> None:
    """The symbols where they can be detected."""
    story = paper()
    story.ledger = Ledger("", story.ledger.policy, edited_symbols)
    story.do("cat > a.py <<'E'\ndef total(items):\n    return sum(items)\nE")
    assert line_of(story, "a.py") == "- a.py: total"


def test_m2_the_local_counter_counts_edits_of_the_file() -> None:
    """Others do not move it."""
    story = paper()
    story.do("sed -i s/a/b/ a.py")
    story.do("echo x >> a.py")
    story.do("echo x >> b.py")
    assert [story.ledger.modifications.local(f"/repo/{name}") for name in ("a.py", "b.py")] == [2, 1]


def test_m3_the_global_counter_counts_every_tracked_modification() -> None:
    """Of any file."""
    story = paper()
    story.do("sed -i s/a/b/ a.py")
    story.do("cat b.py", text(3))
    story.do("echo x >> b.py")
    assert story.ledger.modifications.everywhere == 2


@pytest.mark.parametrize("command", ["cp a.py a.py.bak", "echo x > /tmp/note.txt", "echo x > notes.orig"])
def test_m4_transient_artifacts_are_left_out(command: str) -> None:
    """Scratch files and backups move no global counter and are not in the focus."""
    story = paper(TASK)
    story.do(command)
    assert (story.ledger.modifications.everywhere, "Modified" in story.view().text) == (0, False)


# Command records


@pytest.mark.parametrize("command", ["cd /repo && grep -n x a.py", "grep  -n  x a.py", "cd /repo; grep -n x a.py"])
def test_c1_incidental_differences_are_normalised(command: str) -> None:
    """A leading change of the directory and spacing do not make another command."""
    story = paper()
    plain = classify(story.action("grep -n x a.py")).normalized
    assert classify(story.action(command)).normalized == plain


@pytest.mark.parametrize(
    ("command", "category"),
    [
        ("cat a.py", Category.INSPECT),
        ("grep -rn x .", Category.SEARCH),
        (TEST, Category.TEST),
        ("sed -i s/a/b/ a.py", Category.MODIFY),
    ],
)
def test_c2_a_command_has_a_category(command: str, category: Category) -> None:
    """The four that the paper names."""
    assert classify(paper().action(command)).category is category


def test_c3_a_command_has_its_position() -> None:
    """Which call it was."""
    story = paper()
    story.do("cat a.py", text(3))
    story.do(TEST, FAILED, 1)
    assert [(result.command, result.ordinal) for result in story.ledger.results] == [("cat a.py", 0), (TEST, 1)]


def test_c4_a_repeat_after_a_change_is_told_from_one_under_unchanged_conditions() -> None:
    """A test that is run again after a fix may bring new evidence."""
    story = paper()
    story.do(TEST, FAILED, 1)
    unchanged = story.ask(TEST)
    story.do("sed -i s/a/b/ a.py")
    assert (type(unchanged), type(story.ask(TEST))) == (Nudge, Allow)


# Inform


def test_i1_the_view_is_made_anew_and_replaces_the_last() -> None:
    """What was current is not any more after an edit, and no earlier view is kept."""
    story = paper(TASK)
    story.do("cat a.py", text(20))
    before = line_of(story, "a.py")
    story.do("sed -i s/a/b/ a.py")
    assert (before, line_of(story, "a.py")) == (
        "- a.py: whole, 20 lines (current, in context)",
        "- a.py: symbols unknown",
    )
    assert "- a.py: whole, 20 lines (stale, in context)" in story.view().text


def test_i2_the_task_anchor_is_fixed() -> None:
    """It is the same in the first view and in the last."""
    story = paper(TASK)
    first = story.view().text
    story.do("cat a.py", text(20))
    anchor = "Task: The total is off by one."
    assert (anchor in first, anchor in story.view().text) == (True, True)


def test_i3_the_focus_lists_the_files_modified_most_recently() -> None:
    """The newest first; folders are no files."""
    story = paper()
    story.do("sed -i s/a/b/ a.py")
    story.do("mkdir new")
    story.do("sed -i s/a/b/ b.py")
    assert story.view().text.splitlines()[1:4] == [
        "Modified, most recent first:",
        "- b.py: symbols unknown",
        "- a.py: symbols unknown",
    ]


@pytest.mark.parametrize(
    ("between", "status"),
    [
        ("grep -rn x src", "current, "),
        ("echo x >> b.py", "possibly stale, "),
        ("echo x >> a.py", "stale, "),
    ],
)
def test_i4_the_counters_tell_the_status(between: str, status: str) -> None:
    """Current if neither counter moved; if one did, the observation may be stale."""
    story = paper()
    story.do("cat a.py", text(20))
    story.do(between)
    assert f"- a.py: whole, 20 lines ({status}in context)" in story.view().text


@pytest.mark.parametrize("between", ["./unknown_tool", "eval $X"])
def test_i5_what_cannot_be_told_is_not_claimed(between: str) -> None:
    """After a command whose effects are not known, only that the file was seen is said."""
    story = paper()
    story.do("cat a.py", text(20))
    story.do(between)
    assert line_of(story, "a.py") == "- a.py: whole, 20 lines (in context)"


def test_i6_a_failed_edit_makes_an_observation_possibly_stale() -> None:
    """It may have changed the file or not."""
    story = paper()
    story.do("cat a.py", text(20))
    story.do("sed -i 's/a/b' a.py", "sed: -e expression #1, char 5: unterminated `s' command\n", 1)
    assert line_of(story, "a.py") == "- a.py: whole, 20 lines (possibly stale, in context)"


# Govern: previously observed content


def test_g1_a_whole_read_is_reused_while_the_file_is_unchanged_and_the_output_visible() -> None:
    """An edit of another file does not matter, one of this file does, and so does a vanished output."""
    story = paper()
    story.do("cat a.py", text(20))
    story.do("echo x >> b.py")
    unchanged = story.ask("cat a.py")
    story.visible = {1}
    vanished = story.ask("cat a.py")
    story.visible = None
    story.do("echo x >> a.py")
    assert [type(one) for one in (unchanged, vanished, story.ask("cat a.py"))] == [Reuse, Allow, Allow]


def test_g2_a_range_is_reused_only_within_one_earlier_observation() -> None:
    """Two observations that cover it together are not an earlier observation of it."""
    story = paper()
    story.do("sed -n '1,10p' a.py", text(10))
    story.do("sed -n '8,30p' a.py", text(23, 8))
    asked = ("sed -n '9,25p' a.py", "sed -n '4,25p' a.py", "sed -n '20,31p' a.py")
    assert [type(story.ask(command)) for command in asked] == [Reuse, Allow, Allow]


# Govern: repeated commands


@pytest.mark.parametrize("command", ["ls src", "grep -rn x src"])
def test_g3_an_exact_inspection_or_search_is_reused_under_an_unchanged_state(command: str) -> None:
    """Any tracked modification ends it."""
    story = paper()
    story.do(command, text(20))
    before = story.ask(command)
    story.do("echo x >> b.py")
    assert (before.rule, type(story.ask(command))) == ("repeat", Allow)


def test_g4_a_test_repeated_without_an_edit_is_nudged_whatever_it_prints() -> None:
    """It runs, and the message is appended although its result differs."""
    story = paper()
    story.do(TEST, FAILED, 1)
    story.do("./unknown_tool")
    step = story.do(TEST, "2 passed in 9.00s\n")
    assert (type(step.decision), step.shown.kind) == (Nudge, "remark")


def test_g5_a_command_repeated_within_a_short_window_is_nudged() -> None:
    """As a possible loop; beyond the window it is not."""
    story = paper()
    story.do("git log --oneline | wc -l; date", "3\n")
    near = story.ask("git log --oneline | wc -l; date")
    story.idle(story.ledger.policy.repeat_window)
    assert (near.rule, type(story.ask("git log --oneline | wc -l; date"))) == ("loop", Allow)


# Safeguards


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("pip install -e .", "setup"),
        ("python reproduce.py", "reproduction"),
        ("git diff > patch.txt", "submission"),
        ("eval $X", "opaque"),
        ("cat 'a.py", "opaque"),
        ("frobnicate --all", "unknown-effects"),
    ],
)
def test_s1_some_commands_are_always_allowed(command: str, rule: str) -> None:
    """Set-up, reproduction, submission, and what is unsupported or cannot be parsed, also when repeated."""
    story = paper()
    story.do(command, text(20))
    assert story.ask(command) == Allow(rule, story.ask(command).proof)


@pytest.mark.parametrize("command", ["cat a.py", "grep -n value a.py", "cat a.py b.py"])
def test_s2_following_a_newly_observed_error_is_always_allowed(command: str) -> None:
    """Any look at a file that the error names."""
    story = paper()
    story.do(command, text(20))
    before = type(story.ask(command))
    story.do(TEST, TRACEBACK, 1)
    assert (before, story.ask(command).rule) == (Reuse, "new-error")


def test_s3_interventions_are_capped_per_task() -> None:
    """Beyond the cap everything is allowed."""
    story = paper(max_interventions=1)
    story.do("cat a.py", text(20))
    story.do("cat b.py", text(20))
    story.do("cat a.py", text(20))
    assert story.ask("cat b.py").rule == "cap"


def test_s4_nudges_have_a_cool_down() -> None:
    """A second one does not follow at once."""
    story = paper()
    story.do(TEST, FAILED, 1)
    story.do(TEST, FAILED, 1)
    assert story.ask(TEST).rule == "cool-down"


@pytest.mark.parametrize("distance", [0, 12])
def test_s5_after_a_reference_the_next_attempt_is_allowed(distance: int) -> None:
    """One for each reference, however much later it comes."""
    story = paper()
    story.do("cat a.py", text(20))
    story.do("cat a.py", text(20))
    story.idle(distance)
    attempt = story.do("cat a.py", text(20))
    assert (attempt.decision.rule, attempt.shown.kind, type(story.ask("cat a.py"))) == ("second-look", "full", Reuse)
