"""Searches, listings and facts about files."""

from __future__ import annotations

from msgspec.structs import replace

from execledger.shell.facts import Selection
from execledger.vocabulary.records import WHOLE, View
from tests.shell.programs.calling import LOOK, SHOW, kinds, understand


def test_grep_searches() -> None:
    """A search has neither a view nor effects."""
    assert understand("grep -rn foo src") == LOOK
    assert understand("rg -n --pretty foo") == LOOK
    assert understand("ag foo") == LOOK


def test_grep_for_nothing_shows_the_file() -> None:
    """An empty pattern matches every line, and -n numbers them."""
    part = understand("grep -n '' a.py")
    assert part.view == View("a.py", (WHOLE,), ":", form="grep")
    assert understand("grep '^' a.py").view == View("a.py", (WHOLE,), form="grep")


def test_grep_for_nothing_as_a_filter() -> None:
    """Behind a pipe it lets everything through."""
    assert understand("grep -n ''", fed=True).selection == Selection(None, ":", "grep")


def test_other_greps_show_no_file() -> None:
    """Several files, further options and other patterns make a search."""
    for line in ("grep -n '' a.py b.py", "grep -in '' a.py", "grep -n . a.py", "grep -n '' $f", "fgrep '^' a.py"):
        assert understand(line) == LOOK, line


def test_searchers_that_run_programs() -> None:
    """A preprocessor or pager may do anything."""
    lines = ("rg --pre ./x foo", "rg --pre=./x foo", "rg --hostname-bin x foo", "ag --pager less foo")
    assert kinds(*lines) == {("search", "unknown")}


def test_lookers() -> None:
    """Listings, sums and comparisons only look."""
    for line in (
        "ls -la src",
        "tree -L 2",
        "wc -l a.py",
        "diff -u a b",
        "sha256sum a",
        "which python",
        "file a",
    ):
        assert understand(line) == LOOK, line


def test_lookers_that_write() -> None:
    """Some options make them write."""
    assert kinds("tree -o out", "tree -aRo x", "file -C -m magic", "sdiff -o out a b", "diff --output=x a b") == {
        ("modify", "unknown")
    }


def test_command_v_looks_a_program_up() -> None:
    """``command X`` is X, ``command -v X`` a question."""
    assert understand("command -v rm") == LOOK
    assert understand("command rm a") == understand("rm a")
    assert understand("command cat a.py").view == View("a.py", (WHOLE,))


def test_pwd_and_filters_reshape() -> None:
    """They pass no line on as it stands."""
    for line in ("pwd", "cut -d: -f1 a", "tr a b", "jq . a.json", "sort -u a", "uniq -c a"):
        assert understand(line) == SHOW, line


def test_reports_into_files() -> None:
    """Counters of lines have options that write their report."""
    assert kinds("cloc --out=x .", "cloc --report-file x .", "scc -o x", "diffstat -o x p.diff") == {
        ("modify", "unknown")
    }
    assert kinds("cloc .", "scc", "diffstat p.diff", "tokei") == {("search", "none")}


def test_access_times() -> None:
    """``stat`` says when a file was last read, which reading changes."""
    assert understand("stat a") == replace(LOOK, volatile=True)
