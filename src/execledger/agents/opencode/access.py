"""How opencode gets access to a model: the key or the login of the model's provider, or its configuration."""

from __future__ import annotations

from collections.abc import Mapping

from execledger.agents.access import UNKNOWN_PROVIDER, Access, has_any
from execledger.agents.evaluation import Setup
from execledger.agents.opencode.launch import (
    OFFICIAL,
    config_sources,
    listed_keys,
    listed_providers,
    logins_of,
    model_of,
)
from execledger.agents.settings_files import nested

UNCHECKED = ("OPENCODE_AUTH_CONTENT", "OPENCODE_CONSOLE_TOKEN")
"""Variables that some versions read logins from."""
REMOTE = "wellknown"
"""The kind of a login at an address that provides configuration."""
FREE = "opencode"
"""opencode's own provider, some of whose models need no key."""


def access(setup: Setup, environment: Mapping[str, str]) -> Access:
    """Search for keys and sign-ins; without a model opencode chooses one that it has access to."""
    sources = [*config_sources(environment, setup.cwd)]
    name = (setup.model or model_of((), sources)).partition("/")[0]
    configured = any(nested(source.config, "provider", name) is not None for source in sources)
    logins = logins_of(environment)
    if name in ("", FREE) or configured or name in logins:
        return Access(found=True)
    official, listed = OFFICIAL.get(name), listed_keys(listed_providers(environment))
    keys = tuple(dict.fromkeys((*(official[1] if official else ()), *listed.get(name, ()))))
    unsure = "" if official else UNKNOWN_PROVIDER.format(name)
    if any(source.config.get("plugin") for source in sources):
        unsure = "a plugin of opencode"
    elif REMOTE in logins.values():
        unsure = "the remote configuration of a login"
    elif given := next(filter(environment.get, UNCHECKED), ""):
        unsure = given
    return Access(found=has_any(environment, *keys), keys=keys, unsure=unsure, sign_in="`opencode auth login`")
