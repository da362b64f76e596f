"""A model on loopback that speaks the Messages API and answers from a script, with the side calls of Claude Code.

The turn of a conversation is the number of answers that its request repeats, so that a client may retry and resume.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
Turn: TypeAlias = str | Sequence[tuple[str, Json]]
"""A text that ends the session, or calls: the tool and its input."""
Script: TypeAlias = Callable[["Request"], Turn]


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
    def turns(self) -> int:
        """The answers that it repeats."""
        return sum(message["role"] == "assistant" for message in self.body["messages"])

    @property
    def is_turn(self) -> bool:
        """Whether the model may act."""
        return self.method == "POST" and self.path.partition("?")[0] == "/v1/messages" and bool(self.body.get("tools"))


def played(turns: Sequence[Turn]) -> Script:
    """Answers in their order, then the end."""
    return lambda request: turns[request.turns] if request.turns < len(turns) else "Done."


class MessagesServer:
    """Serves while it is entered."""

    def __init__(self, script: Script, usage: Callable[[Request], int] = lambda _: 1000) -> None:
        """A server that answers turns from ``script``; ``usage`` gives the tokens of input that it reports."""
        self.requests: list[Request] = []
        self._script = script
        self._usage = usage
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_HEAD(self) -> None:
                server._note(self, b"")
                self._send(200, b"", "application/json")

            def do_GET(self) -> None:
                server._note(self, b"")
                self._send(200, b"{}", "application/json")

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                kind, sent = server._answer(server._note(self, data))
                self._send(200, sent, kind)

            def _send(self, status: int, data: bytes, kind: str) -> None:
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

    def __enter__(self) -> MessagesServer:
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

    def _answer(self, request: Request) -> tuple[str, bytes]:
        """The content type and body of the answer."""
        if request.path.partition("?")[0].endswith("/count_tokens"):
            return "application/json", json.dumps({"input_tokens": 100}).encode()
        if not request.path.startswith("/v1/messages"):
            return "application/json", b"{}"
        turn = self._script(request) if request.is_turn else "A title"
        content = _content(turn, request.turns)
        usage = {"input_tokens": self._usage(request), "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        if not request.body.get("stream"):
            answer = {
                **_message(request.body["model"], request.turns),
                "content": content,
                "usage": {**usage, "output_tokens": 9},
            }
            return "application/json", json.dumps({**answer, "stop_reason": _reason(content)}).encode()
        return "text/event-stream", b"".join(_events(_message(request.body["model"], request.turns), content, usage))


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


def _events(message: Json, content: list[Json], usage: Json) -> list[bytes]:
    """The answer as a stream; the input of a call in two pieces, with the spaces of a model."""
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(content):
        empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        whole = block.get("text") or json.dumps(block.get("input"))
        for piece in (whole[: len(whole) // 2], whole[len(whole) // 2 :]):
            said = {"type": "text_delta", "text": piece}
            given = {"type": "input_json_delta", "partial_json": piece}
            delta = said if block["type"] == "text" else given
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": _reason(content), "stop_sequence": None}
    events += [{"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
