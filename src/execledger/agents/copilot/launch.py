"""Starts Copilot CLI with Ledger's proxy between it and the user's own model; called by ``execledger run``.

GitHub's own models can't be redirected: no setting replaces their address.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

from execledger.agents.behind_proxy import AgentCommand, run_behind_proxy, session_address
from execledger.agents.copilot.tools import ADAPTER
from execledger.agents.registry import Launch
from execledger.errors import LedgerError

ADDRESS = "COPILOT_PROVIDER_BASE_URL"
"""The variable with the address of the user's own model."""
ASIDE = frozenset("help version update login logout init plugin mcp completion -v --version -h --help".split())
"""Subcommands and options that ask no model: these start as they are."""


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run Copilot CLI to its end; its exit status."""
    if not ASIDE.isdisjoint(arguments[:1]):
        os.execv(program, [program, *arguments])
    upstream = launch.options.get("--upstream") or os.environ.get(ADDRESS)
    if not upstream:
        raise LedgerError(
            f"{ADDRESS} is not set: Copilot CLI would ask GitHub's own models, whose address can't be replaced",
            hint="with a model of your own it works: set COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY and "
            "COPILOT_MODEL (docs/copilot.md)",
        )

    def command(url: str, _: ExitStack) -> AgentCommand:
        return AgentCommand(arguments, {ADDRESS: session_address(url)})

    return run_behind_proxy(program, launch, ADAPTER, upstream, command, prefix="")
