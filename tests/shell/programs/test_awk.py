"""``awk``: the line-number idioms, and programs that write."""

from __future__ import annotations

import pytest

from execledger.shell.facts import Selection
from execledger.shell.programs.awk import bare
from execledger.vocabulary.records import CHANGED, WHOLE, Effects, Lines, View
from tests.shell.asking import outcome
from tests.shell.programs.calling import SHOW, understand


def program(text: str, rest: str = "f") -> str:
    quoted = "'" + text.replace("'", "'\"'\"'") + "'"
    return f"awk {quoted} {rest}"


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("NR==5", [(5, 5)]),
        ("NR>=5 && NR<=9", [(5, 9)]),
        ("NR>4&&NR<10", [(5, 9)]),
        ("(NR>=5 && NR<=9)", [(5, 9)]),
        ("NR==5,NR==9", [(5, 9)]),
        ("FNR==5", [(5, 5)]),
        ("NR<=5", [(1, 5)]),
        ("NR<6 {print}", [(1, 5)]),
        ("NR>=5{print $0}", [(5, None)]),
        ("NR>4", [(5, None)]),
        ("{print}", [(1, None)]),
        ("1", [(1, None)]),
    ],
)
def test_views(text: str, ranges: list[tuple[int, int | None]]) -> None:
    """Conditions on the line's number alone."""
    assert understand(program(text)).view == View("f", tuple(Lines(*pair) for pair in ranges), form="awk")


@pytest.mark.parametrize(
    ("text", "numbering"),
    [
        ('{print NR": "$0}', ": "),
        ('{print NR ":" $0}', ":"),
        ("{print NR, $0}", " "),
        ('{printf "%4d: %s\\n", NR, $0}', ": "),
        ('{printf("%d\\t%s\\n", NR, $0)}', "\t"),
        ('{printf "%-4d %s\\n", NR, $0}', CHANGED),
        ("{print $0, NF}", CHANGED),
    ],
)
def test_numbered_views(text: str, numbering: str) -> None:
    """What stands between the number and the line."""
    assert understand(program("NR>=5 && NR<=9 " + text)).view == View("f", (Lines(5, 9),), numbering, form="awk")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/x/",
        "NR%2",
        "NR==0",
        "NR==9,NR==5",
        "NR>=9 && NR<=5",
        "NR==5{print;exit}",
        "{print $1}",
        "{print NR; print $0}",
        '{print $0 "\\n"}',
        '{printf "%s\\n\\n", $0}',
        '{printf "%s", $0}',
        "END{print $0}",
        "NR==5 || NR==9",
    ],
)
def test_no_claim(text: str) -> None:
    """Anything else is an inspection without a range."""
    assert understand(program(text)) == SHOW


@pytest.mark.parametrize(
    "line", ["awk -v RS= NR==1 f", "awk -vORS=x NR==1 f", "awk NR==5 a=b", "awk NR==5 RS= f", "awk NR==5 a b"]
)
def test_variables_change_what_a_line_is(line: str) -> None:
    """Paragraphs are no lines, and an assignment is no file."""
    assert understand(line) == SHOW


def test_harmless_options() -> None:
    """How fields are cut does not matter to whole lines."""
    assert understand("awk -F: -v n=1 NR==5 f").view == View("f", (Lines(5, 5),), form="awk")
    assert understand("awk NR==5", fed=True).selection == Selection((Lines(5, 5),), form="awk")
    assert understand("awk 1 f").view == View("f", (WHOLE,), form="awk")


@pytest.mark.parametrize(
    "text",
    [
        '{print > "out"}',
        '{print \\\n > "out"}',
        '{print $1";" > "out"}',
        '{print "}" >> "out"}',
        '{print $1,\n  $2 > "out"}',
        '{ x = a / b; print > "out"; y = c / d }',
        '{ i++ / 2; print > "out"; y = c / d }',
        'x[1] / 2 {print > "out"} / 3/',
        '{printf "%s\\n", $0 > $1}',
        '/"/ {print > "out"} /"/',
        '# "\n{print > "out"}',
    ],
)
def test_prints_into_files(text: str) -> None:
    """Texts, patterns and divisions don't hide a redirection."""
    assert outcome(program(text)) == ("modify", "unknown", [])


@pytest.mark.parametrize(
    "text",
    ['{system("rm x")}', '{print | "sh"}', '{print "a;" | "sh"}', '{"ls" | getline x}', '{getline < "f"}', '@load "x"'],
)
def test_programs_that_run_others(text: str) -> None:
    """They may do anything."""
    assert outcome(program(text)) == ("other", "unknown", [])


@pytest.mark.parametrize(
    "text",
    [
        "/a|b/",
        '{print $1 "a|b"}',
        '{print "a > b"}',
        "$1 > 5 {print $2}",
        "NR > 5 && $2 ~ /x>y/ {print}",
        "{if ($1 > 2 || $2 < 3) print}",
        "{n += $1 / 2} END {print n}",
        '# print > "out"\n{print}',
        "{print /x|y/}",
    ],
)
def test_signs_that_write_nothing(text: str) -> None:
    """A comparison, a text or a pattern is no redirection."""
    assert outcome(program(text)) == ("inspect", "none", [])


def test_other_ways_to_give_a_program() -> None:
    """A file or a computed text may hold anything."""
    for command in ("awk -f p.awk f", 'awk "$P" f', "awk", "gawk --frob 1 f"):
        assert outcome(command)[:2] == ("other", "unknown"), command
    assert outcome("gawk -i inplace '{print}' f")[:2] == ("modify", "unknown")


def test_a_programs_own_signs() -> None:
    """Texts, patterns and remarks are blank, divisions stay, continued lines are joined."""
    assert bare('$1 ~ /a"b/ { x = y / 2 # half\nprint "a/b",\nz }') == '$1 ~ // { x = y / 2 \nprint "", z }'


def test_effects() -> None:
    """Without redirections awk changes nothing."""
    assert understand(program("{print $2}")).effects is Effects.NONE
