"""Starts pi with Ledger's proxy between it and its models; called by ``execledger run``.

An extension in a temporary file, loaded with ``-e``, replaces the addresses of providers; their keys stay as they are.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from execledger.agents.behind_proxy import AgentCommand, run_behind_proxy, session_address
from execledger.agents.pi.tools import ADAPTER
from execledger.agents.registry import Launch
from execledger.agents.settings_files import checked_settings, nested, read_settings
from execledger.core.wording import printable
from execledger.errors import LedgerError

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
        calls = (f"  pi.registerProvider({json.dumps(name)}, {json.dumps(given)});" for name, given in own.items())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="execledger-"))
        file = Path(folder, "ledger.js")
        file.write_text("\n".join(("export default function (pi) {", *calls, "}\n")))
        return AgentCommand(["-e", str(file), *arguments])

    routes = {f"/{name}": address for name, address in addresses.items()}
    return run_behind_proxy(program, launch, ADAPTER, "", command, prefix="", routes=routes)


def provider_in(arguments: list[str]) -> str | None:
    """The provider that the arguments name; "" if pi finds it by the name of a model, None if its settings say."""
    words = dict(pairwise(arguments))
    named = words.get("--provider") or words.get("--model", "").rpartition("/")[0].partition("/")[0]
    return named or (None if "--model" not in words else "")


def addresses_of(environment: Mapping[str, str], named: str | None, upstream: str) -> dict[str, str]:
    """The address of each provider, by its name; ``upstream`` is that of the provider in use, if it is known."""
    home = home_folder(environment)
    provider = default_provider(home) if named is None else named
    found = {**OFFICIAL, **_own_addresses(home / "models.json")}
    if upstream and provider:
        found[provider] = upstream
    if upstream and not provider:
        raise _refusal("--provider: found no provider that --upstream belongs to")
    if provider in REFUSED:
        raise _refusal(f"{provider}: can't be redirected")
    if provider and provider not in found:
        raise _refusal(f"{provider}: the address of this provider is not known, and requests would go past Ledger")
    return found


def _refusal(reason: str) -> LedgerError:
    return LedgerError(
        f"pi: {printable(reason)}", hint="name a provider: pi --provider NAME, and with --upstream URL its address"
    )


def home_folder(environment: Mapping[str, str]) -> Path:
    """The folder with the user's settings, logins and providers."""
    home = Path(environment.get("HOME") or Path.home())
    return Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent").expanduser()


def default_provider(home: Path) -> str:
    """The provider that is set as the default; the project's settings are stronger than the user's."""
    found = (read_settings(file).get("defaultProvider") for file in (Path(".pi/settings.json"), home / "settings.json"))
    return next((name for name in found if isinstance(name, str) and name), "")


def _own_addresses(file: Path) -> dict[str, str]:
    """The addresses of providers in the user's file; refused if one of their models has another."""
    providers = checked_settings(file).get("providers")
    addresses: dict[str, str] = {}
    for name, provider in providers.items() if isinstance(providers, dict) else ():
        address, models = nested(provider, "baseUrl"), nested(provider, "models")
        addresses |= {name: address} if isinstance(address, str) and address else {}
        others = {str(nested(one, "baseUrl") or "") for one in models} if isinstance(models, list) else set()
        if others - {"", addresses.get(name, OFFICIAL.get(name))}:
            raise LedgerError(
                f"{file}: a model of {name} has a baseUrl of its own, which would be replaced by that of the provider",
                hint="make it a provider of its own there",
            )
    return addresses
