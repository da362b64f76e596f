"""Every call of the relay, of the running proxy and of the adapters by tables broken in turn, over real sockets.

The client asks again if a connection breaks off or the server fails, as every agent does.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from execledger.agents.pi.tools import ADAPTER
from execledger.core.policy import Policy, Preset
from execledger.proxy.book import Rules
from execledger.proxy.clients import Client, Clients
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.session.adapter import Signs
from tests.support.faults.sabotage import CallSite, Sabotage, call_sites, sabotaged

pytestmark = pytest.mark.faults
Json = dict[str, Any]
BROKEN = re.compile(
    r"/proxy/(serve|relay|clients)|/journal/pause|/agents/(table_adapter|tool_table|shims)|/local_server/"
)
"""The files whose calls are broken: made in them, or of their functions."""
COMMANDS = ("cat a.py", "cat a.py", "ls", "sed -n '5,30p' a.py")
TEXT = "".join(f"value_{number} = compute({number})\n" for number in range(60))
ASKED_AGAIN = re.compile(r" -> (Relay\._edited|Passage\.edited|_refusal|foreign_origin|_body)$")
"""Calls behind which a fault answers with an error or breaks off."""
BROKEN_OFF = re.compile(r" -> Relay\._(forwarded|answered)$")
"""Calls that wait: one that goes on after it waited may fail when a part of the answer is gone."""
TRIES = 3
"""How often the client asks."""
TIMED = re.compile(
    r" -> (DeferredJournal\.flush, occurrence \d+"
    r"|(Worker\.(run|start)|LocalServer\._serve|Proxy\._later|_body|Relay\._(forwarded|answered))"
    r", occurrence ([2-9]|\d\d+))$"
)
"""Calls that a conversation makes or not by the timing of its threads and sockets; every other is reached again."""
PLAYS = 5
"""How often a conversation is held at most until it makes such a call."""


class Upstream(BaseHTTPRequestHandler):
    """A model that proposes the commands one after the other, in the chat dialect; it keeps what it was asked."""

    asked: list[Json]
    again: int

    def do_POST(self) -> None:
        """Answer with the next command, by how many results the request holds."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(request)
        done = sum(message["role"] == "tool" for message in request["messages"])
        delta: Json = {"role": "assistant", "content": "Done."}
        if done < len(COMMANDS):
            function = {"name": "bash", "arguments": json.dumps({"command": COMMANDS[done]})}
            delta = {"tool_calls": [{"index": 0, "id": f"c{done}", "type": "function", "function": function}]}
        chunks = [
            {"choices": [{"index": 0, "delta": delta}]},
            {"choices": [{"index": 0, "finish_reason": "stop", "delta": {}}]},
        ]
        body = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Ran(NamedTuple):
    """What came of a conversation."""

    messages: list[Json]
    """The client's own history at the end."""
    asked: list[Json]
    """The requests that reached the model."""
    started: bool
    """The proxy was started."""
    again: int
    """How often the client had to ask again."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[ThreadingHTTPServer]:
    """The model's server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def ask(port: int, messages: list[Json]) -> Json:
    """The message that the model answers with, as the client reads it."""
    body = json.dumps({"model": "m", "messages": messages, "tools": [{"function": {"name": "bash"}}], "stream": True})
    for left in range(TRIES - 1, -1, -1):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("POST", "/run/s/v1/chat/completions", body)
            answer = connection.getresponse()
            data = answer.read()
            if answer.status == 200 and data.endswith(b"data: [DONE]\n\n"):
                break
            assert left and answer.status >= 500, (answer.status, data)
            Upstream.again += 1
        except (HTTPException, ConnectionError):
            assert left, "the client gives up"
            Upstream.again += 1
        finally:
            connection.close()
    message: Json = {"role": "assistant", "content": ""}
    for event in data.split(b"\n\n")[:-2]:
        delta = json.loads(event.removeprefix(b"data: "))["choices"][0]["delta"]
        message["content"] += delta.get("content") or ""
        for piece in delta.get("tool_calls", ()):
            (call,) = message.setdefault(
                "tool_calls", [{"id": "", "type": "function", "function": {"name": "", "arguments": ""}}]
            )
            call["id"] += piece.get("id") or ""
            for name in ("name", "arguments"):
                call["function"][name] += piece["function"].get(name) or ""
    return message


def run(command: str) -> str:
    """What a command prints."""
    if command.startswith("echo '"):
        return command.removeprefix("echo '").removesuffix("'") + "\n"
    if command == "ls":
        return "a.py\n"
    return TEXT if command == "cat a.py" else "".join(TEXT.splitlines(keepends=True)[4:30])


def conversation(server: ThreadingHTTPServer) -> Ran:
    """A whole session of a client behind a proxy of its own."""
    Upstream.asked, Upstream.again = [], 0
    system = "Current date: 2026-11-18\nCurrent working directory: /w"
    messages: list[Json] = [{"role": "system", "content": system}, {"role": "user", "content": "Mend it."}]
    adapter = Clients([Client(name="pi", adapter=ADAPTER, signs=Signs(tools=frozenset({"bash"})))])
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    settings = ProxySettings(adapter=adapter, upstream=address, rules=Rules(policy=Policy(preset=Preset.PAPER)))
    started = False
    try:
        with Proxy(settings) as proxy:
            started = True
            while "tool_calls" in (message := ask(proxy.port, messages)):
                (call,) = message["tool_calls"]
                output = run(json.loads(call["function"]["arguments"])["command"])
                messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": output}]
            messages.append(message)
    except Sabotage:
        # At the start the launcher runs the agent without Ledger, and at the end the agent has done its work.
        assert not started or messages[-1].get("content") == "Done."
    return Ran(messages, Upstream.asked, started, Upstream.again)


def check(ran: Ran) -> None:
    """The client got every call of the model or its substitute; the model sees its own calls, and true results."""
    if not ran.started:
        return
    calls = [message["tool_calls"][0] for message in ran.messages if "tool_calls" in message]
    commands = [json.loads(call["function"]["arguments"])["command"] for call in calls]
    assert [call["id"] for call in calls] == ["c0", "c1", "c2", "c3"]
    assert all(one == own or one.startswith("echo '[ledger:") for one, own in zip(commands, COMMANDS, strict=True))
    for request in ran.asked:
        shown = [message for message in request["messages"] if message["role"] in ("assistant", "tool")]
        own = [json.loads(message["tool_calls"][0]["function"]["arguments"])["command"] for message in shown[::2]]
        assert tuple(own) == COMMANDS[: len(own)]
        for command, message in zip(own, shown[1::2], strict=True):
            assert message["content"].startswith("[Ledger: ") or message["content"].startswith(run(command))
    assert [message["role"] for message in ran.asked[-1]["messages"]].count("tool") == len(COMMANDS)


def broken(upstream: ThreadingHTTPServer, site: CallSite, occurrence: int) -> Ran | None:
    """A checked conversation in which the call fails; None if it is one of ``TIMED`` and was not made."""
    where = f"{site}, occurrence {occurrence}"
    timed = TIMED.search(where)
    for _ in range(PLAYS if timed else 1):
        with sabotaged(site, occurrence) as trap:
            ran = conversation(upstream)
        try:
            check(ran)
            begun = occurrence > 1 and BROKEN_OFF.search(str(site))
            assert not ran.again or begun or ASKED_AGAIN.search(str(site)), "the client had to ask again"
        except Exception as error:
            raise AssertionError(f"{where}: {error}") from error
        if trap.sprung:
            return ran
    assert timed, f"{where}: it was not reached again"
    return None


@pytest.mark.guarantee("fail-open", "append-only")
@pytest.mark.parametrize("share", [pytest.param(3, id="some"), pytest.param(1, id="all", marks=pytest.mark.long)])
def test_a_fault_in_the_running_proxy_leaves_the_conversation_intact(
    upstream: ThreadingHTTPServer, share: int, figure: Callable[[str], None]
) -> None:
    """At each call, the first time and the last; only where an answer has begun, or may be a stranger's, is it asked
    for again."""
    check(clean := conversation(upstream))
    assert any("[ledger:" in str(message) for message in clean.messages) and not clean.again
    reached = call_sites(lambda: conversation(upstream))
    sites = [one for one in reached if BROKEN.search(f"{one.caller.co_filename} {one.callee.co_filename}")]
    assert len(sites) > 70
    tries = [broken(upstream, site, occurrence) for site in sites[::share] for occurrence in {1, reached[site]}]
    planted = [ran for ran in tries if ran is not None]
    again = sum(bool(ran.again) for ran in planted)
    figure(
        f"0 broken conversations in {len(planted)} planted faults of the running proxy, {again} requests asked again"
    )
