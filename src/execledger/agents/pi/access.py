"""How pi gets access to a model: the key or the login of the model's provider, or its file of providers."""

from __future__ import annotations

from collections.abc import Mapping

from execledger.agents.access import UNKNOWN_PROVIDER, Access, has_any, other_key
from execledger.agents.evaluation import Setup
from execledger.agents.pi.launch import default_provider, home_folder, provider_in
from execledger.agents.settings_files import nested, read_settings

KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GEMINI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
}
"""The variables of keys, by provider."""


def access(setup: Setup, environment: Mapping[str, str]) -> Access:
    """Search for keys and sign-ins; without a provider in the model's name, pi looks at all that it has keys of."""
    home = home_folder(environment)
    named = provider_in(["--model", setup.model] if setup.model else [])
    name = default_provider(home) if named is None else named
    logins, providers = read_settings(home / "auth.json"), nested(read_settings(home / "models.json"), "providers")
    own = {*logins, *(providers if isinstance(providers, dict) else ())}
    keys = KEYS.get(name, tuple(key for names in KEYS.values() for key in names))
    found = has_any(environment, *keys) or (name in own if name in KEYS else bool(own))
    unsure = ""
    if not name or named:
        # The beginning of a model's name may also belong to the identifier that another provider has for it.
        unsure = other_key(environment) or (f"another provider in {home}" if own else "")
    if name and name not in KEYS:
        unsure = UNKNOWN_PROVIDER.format(name)
    if nested(read_settings(home / "settings.json"), "packages") or (home / "extensions").is_dir():
        unsure = "an extension of pi"
    return Access(found=found, keys=keys, unsure=unsure, sign_in="sign in with /login in `pi`")
