"""Lone surrogate escapes (``\\ud800``) in JSON: strict decoders reject them, some clients send and record them.

The proxy replaces each escape before decoding by a character that the text does not contain, and puts it back into the
decoded pieces, so that a request is forwarded with its own bytes. The readers of recorded runs only read: they replace
each by U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = rb"u[dD][89a-fA-F][0-9a-fA-F]{2}"
_ANY = re.compile(rb"\\" + _ESCAPE)
_ESCAPES = re.compile(rb"(?<!\\)(\\++)%b(?:\\%b)*+" % (_ESCAPE, _ESCAPE))
"""Consecutive escapes of surrogates, with all backslashes before the first."""
_PAIRS = re.compile(rb"((?:%b%b)++)|%b|%b" % (_HIGH, _LOW, _HIGH, _LOW))
"""Whole pairs, else a lone surrogate."""
_NONCHARACTERS = tuple(b"\\u%x" % code for code in range(0xFDD0, 0xFDE0))
"""Candidates for the replacement, which no text should contain; few, since each is searched for in the whole text."""


def _replaced(text: bytes, replace: Callable[[bytes], bytes]) -> bytes:
    """A JSON text with each lone surrogate replaced."""

    def lone(found: re.Match[bytes]) -> bytes:
        return found[1] or replace(found[0])

    def escapes(found: re.Match[bytes]) -> bytes:
        # Behind an even number of backslashes, which are escaped ones, the first ``ud800`` is plain text.
        slashes = len(found[1])
        begin = slashes - 1 if slashes % 2 else slashes + len("ud800")
        return found[0][:begin] + _PAIRS.sub(lone, found[0][begin:])

    return _ESCAPES.sub(escapes, text) if _ANY.search(text) else text


def replace_surrogates(text: bytes) -> bytes:
    """A JSON text with U+FFFD, the replacement character, in place of each lone surrogate."""
    return _replaced(text, lambda _: rb"\ufffd")


class _TooMany(Exception):
    """A text has more lone surrogates than may be replaced."""


class SurrogateEscapes:
    """The lone surrogates of one JSON text: removed for decoding, restored in the decoded pieces."""

    def __init__(self, most: int) -> None:
        """No surrogates yet, of which at most ``most`` are replaced."""
        self._most = most
        self._left: list[bytes] = []
        self._replacement = b""
        self.text = b""
        """The text to decode; empty if it has no lone surrogate, too many, or no unused character to replace one."""

    @classmethod
    def of(cls, text: bytes, most: int) -> SurrogateEscapes:
        """The lone surrogates of a JSON text, replaced if there are at most ``most``."""
        escapes = cls(most)
        for _ in escapes.replace(text, len(text)):
            pass
        return escapes

    def replace(self, text: bytes, portion: int) -> Iterator[int]:
        """Replace the lone surrogates of a JSON text in portions; yields the size of each before it is searched."""
        self._replacement = next((name for name in _NONCHARACTERS if name not in text), b"")
        pieces: list[bytes] = []
        at = 0 if self._replacement else len(text)
        try:
            while at < len(text):
                # No escape continues behind a quote.
                end = text.find(b'"', at + portion) + 1 or len(text)
                yield end - at
                pieces.append(_replaced(text[at:end], self._removed))
                at = end
        except _TooMany:
            return
        self._left.reverse()
        self.text = b"".join(pieces) if self._left else b""

    def _removed(self, escape: bytes) -> bytes:
        """What replaces a lone surrogate."""
        if len(self._left) == self._most:
            raise _TooMany
        self._left.append(escape)
        return self._replacement

    def restored(self, piece: bytes) -> bytes:
        """The next piece in the order of the text, with its surrogates restored."""
        return re.sub(re.escape(self._replacement), lambda _: self._left.pop() if self._left else b"", bytes(piece))

    @property
    def all_restored(self) -> bool:
        """Every surrogate was restored."""
        return not self._left
