"""The value of a word after quote removal."""

from __future__ import annotations

import pytest

from execledger.shell.words import literal


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("src/a.py", "src/a.py"),
        ("--include=x.py", "--include=x.py"),
        ("'a b'", "a b"),
        ("''", ""),
        ('"a b"', "a b"),
        ("'$x `y` *'", "$x `y` *"),
        ("--name='*.py'", "--name=*.py"),
        ("a\"b\"'c'd", "abcd"),
        (r"a\ b\*", "a b*"),
        ("foo\\\nbar", "foobar"),
        ('"foo\\\nbar"', "foobar"),
        (r'"\$x \`y\` \"z\" \\ \n"', '$x `y` "z" \\ \\n'),
        ('"it\'s {a,b} ~ [c] $"', "it's {a,b} ~ [c] $"),
        ("größe", "größe"),
        ("a#b", "a#b"),
        ("!x", "!x"),
        ("]", "]"),
    ],
)
def test_quotes_are_removed(source: str, value: str) -> None:
    """What is certain after quote removal is the word's value."""
    assert literal(source) == value


@pytest.mark.parametrize(
    "source", ["[", "{}", "{", "{a}", "stash@{0}", "a{b", "HEAD~1", "a~", "$", "a$", "a$/b", "HEAD^", "a[", "%d"]
)
def test_marks_without_meaning_stand_for_themselves(source: str) -> None:
    """A bracket, brace, tilde or dollar that expands to nothing is an ordinary character."""
    assert literal(source) == source


def test_a_dollar_before_a_closing_quote_is_a_dollar() -> None:
    """A regular expression may end in a dollar inside double quotes."""
    assert literal('"foo$"') == "foo$"


@pytest.mark.parametrize(
    "source",
    [
        "$x",
        "a${x}b",
        "$1",
        "$?",
        "$$",
        "$(ls)",
        "`ls`",
        "$((1+2))",
        "$[1+2]",
        '"$x"',
        '"a `b`"',
        '"${x:-a}"',
        '"\\\\$x"',
        "<(ls)",
        "*.py",
        "a?",
        "[ab].py",
        "{a,b}",
        "x{a,{b}}",
        "{{a},b}",
        "{1..3}",
        "~",
        "~/a",
        "~user",
        "a=~/b",
        "a=b:~/c",
        "A=(1 2)",
        '$"text"',
    ],
)
def test_what_expands_has_no_value(source: str) -> None:
    """Expansions, globs, braces and tildes make a word dynamic."""
    assert literal(source) is None


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (r"$'a\tb\n'", "a\tb\n"),
        (r"$'it\'s'", "it's"),
        (r"$'\x41\102\u00e9'", "ABé"),
        (r"$'\d'", r"\d"),
        (r"a$'b'c", "abc"),
        (r"$'\x00'", None),
        (r"$'\xff'", None),
        (r"$'\cA'", None),
    ],
)
def test_ansi_quotes_are_decoded(source: str, value: str | None) -> None:
    """The escapes of ANSI-C quotes are decoded where they make a character for certain."""
    assert literal(source) == value
