"""``execledger run``: finding the agent, its Python, and the words where that fails."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from execledger.agents.mini_start import runner_of, values_of, without
from execledger.cli.run import interpreter_of, remedy
from execledger.errors import LedgerError
from tests.cli.conftest import Execledger


@pytest.mark.parametrize(
    ("head", "interpreter"),
    [
        ("#!/opt/agent/bin/python3.12\nimport sys\n", "/opt/agent/bin/python3.12"),
        ("#!/bin/sh\n'''exec' \"/a very/long path/bin/python\" \"$0\" \"$@\"\n' '''\n", "/a very/long path/bin/python"),
        ("#!/bin/sh\n'''exec' /opt/x/bin/python3 \"$0\" \"$@\"\n' '''\n", "/opt/x/bin/python3"),
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
        ("/opt/pipx/venvs/mini-swe-agent/bin/python", "pipx inject mini-swe-agent execledger"),
        ("/opt/uv/tools/mini-swe-agent/bin/python", "uv tool install mini-swe-agent --with execledger"),
        ("/opt/agent/bin/python", "/opt/agent/bin/python -m pip install execledger"),
    ],
)
def test_the_remedy_is_one_line(interpreter: str, line: str) -> None:
    """For each way in which agents are installed."""
    assert remedy(interpreter) == line


def test_an_agent_that_is_not_known_is_named(execledger: Execledger) -> None:
    """With those that are."""
    called = execledger("run", "--", "vim", "file")
    assert (called.status, called.err.splitlines()[0]) == (2, "execledger: vim: no agent that Ledger can run")


def test_runners_are_told_from_tools() -> None:
    """Only what runs an agent gets Ledger's options."""
    lines: tuple[tuple[str, list[str]], ...] = (
        ("mini", []),
        ("mini-extra", ["swebench", "-w", "2"]),
        ("mini-extra", ["config"]),
        ("mini-extra", []),
    )
    assert [runner_of(program, words) for program, words in lines] == ["mini", "swebench", None, None]


def test_options_are_read_in_every_spelling() -> None:
    """As the agent's own command line takes them."""
    words = ["-c", "a.yaml", "--config=b.yaml", "-cc.yaml", "--model-class", "litellm", "-t", "x"]
    assert values_of(words, "-c", "--config") == ["a.yaml", "b.yaml", "c.yaml"]
    assert without(words, "--model-class") == ["-c", "a.yaml", "--config=b.yaml", "-cc.yaml", "-t", "x"]


@pytest.mark.clients
@pytest.mark.skipif(find_spec("minisweagent") is None, reason="mini-swe-agent is not installed")
def test_ours_stand_behind_the_users_options() -> None:
    """The user's model class becomes the inner one, and Ledger is never stacked on itself."""
    from execledger.agents.mini_start import MODEL, injected

    ours = injected("mini", ["-c", "mini.yaml", "--model-class", "litellm_response"], {"shadow": True})
    assert ours == [
        *("-c", "mini.yaml", "-c", f"model.model_class={MODEL}"),
        *("-c", "model.ledger.inner_model_class=litellm_response", "-c", "model.ledger.shadow=true"),
    ]
    stacked = ["-c", "mini.yaml", "-c", f"model.model_class={MODEL}"]
    assert injected("mini", stacked, {}) == stacked
