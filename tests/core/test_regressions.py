"""Claims that were wrong once: each with the shortest story that showed it."""

from __future__ import annotations

from execledger.core.actions import Observation
from execledger.core.decisions import Allow, Reuse
from execledger.core.lines import returned
from execledger.core.policy import Policy, Preset
from execledger.core.records import Lines, View
from execledger.replay import replay
from execledger.trajectories.recording import Recorded, Run
from tests.core.stories import Story, numbered, source, text


def test_lines_confirmed_under_moved_numbers_do_not_stand_for_numbered_ones() -> None:
    """After an insertion above, the old numbered output holds the lines, but not their numbers."""
    story = Story(sealed=True)
    story.do("cat -n a.py", numbered(source(30)))
    story.do("sed -i '1i import os' a.py")
    assert story.do("sed -n '2,31p' a.py", text(30)).shown.compared == "covered"
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
    assert "- b.py: whole, 9 lines (seen, no longer in context)" in story.ledger.inform(range(1)).text


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
