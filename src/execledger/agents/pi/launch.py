"""Starts pi with Ledger's proxy between it and its models; called by ``execledger run``.

An extension in a temporary file, loaded with ``-e``, replaces the addresses of providers; their keys stay as they are.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from execledger.agents.behind_proxy import AgentCommand, run_behind_proxy, session_address
from execledger.agents.pi.tools import ADAPTER
from execledger.agents.registry import Launch
from execledger.errors import LedgerError
from execledger.proxy.json_split import NOT_JSON

OFFICIAL: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "groq": "https://api.groq.com/openai/v1",
    "xai": "https://api.x.ai/v1",
    "deepseek": "https://api.deepseek.com",
    "cerebras": "https://api.cerebras.ai/v1",
}
"""Providers that speak a known dialect, with the addresses that pi has built in."""
REFUSED = ("amazon-bedrock", "google-vertex", "github-copilot", "openai-codex")
"""Providers whose requests are only accepted at their own address."""
ASIDE = frozenset("install remove uninstall update list config -v --version -h --help --list-models".split())
"""Subcommands and options that ask no model: these start as they are."""


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run pi to its end; its exit status."""
    if not ASIDE.isdisjoint(arguments[:1]):
        os.execv(program, [program, *arguments])
    addresses = addresses_of(os.environ, provider_in(arguments), launch.options.get("--upstream", ""))

    def command(url: str, stack: ExitStack) -> AgentCommand:
        # Requests name no session; each start has a path of its own.
        base = session_address(url)
        own = {name: {"baseUrl": f"{base}/{name}"} for name in addresses}
        calls = (f"  pi.registerProvider({_json(name)}, {_json(given)});" for name, given in own.items())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="execledger-"))
        file = Path(folder, "ledger.js")
        file.write_text("\n".join(("export default function (pi) {", *calls, "}\n")))
        return AgentCommand(["-e", str(file), *arguments])

    routes = {f"/{name}": address for name, address in addresses.items()}
    return run_behind_proxy(program, launch, ADAPTER, "", command, prefix="", routes=routes)


def provider_in(arguments: list[str]) -> str:
    """The provider that the arguments name; "" if pi chooses."""
    words = dict(pairwise(arguments))
    return words.get("--provider") or words.get("--model", "").rpartition("/")[0].partition("/")[0]


def addresses_of(environment: Mapping[str, str], provider: str, upstream: str) -> dict[str, str]:
    """The address of each provider, by its name; ``upstream`` is that of ``provider``."""
    if provider in REFUSED or (upstream and not provider):
        reason = "can't be redirected" if provider in REFUSED else "found no provider that --upstream belongs to"
        raise LedgerError(f"pi: {provider or '--provider'}: {reason}", hint="name another: pi --provider NAME")
    home = environment.get("PI_CODING_AGENT_DIR") or Path(environment.get("HOME") or Path.home(), ".pi", "agent")
    own = {name: one.get("baseUrl") for name, one in _providers(Path(home, "models.json")).items()}
    found = {**OFFICIAL, **{name: url for name, url in own.items() if isinstance(url, str)}}
    return {**found, provider: upstream} if upstream else found


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _providers(file: Path) -> dict[str, dict[str, Any]]:
    """The providers in the user's file; none if it is missing or can't be read."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=dict[str, Any]).get("providers")
        return msgspec.convert(found, dict[str, dict[str, Any]])
    except (OSError, msgspec.ValidationError, *NOT_JSON):
        return {}
