"""Made-up sessions of Codex: what the model proposes, what commands print, and requests that grow by a step each.

Everything follows from a session's label and a step's number, so that both ends of a proxy can check what reaches
them; every line that a command prints names the session that it belongs to.
"""

from __future__ import annotations

import copy
import json
import re
import zlib
from typing import Any, NamedTuple

import msgspec

from tests.support.servers.responses import call

Json = dict[str, Any]
CYCLE = "read read search read again read edit read test read".split()
"""What a session does, over and over."""
FILES = 12
MODEL = "scripted"
TOOL = {
    "type": "function",
    "name": "exec_command",
    "description": "Runs a command.",
    "strict": False,
    "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]},
}
LONG = "Explain all of it at length."
"""A request with these words is answered in words, at length."""

_RANGE = re.compile(r"sed -n '(\d+),(\d+)p' \S*module_(\d+)\.py")
_NOTE = re.compile(r"echo '([^']*)'")
_DONE = b'"response.output_item.done"'
_ENCODE = msgspec.json.Encoder().encode


class Plan(NamedTuple):
    """What the sessions of a benchmark look at."""

    lines: int
    """How many lines a command prints."""
    fresh: int
    """How many distinct ranges are read before they come up again."""

    def command(self, place: str, step: int) -> str:
        """What the model proposes at a step, in the folder ``place``."""
        kind = CYCLE[step % len(CYCLE)]
        if kind == "again":
            return self._read(place, step - 3)
        if kind == "search":
            return f"grep -rn 'value_{step}' {place} --include='*.py' | head -{self.lines}"
        if kind == "edit":
            return f"sed -i '{step}s/strict/loose/' {place}/module_{step % FILES}.py && git diff {place}"
        if kind == "test":
            return f"python -m pytest {place}/test_module_{step % FILES}.py -x -q 2>&1 | tail -{self.lines}"
        return self._read(place, step)

    def _read(self, place: str, step: int) -> str:
        number = step % self.fresh
        first = 1 + number // FILES * self.lines
        return f"sed -n '{first},{first + self.lines - 1}p' {place}/module_{number % FILES}.py"

    def printed(self, label: str, command: str) -> str:
        """What a command prints in a session."""
        if note := _NOTE.fullmatch(command):
            return note[1] + "\n"
        if read := _RANGE.fullmatch(command):
            first, last, number = map(int, read.groups())
            numbers = range(first, last + 1)
            return "".join(f"    {label}_{number}_{at} = compute({at}, mode='strict')\n" for at in numbers)
        mark = zlib.crc32(command.encode()) % 10_000
        return "".join(f"{label}/result_{mark}_{at}: {at * mark} of {command[:24]!r}\n" for at in range(self.lines))

    def result(self, label: str, step: int, command: str) -> str:
        """The output of a call, as Codex writes it."""
        text = self.printed(label, command)
        seconds = f"0.{step % 1000:03}0"
        return (
            f"Chunk ID: {step:06x}\nWall time: {seconds} seconds\nProcess exited with code 0\n"
            f"Original token count: {len(text) // 4}\nOutput:\n{text}"
        )


def proposal(command: str, step: int) -> list[Json]:
    """The model's answer at a step: a thought and a call; the ids are the same in every session."""
    thought = {
        "type": "reasoning",
        "id": f"rs_{step}",
        "summary": [{"type": "summary_text", "text": f"Step {step} comes next."}],
        "encrypted_content": f"{step:04}" * 60,
    }
    return [thought, {**call("exec_command", cmd=command), "id": f"fc_{step}", "call_id": f"call_{step}"}]


class CodexSession:
    """One session of a client that acts as Codex does: it runs what it is told to run, and sends everything again."""

    def __init__(self, plan: Plan, number: int, steps: int = 0, place: str = "repo") -> None:
        """The session of this number, with so many steps behind it."""
        self.label = f"s{number:05}"
        """What every line of its outputs begins with."""
        name = f"01a1ddc1-0b11-7020-8d98-{number:012}"
        self.headers = {
            "session-id": name,
            "thread-id": name,
            "x-client-request-id": name,
            "x-codex-turn-metadata": json.dumps({"session_id": name, "thread_id": name, "request_kind": "turn"}),
            "originator": "codex_exec",
            "user-agent": "codex_exec/0.166.0 (Linux; x86_64) xterm (codex_exec; 0.166.0)",
            "accept": "text/event-stream",
            "content-type": "application/json",
        }
        """What it sends with each request, but for the authorization."""
        self.steps = 0
        """How many calls it has run."""
        self.shims = 0
        """How many of them were another than the one that the model proposed."""
        self._plan, self._place, self._name = plan, place, name
        environment = f"<environment_context>\n  <cwd>/{place}</cwd>\n</environment_context>"
        task = f"Mend the parser of {self.label}."
        self._items = [_message("developer", "Work."), _message("user", environment), _message("user", task)]
        for step in range(steps):
            self._run(proposal(plan.command(place, step), step))

    def copy(self) -> CodexSession:
        """The same session, to be taken on by itself."""
        other = copy.copy(self)
        other._items = [*self._items]
        return other

    def body(self, *, last: str = "") -> bytes:
        """The next request; ``last`` is said by the user at its end."""
        items = [*self._items, _message("user", last)] if last else self._items
        head = {"model": MODEL, "instructions": "Be a good agent.", "tools": [TOOL], "tool_choice": "auto"}
        rest = {"store": False, "stream": True, "prompt_cache_key": self._name}
        return b'%b,"input":[%b],%b' % (_ENCODE(head)[:-1], b",".join(items), _ENCODE(rest)[1:])

    def take(self, answer: bytes) -> None:
        """Run what a streamed answer proposes."""
        data = (line.removeprefix(b"data: ") for line in answer.split(b"\n") if line.startswith(b"data: "))
        self._run([msgspec.json.decode(event)["item"] for event in data if _DONE in event])

    def _run(self, items: list[Json]) -> None:
        """Keep the items of an answer, and behind them what its calls printed."""
        self._items += [_ENCODE(item) for item in items]
        for item in items:
            if item["type"] == "function_call":
                command = json.loads(item["arguments"])["cmd"]
                self.shims += command != self._plan.command(self._place, self.steps)
                output = self._plan.result(self.label, self.steps, command)
                result = {"type": "function_call_output", "call_id": item["call_id"], "output": output}
                self._items.append(_ENCODE(result))
                self.steps += 1


def _message(role: str, text: str) -> bytes:
    return _ENCODE({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
