"""``execledger replay --mine``: the user's own sessions, wherever agents keep them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Execledger
from tests.core.stories import text
from tests.runs.samples_agents import PROMPT, lines, result, uses

VARIABLES = (
    "CLAUDE_CONFIG_DIR CODEX_HOME XDG_CONFIG_HOME XDG_DATA_HOME MSWEA_GLOBAL_CONFIG_DIR OPENHANDS_PERSISTENCE_DIR"
).split()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def transcript(file: Path) -> Path:
    """A session of Claude Code in which a file is read two times."""
    file.parent.mkdir(parents=True)
    numbered = "".join(f"{number}\t{line}\n" for number, line in enumerate(text(40).splitlines(), 1))
    reads = [
        line
        for at in ("1", "2")
        for line in (uses(f"m{at}", f"r{at}", "Read", file_path="/repo/a.py"), result(f"r{at}", numbered))
    ]
    file.write_bytes(lines(PROMPT, *reads))
    return file


def test_sessions_are_found_at_their_usual_places(home: Path, execledger: Execledger) -> None:
    """The places are named with the number of sessions, and what was redundant with its cost."""
    transcript(home / ".claude" / "projects" / "-w" / "s.jsonl")
    done = execledger("replay", "--mine")
    assert done.status == 0
    assert f"Claude Code: {home}/.claude/projects: 1 session\n" in done.err
    assert f"Codex: {home}/.codex/sessions: nothing there\n" in done.err
    assert "Redundant in your sessions: 1 of 2 calls; sending what they showed again cost $" in done.out


def test_variables_of_agents_count(home: Path, execledger: Execledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are looked for where the agent would keep them; paths that are given are read as well."""
    transcript(home / "elsewhere" / "projects" / "-w" / "s.jsonl")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    given = home / "given.jsonl"
    given.write_bytes((home / "elsewhere" / "projects" / "-w" / "s.jsonl").read_bytes())
    found = json.loads(execledger("replay", "--mine", given, "--json").out)
    looked = {one["place"]: one["sessions"] for one in found["mine"]}
    assert found["runs"] == 2
    assert looked[f"{home}/elsewhere/projects"] == 1
    assert sum(looked.values()) == 1


def test_a_bad_file_is_named_and_does_not_hide_the_others(home: Path, execledger: Execledger) -> None:
    """One line for each file, with the reason, and no traceback."""
    good = transcript(home / ".claude" / "projects" / "-w" / "s.jsonl")
    (good.parent / "bad.jsonl").write_bytes(b"\xff\xfe{")
    done = execledger("replay", "--mine")
    assert done.status == 0
    assert f"execledger: not read: {good.parent}/bad.jsonl: " in done.err
    assert "Traceback" not in done.err


def test_a_bad_line_costs_no_session(home: Path, execledger: Execledger) -> None:
    """The file is named with the line, and every call in it counts."""
    file = transcript(home / ".claude" / "projects" / "-w" / "s.jsonl")
    file.write_bytes(file.read_bytes() + lines({"type": "user", "message": "x"}))
    done = execledger("replay", "--mine")
    assert done.status == 0
    reason = "one line can't be read and was left out, line 6: expected `object | null`, got `str`, at message"
    assert f"execledger: {file}: {reason}\n" in done.err
    assert "Redundant in your sessions: 1 of 2 calls;" in done.out


def test_an_odd_value_costs_no_session(home: Path, execledger: Execledger) -> None:
    """A line of a kind that is none is read like one of an unknown kind."""
    transcript(home / ".claude" / "projects" / "-w" / "s.jsonl")
    odd = home / ".pi" / "agent" / "sessions" / "odd.jsonl"
    odd.parent.mkdir(parents=True)
    odd.write_bytes(lines({"type": "session", "version": 3, "id": "x", "cwd": "/w"}, {"type": ["a"]}))
    done = execledger("replay", "--mine", "--json")
    assert (done.status, json.loads(done.out)["runs"]) == (0, 2)


def test_without_any_session_the_places_are_named(home: Path, execledger: Execledger) -> None:
    """The message says where was looked, and what else can be read."""
    done = execledger("replay", "--mine")
    assert done.status == 2
    assert f"Claude Code: {home}/.claude/projects: nothing there" in done.err
    assert "no session of an agent that Ledger knows was found\nhint: give files" in done.err


def test_without_a_path_the_own_sessions_are_offered(execledger: Execledger) -> None:
    """A user who gives nothing is told of both ways."""
    done = execledger("replay")
    assert done.status == 2
    assert "--mine for your own sessions" in done.err
