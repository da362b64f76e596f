"""The recorded demo: a small recorded run, replayed decision by decision."""

from __future__ import annotations

from importlib import resources

import click

from execledger.agents.formats import read_run
from execledger.evaluate.counterfactual import CounterfactualRun
from execledger.runs.account import Account
from execledger.runs.prices import load_prices
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, new_ledger, output_bytes, replay, spared_bytes
from execledger.vocabulary.decisions import Allow

RECORDED = "demo.traj.json"
"""The file of the recorded run, in this package."""


def show_recorded(full: bool) -> None:
    """Replay the recorded run and print each decision; ``full`` prints every output whole."""
    run = load()
    ledger = new_ledger(run)
    account, priced, prices = Account.of_run(run, ledger.policy), CounterfactualRun(run, ledger), load_prices()
    click.echo(
        "A scripted agent mends a bug in a small repository. What Ledger would have made of each of its commands:\n"
    )
    views: dict[int, str] = {}
    for call in replay(run, ledger=ledger):
        priced.add(call, account.add_replayed(call))
        _show(call, full)
        if call.view is not None and call.view.text:
            views[call.index + 1] = call.view.text
    for before, text in list(views.items())[-1:]:
        click.echo(
            f"\n{len(views)} state views would have been at the end of the model's input;"
            f" the last one, before command {before}:"
        )
        click.echo(f"\n{text}")
    counts = account.counts
    click.echo(
        f"\n{counts.proposed} commands: {counts.suppressed} would have been reused before running, because an earlier"
        f" result still holds; {counts.elided} after running, because the output was shown before;"
        f" {counts.nudged} nudged."
    )
    references = counts.suppressed + counts.elided
    click.echo(f"{references} references, {account.false_reuses} of them false by what was recorded.")
    click.echo(priced.close(prices).worth().sentence(would=True))
    click.echo("A scripted agent does not react: this shows what is decided, not what a model makes of it.")
    click.echo("\nNext: execledger replay PATH... measures the same on your own recorded runs.")


def load() -> Run:
    """Read the recorded run."""
    data = resources.files("execledger.demo").joinpath(RECORDED).read_bytes()
    return read_run(RECORDED, data)


def _show(call: Replayed, full: bool) -> None:
    decision, shown = call.decision, call.shown
    word = type(decision).__name__.lower()
    colour = "white" if isinstance(decision, Allow) and shown.kind == "full" else "green"
    click.echo(click.style(f"{call.index + 1:>3} $ {call.recorded.action.command}", bold=True))
    click.echo(click.style(f"      {word}, rule `{decision.rule}`: {_outcome(call)}", fg=colour))
    lines = shown.applied(call.recorded.observation.output).rstrip("\n").split("\n")
    for line in lines if full else lines[:3]:
        click.echo(f"      | {line}")
    if not full and len(lines) > 3:
        click.echo(f"      | ... {len(lines) - 3} more lines")
    if shown.kind == "remark":
        click.echo(f"      | {shown.text}")


def _outcome(call: Replayed) -> str:
    """What would have been shown of a result."""
    size = output_bytes(call.recorded.observation)
    if call.shown.kind == "reference":
        when = "before" if call.decision.refers_to else "after"
        reference = len(call.shown.text.encode())
        return f"would have been reused {when} running: a reference of {reference} bytes in place of {size}"
    if call.shown.kind == "partial":
        spared = spared_bytes(call.shown, call.recorded.observation.output)
        return f"would have been run: {size - spared} of {size} bytes, with references in place of the rest"
    remark = " with a remark behind them" if call.shown.kind == "remark" else ""
    return f"would have been run: {size} bytes{remark}"
