"""Starts Codex with Ledger's proxy between it and its model; called by ``execledger run``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from execledger.agents.behind_proxy import AgentCommand, run_behind_proxy
from execledger.agents.codex import tools
from execledger.agents.codex.config import Version, direct_tools, overridden, route, subcommand
from execledger.agents.registry import Launch

ASIDE = frozenset(
    "agents apply a archive cloud completion debug delete doctor exec-server features help login logout mcp "
    "migrate-nfs-db migrate-rollouts plugin queue remote-control sandbox unarchive update "
    "-V --version -h --help".split()
)
"""Subcommands and options that ask no model: these start as they are."""


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run Codex to its end; its exit status."""
    if not ASIDE.isdisjoint((subcommand(arguments), *arguments[:1])):
        os.execv(program, [program, *arguments])
    options = launch.options
    chosen = route(arguments, os.environ, lambda: installed_version(program), options.get("--upstream", ""))

    def started(url: str, stack: ExitStack) -> AgentCommand:
        settings = chosen.settings(url)
        if "--direct-tools" in options:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="execledger-"))
            settings["model_catalog_json"] = str(direct_tools(program, Path(folder)))
        return AgentCommand(overridden(arguments, settings), chosen.variables(url))

    return run_behind_proxy(program, launch, tools, chosen.upstream, started)


def installed_version(program: str) -> Version:
    """Which Codex this is; one that does not say is taken for the newest."""
    asked = subprocess.run(
        [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", asked.stdout)
    return tuple(map(int, found.groups())) if found else (sys.maxsize,)
