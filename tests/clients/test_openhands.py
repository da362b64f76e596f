"""The real CLI and the real SDK of OpenHands with Ledger around them; they start slowly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from execledger.agents.openhands import AGENT
from execledger.agents.openhands.adapter import ADAPTER
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from tests.support.agents.native import ClientRun, run_client
from tests.support.agents.pypi import environment_with
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
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played

pytestmark = pytest.mark.long
PYTHON = "3.12"
"""The only Python that the CLI supports."""
SDK = "1.58.0"
"""The tested version of the SDK."""
VARIABLES = {"LLM_API_KEY": "dummy", "LLM_MODEL": "openai/m1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
SCRIPT = """
import os
from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.terminal import TerminalTool

llm = LLM(model="openai/m1", api_key="dummy", base_url=os.environ["LLM_BASE_URL"], usage_id="agent")
agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name), Tool(name=FileEditorTool.name)])
conversation = Conversation(agent=agent, workspace=os.getcwd())
conversation.send_message("Mend it.")
conversation.run()
"""
"""A program that uses the SDK."""


@pytest.fixture
def cli() -> Path:
    """The CLI in the tested version."""
    wanted = f"openhands=={AGENT.tested[-1]}"
    return or_skip(lambda: environment_with(f"openhands-{AGENT.tested[-1]}", PYTHON, wanted) / "bin" / "openhands")


@pytest.fixture
def sdk() -> Path:
    """The Python that has the SDK."""
    wanted = (f"openhands-sdk=={SDK}", f"openhands-tools=={SDK}")
    return or_skip(lambda: environment_with(f"openhands-sdk-{SDK}", PYTHON, *wanted) / "bin" / "python")


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    """Folders of a new user."""
    return AgentHome(tmp_path)


def run(cli: Path, home: AgentHome, url: str, *arguments: str, prefix: list[str] | None = None) -> ClientRun:
    """Run the CLI without its terminal interface, to its end."""
    words = ["--headless", "--override-with-envs", *arguments, "-t", "Mend it."]
    return run_client([*(prefix or []), str(cli), *words], home, {**VARIABLES, "LLM_BASE_URL": f"{url}/v1"})


def editor(**given: Any) -> tuple[str, dict[str, Any]]:
    return "file_editor", {**given, "summary": "x", "security_risk": "LOW"}


def terminal(command: str) -> tuple[str, dict[str, Any]]:
    return "terminal", {"command": command, "summary": "x", "security_risk": "LOW"}


def story(home: AgentHome) -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, a failing and a passing test."""
    view = {"command": "view", "path": str(home.big)}
    edit = {"command": "str_replace", "path": str(home.big), "old_str": "value_7 = 7 ", "new_str": "value_7 = 8 "}
    return [
        [editor(**view)],
        [editor(**view)],
        [terminal("ls"), editor(**view, view_range=[20, 79])],
        [terminal("cat big.py")],
        [terminal("mkdir -p deep && cd deep && pwd")],
        [editor(**edit)],
        [editor(**view, view_range=[1, 12])],
        [terminal("python3 -c 'raise SystemExit(3)'")],
        [terminal("python3 -c 'print(1)'")],
        [("finish", {"message": "Done.", "summary": "x"})],
    ]


def check(requests: list[Request], home: AgentHome) -> None:
    """References where something was seen, the edit made, and the directory followed."""
    assert len(requests) == len(story(home))
    check_prefixes(requests)
    shown = results(requests[-1])
    assert "call_001_0" in references(requests[-1]) and shown["call_001_0"].startswith("Here's the result of running")
    assert "[Ledger: " in shown["call_003_0"]
    assert shown["call_003_0"].endswith("[Command finished with exit code 0]")
    assert "value_7 = 8" in home.big.read_text() and "8\tvalue_7 = 8" in shown["call_006_0"]
    made = [step for step in steps(home.journals) if step["action"].get("call") is None]
    assert [step["observation"].get("exit_status") for step in made[-2:]] == [3, 0]
    assert made[-1]["action"]["cwd"] == str(home.repository / "deep")


def test_a_session_of_the_cli_with_everything_in_it(cli: Path, home: AgentHome) -> None:
    """Repeated reads become references inside of the client's frame, and its edits still work."""
    with ScriptedServer(played(story(home))) as server:
        done = run(cli, home, server.url, prefix=ledger(home.journals))
    assert done.status == 0, done.errors
    assert "fault" not in done.errors and "saw no request" not in done.errors
    check(server.turns, home)


def test_a_session_of_the_sdk_with_everything_in_it(sdk: Path, home: AgentHome) -> None:
    """The same through a proxy that the program is given the address of."""
    rules = Rules(journals=home.journals, local_files=True)
    with (
        ScriptedServer(played(story(home))) as server,
        Proxy(ProxySettings(adapter=ADAPTER, upstream=f"{server.url}/v1", rules=rules)) as proxy,
    ):
        done = run_client([str(sdk), "-c", SCRIPT], home, {**VARIABLES, "LLM_BASE_URL": proxy.url})
    assert done.status == 0, done.errors
    check(server.turns, home)


def test_shadow_changes_no_byte(cli: Path, home: AgentHome) -> None:
    """What the client sent is what the server received."""
    with ScriptedServer(played(story(home))) as server, shadowed(ADAPTER, server.url, home.journals) as tap:
        done = run(cli, home, tap.url)
    assert done.status == 0, done.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(home.journals)) == 10


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
