"""``execledger run``: finding the agent, its Python, and the words where that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from execledger.agents.mini.launch import MODEL, asked_of, check, injected, remedy, runner_of
from execledger.agents.programs import interpreter_of
from execledger.errors import LedgerError
from execledger.extras import requirement
from tests.cli.conftest import Execledger

needs_mini = pytest.mark.skipif(find_spec("minisweagent") is None, reason="mini-swe-agent is not installed")


@pytest.mark.parametrize(
    ("head", "interpreter"),
    [
        ("#!/opt/agent/bin/python3.12\nimport sys\n", "/opt/agent/bin/python3.12"),
        ("#!/bin/sh\n'''exec' \"/a very/long path/bin/python\" \"$0\" \"$@\"\n' '''\n", "/a very/long path/bin/python"),
        ("#!/bin/sh\n'''exec' /opt/x/bin/python3 \"$0\" \"$@\"\n' '''\n", "/opt/x/bin/python3"),
        ("#!/bin/sh\n'''exec' '/a long path/bin/python3' \"$0\" \"$@\"\n' '''\n", "/a long path/bin/python3"),
        ("#!/opt/agent/bin/python3 -sP\nimport sys\n", "/opt/agent/bin/python3"),
        ("#!/usr/bin/env python3.99\n", "python3.99"),
    ],
)
def test_the_agents_python_is_found(tmp_path: Path, head: str, interpreter: str) -> None:
    """From the first lines of its console script, in each form that installers write."""
    script = tmp_path / "mini"
    script.write_text(head)
    assert interpreter_of(str(script)) == interpreter


def test_a_program_that_is_no_console_script_is_named(tmp_path: Path) -> None:
    """Nothing is guessed about a shell script."""
    script = tmp_path / "mini"
    script.write_text("#!/bin/sh\nexec something\n")
    with pytest.raises(LedgerError, match="found no Python in its first line"):
        interpreter_of(str(script))


@pytest.mark.parametrize(
    ("interpreter", "line"),
    [
        ("/opt/pipx/venvs/mini-swe-agent/bin/python", "pipx inject mini-swe-agent {}"),
        ("/opt/uv/tools/mini-swe-agent/bin/python", "uv tool install mini-swe-agent --with {}"),
        ("/opt/agent/bin/python", "/opt/agent/bin/python -m pip install {}"),
        ("/opt/an agent/bin/python", "'/opt/an agent/bin/python' -m pip install {}"),
    ],
)
def test_the_remedy_is_one_line(interpreter: str, line: str) -> None:
    """For each way in which agents are installed."""
    assert remedy(interpreter) == line.format(requirement())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("exit 1", "but can't import execledger\nhint: .* -m pip install "),
        ("exit 3", "is too old for execledger\nhint: install mini-swe-agent with Python 3.11"),
        (None, "but can't be started: No such file or directory\nhint: install mini-swe-agent anew"),
    ],
)
def test_a_python_that_will_not_do_is_named(tmp_path: Path, answer: str | None, message: str) -> None:
    """With what to do about it."""
    python = tmp_path / "python"
    if answer is not None:
        python.write_text(f"#!/bin/sh\n{answer}\n")
        python.chmod(0o755)
    with pytest.raises(LedgerError, match=message):
        check(str(python), "mini")


def test_an_agent_that_is_not_known_is_named(execledger: Execledger) -> None:
    """With those that are."""
    known = "Ledger can run: mini-swe-agent (mini, mini-extra), Codex (codex), Claude Code (claude), "
    for words, said in (
        (["vim", "file"], "vim: no agent that Ledger can run\nhint: "),
        (["amp", "-x"], "amp: Amp reaches its models only through its own server, whose address can't be replaced\n"),
        (["aider"], "aider: Aider uses no tools: "),
        (["sweagent"], "sweagent: SWE-agent can't be run with Ledger yet\nhint: its recorded runs can be read: "),
        ([], "run: found no agent to start\nhint: "),
    ):
        called = execledger("run", "--", *words)
        assert (called.status, called.out, called.err.startswith(f"execledger: {said}")) == (2, "", True)
        assert known in called.err


@needs_mini
@pytest.mark.parametrize(
    ("option", "way"),
    [
        (["--upstream", "http://x"], "mini-swe-agent has the model's address in its configuration"),
        (["--pass-through"], "EXECLEDGER=off starts the agent without Ledger"),
        (["--direct-tools"], "execledger run --help"),
    ],
)
def test_an_option_of_another_agent_is_named_with_the_way_that_there_is(
    execledger: Execledger, option: list[str], way: str
) -> None:
    """Before anything starts."""
    called = execledger("run", *option, "--", "mini", "-t", "x")
    said = f"execledger: {option[0]}: found with mini, which has no such option\nhint: {way}"
    assert (called.status, called.err.startswith(said)) == (2, True), called.err


@needs_mini
def test_a_batch_is_not_called_sealed(execledger: Execledger) -> None:
    """Instances that run side by side write to one machine; their own containers are recognised without the option."""
    called = execledger("run", "--sealed", "--", "mini-extra", "swebench", "--subset", "lite")
    said = "execledger: --sealed: found with mini-extra swebench, whose instances run side by side on this machine\n"
    assert (called.status, called.out, called.err.startswith(said)) == (2, "", True), called.err


def test_where_ledger_refuses_the_plain_agent_is_started_on_request(tmp_path: Path) -> None:
    """With the reason on standard error; without the option, the refusal is the end."""
    program = tmp_path / "mini"
    program.write_text("#!/bin/sh\necho plain $*\n")
    program.chmod(0o755)
    refused, started = (
        subprocess.run(
            [sys.executable, "-m", "execledger", "run", *words, "--", str(program), "-t", "x"],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        for words in ((), ("--fail-open",))
    )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (started.returncode, started.stdout) == (0, "plain -t x\n")
    reason = refused.stderr.removeprefix("execledger: ").partition("\n")[0]
    assert f"Ledger: mini is started without it: {reason}" in started.stderr


def test_a_program_that_is_not_there_is_named(execledger: Execledger, tmp_path: Path) -> None:
    """By the path that was given; a bare name was looked for on the path."""
    called = execledger("run", "--", tmp_path / "mini")
    said = f"execledger: {tmp_path / 'mini'}: found no program there, expected one that can be started\n"
    assert called == (2, "", said)


@needs_mini
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("preset=foo", "model.ledger.preset: found 'foo', expected paper or verified"),
        ("view_budget=5", "model.ledger.view_budget: no such option, found with the value 5"),
    ],
)
def test_a_bad_option_in_the_agents_configuration_is_named_before_it_starts(option: str, said: str) -> None:
    """The launcher reads the block that the agent would hand to Ledger."""
    with pytest.raises(LedgerError) as caught:
        injected("mini", ["-c", "mini.yaml", "-c", f"model.ledger.{option}"], {})
    assert caught.value.message == said


def test_runners_are_told_from_tools() -> None:
    """Only what runs an agent gets Ledger's options."""
    lines: tuple[tuple[str, list[str]], ...] = (
        ("mini", []),
        ("mini-extra", ["swebench", "-w", "2"]),
        ("mini-extra", ["config"]),
        ("mini-extra", []),
    )
    assert [runner_of(program, words) for program, words in lines] == ["mini", "swebench", None, None]


@needs_mini
@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ([], (["mini.yaml"], False, "")),
        (["-c", "a.yaml", "--config=b=c", "-cd.yaml", "-t", "x"], (["a.yaml", "b=c", "d.yaml"], True, "")),
        (["-yc", "a.yaml", "--model-class", "litellm"], (["a.yaml"], True, "litellm")),
        (["-t", "-cache is slow", "-o", "--model-class"], (["mini.yaml"], False, "")),
        (["--no-such-option", "-c"], (["mini.yaml"], False, "")),
    ],
)
def test_options_are_read_as_the_agent_reads_them(words: list[str], asked: tuple[list[str], bool, str]) -> None:
    """In every spelling, and no value is taken for an option; mistakes are left to the agent."""
    found = asked_of("mini", words)
    assert ([Path(spec).name for spec in found.specs], found.given, found.model_class) == asked


@needs_mini
def test_ours_stand_behind_the_users_options() -> None:
    """The user's model class becomes the inner one, wherever it is named, and Ledger is never stacked on itself."""
    named = ["-c", "mini.yaml", "--model-class", "litellm_response"]
    ours = ["-c", f"model.model_class={MODEL}", "-c", "model.ledger.inner_model_class=litellm_response"]
    shadow = ["-c", "model.ledger.shadow=true"]
    assert injected("mini", named, {"shadow": True}) == [*named, *ours, *shadow, "--model-class", MODEL]
    configured = ["-c", "mini.yaml", "-c", "model.model_class=litellm_response"]
    assert injected("mini", configured, {}) == [*configured, *ours]
    stacked = ["-c", "mini.yaml", "-c", f"model.model_class={MODEL}"]
    assert injected("mini", stacked, {"shadow": True}) == [*stacked, *shadow]


@needs_mini
def test_the_default_configuration_is_named() -> None:
    """Since any configuration of ours would drop it."""
    for runner, words, name in (("mini", [], "mini.yaml"), ("swebench", ["swebench", "-w", "2"], "swebench.yaml")):
        option, spec, *_ = injected(runner, words, {})[len(words) :]
        assert (option, Path(spec).name) == ("-c", name)
