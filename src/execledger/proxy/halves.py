"""Halves of characters: escapes such as ``\\ud800`` without their other half.

Strict readers of JSON refuse them, and some clients write them. A text is read with other characters in their places,
and each piece of it is given its own bytes back.
"""

from __future__ import annotations

import re

_HALF = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_PRIVATE = range(0xE000, 0xF8FF)
"""Characters that hardly anybody uses."""


def without_halves(text: bytes) -> bytes:
    """A JSON text with the sign for an unreadable character in place of each half."""
    return _HALF.sub(rb"\\ufffd", text)


class Halves:
    """The halves of one text: taken out of it, and put back into its pieces."""

    def __init__(self, text: bytes) -> None:
        """Take the halves out of a JSON text."""
        self._left = _HALF.findall(text)[::-1]
        names = (b"\\u%x" % code for code in _PRIVATE) if self._left else ()
        self._other = next((name for name in names if name not in text), b"")
        self.text = _HALF.sub(lambda _: self._other, text) if self._other else b""
        """What can be read in its place; nothing if there is no half in it, or no character to stand for one."""

    def back(self, piece: bytes) -> bytes:
        """The next piece, with its halves in it."""
        return re.sub(re.escape(self._other), lambda _: self._left.pop() if self._left else b"", bytes(piece))

    @property
    def all_back(self) -> bool:
        """Every half was put back."""
        return not self._left
