"""Starts the CLI of OpenHands with Ledger's proxy between it and its model; called by ``execledger run``.

The proxy's address goes into ``LLM_BASE_URL``, which the CLI reads with ``--override-with-envs``. If the user did not
pass that option, the other variables that it would read are removed: the stored model and key stay in use.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from execledger.agents.behind_proxy import AgentCommand, run_behind_proxy, session_address
from execledger.agents.openhands.adapter import ADAPTER
from execledger.agents.openhands.batch import ADDRESS, KEY, MODEL, OPTION
from execledger.agents.registry import Launch
from execledger.errors import LedgerError
from execledger.proxy.json_split import NOT_JSON

OFFICIAL: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "openhands": "https://llm-proxy.app.all-hands.dev",
}
"""The addresses of providers, by the first part of a model's name."""
REFUSED: Mapping[str, str] = {"bedrock": "Amazon Bedrock", "vertex_ai": "Google Vertex AI"}
"""Providers whose requests are signed for their own address."""
ASIDE = frozenset("serve mcp cloud login logout view -v --version -h --help".split())
"""Subcommands and options that ask no model from here: these start as they are."""


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run OpenHands to its end; its exit status."""
    if not ASIDE.isdisjoint(arguments[:1]):
        os.execv(program, [program, *arguments])
    given = OPTION in arguments
    upstream = launch.options.get("--upstream") or upstream_of(os.environ, given=given)

    def command(url: str, _: ExitStack) -> AgentCommand:
        # Its requests name no session; each start has a path of its own.
        own = {ADDRESS: session_address(url)}
        if given:
            return AgentCommand(arguments, own)
        return AgentCommand([OPTION, *arguments], {**own, MODEL: "", KEY: ""})

    return run_behind_proxy(program, launch, ADAPTER, upstream, command, prefix="")


def upstream_of(environment: Mapping[str, str], *, given: bool) -> str:
    """The address that OpenHands would ask; variables count if the user passed the option for them."""
    stored = stored_model(environment)
    variables = environment if given else {}
    if address := variables.get(ADDRESS) or stored.get("base_url"):
        return str(address)
    model = str(variables.get(MODEL) or stored.get("model") or "")
    provider = model.partition("/")[0]
    if provider in REFUSED:
        raise LedgerError(
            f"{model}: requests to {REFUSED[provider]} are signed for its own address, and can't be redirected",
            hint="use a provider with an API key",
        )
    if provider not in OFFICIAL:
        hint = f"execledger run --upstream URL -- openhands ..., or {ADDRESS} with {OPTION}"
        raise LedgerError(f"{model or 'OpenHands'}: the address of its model is not known", hint=hint)
    return OFFICIAL[provider]


def stored_model(environment: Mapping[str, str]) -> dict[str, Any]:
    """The model's part of the stored settings; empty if there are none."""
    home = Path(environment.get("HOME") or Path.home())
    folder = Path(environment.get("OPENHANDS_PERSISTENCE_DIR") or home / ".openhands")
    try:
        found = msgspec.json.decode((folder / "agent_settings.json").read_bytes(), type=dict[str, Any])
    except (OSError, *NOT_JSON):
        return {}
    model = found.get("llm")
    return model if isinstance(model, dict) else {}
