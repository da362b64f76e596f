"""How Qwen Code is led to the proxy: the user's own addresses become upstreams; what can't be redirected is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.qwen import launch
from execledger.errors import LedgerError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a user, in an empty project."""
    (tmp_path / "home" / ".qwen").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def settings(home: Path, content: Any) -> None:
    (home / ".qwen" / "settings.json").write_text(json.dumps(content))


def routes(home: Path, *arguments: str, upstream: str = "", **variables: str) -> dict[str, str]:
    """The routes for a start with these arguments and variables."""
    setup = launch._setup({"HOME": str(home), "QWEN_CODE_SYSTEM_SETTINGS_PATH": "/nowhere", **variables})
    _, given = launch._given_address(arguments)
    found = dict(launch._routes(setup, launch._auth_type(arguments, setup), upstream or given, upstream))
    launch._check(found, setup, arguments)
    return found


def test_an_address_is_the_users_own_or_the_official_one(home: Path) -> None:
    """From the strongest source; a variable that the user has not set is set only for the chosen authentication."""
    assert routes(home, "--auth-type", "openai") == {"/OPENAI_BASE_URL": "https://api.openai.com/v1"}
    assert routes(home, "--auth-type=anthropic") == {"/ANTHROPIC_BASE_URL": "https://api.anthropic.com"}
    assert routes(home, OPENAI_BASE_URL="http://a/v1") == {"/OPENAI_BASE_URL": "http://a/v1"}
    (home / ".qwen" / ".env").write_text("# mine\nexport OPENAI_BASE_URL='http://file/v1'\n")
    assert routes(home) == {"/OPENAI_BASE_URL": "http://file/v1"}
    assert routes(home, OPENAI_BASE_URL="http://a/v1") == {"/OPENAI_BASE_URL": "http://a/v1"}
    assert routes(home, "--openai-base-url", "http://b/v1") == {"/OPENAI_BASE_URL": "http://b/v1"}
    assert routes(home, "--openai-base-url=http://b/v1", upstream="http://c") == {"/OPENAI_BASE_URL": "http://c"}


def test_configured_models_have_routes_of_their_own(home: Path) -> None:
    """Each address once; models without one are left as they are."""
    models = [{"id": "a", "baseUrl": "http://a/v1"}, {"id": "b", "baseUrl": "http://a/v1"}, {"id": "c"}]
    other = [{"id": "d", "baseUrl": "http://d"}]
    settings(home, {"modelProviders": {"openai": models, "anthropic": other, "odd": 3}})
    assert routes(home) == {"/provider-0": "http://a/v1", "/provider-1": "http://d"}
    setup = launch._setup({"HOME": str(home), "QWEN_CODE_SYSTEM_SETTINGS_PATH": "/nowhere"})
    assert launch._redirected(setup.providers, {"http://a/v1": "P/0", "http://d": "P/1"}) == {
        "openai": [{"id": "a", "baseUrl": "P/0"}, {"id": "b", "baseUrl": "P/0"}, {"id": "c"}],
        "anthropic": [{"id": "d", "baseUrl": "P/1"}],
        "odd": 3,
    }


def test_what_can_not_be_redirected_is_refused(home: Path) -> None:
    """With the reason, before anything is started."""
    with pytest.raises(LedgerError, match="no address of a model"):
        routes(home)
    with pytest.raises(LedgerError, match="qwen-oauth"):
        routes(home, "--auth-type", "qwen-oauth")
    settings(home, {"security": {"auth": {"selectedType": "vertex-ai"}}})
    with pytest.raises(LedgerError, match="vertex-ai"):
        routes(home)


def test_a_project_does_not_choose_the_upstream(home: Path) -> None:
    """Whoever wrote the project would be given the user's key, unless the user names the address."""
    Path(".env").write_text("OPENAI_BASE_URL=http://theirs/v1\n")
    with pytest.raises(LedgerError, match="sends Qwen Code, and with it your key, to http://theirs/v1"):
        routes(home, "--auth-type", "openai")
    assert routes(home, "--auth-type", "openai", upstream="http://theirs/v1")
    Path(".env").write_text("OPENAI_BASE_URL=http://a; touch b\x1b[2J\n")
    with pytest.raises(LedgerError) as refused:
        routes(home, "--auth-type", "openai")
    assert "--upstream 'http://a; touch b?[2J' -- qwen" in refused.value.hint and refused.value.message.isprintable()
    assert routes(home, "--auth-type", "openai", OPENAI_BASE_URL="http://mine/v1")
