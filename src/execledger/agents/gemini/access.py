"""How Gemini CLI gets access to its model: a key in a variable, a login with Google, or what it has stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from execledger.agents.access import Access, has_any
from execledger.agents.evaluation import Setup
from execledger.agents.gemini.launch import (
    ADDRESSES,
    KEY,
    SYSTEM_PATH,
    SYSTEM_SETTINGS,
    own_folder,
    selected_auth,
    variables_file,
)
from execledger.agents.settings_files import read_variables

KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
"""The variables of keys."""
OTHERS = (
    *("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_APPLICATION_CREDENTIALS"),
    *("CLOUD_SHELL", "GEMINI_CLI_USE_COMPUTE_ADC"),
)
"""Variables that have it use credentials of Google's."""
LOGINS = ("oauth_creds.json", "gemini-credentials.json")
"""The files in which it stores a login or a key."""


def access(setup: Setup, environment: Mapping[str, str]) -> Access:
    """Search for keys and sign-ins."""
    own = own_folder(environment)
    variables = {**read_variables(variables_file(environment, setup.cwd)), **environment}
    stored = any((own / name).is_file() for name in LOGINS)
    files = (Path(environment.get(SYSTEM_SETTINGS) or SYSTEM_PATH), own / "settings.json")
    unsure = ""
    if chosen := next(filter(None, map(selected_auth, files)), ""):
        # A key that was given in the client is stored in the system's keyring.
        unsure = f"the way to authenticate in its settings, {chosen}"
    elif variables.get(ADDRESSES[KEY][0]):
        unsure = ADDRESSES[KEY][0]
    found = stored or has_any(variables, *KEYS, *OTHERS)
    return Access(found=found, keys=KEYS, unsure=unsure, sign_in="sign in with /auth in `gemini`")
