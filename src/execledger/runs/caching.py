"""How a provider's prompt cache serves a run, call by call: as the provider told it, else as is assumed here.

A history is only ever appended to, so each call sends again what the call before it sent. Of that, ``cached / input of
the call before`` was read from the cache, where the provider says so; where only the totals of a run are known, their
ratio; where nothing is, all of it. What is new to a call is uncached, or written where the provider charges for that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, zip_longest
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from execledger.runs.providers import caches_output, charges_for_writes
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import output_bytes
from execledger.runs.usage import UNKNOWN, ModelCall, Tokens, summed, tokens_in


class RunTokens(Struct, frozen=True):
    """The tokens of a run, as the provider counted them or as estimated; no count is unknown."""

    total: Tokens
    """All calls together."""
    calls: tuple[Tokens, ...]
    """Each call's tokens; empty where only their total is known."""
    estimated: bool
    """At least one call's tokens are estimated, not counted by the provider."""
    cached_told: bool = True
    """Whether any report, or the estimate, has a number of cached tokens, be it 0."""


def text_bytes(text: str) -> int:
    """The size of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def provider_total(run: Run) -> ModelCall | None:
    """What a run took as the provider counted it: the sum over its calls if every call has a count, else the total that
    the agent recorded, else the sum over the calls that have one. The cost is the one that the agent recorded."""
    every = len(run.model_calls) >= run.turns and all(call.tokens.input is not None for call in run.model_calls)
    in_all = run.totals is not None and run.totals.tokens.input is not None and not every
    total = run.totals if in_all else summed(run.model_calls) or run.totals
    return None if total is None else replace(total, cost=run.reported_cost)


def usage(run: Run) -> RunTokens:
    """The tokens of the model calls: as told for each, else for all of them, else estimated where they were not."""
    counted = [call.tokens.counted for call in run.model_calls]
    missing = len(counted) < run.turns or None in counted
    if missing and run.totals is not None and (total := run.totals.tokens.counted) is not None:
        return RunTokens(total, (), estimated=False, cached_told=run.totals.tokens.cached is not None)
    guessed = estimate(run) if missing else ()
    calls = tuple(one or guess or Tokens() for one, guess in zip_longest(counted, guessed))
    told = missing or not calls or any(call.tokens.cached is not None for call in run.model_calls)
    return RunTokens(sum(calls, Tokens()), calls, estimated=missing, cached_told=told)


def is_unknown(run: Run, own: RunTokens) -> bool:
    """Whether nothing is known of what a run took: an error ended it, and it has no model call and no count."""
    return not own.calls and (own.estimated or (run.failed and own.total == Tokens()))


def estimate(run: Run) -> Iterator[Tokens]:
    """The tokens of each model call, from the task, the commands and the outputs alone.

    System prompts, tool descriptions and what the model wrote beside its calls are left out, so the estimate is low.
    """
    charges = charges_writes(run)
    steps: dict[int, list[Recorded]] = {}
    for recorded in run.steps:
        steps.setdefault(recorded.turn, []).append(recorded)
    forgets = _forgets(run)
    task = text_bytes(run.task)
    history: dict[str, int] = {}
    sent: dict[str, int] = {}
    thread = ""
    for turn in range(run.turns):
        made = steps.get(turn, [])
        thread = made[0].action.thread if made else thread
        if turn in forgets:
            history, sent = {}, {}
        size, before = history.get(thread, task), sent.get(thread, 0)
        said = sum(text_bytes(one.action.command) for one in made if one.inherits is None)
        view = tokens_in(text_bytes(made[0].governed.view or "")) if made and made[0].governed else 0
        fresh, cached = tokens_in(size - before), tokens_in(before)
        uncached, written = (view, fresh) if charges else (fresh + view, 0)
        yield Tokens(uncached=uncached, cached=cached, written=written, output=tokens_in(said))
        # What a model wrote behind a view is not in the cache: the view stood between.
        sent[thread] = size + (0 if charges or view else said)
        history[thread] = size + said + sum(map(shown_bytes, made))


def shown_bytes(recorded: Recorded) -> int:
    """What the model was shown of a result, in bytes: the reference in its place where Ledger gave one."""
    governed = recorded.governed
    if governed is None or governed.step.shown.kind == "full":
        return output_bytes(recorded.observation)
    remark = governed.step.shown.text if governed.step.shown.kind == "remark" else ""
    return output_bytes(governed.step.observation) + text_bytes(remark)


class StepPlace(NamedTuple):
    """What the model of the cache reads of one step."""

    turn: int
    """The model call that proposed it."""
    thread: str
    """The conversation that it belongs to."""
    said: int | None
    """Bytes of its command, which the model wrote; None if the conversation inherited the step."""


class Timeline(Struct, frozen=True, kw_only=True):
    """A run as far as the model of the cache reads it, from a recorded run or from its journal."""

    model: str
    """The model."""
    turns: int
    """Calls of the model."""
    steps: Sequence[StepPlace]
    """The steps, in order."""
    compactions: Sequence[int] = ()
    """The steps before which the context was compacted."""
    model_calls: Sequence[ModelCall] = ()
    """What each call took, as far as that is known."""
    totals: ModelCall | None = None
    """What all calls took together, if that is known."""
    governed: bool = False
    """As ``Run.governed``."""
    had_views: bool = False
    """As ``Run.had_views``."""


def timeline(run: Run) -> Timeline:
    """The timeline of a recorded run."""
    return Timeline(
        model=run.model,
        turns=run.turns,
        steps=[
            StepPlace(one.turn, one.action.thread, None if one.inherits is not None else text_bytes(one.action.command))
            for one in run.steps
        ],
        compactions=run.compactions,
        model_calls=run.model_calls,
        totals=run.totals,
        governed=run.governed,
        had_views=run.had_views,
    )


def charges_writes(run: Run | Timeline) -> bool:
    """The provider charges for writing to its cache: it told of such tokens, or told nothing and is known for it.

    The totals of a journal do not have such tokens.
    """
    calls = [call.tokens for call in (*run.model_calls, run.totals or ModelCall())]
    if not run.governed and any(tokens.input is not None for tokens in calls):
        return any(tokens.written for tokens in calls)
    return charges_for_writes(run.model)


class PromptCache:
    """What text costs that enters a run's history, and what a state view keeps out of the cache."""

    def __init__(self, run: Timeline) -> None:
        """The cache of a run, as far as its timeline shows it."""
        self.charges_writes = charges_writes(run)
        """What is new to a call is written at a price of its own."""
        self.threads = _threads(run)
        """The model calls of each conversation, in order."""
        self._run = run
        self._forgets = _forgets(run)
        self._hits = {thread: self._shares(calls) for thread, calls in self.threads.items()}
        self._said: dict[int, int] = {}
        for step in run.steps:
            if step.said is not None:
                self._said[step.turn] = self._said.get(step.turn, 0) + step.said

    def sent(self, size: int, index: int) -> Tokens:
        """What ``size`` tokens cost in the result of step ``index``: new to the next call, sent again with each later
        call until the conversation ends or is compacted."""
        step = self._run.steps[index]
        calls, hits = self.threads[step.thread], self._hits[step.thread]
        first, end = bisect_right(calls, step.turn), bisect_left(calls, self._end(index))
        if first >= end:
            return Tokens()
        cached = round(size * (hits[end] - hits[first + 1]))
        fresh = size * (end - first) - cached
        return Tokens(cached=cached, written=fresh) if self.charges_writes else Tokens(cached=cached, uncached=fresh)

    def views(self, sizes: Mapping[str, Mapping[int, int]], *, every_call: bool) -> tuple[int, int]:
        """Tokens of state views, and tokens that they keep out of the cache.

        ``sizes`` has the view's tokens by conversation and model call. With ``every_call``, a call without steps is
        assumed to have read the view before it: a replay makes views only for calls that proposed something.
        """
        total = displaced = 0
        for thread, views in sizes.items():
            size = 0
            for turn in self.threads[thread]:
                size = views.get(turn, size if every_call else 0)
                total += size
                displaced += self.displaced(thread, turn) if size else 0
        return total, displaced

    def displaced(self, thread: str, turn: int) -> int:
        """Tokens that the model wrote in call ``turn`` and that a view would have kept out of the next call's cache.

        The view is between them and the history, so what the next call shares with this one ends before them. Where
        the provider reported how far the cache reached without a view, only what it reached of them counts.
        """
        said = self.generated(thread, turn)
        if self._run.had_views:
            return said
        behind = self._next(thread, turn)
        here, reached = self._call(turn).input, self._call(behind).cached if behind is not None else None
        return min(said, max(reached - here, 0)) if here is not None and reached is not None else said

    def generated(self, thread: str, turn: int) -> int:
        """Tokens that the model wrote in call ``turn``, and that the next call sends again and may find cached.

        None are, where the provider caches only what was sent, by its own count or as is known of it: views may be why
        the counts of a run that had them show nothing of the output in the cache. Reasoning is not sent again, so of
        the output at most what the input grew by counts.
        """
        behind = self._next(thread, turn)
        if behind is None or self.charges_writes:
            return 0
        here, there = self._call(turn), self._call(behind)
        if (here.input is None or self._run.had_views) and not caches_output(self._run.model):
            return 0
        said = here.output if here.output is not None else tokens_in(self._said.get(turn, 0))
        grown = there.input - here.input if here.input is not None and there.input is not None else said
        return max(min(said, grown), 0)

    def _next(self, thread: str, turn: int) -> int | None:
        """The call that goes on with the history of call ``turn``; None at an end or before a compaction."""
        calls = self.threads[thread]
        at = bisect_right(calls, turn)
        behind = calls[at] if at < len(calls) else None
        return None if behind is None or any(turn < one <= behind for one in self._forgets) else behind

    def _end(self, index: int) -> int:
        """The first model call that no longer reads the result of step ``index``."""
        at = bisect_right(self._run.compactions, index)
        return self._forgets[at] if at < len(self._forgets) else self._run.turns

    def _call(self, turn: int) -> Tokens:
        calls = self._run.model_calls
        return calls[turn].tokens if turn < len(calls) else UNKNOWN

    def _shares(self, calls: Sequence[int]) -> list[float]:
        """For each call of a conversation, the share of what was sent before that it read from the cache; summed up."""
        before = chain((None,), calls)
        return [0.0, *accumulate(self._share(one, turn) for one, turn in zip(before, calls, strict=False))]

    def _share(self, before: int | None, turn: int) -> float:
        cached, sent = self._call(turn).cached, self._call(before).input if before is not None else None
        if cached is None or not sent:
            total = (self._run.totals or ModelCall()).tokens
            cached, sent = total.cached, total.input
        return 1.0 if cached is None or not sent else min(cached / sent, 1.0)


def _forgets(run: Run | Timeline) -> list[int]:
    """The model calls before which the context was compacted."""
    return [run.steps[at].turn for at in run.compactions if at < len(run.steps)]


def _threads(run: Timeline) -> dict[str, Sequence[int]]:
    """The model calls of each conversation. Where there are several, those of its calls that proposed something."""
    turns: dict[str, set[int]] = {}
    for step in run.steps:
        if step.said is not None:
            turns.setdefault(step.thread, set()).add(step.turn)
    if len(turns) == 1:
        return {thread: range(run.turns) for thread in turns}
    return {thread: sorted(found) for thread, found in turns.items()}
