"""The work of redaction grows with the text and no faster, whatever the text is made of.

What happens inside a search can't be counted, so two things are asserted: no pattern can search long, because every
long run of characters in it is possessive or at its end, and the number of searches grows with the text.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

import pytest

import execledger.redact
from execledger.redact import redact

PARSER: Any = importlib.import_module("re._parser")
CODES: Any = importlib.import_module("re._constants")
LONGEST = 1_000
"""A run that a search may take back, one character after the other, is no longer."""


def _patterns(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (dict, tuple, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _patterns(item)


PATTERNS = {
    pattern.pattern: pattern
    for module in pkgutil.iter_modules(execledger.redact.__path__, "execledger.redact.")
    for name, value in vars(importlib.import_module(module.name)).items()
    if not name.startswith("__")
    for pattern in _patterns(value)
}
"""Every pattern of the package."""


def _taken_back(items: Iterable[Any], last: bool, within: int = 1) -> Iterator[int]:
    """How often each repetition can be repeated that a search may take back; ``last`` if nothing follows ``items``."""
    items = list(items)
    for number, (code, argument) in enumerate(items):
        ends = last and number == len(items) - 1
        if code in (CODES.MAX_REPEAT, CODES.MIN_REPEAT):
            times = within * int(argument[1])
            if not ends and times > within:
                yield times
            yield from _taken_back(argument[2], False, times)
        elif code is CODES.POSSESSIVE_REPEAT:
            yield from _taken_back(argument[2], False)
        elif code is CODES.SUBPATTERN:
            yield from _taken_back(argument[3], ends, within)
        elif code is CODES.ATOMIC_GROUP:
            yield from _taken_back(argument, True)
        elif code in (CODES.ASSERT, CODES.ASSERT_NOT):
            yield from _taken_back(argument[1], True)
        elif code in (CODES.BRANCH, CODES.GROUPREF_EXISTS):
            for branch in argument[1] if code is CODES.BRANCH else argument[1:]:
                yield from _taken_back(branch or (), ends, within)


@pytest.mark.parametrize(
    ("pattern", "times"), [("a{5,}b", 5_000), ("(?:a{1,60}b){1,60}c", 3_600), ("a{5,}+b", 0), ("a{9}b{5,}", 9)]
)
def test_what_can_be_taken_back_is_seen(pattern: str, times: int) -> None:
    """Runs without an end and runs within runs are, possessive ones and the last one are not."""
    found = max(_taken_back(PARSER.parse(pattern), True), default=0)
    assert found == times if times < 5_000 else found >= times


def test_no_pattern_takes_back_a_long_run() -> None:
    """So a search that fails at one position has looked at a bounded part of the text a bounded number of times."""
    assert len(PATTERNS) > 300
    worst = {
        text: max(_taken_back(PARSER.parse(text, pattern.flags), True), default=0) for text, pattern in PATTERNS.items()
    }
    assert {text: times for text, times in worst.items() if times > LONGEST} == {}


HOSTILE = (
    *("curl a:", "curl -u ", "-u ", "a=a=a=", "password=a=", "password: ", "password:a password,", "token(", "secret>"),
    *('"', "'", "`", "\\", '\\"', "password='", 'password="{', "password=\\'", "password: |\n a\n", "passwords=['a',"),
    *("0123456789abcdef", "A1b2C3d4", "://a:", "://a@a:", "cookie: a=1; ", "sid=1;cookie:sid=1;", ":*:", "a:5432:a:a:"),
    *("password,a\n", "a,password\nb,c1\n\n", "a|password\n-|-\nb|c1\n", "+--+\n|a|password|\n+--+\n|1|c1|\n"),
    *("a password\n-- --\n", "(password) VALUES ('a1'),", "a,password='b','c1';", "user, password := \n"),
    *(
        "kind: Secret\ndata:\n a: bcde\n",
        "if 'a' == password",
        "password for a: ",
        "password FOR a = ",
        "#define token ",
    ),
    *(
        "authorization: bearer ",
        "echo a | sudo -S ",
        "-----BEGIN " + "PRIVATE KEY-----\n",
        "eyJabcdef.",
        "a%5fpassword=",
    ),
)
"""Texts of nothing but beginnings of secrets, and of what separates them."""


def _searches(text: str) -> int:
    """How many functions are called for redacting a text, those of the standard library included."""
    count, before = 0, sys.getprofile()

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    redact.cache_clear()
    sys.setprofile(note)
    try:
        redact(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("piece", HOSTILE)
def test_searches_grow_with_the_text(piece: str, full: bool) -> None:
    """A text that is four times as long takes four times as many, and a few to begin with."""
    size = 50_000 if full else 5_000
    short, long = (_searches(piece * (length // len(piece))) for length in (size, 4 * size))
    assert long <= 4.4 * short + 100
