"""Harbor's agents with Ledger around them, without Harbor: an environment that records commands, and a real bash."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import types
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from execledger import harbor
from execledger.agents.registry import agent_of
from execledger.errors import LedgerError
from execledger.harbor import AGENTS, NOT_STARTED, PRESENT, Install, Ledgered, LedgerNotStarted
from execledger.version import __version__

COMMAND = "CODEX_API_KEY= codex exec --json -- 'a task' 2>&1 | tee codex.txt"
"""A command of Harbor's agent."""


class Done(NamedTuple):
    """The outcome of a command."""

    stdout: str | None = ""
    stderr: str | None = ""
    return_code: int = 0


class Environment:
    """An environment that records commands and uploads, and fails those that contain given words."""

    def __init__(self, **failing: Done) -> None:
        self.failing = failing
        self.commands: list[str] = []
        self.uploads: list[tuple[str, str]] = []

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> Done:
        """Record a command."""
        self.commands.append(command)
        failed = next((done for word, done in self.failing.items() if word in command), None)
        return failed or Done("execledger 9.8.7\n" if command.endswith("--version") else "")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Record an upload."""
        self.uploads.append((Path(source_path).name, target_path))


class Inner:
    """An installed agent as Harbor has them: it installs itself, prepares something, and starts its program."""

    def __init__(self, logs_dir: Path, **options: Any) -> None:
        self.logs_dir, self.environment_logs_dir = logs_dir, PurePosixPath("/logs/agent")
        self.options = SimpleNamespace(**{"ledger": "", "ledger_install": "1.2.3", **options})
        self.logger = logging.getLogger("harbor")

    async def install(self, environment: Environment) -> None:
        """Install the agent."""
        await self.exec_as_agent(environment, "npm install codex")

    async def run(self, instruction: str, environment: Environment, context: Any) -> None:
        """Start the program."""
        await self.exec_as_agent(environment, COMMAND)

    async def exec_as_agent(
        self,
        environment: Environment,
        command: str,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        timeout_sec: int | None = None,
    ) -> Done:
        """Run a command in the environment."""
        return await environment.exec(f"set -o pipefail; {command}")

    def populate_context_post_run(self, context: Any) -> None:
        """Fill in tokens."""
        context.n_input_tokens = 5


class Agent(Ledgered, Inner):
    """Codex with Ledger around it."""

    program = "codex"


class Mini(Ledgered, Inner):
    """An agent that imports Ledger, with Ledger around it."""

    program = "mini-swe-agent"


def played(agent: Agent | Mini, environment: Environment) -> SimpleNamespace:
    """Set an agent up and run it, as Harbor does; what is kept of the result."""
    context = SimpleNamespace(metadata=None)

    async def play() -> None:
        await agent.install(environment)
        await agent.run("a task", environment, context)
        agent.populate_context_post_run(context)

    asyncio.run(play())
    return context


def not_installed(reason: str, *options: str) -> dict[str, object]:
    """The metadata of a trial without Ledger."""
    return {"execledger": {"installed": False, "reason": reason, "options": [*options]}}


def test_the_agents_commands_stay_as_they_are(tmp_path: Path) -> None:
    """A shell function precedes those of the run; Ledger is installed behind the agent, and started once."""
    environment = Environment()
    context = played(Agent(tmp_path, ledger="--sealed --preset paper"), environment)
    installed, requirement, version, checked, ran = environment.commands
    assert (installed, checked) == (
        "set -o pipefail; npm install codex",
        '"$HOME/.local/share/execledger"/bin/execledger run --sealed --preset paper --help',
    )
    assert requirement.count("'execledger[codex]==1.2.3'") == 3
    assert version == '"$HOME/.local/share/execledger"/bin/execledger --version'
    assert "eval 'codex() {" in ran and ran.endswith(f"esac; {COMMAND}")
    status = {"installed": True, "version": "9.8.7", "options": ["--sealed", "--preset", "paper"]}
    assert (context.n_input_tokens, context.metadata) == (5, {"execledger": status})
    assert not (tmp_path / "execledger").exists()


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        (
            {"venv": Done("", "curl: (6) Could not resolve host: astral.sh\n", 1)},
            "it can't be installed: curl: (6) Could not resolve host: astral.sh",
        ),
        (
            {"venv": Done("", "ERROR: No matching distribution found\n\n[notice] A new release of pip\n", 1)},
            "it can't be installed: ERROR: No matching distribution found",
        ),
        (
            {"--version": Done("", "bash: execledger: not found", 127)},
            "it is installed and can't be started: bash: execledger: not found",
        ),
        (
            {"--help": Done("", "ModuleNotFoundError: No module named 'click'", 1)},
            "it is installed and can't be started: ModuleNotFoundError: No module named 'click'",
        ),
    ],
)
def test_without_ledger_the_plain_agent_runs(tmp_path: Path, failing: dict[str, Done], reason: str) -> None:
    """And the log, the result and a file among the agent's logs say why."""
    environment = Environment(**failing)
    context = played(Agent(tmp_path, ledger="--no-inform"), environment)
    assert environment.commands[-1] == f"set -o pipefail; {COMMAND}"
    assert context.metadata == not_installed(reason, "--no-inform")
    assert (tmp_path / "execledger" / NOT_STARTED).read_text() == f"{reason}\n"


def test_a_fault_of_an_environment_stops_no_trial(tmp_path: Path) -> None:
    """An upload that fails is a reason like any other."""

    class Refusing(Environment):
        async def upload_file(self, source_path: Path | str, target_path: str) -> None:
            raise OSError("disk full")

    wheel = tmp_path / "execledger-1.2.3-py3-none-any.whl"
    wheel.touch()
    environment = Refusing()
    context = played(Agent(tmp_path, ledger_install=str(wheel)), environment)
    assert environment.commands == ["set -o pipefail; npm install codex", f"set -o pipefail; {COMMAND}"]
    assert context.metadata == not_installed("OSError: disk full")


def test_a_check_of_options_that_raises_stops_no_trial(tmp_path: Path) -> None:
    """Nor does a folder of logs that can't be written to."""

    class Breaking(Environment):
        async def exec(self, command: str, *args: Any, **kwargs: Any) -> Done:
            if command.endswith("--help"):
                raise RuntimeError("the environment does not answer")
            return await super().exec(command, *args, **kwargs)

    (tmp_path / "logs").touch()
    environment = Breaking()
    context = played(Agent(tmp_path / "logs"), environment)
    assert environment.commands[-1] == f"set -o pipefail; {COMMAND}"
    assert context.metadata == not_installed("RuntimeError: the environment does not answer")


def test_off_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable that switches Ledger off where Harbor runs leaves the environment without it."""
    monkeypatch.setenv("EXECLEDGER", "off")
    environment = Environment()
    context = played(Agent(tmp_path), environment)
    assert environment.commands == ["set -o pipefail; npm install codex", f"set -o pipefail; {COMMAND}"]
    assert context.metadata == not_installed("EXECLEDGER is off")


def test_an_unknown_option_is_an_error_of_the_user(tmp_path: Path) -> None:
    """A trial that silently ran without Ledger would spoil its arm."""
    environment = Environment(**{"--help": Done("", "Error: No such option: --seled\n", 2)})
    with pytest.raises(ValueError, match=r"^ledger=--seled: Error: No such option: --seled$"):
        played(Agent(tmp_path, ledger="--seled"), environment)


def test_a_wheel_is_uploaded(tmp_path: Path) -> None:
    """And installed with the extra that the agent needs."""
    wheel = tmp_path / "execledger-1.2.3-py3-none-any.whl"
    wheel.touch()
    environment = Environment()
    played(Agent(tmp_path, ledger_install=str(wheel)), environment)
    target = f"/installed-agent/{wheel.name}"
    assert environment.uploads == [(wheel.name, target)]
    assert environment.commands[1] == f"chmod a+r {target}"
    assert f"'execledger[codex] @ file://{target}'" in environment.commands[2]
    with pytest.raises(ValueError, match=r"^ledger_install=no.whl: found no such file, expected a wheel$"):
        Agent(tmp_path, ledger_install="no.whl")


@pytest.mark.parametrize("value", ["/no/such/checkout", "./checkout", "~/no-such-checkout"])
def test_a_checkout_that_is_not_there_is_an_error_of_the_user(tmp_path: Path, value: str) -> None:
    """It is not taken for a version, which can't be installed, so that the plain agent would run."""
    with pytest.raises(ValueError, match=f"^ledger_install={value}: found no such folder, expected a checkout$"):
        Agent(tmp_path, ledger_install=value)


def test_an_agent_that_imports_ledger_has_it_beside_itself(tmp_path: Path) -> None:
    """No extra: it would install the agent once more."""
    environment = Environment()
    played(Mini(tmp_path), environment)
    assert 'pip install --quiet --python "$bin/python" execledger==1.2.3' in environment.commands[1]


def test_ledger_may_be_there_already(tmp_path: Path) -> None:
    """In an image that has it, nothing is installed."""
    environment = Environment()
    played(Agent(tmp_path, ledger_install=PRESENT), environment)
    assert environment.commands[1:3] == ["execledger --version", "execledger run  --help"]


def test_by_default_it_is_the_ledger_that_is_installed_here() -> None:
    """This checkout, from which a wheel is built."""
    assert Install.chosen("") == Install(str(Path(__file__).resolve().parents[1]))


@pytest.mark.parametrize("given", [True, False])
def test_a_wheel_is_built_of_a_source_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    """Of one that the option names, and of the one that this Ledger was installed from."""
    archive = tmp_path / "execledger-9.8.7.tar.gz"
    archive.touch()
    built = tmp_path / "execledger-9.8.7-py3-none-any.whl"
    built.touch()
    sources: list[Path] = []

    def build(source: Path) -> Path:
        sources.append(source)
        return built

    monkeypatch.setattr(harbor, "_built_wheel", build)
    monkeypatch.setattr(harbor, "installed_from", lambda: (str(archive), False))
    environment = Environment()
    played(Agent(tmp_path, ledger_install=str(archive) if given else ""), environment)
    assert (sources, environment.uploads) == ([archive], [(built.name, f"/installed-agent/{built.name}")])


def test_what_the_installer_recorded_is_no_error_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no wheel can be had of it, the same version is installed."""
    monkeypatch.setattr(harbor, "installed_from", lambda: ("/tmp/execledger.egg", False))
    assert Install.chosen("") == Install(__version__)


def test_a_source_archive_that_is_not_there_is_an_error_of_the_user(tmp_path: Path) -> None:
    """It is not taken for a version."""
    said = r"^ledger_install=no\.tar\.gz: found no such file, expected a source archive$"
    with pytest.raises(ValueError, match=said):
        Agent(tmp_path, ledger_install="no.tar.gz")


def test_a_checkout_that_gives_no_wheel_is_named(tmp_path: Path) -> None:
    """With the last words of the build."""
    with pytest.raises(LedgerNotStarted, match=f"^no wheel can be built of {tmp_path}: .+"):
        harbor.built_wheel(tmp_path)


SHOW = """#!/bin/sh
printf '%s|' "${0##*/}" "$KEY" "$@"
"""
"""A program that prints its name, a variable, and its arguments."""


@pytest.mark.parametrize("kind", [Agent, Mini])
def test_the_function_in_a_real_shell(tmp_path: Path, kind: type[Agent] | type[Mini]) -> None:
    """Assignments, quotes, pipes and the exit status of a command hold as without the function."""
    agent = kind(tmp_path, ledger="--sealed")
    agent._ledger = "execledger"
    for name in ("execledger", agent.program):
        program = tmp_path / name
        program.write_text(SHOW)
        program.chmod(0o755)
    words = f"KEY=secret {agent.program} --task 'two words' \"it's\" 2>&1 </dev/null | tee log; false | true"
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {agent._function()} {words}"],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    options = "run|--journal|/logs/agent/execledger|--no-settings|--fail-open|--sealed|--"
    said = f"execledger|secret|{options}|{agent.program}|--task|two words|it's|"
    assert (done.stdout, done.stderr, done.returncode) == (said, "", 1)
    assert (tmp_path / "log").read_text() == said


@pytest.mark.parametrize("shell", [("bash", "--posix"), ("sh",)])
def test_a_shell_that_knows_no_such_names_runs_the_plain_program(tmp_path: Path, shell: tuple[str, ...]) -> None:
    """Only bash takes a function's name with hyphens."""
    agent = Mini(tmp_path)
    agent._ledger = "execledger"
    for name in ("execledger", agent.program):
        program = tmp_path / name
        program.write_text(SHOW)
        program.chmod(0o755)
    done = subprocess.run(
        [*shell, "-c", f"{agent._function()} {agent.program} a"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"{agent.program}||a|", 0), done.stderr


def test_every_program_is_one_that_ledger_runs() -> None:
    """And every class is named after its agent."""
    found = {name: agent_of(one.program) for name, one in AGENTS.items()}
    assert {name: one.key if one is not None and one.use == "run" else "" for name, one in found.items()} == {
        f"Ledger{key.capitalize()}": key
        for key in ("codex", "mini", "claude", "opencode", "gemini", "qwen", "copilot", "pi")
    }


def test_an_older_harbor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Harbor would report an AttributeError as a class that does not exist."""
    module = types.ModuleType("harbor.agents.installed.codex")
    vars(module)["Codex"] = type("Codex", (), {})
    monkeypatch.setitem(sys.modules, "pydantic", SimpleNamespace(Field=None, create_model=None))
    monkeypatch.setattr(harbor, "import_module", lambda name: module)
    monkeypatch.setattr(harbor, "version", lambda name: "0.22.0")
    with pytest.raises(LedgerError, match=r"^LedgerCodex: found harbor 0\.22\.0, expected 0\.23 or newer$"):
        getattr(harbor, "LedgerCodex")  # noqa: B009


def test_other_names_are_not_there() -> None:
    """Harbor reports a class that can't be imported."""
    with pytest.raises(AttributeError, match="has no attribute 'LedgerAider'"):
        getattr(harbor, "LedgerAider")  # noqa: B009
