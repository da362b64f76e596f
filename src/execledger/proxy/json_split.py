"""JSON requests split into the fields of an object and the elements of one list, each with its own bytes.

Lone surrogates are handled by ``json_surrogates``. A long body is split in windows of bytes, so that no single call of
the JSON decoder takes long. A window ends at a possible end of an element, which decoding proves: the bytes from the
beginning of an element on are a list of whole values only if the window ends between two of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

import msgspec
from msgspec import Raw

from execledger.proxy.limits import MAX_COMMAS, MAX_SPLIT, MAX_SURROGATES, UNCOUNTED
from execledger.proxy.worker import LIGHTER, Work
from execledger.runs.json_surrogates import SurrogateEscapes, replace_surrogates
from execledger.runs.usage import Tokens, tokens_of

WINDOW = 1_000_000
"""Bytes that are decoded at once, or more where an element is longer."""
_MAX_BEFORE = 8_000_000
"""Bytes that may precede the list."""
_TRIES = 8
"""Possible ends that are tried before the window is made longer."""
_SEARCHED = 10
"""The weight of a search in a short text."""
_REST = "\0rest"
"""The field name under which the last elements of the list are decoded: no request has such a field."""

_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ELEMENTS = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)
_ENCODE = msgspec.json.Encoder().encode
_NAME = re.compile(rb'\s*+[{,]\s*+("(?:[^"\\]|\\.)*+")\s*+:\s*+', re.DOTALL)
"""The name of a field, with the sign before it and the colon behind it."""
_BETWEEN = re.compile(rb"\}\s*+,\s*+\{")
NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What the decoder raises for a text that it can't decode."""

Pieces: TypeAlias = tuple[dict[str, Raw], list[bytes]]
"""The fields of an object, and the elements of one of them, which is a list."""


def object_fields(text: bytes) -> dict[str, Raw] | None:
    """The fields of a JSON object, each with its own bytes; None if the text is not one, or repeats a name.

    Decoders differ in which of two fields with one name counts: such an object is never written anew.
    """
    fields = _fields_of(text)
    return None if fields is None or _repeats_names(text, fields) else fields


def _repeats_names(text: bytes, fields: Mapping[str, Raw]) -> bool:
    """Whether the object ``text`` has more fields than ``fields``, in which every name occurs once."""
    data = bytes(text)
    others = len(data) - sum(map(len, fields)) - sum(map(len, fields.values()))
    spaced = others == 6 * len(fields) and b'": ' in data[: len(next(iter(fields), "")) + 5]
    if spaced or others == 4 * len(fields) + 1:
        # Besides names and values there are quotes, colons, commas and braces, or one space more at colons and commas.
        return False
    at, found = 0, 0
    while (name := _NAME.match(data, at)) is not None:
        value = _named(fields, name[1])
        if value is None or not data.startswith(value, name.end()):
            return True
        found, at = found + 1, name.end() + len(value)
    return bool(fields) and (found > len(fields) or data[at:].strip() != b"}")


def _named(fields: Mapping[str, Raw], name: bytes) -> Raw | None:
    """The field with this name, a JSON string; None if it can't be decoded."""
    try:
        return fields.get(_TEXT.decode(name))
    except NOT_JSON:
        return None


def _fields_of(text: bytes) -> dict[str, Raw] | None:
    """The fields of a JSON object; of those with the same name, the last."""
    try:
        return _FIELDS.decode(text)
    except NOT_JSON:
        escapes = SurrogateEscapes.of(bytes(text), MAX_SURROGATES)
    try:
        fields = {name: Raw(escapes.restored(value)) for name, value in _FIELDS.decode(escapes.text).items()}
    except NOT_JSON:
        return None
    return fields if escapes.all_restored else None


def valid_text(raw: bytes) -> bytes:
    """A JSON text with invalid UTF-8 replaced."""
    data = bytes(raw)
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


class RepeatedNames(ValueError):
    """An object that was to be edited has two fields of the same name."""


def editable_fields(raw: bytes) -> dict[str, Raw]:
    """The fields of an object that is to be edited; lone surrogates are kept in values and replaced in names.

    Raises ``RepeatedNames`` for an object that would lose a field.
    """
    text = valid_text(raw)
    fields = _fields_of(text)
    if fields is None:
        text = replace_surrogates(text)
        fields = _fields_of(text)
    assert fields is not None, "only an object that was read is edited"
    if _repeats_names(text, fields):
        raise RepeatedNames("a name is repeated")
    return fields


def list_elements(text: bytes) -> list[bytes] | None:
    """The elements of a JSON list, each with its own bytes; None if the text is not one."""
    try:
        return [*_ELEMENTS.decode(text)]
    except NOT_JSON:
        escapes = SurrogateEscapes.of(bytes(text), MAX_SURROGATES)
    try:
        elements = [escapes.restored(raw) for raw in _ELEMENTS.decode(escapes.text)]
    except NOT_JSON:
        return None
    return elements if escapes.all_restored else None


def text_field(fields: Mapping[str, Raw], name: str) -> str:
    """A field that is a string; "" if it is missing or anything else."""
    try:
        return _TEXT.decode(fields[name])
    except (KeyError, *NOT_JSON):
        return ""


def names_of_tools(text: bytes) -> frozenset[str]:
    """The names in a list of tool definitions, in the shape of any API: of tools, functions or declarations."""
    try:
        tools = msgspec.json.decode(text, type=list[object])
    except NOT_JSON:
        return frozenset()
    found = [tool for tool in tools if isinstance(tool, dict)]
    for tool in tuple(found):
        declared = tool.get("functionDeclarations")
        found += [one for one in (tool.get("function"), *(declared if isinstance(declared, list) else ())) if one]
    return frozenset(name for one in found if isinstance(one, dict) and isinstance(name := one.get("name"), str))


def compact(text: bytes) -> str:
    """A JSON text without spaces, as most clients write the arguments of a call; one that is not JSON, unchanged."""
    try:
        return _ENCODE(msgspec.json.decode(text)).decode()
    except NOT_JSON:
        return bytes(text).decode("utf-8", "replace")


def usage_of(fields: Mapping[str, Raw], name: str = "usage") -> Tokens | None:
    """The tokens that an answer with these fields reports; None if it reports none."""
    try:
        return tokens_of(msgspec.json.decode(fields[name]))
    except (KeyError, *NOT_JSON):
        return None


def with_field(fields: Mapping[str, Raw], name: str, value: object) -> bytes:
    """The JSON object of these fields with another value in one of them; the others keep their bytes."""
    return object_of({**fields, name: Raw(_ENCODE(value))})


def object_of(fields: Mapping[str, bytes]) -> bytes:
    """The JSON object of these fields, whose values are JSON texts."""
    pieces = (piece for name, value in fields.items() for piece in (b",", _ENCODE(name), b":", value))
    return b"".join((b"{", *[*pieces][1:], b"}"))


def list_of(elements: Sequence[bytes]) -> bytes:
    """The JSON list of these elements, which are JSON texts."""
    return b"".join(_list_pieces(elements))


def object_with_list(fields: Mapping[str, bytes], name: str, elements: Sequence[bytes]) -> bytes:
    """The JSON object of these fields with the list of these elements in one of them."""
    pieces: list[bytes] = []
    for field, value in fields.items():
        pieces += (b"," if pieces else b"{", _ENCODE(field), b":")
        pieces += _list_pieces(elements) if field == name else (value,)
    # One join: a long history is copied once, and joining bytes releases the interpreter lock.
    return b"".join((*pieces, b"}"))


def _list_pieces(elements: Sequence[bytes]) -> tuple[bytes, ...]:
    return (b"[", *[piece for element in elements for piece in (b",", element)][1:], b"]")


def split_list(body: bytes, name: str) -> Work[Pieces | None]:
    """The fields of ``body``, and the elements of its list ``name``; None if it is of another shape or too large."""
    yield len(body) // LIGHTER
    if (yield from has_too_many_values(body)):
        return None
    pieces = (yield from split_in_windows(body, name)) if len(body) > 2 * WINDOW else None
    pieces = pieces or _split_whole(body, name)
    return pieces if pieces is not None and len(pieces[1]) <= MAX_SPLIT else None


def has_too_many_values(body: bytes) -> Work[bool]:
    """Whether a long body has so many commas that decoding it would take too long."""
    count = 0
    for at in range(0, len(body) if len(body) > UNCOUNTED else 0, WINDOW):
        yield WINDOW // LIGHTER
        count += body.count(b",", at, at + WINDOW)
    return count > MAX_COMMAS


def _split_whole(body: bytes, name: str) -> Pieces | None:
    """The fields and elements, decoded in one call."""
    fields = object_fields(body)
    elements = list_elements(fields[name]) if fields is not None and name in fields else None
    return None if fields is None or elements is None else (fields, elements)


def split_in_windows(body: bytes, name: str) -> Work[Pieces | None]:
    """The fields and elements, decoded window by window; None if ``body`` is not of the usual shape."""
    opening = opening_of_list(body, name)
    return (yield from split_rest(body, name, *opening)) if opening is not None else None


def split_rest(body: bytes, name: str, fields: dict[str, Raw], at: int) -> Work[Pieces | None]:
    """All fields, and the elements from position ``at`` on, where one begins; ``fields`` are known up to there."""
    found = yield from _rest(body, at)
    if found is None:
        # Lone surrogates are replaced once, and not once for each possible end of a window.
        escapes = SurrogateEscapes(MAX_SURROGATES)
        for size in escapes.replace(body[at:], WINDOW):
            yield size // LIGHTER
        found = (yield from _rest(escapes.text, 0)) if escapes.text else None
        found = (yield from _restored(found, escapes)) if found is not None else None
    if found is None or name in found[0] or not fields.keys().isdisjoint(found[0]):
        return None
    return fields | found[0], found[1]


def _restored(pieces: Pieces, escapes: SurrogateEscapes) -> Work[Pieces | None]:
    """The fields and elements with their lone surrogates; the elements precede the fields in the text."""
    elements = []
    for element in pieces[1]:
        yield _SEARCHED + len(element) // LIGHTER
        elements.append(escapes.restored(element))
    fields = {name: Raw(escapes.restored(value)) for name, value in pieces[0].items()}
    return (fields, elements) if escapes.all_restored else None


def _rest(body: bytes, at: int) -> Work[Pieces | None]:
    """The elements from position ``at`` on, where one begins, and the fields behind the list.

    None if they can't be decoded as they are.
    """
    elements: list[bytes] = []
    while len(body) - at > 2 * WINDOW:
        found = yield from _window(body, at)
        if found is None:
            break
        more, at = found
        elements += more
    yield (len(body) - at) // LIGHTER
    rest = b'{"%b":[' % _REST.encode().replace(b"\0", b"\\u0000") + body[at:]
    try:
        fields = _FIELDS.decode(rest)
        if _repeats_names(rest, fields):
            return None
        return fields, elements + [bytes(raw) for raw in _ELEMENTS.decode(fields.pop(_REST))]
    except NOT_JSON:
        return None


def opening_of_list(body: bytes, name: str) -> tuple[dict[str, Raw], int] | None:
    """The fields up to the list ``name``, which is empty there, and the position of its first element."""
    key = _ENCODE(name)
    opening = re.compile(re.escape(key) + rb"\s*+:\s*+\[\s*+")
    at = -1
    for _ in range(_TRIES):
        at = body.find(key, at + 1, _MAX_BEFORE)
        if at < 0:
            return None
        # The match is a field name, and not a value or a part of one, if a field is valid at its position.
        fields, begins = object_fields(body[:at] + key + b":[]}"), opening.match(body, at)
        if fields is not None and begins is not None:
            return fields, begins.end()
    return None


def _window(body: bytes, start: int) -> Work[tuple[list[bytes], int] | None]:
    """The elements in a window that begins with one, and where the next begins; None if no window ends in time."""
    at = start + WINDOW
    while at < len(body):
        last = at
        for end in islice(_ends(body, at), _TRIES):
            yield (end.start() - start) // LIGHTER
            try:
                # Copied, so that the window's own bytes are freed.
                return [bytes(raw) for raw in _ELEMENTS.decode(b"[%b]" % body[start : end.start() + 1])], end.end() - 1
            except NOT_JSON:
                last = end.start()
        at = max(start + 2 * (at - start), last + 1)
    return None


def _ends(body: bytes, at: int) -> Iterator[re.Match[bytes]]:
    """Possible ends of an element."""
    while at < len(body):
        found = _BETWEEN.search(body, at, at + WINDOW)
        if found is not None:
            yield found
        at = at + WINDOW if found is None else found.end()
