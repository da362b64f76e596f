"""Access of agents to their models: what is refused before an evaluation, what is a warning, what is accepted."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.access import Access
from execledger.agents.claude.launch import MANAGED
from execledger.agents.evaluation import Setup
from execledger.errors import LedgerError

NONE, UNSURE, FOUND = "refused", "warning", "found"


@pytest.fixture(autouse=True)
def plain_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a keychain and without settings of an administrator."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setitem(MANAGED, "linux", str(tmp_path / "etc" / "claude-code" / "managed-settings.json"))


def verdict(folder: Path, agent: str, variables: dict[str, str], files: dict[str, Any], setup: Setup) -> str:
    """What is found with these variables and files of a user."""
    home = folder / "home"
    for name, content in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    access: Access = import_module(f"execledger.agents.{agent}.access").access(setup, {"HOME": str(home), **variables})
    problems = [*access.problems(agent)]
    return (UNSURE if problems[0].warning else NONE) if problems else FOUND


OWN = {"model_provider": "mine", "model_providers.mine.base_url": "http://localhost/v1"}
KEYED = {**OWN, "model_providers.mine.env_key": "MINE"}
GEMINI = {".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}}
QWEN = {".qwen/settings.json": {"security": {"auth": {"selectedType": "openai"}}}}
QWEN_KEY = {".qwen/settings.json": {"security": {"auth": {"selectedType": "openai", "apiKey": "x"}}}}
QWEN_MODELS = {".qwen/settings.json": {"modelProviders": {"openai": [{"id": "m", "envKey": "MINE"}]}}}
PI_MINE = {".pi/agent/models.json": {"providers": {"mine": {"baseUrl": "http://localhost"}}}}
MINE = json.dumps({"provider": {"mine": {"options": {"baseURL": "http://localhost"}}}})
WELL_KNOWN = {"https://example.org": {"type": "wellknown", "key": "x", "token": "x"}}
OPENHANDS = {".openhands/agent_settings.json": {"llm": {"model": "openai/m", "api_key": "x"}}}


@pytest.mark.parametrize(
    ("agent", "variables", "files", "setup", "expected"),
    [
        ("claude", {}, {}, {}, NONE),
        ("claude", {"ANTHROPIC_MODEL": "x"}, {}, {}, NONE),
        ("claude", {"ANTHROPIC_AUTH_TOKEN": "x"}, {}, {}, FOUND),
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}, {}, {}, FOUND),
        ("claude", {"ANTHROPIC_BASE_URL": "http://localhost"}, {}, {}, UNSURE),
        ("claude", {}, {".claude/.credentials.json": {}}, {}, FOUND),
        ("claude", {}, {".claude.json": {"primaryApiKey": "x"}}, {}, FOUND),
        ("claude", {}, {".claude/settings.json": {"env": {"ANTHROPIC_API_KEY": "x"}}}, {}, FOUND),
        ("claude", {}, {".claude/settings.json": {"apiKeyHelper": "pass"}}, {}, UNSURE),
        ("claude", {}, {}, {"settings": {"env.ANTHROPIC_API_KEY": "x"}}, FOUND),
        ("codex", {}, {}, {}, NONE),
        ("codex", {"OPENAI_API_KEY": "x"}, {}, {}, FOUND),
        ("codex", {}, {".codex/auth.json": {}}, {}, FOUND),
        ("codex", {}, {".codex/config.toml": 'cli_auth_credentials_store = "keyring"'}, {}, UNSURE),
        ("codex", {}, {".codex/config.toml": 'openai_base_url = "http://localhost"'}, {}, UNSURE),
        ("codex", {}, {".codex/config.toml": 'model_provider = "ollama"'}, {}, FOUND),
        ("codex", {}, {}, {"settings": OWN}, FOUND),
        ("codex", {}, {".codex/.env": "OPENAI_API_KEY=x"}, {}, FOUND),
        ("codex", {}, {".codex/.env": "CODEX_API_KEY=x\ncodex_access_token=x"}, {}, NONE),
        ("codex", {}, {".codex/.env": "OPENAI_BASE_URL=http://localhost"}, {}, UNSURE),
        ("codex", {}, {".codex/.env": "MINE=x"}, {"settings": KEYED}, FOUND),
        (
            "codex",
            {"CODEX_API_KEY": "x"},
            {".codex/config.toml": 'model_provider = "m"\n[model_providers.m]\n'},
            {},
            FOUND,
        ),
        ("copilot", {}, {}, {}, NONE),
        ("copilot", {"COPILOT_PROVIDER_BASE_URL": "http://localhost"}, {}, {}, FOUND),
        ("copilot", {"GH_TOKEN": "x"}, {}, {}, FOUND),
        ("copilot", {}, {".copilot/config.json": {"lastLoggedInUser": "a"}}, {}, UNSURE),
        ("copilot", {}, {".config/gh/hosts.yml": "github.com:"}, {}, UNSURE),
        ("opencode", {}, {}, {"model": "anthropic/m"}, NONE),
        ("opencode", {"OPENAI_API_KEY": "x"}, {}, {"model": "anthropic/m"}, NONE),
        ("opencode", {"ANTHROPIC_API_KEY": "x"}, {}, {"model": "anthropic/m"}, FOUND),
        ("opencode", {}, {}, {}, FOUND),
        ("opencode", {}, {}, {"model": "opencode/free"}, FOUND),
        ("opencode", {}, {}, {"model": "elsewhere/m"}, UNSURE),
        ("opencode", {"OPENCODE_CONFIG_CONTENT": MINE}, {}, {"model": "mine/m"}, FOUND),
        (
            "opencode",
            {},
            {".local/share/opencode/auth.json": {"anthropic": {"type": "oauth"}}},
            {"model": "anthropic/m"},
            FOUND,
        ),
        ("opencode", {}, {".local/share/opencode/auth.json": WELL_KNOWN}, {"model": "anthropic/m"}, UNSURE),
        ("opencode", {"OPENCODE_CONSOLE_TOKEN": "x"}, {}, {"model": "anthropic/m"}, UNSURE),
        ("opencode", {}, {".config/opencode/opencode.json": {"plugin": ["a"]}}, {"model": "openai/m"}, UNSURE),
        ("qwen", {}, {}, {}, NONE),
        ("qwen", {}, QWEN, {}, NONE),
        ("qwen", {"ANTHROPIC_API_KEY": "x"}, {}, {}, FOUND),
        ("qwen", {}, QWEN_KEY, {}, FOUND),
        ("qwen", {}, {".qwen/.env": "OPENAI_API_KEY=x"}, {}, FOUND),
        ("qwen", {}, {".qwen/oauth_creds.json": {}}, {}, FOUND),
        ("qwen", {}, QWEN_MODELS, {}, UNSURE),
        ("qwen", {"MINE": "x"}, QWEN_MODELS, {}, FOUND),
        ("qwen", {"OPENAI_BASE_URL": "http://localhost"}, {}, {}, UNSURE),
        ("qwen", {"DASHSCOPE_API_KEY": "x"}, {}, {}, UNSURE),
        ("gemini", {}, {}, {}, NONE),
        ("gemini", {}, GEMINI, {}, UNSURE),
        ("gemini", {"GEMINI_API_KEY": "x"}, GEMINI, {}, FOUND),
        ("gemini", {}, {".gemini/.env": "GEMINI_API_KEY=x"}, {}, FOUND),
        ("gemini", {}, {".gemini/oauth_creds.json": {}}, {}, FOUND),
        ("gemini", {"GOOGLE_GENAI_USE_VERTEXAI": "true"}, {}, {}, FOUND),
        ("gemini", {"GEMINI_CLI_USE_COMPUTE_ADC": "true"}, {}, {}, FOUND),
        ("gemini", {"GOOGLE_GEMINI_BASE_URL": "http://localhost"}, {}, {}, UNSURE),
        ("pi", {}, {}, {}, NONE),
        ("pi", {}, {}, {"model": "anthropic/m"}, NONE),
        ("pi", {"OPENROUTER_API_KEY": "x"}, {}, {"model": "anthropic/m"}, UNSURE),
        ("pi", {}, {".pi/agent/auth.json": {"openrouter": {}}}, {"model": "anthropic/m"}, UNSURE),
        ("pi", {}, PI_MINE, {"model": "anthropic/m"}, UNSURE),
        ("pi", {"OPENAI_API_KEY": "x"}, {".pi/agent/settings.json": {"defaultProvider": "anthropic"}}, {}, NONE),
        ("pi", {"OPENAI_API_KEY": "x"}, {}, {"model": "m"}, FOUND),
        ("pi", {}, PI_MINE, {"model": "mine/m"}, FOUND),
        ("pi", {}, {}, {"model": "elsewhere/m"}, UNSURE),
        ("pi", {"AWS_PROFILE": "x"}, {}, {}, UNSURE),
        ("pi", {}, {".pi/agent/auth.json": {"anthropic": {}}}, {"model": "anthropic/m"}, FOUND),
        ("openhands", {}, {}, {"model": "openai/m"}, NONE),
        ("openhands", {"LLM_API_KEY": "x"}, {}, {"model": "openai/m"}, FOUND),
        ("openhands", {}, OPENHANDS, {}, FOUND),
        ("openhands", {}, {}, {"model": "bedrock/m"}, FOUND),
        ("openhands", {"LLM_BASE_URL": "http://localhost"}, {}, {"model": "openai/m"}, UNSURE),
        ("openhands", {"OPENAI_API_KEY": "x"}, {}, {"model": "openai/m"}, UNSURE),
    ],
)
def test_access_is_refused_only_where_it_certainly_lacks(
    agent: str, variables: dict[str, str], files: dict[str, Any], setup: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    """A gateway, a cloud, a helper command or a provider of the user's own is accepted, or a warning at most."""
    plan = Setup(program=agent, cwd=tmp_path, **setup)
    assert verdict(tmp_path, agent, variables, files, plan) == expected


def test_the_variable_that_a_provider_names_is_needed(tmp_path: Path) -> None:
    """Codex starts no turn without it, whatever other key there is."""
    plan = Setup(program="codex", cwd=tmp_path, settings=KEYED)
    assert verdict(tmp_path, "codex", {"CODEX_API_KEY": "x"}, {}, plan) == NONE
    assert verdict(tmp_path, "codex", {"MINE": "x"}, {}, plan) == FOUND


def test_settings_that_codex_cannot_read_are_refused(tmp_path: Path) -> None:
    """Codex itself would not start."""
    with pytest.raises(LedgerError, match="can't be read"):
        verdict(tmp_path, "codex", {}, {".codex/config.toml": "["}, Setup(program="codex", cwd=tmp_path))


def test_the_message_names_variables_and_no_values(tmp_path: Path) -> None:
    """With what may take their place, as a warning."""
    access = Access(found=False, keys=("A", "B"), unsure="a helper", sign_in="`x login`")
    (problem,) = access.problems("x")
    assert (problem.message, problem.hint, problem.warning) == (
        "x: found no API key in the environment and no sign-in; not checked, and may give access: a helper",
        "export A or B=..., or `x login`",
        True,
    )
