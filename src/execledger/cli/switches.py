"""The options that say what Ledger may do, the same for every verb that runs under an agent."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from execledger.core.policy import Cadence, Policy, Preset, WitnessSetting
from execledger.extras import needing
from execledger.journal.folder import journal_folder

if TYPE_CHECKING:
    from execledger.proxy.book import Rules


class Switches(Struct, frozen=True):
    """What the user asked for."""

    preset: str | None
    """The proof that a reuse needs; None is the default."""
    no_inform: bool
    """Place no state view."""
    no_govern: bool
    """Judge no actions and compare no results."""
    shadow: bool
    """Record what would be done, and change nothing."""
    witness: str | None
    """Whether files are looked at before a model call; None is the default."""
    cadence: str | None
    """When a state view is sent; None is the default."""
    journal: str | None
    """Where the journals go: a folder, ``off``, or None for the usual place."""

    def policy(self) -> Policy:
        """The policy that these ask for."""
        preset = Preset(self.preset) if self.preset else Preset.VERIFIED
        looking = WitnessSetting(self.witness or WitnessSetting.AUTO)
        inform, govern = not self.no_inform, not self.no_govern
        cadence = Cadence(self.cadence or Cadence.AUTO)
        return Policy(preset=preset, inform=inform, govern=govern, shadow=self.shadow, witness=looking, cadence=cadence)

    def asked(self) -> dict[str, object]:
        """Only what was asked for, as plain fields: the rest may be set in the agent's own configuration."""
        given: dict[str, object] = {
            "inform": False if self.no_inform else None,
            "govern": False if self.no_govern else None,
            "shadow": True if self.shadow else None,
            "preset": self.preset,
            "witness": self.witness,
            "cadence": self.cadence,
            "journal": self.journal if self.journal in (None, "off") else str(Path(self.journal).absolute()),
        }
        return {name: value for name, value in given.items() if value is not None}

    def journals(self) -> Path | None:
        """Where the journals go; None if none are written."""
        if self.journal == "off":
            return None
        return Path(self.journal).absolute() if self.journal else journal_folder()


_OPTIONS = (
    click.option("--preset", type=click.Choice([one.value for one in Preset]), help="The proof that a reuse needs."),
    click.option("--no-inform", is_flag=True, help="Place no state view."),
    click.option("--no-govern", is_flag=True, help="Judge no actions and compare no results."),
    click.option("--shadow", is_flag=True, help="Record what would be done, and change nothing."),
    click.option(
        "--witness",
        is_flag=False,
        flag_value=WitnessSetting.AUTO.value,
        type=click.Choice([one.value for one in WitnessSetting]),
        help="Look at the files that the state view lists: `auto` under run, off under proxy unless given.",
    ),
    click.option(
        "--cadence",
        type=click.Choice([one.value for one in Cadence]),
        help="When a state view is sent: with every call, or focused on the files at hand, within a budget; `auto`, "
        "the default, is focused, and every under --preset paper.",
    ),
    click.option("--journal", metavar="DIR", help="Where the journals go; `off` writes none."),
)


def switches(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options, as one argument ``switches``."""

    @functools.wraps(command)
    def called(**options: Any) -> Any:
        chosen = Switches(*(options.pop(name) for name in Switches.__struct_fields__))
        return command(switches=chosen, **options)

    given: Callable[..., Any] = called
    for option in reversed(_OPTIONS):
        given = option(given)
    return given


def tell(sentence: str) -> None:
    """Show a message to the user."""
    click.echo(sentence, err=True)


def proxy_rules(chosen: Switches, sealed: bool) -> Rules:
    """What a proxy does with conversations, under these switches."""
    with needing("proxy"):
        import_module("execledger.proxy.serve")
    from execledger.proxy.book import Rules

    return Rules(
        policy=chosen.policy(),
        sealed=sealed,
        # Whether the agents of a standing proxy work on this machine is for its user to say.
        local_files=chosen.witness == WitnessSetting.AUTO,
        journals=chosen.journals(),
        tell=tell,
    )
