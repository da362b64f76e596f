"""What a run came to in one line: counted step by step, in the same way for the list and for the run's own page."""

from __future__ import annotations

import hashlib

from msgspec import Struct, field

from execledger.core.rereads import VERDICTS
from execledger.core.task import task_anchor
from execledger.journal.events import Ended, Event, FaultCaught, Started, StepRecorded, ViewRendered
from execledger.runs.caching import provider_total
from execledger.runs.journals import FORMAT as JOURNAL
from execledger.runs.net import Balance, Net
from execledger.runs.prices import load_prices
from execledger.runs.recording import Run
from execledger.runs.usage import Tokens
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Nudge, Reuse, Step

TASK_BYTES = 200
"""Bytes of the task that stand in the list."""


class Sums(Struct, kw_only=True):
    """What a run came to."""

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
    rereads: int = 0
    """Redundant snippet re-reads."""
    view_bytes: int = 0
    """What state views added to the model's input."""
    input_tokens: int | None = None
    """Tokens of input, cached ones included, as the provider counted them; None where that is not recorded."""
    cached_tokens: int | None = None
    """Tokens of input that were read from a cache, as the provider counted them."""
    output_tokens: int | None = None
    """Tokens of output, as the provider counted them."""
    cost: float | None = None
    """Dollars, as the agent recorded them."""
    faults: int = 0
    """Faults of Ledger's own that were caught."""
    ended: str = ""
    """How it ended, in the agent's own word."""


class RunLine(Sums, kw_only=True):
    """One run in the list."""

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


class Count(Sums, kw_only=True):
    """A run, added up step by step."""

    over: bool = False
    """Its end is recorded."""
    worth: Net | None = None
    """What a replay makes of it in dollars, once it is over."""
    _balance: Balance = field(default_factory=Balance)

    def add(self, step: Step, turn: int, truth: Observation | None = None, *, again: bool = False) -> None:
        """Count a step; ``truth`` is what it really returned, where that is known otherwise than by the step."""
        mark = mark_of(step).removeprefix("would-" if self.shadow else "")
        self.steps += 1
        self.turns = max(self.turns, turn + 1)
        self.reuses += mark == "reuse"
        self.elided += mark == "reference"
        self.nudges += mark == "remark"
        self.rereads += again
        self._balance.add(step, turn, truth)

    @property
    def saved_bytes(self) -> int:
        """What references kept out of the model's input, counted once for every later call of the model."""
        self._balance.turns = self.turns
        return self._balance.saved_bytes

    def add_view(self, text: str) -> None:
        """Count a state view."""
        self._balance.add_view(text)
        self.view_bytes = self._balance.view_bytes

    def add_event(self, event: Event) -> None:
        """Count an event of a journal."""
        match event:
            case StepRecorded():
                self.over = False
                self.add(event.step, event.turn, again=VERDICTS.get(event.snippet) is not None)
            case ViewRendered():
                self.add_view(event.text)
            case FaultCaught():
                self.faults += 1
            case Ended():
                self.over, self.ended = True, event.reason
                self._add_usage(event.input_tokens, event.cached_tokens, event.output_tokens, event.cost)
                self.turns = max(self.turns, event.model_calls or 0)

    def add_run(self, run: Run) -> None:
        """Count what a recorded run tells besides its steps."""
        if (total := provider_total(run)) is not None:
            tokens = total.tokens
            self._add_usage(tokens.input, tokens.cached, tokens.output, total.cost)
        self.turns, self.ended, self.over = max(self.turns, run.turns), run.ended, True

    def _add_usage(self, *told: float | None) -> None:
        names = ("input_tokens", "cached_tokens", "output_tokens", "cost")
        for name, value in zip(names, told, strict=True):
            setattr(self, name, value)

    def line(self, origin: Origin, *, live: bool = False) -> RunLine:
        """The line in the list."""
        worth = self.worth or self._net(origin.model)
        return RunLine(
            **{name: getattr(self, name) for name in Sums.__struct_fields__},
            id=run_id(origin.name),
            name=origin.name,
            format=origin.format,
            agent=origin.agent,
            model=origin.model,
            task=task_anchor(origin.task, TASK_BYTES),
            saved_bytes=self.saved_bytes,
            saved_cost=worth.saved,
            view_cost=worth.spent,
            net_cost=worth.net,
            run_cost=self._run_cost(origin.model) if self.cost is None else self.cost,
            prices=f"{worth.date}, {', '.join(worth.models)}",
            live=live,
        )

    def _net(self, model: str) -> Net:
        """What it comes to so far, by its steps and views; nothing in shadow mode."""
        self._balance.turns = self.turns
        return (Balance() if self.shadow else self._balance).net(model=model)

    def _run_cost(self, model: str) -> float | None:
        """What its tokens cost under the table; None where they are not recorded."""
        if self.input_tokens is None:
            return None
        own = Tokens.of(self.input_tokens, self.cached_tokens, output=self.output_tokens)
        return load_prices().charged(model)[1].cost(own)


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
