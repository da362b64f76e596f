"""Where Codex would send its requests: read from the user's configuration, which is never written.

Codex takes its model provider from ``config.toml``, a profile, or ``-c key=value`` on the command line. Ledger changes
one key of it, the base address, and sends on to the address that stood there.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from execledger.errors import LedgerError

OPENAI = "openai"
"""The provider that Codex has built in."""
KEY_ADDRESS, LOGIN_ADDRESS = "https://api.openai.com/v1", "https://chatgpt.com/backend-api/codex"
"""Where the built-in provider sends requests: with a key, and with a login of ChatGPT."""
OWN = "ledger"
"""The provider that stands for an upstream that the user names to us."""


class Route(Struct, frozen=True):
    """How requests reach us, and where they go from here."""

    upstream: str
    """The base address that requests are sent on to."""
    provider: str
    """The provider whose address is ours now."""
    key_variable: str = ""
    """For the provider of our own: the environment variable that holds the key; "" if there is none."""

    def settings(self, url: str) -> dict[str, object]:
        """The configuration that sends requests to ``url``, as ``-c`` takes it."""
        if self.provider == OPENAI:
            return {"openai_base_url": url}
        if self.provider != OWN:
            return {f"model_providers.{self.provider}.base_url": url}
        own = {"name": "Ledger", "base_url": url, "wire_api": "responses"}
        key = {"env_key": self.key_variable} if self.key_variable else {}
        return {"model_provider": OWN, f"model_providers.{OWN}": {**own, **key}}


def route(arguments: list[str], environment: Mapping[str, str], upstream: str = "") -> Route:
    """How to stand between Codex, started with ``arguments``, and its model; ``upstream`` is named by the user."""
    if "--oss" in arguments and not upstream:
        raise LedgerError("codex --oss: found a local provider", hint="name its address: execledger run --upstream URL")
    home = Path(environment.get("CODEX_HOME") or Path(environment.get("HOME") or "~").expanduser() / ".codex")
    config = _read(home / "config.toml")
    config = _merged(config, _profile(config, arguments, home))
    for setting in _values(arguments, "-c", "--config"):
        config = _merged(config, _setting(setting))
    name = str(config.get("model_provider") or OPENAI)
    if upstream:
        # The built-in provider would ask a foreign server for what only its own can do.
        key = "OPENAI_API_KEY" if environment.get("OPENAI_API_KEY") else ""
        return Route(upstream, OWN, key) if name == OPENAI else Route(upstream, name)
    providers = config.get("model_providers")
    provider = providers.get(name, {}) if isinstance(providers, dict) else {}
    if name == OPENAI:
        address = config.get("openai_base_url") or environment.get("OPENAI_BASE_URL")
        return Route(str(address or _openai_address(home, environment)), OPENAI)
    address = provider.get("base_url") if isinstance(provider, dict) else None
    if not isinstance(address, str) or not address:
        hint = "name its address: execledger run --upstream URL"
        raise LedgerError(f"{home / 'config.toml'}: found no base_url for the provider `{name}`", hint=hint)
    if provider.get("wire_api") == "chat":
        hint = "set wire_api to responses, if the server speaks it"
        raise LedgerError(f"{home / 'config.toml'}: `{name}` speaks chat, Ledger's proxy speaks responses", hint=hint)
    return Route(address, name)


def overridden(arguments: list[str], settings: Mapping[str, object]) -> list[str]:
    """Codex's arguments with these settings before them.

    Later settings win, so the user's own for the same keys are left out, and those for tables that hold such a key are
    put before ours.
    """
    kept: list[str] = []
    tables: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            kept += [word, *rest]
            break
        value = next(rest, None) if word in ("-c", "--config") else None
        words = [word] if value is None else [word, value]
        said = _values(words, "-c", "--config")
        key = said[0].partition("=")[0].strip() if said else ""
        if not key or not any(f"{name}.".startswith(f"{key}.") for name in settings):
            kept += words
        elif key not in settings:
            tables += words
    ours = [word for key, value in settings.items() for word in ("-c", f"{key}={_toml(value)}")]
    return [*tables, *ours, *kept]


def _toml(value: object) -> str:
    """A value in TOML's spelling; its strings are JSON's."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)


def _openai_address(home: Path, environment: Mapping[str, str]) -> str:
    """Which of its own addresses Codex uses depends on how the user logged in."""
    if environment.get("CODEX_API_KEY"):
        return KEY_ADDRESS
    try:
        stored = json.loads((home / "auth.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return KEY_ADDRESS
    login = isinstance(stored, dict) and bool(stored.get("tokens")) and stored.get("auth_mode") != "apikey"
    return LOGIN_ADDRESS if login and not stored.get("OPENAI_API_KEY") else KEY_ADDRESS


def _read(path: Path) -> dict[str, Any]:
    """A file of settings; none if it is not there."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise LedgerError(f"{path}: can't be read: {error}", hint="Codex itself would not start with it") from error


def _profile(config: dict[str, Any], arguments: list[str], home: Path) -> dict[str, Any]:
    """The settings of the chosen profile: a table of the file, or in newer versions a file of its own."""
    name = next(reversed(_values(arguments, "-p", "--profile")), config.get("profile"))
    if not isinstance(name, str) or not name:
        return {}
    profiles = config.get("profiles")
    table = profiles.get(name) if isinstance(profiles, dict) else None
    return table if isinstance(table, dict) else _read(home / f"{name}.config.toml")


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
