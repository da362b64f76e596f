"""How Claude Code gets access to its model: keys, the login that it stores, a command in its settings."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from execledger.agents.access import Access, has_any, home_of
from execledger.agents.claude.launch import CLOUDS, MANAGED, user_settings, user_variables
from execledger.agents.evaluation import Setup, nested_settings
from execledger.agents.settings_files import nested, read_settings

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""The variables of keys."""
HELPER = "apiKeyHelper"
"""The setting with a command that prints a key."""
_OTHER = re.compile(r"ANTHROPIC_(?!.*MODEL)|CLAUDE_CODE_\w*(?:TOKEN|KEY|DESCRIPTOR)|CLAUDE_CODE_REMOTE")
"""The beginning of other variables that may lead to a model without one of these keys."""


def access(setup: Setup, environment: Mapping[str, str]) -> Access:
    """Search for keys and sign-ins; other clouds have credentials of their own, which are not checked."""
    own, file = nested_settings(setup.settings), user_settings(environment)
    inner = own.get("env")
    given = {name: str(value) for name, value in inner.items()} if isinstance(inner, dict) else {}
    variables = {**environment, **user_variables(environment), **given}
    # With a folder of its own for settings, the file with the account is in it, too.
    account = Path(environment.get("CLAUDE_CONFIG_DIR") or home_of(environment)) / ".claude.json"
    stored = (file.parent / ".credentials.json").is_file() or nested(read_settings(account), "primaryApiKey")
    return Access(
        found=has_any(variables, *KEYS, *CLOUDS) or bool(stored),
        keys=KEYS,
        unsure=_unsure(variables, own.get(HELPER) or read_settings(file).get(HELPER)),
        sign_in="sign in with `claude`",
    )


def _unsure(variables: Mapping[str, str], helper: object) -> str:
    """What may give access in another way."""
    if helper:
        return f"the command `{HELPER}` in its settings"
    if sys.platform == "darwin":
        return "a login in the keychain"
    managed = Path(MANAGED.get(sys.platform, MANAGED["linux"]))
    if os.path.exists(managed.parent):
        return f"{managed.parent}"
    return next((name for name in sorted(variables) if variables[name] and _OTHER.match(name)), "")
