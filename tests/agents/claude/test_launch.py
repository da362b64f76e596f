"""How Claude Code is led to the proxy: settings are merged, the user's own address becomes the upstream."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.claude.launch import ADDRESS, _given_settings, check_provider, effective_variables
from execledger.errors import LedgerError


def test_the_last_settings_of_the_user_are_merged(tmp_path: Path) -> None:
    """Claude Code takes only one ``--settings``; what follows ``--`` is no option."""
    file = tmp_path / "mine.json"
    file.write_text('{"model": "opus"}')
    words = ["-p", "--settings", '{"a": 1}', f"--settings={file}", "--", "--settings", "x"]
    assert _given_settings(words) == (["-p", "--", "--settings", "x"], {"model": "opus"})
    assert _given_settings(["-p"]) == (["-p"], {})


@pytest.mark.parametrize("value", ["{", "/nowhere/at/all.json", "[]"])
def test_settings_that_are_none_are_named(value: str) -> None:
    """The error says what was found and what was expected."""
    with pytest.raises(LedgerError, match="--settings"):
        _given_settings(["--settings", value])


def test_the_strongest_source_names_the_upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options, then the user's file, then the environment; a file with a byte order mark is read."""
    monkeypatch.chdir(tmp_path)
    environment = {"HOME": str(tmp_path / "home"), ADDRESS: "http://variable"}
    assert dict(effective_variables({}, environment))[ADDRESS] == "http://variable"
    file = tmp_path / "home" / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"env": {ADDRESS: "http://file"}}).encode())
    assert dict(effective_variables({}, environment))[ADDRESS] == "http://file"
    assert dict(effective_variables({"env": {ADDRESS: "http://option"}}, environment))[ADDRESS] == "http://option"
    file.write_bytes(b"\xff")
    assert dict(effective_variables({}, environment))[ADDRESS] == "http://variable"


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_project_does_not_choose_who_gets_the_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address in a project's files is refused, unless the user names one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / name).write_text(json.dumps({"env": {ADDRESS: "http://elsewhere"}}))
    with pytest.raises(LedgerError, match="your key, to http://elsewhere"):
        dict(effective_variables({}, {"HOME": str(tmp_path / "home")}))
    assert (
        dict(effective_variables({"env": {ADDRESS: "http://mine"}}, {"HOME": str(tmp_path / "home")}))[ADDRESS]
        == "http://mine"
    )


def test_other_providers_are_refused() -> None:
    """Their requests are signed for an address of their own; a variable that is off refuses nothing."""
    check_provider({"CLAUDE_CODE_USE_BEDROCK": "0"})
    for name in ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"):
        with pytest.raises(LedgerError, match="can't be redirected"):
            check_provider({name: "1"})


def test_the_users_own_file_is_not_a_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the home directory both have the same name."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"env": {ADDRESS: "http://mine"}}))
    monkeypatch.chdir(tmp_path)
    assert dict(effective_variables({}, {"HOME": str(tmp_path)}))[ADDRESS] == "http://mine"
