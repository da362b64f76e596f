"""Calls that a dialect can't read, or that run elsewhere: the answer passes unchanged, and may have any effect."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from execledger.proxy.dialect import UNREAD, Leaf, StreamEditor
from execledger.proxy.dialects.chat import Chat
from execledger.proxy.dialects.gemini import Gemini
from execledger.proxy.dialects.messages import Messages
from execledger.proxy.dialects.responses import Responses
from execledger.proxy.worker import run_to_end
from execledger.session.adapter import ToolCall
from tests.proxy.dialects.samples import (
    CHAT_BODY,
    CHAT_EVENTS,
    MESSAGES_EVENTS,
    RESPONSES_BODY,
    RESPONSES_EVENTS,
    SAMPLES,
    Json,
    chat_call,
    chunk,
    event,
    gemini_answer,
    read_chat_events,
    responses_item,
)

SHIM = '{"command":"echo shim"}'
Proposals = list[tuple[str, ToolCall]]


def swapping(asked: Proposals) -> Callable[[str, ToolCall], ToolCall | None]:
    """A judge that puts a shim in the place of every call."""

    def propose(name: str, call: ToolCall) -> ToolCall | None:
        asked.append((name, call))
        return ToolCall(call.name, SHIM, call.custom) if call != UNREAD else None

    return propose


def fed(editor: StreamEditor, events: Sequence[bytes]) -> bytes:
    return b"".join([*map(editor.feed, events), editor.end()])


# Streams


def block(kind: str, **more: Any) -> Json:
    return {"type": "content_block_start", "index": 1, "content_block": {"type": kind, **more}}


def messages_stream(*events: Json) -> list[bytes]:
    return [MESSAGES_EVENTS[0], *map(event, events), *MESSAGES_EVENTS[-2:]]


def responses_stream(*items: Json) -> list[bytes]:
    done = [event({"type": "response.output_item.done", "output_index": at, "item": i}) for at, i in enumerate(items)]
    return [*done, event({"type": "response.completed", "response": {"output": [*items]}})]


STOP = {"type": "content_block_stop", "index": 1}
CALL = {"id": "c", "name": "Bash", "input": {"command": "ls"}}
BY_CODE = {"caller": {"type": "code_execution_20250825", "tool_id": "s"}}
LEGACY = {"name": "bash", "arguments": '{"command":"rm a"}'}
BEGUN = {"index": 0, "id": "c", "function": {"name": "bash", "arguments": '{"command":'}}
PART = {"functionCall": {"name": "shell", "args": {"command": "ls"}}}

UNREAD_STREAMS: dict[str, list[bytes]] = {
    "messages, a server tool": messages_stream(block("server_tool_use", id="s", name="code_execution", input={}), STOP),
    "messages, an MCP call": messages_stream(block("mcp_tool_use", id="s", name="write", input={}), STOP),
    "messages, a type of the future": messages_stream(block("computer_call", id="s"), STOP),
    "messages, a call by code": messages_stream(block("tool_use", **CALL, **BY_CODE), STOP),
    "messages, an odd block": messages_stream({"type": "content_block_start", "index": 1, "content_block": [7]}, STOP),
    "messages, a call without a name": messages_stream(block("tool_use", id="c", name=None), STOP),
    "messages, an escaped type": [
        one.replace(b"mcp_tool_use", b"mcp_tool\\u005fuse").replace(b"block_start", b"block\\u005fstart")
        for one in messages_stream(block("mcp_tool_use", id="s", name="write", input={}), STOP)
    ],
    "messages, in the first event": [
        event({"type": "message_start", "message": {"content": [{"type": "tool_use", **CALL}]}}),
        *MESSAGES_EVENTS[-2:],
    ],
    "messages, no end of the block": messages_stream(block("tool_use", **CALL)),
    "messages, begun twice": messages_stream(block("tool_use", **CALL), block("text", text="")),
    "messages, an odd delta": messages_stream(
        block("tool_use", **CALL), {"type": "content_block_delta", "index": 1, "delta": 7}, STOP
    ),
    "chat, a legacy call": [chunk({"function_call": LEGACY}), chunk({}, "function_call"), b"data: [DONE]\n\n"],
    "chat, a legacy call in pieces": [
        chunk({"function_call": {"name": "bash", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"command":"rm a"}'}}),
        chunk({}, "function_call"),
    ],
    "chat, a whole message": [
        event({"choices": [{"index": 0, "message": {"tool_calls": [chat_call("c", "{}")]}, "finish_reason": "stop"}]})
    ],
    "chat, two choices": [
        event({"choices": [{"index": at, "delta": {"tool_calls": [piece]}}]})
        for piece in (BEGUN, {"index": 0, "function": {"arguments": '"ls"}'}})
        for at in (0, 1)
    ]
    + [event({"choices": [{"index": at, "delta": {}, "finish_reason": "tool_calls"}]}) for at in (0, 1)],
    "chat, two choices in one event": [
        event({"choices": [{"index": at, "delta": {"tool_calls": [BEGUN]}} for at in (0, 1)]}),
        event({"choices": [{"index": at, "delta": {}, "finish_reason": "tool_calls"} for at in (0, 1)]}),
    ],
    "chat, another choice of text": [
        event({"choices": [{"index": 1, "delta": {"content": "Hi."}}]}),
        chunk({"tool_calls": [{**BEGUN, "function": {"name": "bash", "arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
    ],
    "chat, calls that share an index": [
        chunk({"tool_calls": [{"index": 0, "id": name, "function": {"name": "bash", "arguments": "{}"}}]})
        for name in ("a", "b")
    ]
    + [chunk({}, "tool_calls")],
    "chat, no end": CHAT_EVENTS[:4],
    "gemini, code": [event(gemini_answer({"executableCode": {"language": "PYTHON", "code": "1"}}, last=True))],
    "gemini, code without usage": [event({"candidates": [{"content": {"parts": [{"executableCode": {}}]}}]})],
    "gemini, a server tool": [event(gemini_answer({"toolCall": {"toolType": "CODE", "id": "s"}}, last=True))],
    "gemini, a call in pieces": [
        event(gemini_answer({"functionCall": {"name": "shell", "partialArgs": [{}], "willContinue": True}}, last=True))
    ],
    "gemini, two candidates": [event({"candidates": [{"content": {"parts": [PART]}}] * 2})],
    "gemini, another candidate": [event({"candidates": [{"index": 1, "content": {"parts": [PART]}}]})],
    "gemini, odd candidates": [event({"candidates": {"content": {"parts": [PART]}}})],
    "gemini, an odd content": [event({"candidates": [{"content": [{"parts": [PART]}]}]})],
    "responses, an MCP call": responses_stream({"type": "mcp_call", "id": "m", "name": "write", "arguments": "{}"}),
    "responses, an approval": responses_stream({"type": "mcp_approval_request", "id": "m", "name": "write"}),
    "responses, code": responses_stream({"type": "code_interpreter_call", "id": "m", "code": "1"}),
    "responses, a call without an id": responses_stream({"type": "function_call", "name": "shell", "arguments": "{}"}),
    "responses, a type of the future": responses_stream({"type": "action", "call_id": "c"}),
    "responses, calls in the last event alone": [event({"type": "response.completed", "response": RESPONSES_BODY})],
    "responses, odd items in the last event": [
        event({"type": "response.completed", "response": {"output": {"0": responses_item("c", "{}")}}})
    ],
    "responses, an odd last event": [event({"type": "response.completed", "response": [responses_item("c", "{}")]})],
}
"""Answers of which no call can be judged, by the name of their dialect and what is odd about them."""


@pytest.mark.parametrize("case", UNREAD_STREAMS)
def test_a_stream_whose_calls_cannot_be_read_may_call_anything(case: str) -> None:
    """It arrives byte for byte, also where every call is to be replaced, and is noted once."""
    asked: Proposals = []
    editor = SAMPLES[case.partition(",")[0]].dialect.stream(swapping(asked))
    assert fed(editor, UNREAD_STREAMS[case]) == b"".join(UNREAD_STREAMS[case])
    assert asked == [("", UNREAD)]


QUIET_STREAMS: dict[str, list[bytes]] = {
    "messages, a search": messages_stream(block("server_tool_use", id="s", name="web_search", input={}), STOP),
    "messages, input of a search": messages_stream(
        block("server_tool_use", id="s", name="web_search", input={}),
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        STOP,
    ),
    "messages, its result": messages_stream(block("web_search_tool_result", tool_use_id="s", content=[]), STOP),
    "messages, thinking": messages_stream(block("redacted_thinking", data="x"), STOP),
    "messages, no end at all": messages_stream(block("tool_use", **CALL))[:-2],
    "chat, null calls": [chunk({"content": "Hi.", "tool_calls": None, "function_call": None}), chunk({}, "stop")],
    "chat, its last message": [
        event({"choices": [{"index": 0, "message": {"content": "Hi.", "tool_calls": None}, "finish_reason": "stop"}]})
    ],
    "gemini, a signature alone": [event(gemini_answer({"thoughtSignature": "S"}, last=True))],
    "gemini, a text of the future": [event(gemini_answer({"text": "Hi.", "annotation": {}}, last=True))],
    "gemini, nothing": [event({"candidates": [{"content": {"parts": None}, "finishReason": "STOP"}]})],
    "responses, a search": responses_stream({"type": "web_search_call", "id": "w"}, {"type": "reasoning"}),
    "responses, no end of a call": [RESPONSES_EVENTS[1], event({"type": "response.incomplete", "response": {}})],
    "responses, no end at all": RESPONSES_EVENTS[1:3],
}
"""Answers that call nothing which could write, or only what their clients do not run."""


@pytest.mark.parametrize("case", QUIET_STREAMS)
def test_a_stream_that_calls_nothing_is_known_to(case: str) -> None:
    """Otherwise every text would cost what is known of the files."""
    asked: Proposals = []
    editor = SAMPLES[case.partition(",")[0]].dialect.stream(swapping(asked))
    assert fed(editor, QUIET_STREAMS[case]) == b"".join(QUIET_STREAMS[case])
    assert asked == []


def test_more_input_of_a_judged_call_may_make_it_another() -> None:
    """Some clients append it, whatever was said before."""
    asked: Proposals = []
    more = {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "x"}}
    editor = Messages().stream(lambda name, call: asked.append((name, call)))
    events = messages_stream(block("tool_use", **CALL), STOP, more)
    assert fed(editor, events) == b"".join(events)
    assert asked == [("c", ToolCall("Bash", '{"command":"ls"}')), ("", UNREAD)]


# Whole answers

UNREAD_BODIES: dict[str, Json] = {
    "messages, a server tool": {"content": [{"type": "server_tool_use", "id": "s", "name": "bash_code_execution"}]},
    "messages, an MCP call": {"content": [{"type": "mcp_tool_use", "id": "s", "name": "write", "input": {}}]},
    "messages, a call by code": {"content": [{"type": "tool_use", **CALL, **BY_CODE}]},
    "chat, a legacy call": {"choices": [{"message": {"content": None, "function_call": LEGACY}}]},
    "chat, two choices": {"choices": [CHAT_BODY["choices"][0]] * 2},
    "gemini, two candidates": {"candidates": [{"content": {"parts": [PART]}}] * 2},
    "gemini, code": gemini_answer({"executableCode": {"code": "1"}}),
    "gemini, with a login, late": {"traceId": "t" * 200_000, "response": gemini_answer({"executableCode": {}})},
    "responses, an MCP call": {"output": [{"type": "mcp_call", "id": "m", "name": "write"}]},
    "responses, a call without an id": {"output": [{"type": "function_call", "name": "shell", "arguments": "{}"}]},
}
"""Bodies of which no call can be judged."""


@pytest.mark.parametrize("case", UNREAD_BODIES)
def test_a_whole_answer_whose_calls_cannot_be_read_may_call_anything(case: str) -> None:
    """As in a stream."""
    asked: Proposals = []
    body = json.dumps(UNREAD_BODIES[case]).encode()
    assert SAMPLES[case.partition(",")[0]].dialect.answer(body, swapping(asked))[0] == body
    assert asked == [("", UNREAD)]


def test_a_call_of_another_kind_is_proposed_and_never_edited() -> None:
    """Its arguments are not where those of a function are."""
    custom = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "x"}}
    body = json.dumps({"choices": [{"message": {"tool_calls": [custom]}}]}).encode()
    events = [chunk({"tool_calls": [{"index": 0, **custom}]}), chunk({}, "tool_calls")]
    asked: Proposals = []
    assert Chat().answer(body, swapping(asked))[0] == body
    received = fed(Chat().stream(swapping(asked)), events)
    assert asked == [("c", ToolCall("custom", ""))] * 2
    assert json.loads(received.split(b"\n")[0][6:])["choices"][0]["delta"]["tool_calls"] == [{"index": 0, **custom}]


# Histories and requests


def test_a_legacy_call_in_a_history_is_an_unread_call() -> None:
    """And a message of role ``function`` is its result, which is not edited."""
    messages: list[Json] = [
        {"role": "user", "content": "Mend it."},
        {"role": "assistant", "content": None, "function_call": LEGACY},
        {"role": "function", "name": "bash", "content": "text"},
        {"role": "assistant", "content": "Done.", "function_call": None},
    ]
    request = run_to_end(Chat().split("", json.dumps({"model": "m", "messages": messages}).encode()))
    assert request is not None
    leaves = [Leaf("user", text="Mend it."), Leaf("call", "", UNREAD), Leaf("result"), Leaf("model")]
    assert [Chat().leaf(raw) for raw in request.leaves] == leaves
    half = b'message\n{"role":"assistant","content":"\\ud800","function_call":{}}'
    assert Chat().leaf(half) == Leaf("call", "", UNREAD)


@pytest.mark.parametrize(
    ("fields", "offers", "names"),
    [
        ({"functions": [{"name": "bash"}]}, True, {"bash"}),
        ({"functions": [{"name": "bash"}], "function_call": "none"}, False, {"bash"}),
        ({"functions": [{"name": "bash"}], "tool_choice": "none"}, True, {"bash"}),
        ({"functions": []}, False, set()),
    ],
)
def test_a_request_with_functions_offers_tools(fields: Json, offers: bool, names: set[str]) -> None:
    """Its answer may call one of them."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi."}], **fields}).encode()
    request = run_to_end(Chat().split("", body))
    assert request is not None
    assert (request.offers_tools, set(request.tool_names)) == (offers, names)


def test_a_request_with_mcp_servers_offers_tools() -> None:
    """The provider calls them while it answers."""
    body = json.dumps({"messages": [{"role": "user", "content": "Hi."}], "mcp_servers": [{"url": "u"}]}).encode()
    request = run_to_end(Messages().split("", body))
    assert request is not None and request.offers_tools


def test_a_call_by_code_is_no_call_of_the_model() -> None:
    """Its result goes to the code, so that it is never edited."""
    for caller, kind in ((BY_CODE["caller"], "model"), ({"type": "direct"}, "call"), (None, "call"), ("odd", "model")):
        raw = b"assistant\n" + json.dumps({"type": "tool_use", **CALL, "caller": caller}).encode()
        assert Messages().leaf(raw).kind == kind


def test_a_call_of_gemini_may_have_no_id() -> None:
    """Missing or null, it is a call all the same, in an answer and in a history."""
    for own in ({}, {"id": None}):
        part = {"functionCall": {**PART["functionCall"], **own}}
        asked: Proposals = []
        Gemini().answer(json.dumps({"candidates": [{"content": {"parts": [part]}}]}).encode(), swapping(asked))
        call = ToolCall("shell", '{"command":"ls"}')
        assert asked == [("", call)]
        assert Gemini().leaf(b"model\n" + json.dumps(part).encode()) == Leaf("call", "", call)


# Swapped calls


def test_calls_that_share_an_id_are_edited_apart() -> None:
    """In the last event, which repeats them, each is what it was in its own event."""
    items = [responses_item("c", '{"command":"ls"}'), responses_item("c", '{"command":"rm a"}')]
    editor = Responses().stream(lambda _, call: ToolCall(call.name, SHIM) if "ls" in call.text else None)
    received = [json.loads(line[6:]) for line in fed(editor, responses_stream(*items)).split(b"\n") if line]
    expected = [SHIM, '{"command":"rm a"}']
    assert [one["item"]["arguments"] for one in received[:2]] == expected
    assert [item["arguments"] for item in received[2]["response"]["output"]] == expected


def test_events_of_another_call_are_never_edited() -> None:
    """Two calls without an index of their own: the events that are held may be those of the other one."""
    first, second = responses_item("a", '{"command":"ls"}'), responses_item("b", '{"command":"rm a"}')
    added = [event({"type": "response.output_item.added", "item": one}) for one in (first, second)]
    delta = event({"type": "response.function_call_arguments.delta", "delta": second["arguments"]})
    done = [event({"type": "response.output_item.done", "item": one}) for one in (first, second)]
    editor = Responses().stream(lambda name, call: ToolCall(call.name, SHIM) if name == "a" else None)
    assert fed(editor, [*added, delta, *done]) == b"".join([*added, delta, *done])


def test_the_first_event_of_a_replaced_call_has_no_input_of_its_own() -> None:
    """Some servers send all of it there; a client must not run what was replaced."""
    events = messages_stream(block("tool_use", **CALL), STOP)
    assert b'"ls"' not in fed(Messages().stream(swapping([])), events)
    item = responses_item("c", '{"command":"ls"}')
    added = event({"type": "response.output_item.added", "output_index": 0, "item": item})
    assert b"ls" not in fed(Responses().stream(swapping([])), [added, *responses_stream(item)])


def test_a_chat_call_in_the_last_event_is_replaced_with_those_before_it() -> None:
    """Some servers send all calls in one event, with the reason for the end."""
    pieces = [{"index": at, "id": f"c{at}", "function": {"name": "bash", "arguments": "{}"}} for at in (0, 1)]
    events = [chunk({"tool_calls": pieces[:1]}), chunk({"tool_calls": pieces[1:]}, "tool_calls"), CHAT_EVENTS[-1]]
    asked: Proposals = []
    answer = read_chat_events(fed(Chat().stream(swapping(asked)), events))
    assert [name for name, _ in asked] == ["c0", "c1"]
    assert answer.calls == [(name, "bash", json.loads(SHIM)) for name in ("c0", "c1")]


def test_usage_is_counted_once_and_whole() -> None:
    """Also in an answer whose calls are not judged."""
    events = [*UNREAD_STREAMS["chat, two choices"], CHAT_EVENTS[-2], CHAT_EVENTS[-1]]
    editor = Chat().stream(lambda _, __: None)
    for one in events[:-2]:
        editor.feed(one)
        assert editor.tokens is None
    fed(editor, events[-2:])
    assert editor.tokens is not None and (editor.tokens.input, editor.tokens.output) == (43, 7)
