"""Starts Gemini CLI with Ledger's proxy between it and its model; called by ``execledger run``.

With an API key the address of the model is a variable, and so is that of Google's Code Assist with a login. Given an
address for API keys, a client without a stored choice of authentication assumes a gateway and refuses to start: the
choice has to be in its settings.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from execledger.agents.behind_proxy import AgentCommand, run_behind_proxy, session_address
from execledger.agents.gemini.tools import ADAPTER
from execledger.agents.registry import Launch
from execledger.agents.settings_files import nearest_variables, nested, read_settings, read_variables
from execledger.core.wording import printable
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
    auth = auth_type(os.environ, Path.cwd())
    upstream = launch.options.get("--upstream", "") or upstream_of(os.environ, Path.cwd(), auth)
    variable, _ = ADDRESSES[auth]

    def command(url: str, _: ExitStack) -> AgentCommand:
        return AgentCommand(arguments, {variable: session_address(url)})

    return run_behind_proxy(program, launch, ADAPTER, upstream, command, prefix="")


def upstream_of(environment: Mapping[str, str], cwd: Path, auth: str) -> str:
    """The address that Gemini CLI would use: that of the environment, of the user's own file of variables, or Google's.

    The client reads one such file, the nearest; an address in a project's is refused.
    """
    variable, official = ADDRESSES[auth]
    file = variables_file(environment, cwd)
    address = environment[variable] if variable in environment else read_variables(file).get(variable, "")
    if address and variable not in environment and file.parent not in (_home(environment), own_folder(environment)):
        raise LedgerError(
            f"{printable(str(file))} of this project sends Gemini CLI, and with it your key, to {printable(address)}",
            hint=f"if that is what you want: execledger run --upstream {printable(shlex.quote(address))} -- gemini ...",
        )
    return address or official


def _home(environment: Mapping[str, str]) -> Path:
    # The current folder has no symbolic links in its path, and is compared with this one.
    return Path(environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or Path.home()).resolve()


def own_folder(environment: Mapping[str, str]) -> Path:
    """The folder with the user's own files."""
    return _home(environment) / ".gemini"


def variables_file(environment: Mapping[str, str], cwd: Path) -> Path:
    """The file of variables that Gemini CLI reads, if it is there: the nearest from ``cwd`` upward, else the user's."""
    own = own_folder(environment) / ".env"
    return nearest_variables(cwd, ".gemini") or (own if own.is_file() else _home(environment) / ".env")


def auth_type(environment: Mapping[str, str], cwd: Path) -> str:
    """The way to authenticate that Gemini CLI will use; refused if it can't be redirected, or a project chooses it."""
    files = (Path(environment.get(SYSTEM_SETTINGS) or SYSTEM_PATH), own_folder(environment) / "settings.json")
    own = next(filter(None, map(selected_auth, files)), "")
    by_project = selected_auth(cwd / ".gemini" / "settings.json")
    if by_project and by_project != own and not selected_auth(files[0]):
        # The client heeds it only in a folder that it trusts: which address it will use is not known.
        raise LedgerError(
            f".gemini/settings.json of this project has Gemini CLI authenticate by {by_project}, "
            + (f"and yours by {own}" if own else "and you have chosen nothing"),
            hint="choose the same with /auth in Gemini CLI, or remove selectedType there",
        )
    variables = {**read_variables(variables_file(environment, cwd)), **environment}
    chosen = own
    if not chosen and variables.get("GOOGLE_GENAI_USE_GCA") == "true":
        chosen = LOGIN
    if not chosen and variables.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        chosen = "vertex-ai"
    if chosen in ADDRESSES:
        return chosen
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


def selected_auth(path: Path) -> str:
    """The way to authenticate that a file of settings chooses; "" if it chooses none."""
    return printable(str(nested(read_settings(path), "security", "auth", "selectedType") or ""))
