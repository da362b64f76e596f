"""``execledger eval run`` with agents that fail, that lack a key, or beside a container program that hangs."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest

from execledger.agents.access import other_key
from execledger.agents.claude.launch import MANAGED
from execledger.demo.repository import make_repository
from execledger.evaluate.grade import harness_missing
from tests.agents.test_headless import CLIENT
from tests.cli.conftest import Execledger
from tests.support.agents.swebench import make_instances, write_dataset

OF_AGENTS = (
    *("EXECLEDGER", "ANTHROPIC_", "AWS_", "CLAUDE_", "CODEX_", "OPENAI_", "GEMINI_", "GOOGLE_", "LLM_", "QWEN_"),
    *("COPILOT_", "GH_CONFIG_DIR", "OPENCODE_", "PI_CODING_AGENT_DIR", "XDG_", "CLOUD_SHELL"),
)
"""The beginnings of variables that agents read."""
FAILING = CLIENT.format(answers=1).rpartition("\n")[0].rpartition("\n")[0]
"""A client that has recorded an answer, and has not printed its result yet."""
OVERLOADED = """
print(json.dumps({"type": "result", "is_error": True, "result": "API Error: 529 overloaded"}))
sys.exit(1)
"""
SLOW = """
import time
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two tasks and their repositories, and the home folder of a user with a key of Anthropic."""
    instances = make_instances(2)
    write_dataset(tmp_path / "dataset", instances)
    for instance in instances:
        make_repository(tmp_path / "repos" / instance.instance_id)
    for name in [name for name in os.environ if name.startswith(OF_AGENTS) or other_key({name: "x"})]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan(folder: Path, end: str, *words: str) -> list[str]:
    """The words of an evaluation of a client that ends like this."""
    program = folder / "claude"
    program.write_text(FAILING + textwrap.dedent(end))
    program.chmod(0o755)
    own = ["--agent", "claude", "--program", str(program), "--model", "claude-sonnet-4-5"]
    return ["run", "-o", "out", *own, "--subset", "dataset", "--arm", "base", "--repos", "repos", *words]


@pytest.mark.parametrize(
    ("end", "words", "ended", "failure"),
    [
        (OVERLOADED, (), "end_turn", "API error: API Error: 529 overloaded"),
        (
            SLOW,
            ("--time-limit", "10", "--slice", "0:1"),
            "timed out",
            "timeout: the run reached the limit of time in the plan",
        ),
    ],
)
def test_a_failed_run_has_its_reason(
    execledger: Execledger, folder: Path, end: str, words: tuple[str, ...], ended: str, failure: str
) -> None:
    """It is finished, named at the end, and counted by its kind in the report."""
    called = execledger("eval", *plan(folder, end, *words))
    runs = 1 if words else 2
    names = [f"ledger__warehouse-{number + 1}" for number in range(runs)]
    assert (called.status, called.err.splitlines()[:-1]) == (
        0,
        [f"execledger: failed: base-1, {name}: {failure}" for name in names],
    )
    assert f"{runs} of {runs} runs finished" in called.err and f"ended: {ended} {runs}" in called.err
    report = execledger("eval", "report", "out", "--json")
    kind = failure.partition(":")[0]
    assert f"{runs} of {runs} runs were ended by a failure, not by the agent ({kind}" in report.out


def test_the_reason_of_a_run_that_did_not_begin_is_not_its_hint_alone(execledger: Execledger, folder: Path) -> None:
    """A launcher's message has a hint on a line of its own."""
    words = plan(folder, "", "--slice", "0:1")
    said = "execledger: there is no address of a model\nhint: set one up"
    program = folder / "claude"
    program.write_text(f"#!{sys.executable}\nimport sys\nif '--version' in sys.argv: sys.exit(print('2.1.325'))\n")
    program.write_text(f"{program.read_text()}sys.exit({said!r})\n")
    called = execledger("eval", *words)
    reason = f"the agent ended with status 1: {said.replace(chr(10), ' ')}"
    assert f"execledger: base-1, ledger__warehouse-1: {reason} (" in called.err


def test_a_container_program_that_hangs_is_a_problem(
    execledger: Execledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before an evaluation, and before its repairs are graded."""
    monkeypatch.setattr("execledger.agents.evaluation.ANSWER_SECONDS", 0.5)
    docker = folder / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text("#!/bin/sh\nexec sleep 600\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(docker.parent), prepend=os.pathsep)
    words = ["--agent", "opencode", "--model", "anthropic/claude-sonnet-4-5", "--subset", "dataset"]
    called = execledger("eval", "run", "-o", "out", "--program", "/nowhere/opencode", *words)
    silent = f"{docker} does not answer within 0.5 seconds"
    assert (called.status, f"- {silent}\n  hint: start Docker, or set DOCKER_HOST" in called.err) == (2, True)
    assert harness_missing(package="json") == silent


AGENTS = [
    ("claude", "CLAUDE_CODE_OAUTH_TOKEN=...", "sign in with `claude`"),
    ("codex", "export CODEX_API_KEY or OPENAI_API_KEY=...", "`codex login`"),
    ("copilot", "COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL (docs/copilot.md)"),
    ("opencode", "export ANTHROPIC_API_KEY=...", "`opencode auth login`"),
    ("qwen", "export OPENAI_API_KEY or ANTHROPIC_API_KEY or", "sign in with /auth in `qwen`"),
    ("gemini", "export GEMINI_API_KEY or GOOGLE_API_KEY=...", "sign in with /auth in `gemini`"),
    ("pi", "export ANTHROPIC_API_KEY or ANTHROPIC_OAUTH_TOKEN=...", "sign in with /login in `pi`"),
    ("openhands", "export LLM_API_KEY=...", "set it up with `openhands`"),
]


@pytest.mark.parametrize(("agent", "export", "sign_in"), AGENTS, ids=[agent for agent, *_ in AGENTS])
def test_an_agent_without_a_key_is_refused(
    execledger: Execledger, folder: Path, monkeypatch: pytest.MonkeyPatch, agent: str, export: str, sign_in: str
) -> None:
    """With the variables that it reads and its sign-in; the model's name is a warning, and nothing is started."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    # A machine without a keychain, and without settings of an administrator.
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setitem(MANAGED, "linux", str(folder / "etc" / "claude-code" / "managed-settings.json"))
    program = folder / agent
    program.write_text("#!/bin/sh\n[ $1 = --version ] && echo 99.0.0 || touch started\n")
    program.chmod(0o755)
    words = ["--agent", agent, "--program", str(program), "--model", "anthropic/nonsense", "--arm", "base"]
    called = execledger("eval", "run", "-o", "out", *words, "--subset", "dataset", "--repos", "repos")
    warned, refused, hint = called.err.splitlines()
    assert called.status == 2 and "no price" in warned and "was not checked" in warned
    missing = f"{agent}: found no API key in the environment and no sign-in"
    assert refused == f"execledger: found one problem, and started nothing: {missing}"
    assert hint.startswith("hint: ") and export in hint and hint.endswith(sign_in)
    assert not (folder / "out").exists()


def test_a_model_of_no_provider_is_refused(execledger: Execledger, folder: Path) -> None:
    """Of opencode alone the form of names is certain."""
    words = ["--agent", "opencode", "--program", "/nowhere/opencode", "--model", "gpt-5-mini"]
    called = execledger("eval", "run", "-o", "out", *words, "--subset", "dataset", "--repos", "repos")
    assert "- the model `gpt-5-mini`: expected PROVIDER/MODEL\n  hint: `opencode models` lists them\n" in called.err
