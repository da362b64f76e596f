"""Statistics of an evaluation: rates, paired outcomes, McNemar's exact test, and bootstrap confidence intervals.

The unit of resampling is the *instance*: with several trials, the trials of an instance are drawn together, since they
are not independent.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import permutations, product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.stats import DegenerateDataWarning, binomtest, bootstrap, chi2, norm, permutation_test, t

Floats = NDArray[np.float64]

RESAMPLES = 5_000
"""Number of bootstrap resamples."""
SEED = 0
"""Seed of the generator that draws them."""
LEVEL = 0.95
"""Confidence level of intervals; a difference is found if its p-value is below ``1 - LEVEL`` after ``holm``."""
POWER = 0.8
"""Share of repeated evaluations that are to find a difference of the given size."""
MANY = 10**9
"""Number of trials or instances above which no number is stated."""
SCANNED = 100
"""Number of trials below which each number is tried."""
_BLOCK = 1_000_000
"""Number of drawn instances that are held in memory at once."""
ROUNDING = 1e-9
"""Size below which a number is the rounding error of a zero."""


class Paired(Struct, frozen=True, kw_only=True):
    """Paired outcomes of the same instances in the base and in an arm with Ledger."""

    recovered: tuple[str, ...] = ()
    """Names of the instances resolved only with Ledger."""
    regressed: tuple[str, ...] = ()
    """Names of the instances resolved only by the base."""
    both: int = 0
    """Number of instances resolved in both arms."""
    neither: int = 0
    """Number of instances resolved in neither."""

    @property
    def net(self) -> int:
        """Net gain: recovered minus regressed."""
        return len(self.recovered) - len(self.regressed)


class Interval(Struct, frozen=True):
    """Confidence interval of a figure."""

    low: float
    """Lower bound."""
    high: float
    """Upper bound."""


class Spread(Struct, frozen=True):
    """Variation of a figure over trials."""

    values: tuple[float, ...]
    """Figure of each trial."""
    mean: float
    """Arithmetic mean."""
    sd: float | None
    """Sample standard deviation, ``sqrt(sum((x - mean)^2) / (n - 1))``; None for a single trial."""


class Noise(Struct, frozen=True, kw_only=True):
    """Variance of paired outcomes, the basis of a power analysis: over the trials of an instance, and over instances.

    ``d`` is the outcome with Ledger minus the outcome of the base, for one run of an instance in either arm.
    """

    within: float
    """Variance of ``d`` over repeated trials of one instance, averaged over instances."""
    between: float | None
    """Variance over instances of the expected value of ``d``; None if single trials can't tell it from ``within``."""
    instances: int
    """Number of instances."""
    trials: float = 1
    """Number of trials in each arm that the outcomes are worth; where instances have unequal numbers of graded trials,
    their harmonic mean, which is 1.99 where one of 200 second trials is lost."""
    grows: float = 0.0
    """Growth of ``within`` per gain of Pass@1, if Ledger resolves the same share of the unresolved runs of each
    instance: the whole gain where outcomes do not vary otherwise, less where they do."""
    varies: float = 0.0
    """Growth of ``between`` per square of that gain."""
    tests: int = 1
    """Number of tests that are made together: of as many, the smallest p-value is compared with ``1 - LEVEL`` divided
    by their number (Holm's correction, ``holm``)."""

    @property
    def testable(self) -> bool:
        """Whether there are so many instances that the test can find a difference at all, of whatever size."""
        return self.instances >= least_instances(self.tests)

    def detectable(self, trials: float) -> float:
        """Return the smallest difference of Pass@1 that ``POWER`` of evaluations with so many trials would find.

        It is the ``d`` with ``d = (low / sqrt(1 - low ** 2 / n) + high) * sqrt(v / n) + 1 / (n * trials)`` with the
        variance ``v`` of an instance's difference and the normal quantiles ``low`` of ``LEVEL``, corrected for the
        number of tests as for the smallest p-value of all, and ``high`` of ``POWER``. Flipped signs remove the mean of
        the differences and not its square, so that a sign-flip test finds a mean above ``low * s / sqrt(n - low **
        2)``, with their standard deviation ``s``. Flipped signs change the mean of outcomes in steps of ``2 / (n *
        trials)``, so that its critical value is half a step higher on average. The effect is part of the variance:
        ``v`` is ``between + varies * d ** 2``, and ``within + grows * d - (1 + varies) * d ** 2`` over the number of
        trials. Infinite if no difference of any size is found so often. There must be enough instances (``testable``).
        If ``between`` is unknown, it is a lower bound for more than one trial: what instances differ by would then
        remain, however many trials there are.
        """
        assert self.testable, "with fewer instances there is no such difference"
        low, high = float(norm.isf((1 - LEVEL) / 2 / self.tests)), float(norm.ppf(POWER))
        errors = (low / math.sqrt(1 - low**2 / self.instances) + high) ** 2 / self.instances
        step = 1 / (self.instances * trials)
        # The larger root of (d - step) ** 2 = errors * v, in d.
        square = 1 - errors * (self.varies - (1 + self.varies) / trials)
        half = step + errors * self.grows / trials / 2
        rest = errors * ((self.between or 0.0) + self.within / trials) - step**2
        return math.inf if square <= 0 else (half + math.sqrt(half**2 + square * rest)) / square

    def trials_needed(self, difference: float) -> int | None:
        """Return the number of trials per arm and instance that finds this difference with a power of ``POWER``.

        None if no number up to ``MANY`` does: what instances differ by, trials of the same instances can't average out.
        A lower bound if ``between`` is unknown. Small numbers are tried one by one, since more trials may find less:
        where few instances have anything to gain, the variance over instances outgrows that of a trial (``varies``).
        """
        for trials in range(1, SCANNED):
            if self.detectable(trials) <= difference:
                return trials
        return _least(lambda trials: self.detectable(trials) <= difference, SCANNED)

    def instances_needed(self, difference: float, trials: int) -> int:
        """Return the number of instances that finds this difference, 0.001 or more, with so many trials."""
        first = least_instances(self.tests)
        found = _least(lambda number: replace(self, instances=number).detectable(trials) <= difference, first)
        assert found is not None, "the standard error of so many instances is far below such a difference"
        return found


def _least(enough: Callable[[int], bool], first: int) -> int | None:
    """Return the smallest number from ``first`` to ``MANY`` that is enough, as every larger one is; None if none is."""
    numbers = range(first, MANY + 1)
    at = bisect_left(numbers, True, key=enough)
    return numbers[at] if at < len(numbers) else None


class OrderEffect(Struct, frozen=True):
    """Effect of the position at which an arm ran among the arms of an instance."""

    change: float | None
    """Relative change of the measure per position; None if arms and positions can't be told apart."""
    p: float | None
    """p-value of the permutation test; None if arms and positions can't be told apart."""
    runs: int
    """Number of runs that have a position."""
    least: float | None
    """Smallest p-value that the test can have, however large the effect is; None if ``p`` is."""


def pass_at_1(outcomes: Collection[bool]) -> float:
    """Return ``resolved / instances``, the share of resolved instances; there must be at least one instance."""
    return sum(outcomes) / len(outcomes)


def rru(base: float, ledger: float) -> float | None:
    """Return the relative reduction in unresolved instances of two values of Pass@1: ``(ledger - base) / (1 - base)``.

    None if the base leaves nothing unresolved.
    """
    return None if base >= 1 else (ledger - base) / (1 - base)


def relative_change(base: float, ledger: float) -> float | None:
    """Return ``ledger / base - 1``; None if the base is zero."""
    return None if base == 0 else ledger / base - 1


def paired_outcomes(base: Mapping[str, bool], ledger: Mapping[str, bool]) -> Paired:
    """Return the 2x2 table of the instances that have an outcome in both arms, with names in alphabetic order."""
    common = sorted(base.keys() & ledger.keys())
    return Paired(
        recovered=tuple(name for name in common if ledger[name] and not base[name]),
        regressed=tuple(name for name in common if base[name] and not ledger[name]),
        both=sum(base[name] and ledger[name] for name in common),
        neither=sum(not base[name] and not ledger[name] for name in common),
    )


def mcnemar(recovered: int, regressed: int) -> float:
    """Return the p-value of McNemar's exact two-sided test.

    ``min(1, 2 * P(X <= min(recovered, regressed)))`` with ``X ~ Binomial(recovered + regressed, 1/2)``;
    1 without discordant pairs.
    """
    pairs = recovered + regressed
    return float(binomtest(recovered, pairs, 0.5).pvalue) if pairs else 1.0


def paired_test(differences: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED) -> float:
    """Return the p-value of a two-sided sign-flip permutation test of the mean of paired differences.

    There is one difference per instance, between the means over its trials. If both arms do the same, each difference
    is as likely to have the other sign. All signs are tried where these are at most ``resamples``, else that many at
    random. If all differences have one size, as those of single trials have, it is McNemar's exact test.
    """
    values = np.array([one for one in differences if one], dtype=np.float64)
    sizes = np.abs(values)
    if not sizes.size or np.allclose(sizes, sizes[0], rtol=ROUNDING, atol=0):
        return mcnemar(int((values > 0).sum()), int((values < 0).sum()))
    found = permutation_test(
        (values,),
        lambda drawn, axis: drawn.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, _BLOCK // len(values)),
        rng=np.random.default_rng(seed),
    )
    return min(1.0, float(found.pvalue))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p-values of tests that are made together, corrected for their number (Holm 1979), in the given order.

    The smallest of ``n`` is multiplied by ``n``, the next by ``n - 1``, and so on; none is below a smaller one's, or
    above 1. Where no difference is real, at most one in 20 of such families has a corrected p-value below 5 %, however
    the tests depend on each other, as those of cost and of tokens do.
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        highest = max(highest, min(1.0, p_values[at] * (len(p_values) - rank)))
        corrected[at] = highest
    return tuple(corrected)


def least_instances(tests: int = 1) -> int:
    """Return the number of instances below which none of so many sign-flip tests finds anything by itself.

    With ``n`` instances no p-value is below ``2 / 2 ** n``, and the smallest of the tests' must be below ``1 - LEVEL``
    divided by their number.
    """
    return math.floor(math.log2(2 * tests / (1 - LEVEL))) + 1


def noise(base: Sequence[Sequence[bool]], ledger: Sequence[Sequence[bool]]) -> Noise | None:
    """Return the noise of paired outcomes; for each arm the outcomes of each instance, trial by trial.

    With several trials both variances are estimated from the sample; that over instances counts only if it is larger
    than trials explain (a chi-square test at ``LEVEL``). With one trial in an arm of more than half of the instances,
    as in an evaluation that was stopped in its second trial, first trials count alone, since few instances with more
    do not tell what all vary by. With one trial, the variance over instances is unknown and
    part of the other: every disagreement between the arms counts as chance of the trials, and there is taken to be one
    more of them in two more instances, so that an evaluation without any is not taken for one without noise. None
    without an instance.
    """
    if not base:
        return None
    pairs = list(zip(base, ledger, strict=True))
    several = [pair for pair in pairs if min(map(len, pair)) > 1]
    if len(several) < 2 or 2 * len(several) < len(pairs):
        firsts = [(one[:1], other[:1]) for one, other in pairs]
        apart = sum(one != other for one, other in firsts)
        alone = Noise(within=(apart + 1) / (len(pairs) + 2), between=None, instances=len(pairs))
        return _with_effect(alone, firsts)
    within = float(np.mean([sum(np.var(side, ddof=1) for side in pair) for pair in several]))
    averaged = float(np.mean([sum(np.var(side, ddof=1) / len(side) for side in pair) for pair in several]))
    total = float(np.var([np.mean(other) - np.mean(one) for one, other in several], ddof=1))
    explained = averaged * float(chi2.ppf(LEVEL, len(several) - 1)) / (len(several) - 1)
    floor = 1 / (sum(map(len, base)) + 2)
    between = total - averaged if total > explained else 0.0
    means = (len(side) / sum(1 / len(one) for one in side) for side in (base, ledger))
    known = Noise(within=max(within, floor), between=between, instances=len(pairs), trials=min(means))
    return _with_effect(known, several)


def _with_effect(known: Noise, pairs: Sequence[tuple[Sequence[bool], Sequence[bool]]]) -> Noise:
    """Return the noise with the variance that an effect itself would add.

    Where a share ``q`` of the unresolved runs of an instance with the chance ``c`` is resolved, the chance becomes
    ``c + q * (1 - c)``. For a gain of ``q`` times the mean of ``1 - c``, the variance of a trial grows by
    ``q * (1 - c) * (1 - 2 * c) - (q * (1 - c)) ** 2``, and that over instances by ``q ** 2`` times the variance of
    ``c``. Both arms estimate ``c``, independently of each other. Where nothing is unresolved there is no gain but a
    loss, which is a disagreement wholly.
    """
    one, other = (np.array([np.mean(pair[side]) for pair in pairs]) for side in (0, 1))
    room = float(1 - (one + other).mean() / 2)
    if room < ROUNDING:
        return replace(known, grows=1.0)
    grows = float(((1 - one) * (1 - other) - (one + other - 2 * one * other) / 2).mean()) / room
    varies = float(((one - one.mean()) * (other - other.mean())).mean()) / room**2
    return replace(known, grows=min(1.0, max(0.0, grows)), varies=max(0.0, varies))


def order_effect(
    values: Sequence[float],
    positions: Sequence[int],
    arms: Sequence[str],
    blocks: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> OrderEffect | None:
    """Return the effect of positions on a positive measure; None if no two runs of a block differ in position.

    A block is one trial of one instance. The change is the coefficient of the position in a least-squares fit of the
    logarithm by position, arm and block, which is the slope between what arms and blocks leave of both (Frisch, Waugh
    and Lovell). The test permutes the positions within blocks; its statistic is the partial correlation, which unlike
    the slope varies as much with an order that arms explain in part. Orders that they explain wholly are left out. All
    orders are tried where these are at most ``resamples``, else that many at random and the one that was run. The
    p-value is the share of orders whose statistic is at least as large in absolute value. The smallest
    p-value is that of measurements without noise.
    """
    arm_index, block_index = _indices(arms), _indices(blocks)
    order = _centred(np.array(positions, dtype=np.float64), block_index)
    if np.allclose(order, 0):
        return None
    basis = _basis(np.stack([_centred(arm_index == arm, block_index) for arm in range(arm_index.max() + 1)], axis=1))
    outcome = _centred(np.log(np.array(values, dtype=np.float64)), block_index)
    outcome, left = (one - basis @ (basis.T @ one) for one in (outcome, order))
    weight = float(left @ left)
    if weight < ROUNDING:
        return OrderEffect(change=None, p=None, runs=len(values), least=None)
    directions = np.column_stack([outcome, left / math.sqrt(weight), basis])
    products = np.array([drawn @ directions for drawn in _orders(order, block_index, resamples, seed)])
    weights = order @ order - (products[:, 2:] ** 2).sum(axis=1)
    told_apart = weights > ROUNDING
    statistics = np.abs(products[told_apart, :2]) / np.sqrt(weights[told_apart, None])
    p, least = (float(share) for share in (statistics >= statistics[0] - ROUNDING).mean(axis=0))
    change = math.expm1(float(left @ outcome) / weight)
    return OrderEffect(change=change, p=p, runs=len(values), least=least)


def _orders(order: Floats, block_index: NDArray[np.intp], resamples: int, seed: int) -> Iterator[Floats]:
    """Yield the given order, then permutations of it within blocks: all if these are few, else ``resamples`` drawn."""
    sizes = np.bincount(block_index)
    if math.prod(math.factorial(int(size)) for size in sizes) <= resamples:
        blocks = [np.flatnonzero(block_index == block) for block in range(len(sizes))]
        drawn = np.empty_like(order)
        for permuted in product(*map(permutations, blocks)):
            drawn[np.concatenate(blocks)] = order[np.concatenate(permuted)]
            yield drawn
        return
    yield order
    generator = np.random.default_rng(seed)
    # Blocks of one size are the rows of a matrix, which is permuted row by row.
    rows = [
        np.array([np.flatnonzero(block_index == block) for block in np.flatnonzero(sizes == size)])
        for size in np.unique(sizes)
    ]
    for _ in range(resamples):
        drawn = np.empty_like(order)
        for alike in rows:
            drawn[alike] = generator.permuted(order[alike], axis=1)
        yield drawn


def _basis(columns: Floats) -> Floats:
    """Return orthonormal columns that span the same space."""
    directions, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.array(directions[:, sizes > ROUNDING])


def _indices(names: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the number of each name, from 0 in the order of their first occurrence."""
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names])


def _centred(values: Floats | NDArray[np.bool_], index: NDArray[np.intp]) -> Floats:
    """Return values less the mean of their group."""
    means: Floats = np.bincount(index, weights=values) / np.bincount(index)
    return values - means[index]


def spread(values: Sequence[float]) -> Spread:
    """Return the mean and the standard deviation over trials."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    sd = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
    return Spread(values=tuple(values), mean=mean, sd=sd)


def paired_bootstrap(
    columns: Sequence[Sequence[float]],
    statistic: Callable[..., Floats],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> Interval | None:
    """Return the percentile bootstrap interval of a statistic over instances (``scipy.stats.bootstrap``, paired).

    Each column has one number per instance: the mean over its trials in one arm. An instance is drawn with all its
    columns, so pairs and trials stay together. The statistic gets, for each column, the sum of each resample, and
    returns one value per resample. The interval reaches from one quantile to the other of those that are finite: from
    ``(1 - level) / 2`` to ``(1 + level) / 2`` with many instances, and further with few, of which resamples vary too
    little (``_tail``). None is returned with fewer than two instances, or if the statistic is undefined (such as a
    ratio to zero) in more resamples than the interval may leave out.
    """
    if not columns or len(columns[0]) < 2:
        return None

    def of_resamples(*drawn: Floats, axis: int) -> Floats:
        return statistic(*(column.sum(axis=axis) for column in drawn))

    data = np.array(columns, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        found = bootstrap(
            tuple(data),
            of_resamples,
            paired=True,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _BLOCK // data.shape[1]),
            method="percentile",
            rng=np.random.default_rng(seed),
        )
    # The interval that scipy returns is NaN, with a warning, if the statistic is undefined in a single resample.
    values = found.bootstrap_distribution
    defined = values[np.isfinite(values)]
    tail = _tail(level, data.shape[1])
    if len(defined) < (1 - 2 * tail) * resamples:
        return None
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), float(high))


def _tail(level: float, number: int) -> float:
    """Return the share of resamples of so many instances that an interval leaves out at each end.

    Resamples of ``n`` instances have ``(n - 1) / n`` of the variance, and normal quantiles ignore that it is estimated:
    the quantile is the one of Student's t, times ``sqrt(n / (n - 1))`` (Hesterberg 2015, the expanded percentile
    interval). It is ``(1 - level) / 2`` for many instances.
    """
    return float(norm.sf(math.sqrt(number / (number - 1)) * t.ppf((1 + level) / 2, number - 1)))
