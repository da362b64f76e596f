"""The account of one run: the only place where a run is counted.

``Account`` takes in a run piece by piece: the events of a journal as they are written or read back (``add``), the calls
of a replay (``add_replayed``), or steps, views and reports one by one. The summary at the end of a run, ``stats``,
``replay``, the viewer and the evaluation read their numbers from it.

A step that a forked thread inherits was proposed and executed once, on the thread that it comes from: it is counted as
inherited, and as nothing else.

Tokens of one kind are never set against tokens of another: a reference saves an output once when it is new and then,
mostly from the cache, with every later call; a state view is never cached. Only prices make the two comparable
(``Net``).
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from execledger.core.policy import Policy
from execledger.core.rereads import VERDICTS, Reread
from execledger.core.wording import quantity
from execledger.journal.events import Counts, Ended, Event, FaultCaught, Started, StepRecorded, ViewRendered
from execledger.journal.folder import journal_folder
from execledger.runs.caching import PromptCache, StepPlace, Timeline, provider_total, text_bytes, timeline, usage
from execledger.runs.prices import Prices, by_day, load_prices
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, output_bytes, spared_bytes
from execledger.runs.usage import ModelCall, Tokens, recorded_cost, tokens_in
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Nudge, Reuse, Step


class Metric(Struct, frozen=True, kw_only=True):
    """A number of ``Counts`` with its titles: ``stats``, ``replay``, the viewer's comparison and reports read these."""

    name: str
    """The field of ``Counts``."""
    title: str
    """Title of its row in ``stats``, and in ``replay`` unless that has ``would``."""
    would: str = ""
    """Title of its row in ``replay``, where it did not happen but would have."""
    note: str = ""
    """Explanation beside the number in ``stats``."""
    compared: str = ""
    """Title of its row where the arms of an evaluation are compared; "" if they are not compared by it."""
    detailed: bool = False
    """``replay`` and the viewer have rows of their own for it: by rule, or with what would have been done."""
    among: str = ""
    """The field of ``Counts`` that it is a share of; "" if it is none."""

    def row(self, counts: Counts, *, would: bool = False) -> tuple[str, str, str]:
        """Title, number and explanation; ``would``: of a replay."""
        part, whole = getattr(counts, self.name), getattr(counts, self.among) if self.among else 0
        note = f"{part / whole:.0%} of {whole:,} {self.among}" if whole else self.note
        return (would and self.would) or self.title, f"{part:,}", note


METRICS = (
    Metric(name="proposed", title="commands proposed", detailed=True),
    Metric(name="ran", title="run", compared="Executed commands", detailed=True),
    Metric(
        name="suppressed",
        title="reused before running",
        note="answered with a reference, without running",
        detailed=True,
    ),
    Metric(name="elided", title="reused after running", note="run, the output replaced by a reference", detailed=True),
    Metric(
        name="partial",
        title="reused in part",
        would="would be reused in part",
        note="run, some lines of the output replaced by references",
        compared="  reused in part",
    ),
    Metric(name="nudged", title="nudged", note="run, a remark added", detailed=True),
    Metric(name="second_looks", title="second looks", note="no references", among="references"),
)
"""What is counted command by command, in the order of the rows; kinds of re-reads have ``rereads.TITLES``."""


NOTHING = 1e-9
"""Dollars that are a rounding error: a cached token costs at least ten times as much."""


class Net(Struct, frozen=True, kw_only=True):
    """What Ledger saved and spent: tokens by the class that a provider charges for, and dollars under one price table.

    Tokens of different classes are never added up: of most providers a cached one costs a tenth of another one.
    """

    saved: float = 0.0
    """Dollars for what references kept out of the model's input, less the references themselves."""
    remarks: float = 0.0
    """Dollars for remarks: text in results, as what is kept out is."""
    views: float = 0.0
    """Dollars for what state views took: their tokens, uncached, and what they keep out of the cached prefix."""
    saved_tokens: Tokens = Tokens()
    """The tokens behind ``saved``."""
    remark_tokens: Tokens = Tokens()
    """The tokens behind ``remarks``."""
    view_tokens: Tokens = Tokens()
    """The tokens behind ``views``; what views keep out of the cached prefix is uncached, and negative among cached."""
    own: float | None = None
    """What the runs cost as they were, at these prices and not as agents recorded it, where their tokens are known."""
    runs: int = 1
    """How many runs it is of."""
    shadow: int = 0
    """How many runs in shadow mode are apart: nothing was saved or spent in them, and ``own`` is without them."""
    estimated: bool = False
    """Whether ``own`` is no known cost: tokens of some run are estimated, or some model is at the assumed price."""
    prices: Mapping[str, str] = {}
    """The day of each model's price; ``(assumed)`` follows the model whose price runs of unknown models were given."""

    def __add__(self, other: Net) -> Net:
        """Both together; what the runs cost is known if it is of both."""
        return Net(
            saved=self.saved + other.saved,
            remarks=self.remarks + other.remarks,
            views=self.views + other.views,
            saved_tokens=self.saved_tokens + other.saved_tokens,
            remark_tokens=self.remark_tokens + other.remark_tokens,
            view_tokens=self.view_tokens + other.view_tokens,
            own=None if self.own is None or other.own is None else self.own + other.own,
            runs=self.runs + other.runs,
            shadow=self.shadow + other.shadow,
            estimated=self.estimated or other.estimated,
            prices={**self.prices, **other.prices},
        )

    @property
    def spent(self) -> float:
        """Dollars for remarks and state views."""
        return self.remarks + self.views

    @property
    def spent_tokens(self) -> Tokens:
        """The tokens behind ``spent``."""
        return self.remark_tokens + self.view_tokens

    @property
    def net(self) -> float:
        """The difference of the two; negative where Ledger cost more than it saved."""
        return self.saved - self.spent

    @property
    def net_tokens(self) -> Tokens:
        """The same in tokens, class by class."""
        return self.saved_tokens + -self.spent_tokens

    def fields(self) -> dict[str, Any]:
        """All of it as an object, for JSON."""
        spent = {"spent": self.spent, "spent_tokens": to_builtins(self.spent_tokens)}
        net = {"net": self.net, "net_tokens": to_builtins(self.net_tokens)}
        return {**to_builtins(self), **spent, **net}

    def sentence(self, *, would: bool = False) -> str:
        """All of it in words; ``would``: of a replay, in which nothing was really saved or spent."""
        of = f", {signed_share(self.net / self.own)} of the {self.cost_of('run')}" if self.own else ""
        cost = "would have cost" if would else "cost"
        displaced = -(self.view_tokens.cached or 0)
        moved = f", {displaced:,} of which would have been cached" if displaced else ""
        remarks = f" remarks {cost} {by_class(self.remark_tokens)} ({dollars(self.remarks)});" if self.remarked else ""
        apart = f"; {quantity(self.shadow, 'shadow run')} apart" if self.shadow else ""
        return (
            f"References {self._of_references(would=would)};{remarks}"
            f" state views {cost} {by_class(replace(self.view_tokens, cached=0))}{moved} ({dollars(self.views)});"
            f" net {signed_by_class(self.net_tokens)}, {dollars(self.net)}{of}{apart}. {self.basis}"
        ).rstrip()

    def _of_references(self, *, would: bool) -> str:
        """What references did, in words; under ``paper`` they may be longer than what they replace."""
        if self.saved < -NOTHING:
            took = "would have taken" if would else "took"
            return f"{took} {by_class(-self.saved_tokens)} more than what they replaced ({dollars(-self.saved)})"
        return f"{'would have saved' if would else 'saved'} {by_class(self.saved_tokens)} ({dollars(self.saved)})"

    @property
    def remarked(self) -> bool:
        """Whether remarks took anything."""
        return self.remark_tokens != Tokens()

    def cost_of(self, what: str) -> str:
        """What the runs cost by the price table, in words; ``what`` is a word for one.

        It is a fact only where tokens and prices are known.
        """
        one = self.runs == 1
        cost = f"{'is' if one else 'are'} estimated to have cost" if self.estimated else "cost"
        return f"{dollars(self.own or 0.0)} that the {what}{'' if one else 's'} {cost} at table prices"

    @property
    def basis(self) -> str:
        """What the dollars rest on; "" if no run has a part in them."""
        of_days = " and of ".join(f"{day} for {', '.join(models)}" for day, models in by_day(self.prices).items())
        estimated = "all three" if self.remarked else "both"
        return f"Prices of {of_days}; tokens of {estimated} are estimated from bytes." if of_days else ""


def by_class(tokens: Tokens) -> str:
    """Tokens of input in words, each class that a provider charges for by itself."""
    told = [f"{count:,} {name}" for name, count in _classes(tokens).items() if count]
    return f"{' and '.join(told) or '0'} tokens"


def input_classes(amounts: Iterable[Tokens]) -> tuple[str, ...]:
    """The classes of input that a table of these amounts has columns for, by the names of their fields.

    Tokens that are written to a cache have a price of their own, and a column wherever there are any.
    """
    written = any(tokens.written for tokens in amounts)
    return ("uncached", "written", "cached") if written else ("uncached", "cached")


def _classes(tokens: Tokens) -> dict[str, int | None]:
    """The classes of input that a provider charges for, with their names in sentences."""
    return {"uncached": tokens.uncached, "written to the cache": tokens.written, "cached": tokens.cached}


def signed_by_class(tokens: Tokens) -> str:
    """The same of a difference: each class with its sign, ``-15,705 uncached and +1,679,578 cached tokens``."""
    told = [f"{count:+,} {name}" for name, count in _classes(tokens).items() if count]
    return f"{' and '.join(told) or '0'} tokens"


def dollars(value: float, least: int | None = None) -> str:
    """A sum of money with its sign and at least two significant digits, however small it is.

    ``least`` is the number of decimals to begin with: by default 2 from a dollar on and 4 below. A rounding error
    (less than ``NOTHING``) is ``$0.00``, without a sign.
    """
    size = 0.0 if abs(value) < NOTHING else abs(value)
    decimals = least if least is not None else 2 if size >= 1 or not size else 4
    while 0 < size < 10 ** (1 - decimals):
        decimals += 1
    return f"{'-' if value < 0 and size else ''}${size:,.{decimals}f}"


def share(value: float) -> str:
    """A share in words; below 1 % with two digits, as tables beside it have them."""
    return f"{value:.{2 if abs(value) < 0.01 else 1}%}"


def signed_share(value: float) -> str:
    """The same with its sign; what is rounded to nothing has none."""
    shown = share(abs(value))
    return f"{'-' if value < 0 else '+'}{shown}" if shown.strip("0.%") else shown


def weighed(saved: Tokens, remarks: Tokens, views: Tokens, own: Tokens | None, model: str, prices: Prices) -> Net:
    """The net of one run, at the price of its model, or at the assumed one where that is not known."""
    name, price = prices.charged(model)
    return Net(
        saved=price.cost(saved),
        remarks=price.cost(remarks),
        views=price.cost(views),
        saved_tokens=saved,
        remark_tokens=remarks,
        view_tokens=views,
        own=None if own is None else price.cost(own),
        estimated=prices.price(model) is None,
        prices={name: prices.day(model)},
    )


class Account(Struct):
    """One run, counted step by step."""

    counts: Counts = field(default_factory=Counts)
    """What happened, as the end of a journal holds it."""
    inherited: int = 0
    """Steps that a forked thread inherited; they are in no other count."""
    false_reuses: int = 0
    """Commands reused before running whose true output is a different one, where that is known."""
    reuses: Counter[str] = field(default_factory=Counter)
    """Commands reused before running, by rule; in shadow mode, those that would have been."""
    elided: Counter[str] = field(default_factory=Counter)
    """Commands reused after running, by how the output compared; in shadow mode, those that would have been."""
    omissions: int = 0
    """Runs of lines that were omitted from outputs of which the rest was shown."""
    nudges: Counter[str] = field(default_factory=Counter)
    """Commands that were decided to be nudged, by rule, whether the remark was then shown or not."""
    unknown_outputs: int = 0
    """Commands of a replay whose recorded output is unknown."""
    turns: int = 0
    """Calls of the model that are known from its steps, from the agent's record or from the journal's end."""
    called: int = 0
    """Calls of the model that were counted while the run happened."""
    took: ModelCall = ModelCall()
    """What the calls of the model took, as reported."""
    estimated: Tokens | None = None
    """What they took as far as it is known, the rest estimated, if a recorded run does not say it of all of them."""
    model: str = ""
    """The model."""
    stopped: tuple[int, int] | None = None
    """Second looks and settled references at which eliding ended; None if it did not."""
    shadow: bool = False
    """The run was in shadow mode: everything was shown as it came."""
    identity: tuple[str, float] | None = None
    """The run's name and the time of its start, which a copy of its journal shares; None without a time."""
    end: Ended | None = None
    """The end of its journal, if that was recorded."""
    ended: str = ""
    """How it ended, in the agent's own word."""
    over: bool = False
    """Its end is recorded, and no step follows it."""
    journal: str | None = None
    """While it happens: the file of its journal; None if there is none, or it can't be written any more."""
    unwritten: str = ""
    """While it happens: where and why its journal could not be written, or not to its end."""
    calls: Sequence[ModelCall] = ()
    """What each call of the model took, where the agent recorded that beside the journal."""
    _steps: int = 0
    _asked: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    _returned: dict[int, int] = field(default_factory=dict)
    _kept_out: dict[int, int] = field(default_factory=dict)
    _spared_in_part: dict[int, int] = field(default_factory=dict)
    _run: Timeline | None = None
    _places: list[StepPlace] = field(default_factory=list)
    _compactions: list[int] = field(default_factory=list)
    _since: int = 0
    _spared: list[tuple[int, int]] = field(default_factory=list)
    _remarks: list[tuple[int, int]] = field(default_factory=list)
    _unread_views: int = 0
    _waiting_views: dict[str, int] = field(default_factory=dict)
    _views: dict[str, dict[int, int]] = field(default_factory=dict)

    @classmethod
    def of_run(cls, run: Run, policy: Policy) -> Account:
        """The account of a recorded run that is replayed under ``policy``, before its first call."""
        account = cls(shadow=policy.shadow)
        account.add_run(run)
        return account

    def add(self, event: Event) -> None:
        """Count one event of a journal."""
        match event:
            case Started():
                self.shadow = bool(event.policy.get("shadow"))
                self.model = event.model
                self.identity = None if event.at is None else (event.run, event.at)
            case ViewRendered():
                self.add_view(event.text, event.thread)
            case StepRecorded():
                self.over = False
                if event.since > self._since:
                    self._compactions.append(self._steps)
                self._since = event.since
                judged = event.snippet in VERDICTS
                self.add_step(event.step, event.turn, VERDICTS.get(event.snippet), judged=judged)
                self.add_looks(event.step, event.looked_again, event.stopped)
            case FaultCaught():
                self.counts.faults += 1
            case Ended():
                self.end, self.ended, self.over = event, event.reason, True
                self.turns = max(self.turns, event.model_calls or 0)
                tokens = Tokens.of(event.input_tokens, event.cached_tokens, output=event.output_tokens)
                self.took = ModelCall(tokens, recorded_cost(event.cost))

    def add_run(self, run: Run) -> None:
        """Count what a recorded run holds besides its steps."""
        self.model, self.ended, self.over = run.model, run.ended, True
        self.turns = max(self.turns, run.turns)
        self.took = provider_total(run) or ModelCall()
        own = usage(run)
        self.estimated = own.total if own.estimated else None
        self._run = timeline(run)

    def add_replayed(self, call: Replayed) -> int | None:
        """Count one call of a replay, with the state view before it; the bytes of its true output, if known."""
        if call.view is not None:
            self.add_view(call.view.text, call.recorded.action.thread)
        recorded = call.recorded
        step = Step(recorded.action, call.decision, recorded.observation, call.shown, inherits=recorded.inherits)
        self.add_looks(step, call.looked_again, call.stopped)
        return self.add_step(step, recorded.turn, call.reread, truth=recorded.observation, index=call.index)

    def add_call(self, call: ModelCall) -> None:
        """Count one call of the model while the run happens, with what its provider reports."""
        self.called += 1
        self.took += call

    def add_view(self, text: str, thread: str = "") -> None:
        """Count a state view, or that there is none; the next step of its thread is the first that the model wrote."""
        self.counts.views += bool(text)
        self.counts.view_bytes += text_bytes(text)
        self._unread_views += tokens_in(text_bytes(text))
        self._waiting_views[thread] = tokens_in(text_bytes(text))

    def add_step(
        self,
        step: Step,
        turn: int,
        reread: Reread | None = None,
        *,
        judged: bool = True,
        truth: Observation | None = None,
        index: int | None = None,
    ) -> int | None:
        """Count a completed step; the bytes of its true output, if they are known.

        ``reread`` is its verdict as a redundant re-read, if it was ``judged``; ``truth`` is its recorded result where
        the step itself need not hold it, in a replay; ``index`` is its position where that is not the next one.
        """
        size = self._size(step, truth)
        self._steps = self._steps if index is None else index
        at = self._steps
        self._asked[at] = (_asked(step), size)
        said = None if step.inherits is not None else text_bytes(step.action.command)
        self._places.append(StepPlace(turn, step.action.thread, said))
        self._steps += 1
        self.turns = max(self.turns, turn + 1)
        if step.inherits is not None:
            self.inherited += 1
            return size
        self._decided(step)
        if judged:
            self.counts.measured += 1
            self.counts.count(reread)
        unknown = truth is not None and truth.output_unknown
        self.unknown_outputs += unknown
        self._returned[turn] = self._returned.get(turn, 0) + (0 if unknown else size or 0)
        self._weigh(step, turn, size, at, truth)
        return size

    def add_looks(self, step: Step, looked_again: int | None, stopped: tuple[int, int] | None = None) -> None:
        """Count the second looks of a step (None if they were not counted), and note where eliding was ``stopped``.

        In shadow mode there are none: nothing was replaced by a reference.
        """
        if looked_again is not None and step.inherits is None and not self.shadow:
            self.counts.references += step.shown.kind not in ("full", "remark")
            self.counts.second_looks += looked_again
            self.stopped = stopped

    @property
    def model_calls(self) -> int:
        """Calls of the model."""
        return max(self.turns, self.called)

    @property
    def incomplete(self) -> bool:
        """The end of the journal counts another number of steps than there are; older ones count inherited steps."""
        known = (self.counts.proposed, self.counts.proposed + self.inherited)
        return self.end is not None and self.end.counts.proposed not in known

    @property
    def read_bytes(self) -> int:
        """Bytes of output, each counted once for every later call of the model."""
        return sum(size * (self.turns - turn - 1) for turn, size in self._returned.items())

    @property
    def saved_bytes(self) -> int:
        """Bytes that references kept out of the model's input, less the references, counted in the same way."""
        return sum(size * (self.turns - turn - 1) for turn, size in self._kept_out.items())

    @property
    def partial_bytes(self) -> int:
        """Those of the saved bytes that partial references kept out."""
        return sum(size * (self.turns - turn - 1) for turn, size in self._spared_in_part.items())

    @property
    def tokens(self) -> Tokens:
        """Tokens of all calls of the model, as reported."""
        return self.took.tokens

    def net(self, prices: Prices | None = None) -> Net:
        """What Ledger saved and spent so far, in dollars; in shadow mode nothing, of no run: it is counted apart.

        ``PromptCache`` says what is cached: what references kept out is new to the next call and then cached as far as
        the provider's cache reaches, and a view keeps what the model wrote after it out of the cache.
        """
        if self.shadow:
            return Net(own=0.0, runs=0, shadow=1)
        cache = PromptCache(self._timeline())
        saved, remarks = (
            sum((cache.sent(tokens, at) for at, tokens in found), Tokens()) for found in (self._spared, self._remarks)
        )
        size, late = self.views_spent(cache)
        views = Tokens(uncached=size + late, cached=-late)
        return weighed(saved, remarks, views, self.tokens.counted, self.model, prices or load_prices())

    def views_spent(self, cache: PromptCache | None = None) -> tuple[int, int]:
        """Tokens of state views, and tokens that the model wrote after them and that they kept out of the cache."""
        run = self._timeline()
        size, late = (cache or PromptCache(run)).views(self._views, every_call=not run.had_views)
        return size + self._unread_views, late

    def sentence(self) -> str:
        """The run in one line, for its end."""
        counts = self.counts
        done = _done(counts.suppressed, counts.elided, counts.partial, counts.nudged)
        if self.shadow:
            would = _done(counts.shadow_reuses, counts.shadow_elided, counts.shadow_partial, counts.shadow_nudges)
            wrong = f"; {counts.shadow_wrong} of the first wrongly" if counts.shadow_reuses else ""
            done = f"shadow: nothing changed; would have been {would}{wrong}"
        faults = f"; {quantity(counts.faults, 'fault')}" if counts.faults else ""
        return f"Ledger: {quantity(counts.proposed, 'command')}, {done}{faults}{self._ended_eliding()}"

    def _ended_eliding(self) -> str:
        """Why nothing was elided any more; "" if eliding went on to the end."""
        if self.stopped is None:
            return ""
        looked, settled = self.stopped
        return f"; eliding ended early, the model looked again after {looked} of {settled} references"

    def _decided(self, step: Step) -> None:
        """Count what was decided about a step and what was shown of it."""
        counts, decision, shown = self.counts, step.decision, step.shown
        before = isinstance(decision, Reuse)
        suppressed = before and shown.kind == "reference"
        counts.proposed += 1
        counts.ran += not suppressed
        counts.suppressed += suppressed
        counts.elided += shown.kind == "reference" and not suppressed
        counts.partial += shown.kind == "partial"
        counts.nudged += shown.kind == "remark"
        if self.shadow:
            counts.shadow_reuses += before
            counts.shadow_right += before and shown.compared in ("same", "covered")
            counts.shadow_wrong += before and shown.compared == "different"
            counts.shadow_elided += not before and shown.instead == "reference"
            counts.shadow_partial += not before and shown.instead == "partial"
            counts.shadow_nudges += not before and shown.instead == "remark"
        if before:
            self.reuses[decision.rule] += 1
            self.false_reuses += shown.compared == "different"
        elif "reference" in (shown.kind, shown.instead):
            self.elided[str(shown.compared)] += 1
        self.omissions += len(shown.lines) if shown.kind == "partial" else 0
        if isinstance(decision, Nudge):
            self.nudges[decision.rule] += 1

    def _weigh(self, step: Step, turn: int, size: int | None, at: int, truth: Observation | None) -> None:
        """Count what a step kept out of the model's input or added, and note the call that read the view before it."""
        shown, thread = step.shown, step.action.thread
        if thread in self._waiting_views:
            size_of_view = self._waiting_views.pop(thread)
            self._views.setdefault(thread, {})[turn] = size_of_view
            self._unread_views -= size_of_view
        if shown.kind == "remark":
            self._remarks.append((at, tokens_in(text_bytes(shown.text))))
        elif shown.kind == "reference" and size is not None:
            self._kept_out[turn] = self._kept_out.get(turn, 0) + size - text_bytes(shown.text)
            if not (isinstance(step.decision, Reuse) and shown.compared == "different"):
                self._spared.append((at, tokens_in(size) - tokens_in(text_bytes(shown.text))))
        elif shown.kind == "partial" and size is not None:
            left = text_bytes(step.observation.output) if truth is None else size - spared_bytes(shown, truth.output)
            for kept_out in (self._kept_out, self._spared_in_part):
                kept_out[turn] = kept_out.get(turn, 0) + size - left
            self._spared.append((at, tokens_in(size - left)))

    def _timeline(self) -> Timeline:
        """The run for the model of the cache: as it was recorded, else as far as its journal shows it."""
        return self._run or Timeline(
            model=self.model,
            turns=self.model_calls,
            steps=self._places,
            compactions=self._compactions,
            model_calls=self.calls,
            totals=self.took,
            governed=True,
            had_views=True,
        )

    def _size(self, step: Step, truth: Observation | None) -> int | None:
        """Bytes of the true output; of a command that did not run they are known if the same command ran before."""
        shown = step.shown
        if truth is not None and not truth.output_unknown:
            return output_bytes(truth)
        if truth is None and (shown.result is not None or shown.kind != "reference"):
            return shown.result.size if shown.result else output_bytes(step.observation)
        asked = _asked(step)
        earlier = (self._asked.get(at, (0, None)) for at in shown.refers_to)
        return next((size for command, size in earlier if command == asked), None)


def _asked(step: Step) -> int:
    """What tells one command from another, without keeping its text."""
    return hash((step.action.command, step.action.cwd))


def sentences(runs: Sequence[Account]) -> list[str]:
    """What Ledger did in one process, for its end, and where the journals of its runs are."""
    if not runs:
        return []
    counts = [run.counts for run in runs]
    names = ("suppressed", "elided", "partial", "nudged")
    done = _done(*(sum(getattr(one, name) for one in counts) for name in names))
    proposed, faults = (sum(getattr(one, name) for one in counts) for name in ("proposed", "faults"))
    many = f"Ledger: {len(runs)} runs, {quantity(proposed, 'command')}, {done}; {quantity(faults, 'fault')}"
    told = [runs[0].sentence() if len(runs) == 1 else many]
    prices = load_prices()
    # The runs of a proxy are in a deque, which has no slices.
    first, *others = (run.net(prices) for run in runs)
    net = sum(others, first)
    if net.saved_tokens != Tokens() or net.spent_tokens != Tokens():
        told.append(f"Ledger: {net.sentence()}")
    for folder in sorted({os.path.dirname(run.journal) for run in runs if run.journal}):
        stats = shlex.join(["execledger", "stats", *([folder] if folder != str(journal_folder()) else [])])
        told.append(f"Ledger: journals are in {folder}; `{stats}` adds them up")
    if unwritten := [run.unwritten for run in runs if run.unwritten]:
        told.append(f"Ledger: {quantity(len(unwritten), 'run')} without a complete journal: {unwritten[0]}")
    return told


def _done(suppressed: int, elided: int, partial: int, nudged: int) -> str:
    """What Ledger did with commands, in words."""
    in_part = f", {partial} in part" if partial else ""
    return f"{suppressed} reused before running, {elided} after{in_part}, {nudged} nudged"
