"""How Codex gets access to its model: a key or a login for the built-in provider, the variable of another one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from execledger.agents.access import Access, has_any
from execledger.agents.codex.config import OPENAI, VARIABLE, configuration, home_folder
from execledger.agents.evaluation import Setup, settings
from execledger.agents.settings_files import nested, read_variables

KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")
"""The variables of keys for the built-in provider."""
TOKEN = "CODEX_ACCESS_TOKEN"
"""The variable with the token of a login."""
STORE = "cli_auth_credentials_store"
"""The setting that says where a login is stored: in a file, or in the system's keyring."""

OWN_VARIABLES = "CODEX_"
"""The beginning of the names of variables that it does not load from a file."""


def access(setup: Setup, environment: Mapping[str, str]) -> Access:
    """Search for keys and sign-ins; a provider of the user's own that names no variable may need no key."""
    home = home_folder(environment)
    variables = {**_loaded(home), **environment}
    config = configuration(settings(setup.settings), home)
    name = str(config.get("model_provider") or OPENAI)
    provider = nested(config, "model_providers", name) if name != OPENAI else None
    key = nested(provider, "env_key")
    if isinstance(key, str) and key:
        # Codex does not start a turn without it.
        return Access(found=has_any(variables, key), keys=(key,))
    if name != OPENAI and nested(provider, "requires_openai_auth") is not True:
        return Access(found=True)
    address = config.get("openai_base_url") or variables.get(VARIABLE) or nested(provider, "base_url")
    unsure = "the address of a server of your own" if address else ""
    if config.get(STORE) in ("auto", "keyring"):
        unsure = "a login in the system's keyring"
    found = has_any(variables, *KEYS, TOKEN) or (home / "auth.json").is_file()
    return Access(found=found, keys=KEYS, unsure=unsure, sign_in="`codex login`")


def _loaded(home: Path) -> dict[str, str]:
    """The variables that Codex loads from a file at its start: all but its own."""
    found = read_variables(home / ".env")
    return {name: value for name, value in found.items() if not name.upper().startswith(OWN_VARIABLES)}
