"""How Copilot CLI gets access to a model: a provider of the user's own, or an account of GitHub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from execledger.agents.access import Access, has_any, home_of
from execledger.agents.copilot.launch import ADDRESS
from execledger.agents.evaluation import Setup
from execledger.agents.settings_files import read_settings

TOKENS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
"""The variables with a token of GitHub."""


def access(setup: Setup, environment: Mapping[str, str]) -> Access:
    """Search for keys and sign-ins; the server of a user's own provider may need no key."""
    home = Path(environment.get("COPILOT_HOME") or home_of(environment) / ".copilot")
    hub = Path(environment.get("GH_CONFIG_DIR") or home_of(environment) / ".config" / "gh")
    unsure = ""
    if read_settings(home / "config.json"):
        unsure = f"a login (found {home / 'config.json'})"
    elif (hub / "hosts.yml").is_file():
        unsure = "the login of `gh`"
    own = f"with a model of your own {ADDRESS} (docs/copilot.md)"
    return Access(found=has_any(environment, ADDRESS, *TOKENS), keys=TOKENS, unsure=unsure, sign_in=own)
