"""What is measured of a run, each number in one place; docs/metrics.md says the same in words.

Tokens are the provider's where it counted them. Where it did not they are estimated (``caching.estimate``), and the row
says so. What a run had to do with Ledger comes from its journal; if that is lost, it is unknown.
"""

from __future__ import annotations

import re
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
from execledger.runs.caching import RunTokens, is_unknown, usage
from execledger.runs.find import Source
from execledger.runs.journals import FORMAT as JOURNAL
from execledger.runs.prices import Prices
from execledger.runs.recording import Run
from execledger.runs.replay import as_recorded
from execledger.runs.usage import UNKNOWN, ModelCall, Tokens

Read = Callable[[str, bytes], Run]
"""Reads one recorded run."""
_ERROR = re.compile(r"error: (?:\w+\.)*([A-Z]\w*)(?:\((.*?)\)?|: (.*))", re.DOTALL)
"""The end of a run by an exception, in Python's words: ``error: RuntimeError('no disk')``."""


def measure(run: Run, journal: JournalRun | None, prices: Prices, *, governed: Policy | None = None) -> RunRow:
    """The row of one run; ``journal`` is what Ledger recorded of it, None if it took no part or that is lost.

    The policy of its arm is recorded in the run, or given by the caller: then it is ``governed``.
    """
    own = reported_usage(run, journal)
    row = RunRow(
        run=run.name,
        instance=run.instance,
        trial=run.trial,
        resolved=run.resolved,
        agent=run.agent,
        model=run.model or (journal.start.model if journal else ""),
        ended=run.ended,
        failure=_failure(run),
        model_calls=max(run.turns, len(run.model_calls)),
        proposed=sum(recorded.inherits is None for recorded in run.steps),
        tokens=None if is_unknown(run, own) else own.total,
        estimated=own.estimated,
        cached_told=own.cached_told,
        reported_cost=run.reported_cost,
        input_by_call=tuple(tokens.input or 0 for tokens in own.calls),
    )
    if journal is not None:
        row = _with_ledger(row, run, journal, prices)
    elif (policy := run.policy or governed) is not None:
        row = _without_counts(row, policy)
    else:
        row = _counted(row, account_of(run, None))
    return priced(row, prices)


def _failure(run: Run) -> str:
    """The error that ended a run, by its class where that is recorded: its kind, a colon, and the details."""
    if not run.failed:
        return ""
    found = _ERROR.fullmatch(run.ended)
    return f"{found[1]}: {found[2] or found[3] or ''}" if found else run.ended or "error"


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
            cached_told=row.cached_told or one.cached_told,
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


def reported_usage(run: Run, journal: JournalRun | None) -> RunTokens:
    """The tokens of a run: as its record counts them, else as the end of its journal does, else estimated."""
    own, end = usage(run), journal.ended if journal else None
    if not own.estimated or end is None or end.input_tokens is None:
        return own
    total = Tokens() + Tokens.of(end.input_tokens, end.cached_tokens, output=end.output_tokens)
    return RunTokens(total, (), estimated=False, cached_told=end.cached_tokens is not None)


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


def _without_counts(row: RunRow, policy: Policy) -> RunRow:
    """A run that Ledger took part in, and whose journal is not there."""
    of_texts = (f"{what}_{kind}_tokens" for what in ("saved", "remark") for kind in ("new", "written", "cached"))
    unknown = ("counts", "false_reuses", *of_texts, "view_tokens", "displaced_tokens")
    return replace(row, **_place(policy), **dict.fromkeys(unknown))


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
        ledger_version=journal.start.software,
        tokens=None if row.tokens is None else row.tokens + unseen,
        reported_cost=row.reported_cost if row.reported_cost is not None or end is None else end.cost,
        saved_new_tokens=(net.saved_tokens.uncached or 0) + (net.saved_tokens.written or 0),
        saved_written_tokens=net.saved_tokens.written or 0,
        saved_cached_tokens=net.saved_tokens.cached,
        saved_cost=net.saved,
        remark_new_tokens=(net.remark_tokens.uncached or 0) + (net.remark_tokens.written or 0),
        remark_written_tokens=net.remark_tokens.written or 0,
        remark_cached_tokens=net.remark_tokens.cached,
        remark_cost=net.remarks,
        view_tokens=viewed,
        displaced_tokens=displaced,
        view_cost=net.views,
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
    sources: Iterable[Source],
    prices: Prices,
    unreadable: list[str],
    read: Read = read_run,
    partly: list[str] | None = None,
    is_copy: Callable[[str, bytes], bool] = lambda *_: False,
) -> Iterator[tuple[Run, RunRow]]:
    """Every run among ``sources`` with its row; a journal of one of them is a part of it, and no other run.

    Files that are copies, which ``is_copy`` tells from name and content, are left out, with their journals.
    A file that is read in part has one sentence in ``partly``, by default in ``unreadable``.
    """
    journals, partly = Journals(), unreadable if partly is None else partly
    for source in runs_first(sources):
        if journals.belongs(source.name):
            continue
        try:
            data = source.read()
            if is_copy(source.name, data):
                journals.claim(source.name, data)
                continue
            run = read(source.name, data)
            own = read_journal(source.name, data) if run.format == JOURNAL else None
        except UnreadableRun as error:
            unreadable.append(str(error))
            continue
        if run.trouble:
            partly.append(f"{source.name}: {'; '.join(run.trouble)}")
        if run.without_ledger:
            unreadable.append(f"{source.name}: Ledger was asked for and took no part: {run.without_ledger}")
            continue
        yield run, measure(run, own or journals.of(source.name, data, unreadable), prices)


def without_journal(number: int) -> str:
    """That the journals of so many runs (``RunRow.lacks_journal``) were not found, in words."""
    runs, them = ("run", "it") if number == 1 else ("runs", "them")
    return (
        f"found no journal of {number:,} {runs} in arms with Ledger: what Ledger did in {them} is unknown and left out;"
        f" whatever else is known of {them} counts"
    )
