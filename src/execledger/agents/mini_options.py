"""How Ledger is set up under mini-swe-agent: the ``model.ledger`` block of its configuration, and the environment."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct

from execledger.core.policy import Policy, Preset
from execledger.journal.folder import journal_folder


class Options(Struct, frozen=True):
    """The ``model.ledger`` block of the configuration."""

    inner_model_class: str = ""
    """The model class that is wrapped; empty is the agent's own default."""
    preset: Preset = Preset.VERIFIED
    """The proof that a reuse needs."""
    inform: bool = True
    """Place the state view."""
    govern: bool = True
    """Judge actions and compare results."""
    shadow: bool = False
    """Record what would be done, and change nothing."""
    placement: str = "auto"
    """Where the view stands: ``message`` (its own, last), ``inside`` (in the last message), or ``auto``."""
    journal: str = ""
    """The folder for journals; empty is the platform's state folder, ``off`` writes none."""

    def folder(self) -> Path | None:
        """Where journals go; None if none are written."""
        if self.journal == "off":
            return None
        return Path(self.journal) if self.journal else journal_folder()

    def policy(self) -> Policy:
        """The policy that these options ask for."""
        return Policy(preset=self.preset, inform=self.inform, govern=self.govern, shadow=self.shadow)


def agent_version() -> str:
    """The version of mini-swe-agent; empty if it is not installed as a package."""
    try:
        return version("mini-swe-agent")
    except PackageNotFoundError:
        return ""


def is_off() -> bool:
    """Ledger is switched off from outside."""
    return os.environ.get("EXECLEDGER", "").lower() in ("off", "0", "false", "no")
