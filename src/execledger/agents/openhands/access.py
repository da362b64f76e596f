"""How OpenHands gets access to its model: a key in a variable, or its stored settings."""

from __future__ import annotations

from collections.abc import Mapping

from execledger.agents.access import Access, has_any, other_key
from execledger.agents.evaluation import Setup
from execledger.agents.openhands.batch import ADDRESS, KEY, MODEL
from execledger.agents.openhands.launch import REFUSED, stored_model


def access(setup: Setup, environment: Mapping[str, str]) -> Access:
    """Search for keys and sign-ins; clouds have credentials of their own, which are not checked."""
    stored = stored_model(environment)
    model = str(setup.model or environment.get(MODEL) or stored.get("model") or "")
    found = has_any(environment, KEY) or bool(stored.get("api_key")) or model.partition("/")[0] in REFUSED
    unsure = ""
    if environment.get(ADDRESS) or stored.get("base_url"):
        unsure = "the address of a server of your own"
    elif stored:
        unsure = "what it has stored in its settings"
    elif name := other_key(environment):
        unsure = name
    return Access(found=found, keys=(KEY,), unsure=unsure, sign_in="set it up with `openhands`")
