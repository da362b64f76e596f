"""The real pi with Ledger around it, in each of its three dialects; it has no sub-agents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.pi import AGENT
from execledger.agents.pi.tools import ADAPTER
from execledger.agents.registry import proxy_clients
from execledger.core.policy import Policy
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from tests.support.agents.native import ClientRun, run_client
from tests.support.agents.node_clients import node_client
from tests.support.agents.sessions import (
    AgentHome,
    agent_home,
    calls,
    check_compaction,
    check_prefixes,
    leaves,
    ledger,
    marked_places,
    or_skip,
    references,
    results,
    shadowed,
    steps,
)
from tests.support.servers.scripted import ScriptedServer, Turn, played

pytestmark = pytest.mark.long
KINDS = {"chat": "openai-completions", "messages": "anthropic-messages", "responses": "openai-responses"}
"""How pi calls the dialects."""
PROMPT = ("Mend it.",)
COMPACTION = {"enabled": True, "reserveTokens": 16_384, "keepRecentTokens": 100}
home = agent_home
every_version = pytest.mark.parametrize("pi", AGENT.tested, indirect=True)


@pytest.fixture(params=AGENT.tested[-1:])
def pi(request: pytest.FixtureRequest) -> Path:
    """A tested version, the newest unless a test asks for another."""
    return or_skip(lambda: node_client("@mariozechner/pi-coding-agent", request.param, "dist/cli.js", "pi"))


def run(
    pi: Path,
    home: AgentHome,
    url: str,
    *arguments: str,
    dialect: str = "chat",
    prefix: Sequence[str] = (),
    prompts: Sequence[str] = PROMPT,
) -> ClientRun:
    """Run ``pi -p`` to its end; the user's own files lead to ``url``, and keep little behind a compaction."""
    folder = home.user / ".pi" / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    address = url if dialect == "messages" else f"{url}/v1"
    models = [{"id": "m1", "contextWindow": 200_000}]
    mine = {"baseUrl": address, "api": KINDS[dialect], "apiKey": "dummy", "models": models}
    (folder / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
    (folder / "settings.json").write_text(json.dumps({"compaction": COMPACTION}))
    words = [str(pi), "--provider", "mine", "--model", "m1", *arguments, "-p", *prompts]
    return run_client([*prefix, *words], home, {"PI_OFFLINE": "1"})


def story(pi: Path) -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, tests, a big file."""
    edit: dict[str, Any] = {"oldText": "value_7 = 7 ", "newText": "value_7 = 8 "}
    if pi.parent.name == AGENT.tested[-1]:
        # Older versions have one edit in a call.
        edit = {"edits": [edit]}
    return [
        [("read", {"path": "big.py"})],
        [("read", {"path": "big.py"})],
        [("bash", {"command": "ls"}), ("read", {"path": "big.py", "offset": 20, "limit": 60})],
        [("bash", {"command": "cat big.py"})],
        [("bash", {"command": "mkdir -p deep && cd deep && pwd"})],
        [("edit", {"path": "big.py", **edit})],
        [("read", {"path": "big.py", "limit": 12})],
        [("bash", {"command": "python3 -c 'raise SystemExit(3)'"})],
        [("bash", {"command": "python3 -c 'print(1)'"})],
        [("bash", {"command": "cat huge.py"})],
        [("read", {"path": "huge.py"})],
    ]


def name(dialect: str, turn: int) -> str:
    """The id of the first call of a turn."""
    return f"{'toolu' if dialect == 'messages' else 'call'}_{turn:03}_0"


@every_version
@pytest.mark.parametrize("dialect", KINDS)
def test_a_session_and_its_continuation(dialect: str, pi: Path, home: AgentHome) -> None:
    """Repeated reads become references, edits work, and a continued session is shown what it was shown."""
    turns = [*story(pi), "Done.", [("bash", {"command": "ls"})], "Done."]
    with ScriptedServer(played(turns)) as server:
        done = run(pi, home, server.url, dialect=dialect, prefix=ledger(home.journals))
        assert done.status == 0, done.errors
        assert "fault" not in done.errors and "saw no request" not in done.errors
        first = server.turns
        again = run(pi, home, server.url, "-c", dialect=dialect, prefix=ledger(home.journals))
    assert again.status == 0, again.errors
    assert len(first) == len(story(pi)) + 1
    check_prefixes(first)
    shown = results(first[-1])
    assert name(dialect, 1) in references(first[-1]) and "[Ledger: " in shown[name(dialect, 3)]
    assert "value_7 = 8" in home.big.read_text() and "value_7 = 8" in shown[name(dialect, 6)]
    assert shown[name(dialect, 7)].endswith("Command exited with code 3")
    before = leaves(first[-1])
    assert leaves(server.turns[-1])[: len(before)] == before
    made = steps(home.journals)[: len(story(pi)) + 1]
    assert [step["observation"].get("exit_status") for step in made[-4:-2]] == [3, 0]
    assert all(step["observation"]["truncated"] for step in made[-2:])
    assert {step["action"]["cwd"] for step in made} == {str(home.repository)}


@every_version
def test_shadow_changes_no_byte(pi: Path, home: AgentHome) -> None:
    """What the client sent is what the server received."""
    with ScriptedServer(played(story(pi))) as server, shadowed(ADAPTER, server.url, home.journals) as tap:
        done = run(pi, home, tap.url)
    assert done.status == 0, done.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(home.journals)) == len(story(pi)) + 1


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


def test_breakpoints_are_where_they_are_without_ledger(pi: Path, home: AgentHome) -> None:
    """The same session with and without Ledger has them at the same places of every request."""
    sent = []
    for prefix in ([], ledger(home.journals, "--cadence", "every")):
        home.rewrite()
        with ScriptedServer(played(story(pi))) as server:
            done = run(pi, home, server.url, dialect="messages", prefix=prefix)
        assert done.status == 0, done.errors
        sent.append([marked_places(request) for request in server.turns])
    assert sent[0] == sent[1]
    assert len(sent[0]) == len(story(pi)) + 1 and all(sent[0])


def test_a_suppressed_command_is_shown_as_the_model_made_it(pi: Path, home: AgentHome) -> None:
    """Sealed, a repeated command is replaced by a shim and restored; a repeated read runs."""
    given = {"command": "cat big.py"}
    read = ("read", {"path": "huge.py", "limit": 100})
    with ScriptedServer(played([[("bash", given)], [("bash", given)], [read], [read]])) as server:
        done = run(pi, home, server.url, prefix=ledger(home.journals, "--sealed"))
    assert done.status == 0, done.errors
    assert calls(server.turns[-1]) == [("bash", given), ("bash", given), read, read]
    shown = results(server.turns[-1])
    assert shown[name("chat", 1)].startswith("[Ledger: not run, ")
    assert name("chat", 3) in references(server.turns[-1])
    assert [step["decision"]["type"] for step in steps(home.journals)] == ["allow", "reuse", "allow", "allow"]


@every_version
@pytest.mark.parametrize("dialect", KINDS)
def test_compaction_forgets_what_the_model_no_longer_sees(dialect: str, pi: Path, home: AgentHome) -> None:
    """The request for a summary is of a text that pi has flattened; the conversation goes on behind the summary."""
    read: Turn = [("read", {"path": "big.py"})]
    told: list[Turn] = [read, read, [("bash", {"command": "ls"})], "Done.", read, read, "Done."]
    prefix = ledger(home.journals, "--cadence", "every")
    prompts = ("Mend it.", "Go on.")
    with ScriptedServer(
        lambda _: told[len(server.turns) - 1], lambda _: 190_000 if len(server.turns) == 4 else 1000
    ) as server:
        done = run(pi, home, server.url, dialect=dialect, prefix=prefix, prompts=prompts)
    assert done.status == 0, done.errors
    assert "fault" not in done.errors
    summaries = [request for request in server.requests if request.dialect and not request.is_turn]
    check_compaction(server.turns, summaries, "big.py")
    assert len({step["action"]["thread"] for step in steps(home.journals)}) == 1
