"""Command-line options in the usual spelling."""

from __future__ import annotations

import pytest

from execledger.shell.options import Options, literal_word, number, parse_options
from execledger.shell.tree import Word

LONG = {"lines": "n:", "quiet": "q", "silent": "q", "color": "C?", "line-buffered": "l"}
FIVE = literal_word("5")
F = literal_word("f")


def options(line: str, *, permute: bool = True) -> Options:
    return parse_options(tuple(literal_word(word) for word in line.split()), "n:qv", LONG, permute=permute)


@pytest.mark.parametrize(
    "line", ["-n5 f", "-n 5 f", "f -n 5", "--lines=5 f", "--lines 5 f", "--lines=5 -- f", "--lines 5 f"]
)
def test_one_option_in_many_spellings(line: str) -> None:
    """All of them are the same."""
    assert options(line) == Options((("n", FIVE),), (F,))


def test_clusters() -> None:
    """Letters in one word, the last with its value."""
    assert options("-qvn5 f") == Options((("q", None), ("v", None), ("n", FIVE)), (F,))
    assert options("-qn 5 f") == Options((("q", None), ("n", FIVE)), (F,))


def test_long_names_are_not_shortened() -> None:
    """A shortened name may be short for one that the table lacks, and a flag takes no value."""
    assert options("--qui").unknown == ("--qui",)
    assert options("--quiet=5").unknown == ("--quiet",)
    assert options("--lines").given == (("n", literal_word("")),)


def test_optional_values() -> None:
    """They stand behind an equals sign or not at all; behind a letter, in the same word or not at all."""
    assert parse_options((literal_word("-i"), F), "i::") == Options((("i", None),), (F,))
    assert parse_options((literal_word("-i5"), F), "i::") == Options((("i", FIVE),), (F,))
    assert options("--color f") == Options((("C", None),), (F,))
    assert options("--color=auto f") == Options((("C", literal_word("auto")),), (F,))


def test_what_is_no_option() -> None:
    """A dash alone, what stands behind two dashes, and where order matters what stands behind an operand."""
    assert options("-").operands == (literal_word("-"),)
    assert options("-- -q").operands == (literal_word("-q"),)
    assert options("f -q", permute=False).operands == (F, literal_word("-q"))


def test_unknown_options_are_named() -> None:
    """Nothing may be concluded from the rest."""
    assert options("-qz --frob=1").unknown == ("-z", "--frob")


def test_computed_words_are_operands() -> None:
    """They may be options, so who relies on operands must ask whether they are literal."""
    found = parse_options((Word("$x", None), F), "n:")
    assert (found.operands, found.paths, found.literal) == ((Word("$x", None), F), ("f",), False)


def test_values() -> None:
    """The last one counts; a computed one is not known."""
    assert options("-n 3 -n 5").value("n") == "5"
    assert options("-q").value("n") is None
    assert parse_options((literal_word("-n"), Word("$x", None)), "n:").value("n") is None
    assert [word.literal for word in options("-n 3 -n 5").values("n")] == ["3", "5"]
    assert options("-q").has("n", "q")


def test_numbers() -> None:
    """Plain digits, no more than a count of lines may have."""
    assert [number(text) for text in ("5", "05", "", "-5", "5k", "²", "٣", "9" * 10)] == [5, 5, *[None] * 6]
