"""Govern in ``paper``: the published rules, by change counters alone."""

from __future__ import annotations

import pytest

from execledger.core.policy import Policy, Preset
from execledger.vocabulary.decisions import Allow, CoveredLines, Reuse
from tests.core.stories import Story, text

PAPER = Policy(preset=Preset.PAPER)
SCRIPT = "cat > edit_it.py <<'E'\nfrom pathlib import Path\nPath('a.py').write_text('x')\nE"


def test_a_read_is_judged_by_the_counter_of_its_file() -> None:
    """An edit of another file does not matter to a read."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do("echo x >> b.py")
    assert story.ask("sed -n '2,9p' a.py") == Reuse(
        "covered-read",
        ("file: /repo/a.py", "change counter of the file: 0, then and now"),
        (0,),
        (CoveredLines(2, 9, 0),),
    )


def test_a_read_of_an_edited_file_is_run() -> None:
    """The file's own counter has moved."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do("echo x >> a.py")
    assert story.ask("cat a.py") == Allow("new")


def test_lines_before_a_syntax_error_count_as_run() -> None:
    """Bash has run them when it gets to the error: what they write moves the counters."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do("python - <<'PY'\nopen('a.py', 'w').write('')\nPY\n&& python -m pytest", "syntax error", 2)
    assert story.ask("sed -n '2,9p' a.py") == Allow("new")


def test_a_repeat_is_judged_by_the_global_counter() -> None:
    """Any tracked change ends a repeated search, also one of a file that it does not name."""
    story = Story(policy=PAPER)
    story.do("grep -rn name src", text(3))
    before = story.ask("grep -rn name src")
    story.do("echo x >> b.py")
    assert (before, story.ask("grep -rn name src")) == (
        Reuse("repeat", ("same command at step 0", "global change counter: 0, then and now"), (0,)),
        Allow("new"),
    )


@pytest.mark.parametrize("between", ["python -m pytest", "./unknown_tool", "eval $X", "echo x > /tmp/note.txt"])
def test_what_is_not_a_recognised_write_does_not_advance_a_counter(between: str) -> None:
    """Tests, unknown programs, opaque commands and scratch files leave the published counters alone."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do("grep -rn name src", text(3))
    story.do(between)
    assert (story.ask("cat a.py").rule, story.ask("grep -rn name src").rule) == ("whole-read", "repeat")


@pytest.mark.parametrize(("path", "rule"), [("views/debug.py", "new"), ("debug.py", "repeat")])
def test_a_scratch_name_deeper_in_the_repository_advances_the_counter(path: str, rule: str) -> None:
    """A redirection may have overwritten a source file that nothing had mentioned; so a search is run again."""
    story = Story(policy=PAPER)
    story.do("grep -rn name src", text(3))
    story.do(f"cat > {path} <<'E'\nname = 1\nE")
    assert story.ask("grep -rn name src").rule == rule


def test_a_written_script_advances_the_counter_when_it_is_run() -> None:
    """Writing it changes nothing but itself; running it writes the file that its text names."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do(SCRIPT)
    written = story.ask("cat a.py").rule
    story.do("python edit_it.py")
    assert (written, story.ask("cat a.py").rule) == ("whole-read", "new")


def test_inline_code_that_names_a_file_for_writing_advances_its_counter() -> None:
    """``python -`` with a heredoc is a write of the file that its text names."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do("cat b.py", text(20))
    story.do("python - <<'E'\nopen('a.py', 'w').write('x')\nE")
    assert (story.ask("cat a.py").rule, story.ask("cat b.py").rule) == ("new", "whole-read")


@pytest.mark.parametrize("between", ["git stash", "git checkout main", "git checkout -- .", "git apply fix.patch"])
def test_a_write_with_an_unknown_reach_advances_every_file(between: str) -> None:
    """What may have rewritten the whole tree ends the claims about every file in it."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do(between)
    assert story.ask("cat a.py").rule == "new"


def test_a_transient_file_is_not_reused_although_no_counter_moved() -> None:
    """Scratch files are left out by name."""
    story = Story(policy=PAPER)
    story.do("cat debug.log", text(20))
    assert not isinstance(story.ask("cat debug.log"), Reuse)


def test_nothing_is_compared_after_running() -> None:
    """An output that stands above is shown in full if no counter allowed the reuse."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do("echo x >> a.py")
    step = story.do("cat a.py", text(20))
    assert (step.shown.kind, step.shown.compared) == ("full", "same")


def test_visibility_and_opacity_hold_in_both_presets() -> None:
    """What vanished is not referred to, and what is not understood is run."""
    story = Story(policy=PAPER)
    story.do("cat a.py", text(20))
    story.do("eval cat a.py", text(20))
    story.visible = {1}
    assert (story.ask("cat a.py").rule, story.ask("eval cat a.py").rule) == ("new", "opaque")
