"""Programs that show a file's lines."""

from __future__ import annotations

import pytest

from execledger.shell.facts import Part, Selection, inspects
from execledger.vocabulary.records import CHANGED, WHOLE, Category, Effects, Lines, View
from tests.shell.programs.calling import SHOW, kind, understand


@pytest.mark.parametrize(
    ("line", "view"),
    [
        ("cat f", View("f", (WHOLE,))),
        ("cat -u f", View("f", (WHOLE,))),
        ("cat -- -f", View("-f", (WHOLE,))),
        ("cat -n f", View("f", (WHOLE,), "\t")),
        ("cat --number f", View("f", (WHOLE,), "\t")),
        ("cat -b f", View("f", (WHOLE,), CHANGED)),
        ("cat -nA f", View("f", (WHOLE,), CHANGED)),
        ("cat -s f", View("f", (WHOLE,), CHANGED)),
        ("head f", View("f", (Lines(1, 10),))),
        ("head -5 f", View("f", (Lines(1, 5),))),
        ("head -n5 f", View("f", (Lines(1, 5),))),
        ("head -qn 5 f", View("f", (Lines(1, 5),))),
        ("head -n 3 -n 5 f", View("f", (Lines(1, 5),))),
        ("head -n +5 f", View("f", (Lines(1, 5),))),
        ("head --lines=5 f", View("f", (Lines(1, 5),))),
        ("tail -5 f", View("f", (Lines(-5),), floating=True)),
        ("tail -n -5 f", View("f", (Lines(-5),), floating=True)),
        ("tail -n +5 f", View("f", (Lines(5),))),
        ("tail +5 f", View("f", (Lines(5),))),
        ("tail -n +0 f", View("f", (WHOLE,))),
        ("nl -ba f", View("f", (WHOLE,), "\t", form="nl")),
        ("nl -b a -w4 -s: f", View("f", (WHOLE,), ":", form="nl")),
        ("nl f", View("f", (WHOLE,), CHANGED, form="nl")),
        ("nl -ba -v5 f", View("f", (WHOLE,), CHANGED, form="nl")),
        ("nl -ba -s '' f", View("f", (WHOLE,), CHANGED, form="nl")),
        ("less f", View("f", (WHOLE,), form="less")),
        ("less -RS f", View("f", (WHOLE,), form="less")),
        ("bat f", View("f", (WHOLE,), form="bat")),
        ("bat -p -r 5:9 f", View("f", (Lines(5, 9),), form="bat")),
        ("bat --line-range :9 f", View("f", (Lines(1, 9),), form="bat")),
        ("bat -r 5: f", View("f", (Lines(5),), form="bat")),
    ],
)
def test_views(line: str, view: View) -> None:
    """The lines that are shown of one file, and how they are numbered."""
    part = understand(line)
    assert (part.view, part.category, part.effects, part.comparable) == (view, Category.INSPECT, Effects.NONE, True)


@pytest.mark.parametrize(
    "line",
    [
        "cat",
        "cat -",
        "cat f -",
        "cat a b",
        "cat $f",
        "cat --frob f",
        "head -c 100 f",
        "head -n -5 f",
        "head -n 0 f",
        "head -n 5k f",
        "head -n $n f",
        "head -5c f",
        "head -v f",
        "head -z f",
        "head a b",
        "head $x f",
        "tail -c 5 f",
        "tail -n 0 f",
        "tail -5r f",
        "tail a b",
        "nl --frob f",
        "less +10 f",
        "less -N f",
        "bat -n f",
        "bat -r 1:2 -r 5:9 f",
        "bat -r 5 f",
        "bat -A f",
        "bat --style=full f",
        "tac f",
        "zcat f",
    ],
)
def test_no_claim(line: str) -> None:
    """They show content, but not certain lines of one file."""
    part = understand(line)
    assert (part.view, part.selection, part.effects) == (None, None, Effects.NONE)


@pytest.mark.parametrize(
    ("line", "selection"),
    [
        ("cat", Selection()),
        ("cat -", Selection()),
        ("cat -n", Selection(None, "\t")),
        ("head -3", Selection((Lines(1, 3),))),
        ("tail -n +3 -", Selection((Lines(3),))),
        ("nl -ba", Selection(None, "\t", "nl")),
        ("less", Selection(form="less")),
    ],
)
def test_filters(line: str, selection: Selection) -> None:
    """Without a file they pass lines of their standard input through."""
    assert understand(line, fed=True).selection == selection
    assert understand(line).selection is None


def test_following_a_file_takes_time() -> None:
    """``tail -f`` shows what comes."""
    for line in ("tail -f f", "tail -n5 -F f", "tail -5f f", "tail --follow=name f", "tail --pid=3 f"):
        assert understand(line) == inspects(volatile=True), line


def test_spelling() -> None:
    """Arguments that certainly mean the same are spelled the same; ``-q`` matters with several files."""
    assert understand("head -5 f").argv == understand("head --lines=05 f").argv == ("-n", "5", "f")
    assert understand("tail f").argv == ("-n", "10", "f")
    assert understand("cat -En -- -f").argv == ("-E", "-n", "--", "-f")
    assert understand("head -q -n 5 f").argv == ("-n", "5", "f")
    assert understand("head -q -n 5 a b").argv == ("-q", "-n", "5", "a", "b")
    assert understand("tail -q -n +5 a b").argv == ("-q", "-n", "+5", "a", "b")
    assert understand("cat $f").argv is None


def test_pagers_that_act() -> None:
    """A log file, or a command of the pager's own."""
    assert kind("less -o log f") == ("inspect", "unknown")
    assert kind("less '+!rm x' f") == ("inspect", "unknown")
    assert kind("less +G f") == ("inspect", "none")


def test_bat_keeps_files_of_its_own() -> None:
    """Its cache and its settings."""
    assert kind("bat cache --build") == ("other", "unknown")
    assert kind("bat --generate-config-file") == ("other", "unknown")


def test_altered_content() -> None:
    """It is shown, not as lines; ``pr`` prints the date."""
    assert understand("tac f") == understand("zcat f") == SHOW
    assert understand("pr f") == Part(category=Category.INSPECT, comparable=True, volatile=True)
