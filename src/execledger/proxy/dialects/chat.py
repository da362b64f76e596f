"""The Chat Completions dialect: requests with ``messages``, each of which is a leaf, and so is each of its calls.

A leaf is its kind, a line feed, and its JSON: of a message without its ``tool_calls``, or of one of them. Cache
breakpoints, which some clients add, belong to the frame; so does a list that holds one text and could be a string.

The ``function_call`` of the first version of this dialect has no id and is not edited: its message is an unread call,
and a message of role ``function`` is its result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Raw, Struct

from execledger.proxy.dialect import UNREAD, Leaf, Propose, marks_of
from execledger.proxy.dialects.answer_calls import AnswerCalls
from execledger.proxy.dialects.held_calls import HeldCalls
from execledger.proxy.dialects.text_parts import BREAKPOINT, texts_of, with_breakpoints, with_texts
from execledger.proxy.json_split import (
    NOT_JSON,
    compact,
    editable_fields,
    list_elements,
    list_of,
    names_of_tools,
    object_fields,
    object_of,
    object_with_list,
    text_field,
    usage_of,
    valid_text,
    with_field,
)
from execledger.proxy.limits import MAX_CALL
from execledger.proxy.split_messages import MessageSplitter, SplitMessage, joined_messages, leaves_of
from execledger.proxy.sse import data_of, with_data
from execledger.proxy.worker import Work
from execledger.runs.json_surrogates import replace_surrogates
from execledger.runs.usage import Tokens, tokens_of
from execledger.session.adapter import ToolCall

MESSAGE, CALL = b"message", b"call"
"""The kinds of leaves."""
LEGACY_CALL = "function_call"
"""The field of a message with the one call that it could make before there was ``tool_calls``."""
_NONE = (b"", b"null")
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


# Requests


class _Message(SplitMessage, frozen=True):
    """One message, split: its leaf, and those of its calls."""

    def written(self, leaves: Sequence[bytes]) -> bytes:
        """The message with another content, or with other calls; the same content if a breakpoint would move."""
        own, fields = self.leaves, dict(self.fields)
        if leaves[0] != own[0]:
            content = bytes(editable_fields(_json(leaves[0])).get("content", b"null"))
            marked = with_breakpoints(content, bytes(fields.get("content", b"")))
            # Without it the result is shown in full, for as long as the client sends such a breakpoint inside it.
            fields |= {"content": Raw(marked)} if marked is not None else {}
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
        begun = text_field(self._messages[-1].fields, "role") == "assistant"
        return not begun and any(
            bytes(self._fields.get(name, b"[]")).replace(b" ", b"") not in (b"[]", b"null")
            and text_field(self._fields, choice) != "none"
            for name, choice in (("tools", "tool_choice"), ("functions", LEGACY_CALL))
        )

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the request defines."""
        return names_of_tools(self._fields.get("tools", b"[]")) | names_of_tools(self._fields.get("functions", b"[]"))

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
        return object_with_list(self._fields, "messages", pieces)


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
        if other := _call_or_model(wire):
            return other
        parts = _texts(wire.content)
        if wire.role == "tool":
            return Leaf("result", wire.tool_call_id, parts=parts)
        return Leaf("user" if wire.role == "user" else "context", text="\n".join(parts or ()))

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The leaf of a call, with other arguments in it, written as most clients write them: without spaces."""
        kind, _, text = bytes(raw).partition(b"\n")
        return b"%b\n%b" % (kind, _with_arguments(text, compact(call.text.encode())))

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The leaf of a result, with other text in it: a string or a list of parts, as before."""
        kind, _, text = bytes(raw).partition(b"\n")
        fields = editable_fields(text)
        content = with_texts(bytes(fields.get("content", b"")), parts)
        return b"%b\n%b" % (kind, object_of({**fields, "content": Raw(content)}))

    def view_leaf(self, text: str) -> bytes:
        """A user message: text in any other role is not accepted by all servers after the result of a tool."""
        return b"%b\n%b" % (MESSAGE, _ENCODE({"role": "user", "content": text}))

    def stream(self, propose: Propose) -> ChatStream:
        """An editor for one streamed answer."""
        return ChatStream(propose)

    def answer(self, body: bytes, propose: Propose) -> tuple[bytes, Tokens | None]:
        """The body of an answer that is not streamed, with its calls judged, and its usage.

        Of several choices it is not known which one the client takes: they may call anything.
        """
        calls = AnswerCalls(propose)
        answer = object_fields(body)
        choices = list_elements(answer["choices"]) if answer is not None and "choices" in answer else None
        if answer is None or choices is None:
            # It may hold calls, which the client will run.
            calls.unread()
            return body, None
        if len(choices) > 1:
            calls.unread()
            return body, usage_of(answer)
        edited = [_judged_choice(bytes(choice), calls) for choice in choices]
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
    function_call: Raw = Raw(b"")


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


def _call_or_model(wire: _WireMessage) -> Leaf | None:
    """The leaf of a message of the model, or of the result of a call that is not read; None for any other."""
    if wire.role == "function":
        return Leaf("result")
    if bytes(wire.function_call) not in _NONE:
        return Leaf("call", "", UNREAD)
    return Leaf("model") if wire.role == "assistant" else None


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
    return _call_or_model(wire) or Leaf("context")


def _texts(content: Raw) -> tuple[str, ...] | None:
    """The texts of a message; None if it holds anything else."""
    return texts_of(bytes(content)) if bytes(content) not in _NONE else ()


def _judged_choice(raw: bytes, calls: AnswerCalls) -> bytes:
    """The choice of an answer, with other calls in place of those that are suppressed."""
    choice = object_fields(raw)
    message = object_fields(choice["message"]) if choice is not None and "message" in choice else None
    listed = bytes(message.get("tool_calls", b"null")) if message is not None else b"null"
    found = list_elements(listed) if listed != b"null" else []
    if choice is None or message is None or found is None:
        calls.unread()
        return raw
    if bytes(message.get(LEGACY_CALL, b"")) not in _NONE:
        calls.unread()
    edited = [_judged_call(bytes(call), calls) for call in found]
    if edited == [*map(bytes, found)]:
        return raw
    return object_of({**choice, "message": Raw(object_of({**message, "tool_calls": Raw(list_of(edited))}))})


def _judged_call(raw: bytes, calls: AnswerCalls) -> bytes:
    """A call of an answer, or the one that takes its place."""
    try:
        call = _CALL.decode(raw)
    except NOT_JSON:
        calls.unread()
        return raw
    swap = calls.judge(call.id, _call_of(call))
    return raw if swap is None or call.type != "function" else _with_arguments(raw, swap.text)


# Streamed answers


class _CallDelta(Struct, frozen=True):
    """A piece of a call."""

    index: int | None = None
    """Its position among the calls of the answer; some servers leave it out, and send every call in one piece."""
    id: str | None = None
    """The id of the call, in its first piece."""
    function: _Function | None = None
    """The name of the tool, in the first piece, and a piece of the arguments."""
    type: str | None = None
    """The kind of call, in the first piece; only functions can be read."""


class _ChoiceDelta(Struct, frozen=True):
    tool_calls: list[_CallDelta] | None = None
    function_call: Raw = Raw(b"")


class _WholeMessage(Struct, frozen=True):
    tool_calls: Raw = Raw(b"")
    function_call: Raw = Raw(b"")


class _Choice(Struct, frozen=True):
    index: int | None = None
    delta: _ChoiceDelta | None = None
    message: _WholeMessage | None = None
    finish_reason: str | None = None

    @property
    def has_unread_calls(self) -> bool:
        """Whether it has calls in another shape than that of a stream."""
        found = [self.delta.function_call] if self.delta is not None else []
        found += [self.message.function_call, self.message.tool_calls] if self.message is not None else []
        return any(bytes(one) not in (*_NONE, b"[]") for one in found)


class _Event(Struct, frozen=True):
    """The fields of an event that are read."""

    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None

    @property
    def pieces(self) -> list[_CallDelta]:
        """The pieces of calls, of an answer with one choice."""
        deltas = (choice.delta for choice in self.choices or ())
        return [piece for delta in deltas if delta is not None for piece in delta.tool_calls or ()]

    @property
    def is_of_several(self) -> bool:
        """Whether the answer has more than one choice: each of them counts its calls from 0."""
        choices = self.choices or ()
        return len(choices) > 1 or any(choice.index for choice in choices)

    @property
    def has_unread_calls(self) -> bool:
        """Whether it has calls in another shape than that of a stream."""
        return any(choice.has_unread_calls for choice in self.choices or ())

    @property
    def finished(self) -> bool:
        """Whether the answer has ended."""
        return any(choice.finish_reason for choice in self.choices or ())


class _Assembled(Struct):
    """A call that is put together from its pieces."""

    id: str = ""
    name: str = ""
    type: str = "function"
    arguments: list[str] = []

    @property
    def call(self) -> ToolCall:
        """The complete call; one of another kind has no arguments."""
        if self.type != "function":
            return ToolCall(self.type, "")
        return ToolCall(self.name, compact(("".join(self.arguments) or "{}").encode()))


_EVENT = msgspec.json.Decoder(_Event)
_READ = (b'"tool_calls"', b'"usage"', b'"function_call"', b'"message"', b"\\u00")
"""What the events contain that are read while nothing is held; the last begins an escape, which may spell a letter."""
_OTHER_CHOICE = re.compile(rb'"index"\s*+:\s*+[^0\s]')


class ChatStream:
    """Edits the events of one answer.

    Text is forwarded at once. Events with pieces of calls are held until the answer says why it ended, when all its
    calls are complete and judged; then they are forwarded unchanged, or with other calls in them. An answer with
    several choices, or with calls that share an index, is forwarded as it comes, and may call anything.
    """

    def __init__(self, propose: Propose) -> None:
        """An editor that asks ``propose`` about every complete call."""
        self.tokens: Tokens | None = None
        self._judge = AnswerCalls(propose)
        self._tokens: Tokens | None = None
        """The usage so far: some servers report it with every event."""
        self._held = HeldCalls[None]()
        self._calls: dict[int, _Assembled] = {}
        self._pieces: list[int] = []
        """The call that each held piece belongs to."""
        self._unclear = False
        """Which piece belongs to which call is not known."""

    def feed(self, event: bytes) -> bytes:
        """The bytes to forward after the next event."""
        if not (self._held or any(word in event for word in _READ) or _OTHER_CHOICE.search(event)):
            return event
        data = data_of(event)
        if data.strip() == b"[DONE]":
            return self._complete() + event
        try:
            read = _EVENT.decode(data)
        except NOT_JSON:
            return self._unread(event)
        self._tokens = tokens_of(read.usage) if read.usage else self._tokens
        self.tokens = self._tokens if read.finished or not read.choices else None
        if read.has_unread_calls:
            self._judge.unread()
        if self._unclear or read.is_of_several or self._collide(read.pieces):
            self._unclear = True
            return self._unread(event)
        return self._read(event, read)

    def skip(self, piece: bytes) -> bytes:
        """The bytes to forward after a piece of an event that is too long to be read; it may hold a call."""
        return self._unread(piece)

    def end(self) -> bytes:
        """The events that are still held, unchanged: a client may run calls although the answer has no end."""
        if self._held:
            self._judge.unread()
        self.tokens = self._tokens
        return self._released()

    def _released(self) -> bytes:
        """All events that are held, unchanged."""
        self._calls.clear()
        self._pieces.clear()
        return self._held.end()

    def _read(self, event: bytes, read: _Event) -> bytes:
        """The bytes to forward after an event of one choice."""
        pieces, finished = read.pieces, read.finished
        if not finished:
            return self._hold(event, pieces) if pieces else event
        if not pieces:
            return self._complete() + event
        if self._held.forwarded(None) or self._held.size + len(event) > MAX_CALL:
            return self._unread(event)
        for piece in pieces:
            self._take(piece)
        return self._complete(event)

    def _unread(self, event: bytes) -> bytes:
        """Forward an event that can't be read, and before it everything held: it may belong to any call."""
        self._judge.unread()
        return self._released() + event

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
            self._judge.unread()
            return sent + self._released()
        return b""

    def _index(self, piece: _CallDelta) -> int:
        """The call that a piece belongs to."""
        last = len(self._calls) - 1
        if piece.index is not None:
            return piece.index
        return last + 1 if piece.id or last < 0 else last

    def _collide(self, pieces: list[_CallDelta]) -> bool:
        """Whether a piece with an id of its own has the index of another call: some servers count none of them."""
        ids: dict[int, str] = {}
        for piece in pieces:
            at = piece.index
            if at is None or not piece.id:
                continue
            known = self._calls.get(at)
            before = ids.get(at) or (known.id if known is not None else "")
            if before and before != piece.id:
                return True
            ids[at] = piece.id
        return False

    def _take(self, piece: _CallDelta) -> None:
        """Add a piece to its call."""
        at = self._index(piece)
        call, function = self._calls.setdefault(at, _Assembled()), piece.function or _Function()
        call.id, call.name = call.id or piece.id or "", call.name + (function.name or "")
        call.type = piece.type or call.type
        call.arguments.append(function.arguments or "")
        self._pieces.append(at)

    def _complete(self, *last: bytes) -> bytes:
        """Judge all calls, which are complete; the held events, and the ``last`` one if it has a piece of a call.

        They are edited where another call takes the place of one.
        """
        swaps: dict[int, ToolCall] = {}
        for at, call in self._calls.items():
            swap = self._judge.judge(call.id, call.call)
            if swap is not None:
                swaps[at] = swap
        events = [*self._held.events(None), *last]
        sent = _edited(events, self._pieces, swaps) if swaps else b"".join(events)
        # Released only now: after a fault, ``end`` still has them.
        self._released()
        self.tokens = self._tokens
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
