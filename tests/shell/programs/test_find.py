"""``find`` and ``fd``."""

from __future__ import annotations

from tests.shell.programs.calling import LOOK, changes, kinds, understand


def test_find_searches() -> None:
    """Without an action it only looks."""
    assert understand("find . -name '*.py' -not -path './x/*' -type f -print0") == LOOK
    assert understand("find . -name $pattern") == LOOK
    assert understand("find . -name -delete") == LOOK


def test_find_runs_a_harmless_program() -> None:
    """A reader run on every file is still a search."""
    assert understand("find . -name '*.py' -exec grep -l foo {} +") == LOOK
    assert understand("find . -exec sed -n 1,5p {} ';' -exec wc -l {} ';'") == LOOK


def test_find_runs_what_changes_files() -> None:
    """An editor or remover run on every file changes any of them."""
    for line in (
        "find . -exec rm {} ';'",
        "find . -exec sed -i s/a/b/ {} +",
        "find . -execdir mv {} {}.bak ';'",
        "find . -ok cp {} /x/ ';'",
        "find . -exec cat {} ';' -exec rm {} ';'",
    ):
        assert changes(line) == ("unknown", "TREE", []), line
        assert kinds(line) == {("modify", "unknown")}, line


def test_find_deletes_and_reports() -> None:
    """Its own actions write too."""
    lines = ("find . -name x -delete", "find . -fprint out", "find . -fprintf out %p", "find . -fls out")
    assert kinds(*lines) == {("modify", "unknown")}


def test_find_with_computed_actions() -> None:
    """Where an action may stand, a computed word may be one."""
    assert kinds("find . $actions", "find . -type f $actions", "find $x -name a") == {("search", "unknown")}


def test_find_with_an_action_that_nobody_knows() -> None:
    """It may do anything."""
    assert kinds("find . -frobnicate", "find . -fprintx a") == {("search", "unknown")}


def test_find_runs_an_unknown_program() -> None:
    """It is named as unknown."""
    part = understand("find . -exec frobnicate {} ';'")
    assert (part.effects.value, part.unknown) == ("unknown", True)


def test_fd() -> None:
    """-x and -X run a command with every file."""
    assert understand("fd -e py foo") == LOOK
    assert kinds("fd foo -x wc -l") == {("search", "unknown")}
    assert kinds("fd foo -x rm", "fd foo -X rm -f", "fd foo --exec rm {}") == {("modify", "unknown")}
    assert kinds("fd --exec=rm foo") == {("search", "unknown")}


def test_the_clock() -> None:
    """What was changed in the last minutes is not the same a minute later."""
    for line in ("find . -mmin -5", "find . -mtime 1", "find . -newermt yesterday", "find . -used 1"):
        assert understand(line).volatile, line
    assert not understand("find . -newer a -name -mmin.py").volatile
