"""A model on loopback that answers from a script: Messages, Chat Completions, Responses, Gemini, and side calls.

The turn of a conversation is the number of answers that its request repeats, so that a client may retry and resume.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
Turn: TypeAlias = str | Sequence[tuple[str, Json]]
"""A text that ends the session, or calls: the tool and its input."""
REFUSAL = "refused by the script"
"""The message of a refused request."""
Script: TypeAlias = Callable[["Request"], Turn | int]
"""The answer to a request; a number is the status by which it is refused."""
ENDINGS = {"messages": "/messages", "chat": "/chat/completions", "responses": "/responses", "gemini": "enerateContent"}
"""How the path of each API ends."""
FIELDS = {"responses": "input", "gemini": "contents"}
"""The field that has the conversation, where it is not ``messages``."""
_IDS = re.compile(rb'"(?:call|toolu)_(\d{3})_\d+"')


class Request(NamedTuple):
    """One request, as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Json:
        """The JSON of the request."""
        found: Json = json.loads(self.raw)
        return found

    @property
    def dialect(self) -> str:
        """The API that it is for; "" if it asks no model."""
        path = self.path.partition("?")[0]
        return next((name for name, ending in ENDINGS.items() if self.method == "POST" and path.endswith(ending)), "")

    @property
    def items(self) -> list[Json]:
        """The messages, the items of the Responses API, or the contents of Gemini's."""
        found: list[Json] = self.inner[FIELDS.get(self.dialect, "messages")]
        return found

    @property
    def inner(self) -> Json:
        """The body; with a Google login, the request that it holds."""
        body = self.body
        found: Json = body["request"] if self.dialect == "gemini" and "request" in body else body
        return found

    @property
    def turns(self) -> int:
        """The answers that it repeats."""
        made = [_by_model(item) for item in self.items]
        if self.dialect != "responses":
            return sum(made)
        # The items of one answer follow each other.
        return sum(now and not before for before, now in zip([False, *made], made, strict=False))

    @property
    def number(self) -> int:
        """The number in the ids of what answers it: the turn, or a higher one where a summary has left later calls."""
        return max(self.turns, *(int(found) + 1 for found in _IDS.findall(self.raw)), 0)

    @property
    def is_turn(self) -> bool:
        """Whether the model may act."""
        return bool(self.dialect) and bool(self.inner.get("tools"))


def _by_model(item: Json) -> bool:
    """Whether the model made a message or item."""
    return item.get("role") in ("assistant", "model") or item.get("type") in ("function_call", "reasoning")


def played(turns: Sequence[Turn]) -> Script:
    """Answers in their order, then the end."""
    return lambda request: turns[request.turns] if request.turns < len(turns) else "Done."


class ScriptedServer:
    """Serves while it is entered."""

    def __init__(
        self, script: Script, usage: Callable[[Request], int] = lambda _: 1000, aside: str = "A title"
    ) -> None:
        """A server that answers turns from ``script``, and ``aside`` to requests that offer no tools.

        ``usage`` gives the tokens of input that it reports.
        """
        self.requests: list[Request] = []
        self._script = script
        self._usage = usage
        self._aside = aside
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_HEAD(self) -> None:
                server._note(self, b"")
                self._send(200, b"")

            def do_GET(self) -> None:
                server._note(self, b"")
                self._send(200, b"{}")

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                self._send(*server._answer(server._note(self, data)))

            def _send(self, status: int, data: bytes, kind: str = "application/json") -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The address that a client is given."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def turns(self) -> list[Request]:
        """The requests in which the model was asked to act."""
        return [request for request in self.requests if request.is_turn]

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _note(self, handler: BaseHTTPRequestHandler, data: bytes) -> Request:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Request(handler.command, handler.path, headers, data)
        self.requests.append(request)
        return request

    def _answer(self, request: Request) -> tuple[int, bytes, str]:
        """The status, body and content type of the answer."""
        if request.path.partition("?")[0].endswith("/count_tokens"):
            return 200, json.dumps({"input_tokens": 100}).encode(), "application/json"
        if not request.dialect:
            found = SIDE_CALLS.get(request.path.rpartition(":")[2], {})
            return 200, json.dumps(found).encode(), "application/json"
        turn = self._script(request) if request.is_turn else self._aside
        if isinstance(turn, int):
            error = {"type": "invalid_request_error", "code": turn, "message": REFUSAL, "status": "INVALID_ARGUMENT"}
            return turn, json.dumps({"type": "error", "error": error}).encode(), "application/json"
        answer = ANSWERS[request.dialect](request, turn, self._usage(request))
        streams = request.body.get("stream") or ":streamGenerateContent" in request.path
        if not streams:
            return 200, json.dumps(answer.whole).encode(), "application/json"
        return 200, b"".join(map(_frame, answer.events)), "text/event-stream"


class Answer(NamedTuple):
    """One answer, in both forms."""

    whole: Json
    events: list[Json | str]


def _frame(event: Json | str) -> bytes:
    """An event of a stream."""
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    named = f"event: {event['type']}\n" if "type" in event else ""
    return f"{named}data: {json.dumps(event)}\n\n".encode()


def _halves(text: str) -> tuple[str, str]:
    """A text in two pieces."""
    return text[: len(text) // 2], text[len(text) // 2 :]


# Messages


def _messages(request: Request, turn: Turn, tokens: int) -> Answer:
    content = _content(turn, request.number)
    usage = {"input_tokens": tokens, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message = _message(request.body["model"], request.number)
    whole = {**message, "content": content, "usage": {**usage, "output_tokens": 9}, "stop_reason": _reason(content)}
    return Answer(whole, _events(message, content, usage))


def _content(turn: Turn, at: int) -> list[Json]:
    if isinstance(turn, str):
        return [{"type": "text", "text": turn}]
    return [
        {"type": "tool_use", "id": f"toolu_{at:03}_{number}", "name": name, "input": given}
        for number, (name, given) in enumerate(turn)
    ]


def _message(model: str, at: int) -> Json:
    """What an answer says of itself; clients merge answers that have the same id."""
    return {"id": f"msg_{at:03}", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}


def _reason(content: list[Json]) -> str:
    return "tool_use" if content[-1]["type"] == "tool_use" else "end_turn"


def _events(message: Json, content: list[Json], usage: Json) -> list[Json | str]:
    """The answer as a stream; the input of a call in two pieces, with the spaces of a model."""
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[Json | str] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(content):
        empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        for piece in _halves(block.get("text") or json.dumps(block.get("input"))):
            said = {"type": "text_delta", "text": piece}
            given = {"type": "input_json_delta", "partial_json": piece}
            delta = said if block["type"] == "text" else given
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": _reason(content), "stop_sequence": None}
    events += [{"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]
    return events


# Chat Completions


def _chat(request: Request, turn: Turn, tokens: int) -> Answer:
    at, text = request.number, turn if isinstance(turn, str) else None
    calls = [
        {"id": f"call_{at:03}_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for number, (name, given) in enumerate(() if isinstance(turn, str) else turn)
    ]
    reason = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9}
    head = {"id": f"chatcmpl-{at:03}", "created": 1, "model": request.body["model"]}
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    whole = {
        **head,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    }
    chunk = {**head, "object": "chat.completion.chunk"}
    deltas: list[Json] = [{"role": "assistant", "content": text or ""}]
    for index, call in enumerate(calls):
        given = call["function"]
        assert isinstance(given, dict)
        first, second = _halves(given["arguments"])
        deltas.append({"tool_calls": [{**call, "index": index, "function": {**given, "arguments": first}}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": second}}]})
    events: list[Json | str] = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    return Answer(whole, [*events, {**chunk, "choices": [], "usage": usage}, "[DONE]"])


# Responses


def _responses(request: Request, turn: Turn, tokens: int) -> Answer:
    at = request.number
    if isinstance(turn, str):
        said = {"type": "output_text", "text": turn, "annotations": []}
        items: list[Json] = [{"type": "message", "id": f"msg_{at:03}", "role": "assistant", "content": [said]}]
    else:
        items = [
            {
                "type": "function_call",
                "id": f"fc_{at:03}_{number}",
                "call_id": f"call_{at:03}_{number}",
                "name": name,
                "arguments": json.dumps(given),
            }
            for number, (name, given) in enumerate(turn)
        ]
    items = [{**item, "status": "completed"} for item in items]
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 9,
    }
    head = {"id": f"resp_{at:03}", "object": "response", "created_at": 1, "model": request.body["model"]}
    whole = {**head, "status": "completed", "output": items, "usage": usage, "incomplete_details": None}
    begun = {**head, "status": "in_progress", "output": []}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(items):
        events += _item_events(index, item)
    events.append({"type": "response.completed", "response": whole})
    return Answer(whole, [{**event, "sequence_number": number} for number, event in enumerate(events)])


def _item_events(index: int, item: Json) -> list[Json]:
    """The events of one item."""
    place: Json = {"output_index": index, "item_id": item["id"]}
    empty: Json
    if item["type"] == "message":
        empty, kind = {"content": []}, "response.output_text"
        place["content_index"] = 0
        part = item["content"][0]
        ended = {"type": f"{kind}.done", **place, "text": part["text"], "logprobs": []}
        opened = [{"type": "response.content_part.added", **place, "part": {**part, "text": ""}}]
        whole = part["text"]
    else:
        empty, kind = {"arguments": ""}, "response.function_call_arguments"
        ended = {"type": f"{kind}.done", **place, "arguments": item["arguments"]}
        opened, whole = [], item["arguments"]
    deltas = [{"type": f"{kind}.delta", **place, "delta": piece} for piece in _halves(whole)]
    added = {"type": "response.output_item.added", "output_index": index}
    done = {"type": "response.output_item.done", "output_index": index, "item": item}
    return [{**added, "item": {**item, **empty, "status": "in_progress"}}, *opened, *deltas, ended, done]


# Gemini


def _gemini(request: Request, turn: Turn, tokens: int) -> Answer:
    """Calls have no id, and come whole; with a Google login an answer is an inner object."""
    said = [{"text": turn}] if isinstance(turn, str) else [{"functionCall": {"name": n, "args": a}} for n, a in turn]
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 9, "totalTokenCount": tokens + 9}
    candidate = {"content": {"role": "model", "parts": said}, "finishReason": "STOP", "index": 0}
    whole: Json = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}
    whole = {"response": whole} if "request" in request.body else whole
    return Answer(whole, [whole])


SIDE_CALLS: Mapping[str, Json] = {
    "loadCodeAssist": {
        "currentTier": {"id": "free-tier", "name": "free"},
        "allowedTiers": [{"id": "free-tier", "name": "free", "isDefault": True}],
        "cloudaicompanionProject": "project",
    },
    "countTokens": {"totalTokens": 1000},
}
"""Answers to requests of Gemini CLI beside its turns, by the word behind the colon of the path."""
ANSWERS: Mapping[str, Callable[[Request, Turn, int], Answer]] = {
    "messages": _messages,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
}
"""What writes an answer, by API."""
