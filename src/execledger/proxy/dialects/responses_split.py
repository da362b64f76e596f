"""A long request split into its items in windows of bytes, so that no single call of the JSON decoder takes long.

A window ends where an item may end. That it does is proven by decoding it: what was read from the beginning of an item
on is a list of whole values only if the window ends between two of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec
from msgspec import Raw

from execledger.proxy.json_surrogates import SurrogateEscapes
from execledger.proxy.worker import LIGHTER, Work

WINDOW = 1_000_000
"""Bytes that are decoded at once, or more where an item is longer."""
_MAX_BEFORE = 8_000_000
"""Bytes that may precede the items."""
_TRIES = 8
"""Possible ends that are tried before a longer window is."""
_REST = "\0items"
"""Stands for the name of the list where its last items are decoded: no request has such a field."""

_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ITEMS = msgspec.json.Decoder(list[Raw])
_BEGINS = re.compile(rb'"input"\s*+:\s*+\[\s*+')
_BETWEEN = re.compile(rb"\}\s*+,\s*+\{")
_NO_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

Pieces = tuple[dict[str, Raw], list[bytes]]
"""The fields of a request, and the items of its input."""


def split_in_windows(body: bytes) -> Work[Pieces | None]:
    """The fields and items of a request; None if it is not of the shape that nearly all have."""
    begun = _begun(body)
    if begun is None:
        return None
    fields, at = begun
    items: list[bytes] = []
    while len(body) - at > 2 * WINDOW:
        found = yield from _window(body, at)
        if found is None:
            break
        more, at = found
        items += more
    yield (len(body) - at) // LIGHTER
    rest = _fields(b'{"%b":[' % _REST.encode().replace(b"\0", b"\\u0000") + body[at:])
    if rest is None or "input" in rest:
        return None
    last = _items(bytes(rest.pop(_REST)))
    return None if last is None else (fields | rest, items + last)


def _begun(body: bytes) -> tuple[dict[str, Raw], int] | None:
    """The fields before the items, and where the first item begins."""
    at = -1
    for _ in range(_TRIES):
        at = body.find(b'"input"', at + 1, _MAX_BEFORE)
        if at < 0:
            return None
        # It is the name of a field, and no value or a part of one, if a field may be at its place.
        fields, begins = _fields(body[:at] + b'"input":[]}'), _BEGINS.match(body, at)
        if fields is not None and begins is not None:
            return fields, begins.end()
    return None


def _window(body: bytes, start: int) -> Work[tuple[list[bytes], int] | None]:
    """The items in a window that begins with one, and where the next one begins; None if no window ends in time."""
    reach = WINDOW
    while start + reach < len(body):
        for end in islice(_ends(body, start + reach), _TRIES):
            yield (end.start() - start) // LIGHTER
            found = _items(b"[%b]" % body[start : end.start() + 1])
            if found is not None:
                return found, end.end() - 1
        reach *= 2
    return None


def _ends(body: bytes, at: int) -> Iterator[re.Match[bytes]]:
    """Where an item may end."""
    while at < len(body):
        found = _BETWEEN.search(body, at, at + WINDOW)
        if found is not None:
            yield found
        at = at + WINDOW if found is None else found.end()


def _fields(text: bytes) -> dict[str, Raw] | None:
    """The fields of an object, each with its own bytes; None if it is none."""
    try:
        return _FIELDS.decode(text)
    except _NO_JSON:
        escapes = SurrogateEscapes(text)
    try:
        return {name: Raw(escapes.restored(value)) for name, value in _FIELDS.decode(escapes.text).items()}
    except _NO_JSON:
        return None


def _items(text: bytes) -> list[bytes] | None:
    """The items of a list, each with its own bytes; None if it is none."""
    try:
        return [bytes(raw) for raw in _ITEMS.decode(text)]
    except _NO_JSON:
        escapes = SurrogateEscapes(text)
    try:
        return [escapes.restored(raw) for raw in _ITEMS.decode(escapes.text)]
    except _NO_JSON:
        return None
