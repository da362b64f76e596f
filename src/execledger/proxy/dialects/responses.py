"""The Responses dialect of OpenAI: requests with an ``input`` list, whose items are the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Raw, Struct

from execledger.proxy.dialect import Leaf, Propose, marks_of
from execledger.proxy.dialects.answer_calls import AnswerCalls
from execledger.proxy.dialects.held_calls import HeldCalls
from execledger.proxy.dialects.text_parts import texts_of, with_texts
from execledger.proxy.json_split import (
    NOT_JSON,
    editable_fields,
    list_elements,
    list_of,
    names_of_tools,
    object_fields,
    object_of,
    object_with_list,
    split_list,
    text_field,
    usage_of,
    valid_text,
    with_field,
)
from execledger.proxy.sse import data_of, with_data
from execledger.proxy.worker import Work
from execledger.runs.json_surrogates import replace_surrogates
from execledger.runs.usage import Tokens, tokens_of
from execledger.session.adapter import ToolCall

ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The item types of calls that can be edited, and the field that holds the arguments of each."""
NO_CALLS = frozenset(
    (
        *("message", "reasoning", "compaction", "compaction_summary", "context_compaction"),
        *("web_search_call", "file_search_call", "tool_search_call", "mcp_list_tools"),
    )
)
"""The types of items of an answer that change nothing where the client's tools run; others without an id for a result,
such as calls of remote MCP servers, may have any effect."""
ENDS = (b"response.completed", b"response.incomplete", b"response.failed")
"""The types of the events that end an answer."""
TOOLS_ITEM, TOOLS_WITHIN = b'"additional_tools"', 80
"""The type of an item that defines tools, and the bytes of an item within which it is found."""
_ABSENT = (b"", b"null")
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(dict[str, Any]).decode


# Requests


class ResponsesRequest:
    """A request of this dialect, split into its fields and items."""

    def __init__(self, body: bytes, fields: dict[str, Raw], leaves: Sequence[bytes]) -> None:
        """The request ``body`` with these fields, of which ``input`` holds ``leaves``."""
        self.body = body
        self.leaves = leaves
        self._fields = fields

    @cached_property
    def marks(self) -> list[int]:
        """The hash of each item."""
        return marks_of(self.leaves)

    @property
    def offers_tools(self) -> bool:
        """Whether the model may call tools; without a list of tools, an item may define them."""
        if text_field(self._fields, "tool_choice") == "none":
            return False
        listed = bytes(self._fields.get("tools", b"")).replace(b" ", b"")
        if listed:
            return listed not in (b"[]", b"null")
        return any(TOOLS_ITEM in bytes(memoryview(leaf)[:TOOLS_WITHIN]) for leaf in self.leaves)

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
        """The system prompt."""
        return text_field(self._fields, "instructions")

    def joined(self, leaves: Sequence[bytes]) -> bytes:
        """The body with other items."""
        return object_with_list(self._fields, "input", leaves)


class Responses:
    """The dialect of Codex; opencode, Qwen Code and Copilot CLI can use it as well."""

    paths: tuple[str, ...] = ("/responses", "/responses/compact")
    turn_paths: tuple[str, ...] = ("/responses",)

    def split(self, path: str, body: bytes) -> Work[ResponsesRequest | None]:
        """The request; None if its input is not a list of items."""
        pieces = yield from split_list(body, "input")
        return ResponsesRequest(body, *pieces) if pieces is not None else None

    def leaf(self, raw: bytes) -> Leaf:
        """The content of an item; one that can't be read is context."""
        try:
            wire = _ITEM.decode(valid_text(raw))
        except (msgspec.MsgspecError, RecursionError):
            return _leaf_with_surrogates(raw)
        if wire.type.endswith("_output"):
            return Leaf("result", wire.call_id or "", parts=_parts(wire.output))
        if wire.type == "message" or (wire.role and not wire.type):
            if wire.role == "assistant":
                return Leaf("model")
            text = "\n".join(_parts(wire.content) or ())
            return Leaf("user" if wire.role == "user" else "context", text=text)
        if call := _call_of(wire):
            return Leaf("call", wire.call_id or "", call)
        made = wire.type == "reasoning" or wire.type.endswith("_call")
        return Leaf("model" if made else "context")

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The item of a call, with other arguments in it."""
        fields = editable_fields(raw)
        return with_field(fields, ARGUMENTS[text_field(fields, "type")], call.text)

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The item of a result, with other text in it: a string or a list of parts, as before."""
        fields = editable_fields(raw)
        output = bytes(fields.get("output", b""))
        # What is neither a text nor a list becomes a list.
        listed = output if output.startswith((b'"', b"[")) else b"[]"
        return object_of({**fields, "output": Raw(with_texts(listed, parts, "input_text"))})

    def view_leaf(self, text: str) -> bytes:
        """A developer message: a user message would look like a new turn, and end the reasoning of this one."""
        content = [{"type": "input_text", "text": text}]
        return _ENCODE({"type": "message", "role": "developer", "content": content})

    def stream(self, propose: Propose) -> ResponsesStream:
        """An editor for one streamed answer."""
        return ResponsesStream(propose)

    def answer(self, body: bytes, propose: Propose) -> tuple[bytes, Tokens | None]:
        """The body of an answer that is not streamed, with its calls judged, and its usage."""
        calls = AnswerCalls(propose)
        answer = object_fields(body)
        items = list_elements(answer["output"]) if answer is not None and "output" in answer else None
        if answer is None or items is None:
            # It may hold calls, which the client will run.
            calls.unread()
            return body, None
        edited = [_judged_item(bytes(item), calls) for item in items]
        sent = body if edited == [*map(bytes, items)] else object_of({**answer, "output": Raw(list_of(edited))})
        return sent, usage_of(answer)


# Items


class _WireCall(Struct):
    """The fields of an item that make it a call."""

    type: str = ""
    """The type of the item."""
    call_id: str | None = None
    """The id of the call."""
    name: str | None = None
    """The tool."""
    namespace: str | None = None
    """The group of tools that it belongs to."""
    arguments: Raw = Raw(b"")
    """The arguments of a function: a string of JSON."""
    input: Raw = Raw(b"")
    """The argument of a custom tool: a string."""
    action: Raw = Raw(b"")
    """The arguments of the local shell tool."""
    encrypted_function_args: Raw = Raw(b"")
    """Arguments that only the provider can read: such a call is never edited."""


class _WireItem(_WireCall):
    """The fields of any item that are read."""

    role: str | None = None
    output: Raw = Raw(b"")
    content: Raw = Raw(b"")


_ITEM = msgspec.json.Decoder(_WireItem)


def _call_of(item: _WireCall) -> ToolCall | None:
    """The tool call that the client is to answer; one that can't be read has no arguments."""
    if not item.call_id or not item.type.endswith("_call"):
        return None
    name = ".".join(part for part in (item.namespace, item.name) if part)
    if item.type == "local_shell_call":
        return ToolCall("local_shell", bytes(item.action).decode("utf-8", "replace"))
    if _editable(item):
        custom = item.type == "custom_tool_call"
        try:
            return ToolCall(name, msgspec.json.decode(item.input if custom else item.arguments, type=str), custom)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass
    return ToolCall(item.type.removesuffix("_call"), "")


def _editable(item: _WireCall) -> bool:
    """Whether another call can take its place: its arguments are not encrypted."""
    return item.type in ARGUMENTS and bytes(item.encrypted_function_args) in _ABSENT


def _put_call(item: dict[str, Any], call: ToolCall) -> None:
    """Replace the arguments of a call; the tool stays the same."""
    item[ARGUMENTS[item["type"]]] = call.text


def _leaf_with_surrogates(raw: bytes) -> Leaf:
    """An item with lone surrogates: its kind is known, its text is neither judged nor edited."""
    try:
        wire = _ITEM.decode(replace_surrogates(valid_text(raw)))
    except (msgspec.MsgspecError, RecursionError):
        return Leaf("context")
    if wire.type.endswith("_output"):
        return Leaf("result", wire.call_id or "")
    if wire.call_id and wire.type.endswith("_call"):
        return Leaf("call", wire.call_id, ToolCall(wire.type.removesuffix("_call"), ""))
    return Leaf("model") if wire.role == "assistant" else Leaf("context")


def _calls_nothing(item: _WireItem) -> bool:
    """Whether an item of an answer that is no call of the client is known to have no effects."""
    return item.type in NO_CALLS or item.type.endswith("_output") or (not item.type and item.role is not None)


def _parts(value: Raw) -> tuple[str, ...] | None:
    """The texts of a string or of a list of text parts; None for anything else."""
    return texts_of(bytes(value)) if value else None


def _judged_item(raw: bytes, calls: AnswerCalls) -> bytes:
    """An item of an answer, with another call in it if its own is suppressed."""
    try:
        item = _ITEM.decode(raw)
    except NOT_JSON:
        # It may be a call, which the client will run.
        calls.unread()
        return raw
    call = _call_of(item)
    if call is None:
        if not _calls_nothing(item):
            calls.unread()
        return raw
    swap = calls.judge(item.call_id or "", call)
    if swap is None or not _editable(item):
        return raw
    return with_field(editable_fields(raw), ARGUMENTS[item.type], swap.text)


# Streamed answers


class _Response(Struct):
    usage: Any = None
    output: Raw = Raw(b"")


class _Event(Struct):
    """The fields of any event that are read."""

    type: str = ""
    output_index: int | None = None
    item: _WireItem | None = None
    response: _Response | None = None


class _Judged(Struct, frozen=True):
    """A call that was judged."""

    call_id: str
    call: ToolCall
    swap: ToolCall | None
    """The call that was sent in its place."""


_EVENT = msgspec.json.Decoder(_Event)
_DONE = b"output_item.done"
_READ = (b"_call", b"[DONE]", _DONE, *ENDS, b"\\u00")
"""What the events contain that are read while nothing is held; the last begins an escape, which may spell a letter."""


class ResponsesStream:
    """Edits the events of one answer.

    Text and reasoning are forwarded at once. The events of a tool call are held until the call is complete and judged;
    then they are forwarded unchanged, or with another call in them. What the last event repeats is edited in the same
    way; calls that only it has may have any effect.
    """

    def __init__(self, propose: Propose) -> None:
        """An editor that asks ``propose`` about every complete call."""
        self.tokens: Tokens | None = None
        self._judge = AnswerCalls(propose)
        self._held = HeldCalls[int | None]()
        self._announced: dict[int | None, str | None] = {}
        """The id of the call whose events are held, by their key."""
        self._judged: list[_Judged] = []

    def feed(self, event: bytes) -> bytes:
        """The bytes to forward after the next event."""
        if not any(word in event for word in _READ) and not (self._held and b"output_item" in event):
            return event
        try:
            read = _EVENT.decode(data_of(event))
        except NOT_JSON:
            return self._unread(event)
        if read.type.encode() in ENDS:
            return self.end() + self._completed(event, read)
        call = _call_of(read.item) if read.item is not None else None
        if read.type == "response.output_item.done":
            return self._done(event, read.item, call, read.output_index)
        before = b""
        if call is not None and read.item is not None and read.type == "response.output_item.added":
            before = self._held.begin(read.output_index)
            self._announced[read.output_index] = read.item.call_id
        held = read.output_index in self._held
        # Beyond a limit it is forwarded in pieces: it is still judged when it is complete, but not edited.
        return before + (self._held.hold(read.output_index, event) if held else event)

    def end(self) -> bytes:
        """The events that are still held, unchanged: clients run a call when it is done, and these are not."""
        return self._held.end()

    def skip(self, piece: bytes) -> bytes:
        """The bytes to forward after a piece of an event that is too long to be read; it may hold a call."""
        self._judge.unread()
        return self._held.end() + piece

    def _unread(self, event: bytes) -> bytes:
        """Forward an event that can't be read, and before it everything held: it may belong to any call."""
        if _DONE in event or any(end in event for end in ENDS):
            # It may be a complete call, which the client will run.
            self._judge.unread()
        return self._held.end() + event

    def _done(self, event: bytes, item: _WireItem | None, call: ToolCall | None, index: int | None) -> bytes:
        """Judge a complete item; its held events and this one, edited if another call takes its place."""
        if item is None or call is None:
            if item is None or not _calls_nothing(item):
                self._judge.unread()
            return self._held.release(index) + event
        before = self._held.events(index)
        swap = self._judge.judge(item.call_id or "", call)
        own = index not in self._held or self._announced.get(index) == item.call_id
        if not own or not _editable(item) or self._held.forwarded(index):
            swap = None
        sent = (*before, event) if swap is None else (*_edited(before, swap), _with_item(event, swap))
        # Released only now: after a fault, ``end`` still has it.
        self._held.release(index)
        self._judged.append(_Judged(item.call_id or "", call, swap))
        return b"".join(sent)

    def _completed(self, event: bytes, read: _Event) -> bytes:
        """The last event, which has the usage and repeats every item."""
        response = read.response or _Response()
        self.tokens = tokens_of(response.usage)
        listed = bytes(response.output)
        items = list_elements(listed) if listed not in _ABSENT else []
        swaps = [self._repeated(item) for item in items] if items is not None else []
        if items is None:
            self._judge.unread()
        if not any(swaps):
            return event
        data = _DECODE(data_of(event))
        for item, swap in zip(data["response"]["output"], swaps, strict=True):
            if swap is not None:
                _put_call(item, swap)
        return with_data(event, _ENCODE(data))

    def _repeated(self, raw: bytes) -> ToolCall | None:
        """The call that was sent in the place of an item that the last event repeats; None if it is as it was."""
        try:
            item = _ITEM.decode(raw)
        except NOT_JSON:
            self._judge.unread()
            return None
        call = _call_of(item)
        if call is None:
            if not _calls_nothing(item):
                self._judge.unread()
            return None
        for at, judged in enumerate(self._judged):
            if (judged.call_id, judged.call) == (item.call_id, call):
                # Calls may share an id: each of them is repeated once.
                return self._judged.pop(at).swap
        self._judge.unread()
        return None


def _with_item(event: bytes, call: ToolCall) -> bytes:
    """The event with another call in its item."""
    data = _DECODE(data_of(event))
    _put_call(data["item"], call)
    return with_data(event, _ENCODE(data))


def _edited(events: list[bytes], call: ToolCall) -> list[bytes]:
    """The events before the last one, rewritten for another call: its text is in one delta."""
    edited: list[bytes] = []
    sent = False
    for event in events:
        data = _DECODE(data_of(event))
        if data["type"].endswith(".delta"):
            if sent:
                continue
            data["delta"], sent = call.text, True
        elif data["type"].endswith(".done"):
            data["input" if call.custom else "arguments"] = call.text
        elif isinstance(item := data.get("item"), dict) and item.get(ARGUMENTS.get(str(item.get("type")), "")):
            _put_call(item, call)
        edited.append(with_data(event, _ENCODE(data)))
    return edited
