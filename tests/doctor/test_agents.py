"""Agents are found wherever they are installed, and each version is judged by the table of tested ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.agents.codex import AGENT as CODEX
from execledger.agents.copilot import AGENT as COPILOT
from execledger.agents.mini import AGENT as MINI
from execledger.agents.qwen import AGENT as QWEN
from execledger.agents.registry import Agent, parsed
from execledger.agents.registry import agents as registered
from execledger.doctor import agents
from execledger.doctor.findings import Finding
from execledger.extras import requirement
from tests.support.agents.codex import CURRENT, OLD

READ_ONLY = replace(CODEX, name="Some Agent", programs=("some-agent",), use="read")
"""An agent whose recorded runs can be read, and no more."""

ROOT = Path(__file__).resolve().parents[2]


def program(path: Path, text: str) -> str:
    """A program that prints a text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with nothing on the path, and a Python that has nothing beside it."""
    for name in ("PIPX_HOME", "UV_TOOL_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "python"))
    return tmp_path


def told(one: Agent) -> list[Finding]:
    return list(agents.agent(one))


@pytest.mark.parametrize(
    ("version", "status", "words"),
    [
        ("0.79.9", "fix", "too old, 0.80.0 and newer work"),
        ("0.80.0", "ok", "`execledger run -- codex ...` works; tested 0.125.0, 0.166.0"),
        ("0.166.0", "ok", "works; tested"),
        ("0.166.1-alpha.2", "note", "newer than what was tested 0.125.0, 0.166.0"),
        ("1.0", "note", "newer than what was tested"),
    ],
)
def test_a_version_of_codex_is_judged(home: Path, version: str, status: str, words: str) -> None:
    """By the oldest that works, and by the newest that was tested."""
    place = program(home / "bin" / "codex", f"echo codex-cli {version}")
    (finding,) = told(CODEX)
    assert (finding.status, finding.found.startswith(f"{version} at {place}: ")) == (status, True)
    assert words in finding.found


def test_a_version_may_end_a_sentence(home: Path) -> None:
    """The period behind it is no part of it."""
    place = program(home / "bin" / "copilot", "echo GitHub Copilot CLI 1.0.102.")
    (finding,) = told(COPILOT)
    assert finding.found.startswith(f"1.0.102 at {place}: ")


def test_an_update_that_needs_another_interpreter_says_so(home: Path) -> None:
    """The one that is there may be what keeps npm from installing a newer version."""
    program(home / "bin" / "qwen", "echo 0.15.10")
    (finding,) = told(QWEN)
    assert (finding.status, finding.fix) == ("fix", "update Qwen Code (newer versions need Node.js 22)")


def test_nothing_that_a_program_unpacks_stays(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it puts it: the folders are those of one question."""
    monkeypatch.setenv("CODEX_HOME", str(home / "codex-home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    unpack = 'for at in "${CODEX_HOME:-$HOME/.codex}" "$XDG_CACHE_HOME/codex" "$TMPDIR/x"; do mkdir -p "$at"; done'
    program(home / "bin" / "codex", f"{unpack}; echo 0.166.0")
    (finding,) = told(CODEX)
    assert (finding.status, sorted(path.name for path in home.iterdir())) == ("ok", ["bin"])


def test_a_program_that_needs_its_users_home_is_asked_again(home: Path) -> None:
    """As one that a version manager starts."""
    program(home / "bin" / "codex", f'[ "$HOME" = {home} ] && echo 0.166.0')
    (finding,) = told(CODEX)
    assert finding.status == "ok"


@pytest.mark.parametrize(("text", "words"), [("exit 7", "ended with status 7"), ("echo hello", "names no version")])
def test_an_agent_that_does_not_say_its_version_is_to_be_fixed(home: Path, text: str, words: str) -> None:
    """If Ledger is to run it; one that is only read is noted."""
    for one, status in ((CODEX, "fix"), (READ_ONLY, "note")):
        program(home / "bin" / one.programs[0], text)
        (finding,) = told(one)
        assert (finding.status, words in finding.found) == (status, True)


def test_an_agent_that_can_only_be_read_says_so(home: Path) -> None:
    """It is found by its program."""
    program(home / "bin" / "some-agent", "echo 'some-agent 2.1.207'")
    (finding,) = told(READ_ONLY)
    assert finding.status == "ok" and "2.1.207 at " in finding.found and "can be read" in finding.found


def test_nothing_found_is_nothing_wrong(home: Path) -> None:
    """But there is nothing to run then."""
    for one in registered():
        assert told(one) == [Finding(one.name, "none", "not found here")]
    (finding,) = agents.nothing_to_run()
    assert (finding.status, finding.found) == ("note", "none that Ledger can run")


@pytest.mark.parametrize(
    "folder", ["bin", ".local/share/pipx/venvs/mini-swe-agent/bin", ".local/share/uv/tools/mini-swe-agent/bin"]
)
def test_mini_is_found_in_an_environment_of_its_own(home: Path, folder: str) -> None:
    """With the one line that makes Ledger importable there."""
    python = home / folder / "python"
    # It knows the versions, and can't import us.
    answers = 'case "$2" in *find_spec*) echo 1.105.3; exit 1;; *) echo 2.4.6;; esac'
    program(python, answers)
    mini = home / folder / "mini"
    mini.write_text(f"#!{python}\n")
    mini.chmod(0o755)
    (home / "bin").mkdir(exist_ok=True)
    if folder != "bin":
        (home / "bin" / "mini").symlink_to(mini)
    judged, missing = told(MINI)
    assert judged.status == "ok" and judged.found.startswith(f"2.4.6 at {home / 'bin' / 'mini'}: ")
    assert (missing.status, missing.found) == ("fix", f"{python} can't import execledger")
    expected = {
        "bin": f"{python} -m pip install {requirement()}",
        ".local/share/pipx/venvs/mini-swe-agent/bin": f"pipx inject mini-swe-agent {requirement()}",
        ".local/share/uv/tools/mini-swe-agent/bin": f"uv tool install mini-swe-agent --with {requirement()}",
    }
    assert missing.fix == expected[folder]


def test_a_litellm_that_breaks_tool_calls_is_named(home: Path) -> None:
    """It breaks them without Ledger as well."""
    python = program(home / "bin" / "python", 'case "$2" in *find_spec*) echo 1.108.2;; *) echo 2.4.6;; esac')
    (home / "bin" / "mini").write_text(f"#!{python}\n")
    (home / "bin" / "mini").chmod(0o755)
    _, broken = told(MINI)
    assert broken.status == "fix" and broken.found.startswith("litellm 1.108.2 breaks every tool call")


def test_a_script_of_another_kind_is_only_noted(home: Path) -> None:
    """Somebody else's ``mini`` is none of ours."""
    program(home / "bin" / "mini", "echo minimal")
    (finding,) = told(MINI)
    assert finding.status == "note" and "found no Python in its first line" in finding.found


def test_versions_are_compared_as_numbers() -> None:
    """Whatever stands behind them."""
    assert [parsed(text) for text in ("2.10.1", "0.166.1-alpha.2", "1.0rc1", "x")] == [
        (2, 10, 1),
        (0, 166, 1),
        (1, 0),
        (),
    ]


def test_the_table_the_tests_and_the_documents_agree() -> None:
    """The versions that the tests run are those that the doctor calls tested, and the pages name them."""
    assert CODEX.tested == (OLD, CURRENT)
    codex, mini = ((ROOT / "docs" / name).read_text() for name in ("codex.md", "mini-swe-agent.md"))
    assert all(version in codex for version in CODEX.tested) and "0.80 and newer" in codex
    assert all(version in mini for version in MINI.tested) and "2.0.0 and newer" in mini
    doctor = (ROOT / "docs" / "doctor.md").read_text()
    for one in registered():
        if one.use != "read":
            how = "EXECLEDGER=on" if one.use == "load" else "execledger run --"
            assert f"| {one.name} | `{how} {one.key} ...`" in doctor
            assert f"| {'.'.join(map(str, one.oldest))} | {', '.join(one.tested)} |" in doctor
    read = ", ".join(one.name for one in registered() if one.use == "read")
    assert f"| {read} | their recorded runs are read" in doctor
