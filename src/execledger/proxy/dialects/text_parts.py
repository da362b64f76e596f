"""Tool results that are lists of text parts: edited part by part, so that fields and cache breakpoints stay."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from execledger.proxy.json_split import (
    NOT_JSON,
    RepeatedNames,
    editable_fields,
    list_elements,
    list_of,
    object_fields,
    object_of,
    with_field,
)

BREAKPOINT = "cache_control"
"""The field of a block or part that ends a cached prefix, for models of Anthropic."""
_KINDS = (None, "text", "input_text", "output_text")
"""The types of parts whose content is their text."""
_PLAIN = frozenset(("type", "text"))
"""The fields of a part without anything unknown."""
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


class UnknownFields(RepeatedNames):
    """An edit would drop fields that are not understood; like an object that repeats a name, it is not edited."""


def texts_of(content: bytes) -> tuple[str, ...] | None:
    """The texts of a string or of a list of text parts; None for anything else."""
    try:
        decoded = _DECODE(content)
    except NOT_JSON:
        return None
    if isinstance(decoded, str):
        return (decoded,)
    if not isinstance(decoded, list):
        return None
    texts = [part.get("text") for part in decoded if isinstance(part, dict) and part.get("type") in _KINDS]
    known = tuple(text for text in texts if isinstance(text, str))
    return known if len(known) == len(decoded) else None


def with_texts(content: bytes, texts: tuple[str, ...], kind: str = "text") -> bytes:
    """A string or list with other texts, in the same shape; as many texts as parts replace only those that differ.

    Raises ``UnknownFields`` if parts are to become fewer or more, and one has a field that would be lost.
    """
    if not content.startswith(b"["):
        return _ENCODE("".join(texts))
    own, parts = texts_of(content), list_elements(content) or []
    if own is not None and len(own) == len(texts):
        changes = zip(parts, own, texts, strict=True)
        edited = [part if old == new else with_field(editable_fields(part), "text", new) for part, old, new in changes]
        return list_of([bytes(part) for part in edited])
    if own is not None and not all(_PLAIN.issuperset(editable_fields(part)) for part in parts):
        raise UnknownFields("a part has fields besides its type and text")
    return _ENCODE([{"type": kind, "text": text} for text in texts])


def with_breakpoints(edited: bytes, before: bytes) -> bytes | None:
    """Edited content with the cache breakpoints of the content before it; None if one can't be kept where it is.

    With as many parts as before, each breakpoint stays on its part. With fewer or more, one on the last part goes to
    the last part, where the whole result still ends; one on any other part stays if the texts up to it are unchanged.
    None also if two would meet on one part, or if a part has a breakpoint deeper inside.
    """
    marks: dict[int, Raw] = {}
    parts = (list_elements(before) or []) if before.startswith(b"[") else []
    for at, part in enumerate(parts):
        fields = object_fields(part) or {}
        if BREAKPOINT in fields:
            marks[at] = fields.pop(BREAKPOINT)
        if any(b'"%b"' % BREAKPOINT.encode() in bytes(value) for value in fields.values()):
            return None
    if not marks:
        return edited
    now = (list_elements(edited) or []) if edited.startswith(b"[") else [b'{"type":"text","text":%b}' % edited]
    places = {at: _place(at, parts, now) for at in marks}
    if None in places.values() or len(set(places.values())) < len(places):
        return None
    for at, mark in marks.items():
        place = places[at]
        assert place is not None, "every breakpoint has a place"
        now[place] = object_of({**editable_fields(now[place]), BREAKPOINT: mark})
    return list_of([bytes(part) for part in now])


def _place(at: int, before: list[bytes], now: list[bytes]) -> int | None:
    """The part that ends the same prefix as part ``at`` did; None if there is none."""
    if len(now) == len(before):
        return at
    if at == len(before) - 1:
        return len(now) - 1 if now else None
    ahead = texts_of(list_of(before[: at + 1]))
    return at if len(now) > at and ahead is not None and ahead == texts_of(list_of(now[: at + 1])) else None
