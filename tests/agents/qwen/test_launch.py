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


def settings(folder: Path, content: Any) -> None:
    (folder / ".qwen").mkdir(exist_ok=True)
    (folder / ".qwen" / "settings.json").write_text(json.dumps(content))


def routes(home: Path, *arguments: str, upstream: str = "", **variables: str) -> dict[str, str]:
    """The routes for a start with these arguments and variables."""
    environment = {"HOME": str(home), "QWEN_CODE_SYSTEM_SETTINGS_PATH": str(home.parent / "etc.json"), **variables}
    _, given = launch._given_address(arguments)
    return launch.routes_of(launch.client_setup(environment, Path.cwd()), arguments, given, upstream)


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
    setup = launch.client_setup({"HOME": str(home), "QWEN_CODE_SYSTEM_SETTINGS_PATH": "/nowhere"}, Path.cwd())
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


ELSEWHERE = "http://elsewhere"
OPENAI = ("--auth-type", "openai")


def models(address: str) -> list[dict[str, str]]:
    return [{"id": "m", "baseUrl": address}]


@pytest.mark.parametrize(
    "given",
    [
        {"modelProviders": {"openai": models(ELSEWHERE)}},
        {"security": {"auth": {"baseUrl": ELSEWHERE}}},
        {"env": {"OPENAI_BASE_URL": ELSEWHERE}},
        {"env": {"ANTHROPIC_BASE_URL": ELSEWHERE}},
    ],
)
def test_the_settings_of_a_project_do_not_choose_it_either(home: Path, given: dict[str, Any]) -> None:
    """They are stronger than the user's, and an address for all requests replaces them."""
    settings(Path(), given)
    with pytest.raises(LedgerError, match=f"your key, to {ELSEWHERE}"):
        routes(home, *OPENAI)
    with pytest.raises(LedgerError, match=f"your key, to {ELSEWHERE}"):
        routes(home, *OPENAI, "--openai-base-url", "http://given")
    found = routes(home, *OPENAI, upstream="http://chosen")
    assert set(found.values()) == {"http://chosen"}
    assert {f"/{name}" for name in given.get("env", {})} <= set(found)
    assert "modelProviders" not in given or "/provider-0" in found


def test_models_of_a_project_without_an_address_are_refused(home: Path) -> None:
    """They would be asked at the address that the client has built in."""
    settings(Path(), {"modelProviders": {"anthropic": [{"id": "m"}]}})
    with pytest.raises(LedgerError, match="modelProviders"):
        routes(home, *OPENAI)


def test_a_project_does_not_choose_how_to_authenticate(home: Path) -> None:
    """The variable of another way would not be set."""
    settings(Path(), {"security": {"auth": {"selectedType": "anthropic"}}})
    for arguments in ((), OPENAI):
        with pytest.raises(LedgerError, match="authenticate by anthropic"):
            routes(home, *arguments)
    assert routes(home, "--auth-type=anthropic") == {"/ANTHROPIC_BASE_URL": "https://api.anthropic.com"}


@pytest.mark.parametrize("name", [".env", ".qwen/.env"])
def test_files_of_variables_are_found_upward(home: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """One of a project above the current folder is refused; the user's own is not a project's."""
    (home / "project" / "src").mkdir(parents=True)
    monkeypatch.chdir(home / "project" / "src")
    (home / name).write_text("OPENAI_BASE_URL=http://there # here\n")
    assert routes(home) == {"/OPENAI_BASE_URL": "http://there"}
    (home / name).rename(home / "kept")
    (home / "project" / ".qwen").mkdir()
    (home / "kept").rename(home / "project" / name)
    with pytest.raises(LedgerError, match="your key, to http://there"):
        routes(home, *OPENAI)


@pytest.mark.parametrize("by_file", [False, True])
def test_another_home_is_honoured(home: Path, by_file: bool) -> None:
    """By the variable, from the environment or from a file of variables in the user's home."""
    other = home.parent / "other"
    other.mkdir()
    given = {"security": {"auth": {"selectedType": "openai", "baseUrl": "http://gateway"}}}
    (other / "settings.json").write_text(json.dumps(given))
    variables = {} if by_file else {"QWEN_HOME": str(other)}
    (home / ".env").write_text(f"QWEN_HOME={other}\n" if by_file else "")
    assert routes(home, **variables) == {"/OPENAI_BASE_URL": "http://gateway"}
    (other / "settings.json").write_text("{")
    with pytest.raises(LedgerError, match="found no settings"):
        routes(home, **variables)


def test_providers_are_merged_by_their_names(home: Path) -> None:
    """A list of the system's replaces the user's of the same name; others remain, and are redirected too."""
    (home.parent / "etc.json").write_text(json.dumps({"modelProviders": {"openai": models("http://system")}}))
    weakest = {"modelProviders": {"x": models("http://x"), "openai": models("http://y")}}
    (home.parent / "system-defaults.json").write_text(json.dumps(weakest))
    settings(home, {"modelProviders": {"openai": models("http://user"), "anthropic": models("http://mine")}})
    assert sorted(routes(home).values()) == ["http://mine", "http://system", "http://x"]


def test_servers_ask_models() -> None:
    """So that they are started behind the proxy."""
    assert launch.ASIDE.isdisjoint({"serve", "channel"})
