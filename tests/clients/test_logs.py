"""The logs that real clients write: what is read from them is what went over the wire."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from execledger.agents.formats import find_recorded, read_run
from execledger.agents.gemini import AGENT as GEMINI
from execledger.agents.registry import agent_of
from execledger.runs.recording import Run
from tests.clients import test_copilot, test_gemini, test_opencode, test_openhands, test_pi
from tests.support.agents.claude import CURRENT, OLD, ClaudeHome, claude, run_claude
from tests.support.agents.native import run_client
from tests.support.agents.npm import NotInstalled, node, npm_package
from tests.support.agents.opencode import run_opencode
from tests.support.agents.sessions import AgentHome, agent_home, or_skip, results
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played

copilot, opencode, pi = test_copilot.copilot, test_opencode.opencode, test_pi.pi
gemini, place, cli = test_gemini.gemini, test_gemini.place, test_openhands.cli
home = agent_home

_NUMBER = re.compile(r"^ *\d+(?:: |\t)", re.MULTILINE)
"""The number that some clients print before a line."""


def story(home: AgentHome, read: str, path: str, shell: str) -> list[Turn]:
    """A file two times, commands that show it, one that fails, and a file that is not there; one call in each turn."""
    look = (read, {path: str(home.big)})
    runs = [
        (shell, {"command": command, "description": "look"})
        for command in ("cat big.py", "sed -n 20,29p big.py", "echo failed; exit 3", "echo passed")
    ]
    gone = (read, {path: str(home.repository / "gone.py")})
    return [[one] for one in (look, look, *runs, gone)]


def the_run(program: str, home: AgentHome) -> Run:
    """The one session of an agent in this home."""
    agent = agent_of(program)
    assert agent is not None
    paths = [path for place in agent.places for path in place.found({"HOME": str(home.user)})]
    (run,) = [read_run(source.name, source.read()) for source in find_recorded(paths)]
    return run


def check(run: Run, requests: list[Request], home: AgentHome, failed: int | None = 3) -> None:
    """Every result is a step, and shows what was sent to the model, without the client's words around it.

    ``failed`` is the exit status of the command that failed, None if it is not claimed.
    """
    sent = list(results(requests[-1]).values())
    assert len(run.steps) == len(sent) == 7
    assert (run.task, run.turns, len(run.model_calls)) == ("Mend it.", 8, 8)
    check_steps(run, sent, home, failed)
    assert {step.action.cwd for step in run.steps[2:6]} == {str(home.repository)}
    check_replies(run, home)


def check_steps(run: Run, sent: list[str], home: AgentHome, failed: int | None = 3) -> None:
    """The steps of the story show what was sent to the model, without the client's words around it."""
    for step, text in zip(run.steps[:6], sent[:6], strict=True):
        own = step.observation.output.rstrip("\n")
        assert own and own in text
        # The client's own words are around an output and not in it.
        assert len(text) - len(own) < 400
    lines = home.big.read_text().splitlines()
    for step in run.steps[:3]:
        assert _NUMBER.sub("", step.observation.output).rstrip("\n").splitlines() == lines
    assert run.steps[3].observation.output.rstrip("\n").splitlines() == lines[19:29]
    assert [step.observation.exit_status for step in run.steps[2:6]] == [0, 0, failed, 0]
    assert not run.steps[6].observation.succeeded


def check_replies(run: Run, home: AgentHome) -> None:
    """The texts are those of the model, and the times those of this test, each result after the reply with its call."""
    assert [reply.text for reply in run.replies] == [*[""] * (run.turns - 1), "Done."]
    began, now = home.big.stat().st_mtime - 1, time.time() + 1
    for step in run.steps:
        said = run.replies[step.turn].at
        assert said is not None and step.at is not None
        assert began < said <= step.at < now
    last = run.replies[-1].at
    assert last is not None and last >= max(step.at or 0 for step in run.steps)


@pytest.mark.parametrize("version", [CURRENT, pytest.param(OLD, marks=pytest.mark.long)])
def test_claude(version: str, tmp_path: Path) -> None:
    """Claude Code; the older version answers the second read with a stub of its own, which shows nothing."""
    binary, home = or_skip(lambda: claude(version)), ClaudeHome(tmp_path)
    with ScriptedServer(played(story(home, "Read", "file_path", "Bash"))) as server:
        done = run_claude(binary, "Mend it.", url=server.url, home=home)
    assert done.status == 0, done.errors
    run = the_run("claude", home)
    if version == OLD:
        assert run.steps[1].observation.output_unknown
        return
    check(run, server.turns, home)


def test_copilot_cli(copilot: Path, home: AgentHome) -> None:
    """Copilot CLI."""
    with ScriptedServer(played(story(home, "view", "path", "bash"))) as server:
        done = test_copilot.run(copilot, home, server.url)
    assert done.status == 0, done.errors
    check(the_run("copilot", home), server.turns, home)


@pytest.mark.long
def test_opencode_database(opencode: Path, home: AgentHome) -> None:
    """opencode; the files of its database stay as they are."""
    with ScriptedServer(played(story(home, "read", "filePath", "bash"))) as server:
        done = run_opencode(opencode, home, server.url)
    assert done.status == 0, done.errors
    folder = home.user / ".local" / "share" / "opencode"
    before = {file.name: file.read_bytes() for file in folder.glob("*.db*")}
    check(the_run("opencode", home), server.turns, home)
    assert {file.name: file.read_bytes() for file in folder.glob("*.db*")} == before


@pytest.mark.long
def test_pi_session(pi: Path, home: AgentHome) -> None:
    """pi."""
    with ScriptedServer(played(story(home, "read", "path", "bash"))) as server:
        done = test_pi.run(pi, home, server.url)
    assert done.status == 0, done.errors
    check(the_run("pi", home), server.turns, home)


@pytest.mark.long
def test_qwen_code(home: AgentHome) -> None:
    """Qwen Code, which answers the second read with a stub of its own: that shows nothing."""

    def install() -> list[str]:
        package = "@qwen-code/qwen-code"
        return [str(node()), str(npm_package(package, "0.24.4") / "node_modules" / package / "cli.js")]

    try:
        program = install()
    except NotInstalled as error:
        pytest.skip(str(error))
    told = story(home, "read_file", "file_path", "run_shell_command")
    with ScriptedServer(played(told)) as server:
        variables = {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_MODEL": "m1"}
        done = run_client([*program, "-p", "Mend it.", "--yolo", "--auth-type", "openai"], home, variables)
    assert done.status == 0, done.errors
    run, sent = the_run("qwen", home), list(results(server.turns[-1]).values())
    assert len(run.steps) == len(sent) == len(told)
    assert run.steps[0].observation.output == home.big.read_text() == sent[0]
    assert run.steps[1].observation.output_unknown
    shown = [step.observation for step in run.steps[2:6]]
    # Outputs of this client are empty at times, and prove nothing then.
    assert all(one.output in text or one.output_unknown for one, text in zip(shown, sent[2:6], strict=True))
    assert [one.exit_status for one in shown] == [0, 0, 3, 0]
    assert not run.steps[6].observation.succeeded
    check_replies(run, home)


@pytest.mark.long
@pytest.mark.parametrize("gemini", GEMINI.tested[-1:], indirect=True)
def test_gemini_cli(gemini: Path, place: AgentHome) -> None:
    """Gemini CLI, in which an exit code is not claimed where the command may have printed the words for it."""
    with ScriptedServer(played(story(place, "read_file", "file_path", "run_shell_command"))) as server:
        done = test_gemini.run(gemini, place, server.url)
    assert done.status == 0, done.errors
    check(the_run("gemini", place), server.turns, place, failed=None)


@pytest.mark.long
def test_openhands_conversation(cli: Path, home: AgentHome) -> None:
    """OpenHands CLI, whose last call ends the session: its result is in no request."""
    view, terminal = test_openhands.view(home), test_openhands.terminal
    gone = test_openhands.editor(command="view", path=str(home.repository / "gone.py"))
    commands = ("cat big.py", "sed -n 20,29p big.py", "(echo failed; exit 3)", "echo passed")
    told = [[view], [view], *([terminal(command)] for command in commands), [gone], test_openhands.FINISH]
    with ScriptedServer(played(told)) as server:
        done = test_openhands.run(cli, home, server.url)
    assert done.status == 0, done.errors
    run, sent = the_run("openhands", home), list(results(server.turns[-1]).values())
    assert (run.task, run.turns, run.ended, len(run.steps), len(sent)) == ("Mend it.", 8, "finished", 8, 7)
    check_steps(run, sent, home)
    # Where the shell starts is not in the events; each result says where it is.
    assert [step.action.cwd for step in run.steps[2:6]] == [None, *[str(home.repository)] * 3]
