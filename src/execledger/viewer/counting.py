"""The line of a run in the list, from its account: the same for the list and for the run's own page."""

from __future__ import annotations

import hashlib

from msgspec import Struct

from execledger.core.task import task_anchor
from execledger.journal.events import Counts, Started
from execledger.runs.account import Account
from execledger.runs.journals import FORMAT as JOURNAL
from execledger.runs.prices import load_prices
from execledger.runs.recording import Run
from execledger.vocabulary.decisions import Nudge, Reuse, Step

TASK_BYTES = 200
"""Bytes of the task that stand in the list."""


class RunLine(Counts, kw_only=True):
    """One run in the list: all counts of its account, further numbers, and which run it is."""

    steps: int = 0
    """Commands that the agent proposed."""
    turns: int = 0
    """Calls of the model."""
    reuses: int = 0
    """Commands that a reference answered before they ran; in shadow mode, those that it would have answered."""
    elided: int = 0
    """Commands that ran, with a reference in place of their output; in shadow mode, those that would have had one."""
    nudges: int = 0
    """Commands with a remark behind their output; in shadow mode, those that would have had one."""
    shadow: bool = False
    """It ran in shadow mode: nothing was changed, and what is counted above is what would have been."""
    input_tokens: int | None = None
    """Tokens of input, cached ones included, as the provider counted them; None where that is not recorded."""
    cached_tokens: int | None = None
    """Tokens of input that were read from a cache, as the provider counted them."""
    output_tokens: int | None = None
    """Tokens of output, as the provider counted them."""
    cost: float | None = None
    """Dollars, as the agent recorded them."""
    ended: str = ""
    """How it ended, in the agent's own word."""
    id: str
    """A digest of the name: what addresses of the page are made of."""
    name: str
    """Where it was found."""
    format: str = ""
    """The format that it is kept in."""
    agent: str = ""
    """The agent, with its version where that is recorded."""
    model: str = ""
    """The model."""
    task: str = ""
    """The task anchor: what the task is about, on one line."""
    saved_bytes: int = 0
    """What references kept out of the model's input, counted once for every later call of the model."""
    saved_cost: float = 0.0
    """The same in dollars: new once, then cached."""
    view_cost: float = 0.0
    """What state views took in dollars: never cached."""
    net_cost: float = 0.0
    """What remains of the one behind the other, in dollars."""
    run_cost: float | None = None
    """Dollars that the run took, as the agent recorded them, else by its tokens; None where these are not recorded."""
    prices: str = ""
    """The day of the prices, and the model whose they are."""
    live: bool = False
    """The agent may still be at work."""
    pending: bool = False
    """It is not counted yet."""


class Origin(Struct, frozen=True, kw_only=True):
    """Which run it is."""

    name: str
    """Where it was found."""
    format: str
    """The format that it is kept in."""
    agent: str
    """The agent."""
    model: str
    """The model."""
    task: str
    """The text of the first task message."""

    @classmethod
    def of_run(cls, run: Run) -> Origin:
        """The origin that a recorded run tells."""
        return cls(name=run.name, format=run.format, agent=run.agent, model=run.model, task=run.task)

    @classmethod
    def of_journal(cls, name: str, start: Started) -> Origin:
        """The origin that the start of a journal tells."""
        return cls(name=name, format=JOURNAL, agent=start.agent, model=start.model, task=start.task)


def run_line(account: Account, origin: Origin, *, live: bool = False) -> RunLine:
    """The line of a run in the list; in shadow mode it has what would have been done."""
    counts, net, shadow = account.counts, account.net(), account.shadow
    same = {name: getattr(counts, name) for name in counts.__struct_fields__}
    done = {"elided": counts.shadow_elided} if shadow else {}
    return RunLine(
        **(same | done),
        steps=counts.proposed,
        turns=account.model_calls,
        reuses=counts.shadow_reuses if shadow else counts.suppressed,
        nudges=counts.shadow_nudges if shadow else counts.nudged,
        shadow=shadow,
        input_tokens=account.tokens.input,
        cached_tokens=account.tokens.cached,
        output_tokens=account.tokens.output,
        cost=account.took.cost,
        ended=account.ended,
        id=run_id(origin.name),
        name=origin.name,
        format=origin.format,
        agent=origin.agent,
        model=origin.model,
        task=task_anchor(origin.task, TASK_BYTES),
        saved_bytes=account.saved_bytes,
        saved_cost=net.saved,
        view_cost=net.spent,
        net_cost=net.net,
        run_cost=account.took.cost if account.took.cost is not None else _run_cost(account, origin.model),
        prices=f"{net.date}, {', '.join(net.models)}",
        live=live,
    )


def _run_cost(account: Account, model: str) -> float | None:
    """Dollars for the tokens of a run under the table; None where they are not recorded."""
    tokens = account.tokens.counted
    return None if tokens is None else load_prices().charged(model)[1].cost(tokens)


def mark_of(step: Step) -> str:
    """What Ledger did with a step: "" if nothing, and ``would-`` in front where it only would have."""
    decision, shown = step.decision, step.shown
    if isinstance(decision, Reuse):
        return "reuse" if shown.kind == "reference" else "would-reuse"
    if shown.kind != "full":
        return shown.kind
    if shown.instead is not None:
        return f"would-{shown.instead}"
    return "nudge" if isinstance(decision, Nudge) else ""


def run_id(name: str) -> str:
    """The id of the run that was found at ``name``."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
