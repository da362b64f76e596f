"""Codex's user configuration with the address of a standing proxy; the terminal and the editors' extensions read it.

The address is a marked block at the beginning of ``config.toml``: keys that belong to no table come before all tables.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from execledger.agents.codex.config import BLOCK, OPENAI, home_folder, route
from execledger.agents.codex.launch import installed_version
from execledger.agents.programs import find_program
from execledger.agents.user_files import with_block, without_block
from execledger.errors import LedgerError

KEY = "openai_base_url"
"""The setting with the address of the built-in provider."""


def file(environment: Mapping[str, str]) -> Path:
    """The user's configuration file."""
    return home_folder(environment) / "config.toml"


def upstream(environment: Mapping[str, str]) -> str:
    """The address that Codex would use without Ledger."""
    program = find_program("codex", "npm install -g @openai/codex")
    found = route([], environment, lambda: installed_version(program))
    if found.provider != OPENAI or found.by_variable:
        raise LedgerError(
            f"{file(environment)}: found a provider or a version whose address can't be set beside what is there",
            hint="`execledger on codex` without --proxy works with any",
        )
    return found.upstream


def web_proxies(environment: Mapping[str, str]) -> None:
    """Codex has no setting for a web proxy."""


def with_address(text: bytes | None, url: str, upstream: str, path: Path) -> bytes:
    """The configuration with the proxy's address in it."""
    own = without_block(text or b"", BLOCK, path)
    if KEY in _decoded((text or b"") if own is None else own, path):
        hint = "`execledger on codex` without --proxy keeps it, and sends requests on to it"
        raise LedgerError(f"{path}: `{KEY}` is set already", hint=hint)
    edited = with_block(text or b"", BLOCK, f"{KEY} = {json.dumps(url)}\n", path, first=True)
    _decoded(edited, path)
    return edited


def without_address(text: bytes, path: Path) -> bytes | str | None:
    """The configuration without it, or why nothing is to be changed."""
    rest = without_block(text, BLOCK, path)
    return "there is no address of a standing proxy in it" if rest is None else rest


def _decoded(text: bytes, path: Path) -> dict[str, object]:
    """The configuration; one that can't be read is not to be edited."""
    try:
        return tomllib.loads(text.decode())
    except ValueError as error:
        raise LedgerError(f"{path}: is no TOML: {error}", hint="repair it first; nothing was changed") from None
