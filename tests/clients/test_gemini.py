"""The real Gemini CLI with Ledger around it: what is sent, what the model is shown, and what the client still does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from execledger.agents.gemini import AGENT
from execledger.agents.gemini.tools import ADAPTER
from tests.support.agents.node_clients import NodeRun, node_client, run_client
from tests.support.agents.sessions import (
    AgentHome,
    calls,
    check_prefixes,
    leaves,
    ledger,
    or_skip,
    references,
    results,
    shadowed,
    steps,
    views,
)
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played

pytestmark = pytest.mark.long
PROMPT = ("-p", "Mend it.")


@pytest.fixture
def gemini() -> Path:
    """The program."""
    return or_skip(lambda: node_client("@google/gemini-cli", AGENT.tested[-1], "bundle/gemini.js", "gemini"))


@pytest.fixture
def place(tmp_path: Path) -> AgentHome:
    """Folders of a user who has chosen an API key."""
    home = AgentHome(tmp_path)
    settings = home.user / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}  // chosen\n')
    return home


def run(gemini: Path, place: AgentHome, url: str, words: Sequence[str] = PROMPT, prefix: Sequence[str] = ()) -> NodeRun:
    """Run ``gemini -p`` to its end."""
    variables = {
        **place.variables(),
        "GEMINI_API_KEY": "x",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    own: list[str | Path] = [gemini, *words, "--yolo", "-o", "json", "-m", "gemini-2.5-pro"]
    return run_client(own, place.repository, variables, prefix)


def shell(command: str) -> tuple[str, dict[str, object]]:
    return "run_shell_command", {"command": command}


def story() -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, a failing and a passing test."""
    edit = {"file_path": "big.py", "old_string": "value_7 = 7 ", "new_string": "value_7 = 8 ", "instruction": "x"}
    return [
        [("read_file", {"file_path": "big.py"})],
        [("read_file", {"file_path": "big.py"})],
        [shell("ls"), ("read_file", {"file_path": "big.py", "start_line": 21, "end_line": 80})],
        [shell("cat big.py"), shell("cat big.py")],
        [shell("mkdir -p deep && cd deep && pwd")],
        [("replace", edit)],
        [("read_file", {"file_path": "big.py", "start_line": 1, "end_line": 12})],
        [shell("python3 -c 'raise SystemExit(3)'")],
        [shell("python3 -c 'print(1)'")],
        [shell("seq 1 20000")],
    ]


def test_a_session_with_everything_in_it(gemini: Path, place: AgentHome) -> None:
    """Repeated reads become references in the client's own frame, signatures stay, and its edits still work."""
    with ScriptedServer(played(story())) as server:
        done = run(gemini, place, server.url, prefix=ledger(place.journals))
    assert done.status == 0, done.errors
    assert "fault" not in done.errors and "saw no request" not in done.errors
    requests = server.turns
    assert len(requests) == len(story()) + 1
    check_prefixes(requests)
    texts = list(results(requests[-1]).values())
    assert texts[1].startswith("[Ledger: output omitted.")
    assert "value_7 = 8" in place.big.read_text()
    assert "value_7 = 8" in texts[8]
    assert "Exit Code: 3" in texts[9]
    made = steps(place.journals)
    assert len(made) == 12
    assert {step["action"]["cwd"] for step in made} == {str(place.repository)}
    assert all(step["decision"]["rule"] != "not-governed" for step in made)
    assert [step["observation"]["exit_status"] for step in made[9:11]] == [3, 0]
    assert any(views(request) for request in requests)
    signed = [part for item in requests[-1].items for part in item["parts"] if "thoughtSignature" in part]
    assert signed and all("functionCall" in part for part in signed)


def test_shadow_changes_no_byte(gemini: Path, place: AgentHome) -> None:
    """What the client sent is what the server received."""
    with ScriptedServer(played(story())) as server, shadowed(ADAPTER, server.url, place.journals) as tap:
        done = run(gemini, place, tap.url)
    assert done.status == 0, done.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(place.journals)) == 12


def test_a_resumed_session_is_shown_what_it_was_shown(gemini: Path, place: AgentHome) -> None:
    """The client sends every result twice after a resume: both copies are shown as the first was."""
    turns = story()[:3]
    with ScriptedServer(played([*turns, "Done.", [shell("ls")], "Done."])) as server:
        run(gemini, place, server.url, prefix=ledger(place.journals))
        again = ("--resume", "latest", "-p", "Go on.")
        done = run(gemini, place, server.url, again, prefix=ledger(place.journals))
    assert done.status == 0, done.errors
    before, after = server.turns[len(turns)], server.turns[-1]
    assert references(before)
    assert calls(after)[: len(calls(before))] == calls(before)
    shown = results(before)
    answers = [leaf["functionResponse"] for leaf in leaves(after) if "functionResponse" in leaf]
    again_shown = [(one["id"], one["response"]["output"]) for one in answers if one["id"] in shown]
    assert len(again_shown) > len(shown)
    assert set(again_shown) == set(shown.items())


def test_a_suppressed_command_is_shown_as_the_model_made_it(gemini: Path, place: AgentHome) -> None:
    """Sealed, a repeated command is replaced by a shim; the model sees its own call, answered by a reference."""
    with ScriptedServer(played([[shell("cat big.py")], [shell("cat big.py")], "Done."])) as server:
        first = run(gemini, place, server.url, prefix=ledger(place.journals, "--sealed"))
        again = ("--resume", "latest", "-p", "Go on.")
        done = run(gemini, place, server.url, again, prefix=ledger(place.journals, "--sealed"))
    assert (first.status, done.status) == (0, 0), first.errors + done.errors
    assert "reused before running" in first.errors
    for request in server.turns[2:]:
        assert calls(request) == [shell("cat big.py")] * 2
        assert list(results(request).values())[1].startswith("[Ledger: not run, ")


def test_subagents_are_conversations_of_their_own(gemini: Path, place: AgentHome) -> None:
    """Their calls have no ids, and their results do; each conversation is shown its own results."""

    def beside(request: Request) -> bool:
        return b'"complete_task"' in request.raw

    def script(request: Request) -> Turn:
        if beside(request):
            done = ("complete_task", {"result": "read"})
            return [("read_file", {"file_path": "big.py"})] if request.turns < 2 else [done]
        given = {"agent_name": "generalist", "prompt": "Look at big.py for me"}
        main: list[Turn] = [[("read_file", {"file_path": "big.py"})], [("invoke_agent", given)], [shell("ls")]]
        return main[request.turns] if request.turns < len(main) else "Done."

    with ScriptedServer(script) as server:
        done = run(gemini, place, server.url, prefix=ledger(place.journals))
    assert done.status == 0, done.errors
    others = [request for request in server.turns if beside(request)]
    assert len(others) > 2 and len(list(place.journals.glob("*.jsonl"))) == 1
    check_prefixes([request for request in server.turns if request not in others])
    check_prefixes(others)
    # The second read of the sub-agent refers to its own first one.
    answered = [list(results(request).values()) for request in others]
    assert answered[1][0].startswith("value_0") and answered[2][1].startswith("[Ledger: output omitted.")
    assert [step["action"]["call"] is not None for step in steps(place.journals)].count(True) >= 3


def test_without_a_choice_of_authentication_it_is_refused(gemini: Path, place: AgentHome) -> None:
    """The client itself would refuse to start, with words that do not say why."""
    (place.user / ".gemini" / "settings.json").write_text(json.dumps({"security": {}}))
    done = run(gemini, place, "http://127.0.0.1:9", prefix=ledger(place.journals))
    assert done.status != 0
    assert "no stored choice of authentication" in done.errors
