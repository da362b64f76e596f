"""Small recorded runs of Claude Code, SWE-agent and OpenHands, built in code in the shape that each agent writes."""

from __future__ import annotations

import json
from typing import Any

Fields = dict[str, Any]

TASK = "Please fix the sum."


def lines(*rows: Fields) -> bytes:
    """A file with one JSON object per line."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


# Claude Code

PROMPT: Fields = {
    "parentUuid": None,
    "isSidechain": False,
    "type": "user",
    "message": {"role": "user", "content": TASK},
    "uuid": "u0",
    "cwd": "/repo",
    "sessionId": "s",
    "version": "2.1.9",
}
USAGE = {"input_tokens": 3, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 7, "output_tokens": 20}


def uses(message: str, call: str, tool: str, /, cwd: str = "/repo", **given: object) -> Fields:
    """A line of the model's message ``message`` that calls a tool."""
    part = {"type": "tool_use", "id": call, "name": tool, "input": given}
    return says(message, part, cwd=cwd, uuid=f"use {call}")


def says(message: str, *parts: Fields, cwd: str = "/repo", uuid: str = "", **more: object) -> Fields:
    """A line of the model's message ``message``."""
    said = {
        "id": message,
        "role": "assistant",
        "model": "some-model",
        "content": list(parts),
        "usage": USAGE,
        "stop_reason": "tool_use",
    }
    uuid = uuid or f"said {message}"
    return {"type": "assistant", "message": said, "uuid": uuid, "cwd": cwd, "sessionId": "s", **more}


def result(call: str, text: object, kept: object = None, *, error: bool = False, **more: object) -> Fields:
    """A line with the result of a call; ``kept`` is what the client keeps for itself."""
    part: Fields = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": error}
    message = {"role": "user", "content": [part]}
    fixed = {"type": "user", "message": message, "uuid": f"result {call}", "sessionId": "s", "toolUseResult": kept}
    return {"cwd": "/repo", **fixed, **more}


# SWE-agent


def entry(action: str, observation: str, state: object) -> Fields:
    """A step; ``state`` is an object since version 1, and text before."""
    return {"action": action, "observation": observation, "response": "x", "thought": "x", "state": state}


def traj(*entries: Fields, **more: object) -> Fields:
    """A run of SWE-agent."""
    stats = {"instance_cost": 0.5, "tokens_sent": 100, "tokens_received": 10, "api_calls": len(entries)}
    history = [
        {"role": "system", "content": "You are an assistant."},
        {"role": "user", "content": "A demonstration.", "is_demo": True},
        {"role": "user", "content": [{"type": "text", "text": TASK}]},
    ]
    info = {"exit_status": "submitted", "submission": "diff", "model_stats": stats, "swe_agent_version": "1.9"}
    return {"environment": "main", "trajectory": list(entries), "history": history, "info": info, **more}


# OpenHands


def act(number: int, action: str, /, response: str = "", **args: object) -> Fields:
    """An action of the older generation."""
    answer = {
        "id": response or f"r{number}",
        "model": "some-model",
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
    }
    about = {"function_name": "x", "tool_call_id": "x", "model_response": answer}
    return {"id": number, "source": "agent", "action": action, "args": args, "tool_call_metadata": about}


def seen(cause: int, observation: str, content: str, /, **extras: object) -> Fields:
    """An observation of the older generation."""
    fixed = {"id": cause + 1, "source": "agent", "cause": cause, "observation": observation}
    return {**fixed, "content": content, "extras": extras}


def ran(cause: int, content: str, status: int = 0, cwd: str = "/repo", **more: object) -> Fields:
    """What a command of the older generation returned."""
    metadata = {
        "exit_code": status,
        "working_dir": cwd,
        "prefix": "",
        "suffix": f"\n[Ended with {status}.]",
    }
    return seen(cause, "run", content, metadata={**metadata, **more})


ASKED: Fields = {"id": 0, "source": "user", "action": "message", "args": {"content": TASK}}


def called(call: str, tool: str, /, response: str = "", **action: object) -> Fields:
    """An action of the SDK."""
    fixed = {"kind": "ActionEvent", "id": f"a {call}", "source": "agent", "tool_name": tool, "tool_call_id": call}
    return {**fixed, "action": action, "llm_response_id": response or f"r {call}", "tool_call": {"arguments": "{}"}}


def returned(call: str, text: str, /, **more: object) -> Fields:
    """An observation of the SDK."""
    observation = {"content": [{"type": "text", "text": text}], "is_error": False, **more}
    fixed = {"kind": "ObservationEvent", "id": f"o {call}", "source": "environment", "tool_call_id": call}
    return {**fixed, "observation": observation}


def shell(status: int = 0, cwd: str = "/repo", **more: object) -> Fields:
    """What a command of the SDK returned, without its text."""
    return {"exit_code": status, "metadata": {"exit_code": status, "working_dir": cwd, "prefix": ""}, **more}


def instance(*history: Fields, **more: object) -> Fields:
    """A line of the evaluation harness."""
    return {"instance_id": "some__repo-1", "instruction": TASK, "history": list(history), "error": None, **more}


# The interchange format


def interchange(*steps: Fields) -> Fields:
    """A run in the interchange format."""
    agent = {"name": "some-agent", "version": "1.2", "model_name": "some-model"}
    asked = {"step_id": 1, "source": "user", "message": TASK}
    return {"schema_version": "ATIF-v1.5", "session_id": "s", "agent": agent, "steps": [asked, *steps]}
