"""Lone surrogate escapes (``\\ud800``) in JSON: strict decoders reject them, some clients send and record them.

The proxy replaces each escape before decoding by a character that the text does not contain, and puts it back into the
decoded pieces, so that a request is forwarded with its own bytes. The readers of recorded runs only read: they replace
each by U+FFFD.
"""

from __future__ import annotations

import re

_LONE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_TOKEN = re.compile(rb"((?:\\\\)+|%b%b)|%b|%b" % (_HIGH, _LOW, _HIGH, _LOW))
"""Escaped backslashes, behind which ``ud800`` is plain text, or a whole pair; else a lone surrogate."""
_PRIVATE_USE = range(0xE000, 0xF8FF)
"""Candidates for the replacement: the private use area, which texts rarely contain."""


def replace_surrogates(text: bytes) -> bytes:
    """A JSON text with U+FFFD, the replacement character, in place of each lone surrogate."""
    return _TOKEN.sub(lambda found: found[1] or rb"\ufffd", text)


class SurrogateEscapes:
    """The lone surrogates of one JSON text: removed for decoding, restored in the decoded pieces."""

    def __init__(self, text: bytes) -> None:
        """Replace the lone surrogates of a JSON text."""
        self._left = _LONE.findall(text)[::-1]
        names = (b"\\u%x" % code for code in _PRIVATE_USE) if self._left else ()
        self._replacement = next((name for name in names if name not in text), b"")
        self.text = _LONE.sub(lambda _: self._replacement, text) if self._replacement else b""
        """The text to decode; empty if there is no lone surrogate in it, or no unused character to replace one."""

    def restored(self, piece: bytes) -> bytes:
        """The next piece in the order of the text, with its surrogates restored."""
        return re.sub(re.escape(self._replacement), lambda _: self._left.pop() if self._left else b"", bytes(piece))

    @property
    def all_restored(self) -> bool:
        """Every surrogate was restored."""
        return not self._left
