"""The real Copilot CLI with a model of the user's own and Ledger around it, in each of its three dialects."""

from __future__ import annotations

from pathlib import Path

import pytest

from execledger.agents.copilot import AGENT
from execledger.agents.copilot.tools import ADAPTER
from tests.support.agents.native import ClientRun, native, run_client
from tests.support.agents.sessions import (
    AgentHome,
    agent_home,
    calls,
    check_compaction,
    check_prefixes,
    ledger,
    or_skip,
    references,
    results,
    shadowed,
    steps,
)
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played

KINDS = {
    "chat": {"COPILOT_PROVIDER_WIRE_API": "completions"},
    "responses": {"COPILOT_PROVIDER_WIRE_API": "responses"},
    "messages": {"COPILOT_PROVIDER_TYPE": "anthropic"},
}
"""The variables that choose a dialect."""
SLOW = [pytest.param(name, marks=[] if name == "chat" else pytest.mark.long) for name in KINDS]
OLDER = [pytest.param(one, "chat", marks=pytest.mark.long) for one in AGENT.tested[:-1]]
NEWEST = [pytest.param(AGENT.tested[-1], name, marks=[] if name == "chat" else pytest.mark.long) for name in KINDS]
SUMMARY = "The file was read, and read again."
home = agent_home


@pytest.fixture(params=AGENT.tested[-1:])
def copilot(request: pytest.FixtureRequest) -> Path:
    """A tested version, the newest unless a test asks for another."""
    return or_skip(lambda: native("@github/copilot", request.param, "@github/copilot", "copilot"))


def run(
    copilot: Path,
    home: AgentHome,
    url: str,
    *arguments: str,
    dialect: str = "chat",
    prefix: list[str] | None = None,
    tokens: str = "",
) -> ClientRun:
    """Run ``copilot -p`` to its end; ``tokens`` is the size of the model's context window."""
    variables = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": url if dialect == "messages" else f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "gpt-5.2",
        **KINDS[dialect],
        **({"COPILOT_PROVIDER_MAX_PROMPT_TOKENS": tokens} if tokens else {}),
    }
    words = ["-p", "Mend it.", "--allow-all-tools", "--no-color", *arguments]
    return run_client([*(prefix or []), str(copilot), *words], home, variables)


def story(home: AgentHome) -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, tests, a big file."""
    path = str(home.big)
    return [
        [("view", {"path": path})],
        [("view", {"path": path})],
        [("bash", {"command": "ls", "description": "list"}), ("view", {"path": path, "view_range": [20, 79]})],
        [("bash", {"command": "cat big.py", "description": "read"})],
        [("bash", {"command": "cat big.py", "description": "read"})],
        [("bash", {"command": "mkdir -p deep && cd deep && pwd", "description": "go"})],
        [("edit", {"path": path, "old_str": "value_7 = 7 ", "new_str": "value_7 = 8 "})],
        [("view", {"path": path, "view_range": [1, 12]})],
        [("bash", {"command": "python3 -c 'raise SystemExit(3)'", "description": "test"})],
        [("bash", {"command": "python3 -c 'print(1)'", "description": "test"})],
        [("bash", {"command": "cat huge.py", "description": "read"})],
        [("view", {"path": str(home.huge)})],
    ]


def name(dialect: str, turn: int) -> str:
    """The id of the first call of a turn."""
    return f"{'toolu' if dialect == 'messages' else 'call'}_{turn:03}_0"


@pytest.mark.parametrize("copilot,dialect", [*OLDER, *NEWEST], indirect=["copilot"])
def test_a_session_with_everything_in_it(copilot: Path, dialect: str, home: AgentHome) -> None:
    """Repeated reads become references, the exit code stays behind them, and the client's edits still work."""
    with ScriptedServer(played(story(home))) as server:
        done = run(copilot, home, server.url, dialect=dialect, prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    assert "fault" not in done.errors and "saw no request" not in done.errors
    requests = server.turns
    assert len(requests) == len(story(home)) + 1
    check_prefixes(requests)
    shown = results(requests[-1])
    if f"/{AGENT.tested[-1]}/" in str(copilot):
        assert name(dialect, 1) in references(requests[-1])
        # A second look is shown in full; the next read of the same lines is not.
        again = shown[name(dialect, 3)]
    else:
        # Older versions number the lines of files, which proves nothing.
        again = shown[name(dialect, 4)]
    assert "[Ledger: " in again and again.endswith(" with exit code 0>")
    assert "value_7 = 8" in home.big.read_text() and "value_7 = 8" in shown[name(dialect, 7)]
    assert shown[name(dialect, 8)].endswith(" with exit code 3>")
    made = steps(home.journals)
    assert len(made) == 13
    assert all(step["observation"]["truncated"] for step in made[-2:])
    assert {step["action"]["cwd"] for step in made} == {str(home.repository)}
    assert [step["observation"].get("exit_status") for step in made[-4:-2]] == [3, 0]


# In each dialect, and for Claude Code in every run of CI, shadow mode is tested without this client.
@pytest.mark.long
def test_shadow_changes_no_byte(copilot: Path, home: AgentHome) -> None:
    """What the client sent is what the server received."""
    with (
        ScriptedServer(played(story(home))) as server,
        shadowed(ADAPTER, server.url, home.journals) as tap,
    ):
        done = run(copilot, home, tap.url)
    assert done.status == 0, done.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(home.journals)) == 13


def test_a_resumed_session_is_shown_what_it_was_shown(copilot: Path, home: AgentHome) -> None:
    """References made before are there again; the client itself writes the arguments of calls without spaces then."""
    turns = story(home)[:5]
    after: list[Turn] = ["Done.", [("bash", {"command": "ls", "description": "list"})], "Done."]
    with ScriptedServer(played([*turns, *after])) as server:
        assert run(copilot, home, server.url, prefix=ledger(home.journals)).status == 0
        done = run(copilot, home, server.url, "--continue", prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    before, last = server.turns[len(turns)], server.turns[-1]
    assert references(last) and len(calls(last)) == len(calls(before)) + 1
    assert calls(last)[:-1] == calls(before)
    assert results(before).items() <= results(last).items()


def test_a_suppressed_command_is_shown_as_the_model_made_it(copilot: Path, home: AgentHome) -> None:
    """Sealed, a repeated command is replaced by a shim; the model sees its own call, answered by a reference."""
    given = {"command": "cat big.py", "description": "read"}
    with ScriptedServer(played([[("bash", given)], [("bash", given)]])) as server:
        done = run(copilot, home, server.url, prefix=ledger(home.journals, "--sealed"))
    assert done.status == 0, done.errors
    assert calls(server.turns[-1]) == [("bash", given)] * 2
    assert results(server.turns[-1])[name("chat", 1)].startswith("[Ledger: not run, ")


def test_subagents_are_conversations_of_their_own(copilot: Path, home: AgentHome) -> None:
    """A sub-agent is shown its own results in full, and one session has all steps."""
    read: Turn = [("view", {"path": str(home.big)})]
    given = {"description": "read it", "prompt": "Read big.py.", "agent_type": "general-purpose", "name": "reader"}

    def script(request: Request) -> Turn:
        if b"Mend it." not in request.raw:
            return read if request.turns == 0 else "Read."
        main: list[Turn] = [read, [("task", given)], read]
        return main[request.turns] if request.turns < len(main) else "Done."

    with ScriptedServer(script) as server:
        done = run(copilot, home, server.url, prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    beside = [request for request in server.turns if b"Mend it." not in request.raw]
    assert beside and not any(references(request) for request in beside)
    check_prefixes([request for request in server.turns if request not in beside])
    assert len(list(home.journals.glob("*.jsonl"))) == 1


def asks_for_summary(request: Request) -> bool:
    """Whether a request is for a summary of the conversation: it offers all tools, and bars them."""
    return "none" in str(request.body.get("tool_choice"))


@pytest.mark.parametrize("dialect", SLOW)
def test_compaction_forgets_what_the_model_no_longer_sees(dialect: str, copilot: Path, home: AgentHome) -> None:
    """The request for a summary, sent beside the turns, is none of them; the conversation goes on behind it."""
    read: Turn = [("view", {"path": str(home.big)})]

    def script(request: Request) -> Turn:
        turns = [one for one in server.turns if not asks_for_summary(one)]
        behind = [one for one in turns if SUMMARY.encode() in one.raw]
        if asks_for_summary(request) or len(behind) > 2 or len(turns) > 60:
            return SUMMARY
        # The summary takes effect as soon as it is there; until then, the model waits.
        wait = {"command": f"sleep 1; echo {len(turns)}", "description": "wait"}
        return read if behind or len(turns) <= 2 else [("bash", wait)]

    prefix = ledger(home.journals, "--cadence", "every")
    with ScriptedServer(script, lambda _: 90_000 if len(server.turns) == 2 else 1000) as server:
        done = run(copilot, home, server.url, dialect=dialect, prefix=prefix, tokens="100000")
    assert done.status == 0, done.errors
    assert "fault" not in done.errors
    summaries = [request for request in server.turns if asks_for_summary(request)]
    check_compaction([request for request in server.turns if request not in summaries], summaries, "big.py")
    assert len({step["action"]["thread"] for step in steps(home.journals)}) == 1


def test_githubs_own_models_are_refused(copilot: Path, home: AgentHome) -> None:
    """Without a model of the user's own there is nothing to redirect: the reason and an alternative are named."""
    done = run_client([*ledger(home.journals), str(copilot), "-p", "Mend it."], home, {})
    assert done.status != 0
    assert "GitHub's own models" in done.errors and "COPILOT_PROVIDER_BASE_URL" in done.errors
