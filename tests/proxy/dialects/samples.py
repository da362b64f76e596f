"""One short session in every dialect: what a client sends, what a server answers, and how a client reads the answer.

The readers are written from the formats' own descriptions, and share no code with the dialects.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from execledger.proxy.dialect import Dialect
from execledger.proxy.dialects.chat import Chat
from execledger.proxy.dialects.gemini import Gemini
from execledger.proxy.dialects.messages import Messages
from execledger.proxy.dialects.responses import Responses

Json = dict[str, Any]
Call = tuple[str, str, Any]
"""The id, name and arguments of a call, as a client reads them."""
ODD = {"from_the_future": {"a": [1.50, None, "\u00e9\u2028"]}}
"""A field that no version of any format has so far."""


class Answer(NamedTuple):
    """What a client makes of a streamed or whole answer."""

    text: str
    calls: list[Call]


class Sample(NamedTuple):
    """One dialect with what is said in it."""

    dialect: Dialect
    path: str
    request: Callable[[int], Json]
    """The request of a turn: the conversation so far, with the frame as a client changes it from turn to turn."""
    extra: Callable[[Json], tuple[Json, str]]
    """Removes the state view from a request; the rest, and the text of the view."""
    events: list[bytes]
    """A streamed answer: some text, and two calls."""
    body: Json
    """The same answer, not streamed."""
    read_events: Callable[[bytes], Answer]
    read_body: Callable[[Json], Answer]
    tokens: tuple[int, int]
    """The tokens of input and output that the answer reports."""


def event(data: object, name: str = "") -> bytes:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def data_lines(stream: bytes) -> list[Json]:
    lines = [line[5:].strip() for line in stream.decode().split("\n") if line.startswith("data:")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


# Messages


def messages_request(turn: int) -> Json:
    """Claude Code's habits: the breakpoint on the last block, a string where a message is one text."""
    blocks: list[tuple[str, list[Json]]] = [("user", [{"type": "text", "text": "Mend it."}])]
    for at in range(turn):
        call = {"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": {"command": f"cat {at}.py"}, **ODD}
        blocks.append(("assistant", [{"type": "thinking", "thinking": "hm", "signature": "S"}, call]))
        result = {"tool_use_id": f"t{at}", "type": "tool_result", "content": f"text of {at}", "is_error": at == 1}
        blocks.append(("user", [result]))
    messages: list[Json] = []
    for role, content in blocks[:-1]:
        only = content[0]["text"] if len(content) == 1 and set(content[0]) == {"type", "text"} else content
        messages.append({"role": role, "content": only})
    role, content = blocks[-1]
    last = {**content[-1], "cache_control": {"type": "ephemeral"}}
    messages.append({"role": role, "content": [*content[:-1], last], **ODD})
    return {"model": "m", "system": [{"type": "text", "text": "Be good."}], "messages": messages, "tools": [{}], **ODD}


def messages_extra(request: Json) -> tuple[Json, str]:
    *rest, last = request["messages"]
    *blocks, view = last["content"]
    return {**request, "messages": [*rest, {**last, "content": blocks}]}, view["text"]


MESSAGES_USAGE: Json = {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 1}
MESSAGES_EVENTS = [
    event({"type": "message_start", "message": {"id": "m", "content": [], "usage": MESSAGES_USAGE}}, "message_start"),
    event(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        "content_block_start",
    ),
    event({"type": "ping"}, "ping"),
    event(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}},
        "content_block_delta",
    ),
    event({"type": "content_block_stop", "index": 0}, "content_block_stop"),
    *(
        one
        for at, pieces in ((1, ['{"comm', 'and": "cat ', 'a.py"}']), (2, []))
        for one in (
            event(
                {
                    "type": "content_block_start",
                    "index": at,
                    "content_block": {"type": "tool_use", "id": f"c{at}", "name": "Bash", "input": {}},
                },
                "content_block_start",
            ),
            *(
                event(
                    {
                        "type": "content_block_delta",
                        "index": at,
                        "delta": {"type": "input_json_delta", "partial_json": p},
                    },
                    "content_block_delta",
                )
                for p in pieces
            ),
            event({"type": "content_block_stop", "index": at}, "content_block_stop"),
        )
    ),
    event(
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}, "message_delta"
    ),
    event({"type": "message_stop"}, "message_stop"),
]


def read_messages_events(stream: bytes) -> Answer:
    text, calls, pieces = "", [], {}
    for data in data_lines(stream):
        if data["type"] == "content_block_start" and data["content_block"]["type"] == "tool_use":
            pieces[data["index"]] = [data["content_block"], ""]
        elif data["type"] == "content_block_delta" and data["delta"]["type"] == "text_delta":
            text += data["delta"]["text"]
        elif data["type"] == "content_block_delta":
            pieces[data["index"]][1] += data["delta"]["partial_json"]
        elif data["type"] == "content_block_stop" and data["index"] in pieces:
            block, given = pieces.pop(data["index"])
            calls.append((block["id"], block["name"], json.loads(given or "{}")))
    assert not pieces
    return Answer(text, calls)


def read_messages_body(body: Json) -> Answer:
    blocks = body["content"]
    text = "".join(block.get("text", "") for block in blocks)
    return Answer(text, [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"])


MESSAGES_BODY: Json = {
    "id": "m",
    "content": [
        {"type": "text", "text": "Hello."},
        {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "cat a.py"}},
        {"type": "tool_use", "id": "c2", "name": "Bash", "input": {}},
    ],
    "usage": {**MESSAGES_USAGE, "output_tokens": 7},
    **ODD,
}


# Chat


def chat_request(turn: int) -> Json:
    """opencode's habits, with a breakpoint on the last part as clients of Anthropic models have it."""
    messages: list[Json] = [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Mend it."}]
    for at in range(turn):
        function = {"name": "bash", "arguments": json.dumps({"command": f"cat {at}.py"}, separators=(",", ":"))}
        call = {"id": f"t{at}", "type": "function", "function": function, **ODD}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"})
        messages.append({"role": "tool", "tool_call_id": f"t{at}", "content": f"text of {at}"})
    last = messages[-1]
    part = {"type": "text", "text": last["content"], "cache_control": {"type": "ephemeral"}}
    messages[-1] = {**last, "content": [part]}
    return {"model": "m", "messages": messages, "tools": [{}], "stream": True, **ODD}


def chat_extra(request: Json) -> tuple[Json, str]:
    *rest, view = request["messages"]
    assert view["role"] == "user"
    return {**request, "messages": rest}, view["content"]


def chunk(delta: Json, finish: str | None = None) -> bytes:
    return event({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


CHAT_USAGE = {"prompt_tokens": 43, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 40}}
CHAT_EVENTS = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Hello."}),
    chunk(
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "bash", "arguments": ""}}]}
    ),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"comm'}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"name": None, "arguments": 'and": "cat a.py"}'}}]}),
    chunk(
        {"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]}
    ),
    chunk({}, "tool_calls"),
    event({"id": "x", "choices": [], "usage": CHAT_USAGE}),
    b"data: [DONE]\n\n",
]


def read_chat_events(stream: bytes) -> Answer:
    text = ""
    calls: dict[int, list[str]] = {}
    for data in data_lines(stream):
        for choice in data["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            for piece in delta.get("tool_calls", ()):
                call = calls.setdefault(piece["index"], ["", "", ""])
                call[0] += piece.get("id") or ""
                call[1] += piece["function"].get("name") or ""
                call[2] += piece["function"].get("arguments") or ""
    return Answer(text, [(call[0], call[1], json.loads(call[2] or "{}")) for call in calls.values()])


def read_chat_body(body: Json) -> Answer:
    message = body["choices"][0]["message"]
    calls = [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message["tool_calls"]]
    return Answer(message["content"], calls)


def chat_call(name: str, arguments: str) -> Json:
    return {"id": name, "type": "function", "function": {"name": "bash", "arguments": arguments}, **ODD}


CHAT_BODY: Json = {
    "id": "x",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hello.",
                "tool_calls": [chat_call("c1", '{"command": "cat a.py"}'), chat_call("c2", "{}")],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": CHAT_USAGE,
    **ODD,
}


# Gemini


def gemini_request(turn: int) -> Json:
    """Gemini CLI's habits: a placeholder signature on the first call of the current turn, gone in the next."""
    contents: list[Json] = [{"role": "user", "parts": [{"text": "Mend it."}]}]
    for at in range(turn):
        signed = {"thoughtSignature": "skip"} if at == turn - 1 else {}
        call = {"functionCall": {"id": f"t{at}", "name": "shell", "args": {"command": f"cat {at}.py"}}, **signed, **ODD}
        result = {"id": f"t{at}", "name": "shell", "response": {"output": f"text of {at}"}}
        contents += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [{"functionResponse": result}]}]
    return {"contents": contents, "tools": [{"functionDeclarations": [{}]}], "systemInstruction": {"parts": []}, **ODD}


def wrapped_request(turn: int) -> Json:
    return {"model": "m", "project": "p", "request": {**gemini_request(turn), "session_id": "s"}}


def gemini_extra(request: Json) -> tuple[Json, str]:
    *rest, last = request["contents"]
    *parts, view = last["parts"]
    return {**request, "contents": [*rest, {**last, "parts": parts}]}, view["text"]


def wrapped_extra(request: Json) -> tuple[Json, str]:
    inner, text = gemini_extra(request["request"])
    return {**request, "request": inner}, text


def gemini_answer(*parts: Json, last: bool = False) -> Json:
    usage = {"promptTokenCount": 43, "cachedContentTokenCount": 40, "candidatesTokenCount": 7 if last else 2}
    ending = {"finishReason": "STOP"} if last else {}
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, **ending}], "usageMetadata": usage, **ODD}


GEMINI_CALLS: tuple[Json, Json] = (
    {"functionCall": {"id": "c1", "name": "shell", "args": {"command": "cat a.py"}}, "thoughtSignature": "S"},
    {"functionCall": {"id": "c2", "name": "shell", "args": {}}},
)
GEMINI_EVENTS = [
    event(gemini_answer({"text": "Hello."})),
    event(gemini_answer(*GEMINI_CALLS)),
    event(gemini_answer({"text": ""}, last=True)),
]


def read_gemini_body(body: Json) -> Answer:
    parts = body["candidates"][0]["content"]["parts"]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return Answer("".join(part.get("text", "") for part in parts), [(c["id"], c["name"], c["args"]) for c in calls])


def read_gemini_events(stream: bytes) -> Answer:
    answers = [read_gemini_body(data) for data in data_lines(stream)]
    return Answer("".join(one.text for one in answers), [call for one in answers for call in one.calls])


# Responses


def responses_request(turn: int) -> Json:
    def text(role: str, words: str) -> Json:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]}

    items = [text("user", "Mend it.")]
    for at in range(turn):
        given = json.dumps({"command": f"cat {at}.py"})
        items.append({"type": "function_call", "call_id": f"t{at}", "name": "shell", "arguments": given, **ODD})
        items.append({"type": "function_call_output", "call_id": f"t{at}", "output": f"text of {at}"})
    return {"model": "m", "input": items, "tools": [{}], **ODD}


def responses_extra(request: Json) -> tuple[Json, str]:
    *rest, view = request["input"]
    return {**request, "input": rest}, view["content"][0]["text"]


def responses_item(name: str, arguments: str) -> Json:
    return {"type": "function_call", "call_id": name, "name": "shell", "arguments": arguments, **ODD}


RESPONSES_OUTPUT = [
    {"type": "message", "content": [{"type": "output_text", "text": "Hello."}]},
    responses_item("c1", '{"command": "cat a.py"}'),
    responses_item("c2", "{}"),
]
RESPONSES_BODY = {
    "id": "r",
    "output": RESPONSES_OUTPUT,
    "usage": {"input_tokens": 43, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 40}},
    **ODD,
}
RESPONSES_EVENTS = [
    event({"type": "response.output_text.delta", "output_index": 0, "delta": "Hello."}, "response.output_text.delta"),
    *(
        one
        for at, item in ((1, RESPONSES_OUTPUT[1]), (2, RESPONSES_OUTPUT[2]))
        for one in (
            event({"type": "response.output_item.added", "output_index": at, "item": {**item, "arguments": ""}}),
            event({"type": "response.function_call_arguments.delta", "output_index": at, "delta": item["arguments"]}),
            event({"type": "response.output_item.done", "output_index": at, "item": item}),
        )
    ),
    event({"type": "response.completed", "response": RESPONSES_BODY}),
]


def read_responses_events(stream: bytes) -> Answer:
    text, calls = "", []
    for data in data_lines(stream):
        text += data["delta"] if data["type"] == "response.output_text.delta" else ""
        if data["type"] == "response.output_item.done":
            calls.append((data["item"]["call_id"], data["item"]["name"], json.loads(data["item"]["arguments"])))
        if data["type"] == "response.completed":
            # It repeats every item, and a client may use either.
            assert read_responses_body(data["response"]).calls == calls
    return Answer(text, calls)


def read_responses_body(body: Json) -> Answer:
    calls = [item for item in body["output"] if item["type"] == "function_call"]
    return Answer("Hello.", [(c["call_id"], c["name"], json.loads(c["arguments"])) for c in calls])


SAMPLES: dict[str, Sample] = {
    "responses": Sample(
        Responses(),
        "/v1/responses",
        responses_request,
        responses_extra,
        RESPONSES_EVENTS,
        RESPONSES_BODY,
        read_responses_events,
        read_responses_body,
        (43, 7),
    ),
    "messages": Sample(
        Messages(),
        "/v1/messages",
        messages_request,
        messages_extra,
        MESSAGES_EVENTS,
        MESSAGES_BODY,
        read_messages_events,
        read_messages_body,
        (43, 7),
    ),
    "chat": Sample(
        Chat(),
        "/v1/chat/completions",
        chat_request,
        chat_extra,
        CHAT_EVENTS,
        CHAT_BODY,
        read_chat_events,
        read_chat_body,
        (43, 7),
    ),
    "gemini": Sample(
        Gemini(),
        "/v1beta/models/m:streamGenerateContent",
        gemini_request,
        gemini_extra,
        GEMINI_EVENTS,
        gemini_answer({"text": "Hello."}, *GEMINI_CALLS, last=True),
        read_gemini_events,
        read_gemini_body,
        (43, 7),
    ),
    "gemini, with a login": Sample(
        Gemini(),
        "/v1internal:streamGenerateContent",
        wrapped_request,
        wrapped_extra,
        [event({"response": json.loads(one[5:]), "traceId": "t"}) for one in GEMINI_EVENTS],
        {"response": gemini_answer({"text": "Hello."}, *GEMINI_CALLS, last=True), "traceId": "t"},
        lambda stream: read_gemini_events(b"".join(event(data["response"]) for data in data_lines(stream))),
        lambda body: read_gemini_body(body["response"]),
        (43, 7),
    ),
}
"""Every dialect, by name."""
