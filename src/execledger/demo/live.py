"""The live demo: the same scripted agent without and with Ledger, on a real repository with a real bug.

The agent is the real mini-swe-agent. Its model is a script and does not react to what it is shown: arms differ in what
is executed and in what the model would have to read, not in what it does.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from execledger.core.policy import BYTES_PER_TOKEN
from execledger.demo.mini import (
    LOOPBACK_MODEL,
    SUBMIT,
    config_options,
    console_script,
    environment,
    run_client,
)
from execledger.demo.session import COMMANDS, TASK, make_session_repository
from execledger.journal.reader import Trouble, read_events
from execledger.runs.account import Account, dollars
from execledger.runs.prices import Prices, load_prices
from execledger.runs.usage import Tokens
from execledger.testing.scripted_model import ModelServer, Request

if TYPE_CHECKING:
    from rich.table import Table

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
    executed: int
    """Commands that ran."""
    references: int
    """Results replaced by a reference, before or after running."""
    remarked: int
    """Results with a remark."""
    input_tokens: int
    """Input tokens of all model calls, as the scripted server estimates them."""
    cached_tokens: int
    """Input tokens that a prefix cache would have held, without those that views kept out."""
    output_tokens: int
    """Output tokens, the same in every arm."""
    view_tokens: int
    """Input tokens of state views; part of the new ones."""
    kept_out: int
    """Tokens that the model wrote and that state views kept out of the prompt cache; part of the new ones."""
    messages: list[Any]
    """The messages of the saved trajectory."""

    @property
    def new_tokens(self) -> int:
        """Input tokens that no cache holds."""
        return self.input_tokens - self.cached_tokens

    def cost(self, prices: Prices) -> float:
        """Dollars for all tokens, at the price that a model without one is given."""
        tokens = Tokens(uncached=self.new_tokens, cached=self.cached_tokens, output=self.output_tokens)
        return prices.charged("")[1].cost(tokens)


def play_session(options: tuple[str, ...] | None, folder: Path) -> tuple[list[Request], Any]:
    """Run the session in a folder of its own; return the requests to the model, and the saved trajectory.

    ``options`` are those of ``execledger run``, None for the agent alone.
    """
    repository, home = folder / "repository", folder / "home"
    repository.mkdir(parents=True)
    make_session_repository(repository)
    script = [*([command] for command in COMMANDS), [SUBMIT]]
    trajectory = home / "mini.traj.json"
    with ModelServer(script) as server:
        prefix = () if options is None else (sys.executable, "-m", "execledger", "run", "--no-settings", *options, "--")
        command = [*prefix, *_mini(server, trajectory)]
        status, output = run_client(command, repository, environment(home))
    assert status == 0 and not server.faults, f"{options}: {output[-2000:]} {server.faults}"
    return server.requests, json.loads(trajectory.read_text(encoding="utf-8"))


def run_arm(name: str, folder: Path) -> DemoArm:
    """Run one arm in a folder of its own."""
    requests, saved = play_session(ARMS[name], folder)
    account = _account((saved["info"].get("ledger") or {}).get("journal"))
    views, kept_out = account.views_spent()
    used = [request.usage for request in requests]
    return DemoArm(
        name=name,
        executed=len(COMMANDS) + 1 - account.counts.suppressed,
        references=account.counts.references,
        remarked=account.counts.nudged,
        input_tokens=sum(usage.prompt for usage in used),
        # As of a provider that also caches what the model writes; the scripted server caches what was sent alone.
        cached_tokens=sum(usage.cached for usage in used) - kept_out,
        output_tokens=sum(usage.completion for usage in used),
        view_tokens=views,
        kept_out=kept_out,
        messages=saved["messages"],
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

    click.echo("The real mini-swe-agent mends a bug in a small repository; its model is a script on loopback.")
    click.echo(f"{len(COMMANDS)} commands and the submission, as long and as repetitive as recorded runs")
    click.echo("(docs/measured.md), without and with Ledger, each in a folder of its own:\n")
    with tempfile.TemporaryDirectory() as folder:
        arms = []
        for number, name in enumerate(ARMS):
            click.echo(f"running: {name}", err=True)
            arms.append(run_arm(name, Path(folder) / str(number)))
    prices = load_prices()
    Console(highlight=False).print(_table(arms, prices))
    for arm in arms[1:]:
        click.echo(f"\nWhat the model is shown otherwise under `{arm.name}`:")
        for number, shown in _differences(arm):
            click.echo(f"- call {number}: {shown}")
    click.echo()
    for arm in arms[1:]:
        click.echo(_net(arms[0], arm, prices))
    click.echo(
        f"\nTokens are bytes / {BYTES_PER_TOKEN}; dollars at the prices of {prices.charged('')[0]}, {prices.date}."
        "\nA cached token costs a tenth of a new one: what is elided was new once, and is then read from the cache."
        "\nThe folder is the user's own, so nothing is sealed: `verified` runs every command and compares."
        "\nA script does not react to references or to the state view: this is what Ledger costs and saves if the"
        "\nmodel does the same, not whether it helps the model."
        "\n\nNext: execledger demo --recorded      decision by decision, with the state view"
        "\n      execledger run -- mini -t TASK  the same around your own agent"
        "\n      execledger replay PATH...       what would have been decided in runs that you have"
    )


def _table(arms: list[DemoArm], prices: Prices) -> Table:
    """The arms side by side."""
    from rich.table import Table

    table = Table("", *(arm.name for arm in arms))
    for column in table.columns[1:]:
        column.justify = "right"
    rows = {
        "commands run": "executed",
        "results replaced by a reference": "references",
        "results with a remark": "remarked",
        "new input tokens": "new_tokens",
        "  of these, state views": "view_tokens",
        "  of these, kept uncached by views": "kept_out",
        "cached input tokens": "cached_tokens",
        "output tokens": "output_tokens",
    }
    for title, field in rows.items():
        table.add_row(title, *(f"{getattr(arm, field):,}" for arm in arms))
    table.add_row("cost", *(dollars(arm.cost(prices)) for arm in arms))
    return table


def _differences(arm: DemoArm) -> Iterator[tuple[int, str]]:
    """The calls whose results were not shown as they came, counted from 1, with the reference or remark."""
    notes = ((message.get("extra") or {}).get("ledger") or {} for message in arm.messages)
    shown = [note["shown"] for note in notes if "shown" in note]
    return ((number, one["text"]) for number, one in enumerate(shown, 1) if one["kind"] != "full")


def _net(base: DemoArm, arm: DemoArm, prices: Prices) -> str:
    """What an arm costs beside the base."""
    without, cost = base.cost(prices), arm.cost(prices)
    more = "less" if cost <= without else "more"
    share = abs(cost - without) / without
    return f"Net, `{arm.name}`: {dollars(abs(cost - without))} {more} than without Ledger ({share:.1%})."


def _account(journal: str | None) -> Account:
    """The account of the run of a journal; an empty one without Ledger."""
    account = Account()
    path = Path(journal) if journal else None
    for event in read_events(path.name, path.read_bytes(), Trouble()) if path else ():
        account.add(event)
    return account
