"""How opencode is led to the proxy: one route for each provider, and the user's own addresses behind them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.opencode.launch import (
    OFFICIAL,
    ConfigSource,
    _merged,
    addresses_of,
    config_sources,
    content_of,
    model_of,
)
from execledger.errors import LedgerError

ZEN = {"opencode": OFFICIAL["opencode"][0]}


def providing(name: str, address: str, owner: str = "user") -> ConfigSource:
    return ConfigSource("opencode.json", {"provider": {name: {"options": {"baseURL": address}}}}, owner)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A new user's."""
    return {"HOME": str(tmp_path)}


def test_providers_with_a_key_have_routes(environment: dict[str, str]) -> None:
    """The official address, that of the user's files, or the one that is given; variables in them have values."""
    assert addresses_of([], environment, "", "") == ZEN
    keyed = {**environment, "ANTHROPIC_API_KEY": "x", "WHERE": "here"}
    assert addresses_of([], keyed, "", "") == {**ZEN, "anthropic": OFFICIAL["anthropic"][0]}
    sources = [providing("mine", "http://{env:WHERE}/v1"), providing("anthropic", "http://gateway")]
    found = addresses_of(sources, keyed, "mine/m", "http://other")
    assert found == {**ZEN, "anthropic": "http://gateway", "mine": "http://other"}
    assert addresses_of(sources, keyed, "mine/m", "")["mine"] == "http://here/v1"


def test_logins_and_the_list_of_providers_are_read(tmp_path: Path, environment: dict[str, str]) -> None:
    """A provider that the user has logged in to, at the address in opencode's own list."""
    data, cache = tmp_path / ".local/share/opencode", tmp_path / ".cache/opencode"
    data.mkdir(parents=True)
    cache.mkdir(parents=True)
    (data / "auth.json").write_text(json.dumps({"far": {"type": "api", "key": "x"}, "openai": {"type": "oauth"}}))
    (cache / "models.json").write_text(json.dumps({"far": {"api": "https://far/v1"}, "odd": {"api": "https://${X}"}}))
    assert addresses_of([], environment, "", "") == {**ZEN, "far": "https://far/v1"}
    with pytest.raises(LedgerError, match="login of ChatGPT"):
        addresses_of([], environment, "openai/gpt-5.2", "")


@pytest.mark.parametrize("model", ["amazon-bedrock/x", "google-vertex/x", "github-copilot/gpt-5", "unheard-of/x"])
def test_what_cant_be_redirected_is_refused(model: str, environment: dict[str, str]) -> None:
    """If the user names such a model, the reason is named, and no run begins."""
    with pytest.raises(LedgerError, match=model) as caught:
        addresses_of([], environment, model, "")
    assert caught.value.hint


def test_a_project_does_not_choose_who_gets_the_key(environment: dict[str, str]) -> None:
    """An address in a project's files is refused, unless the user names one; an administrator's always is."""
    project = [providing("mine", "http://elsewhere", "project")]
    with pytest.raises(LedgerError, match="your key, to http://elsewhere"):
        addresses_of(project, environment, "mine/m", "")
    odd = [providing("$(b)", "http://a; touch b\x1b[2J", "project")]
    with pytest.raises(LedgerError) as refused:
        addresses_of(odd, environment, "mine/m", "")
    assert "--upstream 'http://a; touch b?[2J' -- opencode --model '$(b)/MODEL'" in refused.value.hint
    assert refused.value.message.isprintable()
    assert addresses_of(project, environment, "mine/m", "http://mine") == {**ZEN, "mine": "http://mine"}
    with pytest.raises(LedgerError, match="administrator"):
        addresses_of([providing("mine", "http://theirs", "administrator")], environment, "", "")


def test_configurations_are_found_and_merged(tmp_path: Path, environment: dict[str, str]) -> None:
    """Comments and trailing commas are allowed; the user's files are weaker than those of the project."""
    own = tmp_path / ".config" / "opencode"
    own.mkdir(parents=True)
    (own / "opencode.jsonc").write_text('{// mine\n"model": "a/b", /* x */ "url": "http://x//y",}')
    work = tmp_path / "work"
    (work / ".opencode").mkdir(parents=True)
    (work / ".opencode" / "opencode.json").write_text('{"model": "c/d"}')
    sources = [
        source for source in config_sources({**environment, "OPENCODE_CONFIG_CONTENT": "{}"}, work) if source.config
    ]
    assert [(source.config, source.owner) for source in sources] == [
        ({"model": "a/b", "url": "http://x//y"}, "user"),
        ({"model": "c/d"}, "project"),
    ]
    assert model_of(["run", "-m", "e/f"], sources) == model_of(["--model=e/f"], sources) == "e/f"
    assert model_of(["run"], sources) == "c/d"
    assert _merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 4}}) == {"a": {"b": 4, "c": 2}, "d": 3}


def test_an_address_may_have_another_name(environment: dict[str, str]) -> None:
    """``api`` is weaker than the option, and a project's is refused as well; so is a model's that is not its own."""

    def source(owner: str = "user", **provider: object) -> ConfigSource:
        return ConfigSource("opencode.json", {"provider": {"mine": provider}}, owner)

    option = source(options={"baseURL": "http://option"})
    assert addresses_of([source(api="http://api")], environment, "", "") == {**ZEN, "mine": "http://api"}
    assert addresses_of([option, source(api="http://api")], environment, "", "")["mine"] == "http://option"
    model = {"m": {"provider": {"api": "http://elsewhere"}}, "n": {}}
    for given in ({"api": "http://elsewhere"}, {"models": model}):
        with pytest.raises(LedgerError, match="your key, to http://elsewhere"):
            addresses_of([source("project", **given)], environment, "mine/m", "")
        assert addresses_of([source("project", **given)], environment, "mine/m", "http://x")["mine"] == "http://x"
    with pytest.raises(LedgerError, match="a model is asked at http://elsewhere"):
        addresses_of([source(api="http://api", models=model)], environment, "", "")
    assert addresses_of([source(api="http://elsewhere", models=model)], environment, "", "")


def test_providers_that_are_known_by_a_variable_have_routes(tmp_path: Path, environment: dict[str, str]) -> None:
    """opencode offers the models of every provider whose key is set: some are built in, the others are in its list."""
    keyed = {**environment, "GROQ_API_KEY": "x", "FAR_TOKEN": "x", "NEAR_KEY": ""}
    assert addresses_of([], keyed, "", "") == {**ZEN, "groq": OFFICIAL["groq"][0]}
    listed = {
        "far": {"api": "https://far/v1", "env": ["FAR_KEY", "FAR_TOKEN"]},
        "near": {"api": "https://near/v1", "env": ["NEAR_KEY"]},
        "groq": {"env": ["GROQ_API_KEY"]},
    }
    file = tmp_path / "listed.json"
    file.write_text(json.dumps(listed))
    found = addresses_of([], {**keyed, "OPENCODE_MODELS_PATH": str(file)}, "", "")
    assert found == {**ZEN, "groq": OFFICIAL["groq"][0], "far": "https://far/v1"}


def test_content_that_can_not_be_read_is_refused() -> None:
    """It may hold permissions, which would be lost."""
    assert content_of({}) == {}
    assert content_of({"OPENCODE_CONFIG_CONTENT": '{"permission": "deny", /* x */ }'}) == {"permission": "deny"}
    with pytest.raises(LedgerError, match="OPENCODE_CONFIG_CONTENT"):
        content_of({"OPENCODE_CONFIG_CONTENT": '{"permission": '})
