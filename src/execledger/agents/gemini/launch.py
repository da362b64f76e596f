"""Starts Gemini CLI with Ledger's proxy between it and its model; called by ``execledger run``.

With an API key the address of the model is a variable, and so is that of Google's Code Assist with a login. Given an
address for API keys, a client without a stored choice of authentication assumes a gateway and refuses to start: the
choice has to be in its settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from execledger.agents.behind_proxy import AgentCommand, run_behind_proxy, session_address
from execledger.agents.gemini.tools import ADAPTER
from execledger.agents.registry import Launch
from execledger.agents.settings_files import nested, read_settings
from execledger.errors import LedgerError

KEY, LOGIN = "gemini-api-key", "oauth-personal"
"""The ways to authenticate that can be redirected: by an API key, and by a Google login."""
ADDRESSES = {
    KEY: ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    LOGIN: ("CODE_ASSIST_ENDPOINT", "https://cloudcode-pa.googleapis.com"),
}
"""The variable with the address of each, and the address without it."""
SYSTEM_SETTINGS = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
"""The variable with the path of the system's settings; the client reads the file only if its path is root's."""
SYSTEM_PATH = Path("/etc/gemini-cli/settings.json")
"""Where these are without the variable."""
ASIDE = frozenset("mcp extensions skills hooks gemma -v --version -h --help".split())
"""Subcommands and options that ask no model: these start as they are."""


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run Gemini CLI to its end; its exit status."""
    if not ASIDE.isdisjoint(arguments[:1]):
        os.execv(program, [program, *arguments])
    variable, official = ADDRESSES[_auth_type(os.environ)]
    upstream = launch.options.get("--upstream", "") or os.environ.get(variable) or official

    def command(url: str, _: ExitStack) -> AgentCommand:
        return AgentCommand(arguments, {variable: session_address(url)})

    return run_behind_proxy(program, launch, ADAPTER, upstream, command, prefix="")


def _auth_type(environment: Mapping[str, str]) -> str:
    """The way to authenticate that Gemini CLI will use; refused if it can't be redirected."""
    home = Path(environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or Path.home())
    system = Path(environment.get(SYSTEM_SETTINGS) or SYSTEM_PATH)
    chosen: Any = ""
    # From the weakest settings to the strongest.
    for path in (home / ".gemini" / "settings.json", Path(".gemini/settings.json"), system):
        chosen = nested(read_settings(path), "security", "auth", "selectedType") or chosen
    if not chosen and environment.get("GOOGLE_GENAI_USE_GCA") == "true":
        chosen = LOGIN
    if not chosen and environment.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        chosen = "vertex-ai"
    if chosen in ADDRESSES:
        return str(chosen)
    if chosen:
        raise LedgerError(
            f"Gemini CLI is to authenticate by {chosen}, whose address can't be redirected",
            hint="choose an API key or a Google login with /auth in Gemini CLI",
        )
    raise LedgerError(
        "Gemini CLI has no stored choice of authentication, and refuses to start behind a proxy without one",
        hint="choose one with /auth in Gemini CLI, or put "
        '{"security": {"auth": {"selectedType": "gemini-api-key"}}} into ~/.gemini/settings.json',
    )
