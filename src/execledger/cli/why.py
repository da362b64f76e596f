"""``execledger why``: prints one decision of a recorded run with its proof.

If Ledger took part in the run, and its journal or the agent's log has its decisions, the recorded decision is printed,
and whether this version would decide differently. For any other run, it is the decision of a replay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click
from msgspec import Struct, structs

from execledger.cli.runs import chosen_policy, policy_options, read_runs
from execledger.core.faults import Fault
from execledger.core.govern import UNCHANGED_TREE
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import complete, propose
from execledger.core.wording import printable
from execledger.errors import LedgerError
from execledger.runs.looks import NO_LOOKS, LookedFile, LookHistory, Looks, take_sightings, tree_behind, verdict_words
from execledger.runs.recording import Governed, Recorded, Run
from execledger.runs.replay import INHERITED, new_ledger, replay
from execledger.symbols.edits import edited_symbols
from execledger.viewer.reasons import comparison_in_words, in_words, proof_in_words
from execledger.vocabulary.decisions import Decision, Reuse, Shown, Worth
from execledger.vocabulary.records import CommandRecord
from execledger.vocabulary.sightings import SightedLines, Verdict

BY_THE_ADAPTER = frozenset({"pending-writes", "not-governed", "unfinished", "no-shim", "fault"})
"""Rules of adapters, which depend on facts that no journal has, so they can't be evaluated again."""


class Explained(Struct, frozen=True):
    """The decision about one call, and what belongs to it."""

    record: CommandRecord
    """Classification of the command."""
    decision: Decision
    """The decision."""
    shown: Shown
    """The result as the model was shown it, or would have been."""
    view: str
    """The state view before the call; "" if there was none, as before a later call of one turn in a replay."""
    looks: Looks = NO_LOOKS
    """What was known from looks at the files when the model was called."""
    replayed: bool = False
    """It is the decision of a replay, not a recorded one."""
    ran: bool = True
    """The call was run when it was recorded; otherwise a reference answered it."""
    today: str = ""
    """Comparison with the decision of this version; "" if this version made the decision."""
    shadow: bool = False
    """The run was in shadow mode: no reference or remark was shown in it."""
    faults: tuple[Fault, ...] = ()
    """First internal faults of this version up to that call."""


class _Why(click.Command):
    """Reports a negative INDEX as such, and not as an unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args:
            if re.match("-[0-9]", word):
                _number(word)
        return super().parse_args(ctx, args)


@click.command("why", cls=_Why)
@click.argument("run", metavar="RUN")
@click.argument("index")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@policy_options
def command(run: str, index: str, as_json: bool, preset: str | None, policy_file: str | None) -> None:
    """Print the decision about call INDEX of the recorded run RUN (a file, or archive!member).

    For a journal, this is the recorded decision, unless a policy is given to replay it under.
    """
    number = _number(index)
    recorded = _find(run)
    policy = chosen_policy(preset, policy_file)
    if recorded.trouble:
        click.echo(f"execledger: {recorded.name}: {'; '.join(recorded.trouble)}", err=True)
    if number >= len(recorded.steps):
        raise LedgerError(f"{run}: call {number} was asked for, found {len(recorded.steps)} calls, counted from 0")
    governed = recorded.steps[number].governed
    if governed is None or policy is not None:
        told = _replayed(recorded, number, policy)
    else:
        told = _live(recorded, number, governed)
    if as_json:
        click.echo(json.dumps(as_fields(recorded, number, told), ensure_ascii=True))
    else:
        for line in explanation(recorded, number, told):
            click.echo(line)
    for fault in told.faults:
        click.echo(f"execledger: fault of Ledger's own: {fault}", err=True)


def _number(index: str) -> int:
    """Return the number of a call from the command line."""
    if not re.fullmatch("[0-9]{1,18}", index):
        raise LedgerError(f"INDEX: found {index!r}, expected the number of a call, counted from 0")
    return int(index)


def _replayed(run: Run, index: int, policy: Policy | None) -> Explained:
    """Return the decision of a replay."""
    asked, ledger = run.steps[index], new_ledger(run, policy)
    call = next((one for one in replay(run, ledger=ledger) if one.index >= index), None)
    told = Explained(ledger.classify(asked.action), INHERITED, Shown("full"), "", replayed=True, ran=asked.ran)
    if call is not None and call.index == index:
        view = call.view.text if call.view is not None else ""
        told = structs.replace(told, record=call.record, decision=call.decision, shown=call.shown, view=view)
    return structs.replace(told, shadow=ledger.policy.shadow, faults=tuple(ledger.faults.first))


def _live(run: Run, index: int, governed: Governed) -> Explained:
    """Return the recorded decision, compared with the one that this version makes after the same steps."""
    asked = run.steps[index]
    turn = asked.turn, asked.action.thread
    # All calls of a turn are decided before any of them runs.
    first = next(at for at, one in enumerate(run.steps) if (one.turn, one.action.thread) == turn)
    before = [one.governed.step for one in run.steps[:first] if one.governed is not None]
    ledger, history = Ledger(run.task, run.policy, edited_symbols), LookHistory()
    for one in run.steps[:first]:
        if one.governed is not None:
            _looks(history, ledger, one, one.governed)
            ledger.record(one.governed.step)
    looks = _looks(history, ledger, run.steps[first], run.steps[first].governed or governed)
    view, today = governed.view, "not judged again, what Ledger made of a call before it is not recorded"
    if len(before) == first:
        visible = range(governed.since, first)
        today = _today(ledger, asked, governed, visible)
        if view is None:
            view = "" if ledger.policy.shadow else ledger.inform(visible, governed.sealed, asked.action.thread).text
    step = governed.step
    view = "the state view before it was not kept" if view is None else view
    record = ledger.classify(asked.action)
    faults = tuple(ledger.faults.first)
    shadow = ledger.policy.shadow
    return Explained(record, step.decision, step.shown, view, looks, today=today, shadow=shadow, faults=faults)


def _looks(history: LookHistory, ledger: Ledger, call: Recorded, governed: Governed) -> Looks:
    """Take in what was found in the files before a call, and return what was known of them at its model call."""
    for sighting in governed.sightings:
        history.take(ledger, sighting)
    return history.before(ledger, call.action.thread, call.turn, governed.sealed)


def _today(ledger: Ledger, asked: Recorded, governed: Governed, visible: range) -> str:
    """Return, in words, how the decision of this version compares with the recorded one."""
    then, output = governed.step, asked.observation
    if then.decision.rule in BY_THE_ADAPTER:
        return "not judged again, the adapter decided"
    if then.decision.rule == UNCHANGED_TREE and not governed.sightings:
        return "not judged again, what was found in the working tree is not recorded here"
    proposal = propose(ledger, asked.action, visible, governed.sealed)
    decision, suppressed = proposal.decision, proposal.suppressed
    if _essence(decision) != _essence(then.decision):
        return f"otherwise: {_decided(decision)}"
    if not suppressed and output.truncated and output.cut is None:
        return "the same decision; its output is not known well enough to be compared again"
    take_sightings(ledger, asked)
    shown = complete(ledger, asked.action, decision, None if suppressed else output, visible).shown
    same = (shown.kind, shown.refers_to, shown.instead) == (then.shown.kind, then.shown.refers_to, then.shown.instead)
    return "the same" if same else f"the same decision, but shown otherwise: {_showing(shown)}"


def _essence(decision: Decision) -> tuple[type[Decision], str, tuple[int, ...]]:
    """Return what makes two decisions equal: kind, rule and references, not the wording of the proof."""
    return type(decision), decision.rule, decision.refers_to


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
        # The reason why a file can't be read has its own hint.
        if unreadable:
            raise LedgerError("\n".join(unreadable))
        raise LedgerError(f"{name}: no such recorded run", hint="RUN is a file, or archive!member")
    return found[0]


def explanation(run: Run, index: int, told: Explained) -> Iterator[str]:
    """Return the lines that explain a decision."""
    decision, shown = told.decision, told.shown
    yield f"call {index} of {run.name}{', a replay: what would have been shown' if told.replayed else ''}"
    yield f"command:   {run.steps[index].action.command}"
    yield f"category:  {told.record.category.value}, effects {told.record.effects.value}"
    yield f"decision:  {_decided(decision)}"
    yield f"in words:  {_in_words(told)}"
    for fact in proof_in_words(decision, replayed=told.replayed, shadow=told.shadow):
        yield f"proof:     {fact}"
    for step in dict.fromkeys((*decision.refers_to, *shown.refers_to, *shown.compared_to)):
        yield f"refers to: call {step}: {run.steps[step].action.command[:100]}"
    unknown = told.replayed and run.steps[index].observation.output_unknown
    yield f"compared:  {_compared(told, unknown=unknown)}"
    yield f"shown:     {_showing(shown)}{', an output that is not known' if unknown and shown.kind == 'full' else ''}"
    if shown.worth is not None:
        yield f"price:     {_priced(shown.worth)}"
    if told.today:
        yield f"today:     {told.today}"
    for file in told.looks.files:
        yield from _looked(run, file)
    if told.looks.failed:
        yield "looked at: nothing could be read, and what earlier looks had found did not count any more"
    if (tree := tree_behind(run, index)) is not None:
        yield f"tree:      {tree.digest or f'unknown, {tree.reason}'}, found behind its result"
    yield told.view or f"no state view {'would have been' if told.replayed else 'was'} shown before it"


def _in_words(told: Explained) -> str:
    return in_words(told.decision, told.shown, replayed=told.replayed, shadow=told.shadow, ran=told.ran)


def _compared(told: Explained, *, unknown: bool) -> str:
    """Return how the result compares with what was visible, or why it was not compared."""
    decision, shown = told.decision, told.shown
    if shown.compared is not None:
        return f"{shown.compared}: {comparison_in_words(decision, shown)}"
    if isinstance(decision, Reuse) and shown.kind == "reference":
        return f"no, it {'would have been' if told.replayed else 'was'} reused before running"
    return "no, its output is not known" if unknown else "not eligible"


def _looked(run: Run, file: LookedFile) -> Iterator[str]:
    """Return one line per result that showed lines of a file."""
    for result in file.results:
        unknown = any(piece.verdict is Verdict.UNKNOWN for piece in result.lines)
        because = f": {file.reason}" if unknown and file.reason else ""
        shown = f"shown by call {result.step}: {printable(run.steps[result.step].action.command)[:100]}"
        yield f"looked at: {file.name}: {verdict_words(result.lines, result.not_by_agent)}{because}; {shown}"


def as_fields(run: Run, index: int, told: Explained) -> dict[str, object]:
    """Return the explanation as the documented JSON object."""
    decision, shown, tree = told.decision, told.shown, tree_behind(run, index)
    return {
        "run": run.name,
        "call": index,
        "command": run.steps[index].action.command,
        "category": told.record.category.value,
        "effects": told.record.effects.value,
        "decision": type(decision).__name__.lower(),
        "rule": decision.rule,
        "words": _in_words(told),
        # As the journal has it, for programs that compare the two.
        "proof": decision.proof,
        "refers_to": decision.refers_to,
        "compared": shown.compared,
        "compared_to": shown.compared_to,
        "shown": {"kind": shown.kind, "text": shown.text, "instead": shown.instead},
        "price": None if shown.worth is None else structs.asdict(shown.worth),
        "today": told.today,
        "looks": [_looked_fields(run, file) for file in told.looks.files],
        "looked_before_call": told.looks.before,
        "look_failed": told.looks.failed,
        "tree": None if tree is None else {"digest": tree.digest, "reason": tree.reason},
        "view": told.view,
    }


def _looked_fields(run: Run, file: LookedFile) -> dict[str, object]:
    results = [
        {
            "call": result.step,
            "command": run.steps[result.step].action.command,
            "not_by_agent": result.not_by_agent,
            "lines": [_verdict_fields(piece) for piece in result.lines],
        }
        for result in file.results
    ]
    return {
        "path": file.path,
        "end": file.end,
        "digest": file.digest,
        "reason": file.reason,
        "results": results,
    }


def _verdict_fields(piece: SightedLines) -> dict[str, object]:
    now = None if piece.place is None else [piece.place, piece.place + piece.last - piece.first]
    return {"lines": [piece.first, piece.last], "verdict": piece.verdict.value, "now": now}


def _decided(decision: Decision) -> str:
    return f"{type(decision).__name__.lower()}, by the rule `{decision.rule}`"


def _priced(worth: Worth) -> str:
    """Return what a reference was expected to save and cost, and what followed from that."""
    if worth.stopped:
        return "nothing is elided any more, the model looked again after too many references"
    verdict = "worth it" if worth.pays else "not worth it"
    saving, cost = f"the price of {worth.saving} new tokens", f"that of {worth.cost}"
    return f"a reference was expected to save {saving}, second looks to cost {cost}: {verdict}"


def _showing(shown: Shown) -> str:
    if shown.instead:
        return f"{shown.kind}; outside shadow mode, a {shown.instead}"
    return f"{shown.kind}: {shown.text}" if shown.text else shown.kind
