"""Claims that were wrong once: each with the shortest story that showed it."""

from __future__ import annotations

from execledger.core.ledger import Ledger
from execledger.core.lines import returned
from execledger.core.policy import Policy, Preset
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import replay
from execledger.shell.scripts import Scripts
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Reuse, Shown, Step
from execledger.vocabulary.records import Lines, View
from tests.core.stories import Story, numbered, source, text


def test_lines_under_moved_numbers_are_not_confirmed() -> None:
    """After an insertion above, the old output holds the lines, but not at their places."""
    story = Story(sealed=True)
    story.do("cat -n a.py", numbered(source(30)))
    story.do("sed -i '1i import os' a.py")
    assert story.do("sed -n '2,31p' a.py", text(30)).shown.compared == "different"
    story.idle(4)
    assert isinstance(story.ask("cat -n a.py | sed -n '2,31p'"), Allow)


def test_an_elided_tail_without_a_whole_line_does_not_tell_the_end() -> None:
    """The last whole line before the cut is not the file's last line."""
    head = numbered(source(20)) + "    21\tzzz"
    observation = Observation(head + "x" * 100, cut=len(head), truncated=True)
    shown = returned(View("/repo/a.py", (Lines(1),), "\t"), observation)
    assert shown is not None and (shown.ranges, shown.end) == ((Lines(1, 20),), None)


def test_a_repeat_that_names_a_transient_file_is_not_reused() -> None:
    """Not by a search, and not among other files."""
    for command in ("grep hi debug.log", "cat debug.log other.py"):
        story = Story(policy=Policy(preset=Preset.PAPER))
        story.do(command, text(5))
        story.do("echo hi >> debug.log")
        assert isinstance(story.ask(command), Allow)


def test_a_view_of_fewer_steps_is_not_the_one_of_more() -> None:
    """What was in context for one request need not be in context for the next."""
    story = Story()
    story.do("cat a.py", text(9))
    story.do("cat b.py", text(9))
    assert "no longer" not in story.ledger.inform(range(2)).text
    assert "Seen, no longer in context:\n- b.py: whole, 9 lines\n" in story.ledger.inform(range(1)).text


def test_a_nudge_names_only_a_visible_result() -> None:
    """After a compaction the earlier run of the test is not spoken of."""
    story = Story()
    story.do("pytest -q", "1 passed\n")
    story.visible = range(1, 1)
    assert isinstance(story.ask("pytest -q"), Allow)


def test_a_second_look_may_be_at_one_of_several_files() -> None:
    """A reference for two files opens a second look at each."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20))
    story.do("cat a.py b.py", text(40))
    assert isinstance(story.do("cat a.py b.py", text(40)).decision, Reuse)
    assert story.ask("cat a.py").rule == "second-look"


def test_an_error_on_standard_error_is_followed() -> None:
    """A traceback counts wherever it was printed."""
    story = Story(policy=Policy(preset=Preset.PAPER))
    story.do("cat a.py", text(20))
    story.do("./run", Observation("", 'Traceback\n  File "/repo/a.py", line 3, in f\n', exit_status=1))
    assert story.ask("cat a.py").rule == "new-error"


def test_the_repair_is_shown_in_full() -> None:
    """Showing the patch again is not answered with a reference."""
    story = Story("Write patch.txt.")
    story.do("cat patch.txt", text(40))
    story.idle(4)
    assert story.do("cat patch.txt", text(40)).shown.kind == "full"


def test_overlapping_reads_cover_what_neither_ends() -> None:
    """A short rest counts if its run begins inside the one before."""
    story = Story(sealed=True)
    story.do("sed -n '1,10p' a.py", text(10))
    story.do("sed -n '8,12p' a.py", text(5, first=8))
    assert story.ask("sed -n '1,12p' a.py").refers_to == (0, 1)


def test_a_replay_with_govern_off_decides_nothing() -> None:
    """The switch holds for recorded runs as well."""
    story = Story()
    call = Recorded(story.action("cat a.py"), Observation(text(20), exit_status=0), 0)
    run = Run("run", "", "", "", "", container=True, turns=2, steps=(call, call))
    assert [type(one.decision) for one in replay(run, Policy(govern=False))] == [Allow, Allow]


def test_a_reread_that_shows_a_deletion_is_shown() -> None:
    """Every line stands above, but the model must see that some are gone: from the middle, the end, or moved."""
    lines = source(40)
    for edited in (lines[:9] + lines[12:], lines[:37], lines[20:] + lines[:20]):
        story = Story()
        story.do("cat a.py", text(40))
        story.do("python3 edit.py")
        step = story.do("cat a.py", "".join(f"{line}\n" for line in edited))
        assert step.shown.compared == "different" and step.shown.kind != "reference"
        assert step.observation.output.endswith(f"{edited[-1]}\n")


def test_a_tail_of_a_short_file_is_not_counted_from_its_end() -> None:
    """Positions behind ``tail`` are lines of the file only if it is long enough."""
    story = Story(sealed=True)
    story.do("cat a.py", text(19))
    assert isinstance(story.ask("tail -n 25 a.py | sed -n 20,22p"), Allow)


def test_paths_that_may_lead_elsewhere_are_no_paths() -> None:
    """Behind a link, a step up is not what its text says; a hidden failure of cd is not seen."""
    for command in ("cat link/../a.py", "cd link && cat ../a.py", "cat a.py/", "cd nope 2>/dev/null; cat a.py"):
        story = Story(sealed=True)
        story.do("cat a.py", text(19))
        story.do(command, text(19, first=50))
        assert "19 lines" in story.view().text and "/repo/nope" not in story.view().text
        story.idle(4)
        assert story.ask("cat a.py").refers_to == (0,)


def test_a_reuse_names_only_the_results_that_bear_it_out() -> None:
    """Where one of two results is the same, byte for byte, that one is named."""
    story = Story(policy=Policy(preset=Preset.PAPER))
    call = Recorded(story.action("cat a.py"), Observation(text(20), exit_status=0), 0)
    run = Run("run", "", "", "", "", container=True, turns=2, steps=(call, call))
    assert [one.shown.compared_to for one in replay(run)] == [(), (0,)]


def test_a_nudge_never_names_a_reference() -> None:
    """The newest occurrence that was shown is named."""
    story = Story()
    for _ in range(2):
        story.do("ls -la", text(20))
    story.idle(4)
    decision = story.ask("ls -la")
    assert all(story.steps[step].shown.kind != "reference" for step in decision.refers_to)


def test_a_gap_between_ranges_is_not_the_end_of_the_file() -> None:
    """Nothing of the second range came back: the file ends before it, but not where the first range ended."""
    for command, output in (
        ("sed -n '1,5p;10,15p' a.py", text(5)),
        ("cat -n a.py | sed -n '1,5p;10,15p'", numbered(source(5))),
    ):
        story = Story(sealed=True)
        story.do(command, output)
        assert "1-5 (current" in story.view().text
        assert isinstance(story.ask("cat a.py"), Allow)


def test_a_complaint_behind_a_pipe_is_no_content() -> None:
    """Not of a program that is missing, nor of one that will not show binary files."""
    for command, output in (
        ("bat a.py | head -50", "bash: line 1: bat: command not found\n"),
        ("sudo cat a.py | head -20", "bash: line 1: sudo: command not found\n"),
        ("grep '' a.py", "grep: a.py: binary file matches\n"),
    ):
        story = Story(sealed=True)
        story.do(command, output)
        assert isinstance(story.ask("cat a.py"), Allow)


def test_only_a_read_of_the_file_is_confirmed() -> None:
    """That the bytes stand in the result of another kind of command says nothing about the file's lines."""
    story = Story(sealed=True)
    story.do("cat a.py || true", text(30))
    story.do("python3 x.py")
    assert story.do("cat a.py", text(30)).shown.kind == "reference"
    story.idle(4)
    assert isinstance(story.ask("tail -n +10 a.py"), Allow)


def test_a_write_to_an_unknown_folder_may_be_to_any_file() -> None:
    """Relative to an unknown directory, a name is no file."""
    story = Story(policy=Policy(preset=Preset.PAPER))
    story.do("cat a.py", text(20))
    story.ledger.record(
        Step(Action("sed -i s/x/y/ a.py"), Allow("modification"), Observation(exit_status=0), Shown("full"))
    )
    assert isinstance(story.ask("cat a.py"), Allow)


def test_a_failed_edit_modifies_nothing_that_we_speak_of() -> None:
    """It may have written, so nothing is current; but the file is not in focus."""
    story = Story(sealed=True)
    story.do("sed -i s/x/y/ gone.py", "sed: can't read gone.py: No such file or directory\n", 2)
    assert "Modified" not in story.view().text


def test_the_switches_hold_for_the_ledger_itself() -> None:
    """An agent that asks it directly is answered by the same policy."""
    ledger = Ledger("Mend it.", Policy(govern=False, inform=False))
    assert (ledger.govern(Action("cat a.py", "/repo")).rule, ledger.inform().text) == ("govern-off", "")


def test_rewriting_a_script_does_not_cost_more_each_time() -> None:
    """Only its last few texts are kept."""
    scripts = Scripts()
    for number in range(100):
        scripts.write("/repo/fix.py", f"open('f{number}', 'w')", "/repo")
    assert scripts["/repo/fix.py"] == ("f96", "f97", "f98", "f99")


def test_another_threads_calls_do_not_count() -> None:
    """How long ago something was, and how long a second look lasts, is counted on the thread that asks."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20))
    for _ in range(4):
        story.do("ls", "a.py\n", thread="helper")
    assert "1 command ago" in story.do("cat a.py", text(20)).shown.text
    for number in range(4):
        story.do(f"ls {number}", "a.py\n", thread="helper")
    assert story.ask("cat a.py").rule == "second-look"


def test_what_changes_by_itself_is_never_reused() -> None:
    """Not as an input, under any spelling of its name, as a device, nor by a clock, a process number or a read."""
    for command in (
        "cat < /proc/uptime",
        "cat //proc/uptime",
        "dd if=/dev/urandom count=1 bs=4",
        "dd if=a.py count=1",
        "git -c log.date=relative log -1",
        "find . -printf '%A@ %p\\n'",
        "perl -pe 's/line/$$/' a.py",
    ):
        for policy in (Policy(), Policy(preset=Preset.PAPER)):
            story = Story(sealed=True, policy=policy)
            story.do(command, text(5))
            assert not isinstance(story.ask(command), Reuse), command


def test_a_link_into_a_folder_that_changes_by_itself_is_no_file() -> None:
    """Whatever was made by a command that names such a folder may lead there, and so may all below it."""
    for command in ("cat upt", "head -3 upt", "grep x upt", "sed -n 1,2p upt/stat"):
        story = Story(sealed=True)
        story.do("ln -s /proc/uptime upt")
        story.do(command, text(5))
        assert not isinstance(story.ask(command), Reuse), command
