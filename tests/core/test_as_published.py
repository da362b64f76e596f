"""The preset ``paper``, sentence by sentence: each test holds one sentence of the paper against a scripted session.

Where ``verified`` has the same rule, both presets are asked; where it goes beyond the paper, its own test says so.
"""

from __future__ import annotations

from itertools import takewhile

import pytest

from execledger.core.policy import Policy, Preset
from execledger.core.step import propose
from execledger.vocabulary.actions import Call, Edit, Observation, Patch, Write
from execledger.vocabulary.decisions import Allow, Nudge, Reuse, Shown, Step
from tests.core.stories import Story, text
from tests.support.policies import WHOLE_VIEWS

PAPER = Policy(preset=Preset.PAPER)
BOTH = pytest.mark.parametrize("policy", [PAPER, WHOLE_VIEWS], ids=["paper", "verified"])
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


# "Transient artifacts, such as scratch files and backups, are excluded based on file names and extensions."

SEARCH = "grep -rn name ."
HITS = "a.py:3:name\nb.py:4:name\n"
ADDED = "*** Begin Patch\n*** Add File: debug.py\n+x = 1\n*** End Patch\n"


def modified(story: Story) -> list[str]:
    """The files in the current focus."""
    lines = story.view().text.split("\n")
    start = lines.index("Modified, most recent first:") + 1 if "Modified, most recent first:" in lines else len(lines)
    listed = takewhile(lambda line: line.startswith("- "), lines[start:])
    return [line.removeprefix("- ").removesuffix(": symbols unknown") for line in listed]


def unmoved(story: Story) -> bool:
    """The global change counter still is what it was at the start."""
    return story.ledger.modifications.everywhere == 0


def test_a_source_file_is_tracked_whatever_its_name() -> None:
    """A search after an edit of a file that only sounds like a scratch file is run, and the file is in focus."""
    for policy in (PAPER, WHOLE_VIEWS):
        story = Story(policy=policy, sealed=True)
        story.do(SEARCH, HITS)
        story.do("sed -i s/name/other/ django/views/debug.py")
        assert (type(story.ask(SEARCH)), modified(story)) == (Allow, ["django/views/debug.py"])


CREATING: list[tuple[str, Call | None]] = [
    ("cat > debug.py <<'E'\nx = 1\nE", None),
    ("echo 'x = 1' > ./debug.py", None),
    ("printf x | tee debug.py", None),
    ("touch debug.py", None),
    ("cat > debug.py <<'E'\nx = 1\nE\ncat debug.py && python debug.py", None),
    (f"apply_patch <<'E'\n{ADDED}E", None),
    ("git apply <<'E'\n--- /dev/null\n+++ b/debug.py\n@@ -0,0 +1 @@\n+x = 1\nE", None),
    ("create debug.py", Write("debug.py", "x = 1\n")),
    ("apply_patch", Patch(ADDED)),
]
"""Commands that create a file with the name of a scratch file."""


@BOTH
@pytest.mark.parametrize(("command", "call"), CREATING)
def test_a_file_that_the_run_created_is_scratch_by_its_name(command: str, call: Call | None, policy: Policy) -> None:
    """It is left out of the focus and of the global counter from then on, however it is changed; its own advances."""
    story = Story(policy=policy)
    story.do("ls", "a.py\nb.py\n")
    story.do(command, 'Traceback (most recent call last):\n  File "/repo/debug.py", line 1\n', call=call)
    story.do("sed -i s/1/2/ debug.py")
    story.do("cat > debug.py <<'E'\ny\nE")
    assert (unmoved(story), modified(story), story.ledger.modifications.local("/repo/debug.py")) == (True, [], 3)


@BOTH
@pytest.mark.parametrize(
    ("before", "output"),
    [
        ("ls src", "a.py\ndebug.py\n"),
        ("grep -rn name .", "src/debug.py:3:name\n"),
        ("cat src/debug.py", "x = 1\n"),
        ("sed -i s/1/2/ src/debug.py", ""),
        ("python -c 'import src.debug; print(src.debug.__file__)'", "/repo/src/debug.py\n"),
        ("python src/debug.py", ""),
        ("git status --short", "?? DEBUG.PY\n"),
    ],
)
def test_a_file_that_was_there_before_is_no_scratch_file(before: str, output: str, policy: Policy) -> None:
    """Where its name was seen, writing it may replace a source file; in doubt it counts, and is not reused either."""
    story = Story(policy=policy, sealed=True)
    story.do(before, output)
    moved = story.ledger.modifications.everywhere
    story.do("cat > src/debug.py <<'E'\nx = 2\nE")
    assert (story.ledger.modifications.everywhere, modified(story)) == (moved + 1, ["src/debug.py"])
    story.do("cat src/debug.py", "x = 2\n")
    assert not isinstance(story.ask("cat src/debug.py"), Reuse)


@BOTH
@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("sed -i s/1/2/ debug.py", None),
        ("echo 'x = 1' >> debug.py", None),
        ("printf x | tee -a debug.py", None),
        ("cp a.py debug.py", None),
        ("python - <<'E'\nopen('debug.py', 'w').write('x')\nE", None),
        ("edit debug.py", Edit("debug.py", "1", "2")),
        ("apply_patch", Patch(ADDED.replace("Add", "Update"))),
        ("cat debug.py; cat > debug.py <<'E'\nx\nE", None),
    ],
)
def test_what_is_not_known_to_create_a_file_changes_one(command: str, call: Call | None, policy: Policy) -> None:
    """A name alone makes no scratch file."""
    story = Story(policy=policy)
    story.do(command, call=call)
    assert (unmoved(story), modified(story)) == (False, ["debug.py"])


@BOTH
@pytest.mark.parametrize("path", ["/tmp/x.py", "build/tmp/x.c", "a.py.bak", "a.py.orig", "a.py~", "fix.patch", "x.log"])
def test_backups_and_what_lies_in_a_scratch_folder_are_left_out(path: str, policy: Policy) -> None:
    """By extension and by place, whether or not the run created them."""
    story = Story(policy=policy)
    story.do(f"sed -i s/1/2/ {path}")
    assert (unmoved(story), modified(story)) == (True, [])


def test_a_source_file_with_the_name_of_a_scratch_file_is_reused_like_any_other() -> None:
    """As long as the run has not created it."""
    story = Story(policy=PAPER)
    story.do("cat debug.py", text(20))
    assert story.ask("cat debug.py").rule == "whole-read"


# "When neither the stored file counter nor the stored global counter differs from its current value, the observation is
# marked as current. When subsequent changes prevent this guarantee, the view indicates that the earlier observation may
# be stale. If the ledger cannot determine the status reliably, it makes no freshness claim."


def status(story: Story, name: str = "a.py") -> str:
    """What the observation index says about one file."""
    return [line for line in story.view().text.split("\n") if line.startswith(f"- {name}: ")][-1].partition(": ")[2]


@pytest.mark.parametrize(
    "between", ["", "grep -rn x .", "python -m pytest", "python -m pytest | tail -3", "echo > /tmp/x"]
)
def test_an_observation_is_current_while_no_counter_moved(between: str) -> None:
    """A test is no reason for doubt."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    if between:
        story.do(between, "done\n")
    assert status(story) == "whole, 20 lines (current, in context)"


@pytest.mark.parametrize(
    "between", ["eval $X", "./generate", "make", "python repro.py", "frobnicate", "make && pytest", "if then"]
)
def test_no_freshness_is_claimed_once_something_unknown_ran(between: str) -> None:
    """An opaque command or one of unknown effects may have changed any file; what is read after it is current again."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do(between, "done\n")
    story.do("cat b.py", text(20))
    assert (status(story), status(story, "b.py")) == (
        "whole, 20 lines (in context)",
        "whole, 20 lines (current, in context)",
    )
    story.do("echo x >> c.py")
    assert status(story) == status(story, "b.py") == "whole, 20 lines (possibly stale, in context)"


def test_no_freshness_is_claimed_of_what_another_thread_was_born_with() -> None:
    """What a thread inherits is as old as it was where it was seen first."""
    story = Story(policy=PAPER)
    first = story.do("cat a.py", text(20))
    story.do("./generate")
    action = story.action("cat a.py", thread="child")
    story.ledger.record(Step(action, Allow("inherited"), first.observation, Shown("full"), inherits=0))
    assert "a.py: whole, 20 lines (in context)" in story.ledger.inform(None, False, "child").text


@BOTH
@pytest.mark.parametrize(
    "write", ["sed -i s/x/y/ a.py", "echo x >> a.py", "git checkout -- .", "git stash", "mv a.py b.py"]
)
def test_a_file_may_be_stale_after_a_write_that_failed(write: str, policy: Policy) -> None:
    """It may have changed nothing, or half of what it was to change: no more is said, and the file is read anew."""
    story = Story(policy=policy, sealed=True)
    story.do("cat a.py", text(20))
    story.do(write, "error\n", 1)
    assert (status(story), isinstance(story.ask("cat a.py"), Reuse)) == (
        "whole, 20 lines (possibly stale, in context)",
        False,
    )


@BOTH
@pytest.mark.parametrize("write", ["sed -i s/x/y/ a.py", "echo x >> a.py", "git checkout -- a.py", "mv a.py b.py"])
def test_a_file_is_stale_after_a_write_to_it_that_succeeded(write: str, policy: Policy) -> None:
    """And a later write that fails takes nothing back."""
    story = Story(policy=policy, sealed=True)
    story.do("cat a.py", text(20))
    story.do(write)
    assert status(story) == "whole, 20 lines (stale, in context)"
    story.do("sed -i s/y/z/ a.py", "error\n", 1)
    assert status(story) == "whole, 20 lines (stale, in context)"


@BOTH
@pytest.mark.parametrize("write", ["git checkout -- .", "git stash", "git checkout main"])
def test_a_file_may_be_stale_after_a_write_that_need_not_have_reached_it(write: str, policy: Policy) -> None:
    """What rewrites folders leaves many files as they were."""
    story = Story(policy=policy, sealed=True)
    story.do("cat a.py", text(20))
    story.do(write)
    assert status(story) == "whole, 20 lines (possibly stale, in context)"


# "The current focus lists the files most recently modified by the agent."


@BOTH
@pytest.mark.parametrize(
    "command",
    [
        "mkdir newdir",
        "mkdir -p src/new.d",
        "git checkout -- .",
        "git restore src",
        "git clean -fd build",
        "rm -rf build",
        "mv src lib",
        "cp -r src lib",
        "cp -r src lib/",
        "chmod -R u+w src",
        "python - <<'E'\nimport os\nos.makedirs('newdir')\nE",
        "find . -name x -exec rm -rf build {} +",
    ],
)
def test_the_focus_lists_no_folders(command: str, policy: Policy) -> None:
    """They count as changed all the same."""
    story = Story(policy=policy)
    story.do(command)
    assert (modified(story), unmoved(story)) == ([], False)


@BOTH
@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("sed -i s/a/b/ Makefile", ["Makefile"]),
        ("echo x >> AUTHORS", ["AUTHORS"]),
        ("echo x | tee LICENSE", ["LICENSE"]),
        ("touch NEWS", ["NEWS"]),
        ("mkdir -p pkg && echo x > pkg/__init__.py", ["pkg/__init__.py"]),
        ("rm -rf Makefile && echo x > Makefile", ["Makefile"]),
        ("git checkout -- src/a.py", ["src/a.py"]),
        ("rm -rf build src/a.py", ["src/a.py"]),
        ("mv a.py src", ["a.py"]),
        ("python - <<'E'\nopen('a.py', 'w').write('x')\nE", ["a.py"]),
        ("for x in 1; do echo $x >> hosts; done", ["hosts"]),
    ],
)
def test_the_focus_lists_the_files_that_were_modified(command: str, files: list[str], policy: Policy) -> None:
    """A name without an extension is that of a file where only files can be written."""
    story = Story(policy=policy)
    story.do(command)
    assert modified(story) == files


def test_a_file_that_is_known_stays_in_focus() -> None:
    """Whatever its name looks like."""
    story = Story(policy=PAPER)
    story.do("sed -i s/a/b/ Makefile")
    story.do("echo x > b.py")
    story.do("git checkout -- Makefile")
    assert modified(story) == ["Makefile", "b.py"]


# "A record is created only when a command successfully returns the contents of a single file without truncation;
# failed, ambiguous, and truncated reads are excluded."

CUT = Observation(text(10) + text(10, 91), cut=len(text(10)), exit_status=0, truncated=True)
"""The first and the last lines of a file of a hundred."""


def test_a_truncated_read_leaves_no_record() -> None:
    """Neither of its head nor of its tail: nothing is listed, and a read of these lines or the very same is run."""
    story = Story(policy=PAPER)
    story.do("cat a.py", CUT)
    assert story.ledger.observed("", "/repo/a.py") == [] and "a.py" not in story.view().text
    again = [story.ask(command) for command in ("sed -n '2,8p' a.py", "tail -n 5 a.py", "cat a.py")]
    assert not any(isinstance(decision, Reuse) for decision in again)


@pytest.mark.parametrize(
    ("command", "observation"),
    [
        ("cat a.py", Observation("cat: a.py: No such file or directory\n", exit_status=1)),
        ("cat a.py b.py", Observation(text(20), exit_status=0)),
        ("cat $FILE", Observation(text(20), exit_status=0)),
        ("cat a.py", Observation(text(20), exit_status=124, timed_out=True)),
    ],
)
def test_a_failed_or_ambiguous_read_leaves_no_record(command: str, observation: Observation) -> None:
    """Only that a file's lines were returned makes one."""
    story = Story(policy=PAPER)
    story.do(command, observation)
    assert story.ledger.files("") == {}


def test_verified_keeps_the_lines_of_a_truncated_read_that_were_returned() -> None:
    """With its hole, exactly: what was not returned is not covered."""
    story = Story(sealed=True)
    story.do("cat a.py", CUT)
    asked = [story.ask(command).rule for command in ("sed -n '2,8p' a.py", "sed -n '8,12p' a.py")]
    assert ("1-10, last 9" in story.view().text, asked) == (True, ["covered-read", "new"])


# "A partial read is reusable only when the proposed line range is fully covered by an earlier observation."


def test_a_range_is_covered_by_a_single_observation() -> None:
    """Two that cover it only together don't; the newest that covers it is referred to."""
    story = Story(policy=PAPER)
    story.do("sed -n '1,40p' a.py", text(40))
    story.do("sed -n '31,80p' a.py", text(50, 31))
    story.do("sed -n '30,50p' a.py", text(21, 30))
    asked = {lines: story.ask(f"sed -n '{lines}p' a.py") for lines in ("25,35", "31,50", "45,70", "1,80")}
    assert {lines: decision.refers_to for lines, decision in asked.items()} == {
        "25,35": (0,),
        "31,50": (2,),
        "45,70": (1,),
        "1,80": (),
    }


def test_each_part_of_a_read_is_covered_by_the_same_observation() -> None:
    """A command that asks for several ranges is one read."""
    story = Story(policy=PAPER)
    story.do("sed -n '1,40p' a.py", text(40))
    story.do("sed -n '51,80p' a.py", text(30, 51))
    asked = [story.ask(command).rule for command in ("sed -n '2p;5,9p' a.py", "sed -n '5,9p;60,65p' a.py")]
    assert asked == ["covered-read", "new"]


def test_verified_puts_several_observations_together() -> None:
    """Each line is proven to be visible, so up to three results may hold them."""
    story = Story(sealed=True)
    story.do("sed -n '1,40p' a.py", text(40))
    story.do("sed -n '31,80p' a.py", text(50, 31))
    assert story.ask("sed -n '1,80p' a.py").refers_to == (0, 1)


# "If the agent repeats a read after receiving a reference to an earlier result, the next attempt is allowed, preventing
# cycles between the agent and the runtime."


@BOTH
@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("distance", [0, 3, 60])
def test_after_a_reference_the_next_attempt_is_shown_in_full_at_any_distance(
    distance: int, sealed: bool, policy: Policy
) -> None:
    """Whether it was made before or after running; once per reference."""
    story = Story(policy=policy, sealed=sealed)
    story.do("cat a.py", text(20))
    kinds = []
    for _ in range(2):
        kinds.append(story.do("cat a.py", text(20)).shown.kind)
        story.idle(distance)
        step = story.do("cat a.py", text(20))
        kinds.append(step.shown.kind)
        assert step.decision.rule == "second-look"
    assert kinds == ["reference", "full", "reference", "full"]


@BOTH
@pytest.mark.parametrize("again", ["sed -n '5,9p' a.py", "tail -n 3 a.py", "cat b.py a.py"])
def test_the_next_attempt_need_not_be_the_same_command(again: str, policy: Policy) -> None:
    """Any read of lines that were referred to is an attempt at them."""
    story = Story(policy=policy, sealed=True)
    story.do("cat a.py", text(20))
    story.do("cat a.py", text(20))
    assert story.do(again, text(20)).decision.rule == "second-look"
    assert isinstance(story.ask("cat a.py"), Reuse)


def test_every_reference_has_an_attempt_of_its_own() -> None:
    """Other lines of the file, other files and other threads are judged as always."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(40))
    story.do("cat b.py", text(40))
    story.do("cat a.py", text(40), thread="other")
    for command in ("sed -n '1,10p' a.py", "sed -n '21,30p' a.py", "cat b.py"):
        assert story.do(command).shown.kind == "reference"
    commands = ("sed -n '11,20p' a.py", "sed -n '9,11p' a.py", "sed -n '25,26p' a.py", "head -n 3 b.py")
    assert [story.ask(command).rule for command in commands] == ["covered-read", *["second-look"] * 3]
    assert story.ask("cat a.py", thread="other").rule == "whole-read"
    story.do("sed -n '5,25p' a.py", text(21, 5))
    assert [story.ask(command).rule for command in commands] == ["covered-read"] * 3 + ["second-look"]


def test_a_look_that_does_not_show_the_content_uses_up_no_attempt() -> None:
    """A search in the file is no read of it."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(40))
    story.do("cat a.py")
    story.do("grep -c value a.py", "40\n")
    assert story.ask("cat a.py").rule == "second-look"


def test_the_next_attempt_is_not_elided_for_another_rule() -> None:
    """Behind something that may write in the same turn it is allowed by that, and shown in full all the same."""
    story = Story()
    story.do("cat a.py", text(20))
    assert story.do("cat a.py", text(20)).shown.kind == "reference"
    writes = propose(story.ledger, story.action("./generate"))
    action = story.action("cat a.py")
    decision = propose(story.ledger, action, pending=writes.pending).decision
    shown = story.ledger.compare(action, decision, Observation(text(20), exit_status=0))
    assert (decision.rule, shown.kind) == ("pending-writes", "full")


# "Commands used to configure the environment, reproduce the reported problem, generate or submit a repair, or follow
# newly observed errors are always allowed."

TRACEBACK = 'Traceback (most recent call last):\n  File "/repo/a.py", line 3, in run\nValueError: no\n'
LOOKS = [
    "cat a.py",
    "sed -n '2,19p' a.py",
    "grep -n value a.py",
    "cat a.py b.py",
    "cat b.py; cat a.py",
    "cat a.py | grep value",
    "wc -l a.py b.py && head -n 15 a.py",
    "grep -n value $X a.py",
]
"""Looks at a file that an error names."""


@BOTH
@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("look", LOOKS)
def test_any_look_at_a_file_that_a_new_error_names_is_run_and_shown(look: str, sealed: bool, policy: Policy) -> None:
    """By whatever command: without a reference before or after running, and without a nudge."""
    story = Story(policy=policy, sealed=sealed)
    story.do(look, text(20))
    story.do("grep -rn Traceback log.d", TRACEBACK)
    step = story.do(look, text(20))
    assert (step.decision, step.shown.kind) == (Allow("new-error", ("the error at step 1 names /repo/a.py",)), "full")


@BOTH
def test_looks_at_other_files_are_judged_as_always(policy: Policy) -> None:
    """An error is new for three results, and speaks of the files that it names."""
    story = Story(policy=policy, sealed=True)
    commands = ("grep -n value b.py", "grep -rn value src", "grep -n value a.py")
    for at, command in enumerate(commands):
        story.do(command, text(20, 100 * at))
    story.do("grep -rn Traceback log.d", TRACEBACK)
    story.idle(2)
    assert [story.ask(command).rule for command in commands] == ["repeat", "repeat", "new-error"]
    story.idle(1)
    assert story.ask("grep -n value a.py").rule == "repeat"


def test_a_look_that_follows_an_error_is_not_elided_for_another_rule() -> None:
    """Behind something that may write in the same turn it is allowed by that, and shown in full all the same."""
    story = Story()
    story.do("cat a.py", text(20))
    story.do("python repro.py", TRACEBACK, 1)
    writes = propose(story.ledger, story.action("./generate"))
    action = story.action("cat a.py")
    decision = propose(story.ledger, action, pending=writes.pending).decision
    shown = story.ledger.compare(action, decision, Observation(text(20), exit_status=0))
    assert (decision.rule, shown.kind) == ("pending-writes", "full")


# "REUSE suppresses the command and returns a reference to a still-visible result from an earlier equivalent
# interaction."


def test_a_reference_claims_no_more_than_what_was_recorded() -> None:
    """Something of unknown effects may have changed the file, so it is not said that it has not changed."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do("grep -rn value .", text(20))
    story.do("./generate")
    assert [story.do(command).shown.text for command in ("cat a.py", "grep -rn value .")] == [
        "[Ledger: not run, no change of a.py was recorded. Lines 1-20 of a.py are as shown by `cat a.py`, "
        "3 commands ago. Repeat it to see it again.]",
        "[Ledger: not run, no change of a file was recorded since, scratch files aside. Its output is the same as that "
        "of `grep -rn value .`, 3 commands ago. Repeat it to see it again.]",
    ]
