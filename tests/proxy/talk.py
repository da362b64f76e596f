"""A client and a model without a network between them: what Codex would send, and what the model would be shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from execledger.agents.codex import tools as codex
from execledger.core.policy import Cadence, Policy, Preset
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage, Sent

Json = dict[str, Any]
TEXT = "".join(f"line {number} of a file that is long enough to be worth a reference\n" for number in range(1, 41))
FILES = {"/repo/a.py": TEXT, "/repo/b.py": TEXT.replace("line", "row")}


def new_passage(
    store: EditStore | None = None,
    sealed: bool = False,
    preset: str = "verified",
    journals: Path | None = None,
    local_files: bool = False,
    **policy: Any,
) -> Passage:
    """The sessions of one proxy."""
    settings = Policy(preset=Preset(preset), **{"cadence": Cadence.EVERY} | policy)
    rules = Rules(policy=settings, sealed=sealed, journals=journals, local_files=local_files)
    store = store or EditStore(None)
    return Passage(Book(rules, codex, store))


def message(role: str, text: str) -> Json:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def opening(task: str = "Mend the parser.") -> list[Json]:
    place = "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"
    return [message("developer", "Be good."), message("user", place), message("user", task)]


LOOKS = ("read_file ", "grep_files ", "list_dir ")
"""How the calls of tools begin that are no commands."""


def shell(command: str) -> str:
    """What a few commands print."""
    if command.startswith("echo "):
        return command[6:-1] + "\n"
    return FILES.get(f"/repo/{command.removeprefix('cat ')}", "")


TOOLS = [{"type": "function", "name": "exec_command"}]
"""The tools that a request offers."""


class Talk:
    """One conversation of a client that answers every call at once."""

    def __init__(
        self, passage: Passage, session: str = "s", thread: str = "t", items: list[Json] | None = None
    ) -> None:
        self.passage = passage
        self.headers = {"session-id": session, "thread-id": thread, "user-agent": "codex_exec/1.0"}
        self.last: Sent | None = None
        self.items = items if items is not None else opening()
        self.sent: list[list[Json]] = []
        """What the model was shown, request by request."""
        self.ran: list[str] = []
        """What the client ran."""
        self.numbers = 0
        self.run: Callable[[str], str] = shell

    def request(self, *, turn: bool = True) -> list[Json]:
        """Send the history; what the model is shown."""
        body = json.dumps({"model": "m", "input": self.items, "tools": TOOLS, "stream": True}).encode()
        kind = {"x-codex-turn-metadata": json.dumps({"request_kind": "turn" if turn else "compaction"})}
        self.last = self.passage.request("POST", "/v1/responses", {**self.headers, **kind}, body)
        shown: list[Json] = json.loads(self.last.body)["input"]
        self.sent.append(shown)
        return shown

    def propose(self, *commands: str) -> list[Json]:
        """The model's calls, as they reach the client."""
        assert self.last is not None
        answer = self.passage.answer(self.last, 200, {"content-type": "text/event-stream"})
        calls: list[Json] = []
        for command in commands:
            self.numbers += 1
            name, _, given = command.partition(" ") if command.startswith(LOOKS) else ("exec_command", "", "")
            call = {
                "type": "function_call",
                "name": name,
                "arguments": given or json.dumps({"cmd": command}),
                "call_id": f"call_{self.numbers}",
            }
            event = {"type": "response.output_item.done", "output_index": 0, "item": call}
            sent = b"data: " + json.dumps(event).encode() + b"\n\n"
            sent = sent if answer is None else answer.feed(sent)
            calls.append(json.loads(sent[6:])["item"])
        return calls

    def answer(self, calls: list[Json]) -> None:
        """The client runs the calls, and keeps them with their results."""
        self.items = [*self.items, {"type": "reasoning", "encrypted_content": "x"}, *calls]
        for call in calls:
            looks = call["name"] != "exec_command"
            command = f"{call['name']} {call['arguments']}" if looks else json.loads(call["arguments"])["cmd"]
            self.ran.append(command)
            header = f"Chunk ID: {len(self.items):06x}\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n"
            output = "" if looks else header
            result = {"type": "function_call_output", "call_id": call["call_id"], "output": output + self.run(command)}
            self.items.append(result)

    def turn(self, *commands: str) -> list[str]:
        """One turn of the model, and the request behind it; what it is shown as the results."""
        self.request() if not self.sent else None
        self.answer(self.propose(*commands))
        return self.results(self.request())[-len(commands) :]

    @staticmethod
    def results(shown: list[Json]) -> list[str]:
        """The results in a request."""
        return [item["output"] for item in shown if item["type"] == "function_call_output"]

    @property
    def view(self) -> str:
        """The state view of the last request; "" if it had none."""
        last = self.sent[-1][-1]
        text: str = last["content"][0]["text"] if last["type"] == "message" else ""
        return text if text.startswith("<execution_state>") else ""

    def grows(self) -> bool:
        """Each request without its view is the beginning of the next."""
        bare = [[item for item in one if "<execution_state>" not in json.dumps(item)] for one in self.sent]
        return all(after[: len(before)] == before for before, after in pairwise(bare))
