"""Tables of texts with and without secrets, one text to a line, read from the ``.txt`` files of this folder.

A secret is enclosed in ``«`` and ``»``. So that no scanner takes a table for a leak, the random part of a secret is
generated: ``·24`` stands for 24 letters and digits, ``·x32`` for hexadecimal digits, ``·u16`` for capitals and digits,
``·b40`` for base64. ``⏎`` stands for a newline and ``␛`` for the escape character of a terminal.
"""

from __future__ import annotations

import hashlib
import re
import string
from pathlib import Path
from typing import NamedTuple

_ALPHABETS = {
    "": string.ascii_letters + string.digits,
    "x": string.digits + "abcdef",
    "u": string.ascii_uppercase + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
}
_RANDOM = re.compile(r"·([xub]?)(\d+)")
_MARKED = re.compile("«(.*?)»", re.DOTALL)


class Line(NamedTuple):
    """One text of a table."""

    text: str
    """The text as an agent would see it."""
    secrets: tuple[str, ...]
    """What must not remain of it; empty for a harmless text."""


def table(name: str) -> list[Line]:
    """Every text of the table ``name``."""
    lines = Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [_line(f"{name} {number}", line) for number, line in enumerate(lines) if line]


def _line(seed: str, line: str) -> Line:
    def random(found: re.Match[str]) -> str:
        alphabet, count = _ALPHABETS[found[1]], int(found[2])
        digest = hashlib.shake_256(f"{seed} {found.start()}".encode()).digest(count)
        return "".join(alphabet[byte % len(alphabet)] for byte in digest)

    text = _RANDOM.sub(random, line.replace("⏎", "\n").replace("␛", "\x1b"))
    return Line(_MARKED.sub(r"\1", text), tuple(_MARKED.findall(text)))


def remains(line: Line, redacted: str) -> bool:
    """Whether half of one of the secrets, or more in a row, is still in the redacted text."""
    for secret in line.secrets:
        half = max(4, len(secret) // 2)
        if any(secret[at : at + half] in redacted for at in range(len(secret) - half + 1)):
            return True
    return False
