"""Secrets out of a text, in one walk: markers of secrets are searched, and at each the rules for its kind are tried.

Lines stay lines, so that whatever counts them counts the same, and a second redaction changes nothing. The work at each
marker is bounded, so the work grows with the text and no faster. No single search goes over more than a window of the
text, so that other threads go on in between.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache

from execledger.redact import by_assignment, by_command, by_name, by_shape
from execledger.redact.values import NAME_MARKERS, REDACTED, Span

_Finder = Callable[[str, int], Iterable[Span]]
_WINDOW = 16_384
"""So many characters are searched at once, in a millisecond or two."""
_PASSES = 8
"""How often a text is gone through at most: what was replaced may uncover what was right behind it."""


def _finders() -> dict[str, list[_Finder]]:
    """What is tried at each marker."""
    found: dict[str, list[_Finder]] = {}

    def add(finder: _Finder, markers: Iterable[str]) -> None:
        for marker in markers:
            found.setdefault(marker, []).append(finder)

    add(by_shape.private_key, (by_shape.KEY_MARKER,))
    for shape in by_shape.SHAPES:
        add(shape.find, (shape.marker,))
    add(by_name.authorization, ("authorization",))
    add(by_name.address, ("://",))
    add(by_name.cookie, ("cookie",))
    add(by_name.pgpass, by_name.PGPASS_MARKERS)
    add(by_name.kubernetes, ("data:", 'data"', "data'", "data\\", "stringdata"))
    for rule in by_name.RULES:
        add(rule.find, rule.markers)
    add(by_command.arguments, by_command.MARKERS)
    add(by_command.fed, by_command.FEEDING)
    add(by_command.here_string, by_command.FED)
    add(by_assignment.assigned, NAME_MARKERS)
    return found


def _tried(finders: dict[str, list[_Finder]]) -> dict[str, tuple[_Finder, ...]]:
    """What is tried where the search stops, which is at the shortest of several markers."""
    found: dict[str, dict[_Finder, None]] = {}
    for marker, tried in finders.items():
        shortest = next(start for end in range(len(marker)) if (start := marker[: end + 1]) in finders)
        found.setdefault(shortest, {}).update(dict.fromkeys(tried))
    return {marker: tuple(tried) for marker, tried in found.items()}


def _any_of(words: Iterable[str]) -> str:
    """A pattern that finds any of ``words``, which share their beginnings: one walk over a text instead of one each."""
    ends: dict[str, list[str]] = {}
    for word in words:
        ends.setdefault(word[:1], []).append(word[1:])
    return "" if "" in ends else f"(?:{'|'.join(re.escape(first) + _any_of(rest) for first, rest in ends.items())})"


_FINDERS = _finders()
_ENCODINGS = ("\x1b[", "\\u00", "%5f", "%2d")
"""Encodings that may be in the middle of a marker."""
MARKERS = (*_FINDERS, *_ENCODINGS)
"""One of these is in every text with a secret, in lower case."""
_MARKER = re.compile(_any_of(_FINDERS))
_SUSPICIOUS = re.compile(_any_of(MARKERS))
_TRIED = _tried(_FINDERS)
_LONGEST = max(map(len, _FINDERS))


def suspicious(text: str) -> bool:
    """Whether any rule would be tried: where not, ``redact`` gives the text back as it is."""
    return _first_marker(text) is not None


def _first_marker(text: str) -> int | None:
    for start in range(0, len(text), _WINDOW):
        marker = _SUSPICIOUS.search(_lower(text[start : start + _WINDOW + _LONGEST]))
        if marker is not None:
            return start + marker.start()
    return None


@lru_cache(maxsize=16)
def redact(text: str) -> str:
    """``text`` with every known kind of secret replaced; it has as many lines as before."""
    # Most texts have nothing suspicious: they are gone through once.
    first = _first_marker(text)
    if first is None:
        return text
    for number in range(_PASSES):
        spans = _walk(text, 0 if number else first)
        decoded = _decode(text)
        if decoded.text is not text:
            spans += [decoded.back(span) for span in _walk(decoded.text, 0)]
        before, text = text, _replaced(text, spans)
        if text == before:
            break
    return text


def _walk(text: str, first: int) -> list[Span]:
    """The secrets in a text, from ``first`` on."""
    spans: list[Span] = []
    done = 0
    for start in range(first, len(text), _WINDOW):
        window, place = _lower(text[start : start + _WINDOW + _LONGEST]), 0
        # A marker may begin within another one.
        while (marker := _MARKER.search(window, place)) is not None and marker.start() < _WINDOW:
            place = marker.start() + 1
            at = start + marker.start()
            if at < done:
                continue
            for finder in _TRIED[marker[0]]:
                for span in finder(text, at):
                    spans.append(span)
                    done = max(done, span.end)
    return spans


def _lower(text: str) -> str:
    """``text`` in lower case, with as many characters: of a few letters the lower case is longer."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def _replaced(text: str, spans: list[Span]) -> str:
    """``text`` with a mark in place of each span; spans that overlap are one."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            pieces += (text[at:start], REDACTED)
        at = max(at, end)
    return "".join((*pieces, text[at:])) if pieces else text


_ENCODED = re.compile(
    r"\x1b\[[0-9;?]{0,16}[A-Za-z]|%[2-7][0-9A-Fa-f]|\\{1,15}u00[2-7][0-9A-Fa-f]|&(?:quot|amp|apos|#3[49]|#x2[27]);"
)
_ENTITIES = {"&quot;": '"', "&#34;": '"', "&#x22;": '"', "&apos;": "'", "&#39;": "'", "&#x27;": "'", "&amp;": "&"}
_CODES = ("%", "\\u00", "\x1b[", "&")
"""Every code begins with one of these."""
_LONGEST_CODE = 32
"""No code is longer."""


class _Decoded:
    """A text without colours and with encoded characters decoded, and where each of its parts was."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: list[int] = []
        self._ranges: list[tuple[int, int]] = []

    def add(self, place: int, start: int, end: int) -> None:
        """Note that what begins at ``place`` was from ``start`` to ``end``."""
        self._places.append(place)
        self._ranges.append((start, end))

    def back(self, span: Span) -> Span:
        """Where a part of the decoded text was."""
        first, last = (bisect_right(self._places, place) - 1 for place in (span.start, span.end - 1))
        start = self._ranges[first][0] + span.start - self._places[first]
        end = self._ranges[last][0] + span.end - self._places[last]
        following = self._places[last + 1] if last + 1 < len(self._places) else len(self.text)
        return Span(start, self._ranges[last][1] if span.end == following else end)


def _decode(text: str) -> _Decoded:
    """Undo what keeps a name from being seen: colours, and characters as codes."""
    decoded, pieces, at, place = _Decoded(text), [""], 0, 0
    for window in range(0, len(text), _WINDOW):
        if not any(text.find(mark, window, window + _WINDOW + _LONGEST_CODE) >= 0 for mark in _CODES):
            continue
        for found in _ENCODED.finditer(text, max(at, window), window + _WINDOW + _LONGEST_CODE):
            start, end = found.span()
            if start >= window + _WINDOW:
                break
            if start > at:
                decoded.add(place, at, start)
                pieces.append(text[at:start])
                place += start - at
            code = found[0]
            if code[0] != "\x1b":
                decoded.add(place, start, end)
                pieces.append(_ENTITIES[code] if code[0] == "&" else chr(int(code[-2:], 16)))
                place += 1
            at = end
    if at:
        decoded.add(place, at, len(text))
        decoded.text = "".join((*pieces, text[at:]))
    return decoded
