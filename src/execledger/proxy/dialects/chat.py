"""The Chat Completions dialect: requests with ``messages``, each of which is a leaf, and so is each of its calls.

A leaf is its kind, a line feed, and its JSON: of a message without its ``tool_calls``, or of one of them. Cache
breakpoints, which some clients add, belong to the frame; so does a list that holds one text and could be a string.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Raw, Struct

from execledger.proxy.dialect import UNREAD, Leaf, Propose, marks_of
from execledger.proxy.dialects.held_calls import HeldCalls
from execledger.proxy.json_split import (
    NOT_JSON,
    compact,
    editable_fields,
    list_elements,
    list_of,
    names_of_tools,
    object_fields,
    object_of,
    text_field,
    usage_of,
    valid_text,
    with_field,
)
from execledger.proxy.split_messages import MessageSplitter, SplitMessage, joined_messages, leaves_of
from execledger.proxy.sse import data_of, with_data
from execledger.proxy.worker import Work
from execledger.runs.json_surrogates import replace_surrogates
from execledger.runs.usage import Tokens, tokens_of
from execledger.session.adapter import ToolCall

BREAKPOINT = "cache_control"
"""The field of a message or of a part that ends a cached prefix, for models of Anthropic behind this dialect."""
MESSAGE, CALL = b"message", b"call"
"""The kinds of leaves."""
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


# Requests


class _Message(SplitMessage, frozen=True):
    """One message, split: its leaf, and those of its calls."""

    def written(self, leaves: Sequence[bytes]) -> bytes:
        """The message with another content, or with other calls."""
        own, fields = self.leaves, dict(self.fields)
        if leaves[0] != own[0]:
            content = bytes(editable_fields(_json(leaves[0])).get("content", b"null"))
            fields["content"] = Raw(_with_breakpoint(content, bytes(fields.get("content", b""))))
        if self.parts:
            pairs = zip(leaves[1:], own[1:], self.parts, strict=True)
            fields["tool_calls"] = Raw(list_of([raw if leaf == before else _json(leaf) for leaf, before, raw in pairs]))
        return object_of(fields)


class ChatRequest:
    """A request of this dialect, split into its fields, messages and calls."""

    def __init__(self, body: bytes, fields: dict[str, Raw], messages: list[_Message], leaves: Sequence[bytes]) -> None:
        """The request ``body`` with these fields, of which ``messages`` holds ``leaves``."""
        self.body = body
        self.leaves = leaves
        self._fields = fields
        self._messages = messages

    @cached_property
    def marks(self) -> list[int]:
        """The hash of each leaf."""
        return marks_of(self.leaves)

    @property
    def offers_tools(self) -> bool:
        """Whether the model may call tools, in a message of its own: it does not continue one that was begun."""
        tools = bytes(self._fields.get("tools", b"[]")).replace(b" ", b"")
        barred = text_field(self._fields, "tool_choice") == "none"
        begun = text_field(self._messages[-1].fields, "role") == "assistant"
        return tools not in (b"[]", b"null") and not barred and not begun

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the request defines."""
        return names_of_tools(self._fields.get("tools", b"[]"))

    @property
    def cache_key(self) -> str:
        """The key under which the client asks for the prompt to be cached."""
        return text_field(self._fields, "prompt_cache_key")

    @property
    def model(self) -> str:
        """The name of the requested model."""
        return text_field(self._fields, "model")

    @property
    def instructions(self) -> str:
        """The system prompt is among the leaves."""
        return ""

    def joined(self, leaves: Sequence[bytes]) -> bytes:
        """The body with other leaves; a view is one more message."""
        own = len(self.leaves)
        pieces = [*joined_messages(self._messages, leaves[:own]), *map(_json, leaves[own:])]
        return object_of({**self._fields, "messages": Raw(list_of(pieces))})


class Chat:
    """The dialect that most servers offer: opencode, OpenHands, Qwen Code, Copilot CLI and others use it."""

    paths: tuple[str, ...] = ("/chat/completions",)
    turn_paths: tuple[str, ...] = ("/chat/completions",)

    def split(self, path: str, body: bytes) -> Work[ChatRequest | None]:
        """The request; None if a message is of another shape."""
        split = yield from _SPLITTER.split(body)
        if split is None:
            return None
        fields, messages = split
        return ChatRequest(body, fields, messages, leaves_of(messages))

    def leaf(self, raw: bytes) -> Leaf:
        """The content of a message or call; one that can't be read is context."""
        kind, _, text = bytes(raw).partition(b"\n")
        try:
            if kind == CALL:
                call = _CALL.decode(valid_text(text))
                return Leaf("call", call.id, _call_of(call))
            wire = _MESSAGE.decode(valid_text(text))
        except (msgspec.MsgspecError, RecursionError):
            return _leaf_with_surrogates(kind, text)
        parts = _parts(wire.content)
        if wire.role == "tool":
            return Leaf("result", wire.tool_call_id, parts=parts)
        if wire.role == "assistant":
            return Leaf("model")
        return Leaf("user" if wire.role == "user" else "context", text="\n".join(parts or ()))

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The leaf of a call, with other arguments in it, written as most clients write them: without spaces."""
        kind, _, text = bytes(raw).partition(b"\n")
        return b"%b\n%b" % (kind, _with_arguments(text, compact(call.text.encode())))

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The leaf of a result, with other text in it: a string or a list of parts, as before."""
        kind, _, text = bytes(raw).partition(b"\n")
        fields = editable_fields(text)
        plain = not bytes(fields.get("content", b'"')).startswith(b"[")
        content = "".join(parts) if plain else [{"type": "text", "text": part} for part in parts]
        return b"%b\n%b" % (kind, with_field(fields, "content", content))

    def view_leaf(self, text: str) -> bytes:
        """A user message: text in any other role is not accepted by all servers after the result of a tool."""
        return b"%b\n%b" % (MESSAGE, _ENCODE({"role": "user", "content": text}))

    def stream(self, propose: Propose) -> ChatStream:
        """An editor for one streamed answer."""
        return ChatStream(propose)

    def answer(self, body: bytes, propose: Propose) -> tuple[bytes, Tokens | None]:
        """The body of an answer that is not streamed, with its calls judged, and its usage."""
        answer = object_fields(body)
        choices = list_elements(answer["choices"]) if answer is not None and "choices" in answer else None
        if answer is None or choices is None:
            # It may hold calls, which the client will run.
            propose("", UNREAD)
            return body, None
        edited = [_judged_choice(bytes(choice), propose) for choice in choices]
        sent = body if edited == [*map(bytes, choices)] else object_of({**answer, "choices": Raw(list_of(edited))})
        return sent, usage_of(answer)


# Messages and calls


class _Function(Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class _WireCall(Struct, frozen=True):
    """The fields of a call that are read."""

    id: str = ""
    type: str = "function"
    function: _Function = _Function()


class _WireMessage(Struct, frozen=True):
    """The fields of a message that are read."""

    role: str = ""
    content: Raw = Raw(b"")
    tool_call_id: str = ""


_CALL = msgspec.json.Decoder(_WireCall)
_MESSAGE = msgspec.json.Decoder(_WireMessage)


def _split_message(raw: bytes) -> _Message | None:
    """One message, split; None if it is no object, or its calls are no list of objects."""
    fields = object_fields(raw)
    if fields is None:
        return None
    listed = bytes(fields.get("tool_calls", b"null"))
    calls = list_elements(listed) if listed != b"null" else []
    split = [object_fields(bytes(call)) for call in calls or ()]
    if calls is None or None in split:
        return None
    own = {name: value for name, value in fields.items() if name not in ("tool_calls", BREAKPOINT)}
    own["content"] = Raw(_normal_content(bytes(own.get("content", b"null"))))
    leaves = [b"%b\n%b" % (MESSAGE, object_of(own)), *(b"%b\n%b" % (CALL, object_of(call or {})) for call in split)]
    return _Message(raw, fields, [bytes(call) for call in calls], leaves)


_SPLITTER = MessageSplitter("messages", _split_message)


def _json(leaf: bytes) -> bytes:
    """The JSON of a leaf."""
    return bytes(leaf).partition(b"\n")[2]


def _call_of(call: _WireCall) -> ToolCall:
    """The call that the client is to answer; one of another kind has no arguments."""
    if call.type != "function":
        return ToolCall(call.type, "")
    return ToolCall(call.function.name or "", compact((call.function.arguments or "{}").encode()))


def _with_arguments(call: bytes, arguments: str) -> bytes:
    """A call with other arguments."""
    fields = editable_fields(call)
    return object_of(
        {**fields, "function": Raw(with_field(editable_fields(fields["function"]), "arguments", arguments))}
    )


def _normal_content(content: bytes) -> bytes:
    """A message's content in its normal form: without breakpoints, and one text part as a string."""
    parts = list_elements(content) if content.startswith(b"[") else None
    if not parts:
        return content
    fields = [object_fields(bytes(part)) for part in parts]
    known = [{name: value for name, value in one.items() if name != BREAKPOINT} for one in fields if one is not None]
    if len(known) < len(parts):
        return content
    if len(known) == 1 and set(known[0]) == {"type", "text"} and text_field(known[0], "type") == "text":
        return bytes(known[0]["text"])
    return list_of([object_of(one) for one in known])


def _with_breakpoint(content: bytes, before: bytes) -> bytes:
    """Edited content with the breakpoints of the content before it: on the same parts, or beyond them on the last."""
    parts = (list_elements(before) or []) if before.startswith(b"[") else []
    marks = [(object_fields(bytes(part)) or {}).get(BREAKPOINT) for part in parts]
    if not any(mark is not None for mark in marks):
        return content
    edited = [bytes(part) for part in list_elements(content) or []] if content.startswith(b"[") else []
    edited = edited or [b'{"type":"text","text":%b}' % content]
    for at, mark in enumerate(marks):
        if mark is not None:
            part = min(at, len(edited) - 1)
            edited[part] = object_of({**editable_fields(edited[part]), BREAKPOINT: mark})
    return list_of(edited)


def _leaf_with_surrogates(kind: bytes, text: bytes) -> Leaf:
    """A leaf with lone surrogates: its kind is known, its text is neither judged nor edited."""
    plain = replace_surrogates(valid_text(text))
    try:
        if kind == CALL:
            call = _CALL.decode(plain)
            return Leaf("call", call.id, ToolCall(call.function.name or "", ""))
        wire = _MESSAGE.decode(plain)
    except (msgspec.MsgspecError, RecursionError):
        return Leaf("call", "", ToolCall("unread", "")) if kind == CALL else Leaf("context")
    if wire.role == "tool":
        return Leaf("result", wire.tool_call_id)
    return Leaf("model") if wire.role == "assistant" else Leaf("context")


def _parts(content: Raw) -> tuple[str, ...] | None:
    """The texts of a message: of a string or of a list of text parts; None if it holds anything else."""
    if not content or bytes(content) == b"null":
        return ()
    try:
        decoded = _DECODE(content)
    except NOT_JSON:
        return None
    if isinstance(decoded, str):
        return (decoded,)
    if not isinstance(decoded, list):
        return None
    texts = [part.get("text") for part in decoded if isinstance(part, dict)]
    known = tuple(text for text in texts if isinstance(text, str))
    return known if len(known) == len(decoded) else None


def _judged_choice(raw: bytes, propose: Propose) -> bytes:
    """A choice of an answer, with other calls in place of those that are suppressed."""
    choice = object_fields(raw)
    message = object_fields(choice["message"]) if choice is not None and "message" in choice else None
    listed = bytes(message.get("tool_calls", b"null")) if message is not None else b"null"
    calls = list_elements(listed) if listed != b"null" else []
    if choice is None or message is None or calls is None:
        propose("", UNREAD)
        return raw
    edited = [_judged_call(bytes(call), propose) for call in calls]
    if edited == [*map(bytes, calls)]:
        return raw
    return object_of({**choice, "message": Raw(object_of({**message, "tool_calls": Raw(list_of(edited))}))})


def _judged_call(raw: bytes, propose: Propose) -> bytes:
    """A call of an answer, or the one that takes its place."""
    try:
        call = _CALL.decode(raw)
    except NOT_JSON:
        propose("", UNREAD)
        return raw
    swap = propose(call.id, _call_of(call))
    return raw if swap is None else _with_arguments(raw, swap.text)


# Streamed answers


class _CallDelta(Struct, frozen=True):
    """A piece of a call."""

    index: int | None = None
    """Its position among the calls of the answer; some servers leave it out, and send every call in one piece."""
    id: str | None = None
    """The id of the call, in its first piece."""
    function: _Function | None = None
    """The name of the tool, in the first piece, and a piece of the arguments."""


class _ChoiceDelta(Struct, frozen=True):
    tool_calls: list[_CallDelta] | None = None


class _Choice(Struct, frozen=True):
    delta: _ChoiceDelta | None = None
    finish_reason: str | None = None


class _Event(Struct, frozen=True):
    """The fields of an event that are read."""

    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None

    @property
    def pieces(self) -> list[_CallDelta]:
        """The pieces of calls; clients ask for one choice, so that these belong to one answer."""
        deltas = (choice.delta for choice in self.choices or ())
        return [piece for delta in deltas if delta is not None for piece in delta.tool_calls or ()]

    @property
    def finished(self) -> bool:
        """Whether the answer has ended."""
        return any(choice.finish_reason for choice in self.choices or ())


class _Assembled(Struct):
    """A call that is put together from its pieces."""

    id: str = ""
    name: str = ""
    arguments: list[str] = []


_EVENT = msgspec.json.Decoder(_Event)


class ChatStream:
    """Edits the events of one answer.

    Text is forwarded at once. Events with pieces of calls are held until the answer says why it ended, when all its
    calls are complete and judged; then they are forwarded unchanged, or with other calls in them.
    """

    def __init__(self, propose: Propose) -> None:
        """An editor that asks ``propose`` about every complete call."""
        self.tokens: Tokens | None = None
        self._propose = propose
        self._tokens: Tokens | None = None
        """The usage so far: some servers report it with every event."""
        self._held = HeldCalls[None]()
        self._calls: dict[int, _Assembled] = {}
        self._pieces: list[int] = []
        """The call that each held piece belongs to."""

    def feed(self, event: bytes) -> bytes:
        """The bytes to forward after the next event."""
        if not self._held and b'"tool_calls"' not in event and b'"usage"' not in event:
            return event
        data = data_of(event)
        if data.strip() == b"[DONE]":
            return self._complete() + event
        try:
            read = _EVENT.decode(data)
        except NOT_JSON:
            return self._unread(event)
        self._tokens = tokens_of(read.usage) if read.usage else self._tokens
        finished, pieces = read.finished, read.pieces
        self.tokens = self._tokens if finished or not read.choices else None
        sent = self._hold(event, pieces) if pieces else None
        if not finished:
            return event if sent is None else sent
        return (sent or b"") + self._complete() + (event if sent is None else b"")

    def skip(self, piece: bytes) -> bytes:
        """The bytes to forward after a piece of an event that is too long to be read; it may hold a call."""
        self._propose("", UNREAD)
        return self.end() + piece

    def end(self) -> bytes:
        """The events that are still held, unchanged: their calls are not complete."""
        self.tokens = self._tokens
        self._calls.clear()
        self._pieces.clear()
        return self._held.end()

    def _unread(self, event: bytes) -> bytes:
        """Forward an event that can't be read, and before it everything held: it may belong to any call."""
        self._propose("", UNREAD)
        return self.end() + event

    def _hold(self, event: bytes, pieces: list[_CallDelta]) -> bytes:
        """Hold an event with pieces of calls; beyond a limit, everything is forwarded, and its calls are unknown."""
        if self._held.forwarded(None):
            return event
        if not self._held:
            self._held.begin(None)
        for piece in pieces:
            self._take(piece)
        # Held last: an event that was held before a fault would be forwarded twice.
        sent = self._held.hold(None, event)
        if sent:
            self._propose("", UNREAD)
            return sent + self.end()
        return b""

    def _take(self, piece: _CallDelta) -> None:
        """Add a piece to its call."""
        last = len(self._calls) - 1
        at = piece.index if piece.index is not None else last + 1 if piece.id or last < 0 else last
        call, function = self._calls.setdefault(at, _Assembled()), piece.function or _Function()
        call.id, call.name = call.id or piece.id or "", call.name + (function.name or "")
        call.arguments.append(function.arguments or "")
        self._pieces.append(at)

    def _complete(self) -> bytes:
        """Judge all calls, which are complete; the held events, edited where another call takes the place of one."""
        swaps: dict[int, ToolCall] = {}
        for at, call in self._calls.items():
            text = compact(("".join(call.arguments) or "{}").encode())
            swap = self._propose(call.id, ToolCall(call.name, text))
            if swap is not None:
                swaps[at] = swap
        sent = _edited(self._held.events(None), self._pieces, swaps) if swaps else b"".join(self._held.events(None))
        # Released only now: after a fault, ``end`` still has them.
        self.end()
        return sent


def _edited(events: list[bytes], pieces: list[int], swaps: dict[int, ToolCall]) -> bytes:
    """The events, with the arguments of other calls in them: each in its first piece, the others empty.

    ``pieces`` names the call of each piece in the events.
    """
    edited: list[bytes] = []
    left, calls = dict(swaps), iter(pieces)
    for event in events:
        data = _DECODE(data_of(event))
        for choice in data.get("choices") or ():
            for piece in (choice.get("delta") or {}).get("tool_calls") or ():
                at = next(calls)
                if at in swaps and isinstance(piece.get("function"), dict):
                    swap = left.pop(at, None)
                    piece["function"]["arguments"] = swap.text if swap is not None else ""
        edited.append(with_data(event, _ENCODE(data)))
    return b"".join(edited)
