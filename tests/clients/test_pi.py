"""The real pi with Ledger around it, over Chat Completions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.pi import AGENT
from execledger.agents.pi.tools import ADAPTER
from execledger.agents.registry import proxy_clients
from execledger.core.policy import Policy
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from tests.support.agents.native import ClientRun, run_client
from tests.support.agents.npm import node, npm_package
from tests.support.agents.sessions import (
    AgentHome,
    check_prefixes,
    leaves,
    ledger,
    or_skip,
    references,
    results,
    shadowed,
    steps,
)
from tests.support.servers.scripted import ScriptedServer, Turn, played

pytestmark = pytest.mark.long
PACKAGE = "@mariozechner/pi-coding-agent"


@pytest.fixture
def pi(tmp_path: Path) -> Path:
    """The tested version, as a program of its name."""

    def install() -> Path:
        script = npm_package(PACKAGE, AGENT.tested[-1]) / "node_modules" / PACKAGE / "dist" / "cli.js"
        program = tmp_path / "pi"
        program.write_text(f'#!/bin/sh\nexec "{node()}" "{script}" "$@"\n')
        program.chmod(0o755)
        return program

    return or_skip(install)


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    """Folders of a new user."""
    return AgentHome(tmp_path)


def run(pi: Path, home: AgentHome, url: str, *arguments: str, prefix: list[str] | None = None) -> ClientRun:
    """Run ``pi -p`` to its end; the user's own file leads to ``url``."""
    folder = home.user / ".pi" / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    mine = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "dummy", "models": [{"id": "m1"}]}
    (folder / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
    words = [str(pi), "--provider", "mine", "--model", "m1", *arguments, "-p", "Mend it."]
    return run_client([*(prefix or []), *words], home, {"PI_OFFLINE": "1"})


def story(home: AgentHome) -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, a failing and a passing test."""
    edits = [{"oldText": "value_7 = 7 ", "newText": "value_7 = 8 "}]
    return [
        [("read", {"path": "big.py"})],
        [("read", {"path": "big.py"})],
        [("bash", {"command": "ls"}), ("read", {"path": "big.py", "offset": 20, "limit": 60})],
        [("bash", {"command": "cat big.py"})],
        [("bash", {"command": "mkdir -p deep && cd deep && pwd"})],
        [("edit", {"path": "big.py", "edits": edits})],
        [("read", {"path": "big.py", "limit": 12})],
        [("bash", {"command": "python3 -c 'raise SystemExit(3)'"})],
        [("bash", {"command": "python3 -c 'print(1)'"})],
    ]


def test_a_session_and_its_continuation(pi: Path, home: AgentHome) -> None:
    """Repeated reads become references, edits work, and a continued session is shown what it was shown."""
    turns = [*story(home), "Done.", [("bash", {"command": "ls"})], "Done."]
    with ScriptedServer(played(turns)) as server:
        done = run(pi, home, server.url, prefix=ledger(home.journals))
        assert done.status == 0, done.errors
        assert "fault" not in done.errors and "saw no request" not in done.errors
        first = server.turns
        again = run(pi, home, server.url, "-c", prefix=ledger(home.journals))
    assert again.status == 0, again.errors
    assert len(first) == len(story(home)) + 1
    check_prefixes(first)
    shown = results(first[-1])
    assert "call_001_0" in references(first[-1]) and "[Ledger: " in shown["call_003_0"]
    assert "value_7 = 8" in home.big.read_text() and "value_7 = 8" in shown["call_006_0"]
    assert shown["call_007_0"].endswith("Command exited with code 3")
    before = leaves(first[-1])
    assert leaves(server.turns[-1])[: len(before)] == before
    made = steps(home.journals)[:10]
    assert [step["observation"].get("exit_status") for step in made[-2:]] == [3, 0]
    assert {step["action"]["cwd"] for step in made} == {str(home.repository)}


def test_shadow_changes_no_byte(pi: Path, home: AgentHome) -> None:
    """What the client sent is what the server received."""
    with ScriptedServer(played(story(home))) as server, shadowed(ADAPTER, server.url, home.journals) as tap:
        done = run(pi, home, tap.url)
    assert done.status == 0, done.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(home.journals)) == 10


def test_a_route_of_its_own_identifies_it_at_a_standing_proxy(pi: Path, home: AgentHome) -> None:
    """Its requests have no header of its own: at any other path they are forwarded unchanged."""
    turns: list[Turn] = [[("read", {"path": "big.py"})], [("read", {"path": "big.py"})]]
    found = []
    for prefix in ("/pi", "/other"):
        with ScriptedServer(played(turns)) as server:
            settings = ProxySettings(
                adapter=proxy_clients(),
                routes={prefix: server.url},
                rules=Rules(policy=Policy(), journals=home.journals),
            )
            with Proxy(settings) as proxy:
                done = run(pi, home, proxy.base(prefix))
        assert done.status == 0, done.errors
        found.append(references(server.turns[-1]))
    assert found == [["call_001_0"], []]
