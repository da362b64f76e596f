"""The events of one Responses answer on their way to the client.

Text and reasoning pass at once. The events of a tool call are held until the call is complete and judged; then they go
on as they came, or with another call in them.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from execledger.proxy.dialect import Propose, Tokens
from execledger.proxy.dialects.responses_calls import ASKED, WireCall, call_of, editable, put_call
from execledger.proxy.limits import MAX_CALL, MAX_HELD
from execledger.proxy.sse import data_of, with_data
from execledger.session.adapter import ToolCall

ENDS = (b"response.completed", b"response.incomplete", b"response.failed")
"""The events that end an answer."""
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(dict[str, Any]).decode


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: dict[str, Any] | None = None


class _Response(Struct):
    usage: _Usage | None = None


class _Event(Struct):
    """The fields of any event that we look at."""

    type: str = ""
    output_index: int | None = None
    item: WireCall | None = None
    response: _Response | None = None


_EVENT = msgspec.json.Decoder(_Event)


class _Held(Struct):
    """A call that is not complete yet."""

    events: list[bytes] = field(default_factory=list)
    """Its events so far."""
    size: int = 0
    """Their bytes."""


class ResponsesStream:
    """Holds and edits the calls of one answer."""

    def __init__(self, propose: Propose) -> None:
        """``propose`` is asked about every complete call."""
        self.tokens: Tokens | None = None
        self._propose = propose
        self._held: dict[int | None, _Held] = {}
        self._size = 0
        self._large: set[int | None] = set()
        self._swapped: dict[str, ToolCall] = {}

    def feed(self, event: bytes) -> bytes:
        """What may be sent on now."""
        plain = b"_call" not in event and b"[DONE]" not in event and not any(end in event for end in ENDS)
        if plain and not (self._held and b"output_item" in event):
            return event
        try:
            read = _EVENT.decode(data_of(event))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._unread(event)
        if read.type.encode() in ENDS:
            return self.end() + self._completed(event, read)
        call = call_of(read.item) if read.item is not None else None
        if call is not None and read.item is not None and read.type == "response.output_item.done":
            sent = self._done(event, read.item, call, read.output_index)
            # Let go of only now: after a fault, ``end`` still has it.
            self._let_go(read.output_index)
            return sent
        before = b""
        if call is not None and read.type == "response.output_item.added":
            before = self._let_go(read.output_index)
            self._held[read.output_index] = _Held()
        held = self._held.get(read.output_index)
        return before + (event if held is None else self._hold(event, read, held))

    def end(self) -> bytes:
        """What was still held, as it came."""
        rest = b"".join(event for held in self._held.values() for event in held.events)
        self._held.clear()
        self._size = 0
        return rest

    def skip(self, piece: bytes) -> bytes:
        """What is sent on for a piece of an event that is too long to be read."""
        self._propose("", ToolCall("unread", ""))
        return self.end() + piece

    def _unread(self, event: bytes) -> bytes:
        """An event that can't be read: what it belongs to can't be told, so that nothing may stay behind it."""
        if b"output_item.done" in event:
            # It may be a call, and then it runs.
            self._propose("", ToolCall("unread", ""))
        return self.end() + event

    def _let_go(self, index: int | None) -> bytes:
        """What was held of one call, as it came."""
        held = self._held.pop(index, None)
        self._size -= held.size if held is not None else 0
        return b"" if held is None else b"".join(held.events)

    def _hold(self, event: bytes, read: _Event, held: _Held) -> bytes:
        held.events.append(event)
        held.size += len(event)
        self._size += len(event)
        if held.size > MAX_CALL:
            self._large.add(read.output_index)
            return self._let_go(read.output_index)
        if self._size > MAX_HELD:
            self._large.update(self._held)
            return self.end()
        return b""

    def _done(self, event: bytes, item: WireCall, call: ToolCall, index: int | None) -> bytes:
        """A complete call: judged, and sent on with what was held of it."""
        held = self._held.get(index)
        before = held.events if held is not None else []
        swap = self._propose(item.call_id or "", call)
        if swap is None or not editable(item) or index in self._large:
            return b"".join((*before, event))
        self._swapped[item.call_id or ""] = swap
        return b"".join((*_edited(before, swap), _with_item(event, swap)))

    def _completed(self, event: bytes, read: _Event) -> bytes:
        """The last event: it tells the usage, and repeats every item."""
        usage = (read.response.usage if read.response is not None else None) or _Usage()
        cached = (usage.input_tokens_details or {}).get("cached_tokens")
        known = cached if isinstance(cached, int) else None
        self.tokens = Tokens(usage.input_tokens, known, usage.output_tokens)
        if not self._swapped:
            return event
        data = _DECODE(data_of(event))
        for item in (data.get("response") or {}).get("output") or ():
            if item.get("call_id") in self._swapped and item.get("type") in ASKED:
                put_call(item, self._swapped[item["call_id"]])
        return with_data(event, _ENCODE(data))


def _with_item(event: bytes, call: ToolCall) -> bytes:
    """The event with another call in its item."""
    data = _DECODE(data_of(event))
    put_call(data["item"], call)
    return with_data(event, _ENCODE(data))


def _edited(events: list[bytes], call: ToolCall) -> list[bytes]:
    """The events before the last one, for another call: its text comes in one delta."""
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
        edited.append(with_data(event, _ENCODE(data)))
    return edited
