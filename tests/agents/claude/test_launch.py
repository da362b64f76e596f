"""How Claude Code is led to the proxy: settings are merged, the user's own address becomes the upstream."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.claude.launch import ADDRESS, _check_provider, _given_settings, _variables
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
    """Options, then the project's files, then the user's, then the environment."""
    monkeypatch.chdir(tmp_path)

    def write(path: Path, address: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"env": {ADDRESS: address}}))

    environment = {"HOME": str(tmp_path / "home"), ADDRESS: "http://variable"}
    found = [dict(_variables({}, environment))[ADDRESS]]
    for path in ("home/.claude/settings.json", ".claude/settings.json", ".claude/settings.local.json"):
        write(tmp_path / path, f"http://{Path(path).parent.parent.name}/{Path(path).name}")
        found.append(dict(_variables({}, environment))[ADDRESS])
    found.append(dict(_variables({"env": {ADDRESS: "http://option"}}, environment))[ADDRESS])
    assert found == [
        "http://variable",
        "http://home/settings.json",
        "http:///settings.json",
        "http:///settings.local.json",
        "http://option",
    ]


def test_other_providers_are_refused() -> None:
    """Their requests are signed for an address of their own; a variable that is off refuses nothing."""
    _check_provider({"CLAUDE_CODE_USE_BEDROCK": "0"})
    for name in ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"):
        with pytest.raises(LedgerError, match="can't be redirected"):
            _check_provider({name: "1"})
