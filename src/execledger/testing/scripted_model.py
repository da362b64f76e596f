"""A model server on loopback that answers from a script, so that real agents run without a model.

    with ModelServer([["cat a.py"], "Done."]) as server:
        ...  # run an agent whose model is at server.url
    server.requests

It speaks OpenAI Chat Completions, OpenAI Responses (without streaming) and Anthropic Messages.
The server holds no position in the script: it finds the turn by counting the model's turns in the request, so
retries, several conversations at once and resumed runs all get the right one.
A scripted model cannot show whether a real model would have acted differently.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object."""
Speaker: TypeAlias = Literal["system", "user", "model", "tool"]
"""The author of an item."""

_SPEAKERS: dict[str, Speaker] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
    "tool": "tool",
}


class PromptItem(NamedTuple):
    """One text, call or result of a conversation, in the same shape for every wire format."""

    speaker: Speaker
    """Its author."""
    text: str
    """The text; for a call, its arguments as JSON."""
    call: str = ""
    """The id of the call that it makes or answers."""
    marked: bool = False
    """Whether it has a cache breakpoint."""


class Reply(NamedTuple):
    """The next turn of the model."""

    number: int
    """The position of this turn in its conversation, from 0."""
    text: str
    """The text of the turn."""
    commands: tuple[str, ...] = ()
    """The shell commands of its tool calls."""

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """The id and the arguments of each call; a repeated request gets the same ids."""
        return tuple(
            (f"call_{self.number}_{index}", json.dumps({"command": command}))
            for index, command in enumerate(self.commands)
        )


class Usage(NamedTuple):
    """Tokens of one exchange, estimated as a quarter of the bytes."""

    prompt: int
    """Tokens of the whole request."""
    cached: int
    """Prompt tokens that were read from the cache."""
    written: int
    """Prompt tokens that were written to the cache, in formats that count them."""
    completion: int
    """Tokens of the answer."""


class WireFormat(NamedTuple):
    """One wire format."""

    items: Callable[[Json], Iterator[PromptItem]]
    """The items of a request body, in order."""
    answer: Callable[[Json, Reply, Usage], Json]
    """The body of the answer to a request body."""
    explicit_cache: bool = False
    """Whether only prefixes that end in a cache breakpoint are cached; otherwise every prefix is."""


def _texts(content: str | Iterable[Json] | None) -> Iterator[tuple[str, bool]]:
    """Each text of a message's content, and whether it has a cache breakpoint."""
    if isinstance(content, str):
        yield content, False
    for part in () if content is None or isinstance(content, str) else content:
        yield part.get("text", ""), "cache_control" in part


def _said(
    role: str, content: str | Iterable[Json] | None, call: str = "", marked: bool = False
) -> Iterator[PromptItem]:
    """The items of a message."""
    for text, own_mark in _texts(content):
        yield PromptItem(_SPEAKERS[role], text, call, marked or own_mark)


def _chat_items(body: Json) -> Iterator[PromptItem]:
    for message in body["messages"]:
        marked = "cache_control" in message
        yield from _said(message["role"], message.get("content"), message.get("tool_call_id", ""), marked)
        for call in message.get("tool_calls") or ():
            yield PromptItem("model", call["function"]["arguments"], call["id"], marked)


def _chat_answer(body: Json, reply: Reply, usage: Usage) -> Json:
    message: Json = {"role": "assistant", "content": reply.text}
    if reply.commands:
        message["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": "bash", "arguments": arguments}}
            for call, arguments in reply.calls
        ]
    reason = "tool_calls" if reply.commands else "stop"
    return {
        "id": f"chat_{reply.number}",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "total_tokens": usage.prompt + usage.completion,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        },
    }


def _responses_items(body: Json) -> Iterator[PromptItem]:
    yield from _said("system", body.get("instructions"))
    said = body["input"]
    for item in [{"role": "user", "content": said}] if isinstance(said, str) else said:
        match item.get("type", "message"):
            case "message":
                yield from _said(item["role"], item["content"])
            case "function_call":
                yield PromptItem("model", item["arguments"], item["call_id"])
            case "function_call_output":
                yield from _said("tool", item["output"], item["call_id"])


def _responses_answer(body: Json, reply: Reply, usage: Usage) -> Json:
    text = {"type": "output_text", "text": reply.text, "annotations": []}
    message = {"type": "message", "id": f"msg_{reply.number}", "role": "assistant", "status": "completed"}
    calls = [
        {"type": "function_call", "id": f"fc_{call}", "call_id": call, "name": "bash", "arguments": arguments}
        for call, arguments in reply.calls
    ]
    return {
        "id": f"resp_{reply.number}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": body["model"],
        "output": [{**message, "content": [text]}, *({**call, "status": "completed"} for call in calls)],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
        "usage": {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.prompt + usage.completion,
        },
    }


def _messages_items(body: Json) -> Iterator[PromptItem]:
    yield from _said("system", body.get("system"))
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            marked = "cache_control" in block
            match block["type"]:
                case "text":
                    yield PromptItem(_SPEAKERS[message["role"]], block["text"], "", marked)
                case "tool_use":
                    yield PromptItem("model", json.dumps(block["input"]), block["id"], marked)
                case "tool_result":
                    yield from _said("tool", block["content"], block["tool_use_id"], marked)


def _messages_answer(body: Json, reply: Reply, usage: Usage) -> Json:
    calls = [
        {"type": "tool_use", "id": call, "name": "bash", "input": json.loads(arguments)}
        for call, arguments in reply.calls
    ]
    return {
        "id": f"msg_{reply.number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": reply.text}, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.prompt - usage.cached - usage.written,
            "cache_read_input_tokens": usage.cached,
            "cache_creation_input_tokens": usage.written,
            "output_tokens": usage.completion,
        },
    }


WIRE_FORMATS = {
    "/v1/chat/completions": WireFormat(_chat_items, _chat_answer),
    "/v1/responses": WireFormat(_responses_items, _responses_answer),
    "/v1/messages": WireFormat(_messages_items, _messages_answer, explicit_cache=True),
}
"""The wire format of each path: OpenAI Chat Completions, OpenAI Responses, Anthropic Messages."""


BLOCK = 512
"""Bytes of a cache block: 128 tokens, the increment of OpenAI's cache. There is no minimal length."""


class PrefixCache:
    """A provider's prompt cache: finds the prefix that a prompt shares with earlier ones of any conversation."""

    def __init__(self) -> None:
        self._blocks: set[bytes] = set()
        self._written: set[bytes] = set()

    def shared(self, parts: Sequence[bytes]) -> int:
        """Add a prompt; return how many bytes, in whole blocks, it shares with the beginning of an earlier one."""
        prompt, node, common, parted = b"".join(parts), b"", 0, False
        for start in range(0, len(prompt) - BLOCK + 1, BLOCK):
            node = _below(node, prompt[start : start + BLOCK])
            parted = parted or node not in self._blocks
            common += 0 if parted else BLOCK
            self._blocks.add(node)
        return common

    def marked(self, parts: Sequence[bytes], marks: Sequence[bool]) -> tuple[int, int]:
        """Add a prompt, of which only prefixes that end in a marked part are cached; return bytes read and written."""
        node, length, read, end = b"", 0, 0, 0
        last = max((index for index, mark in enumerate(marks) if mark), default=-1)
        for part, mark in zip(parts[: last + 1], marks, strict=False):
            node, length = _below(node, part), length + len(part)
            if node in self._written:
                read = length
            if mark:
                self._written.add(node)
                end = length
        return read, end - read


def _below(node: bytes, part: bytes) -> bytes:
    """The hash of the prefix that ``part`` extends."""
    return hashlib.sha256(node + part).digest()


Turn: TypeAlias = str | list[str] | tuple[str, ...]
"""One turn of the model: a text is its answer, a sequence of commands becomes tool calls."""
Script: TypeAlias = Sequence[Turn]
"""The turns of a conversation."""

COMPLAINTS = ("Tool call error:", "Format error:", "Please always provide EXACTLY ONE action")
"""Prefixes of mini-swe-agent's messages about an answer that it drops from the history: each counts as a turn."""
SECRET_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "cookie"})
"""Headers that are never recorded."""
BYTES_PER_TOKEN = 4
"""Bytes for which one token is counted."""


class Request(NamedTuple):
    """One recorded request."""

    path: str
    """Its path."""
    headers: dict[str, str]
    """Its headers by lower-case name, without ``SECRET_HEADERS``."""
    body: Json
    """Its decoded body."""
    items: tuple[PromptItem, ...]
    """The items of the body."""
    turn: int
    """The number of turns that the model had had."""
    usage: Usage
    """The usage in the answer."""

    @property
    def opening(self) -> str:
        """The first text of the user, by which conversations are told apart."""
        return next((item.text for item in self.items if item.speaker == "user"), "")


class OffScript(Exception):
    """The script has no answer for a request."""


def turns_taken(items: Sequence[PromptItem]) -> int:
    """The number of turns of the model: runs of its own items, and messages about answers that were dropped."""
    speakers = [speaker for speaker, _ in itertools.groupby(item.speaker for item in items)]
    rejected = sum(item.speaker == "user" and item.text.lstrip().startswith(COMPLAINTS) for item in items)
    return speakers.count("model") + rejected


def fenced(command: str, prompt: str) -> str:
    """The command in the markup that the prompt of a text-based agent asks for."""
    if "<mswea_bash_command>" in prompt:
        return f"<mswea_bash_command>{command}</mswea_bash_command>"
    language = "mswea_bash_command" if "```mswea_bash_command" in prompt else "bash"
    return f"```{language}\n{command}\n```"


def one_by_one(script: Script) -> list[Turn]:
    """The script with one command per turn, for agents that take one at a time."""
    return [part for turn in script for part in ([turn] if isinstance(turn, str) else [[command] for command in turn])]


def scripted_reply(script: Script, items: Sequence[PromptItem], *, tools: bool) -> Reply:
    """The next turn of the script in a conversation; without tools, commands are part of the text, one per turn."""
    number = turns_taken(items)
    turns = script if tools else one_by_one(script)
    if number >= len(turns):
        raise OffScript(f"the script has {len(turns)} turns, and turn {number + 1} was asked for")
    turn = turns[number]
    if isinstance(turn, str):
        return Reply(number, turn)
    thought = f"THOUGHT: this is turn {number + 1} of {len(turns)}."
    if tools:
        return Reply(number, thought, tuple(turn))
    prompt = "\n".join(item.text for item in items if item.speaker in ("system", "user"))
    return Reply(number, f"{thought}\n\n{fenced(turn[0], prompt)}")


def prompt_parts(body: Json, items: Sequence[PromptItem]) -> list[bytes]:
    """The parts of a prompt in the order in which they are cached: tools, then items, without cache breakpoints."""
    said = [(item.speaker, item.call, item.text) for item in items]
    return [json.dumps(part, sort_keys=True).encode() for part in (body.get("tools"), *said)]


class ModelServer:
    """Serves one script, or one script per task, and records the requests."""

    def __init__(self, script: Script | Mapping[str, Script]) -> None:
        """A mapping gives the script of each conversation whose first user message contains the key."""
        self.requests: list[Request] = []
        """Every request that was answered, in order."""
        self.faults: list[str] = []
        """Why requests were rejected."""
        self._script = script
        self._caches: dict[tuple[str, str, str], PrefixCache] = {}
        # Guards the lists and the caches: requests are answered by a thread each.
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Exchange, self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The address of the server, without the ``/v1`` of OpenAI clients."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> ModelServer:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def conversation(self, text: str) -> list[Request]:
        """The requests of the conversations whose first user message contains ``text``."""
        return [request for request in self.requests if text in request.opening]

    def respond(self, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[int, Json]:
        """Status and body of the answer to a request."""
        try:
            return 200, self._answer(path, headers, raw)
        # A status that clients do not try again, so that a fault of the script ends the run at once.
        except (OffScript, KeyError, TypeError, ValueError) as error:
            fault = f"{path}: {type(error).__name__}: {error}"
            with self._lock:
                self.faults.append(fault)
            return 404, {"type": "error", "error": {"type": "not_found_error", "message": fault}}

    def _answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> Json:
        wire, body = WIRE_FORMATS[path], json.loads(raw)
        if body.get("stream"):
            raise OffScript("this server does not stream")
        items = tuple(wire.items(body))
        shown = {name.lower(): value for name, value in headers.items() if name.lower() not in SECRET_HEADERS}
        request = Request(path, shown, body, items, turns_taken(items), Usage(0, 0, 0, 0))
        reply = scripted_reply(self._script_for(request), items, tools=bool(body.get("tools")))
        with self._lock:
            usage = self._usage(request, reply, wire)
            self.requests.append(request._replace(usage=usage))
        return wire.answer(body, reply, usage)

    def _script_for(self, request: Request) -> Script:
        """The script of a conversation; if several keys match, that of the longest."""
        if not isinstance(self._script, Mapping):
            return self._script
        keys = [key for key in self._script if key in request.opening]
        if not keys:
            raise OffScript(f"no script for a conversation that opens with {request.opening[:80]!r}")
        return self._script[max(keys, key=len)]

    def _usage(self, request: Request, reply: Reply, wire: WireFormat) -> Usage:
        parts, cache = prompt_parts(request.body, request.items), self._cache_for(request)
        if wire.explicit_cache:
            cached, written = cache.marked(parts, [False, *(item.marked for item in request.items)])
        else:
            cached, written = cache.shared(parts), 0
        said = len(reply.text.encode()) + sum(len(arguments) for _, arguments in reply.calls)
        counts = (sum(map(len, parts)), cached, written, said)
        return Usage(*(count // BYTES_PER_TOKEN for count in counts))

    def _cache_for(self, request: Request) -> PrefixCache:
        """The cache of a model and, if the request has one, of a cache key; all conversations share it."""
        shared = (request.path, str(request.body.get("model")), str(request.body.get("prompt_cache_key") or ""))
        return self._caches.setdefault(shared, PrefixCache())


class _Exchange(BaseHTTPRequestHandler):
    """One connection; it is closed after its answer, so that none is open when the server stops."""

    def __init__(self, owner: ModelServer, *arguments: Any) -> None:
        self.owner = owner
        super().__init__(*arguments)

    def do_POST(self) -> None:
        """Answer from the script."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        status, answer = self.owner.respond(self.path.partition("?")[0], dict(self.headers.items()), raw)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""
