"""The real CLI and the real SDK of OpenHands with Ledger around them, in both dialects; they start slowly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.openhands import AGENT
from execledger.agents.openhands.adapter import ADAPTER
from execledger.core.policy import Cadence, Policy
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from tests.support.agents.native import ClientRun, run_client
from tests.support.agents.pypi import environment_with
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
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played

pytestmark = pytest.mark.long
PYTHON = "3.12"
"""The only Python that the CLI supports."""
SDKS = ("1.45.0", "1.58.0")
"""The tested versions of the SDK."""
MODELS = {"chat": "openai/m1", "messages": "anthropic/claude-sonnet-4-5"}
"""A model for each dialect: the provider decides."""
CONDENSER = 12
"""The number of events from which on a session is condensed, where it is to be."""
SCRIPT = """
import os
from openhands.sdk import LLM, Agent, Conversation, LLMSummarizingCondenser, Tool
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.preset.default import register_builtins_agents
from openhands.tools.task import TaskToolSet
from openhands.tools.terminal import TerminalTool

register_builtins_agents(enable_browser=False)
llm = LLM(model=os.environ["LLM_MODEL"], api_key="dummy", base_url=os.environ["LLM_BASE_URL"], usage_id="agent")
condenser = LLMSummarizingCondenser(llm=llm, max_size=int(os.environ["CONDENSER"]))
tools = [Tool(name=one.name) for one in (TerminalTool, FileEditorTool, TaskToolSet)]
conversation = Conversation(agent=Agent(llm=llm, tools=tools, condenser=condenser), workspace=os.getcwd())
conversation.send_message("Mend it.")
conversation.run()
"""
"""A program that uses the SDK."""
EVERY = Policy(cadence=Cadence.EVERY)
home = agent_home


@pytest.fixture(params=AGENT.tested[-1:])
def cli(request: pytest.FixtureRequest) -> Path:
    """The CLI in a tested version, the newest unless a test asks for another."""
    name = f"openhands-{request.param}"
    return or_skip(lambda: environment_with(name, PYTHON, f"openhands=={request.param}") / "bin" / "openhands")


@pytest.fixture(params=SDKS[-1:])
def sdk(request: pytest.FixtureRequest) -> Path:
    """The Python that has the SDK in a tested version, the newest unless a test asks for another."""
    version = request.param
    wanted = (f"openhands-sdk=={version}", f"openhands-tools=={version}")
    return or_skip(lambda: environment_with(f"openhands-sdk-{version}", PYTHON, *wanted) / "bin" / "python")


def variables(url: str, dialect: str) -> dict[str, str]:
    """What leads to a model at ``url``."""
    address = url if dialect == "messages" else f"{url}/v1"
    model = {"LLM_MODEL": MODELS[dialect], "LLM_BASE_URL": address, "LLM_API_KEY": "dummy"}
    return {**model, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def run(
    cli: Path, home: AgentHome, url: str, *arguments: str, dialect: str = "chat", prefix: Sequence[str] = ()
) -> ClientRun:
    """Run the CLI without its terminal interface, to its end."""
    words = ["--headless", "--override-with-envs", *arguments, "-t", "Mend it."]
    return run_client([*prefix, str(cli), *words], home, variables(url, dialect))


def run_sdk(sdk: Path, home: AgentHome, url: str, dialect: str = "chat", condenser: int = 240) -> None:
    """Run the program that uses the SDK, to its end."""
    more = {**variables(url, dialect), "CONDENSER": str(condenser)}
    done = run_client([str(sdk), "-c", SCRIPT], home, more)
    assert done.status == 0, done.errors


@contextmanager
def proxied(server: ScriptedServer, home: AgentHome, policy: Policy | None = None) -> Iterator[str]:
    """The address of a proxy as a user starts it beside a program."""
    rules = Rules(journals=home.journals, local_files=True, policy=policy or Policy())
    with Proxy(ProxySettings(adapter=ADAPTER, upstream=server.url, rules=rules, prefix="")) as proxy:
        yield proxy.url


def editor(**given: Any) -> tuple[str, dict[str, Any]]:
    return "file_editor", {**given, "summary": "x", "security_risk": "LOW"}


def terminal(command: str) -> tuple[str, dict[str, Any]]:
    return "terminal", {"command": command, "summary": "x", "security_risk": "LOW"}


FINISH: Turn = [("finish", {"message": "Done.", "summary": "x"})]


def view(home: AgentHome, **more: Any) -> tuple[str, dict[str, Any]]:
    """A call that shows the file."""
    return editor(command="view", path=str(home.big), **more)


def story(home: AgentHome) -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, tests, a big file."""
    edit = {"command": "str_replace", "path": str(home.big), "old_str": "value_7 = 7 ", "new_str": "value_7 = 8 "}
    return [
        [view(home)],
        [view(home)],
        [terminal("ls"), view(home, view_range=[20, 79])],
        [terminal("cat big.py")],
        [terminal("mkdir -p deep && cd deep && pwd")],
        [editor(**edit)],
        [view(home, view_range=[1, 12])],
        [terminal("python3 -c 'raise SystemExit(3)'")],
        [terminal("python3 -c 'print(1)'")],
        [terminal("cat ../huge.py")],
        [editor(command="view", path=str(home.huge))],
        FINISH,
    ]


def name(dialect: str, turn: int) -> str:
    """The id of the first call of a turn."""
    return f"{'toolu' if dialect == 'messages' else 'call'}_{turn:03}_0"


def check(requests: list[Request], home: AgentHome, dialect: str) -> None:
    """References where something was seen, the edit made, and the directory followed."""
    assert len(requests) == len(story(home))
    check_prefixes(requests)
    shown = results(requests[-1])
    assert name(dialect, 1) in references(requests[-1])
    assert shown[name(dialect, 1)].startswith("Here's the result of running")
    assert "[Ledger: " in shown[name(dialect, 3)]
    assert shown[name(dialect, 3)].endswith("[Command finished with exit code 0]")
    assert "value_7 = 8" in home.big.read_text() and "8\tvalue_7 = 8" in shown[name(dialect, 6)]
    made = steps(home.journals)
    assert len(made) == len(story(home))
    assert all(step["observation"]["truncated"] for step in made[-2:])
    ran = [step for step in made if step["action"].get("call") is None]
    assert [step["observation"].get("exit_status") for step in ran[-3:-1]] == [3, 0]
    assert ran[-1]["action"]["cwd"] == str(home.repository / "deep")


VERSIONS = [*((one, "chat") for one in AGENT.tested), (AGENT.tested[-1], "messages")]


@pytest.mark.parametrize("cli,dialect", VERSIONS, indirect=["cli"])
def test_a_session_of_the_cli_with_everything_in_it(cli: Path, dialect: str, home: AgentHome) -> None:
    """Repeated reads become references inside of the client's frame, and its edits still work."""
    with ScriptedServer(played(story(home))) as server:
        done = run(cli, home, server.url, dialect=dialect, prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    assert "fault" not in done.errors and "saw no request" not in done.errors
    check(server.turns, home, dialect)


@pytest.mark.parametrize("sdk,dialect", [(SDKS[0], "chat"), *((SDKS[-1], one) for one in MODELS)], indirect=["sdk"])
def test_a_session_of_the_sdk_with_everything_in_it(sdk: Path, dialect: str, home: AgentHome) -> None:
    """The same through a proxy that the program is given the address of."""
    with ScriptedServer(played(story(home))) as server, proxied(server, home) as url:
        run_sdk(sdk, home, url, dialect)
    check(server.turns, home, dialect)


@pytest.mark.parametrize("sdk", SDKS, indirect=True)
def test_shadow_changes_no_byte_of_the_sdk(sdk: Path, home: AgentHome) -> None:
    """What the client sent is what the server received."""
    with ScriptedServer(played(story(home))) as server, shadowed(ADAPTER, server.url, home.journals) as tap:
        run_sdk(sdk, home, tap.url, "messages")
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(home.journals)) == len(story(home))


def test_shadow_changes_no_byte(cli: Path, home: AgentHome) -> None:
    """What the client sent is what the server received."""
    with ScriptedServer(played(story(home))) as server, shadowed(ADAPTER, server.url, home.journals) as tap:
        done = run(cli, home, tap.url)
    assert done.status == 0, done.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(home.journals)) == len(story(home))


def test_breakpoints_are_where_they_are_without_ledger(sdk: Path, home: AgentHome) -> None:
    """The same session with and without Ledger has them at the same places of every request."""
    sent = []
    for governed in (False, True):
        home.rewrite()
        with ScriptedServer(played(story(home))) as server, proxied(server, home, EVERY) as url:
            run_sdk(sdk, home, url if governed else server.url, "messages")
        sent.append([marked_places(request) for request in server.turns])
    assert sent[0] == sent[1]
    assert len(sent[0]) == len(story(home)) and all(sent[0])


def test_a_resumed_session_is_shown_what_it_was_shown(cli: Path, home: AgentHome) -> None:
    """References made before are there again, byte for byte."""
    turns = [*story(home)[:4], "Done.", [terminal("ls")], "Done."]
    with ScriptedServer(played(turns)) as server:
        first = run(cli, home, server.url, prefix=ledger(home.journals))
        assert first.status == 0, first.errors
        done = run(cli, home, server.url, "--resume", "--last", prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    # The system prompt, which comes first, states the time of the start.
    before, after = ([leaf for leaf in leaves(request) if leaf["role"] != "system"] for request in server.turns[4::2])
    assert references(server.turns[-1]) and len(after) > len(before)
    assert after[: len(before)] == before


def test_a_suppressed_command_is_shown_as_the_model_made_it(cli: Path, home: AgentHome) -> None:
    """Sealed, a repeated command is replaced by a shim and restored; a repeated view of a file runs."""
    cat, look = terminal("cat big.py"), editor(command="view", path=str(home.huge), view_range=[1, 100])
    with ScriptedServer(played([[cat], [cat], [look], [look], FINISH])) as server:
        done = run(cli, home, server.url, prefix=ledger(home.journals, "--sealed"))
    assert done.status == 0, done.errors
    assert calls(server.turns[-1]) == [cat, cat, look, look]
    assert results(server.turns[-1])[name("chat", 1)].startswith("[Ledger: not run, ")
    assert name("chat", 3) in references(server.turns[-1])
    assert [step["decision"]["type"] for step in steps(home.journals)][:4] == ["allow", "reuse", "allow", "allow"]


def with_subagent(home: AgentHome) -> ScriptedServer:
    """A model that reads a file, has a sub-agent read it, and reads it again."""
    given = {
        "prompt": "Look at big.py.",
        "description": "look",
        "subagent_type": "general-purpose",
        "security_risk": "LOW",
    }
    main: list[Turn] = [[view(home)], [("task", given)], [view(home)], FINISH]

    def script(request: Request) -> Turn:
        if b"Mend it." not in request.raw:
            return [view(home)] if request.turns == 0 else FINISH
        return main[request.turns]

    return ScriptedServer(script)


def check_subagent(requests: list[Request]) -> None:
    """A sub-agent is shown its own results in full, and counts as a possible writer."""
    beside = [request for request in requests if b"Mend it." not in request.raw]
    assert len(beside) == 2 and not any(references(request) for request in beside)
    mine = [request for request in requests if request not in beside]
    check_prefixes(mine)
    assert len(mine) == 4 and name("chat", 2) in references(mine[-1])


def test_subagents_of_the_sdk_are_sessions_of_their_own(sdk: Path, home: AgentHome) -> None:
    """Requests of a sub-agent name another conversation."""
    with with_subagent(home) as server, proxied(server, home) as url:
        run_sdk(sdk, home, url)
    check_subagent(server.turns)
    assert len(list(home.journals.glob("*.jsonl"))) == 2


def test_subagents_of_the_cli_are_conversations_of_their_own(cli: Path, home: AgentHome) -> None:
    """Requests name no conversation, and one session has all steps."""
    with with_subagent(home) as server:
        done = run(cli, home, server.url, prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    check_subagent(server.turns)
    assert len(list(home.journals.glob("*.jsonl"))) == 1


def long_session(home: AgentHome) -> ScriptedServer:
    """A model that reads a file twice, works until the session is condensed, and reads the file twice again."""
    told: list[Turn] = [[view(home)], [view(home)], *([terminal(f"echo {number}")] for number in range(4))]
    told += [[view(home)], [view(home)], FINISH]
    server = ScriptedServer(lambda _: told[len(server.turns) - 1])
    return server


def check_condensed(server: ScriptedServer) -> None:
    """The request for a summary offers no tools."""
    summaries = [request for request in server.requests if request.dialect and not request.is_turn]
    check_compaction(server.turns, summaries, "big.py")


@pytest.mark.parametrize("sdk", SDKS, indirect=True)
def test_condensed_sessions_of_the_sdk(sdk: Path, home: AgentHome) -> None:
    """What the condenser removed is not referred to, and the view says that it is no longer in context."""
    with long_session(home) as server, proxied(server, home, EVERY) as url:
        run_sdk(sdk, home, url, condenser=CONDENSER)
    check_condensed(server)


def test_condensed_sessions_of_the_cli(cli: Path, home: AgentHome) -> None:
    """The same, with the size in the user's own settings; the conversation has no name and goes on."""
    model = {"model": MODELS["chat"], "api_key": "dummy"}
    condenser = {"kind": "LLMSummarizingCondenser", "llm": {**model, "usage_id": "condenser"}, "max_size": CONDENSER}
    settings = {"kind": "Agent", "llm": {**model, "usage_id": "agent"}, "tools": [], "condenser": condenser}
    folder = home.user / ".openhands"
    folder.mkdir()
    (folder / "agent_settings.json").write_text(json.dumps(settings))
    with long_session(home) as server:
        done = run(cli, home, server.url, prefix=ledger(home.journals, "--cadence", "every"))
    assert done.status == 0, done.errors
    assert "fault" not in done.errors
    check_condensed(server)
    assert len({step["action"]["thread"] for step in steps(home.journals)}) == 1
