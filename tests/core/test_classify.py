"""Structured calls meet the same records as shell commands."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.core.classify import classify, provable
from execledger.shell.facts import Knowledge
from execledger.vocabulary.actions import Action, Aside, Call, Command, Edit, OtherTool, Patch, Read, Search, Write
from execledger.vocabulary.records import Category, CommandRecord, Effects, FileRange, Lines, Scope, View

UNIFIED = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n"
BEGIN = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: new.py\n+z\n*** End Patch\n"


def record(call: Call, cwd: str | None = "/repo") -> CommandRecord:
    return classify(Action("call", cwd, call))


def expected(category: Category, cwd: str | None = "/repo", **more: object) -> CommandRecord:
    return CommandRecord(category, "call", "call", cwd, **more)  # type: ignore[arg-type]


def test_a_structured_read_is_a_view_of_its_lines() -> None:
    """The asked range, and how the tool prints numbers."""
    assert record(Read("src/a.py", 5, 9, "\t")) == expected(
        Category.INSPECT,
        effects=Effects.NONE,
        reads=(FileRange("/repo/src/a.py", Lines(5, 9)),),
        view=View("/repo/src/a.py", (Lines(5, 9),), "\t"),
        looks_at=("/repo/src/a.py",),
        shows=("/repo/src/a.py",),
        contents=("/repo/src/a.py",),
        comparable=True,
        literal=True,
    )


def test_a_structured_read_of_a_whole_file_has_no_lines() -> None:
    """As for ``cat``."""
    assert record(Read("/repo/a.py")).reads == (FileRange("/repo/a.py", None),)


def test_a_relative_path_in_an_unknown_place_is_not_literal() -> None:
    """Nobody knows which file that is."""
    assert not record(Read("a.py"), None).literal
    assert record(Read("/repo/a.py"), None).literal


def test_a_structured_read_of_the_patch_file_is_a_submission() -> None:
    """Showing the repair, by whatever tool."""
    knowledge = Knowledge(frozenset({"/repo/p.diff"}))
    assert classify(Action("call", "/repo", Read("p.diff")), knowledge).category is Category.SUBMIT


def test_a_structured_search_changes_nothing() -> None:
    """It may be compared and repeated like grep."""
    assert record(Search()) == expected(
        Category.SEARCH, effects=Effects.NONE, contents=("",), comparable=True, literal=True
    )


def test_a_structured_edit_writes_its_file() -> None:
    """The text that it puts in is kept for the symbols."""
    assert record(Edit("src/a.py", "x", "y")) == expected(
        Category.MODIFY,
        effects=Effects.LISTED,
        writes=("/repo/src/a.py",),
        scope=Scope.FILES,
        texts=(("/repo/src/a.py", "y"),),
    )


def test_a_structured_write_writes_its_file() -> None:
    """The whole content is known."""
    assert record(Write("/repo/a.py", "x\n")) == expected(
        Category.MODIFY,
        effects=Effects.LISTED,
        writes=("/repo/a.py",),
        creates=("/repo/a.py",),
        scope=Scope.FILES,
        texts=(("/repo/a.py", "x\n"),),
    )


@pytest.mark.parametrize(
    ("patch", "writes", "creates"),
    [(UNIFIED, ("/repo/src/a.py",), ()), (BEGIN, ("/repo/src/a.py", "/repo/new.py"), ("/repo/new.py",))],
)
def test_a_structured_patch_writes_the_files_that_it_names(
    patch: str, writes: tuple[str, ...], creates: tuple[str, ...]
) -> None:
    """In either form of patch."""
    assert record(Patch(patch)) == expected(
        Category.MODIFY,
        effects=Effects.LISTED,
        writes=writes,
        creates=creates,
        scope=Scope.FILES,
        texts=(("", patch),),
    )


def test_a_patch_that_names_no_file_may_write_anything() -> None:
    """What is not understood reaches the whole tree."""
    found = record(Patch("nonsense"))
    assert (found.effects, found.scope, found.writes) == (Effects.UNKNOWN, Scope.TREE, ())


def test_an_aside_changes_nothing_and_is_never_reused() -> None:
    """It is no reader of files whose answer could stand for another."""
    assert record(Aside()) == expected(Category.OTHER, effects=Effects.NONE)


def test_a_command_is_repeated_only_in_the_same_manner() -> None:
    """The same reads and effects, but another exact form."""
    plain = classify(Action("cat a.py", "/repo"))
    found = classify(Action("cat a.py", "/repo", Command("budget=9")))
    assert found == replace(plain, exact="cat a.py # budget=9")


def test_what_is_not_shown_as_it_came_holds_no_lines() -> None:
    """The effects are the command's all the same."""
    plain = classify(Action("sed -n 5p a.py", "/repo"))
    found = classify(Action("sed -n 5p a.py", "/repo", Command("tty", verbatim=False)))
    assert found == replace(plain, exact=f"{plain.exact} # tty", view=None, comparable=False)
    assert classify(Action("rm a.py", "/repo", Command("tty", verbatim=False))).writes == ("/repo/a.py",)


@pytest.mark.parametrize(("command", "placed"), [("cat a.py", False), ("sed -n 5p a.py", False), ("cat -n a.py", True)])
def test_merged_standard_error_leaves_only_printed_numbers(command: str, placed: bool) -> None:
    """Outputs are still compared, but lines without printed numbers have no place, and nothing is proved."""
    action = Action(command, "/repo", Command("bash", merged=True))
    found = classify(action)
    assert (found.view is not None, found.comparable, provable(action, found)) == (placed, True, False)


def test_any_other_tool_has_unknown_effects() -> None:
    """Known to exist, and no more."""
    assert record(OtherTool()) == expected(Category.OTHER, effects=Effects.UNKNOWN)
