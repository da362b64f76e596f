"""How Qwen Code gets access to its model: a key in a variable or in its settings, or its own login."""

from __future__ import annotations

from collections.abc import Mapping

from execledger.agents.access import Access, has_any, other_key
from execledger.agents.evaluation import Setup
from execledger.agents.qwen.launch import OFFICIAL, client_setup, models_of

KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""The variables of keys, by the way to authenticate."""
LOGIN = "oauth_creds.json"
"""The file with its own login, beside its settings."""


def access(setup: Setup, environment: Mapping[str, str]) -> Access:
    """Search for keys and sign-ins."""
    found = client_setup(environment, setup.cwd)
    auth = str(found.auth.get("selectedType") or "")
    keys = KEYS.get(auth, tuple(dict.fromkeys(name for names in KEYS.values() for name in names)))
    variables = {**found.project_variables, **found.variables}
    models = [*models_of(found.providers)]
    of_models = [str(model["envKey"]) for model in models if model.get("envKey")]
    given = found.auth.get("apiKey") or has_any(variables, *keys, *of_models) or (found.folder / LOGIN).is_file()
    unsure = ""
    if auth and auth not in KEYS:
        unsure = f"the way to authenticate {auth}"
    elif models:
        unsure = "`modelProviders` in its settings"
    elif has_any(variables, *OFFICIAL) or found.auth.get("baseUrl"):
        unsure = "the address of a server of your own"
    elif name := other_key(variables):
        unsure = name
    return Access(found=bool(given), keys=keys, unsure=unsure, sign_in="sign in with /auth in `qwen`")
