"""Measures of two arms: over which instances, with which trials, and how they change."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import Arm, settings
from execledger.evaluate.report.comparison import (
    CACHE_HITS,
    COST,
    COST_PER_RESOLVED,
    EFFICIENCY,
    INPUT,
    UNCACHED_INPUT,
    Change,
    Measure,
    Resolution,
    compare,
    gain,
    resolution,
)
from execledger.evaluate.statistics import Interval, Paired, Spread
from execledger.runs.usage import Tokens
from tests.evaluate.rows import experiment, row

(RAN,) = (measure for measure in EFFICIENCY if measure.name == "ran")
(OUTPUT,) = (measure for measure in EFFICIENCY if measure.name == "output_tokens")


def arms(rows: list[RunRow]) -> tuple[Arm, Arm]:
    (setting,) = settings(rows)
    return setting.base, setting.compared[0]


def test_a_total_is_compared_over_common_instances() -> None:
    """An instance that only one arm has, or knows the cost of, changes nothing."""
    rows = [row(name, arm, cost=cost) for arm, cost in (("base", 1.0), ("both", 0.5)) for name in "abc"]
    rows += [row("only", "base", cost=100.0), row("d", "base", cost=100.0), row("d", "both", cost=None)]
    assert compare(COST, *arms(rows)) == Change(
        base=3.0, ledger=1.5, change=-0.5, interval=Interval(-0.5, -0.5), instances=3
    )


def test_an_instance_counts_with_the_mean_of_its_trials() -> None:
    """Two trials are as comparable with one as they are with two."""
    rows = [row("a", cost=2.0), row("a", "both", 1, cost=1.0), row("a", "both", 2, cost=2.0)]
    found = compare(COST, *arms(rows))
    assert (found.base, found.ledger, found.change) == (2.0, 1.5, -0.25)


def test_cost_per_resolved_is_a_ratio_of_totals() -> None:
    """All the money over all that was resolved; unknown where nothing was resolved."""
    found = compare(COST_PER_RESOLVED, *arms(experiment()))
    assert (found.base, found.ledger, found.change) == pytest.approx((1.0, 0.4, -0.6))
    nothing = compare(COST_PER_RESOLVED, *arms([row("a"), row("a", "both", resolved=True)]))
    assert (nothing.base, nothing.ledger, nothing.change) == (None, 0.5, None)


def test_the_cache_hit_rate_changes_by_a_difference() -> None:
    """90% to 40% are 50 points less, over all tokens, not over the rates of runs."""
    rows = [row(name) for name in "ab"]
    rows += [row("a", "both", tokens=Tokens(uncached=3)), row("b", "both", tokens=Tokens(uncached=3, cached=4))]
    found = compare(CACHE_HITS, *arms(rows))
    assert (found.base, found.ledger, found.change) == pytest.approx((0.9, 0.4, -0.5))


def test_the_interval_of_a_ratio_is_of_the_ratio() -> None:
    """Where every instance has the same rate in an arm, however large it is, no resample has another."""
    rows = [row(name, tokens=Tokens(uncached=size, cached=9 * size)) for size, name in enumerate("abcdef", 1)]
    rows += [row(name, "both", tokens=Tokens(uncached=7, cached=3)) for name in "abcdef"]
    found = compare(CACHE_HITS, *arms(rows)).interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((-0.6, -0.6))


def test_an_arm_whose_measure_is_unknown_leaves_the_other_as_it_is() -> None:
    """What is known of one arm is told, and no change is made up."""
    rows = [row("a", cost=2.0), row("a", "both", cost=None)]
    assert compare(COST, *arms(rows)) == Change(base=2.0, ledger=None, change=None, interval=None, instances=0)


def test_a_total_of_one_arm_alone_is_over_the_instances_that_both_ran() -> None:
    """Where one arm does not know a measure, the other's total still has the instances that stand in the heading."""
    rows = [row(name, "base", ran=9) for name in "abc"] + [row("a", "both", ran=None)]
    found = compare(RAN, *arms(rows))
    assert (found.base, found.ledger, found.change) == (9, None, None)


def test_arms_whose_tokens_are_counted_otherwise_have_no_change() -> None:
    """Neither a report without cached tokens nor an estimate is set against the provider's full count."""
    kinds: list[dict[str, Any]] = [{"cached_told": False}, {"estimated": True}]
    for given, unchanged in zip(kinds, ((COST, CACHE_HITS), (COST, UNCACHED_INPUT)), strict=True):
        rows = [row(name, **given) for name in "abc"] + [row(name, "both") for name in "abc"]
        for measure in unchanged:
            found = compare(measure, *arms(rows))
            assert (found.base is None) is (measure is CACHE_HITS)
            assert (found.change, found.interval) == (None, None)
    told = [row(name, cached_told=False) for name in "abc"] + [row(name, "both") for name in "abc"]
    assert compare(OUTPUT, *arms(told)).change == 0.0


def test_a_sum_of_classes_of_input_has_totals_and_no_change() -> None:
    """A tenth of the tokens, all of them uncached, may cost as much as ten times as many that are cached."""
    rows = [row(name) for name in "abc"] + [row(name, "both", tokens=Tokens(uncached=100_000)) for name in "abc"]
    found = compare(INPUT, *arms(rows))
    assert (found.base, found.ledger, found.instances) == (3_000_000, 300_000, 3)
    assert (found.change, found.interval) == (None, None)


@pytest.mark.parametrize(("given", "measure"), [({"cached_told": False}, COST), ({"estimated": True}, OUTPUT)])
def test_instances_that_one_arm_counts_otherwise_are_in_no_change(given: dict[str, Any], measure: Measure) -> None:
    """One of three base runs reports no cached tokens, or has an estimate: totals and change are over the rest."""
    rows = [row(name, "base", **(given if name == "a" else {})) for name in "abc"]
    rows = [replace(one, cost=5.0, tokens=Tokens(uncached=9, output=9)) if one.instance == "a" else one for one in rows]
    found = compare(measure, *arms([*rows, *(row(name, "both") for name in "abc")]))
    assert (found.base, found.change, found.instances) == (found.ledger, 0.0, 2)


@pytest.mark.parametrize("given", [{"cached_told": False}, {"estimated": True}])
def test_instances_with_such_runs_in_both_arms_are_in_no_change(given: dict[str, Any]) -> None:
    """Two of three base runs and one of three with Ledger seem expensive, which Ledger has not saved."""
    rows = [row("b", arm, cost=1.0) for arm in ("base", "both")]
    for arm, other in (("base", 2), ("both", 1)):
        rows += [row("a", arm, n, cost=9.0 if n < other else 1.0, **(given if n < other else {})) for n in range(3)]
    found = compare(COST, *arms(rows))
    assert (found.base, found.ledger, found.change, found.instances) == (1.0, 1.0, 0.0, 1)


def test_a_gain_is_over_instances_graded_in_both_arms() -> None:
    """Ungraded runs count neither as resolved nor as failures."""
    rows = [*experiment(), row("e", resolved=True), row("e", "both", resolved=None)]
    base, both = arms(rows)
    found = gain(base, both)
    assert (found.base, found.ledger) == (
        Resolution(resolved=2, instances=4, trials=Spread((0.5,), 0.5, None)),
        Resolution(resolved=2, instances=4, trials=Spread((0.5,), 0.5, None)),
    )
    assert (found.difference, found.rru, found.p_values) == (0.0, 0.0, (1.0,))
    assert found.pairs == {1: Paired(recovered=("b",), regressed=("c",), both=1, neither=1)}


def test_differences_that_are_equal_but_for_rounding_have_no_interval() -> None:
    """Two of three trials instead of one, and one instead of none: both are a third, in floating point not quite."""
    rows = [
        row(name, arm, trial, resolved=trial <= more + (arm == "both"))
        for name, more in (("a", 0), ("b", 1), ("c", 2))
        for arm in ("base", "both")
        for trial in (1, 2, 3)
    ]
    found = gain(*arms(rows))
    assert found.difference == pytest.approx(1 / 3)
    assert found.interval is None


def test_outcomes_are_paired_trial_by_trial() -> None:
    """With several trials each has its own pairs and its own test."""
    base, both = arms(experiment(trials=2))
    found = gain(base, both)
    assert found.pairs == {
        1: Paired(recovered=("b",), regressed=("c",), both=1, neither=1),
        2: Paired(recovered=(), regressed=("c",), both=1, neither=2),
    }
    assert len(found.p_values) == 2
    assert found.ledger == Resolution(resolved=1.5, instances=4, trials=spread_of(0.5, 0.25))
    assert found.difference == -0.125


def spread_of(first: float, second: float) -> Spread:
    mean = (first + second) / 2
    return Spread((first, second), mean, 2**0.5 * abs(first - mean))


def test_trials_with_other_instances_have_no_spread() -> None:
    """The rate of half a trial says nothing about how rates vary."""
    rows = [row("a", resolved=True), row("b"), row("a", trial=2)]
    assert resolution(settings(rows)[0].base) == Resolution(resolved=0.5, instances=2, trials=None)


def test_nothing_graded_is_no_resolution() -> None:
    """A resolution that nobody knows is not 0."""
    rows = [row("a", resolved=None), row("a", "both", resolved=None)]
    found = gain(*arms(rows))
    assert (found.base, found.ledger, found.difference, found.rru, found.pairs) == (None, None, None, None, {})
