"""The expansions of a word, and words that are not whole."""

from __future__ import annotations

import pytest

from execledger.shell.expansions import Expansions, read_body, read_expression, read_word
from execledger.shell.heredocs import Refused


@pytest.mark.parametrize(
    "source",
    [
        "*.py",
        "a'b c'*",
        '"$x y"',
        "$x${y}z",
        "${x:-a b}",
        "${x:-'}'}",
        '"${x#a}"',
        "${x//a/b}",
        "${x%%.*}",
        "${x:1:2}",
        "${x: -1}",
        "${#x}",
        "${#a[@]}",
        "${a[-1]}",
        "${@:2}",
        "${x^^}",
        "${x:-${y:-z}}",
        "$((1 + (2 * 3)))",
        "$'a b'$x",
        "a=(1 '2 3' $x)",
        "{a,b}",
    ],
)
def test_plain_expansions(source: str) -> None:
    """They run nothing and evaluate nothing."""
    assert read_word(source.encode()) == Expansions([])


@pytest.mark.parametrize(
    ("source", "scripts"),
    [
        ("$(a b)c", [b"a b"]),
        ('"x $(a) y `b`"', [b"a", b"b"]),
        ('"`a \\"b\\"`"', [b'a "b"']),
        ("<(a)", [b"a"]),
        ("${x:-$(a)}", [b"a"]),
        ("a=($(b) `c`)", [b"b", b"c"]),
    ],
)
def test_commands_inside_a_word(source: str, scripts: list[bytes]) -> None:
    """They are found through quotes and brackets."""
    assert read_word(source.encode()) == Expansions(scripts)


@pytest.mark.parametrize(
    "source",
    [
        "$((x))",
        "$(($(a)))",
        "$[1]",
        "${a[@]:y}",
        "${x:n}",
        "${x:0:n}",
        "${a[x]}",
        "${a[$i]}",
        "${!x}",
        "${!x@}",
        "${x@P}",
        "${x:=y}",
        "${x=y}",
    ],
)
def test_expansions_that_evaluate(source: str) -> None:
    """Arithmetic, subscripts, indirections, transformations and assignments are marked."""
    assert read_word(source.encode()).evaluates


@pytest.mark.parametrize(
    "source",
    [
        "[ ]",
        "* ;",
        "a>b",
        "${x/a {b}>NEW /c}",
        "${x#{a}>NEW }",
        "${x:-{a}}",
        "${x:-a",
        "${x.y}",
        "${x:-<(a)}",
        "\"${x:-'a'}\"",
        "$(a",
        "`a",
        "$((1)",
        "$((a); (b))",
        "+(a|b)",
        "a=(1 # 2)",
        "${a[b[c]]}",
        "'a'" * 5_000 + "* *",
    ],
)
def test_what_is_not_one_word_is_refused(source: str) -> None:
    """A blank or an operator outside of quotes and brackets, an unknown form, a bracket that is not closed."""
    with pytest.raises(Refused):
        read_word(source.encode())


def test_a_regular_expression_may_hold_brackets() -> None:
    """Behind ``=~`` these and bars are no operators."""
    assert read_word(b"^(a|$b)$", regex=True) == Expansions([])


def test_arithmetic_on_numbers_alone_evaluates_nothing() -> None:
    """A name may hold an expression of its own."""
    assert not read_expression(b"(1 + 2) << 3").evaluates
    assert read_expression(b"x + 1").evaluates
    with pytest.raises(Refused):
        read_expression(b"1))")


def test_the_body_of_a_here_document() -> None:
    """Quotes are plain there; what is not understood is marked, for where the body ends is certain."""
    assert read_body(b'it\'s "$x" $(a)\n') == Expansions([b"a"])
    assert read_body(b"${x.y} $(a)\n").evaluates
    assert read_body(b"$\\\n((x))\n").evaluates
