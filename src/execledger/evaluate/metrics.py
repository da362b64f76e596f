"""What is measured of a run, each number in one place; docs/metrics.md says the same in words.

Tokens are the provider's where it counted them. Where it did not they are estimated (``caching.estimate``), and the row
says so. What a run had to do with Ledger comes from its journal; if that is lost, it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from execledger.agents.formats import find_recorded, read_run
from execledger.core.ledger import Ledger
from execledger.core.policy import Cadence, Policy
from execledger.core.rereads import Rereads
from execledger.errors import UnreadableRun
from execledger.evaluate.records import RunRow
from execledger.evaluate.run_journals import Journals, runs_first
from execledger.journal.events import Counts, ViewRendered
from execledger.journal.reader import JournalRun, read_journal
from execledger.runs.account import Account
from execledger.runs.caching import RunTokens, usage
from execledger.runs.find import Source
from execledger.runs.journals import FORMAT as JOURNAL
from execledger.runs.prices import Prices
from execledger.runs.recording import Run
from execledger.runs.replay import as_recorded
from execledger.runs.usage import UNKNOWN, ModelCall, Tokens

Read = Callable[[str, bytes], Run]
"""Reads one recorded run."""


def measure(run: Run, journal: JournalRun | None, prices: Prices, *, governed: Policy | None = None) -> RunRow:
    """The row of one run; ``journal`` is what Ledger recorded of it, None if it took no part or that is lost.

    The policy it took part with is told by the run, or by whoever started it: then it is ``governed``.
    """
    own = told_usage(run, journal)
    row = RunRow(
        run=run.name,
        instance=run.instance,
        trial=run.trial,
        resolved=run.resolved,
        agent=run.agent,
        model=run.model or (journal.start.model if journal else ""),
        ended=run.ended,
        model_calls=max(run.turns, len(run.model_calls)),
        proposed=sum(recorded.inherits is None for recorded in run.steps),
        tokens=own.total if own.calls or not own.estimated else None,
        estimated=own.estimated,
        reported_cost=run.reported_cost,
        input_by_call=tuple(tokens.input or 0 for tokens in own.calls),
    )
    if journal is not None:
        row = _with_ledger(row, run, journal, prices)
    elif (policy := run.policy or governed) is not None:
        row = _untold(row, policy)
    else:
        row = _counted(row, account_of(run, None))
    return priced(row, prices)


def priced(row: RunRow, prices: Prices) -> RunRow:
    """The row with the cost of its tokens: at the price of its model, and at the one of Ledger's net."""
    _, price = prices.charged(row.model)
    charged = None if row.tokens is None else price.cost(row.tokens)
    return replace(row, cost=prices.cost(row.tokens, row.model), charged_cost=charged)


def with_subagents(row: RunRow, beside: Iterable[RunRow], *, governed: bool) -> RunRow:
    """The row of a run with what its sub-agents took, of which each has a recorded session and so a row of its own.

    Where Ledger took part, its journal has counted their commands with those of the run.
    """
    for one in beside:
        row = replace(
            row,
            model_calls=row.model_calls + one.model_calls,
            tokens=None if row.tokens is None or one.tokens is None else row.tokens + one.tokens,
            estimated=row.estimated or one.estimated,
            cost=_sum(row.cost, one.cost),
            charged_cost=_sum(row.charged_cost, one.charged_cost),
            reported_cost=_sum(row.reported_cost, one.reported_cost),
            input_by_call=(*row.input_by_call, *one.input_by_call),
        )
        if not governed and row.counts is not None and one.counts is not None:
            counts = Counts()
            counts.add(row.counts)
            counts.add(one.counts)
            row = replace(row, counts=counts, proposed=counts.proposed)
    return row


def _sum(one: float | None, other: float | None) -> float | None:
    """The sum; None where a part is not known."""
    return None if one is None or other is None else one + other


def told_usage(run: Run, journal: JournalRun | None) -> RunTokens:
    """The run's tokens: as it tells itself, else as its journal's end does, else estimated."""
    own, end = usage(run), journal.ended if journal else None
    if not own.estimated or end is None or end.input_tokens is None:
        return own
    total = Tokens() + Tokens.of(end.input_tokens, end.cached_tokens, output=end.output_tokens)
    return RunTokens(total, (), estimated=False)


def account_of(run: Run, journal: JournalRun | None) -> Account:
    """The account of a run: of its journal where Ledger took part, else of what the agent recorded.

    Re-reads and second looks are judged anew in both, so that both arms have one definition, also where a journal is
    older than that.
    """
    account = Account()
    views: dict[int, list[ViewRendered]] = {}
    if journal is None:
        ledger = Ledger(run.task)
        steps = [(as_recorded(recorded), recorded.turn) for recorded in run.steps]
    else:
        ledger = Ledger(journal.start.task, journal.start.known_policy())
        steps = [(event.step, event.turn) for event in journal.steps]
        account.add(journal.start)
        for fault in journal.faults:
            account.add(fault)
        for view in journal.views:
            views.setdefault(min(view.index, len(steps)), []).append(view)
    rereads = Rereads()
    for index, (step, turn) in enumerate(steps):
        for view in views.pop(index, ()):
            account.add(view)
        account.add_step(step, turn, rereads.take(step, ledger.classify(step.action)))
        ledger.record(step)
        account.add_looks(step, ledger.looked_again, ledger.second_looks.stopped)
    for view in views.pop(len(steps), ()):
        account.add(view)
    account.counts.faults += ledger.faults.count
    return account


def _counted(row: RunRow, account: Account) -> RunRow:
    """The row with the counts of an account."""
    return replace(row, counts=account.counts, proposed=account.counts.proposed, false_reuses=account.false_reuses)


def _untold(row: RunRow, policy: Policy) -> RunRow:
    """A run that Ledger took part in, and whose journal is not there."""
    untold = ("counts", "false_reuses", "saved_new_tokens", "saved_cached_tokens", "view_tokens", "displaced_tokens")
    return replace(row, **_place(policy), **dict.fromkeys(untold))


def _place(policy: Policy) -> dict[str, str]:
    """The arm and the preset of a run under a policy."""
    return {"arm": arm(policy), "preset": policy.preset.value if arm(policy) != "base" else ""}


def _with_ledger(row: RunRow, run: Run, journal: JournalRun, prices: Prices) -> RunRow:
    """A run that Ledger took part in, as its journal tells."""
    policy, end = journal.start.known_policy(), journal.ended
    account = account_of(run, journal)
    account.model = row.model
    if len(run.model_calls) >= account.turns:
        account.calls = run.model_calls
    account.turns = max(account.turns, row.model_calls)
    account.took = ModelCall(UNKNOWN if row.estimated or row.tokens is None else row.tokens)
    net, (viewed, displaced) = account.net(prices), account.views_spent()
    # An agent's own record does not hold the views, so no estimate from it does.
    unseen = Tokens(uncached=viewed if row.estimated and run.format != JOURNAL else 0)
    return replace(
        _counted(row, account),
        **_place(policy),
        ended=row.ended or (end.reason if end else ""),
        tokens=None if row.tokens is None else row.tokens + unseen,
        reported_cost=row.reported_cost if row.reported_cost is not None or end is None else end.cost,
        saved_new_tokens=(net.saved_tokens.uncached or 0) + (net.saved_tokens.written or 0),
        saved_cached_tokens=net.saved_tokens.cached,
        saved_cost=net.saved,
        view_tokens=viewed,
        displaced_tokens=displaced,
        view_cost=net.spent,
    )


def arm(policy: Policy) -> str:
    """The arm that a policy makes; the full system with a cadence of its own is an arm of its own, as in a plan."""
    if not (policy.inform or policy.govern):
        return "base"
    if policy.shadow:
        return "shadow"
    if policy.inform and policy.govern:
        return "both" if policy.cadence is Cadence.AUTO else policy.cadence.value
    return "inform" if policy.inform else "govern"


def measured(paths: Iterable[str], prices: Prices, unreadable: list[str], read: Read = read_run) -> Iterator[RunRow]:
    """The row of every run under ``paths``, one in memory at a time; what can't be read is noted with its reason."""
    return (row for _, row in measured_runs(find_recorded(paths), prices, unreadable, read))


def measured_runs(
    sources: Iterable[Source], prices: Prices, unreadable: list[str], read: Read = read_run
) -> Iterator[tuple[Run, RunRow]]:
    """Every run among ``sources`` with its row; a journal of one of them is a part of it, and no other run."""
    journals = Journals()
    for source in runs_first(sources):
        if journals.belongs(source.name):
            continue
        try:
            data = source.read()
            run = read(source.name, data)
            own = run.format == JOURNAL
            journal = read_journal(source.name, data) if own else journals.of(source.name, data)
        except UnreadableRun as error:
            unreadable.append(str(error))
            continue
        unreadable += [f"{source.name}: {said}" for said in run.trouble]
        yield run, measure(run, journal, prices)


def without_journal(number: int) -> str:
    """That the journals of so many runs (``RunRow.lacks_journal``) were not found, in words."""
    runs, them = ("run", "it") if number == 1 else ("runs", "them")
    return (
        f"found no journal of {number:,} {runs} in arms with Ledger: what Ledger did in {them} is unknown;"
        f" whatever else is known of {them} counts"
    )
