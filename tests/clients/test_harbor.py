"""The real Harbor with its own agents and with Ledger around them, in overlays of this machine; it starts slowly."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from execledger.agents.formats import find_recorded, read_run
from execledger.cli.eval import command as evaluation
from execledger.harbor import NOT_STARTED
from execledger.testing.scripted_model import ModelServer
from execledger.vocabulary.decisions import Shown
from tests.support.agents.claude import CURRENT as CLAUDE
from tests.support.agents.claude import MODEL as CLAUDE_MODEL
from tests.support.agents.claude import ClaudeHome, claude, run_claude
from tests.support.agents.codex import CURRENT, MODEL, CodexHome, codex, run_codex
from tests.support.agents.mini import run_mini
from tests.support.agents.sessions import or_skip
from tests.support.harbor import PATH
from tests.support.harbor.install import ROOT, harbor_environment
from tests.support.servers.responses import ResponsesServer, call, say, turns
from tests.support.servers.scripted import ScriptedServer, played

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        platform.system() != "Linux" or os.geteuid() != 0,
        reason="an overlay of the machine's files needs root on Linux",
    ),
]

INSTRUCTION = "The function add in calc.py subtracts. Make it add."
FILE = "def add(a, b):\n    return a - b\n" + "".join(f"\n\ndef number_{n}():\n    return {n}\n" for n in range(30))
COMMANDS = ("cat calc.py", "sed -n '4,60p' calc.py", "sed -i 's/a - b/a + b/' calc.py", "head -3 calc.py")
"""What every scripted model does: the second command shows lines that the first one has shown."""
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent's model says at the end."""
TESTS = """#!/bin/bash
cd /app
if python3 -c 'import calc; assert calc.add(1, 2) == 3'; then reward=1; else reward=0; fi
echo $reward > /logs/verifier/reward.txt
"""
UV = """#!/bin/sh
# The agent is installed: of uv's commands only the installation of further packages does anything.
if [ "$1 $2" = "pip install" ]; then shift 4; python="$1"; shift; exec "$python" -m pip install --quiet "$@"; fi
"""
"""A stand-in for uv, which would fetch a Python from the network."""
LEDGER = ("--sealed", "--cadence", "every")
"""Options of ``execledger run`` in both kinds of runs."""


class Trial(NamedTuple):
    """What Harbor kept of a trial."""

    folder: Path
    result: dict[str, Any]

    @property
    def reward(self) -> float:
        """The reward, of a trial without an exception."""
        assert self.result["exception_info"] is None, self.result["exception_info"]
        return float(self.result["verifier_result"]["rewards"]["reward"])

    @property
    def journal(self) -> Path:
        """The journal, of a trial in which Ledger took part."""
        (found,) = (self.folder / "agent" / "execledger").glob("*.jsonl")
        return found


class Harbor:
    """Harbor's own command line, a task, and the folder of its jobs."""

    def __init__(self, folder: Path) -> None:
        """Write the task below a folder."""
        self.program = or_skip(lambda: harbor_environment() / "bin" / "harbor")
        self.folder, self.jobs, self.task = folder, folder / "jobs", folder / "tasks" / "fix-add"
        for name, text in {
            "task.toml": 'version = "1.0"\n[verifier]\ntimeout_sec = 600.0\n[agent]\ntimeout_sec = 600.0\n',
            "instruction.md": f"{INSTRUCTION}\n",
            "environment/calc.py": FILE,
            "tests/test.sh": TESTS,
            "solution/solve.sh": "#!/bin/bash\nsed -i 's/a - b/a + b/' /app/calc.py\n",
        }.items():
            file = self.task / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.programs = folder / "programs"
        for place in (self.programs, folder / "home"):
            place.mkdir()

    def has(self, name: str, program: Path | str) -> None:
        """Put a program, or a script, on the path of overlays."""
        if isinstance(program, Path):
            (self.programs / name).symlink_to(program)
        else:
            (self.programs / name).write_text(program)
            (self.programs / name).chmod(0o755)

    def run(self, agent: str, *options: str) -> Trial:
        """Run the task once with an agent, as a user does; the job has the agent's name."""
        job = agent.rpartition(":")[2]
        path = f"{self.programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        variables = {
            **os.environ,
            PATH: path,
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder / "home"),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENAI_API_KEY": "dummy",
            "ANTHROPIC_API_KEY": "dummy",
        }
        words = [self.program, "run", "-p", self.task, "-o", self.jobs, "--job-name", job, "-a", agent, *options]
        environment = ("-e", "tests.support.harbor.overlay:OverlayEnvironment")
        done = subprocess.run(
            [*map(str, words), *environment],
            cwd=self.folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (result,) = (self.jobs / job).glob("*/result.json")
        return Trial(result.parent, json.loads(result.read_text()))


@pytest.fixture
def harbor(tmp_path: Path) -> Harbor:
    """Harbor in a folder of its own."""
    return Harbor(tmp_path)


def decided(journal: Path) -> list[tuple[str, str, str, Shown]]:
    """Every step of a journal: the command, the decision with its rule, and what was shown."""
    steps = [one.governed.step for one in read_run(str(journal), journal.read_bytes()).steps if one.governed]
    return [(step.action.command, type(step.decision).__name__, step.decision.rule, step.shown) for step in steps]


def own_journal(folder: Path) -> Path:
    """The journal of a run under ``execledger run``."""
    (found,) = folder.glob("*.jsonl")
    return found


def launched(journals: Path) -> list[str]:
    """The prefix with which our own runner is started."""
    return [sys.executable, "-m", "execledger", "run", *LEDGER, "--no-settings", "--journal", str(journals)]


def flags(*more: str) -> tuple[str, ...]:
    """The options of Harbor that pass options to Ledger."""
    return ("--ak", f"ledger={' '.join(LEDGER)}", *(word for one in more for word in ("--ak", one)))


@contextmanager
def codex_model() -> Iterator[ResponsesServer]:
    """A model that makes Codex run the commands."""
    script = turns(*([call("exec_command", cmd=text)] for text in COMMANDS), [say("Done.")])
    with ResponsesServer(script) as server:
        yield server
        assert server.faults == []


def test_an_agent_that_does_nothing_and_one_that_knows_the_solution(harbor: Harbor) -> None:
    """The environment and the task are sound: they fail without a repair, and pass with one."""
    assert (harbor.run("nop").reward, harbor.run("oracle").reward) == (0.0, 1.0)


def test_every_class_is_one_of_harbors_agents(tmp_path: Path) -> None:
    """Harbor takes our options, and each agent's program is started by a command behind the shell function."""
    python = or_skip(lambda: harbor_environment() / "bin" / "python")
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN"), "dummy")
    variables = {**os.environ, **keys, "HOME": str(tmp_path), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(
        [str(python), "-m", "tests.support.harbor.commands"],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "LedgerCodex": ["ledger-codex", "codex"],
        "LedgerMini": ["ledger-mini-swe-agent", "mini-swe-agent"],
        "LedgerClaude": ["ledger-claude-code", "claude"],
        "LedgerOpencode": ["ledger-opencode", "opencode"],
        "LedgerGemini": ["ledger-gemini-cli", "gemini"],
        "LedgerQwen": ["ledger-qwen-coder", "qwen"],
        "LedgerCopilot": ["ledger-copilot-cli", "copilot"],
        "LedgerPi": ["ledger-pi", "pi"],
    }


def test_codex(harbor: Harbor, tmp_path: Path) -> None:
    """Ledger, installed as a wheel of this checkout, decides and says what it does under our own runner."""
    binary = or_skip(lambda: codex(CURRENT))
    harbor.has("codex", binary)
    with codex_model() as server:
        model = ("-m", f"openai/{MODEL}", "--base-url", server.url)
        plain = harbor.run("codex", *model)
        assert (plain.reward, len(server.requests)) == (1.0, 5)
        governed = harbor.run("execledger.harbor:LedgerCodex", *model, *flags())
        assert governed.reward == 1.0
    status = governed.result["agent_result"]["metadata"]["execledger"]
    assert (governed.result["agent_info"]["name"], status["installed"]) == ("ledger-codex", True)
    (tmp_path / "own").mkdir()
    home = CodexHome(tmp_path / "own")
    (home.repository / "calc.py").write_text(FILE)
    with codex_model() as server:
        run = run_codex(
            binary, INSTRUCTION, url=server.url, home=home, prefix=[*launched(tmp_path / "own-journals"), "--"]
        )
        assert run.status == 0, run.errors
    steps = decided(governed.journal)
    assert steps == decided(own_journal(tmp_path / "own-journals"))
    assert [(kind, rule) for _, kind, rule, _ in steps] == [
        ("Allow", "new"),
        ("Reuse", "covered-read"),
        ("Allow", "modification"),
        ("Allow", "new"),
    ]
    sources = [source.name for source in find_recorded([str(harbor.jobs)])]
    assert len(sources) == 2 and str(governed.journal) in sources
    said = CliRunner().invoke(
        evaluation, ["report", str(harbor.jobs / "codex"), str(harbor.jobs / "LedgerCodex"), "--json"]
    )
    assert said.exit_code == 0 and "1/1 → 1/1" in said.output, said.output


def test_codex_where_ledger_cannot_be_installed(harbor: Harbor) -> None:
    """The plain agent solves the task, and the trial says why Ledger was not there."""
    harbor.has("codex", or_skip(lambda: codex(CURRENT)))
    with codex_model() as server:
        model = ("-m", f"openai/{MODEL}", "--base-url", server.url)
        trial = harbor.run("execledger.harbor:LedgerCodex", *model, *flags("ledger_install=0.0.0"))
    status = trial.result["agent_result"]["metadata"]["execledger"]
    assert (trial.reward, status["installed"]) == (1.0, False)
    reason = (trial.folder / "agent" / "execledger" / NOT_STARTED).read_text()
    assert reason.startswith("it can't be installed: ") and "execledger" in reason


def test_mini_swe_agent(harbor: Harbor, tmp_path: Path) -> None:
    """With Ledger beside the agent, as an image may have it, decisions and references are those of our own runner."""
    harbor.has("uv", UV)
    script = played([[("bash", {"command": text})] for text in (*COMMANDS, SUBMIT)])
    with ScriptedServer(script) as server:
        model = ("-m", "openai/scripted", "--base-url", f"{server.url}/v1", "--api-format", "openai_chat_completions")
        plain = harbor.run("mini-swe-agent", *model)
        assert plain.reward == 1.0
        governed = harbor.run("execledger.harbor:LedgerMini", *model, *flags("ledger_install=present"))
        assert governed.reward == 1.0
    folder, home, journals = (tmp_path / name for name in ("repository", "own", "own-journals"))
    for place in (folder, home):
        place.mkdir()
    (folder / "calc.py").write_text(FILE)
    with ModelServer([[text] for text in (*COMMANDS, SUBMIT)]) as own:
        run = run_mini(own, INSTRUCTION, folder, home, prefix=[*launched(journals), "--"])
        assert run.status == 0, run.output
    steps = decided(governed.journal)
    assert steps == decided(own_journal(journals))
    assert [kind for _, kind, _, _ in steps] == ["Allow", "Reuse", "Allow", "Allow"]


def test_claude_code(harbor: Harbor, tmp_path: Path) -> None:
    """Decisions and references are those of our own runner."""
    binary = or_skip(lambda: claude(CLAUDE))
    harbor.has("claude", binary)
    script = played([[("Bash", {"command": text, "description": "x"})] for text in COMMANDS])
    with ScriptedServer(script) as server:
        model = ("-m", f"anthropic/{CLAUDE_MODEL}", "--base-url", server.url)
        governed = harbor.run("execledger.harbor:LedgerClaude", *model, *flags("ledger_install=present"))
        assert governed.reward == 1.0
    (tmp_path / "own").mkdir()
    home = ClaudeHome(tmp_path / "own")
    (home.repository / "calc.py").write_text(FILE)
    with ScriptedServer(script) as server:
        run = run_claude(binary, INSTRUCTION, url=server.url, home=home, prefix=[*launched(home.journals), "--"])
        assert run.status == 0, run.errors
    steps = decided(governed.journal)
    assert steps == decided(own_journal(home.journals))
    assert [kind for _, kind, _, _ in steps] == ["Allow", "Reuse", "Allow", "Allow"]
