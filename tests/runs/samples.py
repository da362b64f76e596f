"""Small recorded runs, built in code in the shape that each agent writes."""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]

TASK: Message = {"role": "user", "content": "Please fix the sum."}
HEAD = [{"role": "system", "content": "You are an assistant."}, TASK]
DOCKER = {
    "environment": {"cwd": "/repo", "image": "repo:latest"},
    "environment_type": "minisweagent.environments.docker.DockerEnvironment",
    "model": {"model_name": "some/model"},
    "agent": {},
}


def encoded(value: object) -> bytes:
    """A file with this JSON value."""
    return json.dumps(value).encode()


def trajectory(kind: str, messages: list[Message], config: object = DOCKER) -> dict[str, Any]:
    """A trajectory of mini-swe-agent."""
    return {
        "info": {"mini_version": "9.9", "config": config, "submission": "diff"},
        "messages": [*HEAD, *messages],
        "trajectory_format": kind,
    }


def reply(*commands: str) -> Message:
    """A reply of version 1, with these commands in fenced blocks."""
    blocks = "\n".join(f"```bash\n{command}\n```" for command in commands)
    return {"role": "assistant", "content": f"I will look.\n\n{blocks}", "extra": {"response": {"choices": []}}}


def tagged(output: str, status: int = 0) -> str:
    """A result as the template with tags renders it."""
    head = f"<returncode>{status}</returncode>\n"
    if len(output) < 10000:
        return f"{head}<output>\n{output}</output>"
    return (
        f"{head}<warning>\nToo long.\n</warning><output_head>\n{output[:5000]}\n</output_head>\n"
        f"<elided_chars>\n{len(output) - 10000} characters elided\n</elided_chars>\n"
        f"<output_tail>\n{output[-5000:]}\n</output_tail>"
    )


def said(text: str) -> Message:
    """A message to the model."""
    return {"role": "user", "content": text}


def turn(*commands: str) -> Message:
    """A model turn of version 2; the calls are named by their commands."""
    actions = [{"command": command, "tool_call_id": f"id of {command}"} for command in commands]
    return {"role": "assistant", "content": None, "extra": {"actions": actions, "cost": 0.1}}


def answer(command: str, output: str, status: int = 0, **extra: str) -> Message:
    """The result of a call of version 2."""
    recorded = {"raw_output": output, "returncode": status, "exception_info": "", **extra}
    return {"role": "tool", "tool_call_id": f"id of {command}", "content": tagged(output, status), "extra": recorded}


def spans(*entries: dict[str, Any]) -> dict[str, Any]:
    """A run kept as spans, after one model call."""
    first = {"type": "llm_call", "task_prompt": [{"role": "user", "content": "Please fix the sum."}], "output": {}}
    return {"session_id": "s", "total_spans": 9, "trajectory": [first, *entries], "trajectory_entries": 9}


def tool(name: str, result: object, **arguments: object) -> dict[str, Any]:
    """A tool call with its result."""
    return {"type": "tool_call", "tool": name, "arguments": arguments, "result": result}
