"""``sed``: what it prints and what it writes."""

from __future__ import annotations

import pytest

from execledger.shell.facts import Selection
from execledger.shell.programs.sed import SedCommand, read_script
from execledger.vocabulary.records import CHANGED, WHOLE, Category, Effects, Lines, View
from tests.shell.asking import outcome, view
from tests.shell.programs.calling import SHOW, changes, kind, understand, writing


@pytest.mark.parametrize(
    ("line", "ranges"),
    [
        ("sed -n 5p f", [(5, 5)]),
        ("sed -ne 5p f", [(5, 5)]),
        ("sed --quiet --expression=5p f", [(5, 5)]),
        ("sed --silent 5p -- f", [(5, 5)]),
        ("sed -nE 5p f", [(5, 5)]),
        ("sed -n -u 5p f", [(5, 5)]),
        ("sed -n 5,9p f", [(5, 9)]),
        ("sed -n '5 , 9 p' f", [(5, 9)]),
        ("sed -n 5,3p f", [(5, 5)]),
        ("sed -n 5,+3p f", [(5, 8)]),
        ("sed -n '5,$p' f", [(5, None)]),
        ("sed -n p f", [(1, None)]),
        ("sed '' f", [(1, None)]),
        ("sed -n '1,5p;9p' f", [(1, 5), (9, 9)]),
        ("sed -n '9p;1,5p' f", [(1, 5), (9, 9)]),
        ("sed -n -e 1,5p -e 6,9p f", [(1, 9)]),
        ("sed -n '5,9p;9q' f", [(5, 9)]),
        ("sed -n '5,9p # these' f", [(5, 9)]),
        ("sed 5q f", [(1, 5)]),
        ("sed 5d f", [(1, 4), (6, None)]),
        ("sed 1,5d f", [(6, None)]),
        ("sed '5,$d' f", [(1, 4)]),
        ("sed '5,9!d' f", [(5, 9)]),
    ],
)
def test_views(line: str, ranges: list[tuple[int, int | None]]) -> None:
    """Line numbers alone make a range; what is printed before a quit has a form of its own."""
    form = "sed q" if line.endswith(("9q' f", "5q f")) else ""
    assert understand(line).view == View("f", tuple(Lines(*pair) for pair in ranges), form=form)


def test_the_last_line() -> None:
    """It depends on where the file ends."""
    assert view("sed -n '$p' f") == View("/r/f", (Lines(-1),), floating=True)
    assert view("sed -n '$!p' f") is None


@pytest.mark.parametrize(
    "line",
    [
        "sed -n 0,/x/p f",
        "sed -n 5,/x/p f",
        "sed -n /x/,+3p f",
        "sed -n /x/p f",
        "sed -n '\\,x,p' f",
        "sed -n 1~2p f",
        "sed -n 2,~4p f",
        "sed -n '5!p' f",
        "sed -n '5p;5p' f",
        "sed -n '3,7p;5,9p' f",
        "sed -n '3q;1,5p' f",
        "sed -n '1,9p;5q' f",
        "sed -n '5{p;q}' f",
        "sed -n 5p a b",
        "sed -s -n 5p f",
        "sed -z 5q f",
        "sed --debug -n 5p f",
        "sed -n 5l f",
        "sed = f",
        "sed G f",
        "sed /x/d f",
        "sed 5Q f",
        "sed 's/a/b/p' f",
        "sed 's/,/\\n/g' f",
        "sed '5a\\x' f",
        "sed -n s/a/b/p f",
        "sed",
    ],
)
def test_no_claim(line: str) -> None:
    """Patterns, several files, and whatever adds, joins or repeats lines: an inspection without a range."""
    part = understand(line)
    assert (part.view, part.selection) == (None, None)
    assert part.effects is Effects.NONE or line == "sed"


def test_substitutions_keep_the_lines_apart() -> None:
    """Each line is shown, altered: its position is still known."""
    for script in ("s/a/b/", "s,a,b,g;y/abc/xyz/", "5,9s/a/b/", "s/[/]/x/", "s/[^/\\\\]*$//", "s/[[:space:]/]/x/"):
        assert understand(f"sed '{script}' f").view == View("f", (WHOLE,), CHANGED), script


def test_as_a_filter() -> None:
    """It selects lines of its standard input."""
    assert understand("sed -n 5,9p", fed=True).selection == Selection((Lines(5, 9),))
    assert understand("sed -n 5,9p -", fed=True).selection == Selection((Lines(5, 9),))


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("sed -i s/a/b/ f", ["f"]),
        ("sed -i -e s/a/b/ -e /x/d f g", ["f", "g"]),
        ("sed -i.bak s/a/b/ f", ["f", "f.bak"]),
        ("sed --in-place=.o s/a/b/ f", ["f", "f.o"]),
        ("sed -Ei 's/(a)/\\1/' f", ["f"]),
        ("sed -ni 5p f", ["f"]),
        ("sed -i '5a\\\nx\\\nw out' f", ["f"]),
        ("sed -i '/x/{s/a/b/;n;d}' f", ["f"]),
        ("sed 's/a/b/w out' f", ["out"]),
        ("sed 's/a/b/gw out' f", ["out"]),
        ("sed -n '/x/w out' f", ["out"]),
        ("sed -i 's/a/b/w out' f", ["f", "out"]),
    ],
)
def test_writes(line: str, paths: list[str]) -> None:
    """Files edited in place, with their backups, and files that the script names."""
    assert understand(line) == writing(*paths)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sed -i s/a/b/ $f", ("unknown", "TREE", [])),
        ("sed -i s/a/b/", ("unknown", "TREE", [])),
        ("sed -i s/a/b/e f", ("unknown", "FILES", ["f"])),
        ("sed -i -f s.sed f", ("unknown", "FILES", ["f"])),
        ("sed -i 'bak/*' s/a/b/ f", ("unknown", "FILES", ["s/a/b/", "f"])),
        ("sed '-ibak/*' s/a/b/ f", ("unknown", "FILES", ["f"])),
    ],
)
def test_edits_that_may_reach_further(line: str, expected: tuple[str, str, list[str]]) -> None:
    """Computed files, scripts that run something, and backups in other places."""
    assert changes(line) == expected


@pytest.mark.parametrize(
    "line", ["sed s/a/b/e f", "sed '1e rm x' f", "sed -f s.sed f", "sed --frob p f", "sed '5,9k' f"]
)
def test_scripts_that_may_act(line: str) -> None:
    """What is not recognised may run or write anything."""
    assert kind(line) == ("inspect", "unknown")


def test_computed_scripts() -> None:
    """Line numbers may be calculated; a variable, or what xargs is given, may be anything."""
    assert outcome('sed -n "$((4+1)),$ p" f') == ("inspect", "none", [])
    for command in ('sed -n "${A},${B}p" f', "sed -n ${A}p f", "A='1w f'; sed -n \"${A}p\" f", "xargs -I{} sed {}p f"):
        assert outcome(command)[1] == "unknown", command
    for command in ('sed "$X" f', "sed $X f", 'sed -n "$X" f', 'sed "s/a/$X/" f', 'sed "w $X" f', "sed -n 5p $X"):
        assert outcome(command)[1] == "unknown", command


def test_spelling() -> None:
    """``-n -e X`` is ``-n X``; what changes the meaning of the script stays."""
    assert understand("sed -n -e 5p f").argv == understand("sed --quiet 5p f").argv == ("-n", "5p", "f")
    assert understand("sed -r s/a/b/ f").argv == ("-E", "s/a/b/", "f")
    assert understand("sed -n 5p -- -f").argv == ("-n", "--", "5p", "-f")
    assert understand("sed -n 5p $f").argv is None


def test_scripts_are_read_command_by_command() -> None:
    """Each with its lines."""
    assert read_script("5,9p; $d\n/x/!s/a/b/g") == [
        SedCommand("p", Lines(5, 9)),
        SedCommand("d", Lines(-1)),
        SedCommand("s", None, negated=True, exact=False),
    ]
    assert read_script("a\\\none\\\np\np") == [SedCommand("a", None), SedCommand("p", None)]
    assert read_script("w out") == [SedCommand("w", None, target="out")]
    assert read_script("?") is None


def test_category() -> None:
    """Looking is an inspection, editing a modification."""
    assert understand("sed /x/d f") == SHOW
    assert understand("sed -i /x/d f").category is Category.MODIFY


def test_commands_stand_apart() -> None:
    """Two commands with nothing between them are an error, and print nothing."""
    assert read_script("1p2p") is None
    assert read_script("1p ; 2p # x\n3{p}") is not None
