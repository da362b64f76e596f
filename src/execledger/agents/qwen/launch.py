"""Starts Qwen Code with Ledger's proxy between it and its model; called by ``execledger run``.

Qwen Code takes the address of a model from its provider in ``modelProviders``, else from ``--openai-base-url``, else
from a variable, else from its settings. Providers are overridden in a settings file of the system's, which is a
temporary one of our own with what was in the system's before; addresses that remain are given by variables. Files of a
project are stronger than the user's: what they say of addresses is refused, unless the user gives one for all.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from execledger.agents.behind_proxy import AgentCommand, run_behind_proxy, session_address
from execledger.agents.qwen.tools import ADAPTER
from execledger.agents.registry import Launch
from execledger.agents.settings_files import checked_settings, nearest_variables, nested, read_variables
from execledger.core.wording import printable
from execledger.errors import LedgerError

OFFICIAL = {
    "OPENAI_BASE_URL": "https://api.openai.com/v1",
    "ANTHROPIC_BASE_URL": "https://api.anthropic.com",
    "GOOGLE_GEMINI_BASE_URL": "https://generativelanguage.googleapis.com",
}
"""The variables with the addresses of models, and the addresses without them."""
VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
}
"""The variable of each way to authenticate that can be redirected."""
SYSTEM_SETTINGS = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
"""The variable with the path of the system's settings, which override those of the user and of the project."""
SYSTEM_PATH = Path("/etc/qwen-code/settings.json")
"""Where these are without the variable."""
SYSTEM_DEFAULTS = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
"""The variable with the path of the system's weakest settings; without it they are beside its other ones."""
ASIDE = frozenset("mcp extensions auth hooks review sessions update -v --version -h --help".split())
"""Subcommands and options that ask no model: these start as they are."""
PROJECT_SETTINGS = ".qwen/settings.json"
"""The settings of a project: chosen by its authors, not by the user."""
_ADDRESS, _AUTH = "--openai-base-url", "--auth-type"


class ClientSetup(Struct, frozen=True):
    """What is set."""

    folder: Path
    """The folder of the user's settings."""
    variables: dict[str, str]
    """The variables of this process, and those of the user's own files behind them."""
    user: dict[str, Any]
    """The user's settings."""
    system: dict[str, Any]
    """The system's settings."""
    defaults_file: Path
    """The file with the system's weakest settings."""
    project: dict[str, Any]
    """The project's settings."""
    project_variables: dict[str, str]
    """The variables in the project's file of variables, if the client reads one."""
    project_file: str
    """That file."""

    @property
    def auth(self) -> dict[str, Any]:
        """The user's choice of a way to authenticate, and its address."""
        found = nested(self.user, "security", "auth")
        return found if isinstance(found, dict) else {}

    @property
    def providers(self) -> dict[str, Any]:
        """The configured models. Of the lists for one provider the strongest is used, and no other.

        The project's are among them because all that remain are to be redirected; see ``_check_project``.
        """
        sources = (checked_settings(self.defaults_file), self.user, self.project, self.system)
        found = (source.get("modelProviders") for source in sources)
        return {name: models for one in found if isinstance(one, dict) for name, models in one.items()}


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run Qwen Code to its end; its exit status."""
    if not ASIDE.isdisjoint(arguments[:1]):
        os.execv(program, [program, *arguments])
    setup = client_setup(os.environ, Path.cwd())
    rest, given = _given_address(arguments)
    chosen = launch.options.get("--upstream", "")
    routes = routes_of(setup, arguments, given, chosen)

    def command(url: str, stack: ExitStack) -> AgentCommand:
        base = session_address(url)
        variables = {name: f"{base}/{name}" for name in OFFICIAL if f"/{name}" in routes}
        if setup.providers:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="execledger-"))
            file = Path(folder, "settings.json")
            addresses = {own: f"{base}{path}" for own, path in _provider_paths(setup).items()}
            providers = _redirected(setup.providers, addresses)
            file.write_bytes(msgspec.json.encode({**setup.system, "modelProviders": providers}))
            variables |= {SYSTEM_SETTINGS: str(file), SYSTEM_DEFAULTS: str(setup.defaults_file)}
        return AgentCommand(rest, variables)

    return run_behind_proxy(program, launch, ADAPTER, "", command, prefix="", routes=routes)


def routes_of(setup: ClientSetup, arguments: Sequence[str], given: str, chosen: str) -> dict[str, str]:
    """A path for each address that is to be redirected, and the address; what can't be redirected is refused.

    ``given`` is the address among the client's arguments, ``chosen`` the one of ``--upstream``.
    """
    routes = dict(_routes(setup, _auth_type(arguments, setup), chosen or given, chosen))
    _check_project(setup, arguments, chosen)
    _check(routes, setup, arguments)
    return routes


def client_setup(environment: Mapping[str, str], cwd: Path) -> ClientSetup:
    """What is set in the environment and in files."""
    home = Path(environment.get("HOME") or Path.home()).resolve()
    at_home = {**read_variables(home / ".env"), **read_variables(home / ".qwen" / ".env")}
    folder = Path(environment.get("QWEN_HOME") or at_home.get("QWEN_HOME") or home / ".qwen").expanduser().resolve()
    user = checked_settings(folder / "settings.json")
    inner = user.get("env")
    kept = {**(inner if isinstance(inner, dict) else {}), **at_home, **read_variables(folder / ".env")}
    variables = {**{name: str(value) for name, value in kept.items()}, **{k: v for k, v in environment.items() if v}}
    system = Path(environment.get(SYSTEM_SETTINGS) or SYSTEM_PATH)
    nearest = nearest_variables(cwd, ".qwen")
    if nearest is not None and nearest.parent in (home, home / ".qwen", folder):
        nearest = None
    return ClientSetup(
        folder=folder,
        variables=variables,
        user=user,
        system=checked_settings(system),
        defaults_file=Path(environment.get(SYSTEM_DEFAULTS) or system.parent / "system-defaults.json"),
        project={} if cwd == home else checked_settings(cwd / PROJECT_SETTINGS),
        project_variables=read_variables(nearest) if nearest else {},
        project_file=str(nearest or ""),
    )


def _auth_type(arguments: Sequence[str], setup: ClientSetup) -> str:
    """The chosen way to authenticate; "" if neither an option nor a setting of the user's says."""
    for at, word in enumerate(arguments):
        if word == _AUTH and at + 1 < len(arguments):
            return arguments[at + 1]
        if word.startswith(f"{_AUTH}="):
            return word.partition("=")[2]
    return str(setup.auth.get("selectedType") or "")


def _given_address(arguments: Sequence[str]) -> tuple[list[str], str]:
    """The arguments without the address that they give, and that address; "" if they give none."""
    rest: list[str] = []
    address = ""
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == _ADDRESS:
            address = next(words, "")
        elif word.startswith(f"{_ADDRESS}="):
            address = word.partition("=")[2]
        else:
            rest.append(word)
    return rest, address


def _routes(setup: ClientSetup, auth: str, given: str, chosen: str) -> Iterator[tuple[str, str]]:
    """A path for each address that is to be redirected, and the address.

    A variable is set only where the user has set it, or has chosen its way to authenticate: the client guesses that way
    from variables.
    """
    for name, official in OFFICIAL.items():
        own = setup.variables.get(name, "")
        if chosen:
            # Otherwise the project's are refused.
            own = own or setup.project_variables.get(name, "") or str(nested(setup.project, "env", name) or "")
        if name == "OPENAI_BASE_URL":
            own = given or own or str(setup.auth.get("baseUrl") or "")
        if own or VARIABLES.get(auth) == name:
            yield f"/{name}", chosen or own or official
    for own, path in _provider_paths(setup).items():
        yield path, chosen or own


def _provider_paths(setup: ClientSetup) -> dict[str, str]:
    """A path for each address of a configured model."""
    bases = [model["baseUrl"] for model in models_of(setup.providers) if isinstance(model.get("baseUrl"), str)]
    return {base: f"/provider-{number}" for number, base in enumerate(dict.fromkeys(bases))}


def models_of(providers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every configured model."""
    for models in providers.values():
        yield from (model for model in models if isinstance(model, dict)) if isinstance(models, list) else ()


def _redirected(providers: Mapping[str, Any], addresses: Mapping[str, str]) -> dict[str, Any]:
    """The configured models with other addresses."""

    def model(one: Any) -> Any:
        address = addresses.get(str(one.get("baseUrl"))) if isinstance(one, dict) else None
        return one if address is None else {**one, "baseUrl": address}

    return {name: [*map(model, models)] if isinstance(models, list) else models for name, models in providers.items()}


def _check(routes: Mapping[str, str], setup: ClientSetup, arguments: Sequence[str]) -> None:
    """Refuse what can't be redirected, with the reason and an alternative."""
    auth = _auth_type(arguments, setup)
    if auth in ("qwen-oauth", "vertex-ai") or (not auth and setup.variables.get("QWEN_OAUTH")):
        raise LedgerError(
            f"Qwen Code is to authenticate by {auth or 'qwen-oauth'}, whose address can't be redirected",
            hint="use an API key: qwen --auth-type openai, with OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL",
        )
    if not routes:
        raise LedgerError(
            "there is no address of a model to redirect: no provider, no variable, no way to authenticate",
            hint="set one up with `qwen`, or say which: execledger run -- qwen --auth-type openai ...",
        )


def _check_project(setup: ClientSetup, arguments: Sequence[str], chosen: str) -> None:
    """Refuse a project that decides where the user's key goes, or how to authenticate.

    An address that the user gives for all requests replaces those of the project.
    """
    for file, address in () if chosen else _project_addresses(setup):
        raise LedgerError(
            f"{printable(file)} of this project sends Qwen Code, and with it your key, to {printable(address)}",
            hint=f"if that is what you want: execledger run --upstream {printable(shlex.quote(address))} -- qwen ...",
        )
    selected = printable(str(nested(setup.project, "security", "auth", "selectedType") or ""))
    if selected and selected != _auth_type(arguments, setup):
        raise LedgerError(
            f"{PROJECT_SETTINGS} of this project has Qwen Code authenticate by {selected}, which you have not chosen",
            hint=f"if that is what you want: execledger run -- qwen {_AUTH} {shlex.quote(selected)} ...",
        )


def _project_addresses(setup: ClientSetup) -> Iterator[tuple[str, str]]:
    """The addresses that a project sets and the user does not, each with the file."""
    for name in OFFICIAL:
        if (found := setup.project_variables.get(name)) and not setup.variables.get(name):
            yield setup.project_file, found
    env, providers = setup.project.get("env"), setup.project.get("modelProviders")
    for name, value in env.items() if isinstance(env, dict) else ():
        if name.endswith("_BASE_URL") and value and not setup.variables.get(name):
            yield PROJECT_SETTINGS, str(value)
    address = str(nested(setup.project, "security", "auth", "baseUrl") or "")
    if address and address != setup.auth.get("baseUrl"):
        yield PROJECT_SETTINGS, address
    if isinstance(providers, dict) and providers:
        bases = [str(model.get("baseUrl") or "") for model in models_of(providers)]
        yield PROJECT_SETTINGS, next(filter(None, bases), "the addresses of its modelProviders")
