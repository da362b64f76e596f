"""The live demo: the same scripted agent without and with Ledger, on a real repository with a real bug.

The agent is the real mini-swe-agent. Its model is a script and does not react to what it is shown: arms differ in what
is executed and in what the model would have to read, not in what it does.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from execledger.demo.mini import LOOPBACK_MODEL, SUBMIT, config_options, console_script, environment, run_client
from execledger.demo.repository import COMMANDS, TASK, make_repository
from execledger.journal.reader import Trouble, read_events
from execledger.runs.account import Account
from execledger.testing.scripted_model import ModelServer

ARMS: dict[str, tuple[str, ...] | None] = {
    "without Ledger": None,
    "verified": ("--preset", "verified"),
    "paper": ("--preset", "paper"),
}
"""The arms: None for the agent alone, else the options of ``execledger run``."""


class DemoArm(Struct, frozen=True):
    """The result of one arm."""

    name: str
    """Its name in ``ARMS``."""
    proposed: int
    """Commands that the script proposes."""
    executed: int
    """Commands that ran."""
    elided: int
    """Outputs replaced by a reference after running."""
    remarked: int
    """Outputs with a remark."""
    input_tokens: int
    """Input tokens of all model calls, as the scripted server estimates them."""
    cached_tokens: int
    """Input tokens that a prefix cache would have held."""
    messages: list[Any]
    """The messages of the saved trajectory."""
    journal: str | None
    """The path of the journal."""


def run_arm(name: str, folder: Path) -> DemoArm:
    """Run one arm in a folder of its own."""
    options = ARMS[name]
    repository, home = folder / "repository", folder / "home"
    repository.mkdir(parents=True)
    make_repository(repository)
    script = [*([command] for command in COMMANDS), [SUBMIT]]
    trajectory = home / "mini.traj.json"
    with ModelServer(script) as server:
        prefix = () if options is None else (sys.executable, "-m", "execledger", "run", *options, "--")
        command = [*prefix, *_mini(server, trajectory)]
        status, output = run_client(command, repository, environment(home))
    assert status == 0 and not server.faults, f"{name}: {output[-2000:]} {server.faults}"
    saved = json.loads(trajectory.read_text(encoding="utf-8"))
    ledger = saved["info"].get("ledger") or {}
    counts = ledger.get("counts") or {}
    return DemoArm(
        name=name,
        proposed=len(script),
        executed=len(script) - counts.get("suppressed", 0),
        elided=counts.get("elided", 0),
        remarked=counts.get("nudged", 0),
        input_tokens=sum(request.usage.prompt for request in server.requests),
        cached_tokens=sum(request.usage.cached for request in server.requests),
        messages=saved["messages"],
        journal=ledger.get("journal"),
    )


def _mini(server: ModelServer, trajectory: Path) -> list[str]:
    """The command line of ``mini`` on the task, with the scripted server as its model."""
    specs = (
        "mini.yaml",
        f"model.model_class={LOOPBACK_MODEL}",
        "model.model_name=scripted",
        f"model.model_kwargs.api_base={server.url}/v1",
        "model.cost_tracking=ignore_errors",
    )
    words = (console_script("mini"), "-t", TASK, "-o", str(trajectory))
    return [*words, *config_options(specs), "-y", "--exit-immediately"]


def show_live() -> None:
    """Run every arm and print where they differ."""
    from rich.console import Console
    from rich.table import Table

    click.echo("The real mini-swe-agent mends a bug in a small repository; its model is a script on loopback.")
    click.echo("The same commands without and with Ledger, each in a folder of its own:\n")
    with tempfile.TemporaryDirectory() as folder:
        arms = []
        for number, name in enumerate(ARMS):
            click.echo(f"running: {name}", err=True)
            arms.append(run_arm(name, Path(folder) / str(number)))
        worth = {arm.name: _worth(Path(arm.journal)) for arm in arms if arm.journal}
    table = Table("", *(arm.name for arm in arms))
    for row in ("proposed", "executed", "elided", "remarked", "input_tokens", "cached_tokens"):
        table.add_row(
            "reused after running" if row == "elided" else row.replace("_", " "),
            *(f"{getattr(arm, row):,}" for arm in arms),
        )
    table.add_row("uncached tokens", *(f"{arm.input_tokens - arm.cached_tokens:,}" for arm in arms))
    Console(highlight=False).print(table)
    for arm in arms[1:]:
        click.echo(f"\nWhat differs under `{arm.name}`:")
        for message in arm.messages:
            note = (message.get("extra") or {}).get("ledger") or {}
            if "shown" in note and note["shown"]["kind"] != "full":
                decision = note["decision"]
                click.echo(f"- {decision['type']}, rule `{decision['rule']}`: {note['shown']['text']}")
    click.echo()
    for name, sentence in worth.items():
        click.echo(f"`{name}`: {sentence}")
    click.echo(
        "\nThe folder is the user's own, so nothing is sealed: `verified` runs every command and compares."
        "\nA scripted model does not react to references or to the state view, and this repository is tiny: the table"
        "\nshows what is executed and what a model would have to read, not whether Ledger helps a model."
        "\n\nNext: execledger demo --recorded      decision by decision, with the state view"
        "\n      execledger run -- mini -t TASK  the same around your own agent"
        "\n      execledger replay PATH...       what would have been decided in runs that you have"
    )


def _worth(journal: Path) -> str:
    """The sentence about what Ledger saved and cost in the run of a journal."""
    account = Account()
    for event in read_events(journal.name, journal.read_bytes(), Trouble()):
        account.add(event)
    return account.net().sentence()
