"""``execledger demo``: a small recorded run, decision by decision.

The run ships with the project, which recorded it itself: a scripted agent mends a bug in a small repository. A
scripted agent does not react to what it is shown, so the demo shows decisions, not their effect on a model.
"""

from __future__ import annotations

from importlib import resources

import click

from execledger.core.decisions import Allow
from execledger.replay import Replayed, new_ledger, output_bytes, replay
from execledger.tally import Tally
from execledger.trajectories import Run, read_run

RECORDED = "demo.traj.json"
"""The recorded run, beside the tools that made it."""


@click.command("demo")
@click.option("--full", is_flag=True, help="Show every output whole.")
def command(full: bool) -> None:
    """Show, step by step, what Ledger decides in a small run that ships with it."""
    run = load()
    ledger = new_ledger(run)
    tally = Tally()
    tally.start(run)
    click.echo("A scripted agent mends a bug in a small repository. What Ledger makes of each of its commands:\n")
    for call in replay(run, ledger=ledger):
        tally.add(run, call)
        _show(call, full)
    click.echo("\nThe state view that the model would be shown next, at the end of its input:\n")
    click.echo(ledger.inform(sealed=run.container).text)
    references = tally.reuses.total() + tally.elided.total()
    click.echo(
        f"\n{tally.calls} commands: {tally.reuses.total()} not run, because their result was proven to stand above;"
        f" {tally.elided.total()} run and found to stand above; {tally.remarks} remarked on."
    )
    click.echo(f"{references} references, {len(tally.false)} of them false by what was recorded.")
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
        ran = "not run" if call.decision.refers_to else "run, then compared"
        return f"{ran}; a reference of {len(call.shown.text.encode())} bytes in place of {size}"
    if call.shown.kind == "remark":
        return f"run; {size} bytes with a remark behind them"
    return f"run; {size} bytes shown"
