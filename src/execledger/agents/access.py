"""The check, before an evaluation, whether an agent has access to its model: keys, sign-ins, settings.

No value of a key is kept or printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from execledger.agents.evaluation import Problem

_SECRET = re.compile(r"(?:\A|_)(?:API_KEY|AUTH_TOKEN|ACCESS_KEY\w*|TOKEN|CREDENTIALS)\Z|\AAWS_")
"""The end of a variable's name that may hold a key for some provider."""
UNKNOWN_PROVIDER = "credentials of the provider {}, which Ledger does not know"
"""What may give access to a model of a provider whose variables are unknown."""
_LISTED = 4
"""Number of variables that a hint names."""


class Access(Struct, frozen=True, kw_only=True):
    """The result of the check of an agent's access to its model."""

    found: bool
    """A key, a sign-in, or a provider that needs none was found."""
    keys: tuple[str, ...] = ()
    """The variables of keys that the agent reads."""
    unsure: str = ""
    """What may give access and was not checked, as a noun phrase; "" if there is nothing."""
    sign_in: str = ""
    """How the agent can be signed in otherwise, as a command or a setting; "" if it can't."""

    def problems(self, agent: str) -> Iterator[Problem]:
        """The problem of an agent without access: a warning where something else may give it."""
        if self.found:
            return
        export = f"export {' or '.join(self.keys[:_LISTED])}=..." if self.keys else ""
        hint = ", or ".join(filter(None, (export, self.sign_in)))
        message = f"{agent}: found no API key in the environment" + (" and no sign-in" if self.sign_in else "")
        if self.unsure:
            message += f"; not checked, and may give access: {self.unsure}"
        yield Problem(message, hint, warning=bool(self.unsure))


def has_any(variables: Mapping[str, str], *names: str) -> bool:
    """Whether one of these variables has a value."""
    return any(map(variables.get, names))


def other_key(variables: Mapping[str, str]) -> str:
    """The name of a variable that may hold a key of a provider; "" if there is none."""
    return next((name for name in sorted(variables) if variables[name] and _SECRET.search(name)), "")


def home_of(variables: Mapping[str, str]) -> Path:
    """The user's home folder."""
    return Path(variables.get("HOME") or Path.home())
