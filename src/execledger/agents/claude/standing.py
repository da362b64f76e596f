"""Claude Code's user settings with the address of a standing proxy; the terminal and the editors' extensions read them.

What the settings held before is kept in a variable beside the new ones, so that they can be restored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from execledger.agents.behind_proxy import NO_PROXY, web_proxies_of
from execledger.agents.claude.launch import (
    ADDRESS,
    FIRST_PARTY,
    OFFICIAL,
    WEB_PROXIES,
    check_provider,
    effective_variables,
    user_settings,
    user_variables,
    variables_for,
)
from execledger.errors import LedgerError

FORMER = "EXECLEDGER_FORMER_SETTINGS"
"""The variable that holds what was replaced: a JSON object."""


def file(environment: Mapping[str, str]) -> Path:
    """The user's settings file."""
    return user_settings(environment)


def upstream(environment: Mapping[str, str]) -> str:
    """The address that Claude Code would use without Ledger."""
    found = dict(effective_variables({}, environment, in_project=False))
    check_provider(found)
    former = _former(found.get(FORMER, ""))
    address = former["env"].get(ADDRESS) if former else found.get(ADDRESS)
    return str(address or OFFICIAL)


def web_proxies(environment: Mapping[str, str]) -> dict[str, str] | None:
    """The web proxies that the user's settings name, beside those of the environment."""
    own = user_variables(environment)
    if not any(value and name.upper() in WEB_PROXIES for name, value in own.items()):
        return None
    named = {name.upper() for name in own}
    # The environment here is that of the proxy: it may spell the same variable otherwise.
    return web_proxies_of({**{name: environment[name] for name in environment if name.upper() not in named}, **own})


def with_address(text: bytes | None, url: str, upstream: str, path: Path) -> bytes:
    """The settings with the proxy's address in them."""
    settings = _decoded(text, path)
    env = settings.get("env", {})
    if not isinstance(env, dict):
        raise LedgerError(f"{path}: found `env` that is no object, expected one")
    used = {**os.environ, **{name: value for name, value in env.items() if isinstance(value, str)}}
    ours = variables_for(url, upstream, used)
    former = _former(str(env.get(FORMER, ""))) or {"created": text is None, "had_env": "env" in settings, "env": {}}
    # What an earlier version wrote lacks some of the names.
    former["env"] = {name: env.get(name) for name in (ADDRESS, FIRST_PARTY, *NO_PROXY)} | former["env"]
    return _encoded({**settings, "env": {**env, **ours, FORMER: json.dumps({**former, "ours": ours})}})


def without_address(text: bytes, path: Path) -> bytes | str | None:
    """The settings without it, as they were before; None to delete the file, or why nothing is to be changed."""
    settings = _decoded(text, path)
    env = settings.get("env")
    former = _former(str(env.get(FORMER, ""))) if isinstance(env, dict) else None
    if not isinstance(env, dict) or former is None:
        return "there is no address of a standing proxy in it"
    rest = {name: value for name, value in env.items() if name != FORMER}
    for name, value in former["env"].items():
        # What the user has changed since stays.
        if name in former["ours"] and rest.get(name) == former["ours"][name]:
            rest[name] = value
    rest = {name: value for name, value in rest.items() if value is not None or name not in former["env"]}
    settings = {name: value for name, value in settings.items() if name != "env" or rest or former["had_env"]}
    if "env" in settings:
        settings["env"] = rest
    return None if former["created"] and not settings else _encoded(settings)


def _former(text: str) -> dict[str, Any] | None:
    """What the variable holds; None if it is not there or not ours."""
    try:
        found = json.loads(text)
        whole = isinstance(found["env"], dict) and {"created", "had_env"} <= found.keys()
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return {**found, "ours": found.get("ours") or {}} if whole else None


def _decoded(text: bytes | None, path: Path) -> dict[str, Any]:
    """The settings in a file; one that can't be read is not to be edited."""
    try:
        found = json.loads(text.decode("utf-8-sig")) if text and text.strip() else {}
    except ValueError as error:
        raise LedgerError(f"{path}: is no JSON: {error}", hint="repair it first; nothing was changed") from None
    if not isinstance(found, dict):
        raise LedgerError(f"{path}: found no JSON object, expected one", hint="nothing was changed")
    return found


def _encoded(settings: Mapping[str, Any]) -> bytes:
    """The settings as Claude Code itself writes them."""
    return (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode()
