"""The wire formats of the scripted model server: what a request says, and what an answer looks like."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object."""
Speaker: TypeAlias = Literal["system", "user", "model", "tool"]
"""Whose words an item holds."""

_SPEAKERS: dict[str, Speaker] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
    "tool": "tool",
}


class Item(NamedTuple):
    """One thing said in a conversation, in the same shape for every format."""

    speaker: Speaker
    """Who says it."""
    text: str
    """What is said; of a call, its arguments as JSON."""
    call: str = ""
    """The id of the call that it makes or answers."""
    marked: bool = False
    """Whether a cache marker sits on it."""


class Reply(NamedTuple):
    """What the model says next."""

    number: int
    """The position of this turn in its conversation, from 0."""
    text: str
    """The words."""
    commands: tuple[str, ...] = ()
    """The shell commands that it calls the tool with."""

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """Each call's id and arguments; the same turn has the same ids whenever it is asked for."""
        return tuple(
            (f"call_{self.number}_{index}", json.dumps({"command": command}))
            for index, command in enumerate(self.commands)
        )


class Usage(NamedTuple):
    """Tokens of one exchange, estimated as a quarter of the bytes."""

    prompt: int
    """All that was sent."""
    cached: int
    """The part of the prompt that was read from the cache."""
    written: int
    """The part of the prompt that was written to the cache, where a format counts that."""
    completion: int
    """What was answered."""


class Dialect(NamedTuple):
    """One wire format."""

    items: Callable[[Json], Iterator[Item]]
    """What a request says, in order."""
    answer: Callable[[Json, Reply, Usage], Json]
    """The body that answers a request."""
    explicit_cache: bool = False
    """Whether only what a marker covers is cached; else any prefix is."""


def _texts(content: str | Iterable[Json] | None) -> Iterator[tuple[str, bool]]:
    """Each text of a message's content, and whether it is marked."""
    if isinstance(content, str):
        yield content, False
    for part in () if content is None or isinstance(content, str) else content:
        yield part.get("text", ""), "cache_control" in part


def _said(role: str, content: str | Iterable[Json] | None, call: str = "", marked: bool = False) -> Iterator[Item]:
    """The items of a message."""
    for text, own_mark in _texts(content):
        yield Item(_SPEAKERS[role], text, call, marked or own_mark)


def _chat_items(body: Json) -> Iterator[Item]:
    for message in body["messages"]:
        marked = "cache_control" in message
        yield from _said(message["role"], message.get("content"), message.get("tool_call_id", ""), marked)
        for call in message.get("tool_calls") or ():
            yield Item("model", call["function"]["arguments"], call["id"], marked)


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


def _responses_items(body: Json) -> Iterator[Item]:
    yield from _said("system", body.get("instructions"))
    said = body["input"]
    for item in [{"role": "user", "content": said}] if isinstance(said, str) else said:
        match item.get("type", "message"):
            case "message":
                yield from _said(item["role"], item["content"])
            case "function_call":
                yield Item("model", item["arguments"], item["call_id"])
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


def _messages_items(body: Json) -> Iterator[Item]:
    yield from _said("system", body.get("system"))
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            marked = "cache_control" in block
            match block["type"]:
                case "text":
                    yield Item(_SPEAKERS[message["role"]], block["text"], "", marked)
                case "tool_use":
                    yield Item("model", json.dumps(block["input"]), block["id"], marked)
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


DIALECTS = {
    "/v1/chat/completions": Dialect(_chat_items, _chat_answer),
    "/v1/responses": Dialect(_responses_items, _responses_answer),
    "/v1/messages": Dialect(_messages_items, _messages_answer, explicit_cache=True),
}
"""The format that each path speaks: OpenAI Chat Completions, OpenAI Responses, Anthropic Messages."""
