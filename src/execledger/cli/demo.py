"""``execledger demo``: the real mini-swe-agent with a scripted model, without and with Ledger.

Where mini-swe-agent is not installed, or with ``--recorded``, a small recorded run is replayed instead, decision by
decision. A scripted model does not react to what it is shown, so both show decisions, not their effect on a model.
"""

from __future__ import annotations

import tempfile
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import click

from execledger.agents.formats import read_run
from execledger.evaluate.counterfactual import Account
from execledger.evaluate.net import Balance
from execledger.evaluate.prices import load_prices
from execledger.extras import install_command
from execledger.journal.reader import Trouble, read_events
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, new_ledger, output_bytes, replay
from execledger.runs.tally import Tally
from execledger.vocabulary.decisions import Allow

RECORDED = "demo.traj.json"
"""The recorded run, beside the tools that made it."""


@click.command("demo")
@click.option("--recorded", is_flag=True, help="Replay a recorded run, decision by decision.")
@click.option("--full", is_flag=True, help="Show every output whole.")
def command(recorded: bool, full: bool) -> None:
    """Show what Ledger does: live, with the real mini-swe-agent and a scripted model, or on a recorded run."""
    if recorded or find_spec("minisweagent") is None:
        if not recorded:
            click.echo(f"mini-swe-agent is not installed ({install_command('mini')}): a recorded run instead.\n")
        _replayed(full)
    else:
        _live()


def _live() -> None:
    """Run every arm, and show where they differ."""
    from rich.console import Console
    from rich.table import Table

    from execledger.testing.arms import ARMS, run_arm

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
    """What Ledger saved and spent in a run, by its journal."""
    balance = Balance()
    for event in read_events(journal.name, journal.read_bytes(), Trouble()):
        balance.add_event(event)
    return balance.net().sentence()


def _replayed(full: bool) -> None:
    """Replay the recorded run."""
    run = load()
    ledger = new_ledger(run)
    tally, account, prices = Tally(), Account(run, ledger), load_prices()
    tally.start(run)
    click.echo("A scripted agent mends a bug in a small repository. What Ledger makes of each of its commands:\n")
    for call in replay(run, ledger=ledger):
        tally.add(run, call)
        account.add(call)
        _show(call, full)
    click.echo("\nThe state view that the model would be shown next, at the end of its input:\n")
    click.echo(ledger.inform(sealed=run.container).text)
    references = tally.reuses.total() + tally.elided.total()
    click.echo(
        f"\n{tally.calls} commands: {tally.reuses.total()} reused before running, because an earlier result still"
        f" holds; {tally.elided.total()} reused after running, because the output was shown before;"
        f" {tally.remarks} nudged."
    )
    click.echo(f"{references} references, {len(tally.false)} of them false by what was recorded.")
    click.echo(account.close(prices).worth(prices.date).sentence(would=True))
    click.echo("A scripted agent does not react: this shows what is decided, not what a model makes of it.")
    click.echo("\nNext: execledger replay PATH... measures the same on your own recorded runs.")


def load() -> Run:
    """The recorded run."""
    data = resources.files("execledger.testing").joinpath(RECORDED).read_bytes()
    return read_run(RECORDED, data)


def _show(call: Replayed, full: bool) -> None:
    decision, shown = call.decision, call.shown
    word = type(decision).__name__.lower()
    colour = "white" if isinstance(decision, Allow) and shown.kind == "full" else "green"
    click.echo(click.style(f"{call.index + 1:>3} $ {call.recorded.action.command}", bold=True))
    click.echo(click.style(f"      {word}, rule `{decision.rule}`: {_outcome(call)}", fg=colour))
    text = call.recorded.observation.output.rstrip("\n")
    lines = text.split("\n") if shown.kind != "reference" else [shown.text]
    for line in lines if full else lines[:3]:
        click.echo(f"      | {line}")
    if not full and len(lines) > 3:
        click.echo(f"      | ... {len(lines) - 3} more lines")
    if shown.kind == "remark":
        click.echo(f"      | {shown.text}")


def _outcome(call: Replayed) -> str:
    size = output_bytes(call.recorded.observation)
    if call.shown.kind == "reference":
        ran = "reused before running" if call.decision.refers_to else "reused after running"
        return f"{ran}; a reference of {len(call.shown.text.encode())} bytes in place of {size}"
    if call.shown.kind == "remark":
        return f"run; {size} bytes with a remark behind them"
    return f"run; {size} bytes shown"
