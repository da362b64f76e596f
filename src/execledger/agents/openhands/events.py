"""The events of OpenHands, of both generations: those of the SDK have a ``kind``, older ones name what they are.

Only the fields that tell what was done and what came back are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder

from execledger.runs.decoding import Undecodable, decode, fields_of, lines_of, read_lines


class Response(Struct, frozen=True):
    """The model's response that an event came from."""

    id: str | None = None
    """Its id: calls that were made at once share it."""
    model: str | None = None
    """The model."""
    usage: Any = None
    """What the provider counted."""


class CallMetadata(Struct, frozen=True):
    """What an older event says about the call of the model that it came from."""

    model_response: Response | None = None
    """The response."""


class OpenHandsCall(Struct, frozen=True):
    """The call of a tool as the model wrote it."""

    arguments: Any = None
    """Its arguments, as JSON."""


class Event(Struct, frozen=True):
    """An event of either generation."""

    id: int | str | None = None
    """Its number or id."""
    source: str | None = None
    """Who it comes from: ``agent``, ``user`` or ``environment``."""
    kind: str | None = None
    """What it is, in the SDK."""
    timestamp: Any = None
    """When it happened."""
    thought: Any = None
    """What the model wrote beside a call, in the SDK; older events have it among the arguments."""
    action: Any = None
    """The name of an action; in the SDK the action itself."""
    args: Any = None
    """The arguments of an action."""
    observation: Any = None
    """The name of an observation; in the SDK the observation itself."""
    content: Any = None
    """The text of an observation."""
    extras: Any = None
    """What is known about an observation besides."""
    cause: int | None = None
    """The number of the action that an observation answers."""
    tool_call_metadata: CallMetadata | None = None
    """Where an older event came from."""
    tool_name: str | None = None
    """The tool, in the SDK."""
    tool_call_id: str | None = None
    """The id of the call, in the SDK."""
    tool_call: OpenHandsCall | None = None
    """The call, in the SDK."""
    llm_response_id: str | None = None
    """The id of the model's response, in the SDK."""
    llm_message: Any = None
    """What was said, in the SDK."""
    error: str | None = None
    """Why a call was not carried out, in the SDK."""
    rejection_reason: str | None = None
    """Why the user would not have it, in the SDK."""
    key: str | None = None
    """What has changed about the conversation, in the SDK."""
    value: Any = None
    """What it is now."""

    @property
    def response(self) -> Response:
        """The response that it came from, as far as it says."""
        return (self.tool_call_metadata or CallMetadata()).model_response or Response(self.llm_response_id)


_EVENTS: Decoder[list[Event | list[Event]] | None] = Decoder(list[Event | list[Event]] | None)
_EVENT, _ITEMS = Decoder(Event), Decoder(list[Raw])


def is_event(fields: Mapping[str, Raw]) -> bool:
    """These are the fields of an event."""
    names = fields.keys()
    return bool(names & {"action", "observation", "kind"}) and bool(
        names & {"source", "args", "extras", "tool_call_id"}
    )


def is_event_list(data: bytes | Raw) -> bool:
    """A list of events, or of pairs of an action and its observation."""
    try:
        first = bytes(decode("", data, _ITEMS, "")[0])
        first = bytes(decode("", first, _ITEMS, "")[0]) if first.startswith(b"[") else first
    except (Undecodable, IndexError, RecursionError):
        return False
    return is_event(fields_of(first))


def is_event_lines(data: bytes) -> bool:
    """The first line is an event."""
    return is_event(fields_of(next(lines_of(data), (0, b""))[1]))


def decode_events(name: str, data: bytes | Raw, where: str) -> list[Event]:
    """The events of a list, one after the other; older harnesses keep pairs."""
    items = decode(name, data, _EVENTS, where)
    return [event for item in items or () for event in (item if isinstance(item, list) else (item,))]


def decode_event_lines(name: str, data: bytes) -> tuple[list[Event | None], tuple[str, ...]]:
    """Events, one on each line, None for each line that can't be read; and the sentence about these."""
    events: list[Event | None] = []

    def take(line: bytes) -> None:
        events.append(decode(name, line, _EVENT, ""))

    return events, read_lines(name, data, take, lambda: events.append(None))
