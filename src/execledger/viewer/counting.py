"""The line of a run in the list, from its account: the same for the list and for the run's own page.

A journal is counted on where it has grown; another run is replayed, call by call (``told_calls``).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from msgspec import Struct

from execledger.agents.formats import read_run
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.task import task_anchor, task_title
from execledger.core.wording import clip
from execledger.journal.events import Counts, Started
from execledger.journal.reader import JournalReader, is_journal, valid_utf8
from execledger.runs.account import Account
from execledger.runs.decoding import instance_of
from execledger.runs.journals import FORMAT as JOURNAL
from execledger.runs.prices import Prices, load_prices
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import INHERITED, Replayed, new_ledger, replay
from execledger.runs.usage import Tokens
from execledger.session.adapter import Resolve
from execledger.vocabulary.decisions import Decision, Nudge, Reuse, Shown, Step

TASK_BYTES = 200
"""Bytes of the task that the list shows."""
TITLE_BYTES = 120
"""Bytes of the title of a run."""
ANCHOR_BYTES = 10_000
"""Bytes of the task anchor in which its title is looked for."""


class RunLine(Counts, kw_only=True):
    """One run in the list: all counts of its account, further numbers, and which run it is."""

    steps: int = 0
    """Commands that the agent proposed."""
    turns: int = 0
    """Calls of the model."""
    reuses: int = 0
    """Commands that a reference answered before they ran; if ``hypothetical``, those that it would have answered."""
    elided: int = 0
    """Commands with a reference in place of their output; if ``hypothetical``, those that would have had one."""
    partial: int = 0
    """Commands with references in place of some lines; if ``hypothetical``, those that would have had them."""
    nudges: int = 0
    """Commands with a remark behind their output; if ``hypothetical``, those that would have had one."""
    hypothetical: bool = False
    """It is a replay or ran in shadow mode: what Ledger decided in it was not done, and would have been."""
    shadow: bool = False
    """It ran in shadow mode: nothing was changed."""
    input_tokens: int | None = None
    """Tokens of input, cached ones included, as the provider counted them, else estimated; None where neither is."""
    uncached_tokens: int | None = None
    """Those of them that were neither read from a cache nor written to one at a price of its own."""
    written_tokens: int | None = None
    """Those of them that were written to a cache, where the provider charges for that."""
    cached_tokens: int | None = None
    """Those of them that were read from a cache."""
    output_tokens: int | None = None
    """Tokens of output, as the provider counted them, else estimated."""
    estimated: bool = False
    """Its tokens are estimated from bytes, at least in part: the provider's count is not recorded."""
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
    title: str = ""
    """The first line of the task, else the task's name; "" where neither is recorded."""
    task: str = ""
    """What the task is about, on one line: the task anchor, or the title where the anchor is the harness's words."""
    saved_bytes: int = 0
    """What references kept out of the model's input, counted once for every later call of the model."""
    saved_uncached_tokens: int = 0
    """Tokens that references kept out where they would have been uncached, estimated."""
    saved_written_tokens: int = 0
    """Tokens that references kept out where they would have been written to the cache, estimated."""
    saved_cached_tokens: int = 0
    """Tokens that references kept out where they would have been read from the cache, estimated."""
    saved_cost: float = 0.0
    """Dollars for both."""
    view_tokens: int = 0
    """Tokens that state views took uncached, with those that they kept out of the cached prefix, estimated."""
    displaced_tokens: int = 0
    """Those of them that would have been cached without a view."""
    view_cost: float = 0.0
    """Dollars for both."""
    remark_uncached_tokens: int = 0
    """Tokens that remarks took where they were uncached, estimated."""
    remark_written_tokens: int = 0
    """Tokens that remarks took where they were written to the cache, estimated."""
    remark_cached_tokens: int = 0
    """Tokens that remarks took where they were read from the cache, estimated."""
    remark_cost: float = 0.0
    """Dollars for all three."""
    spent_cost: float = 0.0
    """Dollars for state views and remarks."""
    net_uncached_tokens: int = 0
    """Uncached tokens that references kept out less those that state views and remarks took, estimated; negative if
    these took more."""
    net_written_tokens: int = 0
    """The same of tokens written to the cache."""
    net_cached_tokens: int = 0
    """The same of cached tokens, with those that views kept out of the cached prefix."""
    net_cost: float = 0.0
    """Dollars for all three: saved less spent."""
    run_cost: float | None = None
    """Dollars that the run took, as the agent recorded them, else by its tokens; None where these are not known."""
    price_date: str = ""
    """The day of the price table."""
    priced_as: str = ""
    """The model whose prices they are; ``(assumed)`` is behind its name where the run's own model has none."""
    assumed_price: bool = False
    """The price table does not have the run's model, so that dollars by the table are at the assumed price."""
    started: float | None = None
    """When it began, in seconds since 1970, as far as that is recorded; None where no time is."""
    replayed: bool = False
    """It is replayed, not told by its journal: what is counted is what the replay decides."""
    took_part: bool = False
    """It is replayed though Ledger took part in it: its tokens are those after Ledger's edits."""
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
    instance: str = ""
    """The task's name, such as an instance of SWE-bench."""
    started: float | None = None
    """The first time that is recorded in it, in seconds since 1970."""
    replayed: bool = False
    """It is replayed; otherwise its journal tells what was done."""
    took_part: bool = False
    """It is replayed though Ledger took part in it, and not in shadow mode."""

    @classmethod
    def of_run(cls, run: Run) -> Origin:
        """The origin of a recorded run that is replayed."""
        same = {name: getattr(run, name) for name in cls.__struct_fields__ if name != "replayed"}
        return cls(**same, replayed=True)

    @classmethod
    def of_journal(cls, name: str, start: Started) -> Origin:
        """The origin of a run with a journal, from the journal's start."""
        same = {name: getattr(start, name) for name in ("agent", "model", "task")}
        return cls(name=name, format=JOURNAL, **same, instance=instance_of(f"{name}/{start.run}"), started=start.at)


def is_hypothetical(account: Account, origin: Origin) -> bool:
    """Whether what Ledger decided in a run was not done: it is a replay or was in shadow mode."""
    return origin.replayed or account.shadow


def run_line(account: Account, origin: Origin, *, live: bool = False) -> RunLine:
    """The line of a run in the list; in shadow mode it has what would have been done."""
    prices = load_prices()
    counts, net, shadow = account.counts, account.net(prices), account.shadow
    tokens = account.tokens if account.estimated is None else account.estimated
    same = {name: getattr(counts, name) for name in counts.__struct_fields__}
    done = {"elided": counts.shadow_elided, "partial": counts.shadow_partial} if shadow else {}
    return RunLine(
        **(same | done),
        steps=counts.proposed,
        turns=account.model_calls,
        reuses=counts.shadow_reuses if shadow else counts.suppressed,
        nudges=counts.shadow_nudges if shadow else counts.nudged,
        hypothetical=is_hypothetical(account, origin),
        shadow=shadow,
        input_tokens=tokens.input,
        uncached_tokens=tokens.uncached,
        written_tokens=tokens.written,
        cached_tokens=tokens.cached,
        output_tokens=tokens.output,
        estimated=account.estimated is not None,
        cost=account.took.cost,
        ended=account.ended,
        id=run_id(origin.name),
        name=origin.name,
        format=origin.format,
        agent=origin.agent,
        model=origin.model,
        title=task_title(origin.task, TITLE_BYTES) or origin.instance,
        task=task_in_short(origin.task, TASK_BYTES),
        saved_bytes=account.saved_bytes,
        saved_uncached_tokens=net.saved_tokens.uncached or 0,
        saved_written_tokens=net.saved_tokens.written or 0,
        saved_cached_tokens=net.saved_tokens.cached or 0,
        saved_cost=net.saved,
        view_tokens=net.view_tokens.uncached or 0,
        displaced_tokens=-(net.view_tokens.cached or 0),
        view_cost=net.views,
        remark_uncached_tokens=net.remark_tokens.uncached or 0,
        remark_written_tokens=net.remark_tokens.written or 0,
        remark_cached_tokens=net.remark_tokens.cached or 0,
        remark_cost=net.remarks,
        spent_cost=net.spent,
        net_uncached_tokens=net.net_tokens.uncached or 0,
        net_written_tokens=net.net_tokens.written or 0,
        net_cached_tokens=net.net_tokens.cached or 0,
        net_cost=net.net,
        run_cost=account.took.cost if account.took.cost is not None else _run_cost(tokens, origin.model, prices),
        price_date=prices.day(account.model),
        priced_as=prices.charged(account.model)[0],
        assumed_price=prices.price(origin.model) is None,
        started=origin.started,
        replayed=origin.replayed,
        took_part=origin.took_part,
        live=live,
    )


def task_in_short(task: str, budget: int) -> str:
    """What a task is about in at most ``budget`` bytes: its anchor, or its title where the anchor does not have that.

    Without a tagged body the anchor is the first paragraph, which may be the same words before every issue.
    """
    title, anchor = (words(task, max(budget, ANCHOR_BYTES)) for words in (task_title, task_anchor))
    return clip(anchor if title in anchor else title, budget)


def _run_cost(tokens: Tokens, model: str, prices: Prices) -> float | None:
    """Dollars for the tokens of a run under the table; None where they are not known."""
    counted = tokens.counted
    return None if counted is None else prices.charged(model)[1].cost(counted)


ADDED = (
    "steps",
    "turns",
    "uncached_tokens",
    "written_tokens",
    "cached_tokens",
    "output_tokens",
    "saved_uncached_tokens",
    "saved_written_tokens",
    "saved_cached_tokens",
    "saved_cost",
    "view_tokens",
    "displaced_tokens",
    "view_cost",
    "remark_uncached_tokens",
    "remark_written_tokens",
    "remark_cached_tokens",
    "remark_cost",
    "spent_cost",
    "net_uncached_tokens",
    "net_written_tokens",
    "net_cached_tokens",
    "net_cost",
    "run_cost",
)
"""The fields of a line that are added up over the runs of a list."""


class PriceBasis(Struct, frozen=True):
    """What the dollars of the runs of a list rest on."""

    date: str
    """The day of the price table."""
    models: list[str]
    """The models whose prices are used; ``(assumed)`` is behind the name of the one that unknown models are given."""
    assumed: int
    """How many runs are at the assumed price: the table does not have their model."""
    recorded: int
    """Of how many runs the cost is as the agent recorded it; that of others is by their tokens and the table."""
    assumed_costs: int
    """Of how many runs the cost is by the table and at the assumed price."""


class ListTotals(Struct, frozen=True):
    """Runs of one kind in a list, added up.

    The kinds are journals, runs in shadow mode, replayed runs that Ledger took part in, and other replayed runs.
    """

    shadow: bool
    """They ran in shadow mode: Ledger changed nothing, so that nothing was saved or spent."""
    replayed: bool
    """They are replayed: what is added up is what the replays decide."""
    took_part: bool
    """They are replayed though Ledger took part in them: their tokens are those after its edits."""
    runs: int
    """How many they are, without those that are not counted yet."""
    sums: dict[str, float | None]
    """By field of their lines, the sum over those that know it; None if none does."""
    known: dict[str, int]
    """By field of their lines, how many know it."""
    estimated: dict[str, int]
    """How many of these are estimates, of tokens (``uncached_tokens``) and of cost (``run_cost``).

    A cost by the table is one where tokens are estimated or the price is assumed.
    """
    beside: dict[str, dict[str, float | None]]
    """The sums over only those whose tokens (``uncached_tokens``) or whose cost (``run_cost``) are known."""
    prices: PriceBasis
    """What the dollars rest on."""


def totals(lines: Iterable[RunLine]) -> list[ListTotals]:
    """The totals of each kind of runs, as far as there are any."""
    journals, replays = (False, False, False), (False, True, False)
    with_ledger, shadow = (False, True, True), (True, False, False)
    kinds: dict[tuple[bool, bool, bool], list[RunLine]] = {
        kind: [] for kind in (journals, shadow, with_ledger, replays)
    }
    for line in lines:
        if not line.pending:
            kinds[shadow if line.shadow else (False, line.replayed, line.took_part)].append(line)
    return [_total(*kind, of_kind) for kind, of_kind in kinds.items() if of_kind]


def _total(shadow: bool, replayed: bool, took_part: bool, lines: list[RunLine]) -> ListTotals:
    of_known = {name: [line for line in lines if getattr(line, name) is not None] for name in ADDED}
    return ListTotals(
        shadow=shadow,
        replayed=replayed,
        took_part=took_part,
        runs=len(lines),
        sums=_sums(lines),
        known={name: len(found) for name, found in of_known.items()},
        estimated={
            "uncached_tokens": sum(line.estimated for line in lines),
            "run_cost": sum(line.estimated or line.assumed_price for line in of_known["run_cost"] if line.cost is None),
        },
        beside={name: _sums(of_known[name]) for name in ("uncached_tokens", "run_cost")},
        prices=PriceBasis(
            date=lines[0].price_date,
            models=sorted({line.priced_as for line in lines}),
            assumed=sum(line.assumed_price for line in lines),
            recorded=sum(line.cost is not None for line in lines),
            assumed_costs=sum(line.assumed_price for line in of_known["run_cost"] if line.cost is None),
        ),
    )


def _sums(lines: list[RunLine]) -> dict[str, float | None]:
    """By field, the sum over those that know it; None if none does."""
    known = {name: [value for line in lines if (value := getattr(line, name)) is not None] for name in ADDED}
    return {name: sum(values) if values else None for name, values in known.items()}


class Call(Struct, frozen=True):
    """The result of replaying one call."""

    decision: Decision
    """What is decided."""
    shown: Shown
    """What the model would be shown."""
    view: str
    """The state view that the model would read before it; "" if there is none."""

    def step(self, recorded: Recorded) -> Step:
        """The step that it and the recorded call make."""
        return Step(recorded.action, self.decision, recorded.observation, self.shown, inherits=recorded.inherits)


INHERITED_CALL = Call(INHERITED, Shown("full"), "")
"""The result for a call that a conversation inherited."""


def told_calls(run: Run, ledger: Ledger, account: Account) -> Iterator[Call]:
    """Every call of ``run`` in order, replayed in ``ledger`` and added to ``account``."""
    views: dict[str, tuple[int, str]] = {}
    told = 0
    for replayed in replay(run, ledger=ledger):
        # Inherited calls are recorded on the way to the next one.
        yield from _inherited(run, told, replayed.index, account)
        call = Call(replayed.decision, replayed.shown, _view(replayed, views))
        account.add_replayed(replayed)
        told = replayed.index + 1
        yield call
    yield from _inherited(run, told, len(run.steps), account)


def _inherited(run: Run, first: int, end: int, account: Account) -> Iterator[Call]:
    for recorded in run.steps[first:end]:
        account.add_step(INHERITED_CALL.step(recorded), recorded.turn, truth=recorded.observation)
        yield INHERITED_CALL


def _view(replayed: Replayed, views: dict[str, tuple[int, str]]) -> str:
    """The view that the model would have read before this turn."""
    thread, turn = replayed.recorded.action.thread, replayed.recorded.turn
    if replayed.view is not None:
        views[thread] = (turn, replayed.view.text)
    of_turn, text = views.get(thread, (-1, ""))
    return text if of_turn == turn else ""


class JournalTally:
    """What a journal came to, as far as it was read."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Begin with the first line of ``file``; raises ``UnreadableRun`` if it is not the start of a journal."""
        self.lines = JournalReader(name, file)
        """How far it was read."""
        self._name = name
        self._account = Account()
        self._account.add(self.lines.start)

    @property
    def start(self) -> Started:
        """What run it is."""
        return self.lines.start

    @property
    def over(self) -> bool:
        """Its end is recorded."""
        return self._account.over

    def read_on(self, file: BinaryIO) -> None:
        """Count what ``file`` holds behind what was read of it."""
        file.seek(self.lines.offset)
        while (found := self.lines.next(file)) is not None:
            self._account.add(found[1])

    def line(self) -> RunLine:
        """The run in one line."""
        return run_line(self._account, Origin.of_journal(self._name, self.start))


def tallied(name: str, data: bytes, policy: Policy | None, resolve: Resolve | None) -> tuple[RunLine, bool]:
    """The line of one run, and whether its end is recorded; a journal tells what happened, another run is replayed."""
    if policy is None and is_journal(data):
        journal = JournalTally(name, io.BytesIO(data))
        journal.read_on(io.BytesIO(data))
        return journal.line(), journal.over
    run = read_run(name, valid_utf8(data), resolve)
    ledger = new_ledger(run, policy)
    account = Account.of_run(run, ledger.policy)
    for _ in told_calls(run, ledger, account):
        pass
    return run_line(account, Origin.of_run(run)), True


def mark_of(step: Step, *, hypothetical: bool) -> str:
    """What Ledger did with a step: "" if nothing, and ``would-`` in front where it only would have.

    ``hypothetical``: the step is one of a replay or of a run in shadow mode.
    """
    decision, shown = step.decision, step.shown
    if isinstance(decision, Reuse):
        mark, done = "reuse", shown.kind == "reference"
    elif shown.instead is not None:
        mark, done = shown.instead, False
    elif shown.kind != "full":
        mark, done = shown.kind, True
    else:
        mark, done = "nudge" if isinstance(decision, Nudge) else "", True
    return f"would-{mark}" if mark and (hypothetical or not done) else mark


def run_id(name: str) -> str:
    """The id of the run that was found at ``name``."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
