"""Codex's configuration, which is read and never written: where it would send its requests, and its catalog of models.

Codex takes its model provider from ``config.toml``, a profile, or ``-c key=value`` on the command line. Ledger
overrides one key of it, the base address, and forwards to the address that was configured.

Most models of newer versions are asked to write scripts that call tools, and a script's calls can't be told apart from
outside. The same catalog of models without that mode makes the calls direct; an evaluation gives it to all arms.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from execledger.agents.user_files import without_block
from execledger.errors import LedgerError

OPENAI = "openai"
"""The provider that Codex has built in."""
UNCHANGEABLE = frozenset({OPENAI, "ollama", "lmstudio", "oss", "amazon-bedrock", "amazon-bedrock-runtime"})
"""All that it has built in: what a configuration says about these is not heeded, or not wholly."""
KEY_ADDRESS, LOGIN_ADDRESS = "https://api.openai.com/v1", "https://chatgpt.com/backend-api/codex"
"""Where the built-in provider sends requests: with a key, and with a login of ChatGPT."""
OWN = "ledger"
"""The name of the provider for an upstream that was given with ``--upstream``."""
SYSTEM = Path("/etc/codex/config.toml")
"""The settings of the machine, below the user's."""
BLOCK = "codex"
"""The name of the marked block with the address of a standing proxy."""
VARIABLE = "OPENAI_BASE_URL"
"""What named the built-in provider's address before there was a setting for it, and for some time beside that."""
WITH_SETTING, WITHOUT_VARIABLE = (0, 115), (0, 119)
"""The versions in which the setting came, and the variable went."""
WITH_VALUE = frozenset(
    "-c --config --enable --disable --remote --remote-auth-token-env -i --image -m --model --local-provider "
    "-p --profile -s --sandbox -a --ask-for-approval -C --cd --add-dir".split()
)
"""Options before the subcommand that take the next word."""
WITH_MERGED_SETTINGS, WITH_MERGED_PROFILE = (0, 164), (0, 123)
"""The versions from which ``codex exec`` heeds ``-c``, and a profile, before the subcommand although others follow."""
WITHOUT_TERMINAL = frozenset({"exec", "e", "review"})
"""The subcommands that work without the terminal."""
WITH_KEY_VARIABLE = frozenset({"exec", "e", "review"})
"""The subcommands that take a key from the environment; the terminal does not."""

Version: TypeAlias = tuple[int, ...]
"""A version of Codex."""


class Route(Struct, frozen=True):
    """How requests reach us, and where they go from here."""

    upstream: str
    """The base address that requests are sent on to."""
    provider: str
    """The provider whose address is ours now."""
    key_variable: str = ""
    """For the provider of our own: the environment variable that holds the key; "" if there is none."""
    by_variable: bool = False
    """This version takes the built-in provider's address from the environment."""

    def settings(self, url: str) -> dict[str, object]:
        """The configuration that sends requests to ``url``, as ``-c`` takes it."""
        if self.provider == OPENAI:
            return {} if self.by_variable else {"openai_base_url": url}
        if self.provider == OWN:
            own = {"name": "Ledger", "base_url": url, "wire_api": "responses"}
            key = {"env_key": self.key_variable} if self.key_variable else {}
            return {"model_provider": OWN, f"model_providers.{OWN}": {**own, **key}}
        if "." in self.provider:
            # Codex cuts a key at every dot, quoted or not; tables are merged into those of the file.
            return {"model_providers": {self.provider: {"base_url": url}}}
        return {f"model_providers.{self.provider}.base_url": url}

    def variables(self, url: str) -> dict[str, str]:
        """What the environment says, for the same end."""
        return {VARIABLE: url} if self.by_variable else {}


def route(
    arguments: list[str], environment: Mapping[str, str], version: Callable[[], Version], upstream: str = ""
) -> Route:
    """How to route requests of Codex, started with ``arguments``, through the proxy.

    Its ``version`` is asked for only where it matters; ``upstream`` is named by the user.
    """
    if "--oss" in arguments:
        hint = "leave --oss out, and name the server: execledger run --upstream URL -- codex -m MODEL ..."
        raise LedgerError("codex --oss: found a local server, which Codex talks to past any proxy", hint=hint)
    home = home_folder(environment)
    config = configuration(_heeded(arguments, version), home)
    name = str(config.get("model_provider") or OPENAI)
    if upstream:
        # The built-in provider would ask a foreign server for what only its own can do.
        key = "OPENAI_API_KEY" if environment.get("OPENAI_API_KEY") else ""
        return Route(upstream, OWN, key) if name in UNCHANGEABLE else Route(upstream, name)
    if name == OPENAI:
        return _built_in(config, environment, version(), subcommand(arguments), home)
    return Route(_address(name, config, home / "config.toml"), name)


def home_folder(environment: Mapping[str, str]) -> Path:
    """The folder with the user's configuration and login."""
    return Path(environment.get("CODEX_HOME") or Path(environment.get("HOME") or "~").expanduser() / ".codex")


def subcommand(arguments: list[str]) -> str:
    """The first word that is no option: what Codex is to do, or a prompt; "" if there is none."""
    return next(iter(arguments[_before_subcommand(arguments) :]), "")


def _before_subcommand(arguments: list[str]) -> int:
    """How many words precede the first one that is no option; all of them if there is none."""
    at = 0
    while at < len(arguments) and arguments[at] != "--":
        if not arguments[at].startswith("-"):
            return at
        at += 2 if arguments[at] in WITH_VALUE else 1
    return len(arguments)


def _heeded(arguments: list[str], version: Callable[[], Version]) -> list[str]:
    """The arguments without those settings before ``exec`` that this version ignores."""
    at = _before_subcommand(arguments)
    before, after = arguments[:at], arguments[at:]
    if subcommand(arguments) not in WITHOUT_TERMINAL:
        return arguments
    ignored: list[str] = []
    if _values(after, "-c", "--config") and _values(before, "-c", "--config") and version() < WITH_MERGED_SETTINGS:
        ignored += ("-c", "--config")
    if _values(before, "-p", "--profile") and version() < WITH_MERGED_PROFILE:
        ignored += ("-p", "--profile")
    return [*_without(before, ignored), *after]


def _without(words: list[str], options: Sequence[str]) -> list[str]:
    """The words without these options and their values."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        pair = [word, *([next(rest, "")] if word in WITH_VALUE else [])]
        if not any(_values(pair, *options[at : at + 2]) for at in range(0, len(options), 2)):
            kept += pair
    return kept


def overridden(arguments: list[str], settings: Mapping[str, object]) -> list[str]:
    """Codex's arguments with these settings behind the last setting of the user, or before everything without one.

    Older versions heed only the settings of the innermost subcommand that has any: ours must be among those. Later
    settings win, so the user's own for the same keys are left out, and those for tables that hold such a key stay
    before ours.
    """
    kept: list[str] = []
    at = 0
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            kept += [word, *rest]
            break
        value = next(rest, None) if word in ("-c", "--config") else None
        words = [word] if value is None else [word, value]
        said = _values(words, "-c", "--config")
        if not said or said[0].partition("=")[0].strip() not in settings:
            kept += words
        at = len(kept) if said else at
    ours = [word for key, value in settings.items() for word in ("-c", f"{key}={_toml(value)}")]
    return [*kept[:at], *ours, *kept[at:]]


def _toml(value: object) -> str:
    """A value in TOML's spelling; its strings are JSON's."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def configuration(arguments: list[str], home: Path) -> dict[str, Any]:
    """The settings that count: of the machine, the user, the profile and the command line, each over those before."""
    given = [_setting(text) for text in _values(arguments, "-c", "--config")]
    chosen = _values(arguments, "-p", "--profile")
    # A profile is a file of its own; in older versions it is a table, which overrides even the command line.
    files = [SYSTEM, home / "config.toml", *(home / f"{name}.config.toml" for name in chosen[-1:])]
    config = reduce(_merged, [*map(_read, files), *given])
    profiles = config.get("profiles")
    table = profiles.get(str([config.get("profile"), *chosen][-1])) if isinstance(profiles, dict) else None
    return _merged(config, table) if isinstance(table, dict) else config


def _built_in(
    config: Mapping[str, Any], environment: Mapping[str, str], version: Version, command: str, home: Path
) -> Route:
    """The route of the provider that Codex has built in."""
    setting = config.get("openai_base_url") if version >= WITH_SETTING else None
    variable = environment.get(VARIABLE) if version < WITHOUT_VARIABLE else None
    keyed = command in WITH_KEY_VARIABLE and environment.get("CODEX_API_KEY")
    address = setting or variable or (KEY_ADDRESS if keyed else _login_address(home, environment))
    return Route(str(address), OPENAI, by_variable=version < WITH_SETTING)


def _login_address(home: Path, environment: Mapping[str, str]) -> str:
    """Which of its own addresses Codex uses depends on how the user logged in."""
    if environment.get("CODEX_ACCESS_TOKEN"):
        return LOGIN_ADDRESS
    try:
        stored = json.loads((home / "auth.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stored = None
    if not isinstance(stored, dict):
        return KEY_ADDRESS
    mode = stored.get("auth_mode") or ("apikey" if stored.get("OPENAI_API_KEY") else "chatgpt")
    return KEY_ADDRESS if mode == "apikey" else LOGIN_ADDRESS


def _address(name: str, config: Mapping[str, Any], file: Path) -> str:
    """The address of a provider that the user has set up."""
    providers = config.get("model_providers")
    provider = providers.get(name) if isinstance(providers, dict) else None
    provider = provider if isinstance(provider, dict) else {}
    address = provider.get("base_url")
    if not isinstance(address, str) or not address or name in UNCHANGEABLE:
        hint = "name its address: execledger run --upstream URL"
        raise LedgerError(f"{file}: found no base_url to change for the provider `{name}`", hint=hint)
    if provider.get("wire_api") == "chat":
        hint = "set wire_api to responses, if the server speaks it"
        raise LedgerError(f"{file}: `{name}` speaks chat, Ledger's proxy speaks responses", hint=hint)
    return address


def _read(path: Path) -> dict[str, Any]:
    """A file of settings, without the address of a standing proxy of ours; none if it is not there."""
    try:
        text = path.read_bytes()
        rest = without_block(text, BLOCK, path)
        return tomllib.loads((text if rest is None else rest).decode())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise LedgerError(f"{path}: can't be read: {error}", hint="Codex itself would not start with it") from error


def _values(arguments: list[str], short: str, long: str) -> list[str]:
    """The values of an option, in order."""
    found: list[str] = []
    for at, word in enumerate(arguments):
        if word == "--":
            break
        if word in (short, long) and at + 1 < len(arguments):
            found.append(arguments[at + 1])
        elif word.startswith(f"{long}="):
            found.append(word.partition("=")[2])
        elif word.startswith(short) and len(word) > 2 and not word.startswith("--"):
            found.append(word[2:].removeprefix("="))
    return found


def _setting(text: str) -> dict[str, Any]:
    """One ``key=value`` of the command line; a value that is no TOML is a text, as for Codex."""
    key, _, value = text.partition("=")
    try:
        parsed: Any = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip().strip("\"'")
    for name in reversed(key.strip().split(".")):
        parsed = {name: parsed}
    return parsed if isinstance(parsed, dict) else {}


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with the keys of ``over`` in their places, tables within tables."""
    both = {
        key: _merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in over.items()
    }
    return {**base, **both}


def direct_tools(program: str, folder: Path) -> Path:
    """Write the catalog into ``folder``; its file."""
    command = [program, "debug", "models", "--bundled"]
    found = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        catalog = json.loads(found.stdout)
        entries = msgspec.convert(catalog["models"], list[Any])
    except (ValueError, KeyError, TypeError):
        said = found.stderr.strip().splitlines()[-1:] or ["nothing"]
        hint = "leave --direct-tools out: versions without the catalog offer their tools directly"
        raise LedgerError(f"codex debug models --bundled: found {said[0]!r}, expected a catalog", hint=hint) from None
    for model in (entry for entry in entries if isinstance(entry, dict)):
        model |= {name: value for name, value in (("tool_mode", None), ("use_responses_lite", False)) if name in model}
    path = folder / "models.json"
    path.write_text(json.dumps(catalog), encoding="utf-8")
    return path
