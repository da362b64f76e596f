"""Command-line options in the usual spelling: ``-n5``, ``-n 5``, ``-abc``, ``--lines=5``, ``--``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from execledger.shell.tree import Word
from execledger.shell.words import splits


class Options(Struct, frozen=True, gc=False):
    """The options and operands of one command."""

    given: tuple[tuple[str, Word | None], ...] = ()
    """Each option by its short or canonical name, with its value if it takes one, in order."""
    operands: tuple[Word, ...] = ()
    """What is not an option."""
    unknown: tuple[str, ...] = ()
    """Options that the specification does not have: nothing may be concluded from the rest."""

    def has(self, *names: str) -> bool:
        """One of the options ``names`` was given."""
        return any(name in names for name, _ in self.given)

    def value(self, *names: str) -> str | None:
        """The literal value of the last option in ``names``; None if it was not given or is dynamic."""
        values = [word for name, word in self.given if name in names and word is not None]
        return values[-1].literal if values else None

    def values(self, *names: str) -> list[Word]:
        """The values of all options in ``names``."""
        return [word for name, word in self.given if name in names and word is not None]

    @property
    def paths(self) -> tuple[str, ...]:
        """The literal operands."""
        return tuple(word.literal for word in self.operands if word.literal is not None)

    @property
    def literal(self) -> bool:
        """All operands are literal."""
        return all(word.literal is not None for word in self.operands)


def parse_options(
    args: tuple[Word, ...], spec: str, long: Mapping[str, str] | None = None, *, permute: bool = True
) -> Options:
    """Read ``args`` by a getopt ``spec``: "ab:" has -b with a value, "i::" has -i with one in the same word or none.

    ``long`` maps long names to the canonical name, with ":" behind one that takes a value and "?" behind one that takes
    a value only after "=". A shortened long name is unknown: no table has all names that it could be short for.
    Where ``permute`` is off, the first operand ends the options.
    """
    kinds = _kinds(spec)
    long = long or {}
    given: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    unknown: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        text = word.literal
        if text == "--":
            operands += rest
            break
        if text is None or text == "-" or not text.startswith("-"):
            operands.append(word)
            if not permute:
                operands += rest
                break
        elif text.startswith("--"):
            _long_option(text, long, rest, given, unknown)
        else:
            _short_options(text, kinds, rest, given, unknown)
    return Options(tuple(given), tuple(operands), tuple(unknown))


@cache
def _kinds(spec: str) -> dict[str, str]:
    """The options of a getopt specification, each with the colons behind it."""
    return dict(re.findall(r"([^:])(:{0,2})", spec))


def _long_option(
    text: str, long: Mapping[str, str], rest: list[Word], given: list[tuple[str, Word | None]], unknown: list[str]
) -> None:
    name, equals, value = text[2:].partition("=")
    kind = long.get(name)
    if kind is None or (equals and not kind.endswith((":", "?"))):
        unknown.append("--" + name)
    elif equals:
        given.append((kind.rstrip(":?"), literal_word(value)))
    elif kind.endswith(":"):
        given.append((kind[:-1], _value(rest, "--" + name, unknown)))
    else:
        given.append((kind.rstrip("?"), None))


def _short_options(
    text: str, kinds: Mapping[str, str], rest: list[Word], given: list[tuple[str, Word | None]], unknown: list[str]
) -> None:
    for at in range(1, len(text)):
        letter, inline = text[at], text[at + 1 :]
        kind = kinds.get(letter)
        if kind is None:
            unknown.append("-" + letter)
        elif kind and inline:
            given.append((letter, literal_word(inline)))
            return
        elif kind == ":":
            given.append((letter, _value(rest, "-" + letter, unknown)))
        else:
            given.append((letter, None))


def _value(rest: list[Word], option: str, unknown: list[str]) -> Word:
    """The next word, as the value of an option; one that may become several words leaves the others unknown."""
    word = rest.pop(0) if rest else literal_word("")
    if splits(word):
        unknown.append(option)
    return word


def number(text: str) -> int | None:
    """The number that ``text`` spells in plain digits; None if it is none, or longer than any count of lines."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def literal_word(text: str) -> Word:
    """A literal word whose source is its value."""
    return Word(text, text)
