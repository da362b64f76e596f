"""How Ledger is set up under mini-swe-agent: the ``model.ledger`` block of its configuration, and the environment."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from msgspec import Struct, ValidationError, convert

from execledger.core.policy import Policy, Preset
from execledger.errors import LedgerError
from execledger.journal.folder import journal_folder

BLOCK = "model.ledger"
"""Where the options stand in the agent's configuration."""
_ALLOWED = {
    "preset": " or ".join(preset.value for preset in Preset),
    "placement": "auto, message or inside",
    **dict.fromkeys(("inform", "govern", "shadow"), "true or false"),
}


class Options(Struct, frozen=True, forbid_unknown_fields=True):
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
    placement: Literal["auto", "message", "inside"] = "auto"
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


def options_of(block: object) -> Options:
    """The options that a block of the configuration holds; raises ``LedgerError`` for what is none."""
    try:
        return convert({} if block is None else block, Options, strict=False)
    except ValidationError:
        raise _bad_option(block) from None


def _bad_option(block: object) -> LedgerError:
    """What is wrong with a block that holds no options: the key, its value, and what is allowed."""
    keys = ", ".join(Options.__struct_fields__)
    if not isinstance(block, dict):
        return LedgerError(f"{BLOCK}: found {block!r}, expected a block of options", hint=f"its keys are: {keys}")
    for key, value in block.items():
        if key not in Options.__struct_fields__:
            return LedgerError(f"{BLOCK}.{key}: no such option, found with the value {value!r}", hint=f"known: {keys}")
        try:
            convert({key: value}, Options, strict=False)
        except ValidationError:
            return LedgerError(f"{BLOCK}.{key}: found {value!r}, expected {_ALLOWED.get(key, 'a text')}")
    raise AssertionError("every option is as it should be")


def agent_version() -> str:
    """The version of mini-swe-agent; empty if it is not installed as a package."""
    try:
        return version("mini-swe-agent")
    except PackageNotFoundError:
        return ""
