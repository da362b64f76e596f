"""The words of references and remarks: a model reads these."""

from __future__ import annotations

from inline_snapshot import snapshot

from execledger.vocabulary.actions import Observation
from tests.core.stories import Story, numbered, source, text, wrapped


def test_a_command_that_was_not_run() -> None:
    """It says so, and where the output stands."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20))
    assert wrapped(story.do("cat a.py").shown.text) == snapshot("""\
[Ledger: not run, a.py has not changed. Lines 1-20 of a.py are as shown by `cat a.py`, 1 command
ago. Repeat it to see it again.]\
""")


def test_a_command_that_was_not_run_with_its_target_named() -> None:
    """Another command is named as the model typed it."""
    story = Story(sealed=True)
    story.do("cd /repo && cat   -n a.py", numbered(source(20)))
    story.idle(1)
    assert wrapped(story.do("sed -n '3,9p' a.py").shown.text) == snapshot("""\
[Ledger: not run, a.py has not changed. Lines 3-9 of a.py are as shown by `cd /repo && cat -n a.py`,
2 commands ago. Repeat it to see it again.]\
""")


def test_a_command_that_was_not_run_over_several_results() -> None:
    """Each target is named with how long ago it was."""
    story = Story(sealed=True)
    story.do("sed -n '1,10p' a.py", text(10))
    story.do("sed -n '11,20p' a.py", text(10, 11))
    assert wrapped(story.do("sed -n '4,17p' a.py").shown.text) == snapshot("""\
[Ledger: not run, a.py has not changed. Lines 4-10 of a.py are as shown by `sed -n '1,10p' a.py`, 2
commands ago, and lines 11-17 by `sed -n '11,20p' a.py`, 1 command ago. Repeat it to see it again.]\
""")


def test_a_search_that_was_not_run_passes_its_exit_status_on() -> None:
    """That nothing was found is the result."""
    story = Story(sealed=True)
    story.do("grep -n missing a.py", "", 1)
    assert wrapped(story.do("grep -n missing a.py").shown.text) == snapshot("""\
[Ledger: not run, nothing has changed since. Its output is the same as that of `grep -n missing
a.py`, 1 command ago. Exit status 1. Repeat it to see it again.]\
""")


def test_an_output_that_is_the_same() -> None:
    """It ran, and the output stands above."""
    story = Story()
    story.do("cat a.py", text(20))
    assert wrapped(story.do("git show HEAD:a.py", text(20)).shown.text) == snapshot(
        "[Ledger: output omitted. It is the same as that of `cat a.py`, 1 command ago.]"
    )


def test_an_output_that_is_covered() -> None:
    """The number of lines helps to find them."""
    story = Story()
    story.do("sed -n '1,20p' a.py", text(20))
    story.do("sed -n '21,50p' a.py", text(30, 21))
    assert wrapped(story.do("sed -n '11,40p' a.py", text(30, 11)).shown.text) == snapshot("""\
[Ledger: output omitted. Lines 11-20 of a.py are as shown by `sed -n '1,20p' a.py`, 2 commands ago,
and lines 21-40 by `sed -n '21,50p' a.py`, 1 command ago.]\
""")


def test_a_repeated_test_with_an_equal_result() -> None:
    """The remark stands behind the output."""
    story = Story()
    story.do("python -m pytest", "1 failed in 0.1s\n", 1)
    story.idle(2)
    assert wrapped(story.do("python -m pytest", "1 failed in 0.2s\n", 1).shown.text) == snapshot(
        "[Ledger: the same test gave the same result 3 commands ago, and you have edited no file in between.]"
    )


def test_a_repeated_command_with_an_equal_result() -> None:
    """A look that was repeated is called a command."""
    story = Story()
    story.do("ls", "a.py\n")
    assert wrapped(story.do("ls", "a.py\n").shown.text) == snapshot(
        """\
[Ledger: the same command gave the same result 1 command ago, and you have edited no file in
between.]\
"""
    )


def test_a_hostile_command_and_output_stay_on_one_line() -> None:
    """Control characters, line ends and quotes of the target can't leave the reference."""
    story = Story()
    hostile = "\x1b[31m\u202e'ev\"il]'" + "x" * 400
    story.do("cat a.py \\\n  b\u202e.py c.py d.py e.py f.py g.py h.py i.py j.py k.py l.py", hostile)
    step = story.do("cat a.py $REST", Observation(hostile, exit_status=0))
    assert (step.shown.kind, wrapped(step.shown.text)) == snapshot(
        (
            "reference",
            """\
[Ledger: output omitted. It is the same as that of `cat a.py \\ b?.py c.py d.py e.py f.py g.py h.py
i.py j.py...`, 1 command ago.]\
""",
        )
    )
