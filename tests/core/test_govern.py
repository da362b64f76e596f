"""Govern in ``verified``: every rule that intervenes and every safeguard, where it answers and where it must not."""

from __future__ import annotations

import pytest

from execledger.core.policy import Policy
from execledger.vocabulary.actions import Observation, Read
from execledger.vocabulary.decisions import Allow, CoveredLines, Nudge, Reuse
from tests.core.stories import Story, numbered, source, text

TRACEBACK = 'Traceback (most recent call last):\n  File "/repo/a.py", line 3, in run\nValueError: no\n'
FAILED = "F\n1 failed in 0.12s\n"
TEST = "python -m pytest tests/test_a.py"
CALM = Policy(nudge_cooldown=0)


def sealed(task: str = "", policy: Policy | None = None) -> Story:
    return Story(task, policy, sealed=True)


# Seen content


def test_a_whole_read_of_an_unchanged_file_is_reused() -> None:
    """The decision says which step holds the file and why that is still true."""
    story = sealed()
    story.do("cat a.py", text(20))
    assert story.ask("cat a.py") == Reuse(
        "whole-read",
        ("file: /repo/a.py", "sealed; commands that may write, then and now: 0"),
        (0,),
        (CoveredLines(1, 20, 0),),
    )


def test_a_reused_command_does_not_run() -> None:
    """A reuse answers with a reference in place of running."""
    story = sealed()
    story.do("cat a.py", text(20))
    step = story.do("cat a.py", text(20))
    assert (story.ran, step.shown.kind, step.observation.output) == (["cat a.py"], "reference", step.shown.text)


@pytest.mark.parametrize(
    "again",
    [
        "sed -n '5,9p' a.py",
        "head -n 8 a.py",
        "tail -n +18 a.py",
        "tail -n 4 a.py",
    ],
)
def test_a_read_within_a_whole_read_is_reused(again: str) -> None:
    """Any spelling of a range that was returned is covered, from whichever end it counts."""
    story = sealed()
    story.do("cat a.py", text(20))
    decision = story.ask(again)
    assert (type(decision), decision.refers_to) == (Reuse, (0,))


def test_a_range_is_covered_by_two_reads_together() -> None:
    """The asked lines may stand in more than one result."""
    story = sealed()
    story.do("sed -n '1,10p' a.py", text(10))
    story.do("sed -n '8,30p' a.py", text(23, 8))
    decision = story.ask("sed -n '4,25p' a.py")
    assert (decision.rule, decision.refers_to) == ("covered-read", (0, 1))


@pytest.mark.parametrize("again", ["sed -n '5,31p' a.py", "cat a.py", "tail -n 5 a.py", "sed -n '40,50p' a.py"])
def test_a_range_that_is_not_wholly_covered_is_run(again: str) -> None:
    """One line more than was returned, or an unknown end of the file, and the read runs."""
    story = sealed()
    story.do("sed -n '1,30p' a.py", text(30))
    assert story.ask(again) == Allow("new")


@pytest.mark.parametrize("again", ["awk 'NR>=5 && NR<=9' a.py", "grep '' a.py", "nl -ba a.py | sed -n 5,9p"])
def test_what_a_program_prints_is_known_from_that_program_alone(again: str) -> None:
    """``awk``, ``grep`` and ``nl`` treat NUL bytes, section marks or a missing newline in their own ways."""
    story = sealed()
    story.do("cat -n a.py" if again.startswith("nl") else "cat a.py", text(30))
    assert story.ask(again) == Allow("new")


def test_awk_is_answered_from_awk() -> None:
    """Lines that the same program has printed are those that it would print."""
    story = sealed()
    story.do("awk 'NR<=30' a.py", text(30))
    assert story.ask("awk 'NR>=5 && NR<=9' a.py").rule == "covered-read"


def test_an_overlap_of_too_few_lines_does_not_cover() -> None:
    """A line counts only in a run of three: two lines from a second result are not worth the puzzle."""
    story = sealed()
    story.do("sed -n '1,10p' a.py", text(10))
    story.do("sed -n '11,30p' a.py", text(20, 11))
    assert (story.ask("sed -n '4,12p' a.py").rule, story.ask("sed -n '4,13p' a.py").rule) == ("new", "covered-read")


def test_lines_in_more_than_three_results_are_run() -> None:
    """A reference to four results is a puzzle."""
    story = sealed()
    for first in (1, 11, 21, 31):
        story.do(f"sed -n '{first},{first + 9}p' a.py", text(10, first))
    assert (story.ask("sed -n '1,30p' a.py").refers_to, story.ask("sed -n '1,40p' a.py")) == ((0, 1, 2), Allow("new"))


def test_a_read_of_another_file_is_new() -> None:
    """What was seen of one file says nothing about another."""
    story = sealed()
    story.do("cat a.py", text(20))
    assert story.ask("cat b.py") == Allow("new")


@pytest.mark.parametrize(
    "between", ["echo x >> a.py", "echo x > b.py", "pip install x", TEST, "./unknown_tool", "make"]
)
def test_nothing_is_reused_after_something_that_may_write(between: str) -> None:
    """In ``verified`` any command that may write ends every claim, whatever it names."""
    story = sealed()
    story.do("cat a.py", text(20))
    story.do("ls -la src", text(3))
    story.do(between)
    assert {story.ask("cat a.py").rule, story.ask("ls -la src").rule} == {"new"}


def test_a_failed_read_is_not_a_claim_about_the_file() -> None:
    """A failed read leaves nothing that a different read could be covered by."""
    story = sealed()
    story.do("cat a.py", "cat: a.py: Permission denied\n", 1)
    assert story.ask("head -n 3 a.py") == Allow("new")


def test_a_structured_read_is_covered_by_a_shell_read() -> None:
    """A structured call and a command that read the same file meet in one ledger."""
    story = sealed()
    story.do("cat a.py", text(20))
    action = story.action("read a.py 5-9", Read("a.py", 5, 9))
    assert story.ledger.govern(action, None, True).rule == "covered-read"


def test_lines_shown_altered_do_not_cover() -> None:
    """``cat -A`` shows other bytes than the file has: it neither covers nor is covered."""
    story = sealed()
    story.do("cat -A a.py", text(20))
    assert story.ask("cat a.py") == Allow("new")


# Sealed or not


def test_nothing_is_reused_before_running_in_an_open_environment() -> None:
    """Where others may write, only a real run can tell."""
    story = Story()
    story.do("cat a.py", text(20))
    story.do("ls -la src", text(3))
    assert {type(story.ask("cat a.py")), type(story.ask("ls -la src"))} == {Nudge}


@pytest.mark.parametrize(
    ("command", "observation"),
    [
        ("grep -rn slow .", Observation("", exit_status=124, timed_out=True)),
        ("python server.py &", Observation("", exit_status=0)),
    ],
)
def test_a_timeout_or_a_background_job_breaks_the_seal_for_good(command: str, observation: Observation) -> None:
    """What is still running may write at any later time, so reads after it are not reused either."""
    story = sealed()
    story.do(command, observation)
    story.do("cat a.py", text(20))
    assert not isinstance(story.ask("cat a.py"), Reuse)


# Repeats


@pytest.mark.parametrize("command", ["ls -a src", "grep -rn name .", "cat a.py b.py", "find src -name x", "wc -l a.py"])
def test_an_inspection_or_search_repeated_under_an_unchanged_state_is_reused(command: str) -> None:
    """The very same command prints the very same text if nothing may have written."""
    story = sealed()
    story.do(command, text(2))
    story.idle(2)
    assert story.ask(command) == Reuse(
        "repeat", ("same command at step 0", "sealed; commands that may write, then and now: 0"), (0,)
    )


def test_a_search_that_found_nothing_is_reused_with_its_exit_status() -> None:
    """Exit status 1 of grep is a result like any other, and the reference passes it on."""
    story = sealed()
    story.do("grep -n missing a.py", "", 1)
    step = story.do("grep -n missing a.py", "", 1)
    assert (step.decision.rule, step.observation.exit_status) == ("repeat", 1)


@pytest.mark.parametrize("status", [-1, 124, 137, 143])
def test_a_killed_command_is_not_reused(status: int) -> None:
    """A command that was stopped from outside may end otherwise the next time."""
    story = sealed()
    story.do("grep -rn name .", "", status)
    assert not isinstance(story.ask("grep -rn name ."), Reuse)


@pytest.mark.parametrize("command", ["ls $DIR", "cat *.py | head -n $N", "date", "ps aux"])
def test_what_does_not_depend_on_files_alone_is_not_reused(command: str) -> None:
    """Dynamic words, time and processes change without any command of the agent's."""
    story = sealed()
    story.do(command, text(2))
    assert not isinstance(story.ask(command), Reuse)


def test_a_result_with_unknown_holes_is_not_reused() -> None:
    """A truncated result of which we don't know what is missing is not referred to."""
    story = sealed()
    story.do("grep -rn name .", Observation(text(9), exit_status=0, truncated=True))
    assert story.ask("grep -rn name .") == Allow("new")


# Transient files


@pytest.mark.parametrize("path", ["repro.py", "debug.log", "/tmp/x.py", "a.py.bak", "patch_backup.py", "build/tmp/x.c"])
def test_a_transient_file_is_never_reused_before_running(path: str) -> None:
    """Scratch files change in ways that nobody tracks."""
    story = sealed()
    story.do(f"touch {path}")
    story.do(f"cat {path}", text(20))
    assert {type(story.ask(f"cat {path}")), type(story.ask(f"head -n 5 {path}"))} <= {Nudge, Allow}


# Opaque and unknown


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo $(cat a.py", Allow("opaque", ("reason: syntax",))),
        ('eval "$X"', Allow("opaque", ("reason: eval",))),
        ("frobnicate --now", Allow("unknown-effects", ("unknown program: frobnicate",))),
        ("echo x > a.py", Allow("modification")),
    ],
)
def test_what_is_not_understood_or_writes_is_always_allowed(command: str, expected: Allow) -> None:
    """However often it is repeated, it runs, without a remark."""
    story = sealed(policy=CALM)
    for _ in range(3):
        assert story.do(command, "same\n").decision == expected
    assert [step.shown.kind for step in story.steps] == ["full"] * 3


# Safeguards


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("pip install -e .", "setup"),
        ("export DEBUG=1", "setup"),
        ("python repro.py", "reproduction"),
        ("python -c 'import a; a.run()'", "reproduction"),
        ("./repro.sh", "reproduction"),
        ("git diff > patch.txt", "submission"),
        ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "submission"),
    ],
)
def test_work_that_must_be_allowed_is_never_nudged(command: str, rule: str) -> None:
    """Set-up, reproduction and submission run without a remark, however often they are repeated."""
    story = sealed(policy=CALM)
    for _ in range(3):
        assert story.do(command, "the same\n").decision.rule == rule
    assert story.ledger.nudges == 0


def test_showing_the_patch_file_that_the_task_names_is_a_submission() -> None:
    """The file is known from the instructions, before any command mentions it."""
    story = sealed("Mend it. At the end run `git diff > final.patch` and `cat final.patch`.")
    story.do("cat final.patch", text(20))
    assert (story.ask("cat final.patch"), story.ask("cat other.txt")) == (Allow("submission"), Allow("new"))


def test_showing_a_patch_file_that_an_earlier_diff_wrote_is_a_submission() -> None:
    """Before that command the same file is an ordinary one."""
    story = sealed()
    before = story.ask("cat result.txt")
    story.do("git diff HEAD > result.txt")
    assert (before, story.ask("cat result.txt")) == (Allow("new"), Allow("submission"))


def test_interventions_are_capped_per_task() -> None:
    """With the cap reached everything is allowed, and nothing is elided after running either."""
    story = sealed(policy=Policy(max_interventions=1))
    story.do("cat a.py", text(20))
    story.do("cat a.py", text(20))
    step = story.do("cat a.py", text(20))
    assert (step.decision, step.shown.kind, step.shown.compared) == (
        Allow("cap", ("interventions: 1",)),
        "full",
        "same",
    )


def test_a_second_look_is_about_the_referenced_range() -> None:
    """Other lines of the same file, and other files, are judged as always."""
    story = sealed()
    story.do("cat a.py", text(40))
    story.do("cat b.py", text(40, 100))
    story.do("sed -n '1,10p' a.py")
    rules = [story.ask(command).rule for command in ("sed -n '10,15p' a.py", "sed -n '11,15p' a.py", "cat b.py")]
    assert rules == ["second-look", "covered-read", "whole-read"]


def test_a_repeated_search_gets_its_second_look_too() -> None:
    """What was referred to once is shown in full when it is asked for again at once."""
    story = sealed()
    story.do("ls -a src", text(20))
    rules = [story.do("ls -a src", text(20)).decision.rule for _ in range(2)]
    assert rules == ["repeat", "second-look"]


def test_a_second_look_follows_a_reference_after_running_too() -> None:
    """It does not matter whether the reference was made before or after running."""
    story = Story()
    story.do("cat a.py", text(20))
    shown = [story.do("cat a.py", text(20)).shown.kind for _ in range(2)]
    assert shown == ["reference", "full"]


def test_a_file_that_a_new_error_names_may_be_read_again() -> None:
    """Following a newly seen error is not a repetition."""
    story = sealed()
    story.do("cat a.py", text(20))
    story.do("cat b.py", text(20, 100))
    story.do("grep -rn Traceback log.d", TRACEBACK)
    assert (story.ask("sed -n '1,9p' a.py"), story.ask("cat b.py").rule) == (
        Allow("new-error", ("the error at step 2 names /repo/a.py",)),
        "whole-read",
    )


def test_an_error_is_new_for_three_results() -> None:
    """Then the file is judged as always."""
    story = sealed()
    story.do("cat a.py", text(20))
    story.do("grep -rn Traceback log.d", TRACEBACK)
    rules = [story.ask("cat a.py").rule]
    for _ in range(3):
        story.idle(1)
        rules.append(story.ask("cat a.py").rule)
    assert rules == ["new-error", "new-error", "new-error", "whole-read"]


# Nudges


def test_a_test_repeated_without_a_change_is_nudged() -> None:
    """It runs, and an equal result gets a remark; close durations do not make it unequal."""
    story = Story()
    story.do(TEST, FAILED, 1)
    step = story.do(TEST, "F\n1 failed in 0.14s\n", 1)
    assert (step.decision, step.shown.kind, step.shown.refers_to) == (
        Nudge("repeated-test", ("same command at step 0", "nothing that may write ran in between"), (0,)),
        "remark",
        (0,),
    )


def test_a_repeated_test_with_another_result_gets_no_remark() -> None:
    """A flaky test is worth running twice; no nudge is counted."""
    story = Story()
    story.do(TEST, FAILED, 1)
    step = story.do(TEST, ".\n1 passed in 0.12s\n")
    assert (step.decision.rule, step.shown.kind, story.ledger.nudges) == ("repeated-test", "full", 0)


@pytest.mark.parametrize("between", ["echo x >> a.py", "sed -i s/a/b/ a.py", "./generate", "python - <<'E'\nrun()\nE"])
def test_edit_and_test_in_turn_is_work(between: str) -> None:
    """With an edit, or what may be one, in between, a test is never nudged, however often it fails alike."""
    story = Story(policy=CALM)
    for _ in range(5):
        story.do(TEST, FAILED, 1)
        story.do(between)
    assert ({step.shown.kind for step in story.steps}, story.ledger.nudges) == ({"full"}, 0)


def test_looking_around_does_not_excuse_a_repeated_test() -> None:
    """Reads and searches change nothing."""
    story = Story()
    story.do(TEST, FAILED, 1)
    story.do("cat a.py", text(20))
    story.idle(10)
    assert story.ask(TEST).rule == "repeated-test"


def test_another_test_in_between_may_have_written() -> None:
    """A test has unknown effects: once in between, it is not yet a loop."""
    story = Story()
    story.do(TEST, FAILED, 1)
    story.do("python -m pytest tests/test_b.py", FAILED, 1)
    assert story.ask(TEST) == Allow("unknown-effects")


def test_two_tests_in_turn_are_a_loop() -> None:
    """A-B-A-B with equal results is nudged at the fourth call, A-B-A-C is not."""
    story = Story()
    other = "python -m pytest tests/test_b.py"
    for command in (TEST, other, TEST):
        assert story.do(command, FAILED, 1).shown.kind == "full"
    assert (story.ask(other).rule, story.ask("python -m pytest tests/test_c.py").rule) == (
        "repeated-test",
        "unknown-effects",
    )


def test_two_tests_in_turn_with_changing_results_are_no_loop() -> None:
    """If one of the two gave another result, something did change."""
    story = Story()
    other = "python -m pytest tests/test_b.py"
    story.do(TEST, FAILED, 1)
    story.do(other, FAILED, 1)
    story.do(TEST, "2 failed in 1s\n", 1)
    assert story.ask(other) == Allow("unknown-effects")


def test_two_looks_in_turn_are_a_loop() -> None:
    """Without a seal, A-B-A-B of small looks is run and remarked on."""
    story = Story(policy=CALM)
    kinds = [story.do(command, "x\n").shown.kind for command in ("ls", "git status", "ls", "git status")]
    assert kinds == ["full", "full", "remark", "remark"]


def test_a_loop_counts_only_within_a_short_window() -> None:
    """Eight calls back is a loop, nine is a return to something."""
    story = Story()
    story.do("echo hello", "hello\n")
    story.idle(7)
    near = story.ask("echo hello").rule
    story.idle(1)
    assert (near, story.ask("echo hello").rule) == ("loop", "new")


def test_a_timed_out_test_is_not_a_result_to_compare_with() -> None:
    """To run it again is the natural thing to do."""
    story = Story()
    story.do(TEST, Observation("", exit_status=124, timed_out=True))
    assert story.ask(TEST) == Allow("unknown-effects")


def test_nudges_cool_down() -> None:
    """After a remark the next five calls get none, the sixth may."""
    story = Story()
    story.do(TEST, FAILED, 1)
    rules = [story.do(TEST, FAILED, 1).decision.rule for _ in range(7)]
    assert rules == ["repeated-test", *["cool-down"] * 5, "repeated-test"]


def test_nudges_are_capped() -> None:
    """A remark that did not help so often will not help again."""
    story = Story(policy=Policy(nudge_cooldown=0, max_nudges=2))
    story.do(TEST, FAILED, 1)
    decisions = [story.do(TEST, FAILED, 1).decision for _ in range(3)]
    assert [one.rule for one in decisions] == ["repeated-test", "repeated-test", "nudge-cap"]
    assert decisions[-1] == Allow("nudge-cap", ("nudges: 2",))


# Visibility and threads


def test_what_vanished_by_compaction_is_not_reused() -> None:
    """A reuse refers only to results that stand in the request."""
    story = sealed()
    story.do("cat a.py", text(20))
    story.do("ls -a src", "total 0\n")
    story.visible = range(1, 2)
    assert (type(story.ask("cat a.py")) is Reuse, story.ask("ls -a src").rule) == (False, "repeat")
    story.visible = frozenset()
    assert not isinstance(story.ask("ls -a src"), Reuse)


def test_a_covered_read_needs_every_part_visible() -> None:
    """One part that vanished, and the read runs."""
    story = sealed()
    story.do("sed -n '1,10p' a.py", text(10))
    story.do("sed -n '11,20p' a.py", text(10, 11))
    story.visible = {0, 1}
    assert story.ask("sed -n '5,15p' a.py").refers_to == (0, 1)
    story.visible = {1}
    assert (story.ask("sed -n '5,15p' a.py").rule, story.ask("sed -n '12,15p' a.py").refers_to) == ("new", (1,))


def test_a_reuse_never_refers_to_a_reference() -> None:
    """Where the text itself stands is what a later reference names."""
    story = sealed()
    story.do("cat a.py", text(20))
    for lines in ("1,6", "7,12", "13,20"):
        story.do(f"sed -n '{lines}p' a.py")
    assert [step.decision.refers_to for step in story.steps[1:]] == [(0,)] * 3
    story.visible = {1, 2, 3}
    assert not isinstance(story.ask("cat a.py"), Reuse)


def test_a_result_on_one_thread_is_not_visible_on_another() -> None:
    """A sub-agent has not read what its parent has."""
    story = sealed()
    story.do("cat a.py", text(20), thread="main")
    story.do("ls -la src", "total 0\n", thread="main")
    story.do(TEST, FAILED, 1, thread="main")
    rules = [story.ask(command, thread="sub").rule for command in ("cat a.py", "ls -la src", TEST)]
    assert rules == ["new", "new", "unknown-effects"]


def test_a_write_on_one_thread_counts_for_all() -> None:
    """The files are shared, whoever writes them."""
    story = sealed()
    story.do("cat a.py", text(20), thread="main")
    before = story.ask("cat a.py", thread="main").rule
    story.do("echo x >> a.py", thread="sub")
    assert (before, story.ask("cat a.py", thread="main").rule) == ("whole-read", "new")


def test_numbers_of_lines_do_not_matter_to_whether_a_file_was_seen() -> None:
    """A plain read is covered by a numbered one of the same lines."""
    story = sealed()
    story.do("cat -n a.py", numbered(source(20)))
    assert story.ask("sed -n '3,9p' a.py").refers_to == (0,)


@pytest.mark.parametrize("look", ["sed -n '2,19p' a.py", "grep -n value a.py", "cat a.py b.py"])
def test_what_follows_an_error_is_shown_in_full(look: str) -> None:
    """Not elided after running either, while the error is new."""
    story = Story()
    story.do(look, text(18, 2))
    before = story.do(look, text(18, 2))
    story.do(look, text(18, 2))
    story.do(TEST, TRACEBACK, 1)
    after = story.do(look, text(18, 2))
    story.idle(3)
    later = story.do(look, text(18, 2))
    assert [step.shown.kind for step in (before, after, later)] == ["reference", "full", "reference"]
    assert after.decision.rule == "new-error"
