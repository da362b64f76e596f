"""What the outcomes of runs prove: rates, paired outcomes, an exact test, and intervals; every formula stands here.

An *instance* is the unit: with several trials, the trials of an instance are drawn together, since a hard task is hard
in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.stats import binomtest

Floats = NDArray[np.float64]

RESAMPLES = 5_000
SEED = 0
LEVEL = 0.95
# Draws that are held in memory at once.
_BLOCK = 1_000_000


class Paired(Struct, frozen=True, kw_only=True):
    """What became of the same instances without and with Ledger."""

    recovered: tuple[str, ...] = ()
    """Resolved only with Ledger, by name."""
    regressed: tuple[str, ...] = ()
    """Resolved only without it, by name."""
    both: int = 0
    """How many were resolved either way."""
    neither: int = 0
    """How many were resolved in neither way."""

    @property
    def net(self) -> int:
        """The gain: recovered less regressed."""
        return len(self.recovered) - len(self.regressed)


class Interval(Struct, frozen=True):
    """Where a figure lies with a given confidence."""

    low: float
    """The lower bound."""
    high: float
    """The upper bound."""


class Spread(Struct, frozen=True):
    """How a figure varies over trials."""

    values: tuple[float, ...]
    """The figure of each trial."""
    mean: float
    """The arithmetic mean."""
    sd: float | None
    """The standard deviation of the sample, ``sqrt(sum((x - mean)^2) / (n - 1))``; None for a single trial."""


def pass_at_1(outcomes: Collection[bool]) -> float:
    """``resolved / instances``: the share of instances, at least one, that one run each resolved."""
    return sum(outcomes) / len(outcomes)


def rru(base: float, ledger: float) -> float | None:
    """The relative reduction in unresolved instances: ``(ledger - base) / (1 - base)``, of two values of Pass@1.

    None where the base leaves nothing unresolved.
    """
    return None if base >= 1 else (ledger - base) / (1 - base)


def relative_change(base: float, ledger: float) -> float | None:
    """``ledger / base - 1``; None where the base is zero."""
    return None if base == 0 else ledger / base - 1


def paired_outcomes(base: Mapping[str, bool], ledger: Mapping[str, bool]) -> Paired:
    """Each instance that both have an outcome for, in one of the four cells; names in alphabetic order."""
    common = sorted(base.keys() & ledger.keys())
    return Paired(
        recovered=tuple(name for name in common if ledger[name] and not base[name]),
        regressed=tuple(name for name in common if base[name] and not ledger[name]),
        both=sum(base[name] and ledger[name] for name in common),
        neither=sum(not base[name] and not ledger[name] for name in common),
    )


def mcnemar(recovered: int, regressed: int) -> float:
    """The exact two-sided test of McNemar: the chance of so uneven a split if either direction were as likely.

    ``min(1, 2 * P(X <= min(recovered, regressed)))`` with ``X ~ Binomial(recovered + regressed, 1/2)``; 1 without any.
    """
    pairs = recovered + regressed
    return float(binomtest(recovered, pairs, 0.5).pvalue) if pairs else 1.0


def spread(values: Sequence[float]) -> Spread:
    """The mean and the standard deviation over trials."""
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
    """The percentile interval of a statistic over instances drawn with replacement.

    Each column has one number per instance: the mean over its trials in one arm. An instance is drawn with all its
    columns, so pairs and trials stay together. The statistic gets, for each column, the sum of each resample, and gives
    one value per resample; the interval reaches from the ``(1 - level) / 2`` to the ``(1 + level) / 2`` quantile.
    None with fewer than two instances, or where the statistic is undefined in more resamples than the interval may
    leave out.
    """
    if not columns or len(columns[0]) < 2:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        values = statistic(*_resampled_sums(np.array(columns, dtype=np.float64), resamples, seed))
    defined = values[np.isfinite(values)]
    if len(defined) < level * resamples:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _resampled_sums(columns: Floats, resamples: int, seed: int) -> Floats:
    """The sum of each column over each resample, a block of resamples at a time."""
    random = np.random.default_rng(seed)
    size = columns.shape[1]
    block = max(1, _BLOCK // size)
    sums = []
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = random.integers(size, size=(rows, size)) + np.arange(rows)[:, None] * size
        times = np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size)
        sums.append(columns @ times.T)
    return np.concatenate(sums, axis=1)
