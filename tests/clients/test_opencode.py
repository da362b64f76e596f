"""The real opencode with Ledger around it, in each of its three dialects; it starts slowly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.opencode import AGENT
from execledger.agents.opencode.tools import ADAPTER
from tests.support.agents.hooked import commands, session
from tests.support.agents.native import native
from tests.support.agents.opencode import MODELS, run_opencode
from tests.support.agents.sessions import (
    VIEW,
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
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played

pytestmark = pytest.mark.long
home = agent_home
VERSIONS = [*((one, "chat") for one in AGENT.tested[:-1]), *((AGENT.tested[-1], name) for name in MODELS)]


@pytest.fixture(params=AGENT.tested[-1:])
def opencode(request: pytest.FixtureRequest) -> Path:
    """A tested version, the newest unless a test asks for another."""
    return or_skip(lambda: native("opencode-ai", request.param, "opencode", "bin/opencode"))


def bash(command: str) -> tuple[str, dict[str, Any]]:
    """A call that runs a command; older versions require a description."""
    return "bash", {"command": command, "description": "run it"}


def story(home: AgentHome, dialect: str = "chat") -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, tests, a big file."""
    path = str(home.big)
    patch = "*** Begin Patch\n*** Update File: big.py\n@@\n-{0} = 7  {1}\n+{0} = 8  {1}\n*** End Patch"
    edit: Turn = [("edit", {"filePath": path, "oldString": "value_7 = 7 ", "newString": "value_7 = 8 "})]
    if dialect == "responses":
        # With models of OpenAI, opencode has no other tool for edits.
        words = patch.format("value_7", "# a line of some length, as files have them")
        edit = [("apply_patch", {"patchText": words})]
    return [
        [("read", {"filePath": path})],
        [("read", {"filePath": path})],
        [bash("ls"), ("read", {"filePath": path, "offset": 20, "limit": 60})],
        [bash("cat big.py")],
        [bash("cat big.py")],
        [bash("mkdir -p deep && cd deep && pwd")],
        edit,
        [("read", {"filePath": path, "offset": 1, "limit": 12})],
        [bash("python3 -c 'raise SystemExit(3)'")],
        [bash("python3 -c 'print(1)'")],
        [bash("cat huge.py")],
        [("read", {"filePath": str(home.huge)})],
    ]


def name(dialect: str, turn: int) -> str:
    """The id of the first call of a turn."""
    return f"{'toolu' if dialect == 'messages' else 'call'}_{turn:03}_0"


@pytest.mark.parametrize("opencode,dialect", VERSIONS, indirect=["opencode"])
def test_a_session_with_everything_in_it(opencode: Path, dialect: str, home: AgentHome) -> None:
    """Repeated reads become references inside of the client's frame, and its edits still work."""
    with ScriptedServer(played(story(home, dialect))) as server:
        done = run_opencode(opencode, home, server.url, dialect=dialect, prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    assert "fault" not in done.errors and "saw no request" not in done.errors
    requests = server.turns
    assert len(requests) == len(story(home)) + 1
    check_prefixes(requests)
    shown = results(requests[-1])
    assert name(dialect, 1) in references(requests[-1])
    assert shown[name(dialect, 1)].startswith("<path>") and shown[name(dialect, 1)].endswith("</content>")
    assert "value_7 = 8" in home.big.read_text() and "8: value_7 = 8" in shown[name(dialect, 7)]
    titles = [request for request in server.requests if request.dialect and not request.is_turn]
    assert titles and not any(VIEW.encode() in request.raw for request in titles)
    made = steps(home.journals)
    assert len(made) == 13
    assert all(step["observation"]["truncated"] for step in made[-2:])
    assert {step["action"]["cwd"] for step in made} == {str(home.repository)}
    assert not any("exit_status" in step["observation"] and step["observation"]["exit_status"] for step in made)


@pytest.mark.parametrize("dialect", [*MODELS])
def test_shadow_changes_no_byte(dialect: str, opencode: Path, home: AgentHome) -> None:
    """What the client sent is what the server received, titles included."""
    with (
        ScriptedServer(played(story(home, dialect))) as server,
        shadowed(ADAPTER, server.url, home.journals) as tap,
    ):
        done = run_opencode(opencode, home, tap.url, dialect=dialect)
    assert done.status == 0, done.errors
    assert sorted(tap.bodies) == sorted(request.raw for request in server.requests if request.method == "POST")
    assert len(steps(home.journals)) == 13


def test_breakpoints_are_where_they_are_without_ledger(opencode: Path, home: AgentHome) -> None:
    """The same session with and without Ledger has them at the same places of every request."""
    told, sent = story(home)[:8], []
    for prefix in ([], ledger(home.journals, "--cadence", "every")):
        home.rewrite()
        with ScriptedServer(played(told)) as server:
            done = run_opencode(opencode, home, server.url, dialect="messages", prefix=prefix)
        assert done.status == 0, done.errors
        sent.append([marked_places(request) for request in server.turns])
    assert sent[0] == sent[1]
    assert len(sent[0]) == len(told) + 1 and all(sent[0])


def test_a_resumed_session_is_shown_what_it_was_shown(opencode: Path, home: AgentHome) -> None:
    """References made before are there again, byte for byte."""
    turns = story(home)[:5]
    with ScriptedServer(played([*turns, "Done.", [bash("ls")], "Done."])) as server:
        assert run_opencode(opencode, home, server.url, prefix=ledger(home.journals)).status == 0
        done = run_opencode(opencode, home, server.url, "--continue", prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    last, before = server.turns[-1], leaves(server.turns[len(turns)])
    assert references(last) and len(leaves(last)) > len(before)
    assert leaves(last)[: len(before)] == before


def test_a_suppressed_command_is_shown_as_the_model_made_it(opencode: Path, home: AgentHome) -> None:
    """Sealed, a repeated command is replaced by a shim; the model sees its own call, answered by a reference."""
    given = {"command": "cat big.py", "description": "run it"}
    with ScriptedServer(played([[("bash", given)], [("bash", given)]])) as server:
        done = run_opencode(opencode, home, server.url, prefix=ledger(home.journals, "--sealed"))
    assert done.status == 0, done.errors
    assert calls(server.turns[-1]) == [("bash", given)] * 2
    assert results(server.turns[-1])[name("chat", 1)].startswith("[Ledger: not run, ")


def test_subagents_are_conversations_of_their_own(opencode: Path, home: AgentHome) -> None:
    """A sub-agent is shown its own results in full, and one session has all steps."""
    read: Turn = [("read", {"filePath": str(home.big)})]

    def script(request: Request) -> Turn:
        if "x-parent-session-id" in request.headers:
            return read if request.turns == 0 else "Read."
        given = {"description": "read it", "prompt": "Read big.py.", "subagent_type": "general"}
        main: list[Turn] = [read, [("task", given)], read]
        return main[request.turns] if request.turns < len(main) else "Done."

    with ScriptedServer(script) as server:
        done = run_opencode(opencode, home, server.url, prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    beside = [request for request in server.turns if "x-parent-session-id" in request.headers]
    assert beside and not any(references(request) for request in beside)
    check_prefixes([request for request in server.turns if request not in beside])
    assert len(list(home.journals.glob("*.jsonl"))) == 1


def test_compaction_forgets_what_the_model_no_longer_sees(opencode: Path, home: AgentHome) -> None:
    """The request for a summary is of a text that opencode has flattened; nothing that it removed is referred to."""
    read: Turn = [("read", {"filePath": str(home.big)})]
    told: list[Turn] = [read, [bash("ls")], read, read, "Done."]
    prefix = ledger(home.journals, "--cadence", "every")
    with ScriptedServer(
        lambda _: told[min(len(server.turns), len(told)) - 1], lambda _: 195_000 if len(server.turns) == 2 else 1000
    ) as server:
        done = run_opencode(opencode, home, server.url, prefix=prefix)
    assert done.status == 0, done.errors
    assert "fault" not in done.errors
    beside = [request for request in server.requests if request.dialect and not request.is_turn]
    summaries = [request for request in beside if b"value_7 = 7" in request.raw]
    check_compaction(server.turns, summaries, "big.py")
    assert not any(VIEW.encode() in request.raw for request in beside)


def test_the_plugin_reports_exit_codes_beside_the_users_own(opencode: Path, home: AgentHome, tmp_path: Path) -> None:
    """All of them are known and right, the user's plugin is loaded too, and a resumed session shows the same."""
    truth = commands(keeps_directory=False)
    mine = tmp_path / "mine.js"
    mine.write_text(
        'import fs from "fs";\nexport const Mine = async () => ({ "tool.execute.after": async (call) => {'
        f' fs.appendFileSync({json.dumps(str(tmp_path / "hooked"))}, call.tool + "\\n"); }} }});\n'
    )
    settings = home.user / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"$schema": "https://opencode.ai/config.json", "plugin": [mine.as_uri()]}))
    before = settings.read_bytes()
    found = session(
        lambda url, home, prefix: run_opencode(opencode, home, url, prefix=prefix), home, truth, "bash", "--hooks"
    )
    assert found.status == 0 and "fault" not in found.errors, found.errors
    assert found.exits(truth) == found.places(truth, home) == ["right"] * len(truth)
    check_prefixes(found.requests)
    assert "unchanged-tree" in [step["decision"]["rule"] for step in found.made]
    assert (tmp_path / "hooked").read_text().split() == ["bash"] * len(truth)
    assert settings.read_bytes() == before
    with ScriptedServer(played(["Done."])) as server:
        done = run_opencode(opencode, home, server.url, "--continue", prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    shown = leaves(found.requests[-1])
    assert leaves(server.turns[-1])[: len(shown)] == shown
