"""The Responses dialect: requests with an ``input`` list of items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec
from msgspec import Raw

from execledger.proxy.dialect import Item, Propose
from execledger.proxy.dialects.responses_calls import ASKED, WireCall, call_of
from execledger.proxy.dialects.responses_split import WINDOW, split_in_windows
from execledger.proxy.dialects.responses_stream import ResponsesStream
from execledger.proxy.history import marks_of
from execledger.proxy.json_surrogates import SurrogateEscapes, replace_surrogates
from execledger.proxy.limits import MAX_COMMAS, MAX_SPLIT, UNCOUNTED
from execledger.proxy.worker import LIGHTER, Work
from execledger.session.adapter import ToolCall

_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ITEMS = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)
_ENCODE = msgspec.json.Encoder().encode


class _Wire(WireCall):
    """The fields of any item that we look at."""

    role: str | None = None
    output: Raw = Raw(b"")
    content: Raw = Raw(b"")


_WIRE = msgspec.json.Decoder(_Wire)


class ResponsesRequest:
    """A request of this dialect, split into its fields and items."""

    def __init__(self, body: bytes, fields: dict[str, Raw], items: Sequence[bytes]) -> None:
        """The request ``body`` with these fields, of which ``input`` holds ``items``."""
        self.body = body
        self.items = items
        self._fields = fields

    @cached_property
    def marks(self) -> list[int]:
        """The hash of each item."""
        return marks_of(self.items)

    @property
    def offers_tools(self) -> bool:
        """The model may call tools; where the list is missing, they stand among the items."""
        return bytes(self._fields.get("tools", b"")).replace(b" ", b"") != b"[]"

    @property
    def cache_key(self) -> str:
        """What the client wants the prompt to be cached under."""
        return self.field("prompt_cache_key")

    def field(self, name: str) -> str:
        """A field that is a text; "" if it is not there."""
        try:
            return _TEXT.decode(self._fields[name])
        except (KeyError, msgspec.MsgspecError, UnicodeDecodeError):
            return ""

    def joined(self, items: Sequence[bytes]) -> bytes:
        """The request with other items."""
        pieces: list[bytes] = []
        for name, value in self._fields.items():
            pieces += (b"," if pieces else b"{", _ENCODE(name), b":")
            pieces += (b"[", *_listed(items), b"]") if name == "input" else (bytes(value),)
        # One join: a long history is copied once, and with bytes alone Python lets other threads go on meanwhile.
        return b"".join((*pieces, b"}"))


class Responses:
    """The dialect that Codex speaks."""

    turns = "/responses"
    paths: tuple[str, ...] = ("/responses", "/responses/compact")

    def split(self, body: bytes) -> Work[ResponsesRequest | None]:
        """The request; None if its input is no list of items."""
        yield len(body) // LIGHTER
        if len(body) > UNCOUNTED and (yield from _commas(body)) > MAX_COMMAS:
            return None
        pieces = (yield from split_in_windows(body)) if len(body) > 2 * WINDOW else None
        if pieces is not None:
            return ResponsesRequest(body, *pieces) if len(pieces[1]) <= MAX_SPLIT else None
        # Half a character is no reason to leave out what was shown before.
        return _split(body) or _split_with_halves(body)

    def item(self, raw: bytes) -> Item:
        """Read one item; what is not understood is context."""
        try:
            wire = _WIRE.decode(_text(raw))
        except (msgspec.MsgspecError, RecursionError):
            return _with_halves(raw)
        if wire.type.endswith("_output"):
            return Item("result", wire.call_id or "", parts=_parts(wire.output))
        if wire.type == "message" or (wire.role and not wire.type):
            if wire.role == "assistant":
                return Item("model")
            text = "\n".join(_parts(wire.content) or ())
            return Item("user" if wire.role == "user" else "context", text=text)
        if call := call_of(wire):
            return Item("call", wire.call_id or "", call)
        made = wire.type == "reasoning" or wire.type.endswith("_call")
        return Item("model" if made else "context")

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The item with another call in it."""
        fields = _fields(raw)
        return _with(fields, ASKED[_TEXT.decode(fields["type"])], call.text)

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The item with another result in it, in the shape that its own had."""
        fields = _fields(raw)
        plain = bytes(fields.get("output", b"")).startswith(b'"')
        output = "".join(parts) if plain else [{"type": "input_text", "text": part} for part in parts]
        return _with(fields, "output", output)

    def tail(self, text: str) -> bytes:
        """A message of the developer: a user's would look like a new turn, and end the reasoning of this one."""
        content = [{"type": "input_text", "text": text}]
        return _ENCODE({"type": "message", "role": "developer", "content": content})

    def stream(self, propose: Propose) -> ResponsesStream:
        """An editor for the events of one answer."""
        return ResponsesStream(propose)


def _commas(body: bytes) -> Work[int]:
    """How many commas there are."""
    count = 0
    for at in range(0, len(body), WINDOW):
        yield WINDOW // LIGHTER
        count += body.count(b",", at, at + WINDOW)
    return count


def _split(body: bytes) -> ResponsesRequest | None:
    """The request; None if it can't be read."""
    try:
        fields = _FIELDS.decode(body)
        items = _ITEMS.decode(fields["input"])
        return ResponsesRequest(body, fields, items) if len(items) <= MAX_SPLIT else None
    except (KeyError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _split_with_halves(body: bytes) -> ResponsesRequest | None:
    """A request in which escapes of characters stand, split into its own bytes; None if that is not what is wrong."""
    escapes = SurrogateEscapes(body)
    try:
        fields = _FIELDS.decode(escapes.text)
        items: list[bytes] = []
        for name, value in fields.items():
            if name == "input":
                items = [escapes.restored(item) for item in _ITEMS.decode(value)]
            else:
                fields[name] = Raw(escapes.restored(value))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return ResponsesRequest(body, fields, items) if "input" in fields and escapes.all_restored else None


def _with_halves(raw: bytes) -> Item:
    """An item that can't be read as it is: what it is may be told, and its text is nobody's to judge or to edit."""
    try:
        wire = _WIRE.decode(replace_surrogates(_text(raw)))
    except (msgspec.MsgspecError, RecursionError):
        return Item("context")
    if wire.type.endswith("_output"):
        return Item("result", wire.call_id or "")
    if wire.call_id and wire.type.endswith("_call"):
        return Item("call", wire.call_id, ToolCall(wire.type.removesuffix("_call"), ""))
    return Item("model") if wire.role == "assistant" else Item("context")


def _fields(raw: bytes) -> dict[str, Raw]:
    """The fields of an item, with the escapes of characters that stand in their values; in names, nobody needs them."""
    text = _text(raw)
    try:
        return _FIELDS.decode(text)
    except msgspec.MsgspecError:
        escapes = SurrogateEscapes(text)
        fields = {name: Raw(escapes.restored(value)) for name, value in _FIELDS.decode(escapes.text).items()}
        return fields if escapes.all_restored else _FIELDS.decode(replace_surrogates(text))


def _with(fields: dict[str, Raw], name: str, value: object) -> bytes:
    """An item with another value in one field; the bytes of the others are its own."""
    fields[name] = Raw(_ENCODE(value))
    pieces = (piece for key, kept in fields.items() for piece in (b",", _ENCODE(key), b":", kept))
    return b"".join((b"{", *[*pieces][1:], b"}"))


def _listed(items: Sequence[bytes]) -> list[bytes]:
    """The items, with commas between them."""
    return [piece for item in items for piece in (b",", item)][1:]


def _text(raw: bytes) -> bytes:
    """An item with bytes that are no text replaced."""
    data = bytes(raw)
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def _parts(value: Raw) -> tuple[str, ...] | None:
    """The texts of a string or of a list of text parts; None if there is anything else."""
    if not value:
        return None
    try:
        decoded = msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(decoded, str):
        return (decoded,)
    if not isinstance(decoded, list) or not all(isinstance(part, dict) and "text" in part for part in decoded):
        return None
    return tuple(str(part["text"]) for part in decoded)
