"""A client of the Responses API on real sockets, as Codex is one: it sends its history, runs what it is told, goes on.

The files that its commands see are real, so what a reference claims can be held against what a command would print.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.proxy.talk import TOOLS, opening
from tests.support.servers.responses import Answer, Request, Script, call, say, with_ids

Json = dict[str, Any]
PATIENCE = 60.0
"""Seconds after which something that must happen is given up."""
VIEW = "<execution_state>"
CLAIMS = ("stands above", "as shown by", "same as that of")
"""What a reference says."""


def acting(commands: Callable[[Request, int], str], turns: int) -> Script:
    """A model that calls one command a turn, so often; the turn is told by the results in the request."""

    def script(request: Request) -> Answer:
        done = sum(item.get("type") == "function_call_output" for item in request.input)
        item = say("Done.") if done >= turns else call("exec_command", cmd=commands(request, done))
        return Answer([with_ids(item, f"{request.headers.get('thread-id')}_{done}")], delay=0.001)

    return script


class Client:
    """One conversation."""

    def __init__(self, url: str, folder: Path, session: str = "s", thread: str = "t") -> None:
        """A client that has said nothing yet; its commands run in ``folder``."""
        self.url, self.folder = url, folder
        self.items: list[Json] = opening()
        self.ran: list[str] = []
        """The commands that ran, shims included."""
        self.tries = 0
        """How often a request was sent."""
        self.calls: list[Json] = []
        """What is to be run."""
        self._headers = {"session-id": session, "thread-id": thread, "user-agent": "codex_exec/1.0"}

    def turn(self) -> bool:
        """One turn of the model; whether it called anything."""
        self.ask()
        return self.run()

    def ask(self) -> None:
        """Send the history, again and again if need be; what the model calls is to be run."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.calls = self._ask()
                return
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < until, "nobody answers"
                time.sleep(0.02)

    def run(self) -> bool:
        """Run what was called; whether anything was."""
        calls, self.calls = self.calls, []
        self.items = [*self.items, *calls]
        for one in calls:
            self.ran.append(command_of(one))
            head = f"Chunk ID: {len(self.items):06x}\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n"
            output = head + printed(command_of(one), self.folder)
            self.items.append({"type": "function_call_output", "call_id": one["call_id"], "output": output})
        return bool(calls)

    def _ask(self) -> list[Json]:
        """Send the history; the calls of the answer, if all of it came."""
        self.tries += 1
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=PATIENCE)
        try:
            body = json.dumps({"model": "m", "input": self.items, "tools": TOOLS, "stream": True}).encode()
            connection.request("POST", f"{address.path}/responses", body, self._headers)
            answer = connection.getresponse()
            data = answer.read()
            if answer.status != 200:
                raise http.client.HTTPException(f"status {answer.status}")
        finally:
            connection.close()
        events = [json.loads(event.partition(b"data: ")[2]) for event in data.split(b"\n\n") if b"data: " in event]
        if not any(event["type"] == "response.completed" for event in events):
            raise http.client.IncompleteRead(data)
        items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        return [item for item in items if item["type"] == "function_call"]


def command_of(called: Json) -> str:
    """The command that is called."""
    return str(json.loads(called["arguments"])["cmd"])


def printed(command: str, folder: Path) -> str:
    """What a command prints."""
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False).stdout


def bare(request: Request) -> list[Json]:
    """The items of a request without a view."""
    return [item for item in request.input if VIEW not in json.dumps(item)]


def check_growth(requests: list[Request]) -> None:
    """Each request of a conversation begins with the one before it, and no shim was shown to the model."""
    for before, after in pairwise(map(bare, requests)):
        assert after[: len(before)] == before
    assert not any(b"[ledger:" in request.plain for request in requests)


def views(request: Request) -> int:
    """How many state views stand in a request."""
    return sum(VIEW in json.dumps(item) for item in request.input)


def claims(request: Request) -> list[str]:
    """The references in a request."""
    texts = [str(item.get("output", "")) for item in request.input]
    return [text for text in texts if "[Ledger: " in text and any(claim in text for claim in CLAIMS)]
