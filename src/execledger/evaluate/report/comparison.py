"""An arm with Ledger against the base: what each measure came to, how it changed, and how sure that is.

Totals are over the instances for which both arms know the measure, and an instance counts with the mean of its trials:
``total = sum over instances of (mean over trials)``, which for equal trials is the mean of the trials' totals.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from operator import attrgetter
from statistics import fmean

from msgspec import Struct

from execledger.core.rereads import TITLES
from execledger.evaluate.arms import Arm
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.cells import Unit
from execledger.evaluate.statistics import (
    Floats,
    Interval,
    Paired,
    Spread,
    mcnemar,
    paired_bootstrap,
    paired_outcomes,
    pass_at_1,
    relative_change,
    rru,
    spread,
)
from execledger.runs.usage import Tokens

Of = Callable[[RunRow], float | None]
Column = dict[str, tuple[float, float]]


class Measure(Struct, frozen=True, kw_only=True):
    """One thing that is measured of a run, and how runs add up: a sum, or a sum in relation to another."""

    name: str
    """Its key."""
    title: str
    """Its name in tables."""
    unit: Unit
    """How it is written."""
    of: Of
    """The number of one run; None where it is not known."""
    per: Of | None = None
    """What it is in relation to."""
    optional: bool = False
    """Whether a table leaves it out where it is zero: most providers charge nothing for writing to a cache."""
    from_tokens: bool = False
    """Whether it rests on tokens, which may be estimated."""


def _tokens(number: Callable[[Tokens], int]) -> Of:
    return lambda row: None if row.tokens is None else number(row.tokens)


COST = Measure(name="cost", title="Total cost (USD)", unit=Unit.MONEY, of=lambda row: row.cost, from_tokens=True)
COST_PER_RESOLVED = Measure(
    name="cost_per_resolved",
    title="Cost per resolved instance",
    unit=Unit.SMALL_MONEY,
    of=lambda row: row.cost,
    per=lambda row: row.resolved,
    from_tokens=True,
)
INPUT = Measure(
    name="input_tokens", title="Input tokens", unit=Unit.TOKENS, of=_tokens(lambda t: t.input), from_tokens=True
)
CACHE_HITS = Measure(
    name="cache_hit_rate",
    title="Cache-hit rate",
    unit=Unit.SHARE,
    of=_tokens(lambda t: t.cached),
    per=_tokens(lambda t: t.input),
    from_tokens=True,
)
MODEL_CALLS = Measure(name="model_calls", title="Model calls", unit=Unit.COUNT, of=lambda row: row.model_calls)
REREADS = Measure(name="rereads", title="Redundant snippet re-reads", unit=Unit.COUNT, of=lambda row: row.rereads)
EFFICIENCY = (
    COST,
    Measure(
        name="view_cost",
        title="  of this, state views",
        unit=Unit.MONEY,
        of=lambda row: 0.0 if row.arm in ("base", "shadow") else row.view_cost,
        from_tokens=True,
        optional=True,
    ),
    COST_PER_RESOLVED,
    INPUT,
    Measure(name="cached", title="  cached", unit=Unit.TOKENS, of=_tokens(lambda t: t.cached), from_tokens=True),
    Measure(name="uncached", title="  uncached", unit=Unit.TOKENS, of=_tokens(lambda t: t.uncached), from_tokens=True),
    Measure(
        name="written",
        title="  written",
        unit=Unit.TOKENS,
        of=_tokens(lambda t: t.written),
        from_tokens=True,
        optional=True,
    ),
    CACHE_HITS,
    Measure(
        name="output_tokens", title="Output tokens", unit=Unit.TOKENS, of=_tokens(lambda t: t.output), from_tokens=True
    ),
    MODEL_CALLS,
    Measure(name="executed", title="Executed commands", unit=Unit.COUNT, of=lambda row: row.executed),
    REREADS,
    *(
        Measure(name=name, title=title, unit=Unit.COUNT, of=attrgetter(name), optional=True)
        for name, title in TITLES.items()
        if name != REREADS.name
    ),
)


class Change(Struct, frozen=True, kw_only=True):
    """A measure without and with Ledger."""

    base: float | None
    """Without."""
    ledger: float | None
    """With."""
    change: float | None
    """The relative change; of shares, the difference."""
    interval: Interval | None
    """Where the change lies."""
    instances: int
    """How many instances it is taken over; 0 where the arms have none in common."""


class Resolution(Struct, frozen=True, kw_only=True):
    """How many instances an arm resolved."""

    resolved: float
    """Instances resolved; with several trials, the sum of the shares of trials that resolved each."""
    instances: int
    """Instances that were graded, at least one."""
    trials: Spread | None
    """Pass@1 by trial; None where the trials do not have the same instances."""

    @property
    def rate(self) -> float:
        """Pass@1: ``resolved / instances``."""
        return self.resolved / self.instances


class Gain(Struct, frozen=True, kw_only=True):
    """The resolution of both arms, over the instances that were graded in both."""

    base: Resolution | None
    """Without Ledger; None where nothing was graded."""
    ledger: Resolution | None
    """With it; None where nothing was graded."""
    difference: float | None
    """Pass@1 with less Pass@1 without."""
    interval: Interval | None
    """Where the difference lies."""
    rru: float | None
    """The relative reduction in unresolved instances."""
    pairs: dict[int, Paired]
    """The paired outcomes of each trial that both arms have."""

    @property
    def p_values(self) -> tuple[float, ...]:
        """McNemar's test of each trial."""
        return tuple(mcnemar(len(pair.recovered), len(pair.regressed)) for pair in self.pairs.values())


def column(measure: Measure, arm: Arm) -> Column:
    """The measure by instance, and what it is in relation to: means over the runs that know both."""
    found: Column = {}
    for instance, runs in arm.runs.items():
        known = [(measure.of(row), measure.per(row) if measure.per else 1.0) for row in runs]
        pairs = [(of, per) for of, per in known if of is not None and per is not None]
        if pairs:
            found[instance] = fmean(of for of, _ in pairs), fmean(per for _, per in pairs)
    return found


def total(measure: Measure, values: Column, instances: Collection[str]) -> float | None:
    """The sum over these instances, in relation to the other sum where the measure has one; None of nothing."""
    if not instances:
        return None
    over = sum(values[name][0] for name in instances)
    if measure.per is None:
        return over
    under = sum(values[name][1] for name in instances)
    return over / under if under else None


def sole(measure: Measure, arm: Arm) -> float | None:
    """The measure of one arm, over the instances for which it is known."""
    values = column(measure, arm)
    return total(measure, values, values)


def compare(measure: Measure, base: Arm, ledger: Arm) -> Change:
    """The measure of both arms, over the instances where both know it; each over its own if there is none."""
    without, with_ledger = column(measure, base), column(measure, ledger)
    common = sorted(without.keys() & with_ledger.keys())
    before = total(measure, without, common or without)
    after = total(measure, with_ledger, common or with_ledger)
    change = interval = None
    if common and before is not None and after is not None:
        change = after - before if measure.unit is Unit.SHARE else relative_change(before, after)
        columns = [[side[name][part] for name in common] for side in (without, with_ledger) for part in (0, 1)]
        interval = paired_bootstrap(columns, _statistic(measure))
    return Change(base=before, ledger=after, change=change, interval=interval, instances=len(common))


def _statistic(measure: Measure) -> Callable[..., Floats]:
    def changed(before: Floats, before_per: Floats, after: Floats, after_per: Floats) -> Floats:
        if measure.per is not None:
            before, after = before / before_per, after / after_per
        return after - before if measure.unit is Unit.SHARE else after / before - 1

    return changed


def resolution(arm: Arm) -> Resolution | None:
    """The resolution of one arm, over its graded instances; None if there is none."""
    shares = _shares(arm)
    if not shares:
        return None
    by_trial = [arm.outcomes(trial) for trial in arm.trials]
    even = all(outcomes.keys() == shares.keys() for outcomes in by_trial)
    rates = [pass_at_1(outcomes.values()) for outcomes in by_trial if outcomes]
    return Resolution(resolved=sum(shares.values()), instances=len(shares), trials=spread(rates) if even else None)


def gain(base: Arm, ledger: Arm) -> Gain:
    """The resolution of both arms over the instances graded in both; each over its own if there is none."""
    without, with_ledger = _shares(base), _shares(ledger)
    common = sorted(without.keys() & with_ledger.keys())
    before = resolution(base.over(common) if common else base)
    after = resolution(ledger.over(common) if common else ledger)
    pairs = {
        trial: paired_outcomes(base.outcomes(trial), ledger.outcomes(trial))
        for trial in sorted({*base.trials} & {*ledger.trials})
        if base.outcomes(trial).keys() & ledger.outcomes(trial).keys()
    }
    difference = interval = reduction = None
    if common:
        columns = [[side[name] for name in common] for side in (without, with_ledger)]
        rates = fmean(columns[0]), fmean(columns[1])
        difference, reduction = rates[1] - rates[0], rru(*rates)
        interval = paired_bootstrap(columns, lambda b, a: (a - b) / len(common))
    return Gain(base=before, ledger=after, difference=difference, interval=interval, rru=reduction, pairs=pairs)


def _shares(arm: Arm) -> dict[str, float]:
    """The share of graded runs that resolved each instance."""
    graded = {name: [row.resolved for row in runs if row.resolved is not None] for name, runs in arm.runs.items()}
    return {name: fmean(outcomes) for name, outcomes in graded.items() if outcomes}
