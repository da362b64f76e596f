"""Starts Claude Code with Ledger's proxy between it and its model; called by ``execledger run``.

The proxy's address goes into ``--settings``, which has precedence over the user's files and the environment. Of several
``--settings`` Claude Code takes only the last: those of the user are merged into ours, in a temporary file of our own.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from yarl import URL

from execledger.agents.behind_proxy import (
    NO_PROXY,
    AgentCommand,
    past_web_proxies,
    reports_for,
    run_behind_proxy,
    web_proxies_of,
)
from execledger.agents.claude import adapter
from execledger.agents.claude.hooks import PORT, with_hooks
from execledger.agents.registry import Launch
from execledger.core.wording import printable
from execledger.errors import LedgerError
from execledger.proxy.json_split import NOT_JSON
from execledger.proxy.relay import reached_without

ADDRESS = "ANTHROPIC_BASE_URL"
"""The variable with the address of the model's API."""
OFFICIAL = "https://api.anthropic.com"
"""The address without that variable."""
FIRST_PARTY = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"
"""The variable that has Claude Code ask as it asks the official address: other addresses change its requests."""
CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex AI",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS": "the Claude Platform on AWS",
    "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD": "the Claude Platform on Google Cloud",
    "CLAUDE_CODE_USE_MANTLE": "Amazon Bedrock (Mantle)",
}
"""Variables that have it ask another provider, whose requests are signed for its address."""
SOCKET = "ANTHROPIC_UNIX_SOCKET"
"""The variable with a socket to which requests for the model go, whatever address is set."""
ASIDE = frozenset(
    "auth config doctor install login logout mcp migrate-installer plugin plugins setup-token update upgrade "
    "-v --version -h --help".split()
)
"""Subcommands and options that ask no model: these start as they are."""
MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "linux": "/etc/claude-code/managed-settings.json",
}
"""Where an administrator's settings are; no option overrides them."""
MANAGED_FOLDER = "managed-settings.d"
"""The folder beside it with more of them, which follow in the order of their names."""
PROJECT_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
"""Settings that come with a project: chosen by its authors, not by the user."""
WEB_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
"""The variables that name a web proxy, here in upper case; each is read in lower case as well."""
_OPTION = "--settings"


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run Claude Code to its end; its exit status."""
    if not ASIDE.isdisjoint(arguments[:1]):
        os.execv(program, [program, *arguments])
    rest, given = _given_settings(arguments)
    chosen = launch.options.get("--upstream", "")
    asked = {**given, "env": {**_environment_of(given), ADDRESS: chosen}} if chosen else given
    variables = dict(effective_variables(asked, os.environ))
    check_provider(variables)
    upstream = variables.get(ADDRESS) or OFFICIAL

    reports = reports_for(launch, PORT)

    def command(url: str, stack: ExitStack) -> AgentCommand:
        own = variables_for(url, upstream, variables)
        env = given.get("env")
        merged = {**given, "env": {**(env if isinstance(env, dict) else {}), **own}}
        if reports is not None:
            merged = with_hooks(merged, f"{url}{reports.path}")
        # A private file, and not the command line, which every user of this machine can read.
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="execledger-"))
        file = Path(folder, "settings.json")
        file.write_bytes(msgspec.json.encode(merged))
        return AgentCommand([_OPTION, str(file), *rest], own)

    web_proxies = web_proxies_of(variables)
    return run_behind_proxy(
        program, launch, adapter, upstream, command, prefix="", web_proxies=web_proxies, reports=reports
    )


def variables_for(url: str, upstream: str, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that lead Claude Code to ``url``, also where its settings name a web proxy."""
    first_party = {FIRST_PARTY: "1"} if URL(upstream).host == URL(OFFICIAL).host else {}
    return {ADDRESS: url, **first_party, **past_web_proxies(variables)}


def _given_settings(arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The arguments without ``--settings``, and the settings of the last one."""
    rest: list[str] = []
    value: str | None = None
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == _OPTION and (found := next(words, None)) is not None:
            value = found
        elif word.startswith(f"{_OPTION}="):
            value = word.partition("=")[2]
        else:
            # Also the option without a value, at the end: Claude Code refuses it.
            rest.append(word)
    return rest, {} if value is None else _read_option(value)


def _read_option(value: str) -> dict[str, Any]:
    """The settings that the option gives: JSON, or a file of it."""
    text = value.encode() if value.lstrip().startswith("{") else None
    try:
        return _decoded(Path(value).read_bytes() if text is None else text)
    except (OSError, *NOT_JSON) as error:
        hint = "expected a JSON object, or the path of a file with one"
        raise LedgerError(f"{_OPTION} {value[:200]!r}: {error}", hint=hint) from None


def effective_variables(
    given: Mapping[str, Any], environment: Mapping[str, str], *, in_project: bool = True
) -> Iterator[tuple[str, str]]:
    """The variables that Claude Code would use, the weakest source first; those of a project if it is started there."""
    own = user_settings(environment)
    users = {**environment, **user_variables(environment)}
    yield from users.items()
    for path in PROJECT_SETTINGS if in_project else ():
        if os.path.realpath(path) == os.path.realpath(own):
            # Started in the home directory, where the user's own file has the name of a project's.
            continue
        found = _environment_of(_read_file(Path(path)))
        _check_project(path, found, users, _environment_of(given))
        yield from found.items()
    yield from _environment_of(given).items()
    managed = _managed_variables(Path(MANAGED.get(sys.platform, MANAGED["linux"])))
    _check_managed(managed)
    yield from managed.items()


def _check_project(path: str, found: Mapping[str, str], users: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Refuse variables of a project that choose where requests go, unless the user names the same variable."""
    if ADDRESS in found and ADDRESS not in given:
        raise LedgerError(
            f"{path} of this project sends Claude Code, and with it your key, to {printable(found[ADDRESS])}",
            hint=f"if that is what you want: execledger run --upstream {printable(shlex.quote(found[ADDRESS]))} "
            "-- claude ...",
        )
    for name, value in found.items():
        if value and name.upper() in WEB_PROXIES and name not in given and users.get(name) != value:
            raise LedgerError(
                f"{path} of this project sets {name} to {printable(value)}: it chooses a web proxy for your requests",
                hint=f"if that is what you want, set {name} in your own settings or in the environment",
            )


def _managed_variables(file: Path) -> dict[str, str]:
    """The variables that an administrator's settings set, in their file and in the folder beside it."""
    added = sorted(path for path in (file.parent / MANAGED_FOLDER).glob("*.json") if not path.name.startswith("."))
    return {name: value for path in (file, *added) for name, value in _environment_of(_read_file(path)).items()}


def _check_managed(managed: Mapping[str, str]) -> None:
    """Refuse an administrator's variables that would lead requests past the proxy; no option overrides them."""
    if ADDRESS in managed:
        raise LedgerError(
            f"an administrator's settings send Claude Code to {managed[ADDRESS]}, and no option overrides them",
            hint=f"have {ADDRESS} removed there, or run `execledger proxy` at that address",
        )
    for name in NO_PROXY:
        if name in managed and not reached_without("127.0.0.1", managed[name]):
            raise LedgerError(
                f"an administrator's settings set {name} without 127.0.0.1, and no option overrides them",
                hint=f"have 127.0.0.1 added to {name} there",
            )


def user_settings(environment: Mapping[str, str]) -> Path:
    """The user's own settings file."""
    home = Path(environment.get("HOME") or Path.home())
    return Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "settings.json"


def user_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the user's own settings file sets."""
    return _environment_of(_read_file(user_settings(environment)))


def _read_file(path: Path) -> dict[str, Any]:
    """A settings file; one that is missing or can't be read is empty."""
    try:
        return _decoded(path.read_bytes())
    except (OSError, *NOT_JSON):
        return {}


def _decoded(text: bytes) -> dict[str, Any]:
    """The settings in a JSON text, which may begin with a byte order mark."""
    return msgspec.json.decode(text.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])


def _environment_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """The variables that settings set."""
    found = settings.get("env")
    return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def check_provider(variables: Mapping[str, str]) -> None:
    """Refuse providers that the proxy can't forward to."""
    for name, provider in CLOUDS.items():
        if variables.get(name, "").lower() not in ("", "0", "false", "no", "off"):
            raise LedgerError(
                f"{name} is set: requests to {provider} are signed for its own address, and can't be redirected",
                hint="use an API key or a subscription, or a gateway that speaks the Messages API, with --upstream URL",
            )
    if variables.get(SOCKET):
        raise LedgerError(
            f"{SOCKET} is set: requests to the model go to that socket, and can't be redirected",
            hint=f"unset it, and let {ADDRESS} or --upstream name an address",
        )
