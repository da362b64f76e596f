"""What a walk found, put together."""

from __future__ import annotations

from execledger.shell.facts import Part, inspects, runs, writes
from execledger.shell.summary import Found, opaque_record, summarize
from execledger.vocabulary.records import WHOLE, Category, CommandRecord, Effects, FileRange, Lines, Scope, View

VIEW = View("/r/f", (WHOLE,))


def test_nothing_found() -> None:
    """An empty walk is a command of no category that changes nothing."""
    assert summarize(Found(), "n", "e", "/r") == CommandRecord(
        Category.OTHER, "n", "e", "/r", effects=Effects.NONE, comparable=True, literal=True
    )


def test_one_unknown_part_makes_the_whole_unknown() -> None:
    """The strongest category, the widest effects, the files that are certain."""
    found = Found()
    for part in (inspects(VIEW), writes("/r/a"), runs(Category.TEST), writes("/r/a", "/r/b")):
        found.part(part, frozenset())
    record = summarize(found, "n", "e", "/r")
    assert (record.category, record.effects, record.writes) == (Category.MODIFY, Effects.UNKNOWN, ("/r/a", "/r/b"))
    assert (record.scope, record.comparable, record.view) == (Scope.FILES, False, None)


def test_a_view_is_the_only_output_and_its_status_the_commands() -> None:
    """Anything else that prints, or ends the command, takes the view away; the read stays."""
    for certain, silent, last, noisy in ((1, 0, 1, 0), (1, 0, 0, 0), (0, 0, 1, 0), (1, 1, 1, 0), (1, 0, 1, 1)):
        found = Found(noisy=bool(noisy))
        found.printed(VIEW, certain=bool(certain), silent=bool(silent), last=bool(last))
        record = summarize(found, "n", "e", "/r")
        assert record.view == (VIEW if (certain, silent, last, noisy) == (1, 0, 1, 0) else None)
        assert record.reads == ((FileRange("/r/f"),) if certain else ())


def test_each_range_is_one_read() -> None:
    """A whole file has no lines."""
    found = Found()
    found.printed(View("/f", (Lines(1, 2), Lines(5))), certain=True, silent=False, last=True)
    assert summarize(found, "n", "e", None).reads == (FileRange("/f", Lines(1, 2)), FileRange("/f", Lines(5)))


def test_redirections() -> None:
    """Into a file that is known, into one that is not, and of a patch."""
    found = Found()
    found.redirected("/r/a.py", Part(), "x\n", "/r", whole=True)
    assert (found.writes, found.effects, found.scope, found.texts) == (
        ["/r/a.py"], [Effects.LISTED], Scope.FILES, [("/r/a.py", "x\n")],
    )  # fmt: skip
    found.redirected(None, Part(), None, "/r", whole=False)
    assert found.scope == Scope.TREE
    found.redirected("/r/p", Part(makes_patch=True), None, "/r", whole=False)
    assert (found.patches, found.categories[-1]) == (["/r/p"], Category.SUBMIT)


def test_a_test_may_write_its_log() -> None:
    """That alone is no modification."""
    found = Found()
    found.redirected("/r/out.log", runs(Category.TEST), None, "/r", whole=False)
    assert found.categories == []
    found.redirected("/r/a.py", runs(Category.TEST), None, "/r", whole=False)
    assert found.categories == [Category.MODIFY]


def test_an_opaque_command_claims_nothing() -> None:
    """What was found before it gave up still counts as a warning."""
    found = Found(writes=["/r/a", "/r/a"], files=["/r/a"], categories=[Category.MODIFY], scope=Scope.FILES)
    assert opaque_record(" x & y ", "/r", "syntax", found) == CommandRecord(
        Category.MODIFY, "x & y", " x & y ", "/r", writes=("/r/a",), opaque="syntax", scope=Scope.FILES, background=True
    )
    assert opaque_record("x && y 2>&1", None, "syntax", Found()) == CommandRecord(
        Category.OTHER, "x && y 2>&1", "x && y 2>&1", opaque="syntax"
    )
