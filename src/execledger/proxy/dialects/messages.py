"""The Messages dialect of Anthropic: requests with ``messages``, whose content blocks are the leaves.

A leaf is the role of its message, a line feed, and the block without its ``cache_control``. Clients move the cache
breakpoint with every request, and write a message of one text block as a string while the breakpoint is elsewhere:
both belong to the frame.

A call that code of the model makes (``caller``) is not read as a call: its result goes to that code, and is not edited.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Raw, Struct

from execledger.proxy.dialect import Leaf, Propose, marks_of
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
)
from execledger.proxy.split_messages import MessageSplitter, SplitMessage, joined_messages, leaves_of
from execledger.proxy.sse import data_of, with_data
from execledger.proxy.worker import Work
from execledger.runs.json_surrogates import replace_surrogates
from execledger.runs.usage import Tokens, tokens_of
from execledger.session.adapter import ToolCall

NO_CALLS = frozenset(("text", "thinking", "redacted_thinking", "compaction"))
"""The types of blocks of an answer that call nothing, besides the results of the provider's own tools."""
LOOKUP_TOOLS = frozenset(("web_search", "web_fetch", "tool_search_tool_regex", "tool_search_tool_bm25"))
"""The tools of the provider that only look something up; the effects of others, and of MCP servers, are unknown."""
_DIRECT = (b"", b"null")
_EMPTY = (b"", b"null", b"{}", b"[]")
_ENCODE = msgspec.json.Encoder().encode


# Requests


class _Message(SplitMessage, frozen=True):
    """One message, split: a leaf of each content block; a string is one text block."""

    @property
    def role(self) -> str:
        """Whose message it is."""
        return text_field(self.fields, "role")

    def written(self, leaves: Sequence[bytes]) -> bytes:
        """The message with other blocks, or with more of them; one whose breakpoints would move is not edited."""
        blocks = [
            block if leaf == before else _edited_block(_block(leaf), block)
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
        """Whether the model may call tools, in a message of its own: it does not continue one that was begun.

        Tools that the server itself runs are none of the client's; what servers behind it (MCP) do may write.
        """
        barred = b'"none"' in bytes(self._fields.get("tool_choice", b""))
        if barred or self._messages[-1].role == "assistant":
            return False
        tools, servers = (bytes(self._fields.get(name, b"")).replace(b" ", b"") for name in ("tools", "mcp_servers"))
        if servers not in _EMPTY:
            return True
        return tools not in _EMPTY and not all(map(_runs_on_server, list_elements(self._fields["tools"]) or [b""]))

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
        return "\n".join(_texts(self._fields.get("system", Raw(b""))) or ())

    def joined(self, leaves: Sequence[bytes]) -> bytes:
        """The body with other leaves; a view is one more block of the last message.

        That may be one of the system, behind which the API accepts no message but the model's.
        """
        return object_with_list(self._fields, "messages", joined_messages(self._messages, leaves))


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
            return Leaf("result", wire.tool_use_id, parts=_texts(wire.content), is_error=wire.is_error is True)
        if wire.type == "tool_use" and wire.id and wire.direct:
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
        content = with_texts(bytes(fields.get("content", b"")), parts)
        return b"%b\n%b" % (role, object_of({**fields, "content": Raw(content)}))

    def view_leaf(self, text: str) -> bytes:
        """A text block for the end of the last message, behind the cache breakpoint."""
        return b"user\n" + _ENCODE({"type": "text", "text": text})

    def stream(self, propose: Propose) -> MessagesStream:
        """An editor for one streamed answer."""
        return MessagesStream(propose)

    def answer(self, body: bytes, propose: Propose) -> tuple[bytes, Tokens | None]:
        """The body of an answer that is not streamed, with its calls judged, and its usage."""
        calls = AnswerCalls(propose)
        answer = object_fields(body)
        blocks = list_elements(answer["content"]) if answer is not None and "content" in answer else None
        if answer is None or blocks is None:
            # It may hold calls, which the client will run.
            calls.unread()
            return body, None
        edited = [_judged_block(bytes(block), calls) for block in blocks]
        sent = body if edited == [*map(bytes, blocks)] else object_of({**answer, "content": Raw(list_of(edited))})
        return sent, usage_of(answer)


def _runs_on_server(tool: bytes) -> bool:
    """Whether a tool is one that the server runs; of some others too the API defines the arguments."""
    fields = object_fields(bytes(tool)) or {}
    return "input_schema" not in fields and _SERVER_TOOL.match(text_field(fields, "type")) is not None


_SERVER_TOOL = re.compile(r"(?:web_search|web_fetch|code_execution|tool_search_tool|advisor)_")
"""How the types of tools begin that the server runs."""


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
    caller: Raw = Raw(b"")

    @property
    def direct(self) -> bool:
        """Whether the model itself makes the call and reads its result, and not code that it runs elsewhere."""
        if bytes(self.caller) in _DIRECT:
            return True
        return text_field(object_fields(self.caller) or {}, "type") == "direct"

    @property
    def calls_nothing(self) -> bool:
        """Whether a block of an answer is known to have no effects; any type of the future may have some."""
        if self.type == "server_tool_use":
            return self.name in LOOKUP_TOOLS
        return self.type in NO_CALLS or self.type.endswith("_tool_result")


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


def _edited_block(edited: bytes, block: bytes) -> bytes:
    """An edited block with the cache breakpoints that ``block`` has; ``block`` itself if one of them would move.

    The result is then shown in full, for as long as the client sends such a breakpoint inside it.
    """
    before, fields = object_fields(block) or {}, editable_fields(edited)
    if bytes(before.get("content", b"")).startswith(b"["):
        content = with_breakpoints(bytes(fields.get("content", b"[]")), bytes(before["content"]))
        if content is None:
            return block
        fields["content"] = Raw(content)
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
    if wire.type == "tool_use" and wire.id and wire.direct:
        return Leaf("call", wire.id, ToolCall(wire.name, ""))
    return Leaf("model" if role == b"assistant" else "context")


def _texts(content: Raw) -> tuple[str, ...] | None:
    """The texts of a result; None if it holds anything else."""
    return texts_of(bytes(content)) if content else ()


def _judged_block(block: bytes, calls: AnswerCalls) -> bytes:
    """A block of an answer, with another call in it if its own is suppressed."""
    try:
        wire = _BLOCK.decode(block)
    except NOT_JSON:
        # It may be a call, which the client will run.
        calls.unread()
        return block
    if wire.type != "tool_use" or not wire.direct:
        if not wire.calls_nothing:
            calls.unread()
        return block
    swap = calls.judge(wire.id, ToolCall(wire.name, compact(wire.input)))
    return block if swap is None else object_of({**editable_fields(block), "input": Raw(swap.text.encode())})


# Streamed answers


class _Started(Struct):
    usage: dict[str, Any] | None = None
    content: Raw = Raw(b"")


class _Event(Struct):
    """The fields of any event that are read."""

    type: str = ""
    index: int | None = None
    content_block: _WireBlock | None = None
    message: _Started | None = None
    usage: dict[str, Any] | None = None


class _Delta(Struct, frozen=True):
    type: str = ""
    partial_json: str = ""


class _DeltaEvent(Struct):
    delta: _Delta = _Delta()


_EVENT = msgspec.json.Decoder(_Event)
_DELTA = msgspec.json.Decoder(_DeltaEvent)
_READ = (b"tool_use", b"content_block_start", b"input_json", b'"message_', b"\\u00")
"""What the events contain that are read while nothing is held; the last begins an escape, which may spell a letter."""


class MessagesStream:
    """Edits the events of one answer.

    Text and thinking are forwarded at once. The events of a ``tool_use`` block are held until the block is complete and
    its call is judged; then they are forwarded unchanged, or with another call in them. Calls that are not complete in
    this way, and those of other kinds, may have any effect.
    """

    def __init__(self, propose: Propose) -> None:
        """An editor that asks ``propose`` about every complete call."""
        self.tokens: Tokens | None = None
        self._judge = AnswerCalls(propose)
        self._held = HeldCalls[int | None]()
        self._calls: dict[int | None, _WireBlock] = {}
        self._others: set[int | None] = set()
        """The indexes of blocks that are no calls to be held: their input is not judged again."""
        self._usage: dict[str, Any] = {}

    def feed(self, event: bytes) -> bytes:
        """The bytes to forward after the next event."""
        if not self._held and not any(word in event for word in _READ):
            return event
        try:
            read = _EVENT.decode(data_of(event))
        except NOT_JSON:
            return self._unread(event)
        if read.type in ("message_start", "message_delta", "message_stop"):
            self._count(read)
            if self._held:
                # Clients take the message as it is now, with a call whose end is missing.
                self._judge.unread()
            return self._held.end() + event
        if read.type == "content_block_start":
            return self._begun(event, read)
        if read.index in self._held:
            return self._stopped(event, read.index) if read.type == "content_block_stop" else self._hold(event, read)
        if read.type == "content_block_delta" and read.index not in self._others and b"input_json" in event:
            # More input of a call that was judged, or of one that was never begun.
            self._judge.unread()
        return event

    def skip(self, piece: bytes) -> bytes:
        """The bytes to forward after a piece of an event that is too long to be read; it may hold a call."""
        self._judge.unread()
        return self._held.end() + piece

    def end(self) -> bytes:
        """The events that are still held, unchanged: a client drops a message that has no end."""
        return self._held.end()

    def _unread(self, event: bytes) -> bytes:
        """Forward an event that can't be read, and before it everything held: it may belong to any call."""
        if self._held or b"tool_use" in event or b"content_block_start" in event:
            self._judge.unread()
        return self._held.end() + event

    def _begun(self, event: bytes, read: _Event) -> bytes:
        """Hold a call from its first event on."""
        block = read.content_block
        if read.index in self._held:
            # The call that was begun there has no end.
            self._judge.unread()
        if block is None or block.type != "tool_use" or not block.direct:
            if block is None or not block.calls_nothing:
                self._judge.unread()
            self._others.add(read.index)
            return self._held.release(read.index) + event
        before = self._held.begin(read.index)
        self._others.discard(read.index)
        self._calls[read.index] = block
        return before + self._hold(event, read)

    def _hold(self, event: bytes, read: _Event) -> bytes:
        sent = self._held.hold(read.index, event)
        if sent:
            # Beyond the limit it is forwarded in pieces, and its effects are unknown.
            self._judge.unread()
        return sent

    def _stopped(self, event: bytes, index: int | None) -> bytes:
        """Judge a complete call; its held events and this one, edited if another call takes its place."""
        before, block = self._held.events(index), self._calls[index]
        try:
            deltas = [_DELTA.decode(data_of(one)).delta.partial_json for one in before[1:]]
        except NOT_JSON:
            self._judge.unread()
            return self._held.release(index) + event
        text = "".join(deltas) or bytes(block.input).decode("utf-8", "replace") or "{}"
        swap = self._judge.judge(block.id, ToolCall(block.name, compact(text.encode())))
        sent = b"".join((*before, event)) if swap is None else _with_input(before[0], index, swap.text) + event
        # Released only now: after a fault, ``end`` still has it.
        self._held.release(index)
        return sent

    def _count(self, read: _Event) -> None:
        """Note the usage: of the input at the beginning, of the output at the end."""
        if read.message is not None and bytes(read.message.content) not in _EMPTY:
            # Blocks that no event of their own begins.
            self._judge.unread()
        said = read.usage or (read.message.usage if read.message is not None else None) or {}
        self._usage |= {name: count for name, count in said.items() if count is not None}
        if read.type == "message_delta":
            self.tokens = tokens_of(self._usage)


def _with_input(start: bytes, index: int | None, text: str) -> bytes:
    """The first event of a call, without any input of its own, and its input in one delta."""
    data = object_fields(data_of(start)) or {}
    block = object_fields(data.get("content_block", b"")) or {}
    if bytes(block.get("input", b"")).replace(b" ", b"") not in _EMPTY:
        data["content_block"] = Raw(object_of({**block, "input": Raw(b"{}")}))
        start = with_data(start, object_of(data))
    delta = {"type": "input_json_delta", "partial_json": text}
    data_of_input = {"type": "content_block_delta", "index": index, "delta": delta}
    return start + b"event: content_block_delta\n" + with_data(b"", _ENCODE(data_of_input))
