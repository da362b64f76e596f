"""``execledger why``: one decision of a recorded run, with its proof."""

from __future__ import annotations

from collections.abc import Iterator

import click

from execledger.cli.runs import chosen_policy, policy_options, read_runs
from execledger.errors import LedgerError
from execledger.replay import Replayed, new_ledger, replay
from execledger.trajectories import Run


@click.command("why")
@click.argument("run", metavar="RUN")
@click.argument("index", type=click.IntRange(min=0))
@policy_options
def command(run: str, index: int, preset: str | None, policy_file: str | None) -> None:
    """Print the decision about call INDEX of the recorded run RUN (a file, or archive!member)."""
    recorded = _find(run)
    policy = chosen_policy(preset, policy_file)
    if index >= len(recorded.steps):
        raise LedgerError(f"{run}: call {index} was asked for, found {len(recorded.steps)} calls, counted from 0")
    ledger = new_ledger(recorded, policy)
    since = max((at for at in recorded.compactions if at <= index), default=0)
    view = ledger.inform(range(0), recorded.container).text
    for call in replay(recorded, policy, ledger):
        if call.index == index:
            for line in explanation(recorded, call):
                click.echo(line)
            click.echo(view)
            return
        if call.index == index - 1:
            view = ledger.inform(range(since, index), recorded.container).text


def _find(name: str) -> Run:
    archive, _, _ = name.partition("!")
    unreadable: list[str] = []
    runs = read_runs((archive,), unreadable)
    found = [
        run for run, _ in zip((run for run in runs if run.name == name or "!" not in name), range(2), strict=False)
    ]
    if len(found) > 1:
        raise LedgerError(f"{name}: found more than one recorded run there", hint=f"name one, such as {found[0].name}")
    if not found:
        raise LedgerError(
            "\n".join(unreadable) or f"{name}: no such recorded run", hint="RUN is a file, or archive!member"
        )
    return found[0]


def explanation(run: Run, call: Replayed) -> Iterator[str]:
    """A decision in words."""
    decision, shown = call.decision, call.shown
    yield f"call {call.index} of {run.name}"
    yield f"command:   {call.recorded.action.command}"
    yield f"category:  {call.record.category.value}, effects {call.record.effects.value}"
    yield f"decision:  {type(decision).__name__.lower()}, by the rule `{decision.rule}`"
    for fact in decision.proof:
        yield f"proof:     {fact}"
    for step in dict.fromkeys((*decision.refers_to, *shown.compared_to)):
        yield f"refers to: call {step}: {run.steps[step].action.command[:100]}"
    yield f"compared:  {shown.compared or 'not eligible'}"
    yield f"shown:     {shown.kind}" + (f": {shown.text}" if shown.text else "")
