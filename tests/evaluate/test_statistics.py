"""The formulas, on numbers that can be checked by hand."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_pass_at_1_is_the_share_that_was_resolved() -> None:
    """Three of four."""
    assert pass_at_1([True, True, False, True]) == 0.75


def test_rru_is_the_share_of_failures_that_went_away() -> None:
    """From half of the failures to all; without failures there is nothing to reduce."""
    assert rru(0.5, 0.75) == 0.5
    assert rru(0.5, 0.25) == -0.5
    assert rru(1.0, 1.0) is None


def test_a_relative_change_needs_something_to_relate_to() -> None:
    """A quarter less; nothing can be said about a change from zero."""
    assert relative_change(4, 3) == -0.25
    assert relative_change(0, 3) is None


def test_outcomes_are_paired_by_instance() -> None:
    """Each common instance lies in one of the four cells, and others in none."""
    base = {"a": True, "b": True, "c": False, "d": False, "e": False, "only": True}
    ledger = {"e": True, "d": True, "c": False, "b": False, "a": True, "other": True}
    assert paired_outcomes(base, ledger) == Paired(recovered=("d", "e"), regressed=("b",), both=1, neither=1)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_sum_of_the_binomial_tail(recovered: int, regressed: int) -> None:
    """The test's p is twice the tail of a fair coin, and at most 1; it does not matter which direction is which."""
    pairs = recovered + regressed
    tail = sum(comb(pairs, k) for k in range(min(recovered, regressed) + 1))
    expected = min(Fraction(1), 2 * Fraction(tail, 2**pairs)) if pairs else Fraction(1)
    assert mcnemar(recovered, regressed) == pytest.approx(float(expected))
    assert mcnemar(recovered, regressed) == pytest.approx(mcnemar(regressed, recovered))


def test_a_spread_has_the_deviation_of_the_sample() -> None:
    """Divided by one less than the number of trials; a single trial has none."""
    assert spread([1.0, 2.0, 3.0]) == Spread(values=(1.0, 2.0, 3.0), mean=2.0, sd=1.0)
    assert spread([2.0]) == Spread(values=(2.0,), mean=2.0, sd=None)


def mean_difference(base: Floats, ledger: Floats) -> Floats:
    """The statistic of these tests, over 200 instances."""
    return (ledger - base) / 200


def test_the_bootstrap_keeps_pairs_together() -> None:
    """Where every instance gains the same, no resample can gain anything else, however instances differ."""
    base = [float(number % 7) for number in range(200)]
    found = paired_bootstrap([base, [value + 3 for value in base]], mean_difference)
    assert found == Interval(3.0, 3.0)


def test_the_bootstrap_agrees_with_theory() -> None:
    """For a mean of 200 independent differences, the interval is about 1.96 standard errors to each side."""
    differences = np.random.default_rng(1).normal(0.5, 2.0, 200)
    found = paired_bootstrap([np.zeros(200).tolist(), differences.tolist()], mean_difference)
    assert found is not None
    error = differences.std() / np.sqrt(200)
    assert found.low == pytest.approx(differences.mean() - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(differences.mean() + 1.96 * error, abs=0.15 * error)


def test_the_bootstrap_is_the_same_every_time_and_differs_by_seed() -> None:
    """The draws follow from the seed alone, also where they are made in several blocks."""
    columns = [[float(number % 5) for number in range(3_000)], [float(number % 3) for number in range(3_000)]]
    first, again, other = (paired_bootstrap(columns, mean_difference, resamples=700, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_bootstrap_does_not_guess() -> None:
    """One instance has no spread, and a statistic that is undefined in most resamples has no interval."""
    assert paired_bootstrap([[1.0], [2.0]], mean_difference) is None
    rare = [1.0, *[0.0] * 9]
    assert paired_bootstrap([rare, rare], lambda base, ledger: ledger / base) is None
