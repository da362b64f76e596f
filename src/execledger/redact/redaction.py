"""Keys, tokens and passwords out of a text, before it is kept anywhere.

Only what a known pattern names is replaced, so code that merely speaks of passwords stays readable as a rule; where the
two can't be told apart, the text is replaced. Lines stay lines, so that whatever counts them still counts the same, and
what was replaced once is left alone the next time. A text is looked at as a whole: what a tool cut in two is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from execledger.redact.by_assignment import MARKERS, without_assigned
from execledger.redact.by_name import RULES, without_named
from execledger.redact.by_shape import KEY_MARKER, REDACTED, SHAPES, without_private_keys, without_tokens

__all__ = ["REDACTED", "redact", "suspicious"]

_MARKERS = tuple(
    dict.fromkeys(
        (
            KEY_MARKER,
            *MARKERS,
            *(shape.marker for shape in SHAPES),
            *(marker for rule in RULES for marker in rule.markers),
        )
    )
)


def _any_of(words: Iterable[str]) -> str:
    """A pattern that finds any of ``words``, which share their beginnings: one walk over a text instead of one each."""
    ends: dict[str, list[str]] = {}
    for word in words:
        ends.setdefault(word[:1], []).append(word[1:])
    return "" if "" in ends else f"(?:{'|'.join(re.escape(first) + _any_of(rest) for first, rest in ends.items())})"


_MARKER = re.compile(_any_of(_MARKERS))
_PASSES = 8
"""How often a text is gone through at most: what was replaced may uncover what stood right behind it."""


def suspicious(text: str) -> bool:
    """Whether any rule would be tried: where not, ``redact`` gives the text back as it is."""
    return _MARKER.search(text.lower()) is not None


@lru_cache(maxsize=16)
def redact(text: str) -> str:
    """``text`` with every known kind of secret replaced; it has as many lines as before."""
    if not suspicious(text):
        return text
    for _ in range(_PASSES):
        before, text = text, _once(text)
        if text == before:
            break
    return text


def _once(text: str) -> str:
    lower = text.lower()
    if KEY_MARKER in lower:
        text = without_private_keys(text)
    text = without_named(without_tokens(text, lower), lower)
    return without_assigned(text, text.lower())
