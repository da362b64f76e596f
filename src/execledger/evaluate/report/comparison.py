"""Compares an arm with Ledger with the base: totals of each measure, their change, and its confidence interval.

Totals are over the instances for which the measure is known in both arms. An instance counts with the mean of its
trials: ``total = sum over instances of (mean over trials)``, which for equal trials is the mean of the trials' totals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from statistics import fmean

from msgspec import Struct

from execledger.core.rereads import TITLES
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import Arm
from execledger.evaluate.report.table import Unit
from execledger.evaluate.statistics import (
    ROUNDING,
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
from execledger.runs.account import METRICS
from execledger.runs.usage import Tokens

Of = Callable[[RunRow], float | None]
Column = dict[str, tuple[float, float]]


class Measure(Struct, frozen=True, kw_only=True):
    """A quantity of a run, and how it is totalled over runs: as a sum, or as the ratio of two sums."""

    name: str
    """Identifier."""
    title: str
    """Title in tables."""
    unit: Unit
    """Unit, which decides the format."""
    of: Of
    """Function from a run's row to the quantity; None if it is not known."""
    per: Of | None = None
    """Function from a run's row to the denominator of a ratio; None for a plain sum."""
    optional: bool = False
    """True if tables omit it where it is zero: most providers charge nothing for writing to a cache."""
    from_tokens: bool = False
    """True if it is derived from tokens, which may be estimated."""
    of_classes: bool = False
    """True if it is a sum of classes of tokens with different prices: it has totals and is not compared."""
    by_class: bool = False
    """True if it depends on which tokens of input came from a cache."""

    @property
    def input_class(self) -> bool:
        """Whether it is a class of input, or its share: unknown where no cached tokens are reported, unlike dollars."""
        return self.by_class and self.unit in (Unit.TOKENS, Unit.SHARE)


def _tokens(number: Callable[[Tokens], int | None]) -> Of:
    return lambda row: None if row.tokens is None else number(row.tokens)


def _input_class(number: Callable[[Tokens], int | None]) -> Of:
    """Return a function to a class of input: unknown where no cached tokens were reported, though the cost is not."""
    return lambda row: None if row.tokens is None or not row.cached_told else number(row.tokens)


def _counted(name: str, title: str, *, optional: bool = False) -> Measure:
    return Measure(name=name, title=title, unit=Unit.COUNT, of=lambda row: row.count(name), optional=optional)


COST = Measure(
    name="cost",
    title="Total cost (USD)",
    unit=Unit.MONEY,
    of=lambda row: row.cost,
    from_tokens=True,
    by_class=True,
)
COST_PER_RESOLVED = Measure(
    name="cost_per_resolved",
    title="Cost per resolved instance",
    unit=Unit.SMALL_MONEY,
    of=lambda row: row.cost,
    per=lambda row: row.resolved,
    from_tokens=True,
    by_class=True,
)
INPUT = Measure(
    name="input_tokens",
    title="Input tokens",
    unit=Unit.TOKENS,
    of=_tokens(lambda t: t.input),
    from_tokens=True,
    of_classes=True,
)
CACHED_INPUT = Measure(
    name="cached",
    title="  cached",
    unit=Unit.TOKENS,
    of=_input_class(lambda t: t.cached),
    from_tokens=True,
    by_class=True,
)
UNCACHED_INPUT = Measure(
    name="uncached",
    title="  uncached",
    unit=Unit.TOKENS,
    of=_input_class(lambda t: t.uncached),
    from_tokens=True,
    by_class=True,
)
WRITTEN_INPUT = Measure(
    name="written",
    title="  written",
    unit=Unit.TOKENS,
    of=_input_class(lambda t: t.written),
    from_tokens=True,
    by_class=True,
    optional=True,
)
NEW_INPUT = Measure(
    name="new_input_tokens",
    title="New input tokens",
    unit=Unit.TOKENS,
    of=_input_class(lambda t: None if t.uncached is None else t.uncached + (t.written or 0)),
    from_tokens=True,
    by_class=True,
)
CACHE_HITS = Measure(
    name="cache_hit_rate",
    title="Cache-hit rate",
    unit=Unit.SHARE,
    of=_input_class(lambda t: t.cached),
    per=_tokens(lambda t: t.input),
    from_tokens=True,
    by_class=True,
)
MODEL_CALLS = Measure(name="model_calls", title="Model calls", unit=Unit.COUNT, of=lambda row: row.model_calls)
REREADS = _counted("rereads", "Redundant snippet re-reads")


def _estimated(name: str, title: str, unit: Unit = Unit.TOKENS, *, needs_cost: bool = False) -> Measure:
    """Return the measure of a field that is estimated from bytes; it is 0 where Ledger changed nothing.

    With ``needs_cost`` it is unknown where the cost of the run is.
    """

    def of(row: RunRow) -> float | None:
        if needs_cost and row.cost is None:
            return None
        value: float | None = 0.0 if row.arm in ("base", "shadow") else getattr(row, name)
        return value

    return Measure(name=name, title=title, unit=unit, of=of, from_tokens=True, optional=True)


SAVED_NEW = _estimated("saved_new_tokens", "Saved by references, uncached or written")
SAVED_WRITTEN = _estimated("saved_written_tokens", "Saved by references, written")
SAVED_CACHED = _estimated("saved_cached_tokens", "Saved by references, cached")
SAVED_BY_CLASS = (SAVED_NEW, SAVED_WRITTEN, SAVED_CACHED)
SAVED_COST = _estimated("saved_cost", "Saved by references", Unit.MONEY)
REMARK_NEW = _estimated("remark_new_tokens", "Remarks, uncached or written")
REMARK_WRITTEN = _estimated("remark_written_tokens", "Remarks, written")
REMARK_CACHED = _estimated("remark_cached_tokens", "Remarks, cached")
REMARKS_BY_CLASS = (REMARK_NEW, REMARK_WRITTEN, REMARK_CACHED)
REMARK_COST = _estimated("remark_cost", "Remarks", Unit.MONEY)
VIEWED = _estimated("view_tokens", "State views, uncached")
DISPLACED = _estimated("displaced_tokens", "Displaced by state views")
VIEW_COST = _estimated("view_cost", "State views", Unit.MONEY)


def _net(row: RunRow) -> float | None:
    saved, spent = SAVED_COST.of(row), VIEW_COST.of(row)
    return None if saved is None or spent is None else saved - spent - (REMARK_COST.of(row) or 0.0)


NET_SHARE = Measure(
    name="net_share",
    title="Net of Ledger, of cost",
    unit=Unit.SHARE,
    of=_net,
    per=lambda row: row.charged_cost,
    from_tokens=True,
)
EFFICIENCY = (
    COST,
    _estimated("view_cost", "  of this, state views", Unit.MONEY, needs_cost=True),
    COST_PER_RESOLVED,
    INPUT,
    CACHED_INPUT,
    UNCACHED_INPUT,
    WRITTEN_INPUT,
    CACHE_HITS,
    Measure(
        name="output_tokens", title="Output tokens", unit=Unit.TOKENS, of=_tokens(lambda t: t.output), from_tokens=True
    ),
    MODEL_CALLS,
    *(_counted(metric.name, metric.compared, optional=metric.name != "ran") for metric in METRICS if metric.compared),
    Measure(
        name="second_look_rate",
        title="Second looks per reference",
        unit=Unit.SHARE,
        of=lambda row: row.count("second_looks"),
        per=lambda row: row.count("references"),
        optional=True,
    ),
    REREADS,
    *(_counted(name, title, optional=True) for name, title in TITLES.items() if name != REREADS.name),
)


class Change(Struct, frozen=True, kw_only=True):
    """A measure in the base and in an arm with Ledger."""

    base: float | None
    """Total in the base."""
    ledger: float | None
    """Total in the arm with Ledger."""
    change: float | None
    """Relative change; of shares, the difference."""
    interval: Interval | None
    """Confidence interval of the change."""
    instances: int
    """Number of instances that both totals are over; 0 if the arms have none in common."""


class Resolution(Struct, frozen=True, kw_only=True):
    """Number of instances that an arm resolved."""

    resolved: float
    """Instances resolved; with several trials, the sum over instances of the share of trials that resolved it."""
    instances: int
    """Instances that were graded; at least one."""
    trials: Spread | None
    """Pass@1 by trial; None if the trials do not have the same instances."""

    @property
    def rate(self) -> float:
        """Pass@1: ``resolved / instances``."""
        return self.resolved / self.instances


class Gain(Struct, frozen=True, kw_only=True):
    """Resolution of the base and of an arm with Ledger, over the instances that were graded in both."""

    base: Resolution | None
    """Resolution of the base; None if nothing was graded."""
    ledger: Resolution | None
    """Resolution of the arm with Ledger; None if nothing was graded."""
    difference: float | None
    """Pass@1 with Ledger minus Pass@1 of the base."""
    interval: Interval | None
    """Confidence interval of the difference; None if all instances differ alike, since no resample differs then."""
    rru: float | None
    """Relative reduction in unresolved instances."""
    pairs: dict[int, Paired]
    """Paired outcomes by trial, for the trials that both arms have."""

    @property
    def p_values(self) -> tuple[float, ...]:
        """p-value of McNemar's test for each trial."""
        return tuple(mcnemar(len(pair.recovered), len(pair.regressed)) for pair in self.pairs.values())


def column(measure: Measure, arm: Arm) -> Column:
    """Return, by instance, the measure and its denominator (1 for a sum): means over the runs that know both."""
    found: Column = {}
    for instance, runs in arm.runs.items():
        known = [(measure.of(row), measure.per(row) if measure.per else 1.0) for row in runs]
        pairs = [(of, per) for of, per in known if of is not None and per is not None]
        if pairs:
            found[instance] = fmean(of for of, _ in pairs), fmean(per for _, per in pairs)
    return found


def total(measure: Measure, values: Column, instances: Collection[str]) -> float | None:
    """Return the sum over these instances, divided by that of the denominator if there is one; None without any."""
    if not instances:
        return None
    over = sum(values[name][0] for name in instances)
    if measure.per is None:
        return over
    under = sum(values[name][1] for name in instances)
    return over / under if under else None


def sole(measure: Measure, arm: Arm) -> float | None:
    """Return the total of one arm over the instances for which the measure is known."""
    values = column(measure, arm)
    return total(measure, values, values)


def unpriced(measure: Measure, rows: Iterable[RunRow]) -> str:
    """Return why the cost of these runs is unknown where it is only their price that is missing; "" if it never is."""
    runs = tuple(rows)
    unknown = [row for row in runs if row.cost is None and row.tokens is not None]
    if measure is not COST or not unknown:
        return ""
    priced = {row.model for row in runs if row.cost is not None}
    models = sorted({row.model for row in unknown})
    told = ["the model of a sub-agent" if name in priced else f"`{name}`" if name else "a model" for name in models]
    return f"{' and '.join(dict.fromkeys(told))} {'has' if len(told) == 1 else 'have'} no price: {GIVE_PRICE}"


GIVE_PRICE = "give one with `--prices FILE`"
"""What to do where a model is in no price table."""
UNEQUAL = "tokens are estimated in some runs and counted by the provider in others"
"""Reason for which tokens and cost are not compared."""
UNTOLD = "cached tokens are reported in some runs only"
"""Reason for which cost and classes of input are not compared."""
NEVER_TOLD = "cached tokens are reported in no run"
"""Reason for which classes of input are not compared, though cost is."""


def _shared(arms: Collection[Arm]) -> frozenset[str]:
    """Return the instances that were run in several of these arms."""
    times = Counter(name for arm in arms for name in arm.runs)
    return frozenset(name for name, number in times.items() if number > 1)


def not_alike(measure: Measure, *arms: Arm) -> dict[str, str]:
    """Return the instances of these arms that say nothing about each other's figures of a measure, with the reason.

    An estimate is below what a provider counts, and without a report of cached tokens all input counts as uncached:
    all runs of an instance must be counted alike, since arms may have unequal shares of such runs.
    """
    found: dict[str, str] = {}
    for name in sorted(_shared(arms)) if measure.from_tokens else ():
        rows = [row for arm in arms for row in arm.runs.get(name, ()) if row.tokens is not None]
        if len({row.estimated for row in rows}) > 1:
            found[name] = UNEQUAL
        elif measure.by_class and len({row.cached_told for row in rows}) > 1:
            found[name] = UNTOLD
        elif measure.input_class and not any(row.cached_told for row in rows) and rows:
            found[name] = NEVER_TOLD
    return found


def incomparable(measure: Measure, *arms: Arm) -> str:
    """Return the reason for which no instance of these arms is compared by a measure; "" if any is."""
    untold = [arm.title for arm in arms if not arm.cached_told]
    if measure.by_class and 0 < len(untold) < len(arms):
        return f"no run in {', '.join(untold)} reports cached tokens, other runs do"
    shared, apart = _shared(arms), not_alike(measure, *arms)
    return " or ".join(sorted(set(apart.values()))) if shared and len(apart) == len(shared) else ""


def compare(measure: Measure, base: Arm, ledger: Arm) -> Change:
    """Compare two arms over the instances where both know the measure, and that are alike (``not_alike``).

    A sum of classes of tokens (``of_classes``) has no change, since a cached token costs a fraction of another one.
    Without any such instance there is no change either, and each arm is totalled over those that were run in
    both, or over its own without these.
    """
    reason = incomparable(measure, base, ledger)
    apart = {} if reason else not_alike(measure, base, ledger)
    shared = (base.runs.keys() & ledger.runs.keys()) - apart.keys()
    if shared:
        base, ledger = base.over(shared), ledger.over(shared)
    without, with_ledger = column(measure, base), column(measure, ledger)
    common = sorted(without.keys() & with_ledger.keys())
    before = total(measure, without, common or without)
    after = total(measure, with_ledger, common or with_ledger)
    change = interval = None
    if common and before is not None and after is not None and not reason and not measure.of_classes:
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
    """Return the resolution of one arm over its graded instances; None if nothing was graded."""
    shares = _shares(arm)
    if not shares:
        return None
    by_trial = [arm.outcomes(trial) for trial in arm.trials]
    even = all(outcomes.keys() == shares.keys() for outcomes in by_trial)
    rates = [pass_at_1(outcomes.values()) for outcomes in by_trial if outcomes]
    return Resolution(resolved=sum(shares.values()), instances=len(shares), trials=spread(rates) if even else None)


def gain(base: Arm, ledger: Arm) -> Gain:
    """Compare the resolution of two arms over the instances graded in both; without any, each over its own."""
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
        differences = [after - before for before, after in zip(*columns, strict=True)]
        if max(differences) - min(differences) > ROUNDING:
            interval = paired_bootstrap(columns, lambda b, a: (a - b) / len(common))
    return Gain(base=before, ledger=after, difference=difference, interval=interval, rru=reduction, pairs=pairs)


def _shares(arm: Arm) -> dict[str, float]:
    """Return, by instance, the share of graded runs that resolved it."""
    graded = {name: [row.resolved for row in runs if row.resolved is not None] for name, runs in arm.runs.items()}
    return {name: fmean(outcomes) for name, outcomes in graded.items() if outcomes}
