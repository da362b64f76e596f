"""The real opencode: its configuration, and runs of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.agents.native import ClientRun, run_client
from tests.support.agents.sessions import AgentHome

MODELS = {"chat": "mine/m1", "messages": "anthropic/claude-sonnet-4-5", "responses": "openai/gpt-5.2"}
"""A model for each dialect: the provider decides."""


def run_opencode(
    opencode: Path, home: AgentHome, url: str, *arguments: str, dialect: str = "chat", prefix: list[str] | None = None
) -> ClientRun:
    """Run ``opencode run`` to its end; the user's own configuration leads to ``url``."""
    options: dict[str, Any] = {"options": {"baseURL": f"{url}/v1", "apiKey": "dummy"}}
    mine = {"npm": "@ai-sdk/openai-compatible", "models": {"m1": {"limit": {"context": 200_000, "output": 8000}}}}
    config = {
        "provider": {"anthropic": options, "openai": options, "mine": {**mine, **options}},
        "permission": "allow",
        "share": "disabled",
        "autoupdate": False,
    }
    variables = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }
    words = ["run", "--model", MODELS[dialect], "--format", "json", *arguments, "Mend it."]
    return run_client([*(prefix or []), str(opencode), *words], home, variables)
