"""The Messages dialect of Anthropic: requests with ``messages``, whose content blocks are the leaves.

A leaf is the role of its message, a line feed, and the block without its ``cache_control``. Clients move the cache
breakpoint with every request, and write a message of one text block as a string while the breakpoint is elsewhere:
both belong to the frame.
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
"""The field of a block that ends a cached prefix."""
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


# Requests


class _Message(SplitMessage, frozen=True):
    """One message, split: a leaf of each content block; a string is one text block."""

    @property
    def role(self) -> str:
        """Whose message it is."""
        return text_field(self.fields, "role")

    def written(self, leaves: Sequence[bytes]) -> bytes:
        """The message with other blocks, or with more of them."""
        blocks = [
            block if leaf == before else _with_breakpoint(_block(leaf), block)
            for leaf, before, block in zip(leaves, self.leaves, self.parts, strict=False)
        ]
        blocks += [_block(leaf) for leaf in leaves[len(self.leaves) :]]
        return object_of({**self.fields, "content": Raw(list_of(blocks))})


class MessagesRequest:
    """A request of this dialect, split into its fields, messages and blocks."""

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
        barred = b'"none"' in bytes(self._fields.get("tool_choice", b""))
        return tools not in (b"[]", b"null") and not barred and self._messages[-1].role != "assistant"

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the request defines."""
        return names_of_tools(self._fields.get("tools", b"[]"))

    @property
    def cache_key(self) -> str:
        """This dialect has none."""
        return ""

    @property
    def model(self) -> str:
        """The name of the requested model."""
        return text_field(self._fields, "model")

    @property
    def instructions(self) -> str:
        """The system prompt."""
        return "\n".join(_parts(self._fields.get("system", Raw(b""))) or ())

    def joined(self, leaves: Sequence[bytes]) -> bytes:
        """The body with other leaves; a view is one more block of the last message.

        That may be one of the system, behind which the API accepts no message but the model's.
        """
        pieces = joined_messages(self._messages, leaves)
        return object_of({**self._fields, "messages": Raw(list_of(pieces))})


class Messages:
    """The dialect of Claude Code; opencode, OpenHands, Qwen Code and Copilot CLI can use it as well."""

    paths: tuple[str, ...] = ("/messages",)
    turn_paths: tuple[str, ...] = ("/messages",)

    def split(self, path: str, body: bytes) -> Work[MessagesRequest | None]:
        """The request; None if a message has content of another shape."""
        split = yield from _SPLITTER.split(body)
        if split is None:
            return None
        fields, messages = split
        return MessagesRequest(body, fields, messages, leaves_of(messages))

    def leaf(self, raw: bytes) -> Leaf:
        """The content of a block; one that can't be read is context."""
        role, _, block = bytes(raw).partition(b"\n")
        try:
            wire = _BLOCK.decode(valid_text(block))
        except (msgspec.MsgspecError, RecursionError):
            return _leaf_with_surrogates(role, block)
        if wire.type == "tool_result":
            return Leaf("result", wire.tool_use_id, parts=_parts(wire.content), is_error=wire.is_error is True)
        if wire.type == "tool_use" and wire.id:
            return Leaf("call", wire.id, ToolCall(wire.name, compact(wire.input)))
        if role == b"assistant":
            return Leaf("model")
        return Leaf("user" if role == b"user" else "context", text=wire.text or "")

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The block of a call, with other arguments in it, written as clients write them: without spaces."""
        role, _, block = bytes(raw).partition(b"\n")
        fields = editable_fields(block)
        return b"%b\n%b" % (role, object_of({**fields, "input": Raw(compact(call.text.encode()).encode())}))

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The block of a result, with other text in it: a string or a list of blocks, as before."""
        role, _, block = bytes(raw).partition(b"\n")
        fields = editable_fields(block)
        plain = bytes(fields.get("content", b'"')).startswith(b'"')
        content = "".join(parts) if plain else [{"type": "text", "text": part} for part in parts]
        return b"%b\n%b" % (role, with_field(fields, "content", content))

    def view_leaf(self, text: str) -> bytes:
        """A text block for the end of the last message, behind the cache breakpoint."""
        return b"user\n" + _ENCODE({"type": "text", "text": text})

    def stream(self, propose: Propose) -> MessagesStream:
        """An editor for one streamed answer."""
        return MessagesStream(propose)

    def answer(self, body: bytes, propose: Propose) -> tuple[bytes, Tokens | None]:
        """The body of an answer that is not streamed, with its calls judged, and its usage."""
        answer = object_fields(body)
        blocks = list_elements(answer["content"]) if answer is not None and "content" in answer else None
        if answer is None or blocks is None:
            # It may hold calls, which the client will run.
            propose("", UNREAD)
            return body, None
        edited = [_judged_block(bytes(block), propose) for block in blocks]
        sent = body if edited == [*map(bytes, blocks)] else object_of({**answer, "content": Raw(list_of(edited))})
        return sent, usage_of(answer)


# Blocks


class _WireBlock(Struct):
    """The fields of any block that are read."""

    type: str = ""
    text: str | None = None
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"")
    tool_use_id: str = ""
    content: Raw = Raw(b"")
    is_error: bool | None = None


_BLOCK = msgspec.json.Decoder(_WireBlock)


def _split_message(raw: bytes) -> _Message | None:
    """One message, split; None if its content is neither a string nor a list of objects."""
    fields = object_fields(raw)
    content = bytes(fields.get("content", b"")) if fields is not None else b""
    if fields is None or not content:
        return None
    if content.startswith(b'"'):
        blocks: list[bytes] | None = [b'{"type":"text","text":%b}' % content]
    else:
        blocks = list_elements(content)
    if blocks is None or not all(bytes(block).startswith(b"{") for block in blocks):
        return None
    blocks = [bytes(block) for block in blocks]
    role = text_field(fields, "role").encode()
    return _Message(raw, fields, blocks, [b"%b\n%b" % (role, _without_breakpoint(block)) for block in blocks])


_SPLITTER = MessageSplitter("messages", _split_message)


def _block(leaf: bytes) -> bytes:
    """The block of a leaf."""
    return bytes(leaf).partition(b"\n")[2]


def _without_breakpoint(block: bytes) -> bytes:
    """A block in its normal form: without a cache breakpoint, on itself or inside a result, and without spaces."""
    fields = object_fields(block)
    if fields is None:
        return block
    fields.pop(BREAKPOINT, None)
    content = bytes(fields.get("content", b""))
    if content.startswith(b"[") and BREAKPOINT.encode() in content:
        inner = list_elements(content) or []
        fields["content"] = Raw(list_of([_without_breakpoint(bytes(one)) for one in inner]))
    return object_of(fields)


def _with_breakpoint(edited: bytes, block: bytes) -> bytes:
    """An edited block with the cache breakpoints that ``block`` has, on itself or on the last block inside it."""
    before, fields = object_fields(block) or {}, editable_fields(edited)
    inner, content = bytes(before.get("content", b"")), bytes(fields.get("content", b""))
    if inner.startswith(b"[") and content.startswith(b"["):
        pairs = (list_elements(inner) or [], list_elements(content) or [])
        marked = [one for one in pairs[0] if BREAKPOINT in (object_fields(bytes(one)) or {})]
        if marked and pairs[1]:
            pairs[1][-1] = _with_breakpoint(bytes(pairs[1][-1]), bytes(marked[-1]))
            fields["content"] = Raw(list_of(pairs[1]))
    if BREAKPOINT in before:
        fields[BREAKPOINT] = before[BREAKPOINT]
    return object_of(fields)


def _leaf_with_surrogates(role: bytes, block: bytes) -> Leaf:
    """A block with lone surrogates: its kind is known, its text is neither judged nor edited."""
    try:
        wire = _BLOCK.decode(replace_surrogates(valid_text(block)))
    except (msgspec.MsgspecError, RecursionError):
        return Leaf("model" if role == b"assistant" else "context")
    if wire.type == "tool_result":
        return Leaf("result", wire.tool_use_id, is_error=wire.is_error is True)
    if wire.type == "tool_use" and wire.id:
        return Leaf("call", wire.id, ToolCall(wire.name, ""))
    return Leaf("model" if role == b"assistant" else "context")


def _parts(content: Raw) -> tuple[str, ...] | None:
    """The texts of a result: of a string or of a list of text blocks; None if it holds anything else."""
    if not content:
        return ()
    try:
        decoded = _DECODE(content)
    except NOT_JSON:
        return None
    if isinstance(decoded, str):
        return (decoded,)
    if not isinstance(decoded, list):
        return None
    texts = [block.get("text") for block in decoded if isinstance(block, dict)]
    known = tuple(text for text in texts if isinstance(text, str))
    return known if len(known) == len(decoded) else None


def _judged_block(block: bytes, propose: Propose) -> bytes:
    """A block of an answer, with another call in it if its own is suppressed."""
    try:
        wire = _BLOCK.decode(block)
    except NOT_JSON:
        # It may be a call, which the client will run.
        propose("", UNREAD)
        return block
    if wire.type != "tool_use":
        return block
    swap = propose(wire.id, ToolCall(wire.name, compact(wire.input)))
    return block if swap is None else object_of({**editable_fields(block), "input": Raw(swap.text.encode())})


# Streamed answers


class _Started(Struct):
    usage: dict[str, Any] | None = None


class _Event(Struct):
    """The fields of any event that are read."""

    type: str = ""
    index: int | None = None
    content_block: _WireBlock | None = None
    message: _Started | None = None
    usage: dict[str, Any] | None = None


class _Delta(Struct, frozen=True):
    partial_json: str = ""


class _DeltaEvent(Struct):
    delta: _Delta = _Delta()


_EVENT = msgspec.json.Decoder(_Event)
_DELTA = msgspec.json.Decoder(_DeltaEvent)


class MessagesStream:
    """Edits the events of one answer.

    Text and thinking are forwarded at once. The events of a ``tool_use`` block are held until the block is complete and
    its call is judged; then they are forwarded unchanged, or with another call in them.
    """

    def __init__(self, propose: Propose) -> None:
        """An editor that asks ``propose`` about every complete call."""
        self.tokens: Tokens | None = None
        self._propose = propose
        self._held = HeldCalls[int | None]()
        self._calls: dict[int | None, _WireBlock] = {}
        self._usage: dict[str, Any] = {}

    def feed(self, event: bytes) -> bytes:
        """The bytes to forward after the next event."""
        if not self._held and b"tool_use" not in event and b'"message_' not in event:
            return event
        try:
            read = _EVENT.decode(data_of(event))
        except NOT_JSON:
            return self._unread(event)
        if read.type in ("message_start", "message_delta"):
            self._count(read)
        elif read.type == "message_stop":
            return self.end() + event
        elif read.type == "content_block_start":
            return self._begun(event, read)
        elif read.index in self._held:
            return self._stopped(event, read.index) if read.type == "content_block_stop" else self._hold(event, read)
        return event

    def skip(self, piece: bytes) -> bytes:
        """The bytes to forward after a piece of an event that is too long to be read; it may hold a call."""
        self._propose("", UNREAD)
        return self.end() + piece

    def end(self) -> bytes:
        """The events that are still held, unchanged: a client drops a call that was not completed."""
        return self._held.end()

    def _unread(self, event: bytes) -> bytes:
        """Forward an event that can't be read, and before it everything held: it may belong to any call."""
        if self._held or b"tool_use" in event:
            self._propose("", UNREAD)
        return self.end() + event

    def _begun(self, event: bytes, read: _Event) -> bytes:
        """Hold a call from its first event on."""
        block = read.content_block
        if block is None or block.type != "tool_use":
            return self._held.release(read.index) + event
        before = self._held.begin(read.index)
        self._calls[read.index] = block
        return before + self._hold(event, read)

    def _hold(self, event: bytes, read: _Event) -> bytes:
        sent = self._held.hold(read.index, event)
        if sent:
            # Beyond the limit it is forwarded in pieces, and its effects are unknown.
            self._propose("", UNREAD)
        return sent

    def _stopped(self, event: bytes, index: int | None) -> bytes:
        """Judge a complete call; its held events and this one, edited if another call takes its place."""
        before, block = self._held.events(index), self._calls[index]
        deltas = [_DELTA.decode(data_of(one)).delta.partial_json for one in before[1:]]
        text = "".join(deltas) or bytes(block.input).decode("utf-8", "replace") or "{}"
        swap = self._propose(block.id, ToolCall(block.name, compact(text.encode())))
        sent = b"".join((*before, event)) if swap is None else _with_input(before[0], index, swap.text) + event
        # Released only now: after a fault, ``end`` still has it.
        self._held.release(index)
        return sent

    def _count(self, read: _Event) -> None:
        """Note the usage: of the input at the beginning, of the output at the end."""
        said = read.usage or (read.message.usage if read.message is not None else None) or {}
        self._usage |= {name: count for name, count in said.items() if count is not None}
        if read.type == "message_delta":
            self.tokens = tokens_of(self._usage)


def _with_input(start: bytes, index: int | None, text: str) -> bytes:
    """The first event of a call, and its input in one delta."""
    delta = {"type": "input_json_delta", "partial_json": text}
    data = {"type": "content_block_delta", "index": index, "delta": delta}
    return start + b"event: content_block_delta\n" + with_data(b"", _ENCODE(data))
