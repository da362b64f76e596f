"""Statistics of an evaluation: rates, paired outcomes, McNemar's exact test, and bootstrap confidence intervals.

The unit of resampling is the *instance*: with several trials, the trials of an instance are drawn together, since they
are not independent.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.stats import DegenerateDataWarning, binomtest, bootstrap

Floats = NDArray[np.float64]

RESAMPLES = 5_000
"""Number of bootstrap resamples."""
SEED = 0
"""Seed of the generator that draws them."""
LEVEL = 0.95
"""Confidence level of intervals."""
_BLOCK = 1_000_000
"""Number of drawn instances that are held in memory at once."""


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
    returns one value per resample; the interval reaches from the ``(1 - level) / 2`` to the ``(1 + level) / 2``
    quantile of those that are finite. None is returned with fewer than two instances, or if the statistic is undefined
    (such as a ratio to zero) in more resamples than the interval may leave out.
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
            confidence_level=level,
            rng=np.random.default_rng(seed),
        )
    # The interval that scipy returns is NaN, with a warning, if the statistic is undefined in a single resample.
    values = found.bootstrap_distribution
    defined = values[np.isfinite(values)]
    if len(defined) < level * resamples:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
