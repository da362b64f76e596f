"""Settings in mini-swe-agent's configuration: Ledger's own options, and whether commands run in a container.

Of containers, only the agent's Docker environment is recognised, by its whole configuration, and only with options
that are known to share no files: everything else is not sealed. Names alone prove nothing, since the variables that
are read are those of the templates, and a user can add to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from typing import Any, Literal

from msgspec import Struct, ValidationError, convert

from execledger.core.policy import Cadence, Policy, Preset, WitnessSetting
from execledger.errors import LedgerError
from execledger.journal.folder import journal_folder

BLOCK = "model.ledger"
"""The place of the options in the agent's configuration."""
_ALLOWED = {
    "preset": " or ".join(preset.value for preset in Preset),
    "placement": "auto, message or inside",
    "witness": " or ".join(looking.value for looking in WitnessSetting),
    "cadence": ", ".join(cadence.value for cadence in Cadence),
    **dict.fromkeys(("inform", "govern", "shadow", "partial", "sealed"), "true or false"),
}


class LedgerOptions(Struct, frozen=True, forbid_unknown_fields=True):
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
    witness: WitnessSetting = WitnessSetting.AUTO
    """Look at the files that the state view lists, where the agent's environment lets us."""
    cadence: Cadence = Cadence.AUTO
    """When a state view is sent."""
    partial: bool = True
    """Omit longer runs of visible lines from reads that also show others."""
    placement: Literal["auto", "message", "inside"] = "auto"
    """The place of the view: ``message`` (its own, last), ``inside`` (in the last message), or ``auto``."""
    sealed: bool = False
    """The user's promise that nothing but the agent's own commands writes files here, as inside a container."""
    journal: str = ""
    """The folder for journals; empty is the platform's state folder, ``off`` writes none."""

    def folder(self) -> Path | None:
        """Where journals go; None if none are written."""
        if self.journal == "off":
            return None
        return Path(self.journal) if self.journal else journal_folder()

    def policy(self) -> Policy:
        """The policy that these options ask for."""
        return Policy(
            preset=self.preset,
            inform=self.inform,
            govern=self.govern,
            shadow=self.shadow,
            witness=self.witness,
            cadence=self.cadence,
            partial=self.partial,
        )


def options_of(block: object) -> LedgerOptions:
    """The options that a block of the configuration holds; raises ``LedgerError`` for what is none."""
    try:
        return convert({} if block is None else block, LedgerOptions, strict=False)
    except ValidationError:
        raise _bad_option(block) from None


def _bad_option(block: object) -> LedgerError:
    """What is wrong with a block that holds no options: the key, its value, and what is allowed."""
    keys = ", ".join(LedgerOptions.__struct_fields__)
    if not isinstance(block, dict):
        return LedgerError(f"{BLOCK}: found {block!r}, expected a block of options", hint=f"its keys are: {keys}")
    for key, value in block.items():
        if key not in LedgerOptions.__struct_fields__:
            return LedgerError(f"{BLOCK}.{key}: no such option, found with the value {value!r}", hint=f"known: {keys}")
        try:
            convert({key: value}, LedgerOptions, strict=False)
        except ValidationError:
            return LedgerError(f"{BLOCK}.{key}: found {value!r}, expected {_ALLOWED.get(key, 'a text')}")
    raise AssertionError("every option is as it should be")


def agent_version() -> str:
    """The version of mini-swe-agent; empty if it is not installed as a package."""
    try:
        return version("mini-swe-agent")
    except PackageNotFoundError:
        return ""


_FIELDS = frozenset("image executable run_args container_timeout pull_timeout forward_env interpreter".split())
"""What the Docker environment's configuration has, since version 2.0.0, and no other environment's has all of."""
_EXECUTABLES = frozenset({"docker", "podman"})
"""Programs whose options are those below."""
_ALONE = frozenset("--rm --init --interactive --tty --detach -i -t -d -it -ti -dit --read-only".split())
"""Options that take no value."""
_VALUED = frozenset(
    "-e --env -u --user -w --workdir -h --hostname -l --label -m --memory --memory-swap --cpus --cpuset-cpus "
    "--cpu-shares --shm-size --pids-limit --ulimit --gpus --network --net --dns --add-host --cap-drop --name "
    "--entrypoint --platform --pull --stop-timeout".split()
)
"""Options that take one, behind ``=`` or as the next word."""


def sealed(variables: Mapping[str, Any]) -> bool:
    """Commands run in a container of the agent's own, by what the template variables or a trajectory tell of it."""
    # The local environment's variables are those of the process, whatever else is among them.
    if not variables.keys() >= _FIELDS or "PATH" in variables or not variables["image"]:
        return False
    arguments = variables["run_args"]
    known = PurePath(str(variables["executable"])).name in _EXECUTABLES
    return known and isinstance(arguments, list) and shares_nothing(arguments)


def shares_nothing(arguments: Sequence[object]) -> bool:
    """Every word is one of the options above, or the value of one."""
    words = iter(arguments)
    for word in words:
        name, equals, _ = str(word).partition("=")
        if name in _VALUED:
            if not equals and next(words, None) is None:
                return False
        elif name not in _ALONE:
            return False
    return True
