"""The Responses dialect: requests split and joined, items read and edited, calls held in a stream."""

from __future__ import annotations

import json
from typing import Any

from execledger.proxy.dialect import Leaf
from execledger.proxy.dialects.responses import Responses
from execledger.proxy.worker import run_to_end
from execledger.runs.usage import UNKNOWN, Tokens
from execledger.session.adapter import ToolCall

DIALECT = Responses()


def raw(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def event(kind: str, **fields: Any) -> bytes:
    data = json.dumps({"type": kind, **fields}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def test_a_request_is_joined_as_it_was_split() -> None:
    """Every field keeps its place and its bytes, unknown ones included."""
    body = b'{"model":"m","input":[{"type":"message"},{"a":1.50}],"odd":{"b" : "\\u00e9"},"stream":true}'
    request = run_to_end(DIALECT.split("/responses", body))
    assert request is not None
    assert (request.model, request.cache_key) == ("m", "")
    assert request.joined(request.leaves) == body
    tail = DIALECT.view_leaf("state")
    assert json.loads(request.joined([*request.leaves, tail]))["input"][-1] == {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "state"}],
    }


def test_what_is_no_conversation_is_left_alone() -> None:
    """A body of another shape is no request of this dialect."""
    for body in (b"", b"[]", b'{"input":"text"}', b'{"model":"m"}', b"\xff", b'{"input":[}'):
        assert run_to_end(DIALECT.split("/responses", body)) is None


def test_items_are_read_for_what_they_are() -> None:
    """Calls, results, the model's own items, words of the user, and everything else."""
    text = [{"type": "input_text", "text": "hello"}]
    call = {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"}
    image = [{"type": "input_image", "image_url": "x"}]
    read = {
        Leaf("user", text="hello"): raw(type="message", role="user", content=text),
        Leaf("context", text="hello"): raw(type="message", role="developer", content=text),
        Leaf("model"): raw(type="message", role="assistant", content=text),
        Leaf("call", "c", ToolCall("exec_command", "{}")): raw(**call),
        Leaf("call", "c", ToolCall("exec", "text(1)", custom=True)): raw(
            type="custom_tool_call", call_id="c", name="exec", input="text(1)"
        ),
        Leaf("call", "c", ToolCall("clock.now", "{}")): raw(**{**call, "namespace": "clock", "name": "now"}),
        Leaf("result", "c", parts=("out",)): raw(type="function_call_output", call_id="c", output="out"),
        Leaf("result", "c", parts=("hello",)): raw(type="custom_tool_call_output", call_id="c", output=text),
        Leaf("result", "c"): raw(type="function_call_output", call_id="c", output=image),
        Leaf("context"): b"17",
    }
    assert {item: DIALECT.leaf(data) for item, data in read.items()} == {item: item for item in read}
    assert DIALECT.leaf(raw(type="reasoning", encrypted_content="x")) == Leaf("model")
    assert DIALECT.leaf(raw(**call, encrypted_function_args="x")) == Leaf("call", "c", ToolCall("function", ""))
    assert DIALECT.leaf(raw(type="shell_call", call_id="c")) == Leaf("call", "c", ToolCall("shell", ""))
    assert DIALECT.leaf(raw(type="from_the_future")) == Leaf("context")


def test_items_are_edited_in_their_own_shape() -> None:
    """A call keeps its other fields; a result stays a text or a list of parts."""
    call = raw(type="function_call", id="f", name="t", arguments="shim", call_id="c")
    assert json.loads(DIALECT.with_call(call, ToolCall("t", "original"))) == {
        "type": "function_call",
        "id": "f",
        "name": "t",
        "arguments": "original",
        "call_id": "c",
    }
    plain = raw(type="function_call_output", call_id="c", output="long")
    assert json.loads(DIALECT.with_parts(plain, ("short",)))["output"] == "short"
    listed = raw(type="custom_tool_call_output", call_id="c", output=[{"type": "input_text", "text": "long"}])
    expected = [{"type": "input_text", "text": "head"}, {"type": "input_text", "text": "short"}]
    assert json.loads(DIALECT.with_parts(listed, ("head", "short")))["output"] == expected


ITEM = {"type": "function_call", "call_id": "c", "name": "t", "arguments": "original"}
CALL_EVENTS = [
    event("response.output_item.added", output_index=1, item={**ITEM, "arguments": ""}),
    event("response.function_call_arguments.delta", output_index=1, delta="orig"),
    event("response.function_call_arguments.delta", output_index=1, delta="inal"),
    event("response.function_call_arguments.done", output_index=1, arguments="original"),
    event("response.output_item.done", output_index=1, item=ITEM),
]
COMPLETED = event(
    "response.completed",
    response={
        "id": "r",
        "output": [{"type": "message"}, ITEM],
        "usage": {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}},
    },
)


def test_only_a_call_is_held() -> None:
    """Text passes at once; a call's events come out together when it is complete, as they were."""
    stream = DIALECT.stream(lambda call_id, call: None)
    text = event("response.output_text.delta", output_index=0, delta="a _call in a text")
    sent = [stream.feed(one) for one in (*CALL_EVENTS[:2], text, *CALL_EVENTS[2:], COMPLETED)]
    assert sent == [b"", b"", text, b"", b"", b"".join(CALL_EVENTS), COMPLETED]
    assert stream.tokens == Tokens.of(9, 4, output=2)
    assert stream.end() == b""


def test_a_call_is_swapped_wherever_it_is_told() -> None:
    """The deltas, the done events and the final list all tell of the shim."""
    asked: list[tuple[str, ToolCall]] = []

    def propose(call_id: str, call: ToolCall) -> ToolCall | None:
        asked.append((call_id, call))
        return ToolCall("t", "shim")

    stream = DIALECT.stream(propose)
    sent = b"".join(stream.feed(one) for one in (*CALL_EVENTS, COMPLETED))
    assert asked == [("c", ToolCall("t", "original"))]
    assert b"original" not in sent
    told = [json.loads(line[6:]) for line in sent.split(b"\n") if line.startswith(b"data: ")]
    assert [one["type"].rsplit(".", 1)[1] for one in told] == ["added", "delta", "done", "done", "completed"]
    assert (told[1]["delta"], told[2]["arguments"], told[3]["item"]["arguments"]) == ("shim", "shim", "shim")
    assert told[4]["response"]["output"][1] == {**ITEM, "arguments": "shim"}


def test_a_stream_of_done_events_alone_is_judged_too() -> None:
    """A call that was never announced is swapped all the same."""
    stream = DIALECT.stream(lambda call_id, call: ToolCall("t", "shim"))
    assert b'"arguments":"shim"' in stream.feed(CALL_EVENTS[-1])


def test_what_was_held_comes_out_at_the_end() -> None:
    """A stream that breaks off in the middle of a call gives what it got."""
    stream = DIALECT.stream(lambda call_id, call: None)
    assert [stream.feed(one) for one in CALL_EVENTS[:2]] == [b"", b""]
    assert stream.end() == b"".join(CALL_EVENTS[:2])


def test_a_call_that_only_the_provider_can_read_is_let_through() -> None:
    """Encrypted arguments are nobody's business."""
    stream = DIALECT.stream(lambda call_id, call: ToolCall("t", "shim"))
    secret = event("response.output_item.done", output_index=1, item={**ITEM, "encrypted_function_args": "x"})
    assert stream.feed(secret) == secret


def test_no_event_is_lost_or_overtaken() -> None:
    """Calls without a place of their own, an answer that breaks off, an event that can't be read: all come in order."""
    keyless = [
        event("response.output_item.added", item={**ITEM, "call_id": name, "arguments": ""}) for name in ("a", "b")
    ]
    for stream_events in (
        [*keyless, event("response.output_item.done", item={**ITEM, "call_id": "b"})],
        [*CALL_EVENTS[:2], event("response.incomplete", response={"output": [ITEM]})],
        [*CALL_EVENTS[:2], event("response.failed", response=None)],
        [*CALL_EVENTS[:2], b'event: x\ndata: {"type":"response.output_item.done","item":{"call_id":7}}\n\n'],
    ):
        stream = DIALECT.stream(lambda call_id, call: None)
        sent = b"".join(stream.feed(one) for one in stream_events) + stream.end()
        assert sent == b"".join(stream_events)


def test_an_answer_without_usage_is_still_an_answer() -> None:
    """It counts as a model call of which nothing else is known."""
    stream = DIALECT.stream(lambda call_id, call: None)
    stream.feed(event("response.completed", response={"id": "r", "output": []}))
    assert stream.tokens == UNKNOWN
