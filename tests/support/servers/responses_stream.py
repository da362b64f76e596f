"""The event stream of the Responses API: what one answer of a model looks like on the wire, event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from execledger.testing.model_dialects import Json, Usage

PIECE = 32
"""How many characters a delta has at most."""
UNKNOWN_FIELD = "x_from_tomorrow"
"""A field that no client knows, for answers that must be passed on although they are strange."""
UNKNOWN_EVENT = "response.tomorrow.happened"
"""A type of event that no client knows."""
COMMENT = b": nothing happened yet\n\n"
"""What a server sends to keep a connection open."""


def response_object(items: Sequence[Json], *, identity: str, model: str, usage: Usage) -> Json:
    """The finished answer, as its last event holds it and as a request without streaming gets it."""
    counts = {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.completion,
    }
    return {**_opening(identity, model), "status": "completed", "output": list(items), "usage": counts}


def event_frames(
    items: Sequence[Json], *, identity: str, model: str, usage: Usage, strange: bool = False
) -> list[bytes]:
    """The events of an answer, in order, each as the bytes that are sent; ``strange`` puts unknown ones in between."""
    opening = _opening(identity, model)
    events: list[Json] = [{"type": kind, "response": opening} for kind in ("response.created", "response.in_progress")]
    for index, item in enumerate(items):
        events += ({**event, "output_index": index} for event in _item_events(item))
    finished = response_object(items, identity=identity, model=model, usage=usage)
    events.append({"type": "response.completed", "response": finished})
    if strange:
        events = [part for event in events for part in (event, {"type": UNKNOWN_EVENT, "nested": {"a": [1, None]}})]
        # Clients stop reading at the completion, so nothing stands behind it.
        events.pop()
    return [
        _frame({**event, "sequence_number": number, **({UNKNOWN_FIELD: "é"} if strange else {})}, strange)
        for number, event in enumerate(events)
    ]


def _opening(identity: str, model: str) -> Json:
    """An answer that has just begun."""
    return {"id": identity, "object": "response", "status": "in_progress", "model": model, "output": []}


def _frame(event: Json, strange: bool) -> bytes:
    """An event as it is sent."""
    head = COMMENT if strange and event["sequence_number"] % 5 == 3 else b""
    return b"%sevent: %s\ndata: %s\n\n" % (head, event["type"].encode(), msgspec.json.encode(event))


def _item_events(item: Json) -> Iterator[Json]:
    """The events of one output item."""
    match item["type"]:
        case "message":
            yield from _message(item)
        case "reasoning":
            yield from _reasoning(item)
        case "function_call":
            yield from _call(item, "function_call_arguments", "arguments")
        case "custom_tool_call":
            yield from _call(item, "custom_tool_call_input", "input")
        case _:
            yield {"type": "response.output_item.added", "item": item}
            yield _done(item)


def _message(item: Json) -> Iterator[Json]:
    """Words are streamed as they come."""
    place = {"item_id": item["id"], "content_index": 0}
    part, text = item["content"][0], item["content"][0]["text"]
    yield {"type": "response.output_item.added", "item": {**item, "content": [], "status": "in_progress"}}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    yield from ({"type": "response.output_text.delta", **place, "delta": piece} for piece in _pieces(text))
    yield {"type": "response.output_text.done", **place, "text": text}
    yield {"type": "response.content_part.done", **place, "part": part}
    yield _done(item)


def _reasoning(item: Json) -> Iterator[Json]:
    """Of a thought, the summary is streamed; its encrypted content comes at the end."""
    place = {"item_id": item["id"], "summary_index": 0}
    part, text = item["summary"][0], item["summary"][0]["text"]
    yield {"type": "response.output_item.added", "item": {**item, "summary": []}}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}}
    yield from ({"type": "response.reasoning_summary_text.delta", **place, "delta": piece} for piece in _pieces(text))
    yield {"type": "response.reasoning_summary_text.done", **place, "text": text}
    yield {"type": "response.reasoning_summary_part.done", **place, "part": part}
    yield _done(item)


def _call(item: Json, stem: str, field: str) -> Iterator[Json]:
    """The arguments of a call are streamed; clients act on the item that is done."""
    yield {"type": "response.output_item.added", "item": {**item, field: "", "status": "in_progress"}}
    for piece in _pieces(item[field]):
        yield {"type": f"response.{stem}.delta", "item_id": item["id"], "delta": piece}
    yield {"type": f"response.{stem}.done", "item_id": item["id"], field: item[field]}
    yield _done(item)


def _done(item: Json) -> Json:
    return {"type": "response.output_item.done", "item": item}


def _pieces(text: str) -> Iterator[str]:
    """A text as it is streamed: in several pieces, also where it is short."""
    size = max(1, min(PIECE, -(-len(text) // 3)))
    return (text[start : start + size] for start in range(0, len(text), size))
