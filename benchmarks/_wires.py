"""How a client and a model speak in each dialect: requests, answers and results, as a client of that dialect has them.

A wire turns the steps of a made-up session into bytes and back; it keeps nothing. Results are framed as the client
frames them, so that the proxy has the same work with them as in a session of that client.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from execledger.testing.scripted_model import Usage
from tests.support.servers.responses import PIECE, call, event_frames, say

Json = dict[str, Any]
USAGE = Usage(1000, 0, 0, 10)
LONG = "Explain all of it at length."
"""A request with these words is answered in words, at length."""

_ENCODE = msgspec.json.Encoder().encode


class Proposed(NamedTuple):
    """A call that an answer proposes, as the client reads it."""

    command: str
    """The command."""
    items: tuple[bytes, ...]
    """What the client keeps of the answer in its history."""
    name: str
    """The id of the call."""


class Wire(ABC):
    """One dialect, as one client speaks it."""

    name: ClassVar[str]
    """The dialect."""
    agent: ClassVar[str]
    """The client, by its name in the registry."""
    path: ClassVar[str]
    """Where requests are sent, below the base address."""
    result_mark: ClassVar[bytes]
    """What a request has once for each result in it."""
    done: ClassVar[bytes]
    """What the last event of an answer has in it, and no other."""
    version: ClassVar[str] = "/v1"
    """The version of the API in the base address; "" if the path has it."""
    provider: ClassVar[str] = "openai"
    """The kind of provider that speaks it, in LiteLLM's words."""

    @property
    def model(self) -> str:
        """The name of the model."""
        return f"scripted-{self.name}"

    @abstractmethod
    def headers(self, name: str) -> dict[str, str]:
        """The headers of the session ``name``."""

    @abstractmethod
    def opening(self, place: str, task: str) -> list[bytes]:
        """The history before the first step."""

    @abstractmethod
    def body(self, history: Sequence[bytes], name: str, last: str) -> bytes:
        """A request with this history; ``last`` is said by the user at its end."""

    @abstractmethod
    def events(self, command: str, step: int) -> list[bytes]:
        """The streamed answer that proposes a command."""

    @abstractmethod
    def words(self, pieces: int) -> list[bytes]:
        """A streamed answer in so many pieces of text."""

    @abstractmethod
    def proposed(self, answer: bytes) -> Iterator[Proposed]:
        """The calls that a streamed answer proposes."""

    @abstractmethod
    def result(self, name: str, step: int, printed: str) -> bytes:
        """The result of a call in the history."""

    def common_headers(self) -> dict[str, str]:
        """What every client sends."""
        return {"accept": "text/event-stream", "content-type": "application/json"}


def data_of(answer: bytes) -> Iterator[Json]:
    """The events of a streamed answer."""
    for line in answer.split(b"\n"):
        if line.startswith(b"data: {"):
            yield msgspec.json.decode(line.removeprefix(b"data: "))


def frame(event: Json, name: str = "") -> bytes:
    """An event as it is sent."""
    head = f"event: {name}\n".encode() if name else b""
    return b"%bdata: %b\n\n" % (head, _ENCODE(event))


def pieces_of(text: str) -> list[str]:
    """A text in the pieces in which it is streamed."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def text_in(pieces: int) -> str:
    """A text that is streamed in so many pieces."""
    return ("A line of the answer, as it comes." * pieces)[: PIECE * pieces]


def _tool(name: str, schema: str) -> Json:
    properties = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    return {"name": name, "description": "Runs a command.", schema: properties}


class ResponsesWire(Wire):
    """Codex."""

    name, agent, path = "responses", "codex", "/responses"
    result_mark, done = b'"function_call_output"', b'"response.completed"'
    _tools: ClassVar = [
        {
            "type": "function",
            "name": "exec_command",
            "description": "Runs a command.",
            "strict": False,
            "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]},
        }
    ]

    def headers(self, name: str) -> dict[str, str]:
        return {
            "session-id": name,
            "thread-id": name,
            "x-client-request-id": name,
            "x-codex-turn-metadata": json.dumps({"session_id": name, "thread_id": name, "request_kind": "turn"}),
            "originator": "codex_exec",
            "user-agent": "codex_exec/0.166.0 (Linux; x86_64) xterm (codex_exec; 0.166.0)",
            **self.common_headers(),
        }

    def opening(self, place: str, task: str) -> list[bytes]:
        environment = f"<environment_context>\n  <cwd>/{place}</cwd>\n</environment_context>"
        return [self._message("developer", "Work."), self._message("user", environment), self._message("user", task)]

    def body(self, history: Sequence[bytes], name: str, last: str) -> bytes:
        items = [*history, self._message("user", last)] if last else history
        head = {"model": self.model, "instructions": "Be a good agent.", "tools": self._tools, "tool_choice": "auto"}
        rest = {"store": False, "stream": True, "prompt_cache_key": name}
        return b'%b,"input":[%b],%b' % (_ENCODE(head)[:-1], b",".join(items), _ENCODE(rest)[1:])

    def items(self, command: str, step: int) -> list[Json]:
        """The items of an answer: a thought and a call; the ids are the same in every session."""
        thought = {
            "type": "reasoning",
            "id": f"rs_{step}",
            "summary": [{"type": "summary_text", "text": f"Step {step} comes next."}],
            "encrypted_content": f"{step:04}" * 60,
        }
        return [thought, {**call("exec_command", cmd=command), "id": f"fc_{step}", "call_id": f"call_{step}"}]

    def events(self, command: str, step: int) -> list[bytes]:
        return event_frames(self.items(command, step), identity=f"resp_{step}", model=self.model, usage=USAGE)

    def words(self, pieces: int) -> list[bytes]:
        return event_frames(
            [{**say(text_in(pieces)), "id": "msg_words"}], identity="resp_words", model=self.model, usage=USAGE
        )

    def proposed(self, answer: bytes) -> Iterator[Proposed]:
        items = [event["item"] for event in data_of(answer) if event["type"] == "response.output_item.done"]
        for item in items:
            if item["type"] == "function_call":
                command = json.loads(item["arguments"])["cmd"]
                yield Proposed(command, tuple(_ENCODE(one) for one in items), item["call_id"])

    def result(self, name: str, step: int, printed: str) -> bytes:
        return _ENCODE({"type": "function_call_output", "call_id": name, "output": self.output(step, printed)})

    def output(self, step: int, printed: str) -> str:
        """The output of a call, as Codex writes it."""
        return (
            f"Chunk ID: {step:06x}\nWall time: 0.{step % 1000:03}0 seconds\nProcess exited with code 0\n"
            f"Original token count: {len(printed) // 4}\nOutput:\n{printed}"
        )

    def _message(self, role: str, text: str) -> bytes:
        return _ENCODE({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})


class MessagesWire(Wire):
    """Claude Code: a breakpoint for the cache on the last block, which moves with every request."""

    name, agent, path, provider = "messages", "claude", "/messages", "anthropic"
    result_mark, done = b'"tool_result"', b'"message_stop"'
    _system: ClassVar = [{"type": "text", "text": "Be a good agent.\n - Primary working directory: /repo\n"}]

    def headers(self, name: str) -> dict[str, str]:
        return {
            "x-claude-code-session-id": name,
            "user-agent": "claude-cli/2.1.325 (external, cli)",
            "anthropic-version": "2023-06-01",
            **self.common_headers(),
        }

    def opening(self, place: str, task: str) -> list[bytes]:
        reminder = {"type": "text", "text": f"<system-reminder>\nWorking directory: /{place}\n</system-reminder>\n"}
        return [_ENCODE({"role": "user", "content": [reminder, {"type": "text", "text": task}]})]

    def body(self, history: Sequence[bytes], name: str, last: str) -> bytes:
        *before, end = history
        message = msgspec.json.decode(end)
        message["content"] += [{"type": "text", "text": last}] if last else []
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}
        head = {
            "model": self.model,
            "system": self._system,
            "tools": [_tool("Bash", "input_schema")],
            "max_tokens": 32_000,
        }
        messages = b",".join((*before, _ENCODE(message)))
        return b'%b,"messages":[%b],"stream":true}' % (_ENCODE(head)[:-1], messages)

    def events(self, command: str, step: int) -> list[bytes]:
        thought = self._block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": f"Step {step} comes next."},
                {"type": "signature_delta", "signature": f"{step:04}" * 60},
            ],
        )
        use = {"type": "tool_use", "id": f"call_{step}", "name": "Bash", "input": {}}
        given = pieces_of(json.dumps({"command": command}))
        called = self._block(1, use, [{"type": "input_json_delta", "partial_json": piece} for piece in given])
        return self._answer([*thought, *called], "tool_use")

    def words(self, pieces: int) -> list[bytes]:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces_of(text_in(pieces))]
        return self._answer(self._block(0, {"type": "text", "text": ""}, deltas), "end_turn")

    def _block(self, index: int, block: Json, deltas: Sequence[Json]) -> list[Json]:
        start = {"type": "content_block_start", "index": index, "content_block": block}
        changes = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        return [start, *changes, {"type": "content_block_stop", "index": index}]

    def _answer(self, events: list[Json], reason: str) -> list[bytes]:
        usage = {"input_tokens": 1000, "cache_read_input_tokens": 0, "output_tokens": 10}
        message = {
            "id": "msg",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "usage": usage,
        }
        end = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 10}}
        every = [{"type": "message_start", "message": message}, *events, end, {"type": "message_stop"}]
        return [frame(event, event["type"]) for event in every]

    def proposed(self, answer: bytes) -> Iterator[Proposed]:
        blocks: dict[int, Json] = {}
        given = ""
        for event in data_of(answer):
            if event["type"] == "content_block_start":
                blocks[event["index"]] = event["content_block"]
            elif event["type"] == "content_block_delta":
                delta, block = event["delta"], blocks[event["index"]]
                given += delta.get("partial_json", "")
                for name in ("thinking", "signature"):
                    if name in delta:
                        block[name] += delta[name]
        for block in blocks.values():
            if block["type"] == "tool_use":
                block["input"] = json.loads(given)
                message = {"role": "assistant", "content": list(blocks.values())}
                yield Proposed(block["input"]["command"], (_ENCODE(message),), block["id"])

    def result(self, name: str, step: int, printed: str) -> bytes:
        block = {"tool_use_id": name, "type": "tool_result", "content": printed.rstrip("\n"), "is_error": False}
        return _ENCODE({"role": "user", "content": [block]})


class ChatWire(Wire):
    """opencode."""

    name, agent, path = "chat", "opencode", "/chat/completions"
    result_mark, done = b'"tool_call_id"', b"data: [DONE]"

    def headers(self, name: str) -> dict[str, str]:
        return {"x-session-id": name, "user-agent": "opencode/1.14.0", **self.common_headers()}

    def opening(self, place: str, task: str) -> list[bytes]:
        system = (
            "You are powered by the model named scripted. The exact model ID is scripted\n"
            "Here is some useful information about the environment you are running in:\n"
            f"<env>\n  Working directory: /{place}\n  Workspace root folder: /{place}\n</env>"
        )
        return [_ENCODE({"role": "system", "content": system}), _ENCODE({"role": "user", "content": task})]

    def body(self, history: Sequence[bytes], name: str, last: str) -> bytes:
        items = [*history, _ENCODE({"role": "user", "content": last})] if last else history
        head = {"model": self.model, "max_tokens": 32_000}
        tools = [{"type": "function", "function": _tool("bash", "parameters")}]
        rest = {"tools": tools, "tool_choice": "auto", "stream": True, "stream_options": {"include_usage": True}}
        return b'%b,"messages":[%b],%b' % (_ENCODE(head)[:-1], b",".join(items), _ENCODE(rest)[1:])

    def events(self, command: str, step: int) -> list[bytes]:
        first = {"index": 0, "id": f"call_{step}", "type": "function", "function": {"name": "bash", "arguments": ""}}
        given = pieces_of(json.dumps({"command": command, "description": "Looks."}))
        deltas: list[Json] = [{"role": "assistant", "content": ""}, {"tool_calls": [first]}]
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in given]
        return self._answer(deltas, "tool_calls")

    def words(self, pieces: int) -> list[bytes]:
        return self._answer([{"content": piece} for piece in pieces_of(text_in(pieces))], "stop")

    def _answer(self, deltas: Sequence[Json], reason: str) -> list[bytes]:
        own: Json = {"id": "chatcmpl", "object": "chat.completion.chunk", "created": 1, "model": self.model}
        chunks = [{**own, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks.append({**own, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        chunks.append({**own, "choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 10}})
        return [*map(frame, chunks), b"data: [DONE]\n\n"]

    def proposed(self, answer: bytes) -> Iterator[Proposed]:
        name = given = ""
        for chunk in data_of(answer):
            for choice in chunk["choices"]:
                for piece in choice["delta"].get("tool_calls") or ():
                    name += piece.get("id") or ""
                    given += piece["function"].get("arguments") or ""
        if name:
            made = {"id": name, "type": "function", "function": {"name": "bash", "arguments": given}}
            message = {"role": "assistant", "content": None, "tool_calls": [made]}
            yield Proposed(json.loads(given)["command"], (_ENCODE(message),), name)

    def result(self, name: str, step: int, printed: str) -> bytes:
        return _ENCODE({"role": "tool", "tool_call_id": name, "content": printed})


class GeminiWire(Wire):
    """Gemini CLI."""

    name, agent, path = "gemini", "gemini", "/v1beta/models/scripted-gemini:streamGenerateContent?alt=sse"
    version, provider = "", "gemini"
    result_mark, done = b'"functionResponse"', b'"finishReason"'

    def headers(self, name: str) -> dict[str, str]:
        agent = "GeminiCLI/0.52.0/scripted (linux; x64)"
        return {"user-agent": agent, "x-goog-api-key": "k", **self.common_headers()}

    def opening(self, place: str, task: str) -> list[bytes]:
        listed = f"- **Workspace Directories:**\n  - /{place}\n"
        context = f"<session_context>\nThis is the Gemini CLI.\n{listed}</session_context>"
        return [_ENCODE({"role": "user", "parts": [{"text": context}, {"text": task}]})]

    def body(self, history: Sequence[bytes], name: str, last: str) -> bytes:
        items = [*history, _ENCODE({"role": "user", "parts": [{"text": last}]})] if last else history
        tools = [{"functionDeclarations": [_tool("run_shell_command", "parametersJsonSchema")]}]
        rest = {"systemInstruction": {"role": "user", "parts": [{"text": "Be a good agent."}]}, "tools": tools}
        return b'{"contents":[%b],%b' % (b",".join(items), _ENCODE(rest)[1:])

    def events(self, command: str, step: int) -> list[bytes]:
        made = {"id": f"call_{step}", "name": "run_shell_command", "args": {"command": command}}
        thought = {"text": f"Step {step} comes next.", "thought": True}
        return self._answer([thought, {"functionCall": made, "thoughtSignature": f"{step:04}" * 60}])

    def words(self, pieces: int) -> list[bytes]:
        return self._answer([{"text": piece} for piece in pieces_of(text_in(pieces))])

    def _answer(self, parts: Sequence[Json]) -> list[bytes]:
        usage = {"promptTokenCount": 1000, "candidatesTokenCount": 10}
        contents: list[Json] = [{"content": {"role": "model", "parts": [part]}, "index": 0} for part in parts]
        contents.append({"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0, "finishReason": "STOP"})
        return [frame({"candidates": [one], "usageMetadata": usage, "modelVersion": self.model}) for one in contents]

    def proposed(self, answer: bytes) -> Iterator[Proposed]:
        parts = [part for event in data_of(answer) for part in event["candidates"][0]["content"]["parts"]]
        for part in parts:
            if "functionCall" in part:
                made = part["functionCall"]
                yield Proposed(made["args"]["command"], (_ENCODE({"role": "model", "parts": [part]}),), made["id"])

    def result(self, name: str, step: int, printed: str) -> bytes:
        output = (
            f"<untrusted_context>\nOutput: {printed.rstrip()}\nProcess Group PGID: {8000 + step}\n</untrusted_context>"
        )
        response = {"id": name, "name": "run_shell_command", "response": {"output": output}}
        return _ENCODE({"role": "user", "parts": [{"functionResponse": response}]})


RESPONSES = ResponsesWire()
WIRES: dict[str, Wire] = {wire.name: wire for wire in (RESPONSES, MessagesWire(), ChatWire(), GeminiWire())}
"""Every dialect, by its name."""
