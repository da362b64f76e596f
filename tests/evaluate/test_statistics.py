"""The formulas, on numbers that can be checked by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from execledger.evaluate.statistics import (
    Floats,
    Interval,
    Noise,
    OrderEffect,
    Paired,
    Spread,
    holm,
    least_instances,
    mcnemar,
    noise,
    order_effect,
    paired_bootstrap,
    paired_outcomes,
    paired_test,
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


@pytest.mark.parametrize(("instances", "least", "most"), [(6, 0.89, 0.97), (20, 0.91, 0.97)])
def test_intervals_of_few_instances_hold_the_truth_about_as_often_as_they_say(
    instances: int, least: float, most: float
) -> None:
    """Of 400 studies without a difference of cost; plain percentiles hold 0 % in 83 % of those with six instances."""
    draw = np.random.default_rng(instances)
    held = 0
    for _ in range(400):
        price = np.exp(draw.normal(0, 0.8, instances))
        base, ledger = (list(price * np.exp(draw.normal(0, 0.3, instances))) for _ in range(2))
        found = paired_bootstrap([base, ledger], lambda before, after: after / before - 1, resamples=1_000)
        assert found is not None
        held += found.low <= 0 <= found.high
    assert least <= held / 400 <= most


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


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 5))
def test_the_paired_test_of_single_trials_is_mcnemars(recovered: int, regressed: int, equal: int) -> None:
    """Instances that do not differ say nothing; all signs are tried, so that the p-value is exact."""
    differences = [1.0] * recovered + [-1.0] * regressed + [0.0] * equal
    assert paired_test(differences) == pytest.approx(mcnemar(recovered, regressed))


def outcomes(draw: np.random.Generator, chances: Floats, trials: int) -> list[list[bool]]:
    """Outcomes of instances with these chances of being resolved, trial by trial."""
    return [[bool(one < chance) for one in draw.random(trials)] for chance in chances]


@pytest.mark.parametrize(("instances", "trials"), [(40, 1), (30, 3)])
def test_a_study_without_a_difference_finds_one_in_twenty(instances: int, trials: int) -> None:
    """Of 300 studies in which both arms do the same, at most some 5 % find a difference."""
    draw = np.random.default_rng(7)
    found = 0
    for _ in range(300):
        chances = draw.beta(0.5, 0.5, instances)
        base, ledger = (np.mean(outcomes(draw, chances, trials), axis=1) for _ in range(2))
        found += paired_test(list(ledger - base), resamples=500) < 0.05
    assert found <= 300 * 0.08


def test_holms_correction_multiplies_the_smallest_by_all_and_each_further_one_by_one_less() -> None:
    """In the given order, never below a smaller one's, and at most 1."""
    assert holm([0.03, 0.01, 0.02, 0.9]) == pytest.approx((0.06, 0.04, 0.06, 0.9))
    assert holm([0.6, 0.7]) == (1.0, 1.0)
    assert (holm([]), holm([0.04])) == ((), (0.04,))


def test_more_tests_need_more_instances() -> None:
    """The smallest p-value of n instances is 2 / 2 ** n."""
    needed = [least_instances(tests) for tests in (1, 2, 3, 4)]
    assert needed == [6, 7, 7, 8]
    assert all(2 / 2**n < 0.05 / tests <= 2 / 2 ** (n - 1) for tests, n in enumerate(needed, 1))


def test_as_many_trials_as_are_needed_find_the_difference_in_four_of_five_studies() -> None:
    """The number of trials that one pilot study says are needed, applied to 200 new studies with that difference."""
    draw = np.random.default_rng(3)
    chances = draw.uniform(0.2, 0.7, 60)
    pilot = noise(outcomes(draw, chances, 4), outcomes(draw, chances + 0.1, 4))
    assert pilot is not None
    trials = pilot.trials_needed(0.1)
    assert trials is not None and pilot.detectable(trials) <= 0.1
    found = 0
    for _ in range(200):
        base = np.mean(outcomes(draw, chances, trials), axis=1)
        found += paired_test(list(np.mean(outcomes(draw, chances + 0.1, trials), axis=1) - base), resamples=500) < 0.05
    assert 0.65 <= found / 200 <= 0.95


@pytest.mark.parametrize(
    ("instances", "trials", "tests"),
    [(20, 2, 1), (60, 1, 1), (60, 1, 4), *(pytest.param(60, trials, 1, marks=pytest.mark.long) for trials in (2, 4))],
)
def test_the_smallest_difference_that_is_found_is_found_in_four_of_five_studies(
    instances: int, trials: int, tests: int
) -> None:
    """What studies without a difference say that they would find, planted into 500 new ones of the same size."""
    draw = np.random.default_rng(instances + trials)

    def chances() -> Floats:
        return draw.uniform(0.2, 0.6, instances)

    def said() -> float:
        alike = chances()
        known = noise(outcomes(draw, alike, trials), outcomes(draw, alike, trials))
        assert known is not None
        return replace(known, tests=tests).detectable(trials)

    least = float(np.median([said() for _ in range(40)]))
    found = 0
    for _ in range(500):
        before = chances()
        base, ledger = (np.mean(outcomes(draw, one, trials), axis=1) for one in (before, before + least))
        found += paired_test(list(ledger - base), resamples=300 * tests) < 0.05 / tests
    assert 0.77 <= found / 500 <= 0.88


@pytest.mark.parametrize(
    ("instances", "trials", "shape"),
    [(80, 1, 0.2), (40, 3, 0.2), *(pytest.param(n, t, 0.05, marks=pytest.mark.long) for n, t in ((80, 1), (80, 3)))],
)
def test_it_is_found_as_often_where_most_instances_are_always_or_never_resolved(
    instances: int, trials: int, shape: float
) -> None:
    """Outcomes hardly vary but for the effect, the same share of what is unresolved: most of 300 studies find it."""
    draw = np.random.default_rng(instances + trials)

    def chances() -> Floats:
        return draw.beta(shape, shape, instances)

    pilots = [noise(*(outcomes(draw, alike, trials) for _ in "ab")) for alike in (chances() for _ in range(40))]
    least = float(np.median([one.detectable(trials) for one in pilots if one is not None]))
    found = 0
    for _ in range(300):
        before = chances()
        after = before + (1 - before) * least / np.mean(1 - before)
        base, ledger = (np.mean(outcomes(draw, one, trials), axis=1) for one in (before, after))
        found += paired_test(list(ledger - base), resamples=300) < 0.05
    assert 0.75 <= found / 300 <= 0.97


def test_where_nothing_is_resolved_eight_instances_have_to_be() -> None:
    """Six are found at 5 %, and eight are needed on average for six in four of five evaluations."""
    for trials in (1, 3):
        never = noise(*[[[False] * trials] * 100] * 2)
        assert never is not None
        assert 8 <= never.detectable(trials) * 100 * trials <= 14


def test_a_study_with_fewer_than_six_instances_finds_nothing() -> None:
    """Five differences of one sign have a p-value of 2 / 32, six one of 2 / 64."""
    assert [paired_test([0.5 + 0.01 * n for n in range(number)]) < 0.05 for number in (5, 6)] == [False, True]
    known = [Noise(within=0.1, between=0.0, instances=number) for number in (5, 6)]
    assert [one.testable for one in known] == [False, True]
    assert known[0].instances_needed(0.9, 1_000_000) == 6


def test_what_instances_differ_by_no_number_of_trials_averages_out() -> None:
    """Half of the instances always win and half always lose: only more instances find a small difference."""
    sure = [[[True] * 3, [False] * 3] * 10, [[False] * 3, [True] * 3] * 10]
    found = noise(*sure)
    assert found is not None and found.between is not None and found.between > 0.9
    assert (found.trials_needed(0.05), found.instances_needed(0.05, 3) > 1_000) == (None, True)


def test_the_least_number_of_trials_is_found_where_more_trials_find_less() -> None:
    """Six of 500 instances are never resolved: many trials show that an effect is in these alone, one does not."""
    outcomes = [[number >= 6] * 2 for number in range(500)]
    found = noise(outcomes, outcomes)
    assert found is not None
    assert found.detectable(1) < 0.03 < found.detectable(3) < found.detectable(5) == math.inf
    assert [found.trials_needed(points) for points in (0.01, 0.03)] == [None, 1]


def test_single_trials_bound_the_number_of_trials_from_below() -> None:
    """Half of the instances always win and half always lose: single trials can't know that no number is enough."""
    single, several = (
        noise([[True] * trials, [False] * trials] * 10, [[False] * trials, [True] * trials] * 10) for trials in (1, 3)
    )
    assert single is not None and several is not None
    assert single.between is None
    assert several.between == pytest.approx(20 / 19)
    assert single.detectable(1) == pytest.approx(several.detectable(1), rel=0.1)
    assert (single.trials_needed(0.05), several.trials_needed(0.05)) == (176, None)


@pytest.mark.parametrize("repeated", [0, 2, 5, 19])
def test_a_second_trial_of_a_few_instances_does_not_change_what_single_trials_find(repeated: int) -> None:
    """An evaluation of 40 instances that was stopped in its second trial, in which arms agree and repeat themselves."""
    sides = [[[n % k == 0] * (2 if n < repeated else 1) for n in range(40)] for k in (2, 3)]
    found = noise(*sides)
    assert found is not None
    assert (found, found.trials) == (noise(*([one[:1] for one in side] for side in sides)), 1)


def test_unequal_numbers_of_trials_are_worth_their_harmonic_mean() -> None:
    """Three trials of half of the instances and two of the others, in one of the arms, are worth 2.4."""
    even, uneven = ([[True, False, True][: 3 - n % number] for n in range(20)] for number in (1, 2))
    found = [noise(even, side) for side in (even, uneven)]
    assert [one.trials for one in found if one is not None] == pytest.approx([3, 2.4])


def test_a_study_in_which_all_outcomes_agree_is_not_taken_for_one_without_noise() -> None:
    """Of 8 single trials without a disagreement, one in ten is taken to disagree; any effect is one more."""
    for solved in (True, False):
        alike = [[solved]] * 8
        assert noise(alike, alike) == Noise(within=0.1, between=None, instances=8, grows=1.0)
    assert noise([], []) is None


@pytest.mark.parametrize(("per_position", "found"), [(0.0, False), (-0.05, True)])
def test_an_effect_of_the_order_is_found_where_there_is_one(per_position: float, found: bool) -> None:
    """Each later arm costs 5 % less, as with a warm cache; one arm costs half as much, which is no effect of order."""
    draw = np.random.default_rng(5)
    rows = [(block, at, "abc"[(at + block) % 3]) for block in range(60) for at in range(3)]
    values = [
        float(np.exp(draw.normal(block % 5, 0.1)) * (1 + per_position) ** at * (0.5 if arm == "a" else 1))
        for block, at, arm in rows
    ]
    blocks, positions, arms = zip(*rows, strict=True)
    effect = order_effect(values, positions, arms, blocks)
    assert effect is not None and effect.p is not None and (effect.p < 0.05) is found
    assert effect.change == pytest.approx(per_position, abs=0.02)


Runs = list[tuple[int, int, str]]
"""Block, position and arm of each run."""


def effect_of(runs: Runs, values: Sequence[float], **given: int) -> OrderEffect:
    """The effect of the order of these runs."""
    blocks, positions, arms = zip(*runs, strict=True)
    effect = order_effect(values, positions, arms, blocks, **given)
    assert effect is not None
    return effect


def orders(*rows: str) -> Runs:
    """Blocks in which the arms ran in these orders, one letter per arm; a dot is a run that is missing."""
    return [(block, at, arm) for block, row in enumerate(rows) for at, arm in enumerate(row) if arm != "."]


@pytest.mark.parametrize("blocks", [1, 20])
def test_where_each_arm_has_its_position_the_effect_of_the_order_is_unknown(blocks: int) -> None:
    """Twice as much at each position may as well be twice as much in each arm."""
    found = effect_of(orders(*["abcd"] * blocks), [1, 2, 4, 8] * blocks)
    assert found == OrderEffect(change=None, p=None, runs=4 * blocks, least=None)


@pytest.mark.parametrize(
    "runs",
    [
        orders("abcd", "bcda"),
        orders("ab", "ab", "ab", "ab", "ab", "ab", "ba"),
        orders("abc", "abc", "cab", ".ba"),
        orders("abcd", "abcd", "ab.d", "bcda"),
    ],
)
def test_an_effect_of_the_order_is_not_taken_for_one_of_unbalanced_arms(runs: Runs) -> None:
    """Arms cost a third more each and positions twice as much each, without noise: the change is +100 %."""
    costs = [(5.0 + block) * 2**at * 1.33 ** "abcd".index(arm) for block, at, arm in runs]
    found = effect_of(runs, costs)
    assert found.change == pytest.approx(1.0)
    assert found.least == found.p


def test_an_effect_is_testable_if_few_orders_tell_as_much() -> None:
    """Two blocks of four arms have 576 orders; two of two arms have 4, of which 2 tell arms and positions apart."""
    found = [effect_of(runs, [2.0**at for _, at, _ in runs]) for runs in (orders("abcd", "bcda"), orders("ab", "ba"))]
    assert [one.least is not None and one.least < 0.05 for one in found] == [True, False]
    assert found[0].p == pytest.approx(12 / 552)
    assert found[1].p == 1.0


UNBALANCED = (
    orders(*["abcd", "abcd", "bcda"] * 3),
    orders(*["ab"] * 9, *["ba"] * 4),
    orders(*["abc", "ab.", "b.a", "cab"] * 3),
)
"""Small designs in which arms differ in their positions on average."""


def noisy(runs: Runs, seed: int, per_position: float) -> list[float]:
    """Costs of runs that vary by instance, by arm, by position and by chance."""
    draw = np.random.default_rng(seed)
    instance, arm = draw.normal(0, 2, 20), dict(zip("abcd", draw.normal(0, 1, 4), strict=True))
    return [
        float(np.exp(instance[block] + arm[name] + draw.normal(0, 0.2)) * (1 + per_position) ** at)
        for block, at, name in runs
    ]


@pytest.mark.parametrize("runs", UNBALANCED)
def test_a_planted_effect_is_found_in_small_unbalanced_designs(runs: Runs) -> None:
    """Half as much again at each position, in 40 studies: 19 of 20 find it, and are right on average."""
    found = [effect_of(runs, noisy(runs, seed, 0.5), resamples=300) for seed in range(40)]
    assert sum(one.p is not None and one.p < 0.05 for one in found) >= 38
    assert np.mean([np.log1p(one.change or 0.0) for one in found]) == pytest.approx(np.log(1.5), abs=0.05)


@pytest.mark.parametrize("runs", UNBALANCED)
def test_without_an_effect_of_the_order_one_in_twenty_is_found(runs: Runs) -> None:
    """Of 200 studies in which arms differ and positions do not, 1 to 9 % find an effect."""
    found = [effect_of(runs, noisy(runs, seed, 0.0), resamples=300).p for seed in range(200)]
    assert 2 <= sum(p is not None and p < 0.05 for p in found) <= 18


def test_the_test_of_the_order_is_the_same_every_time() -> None:
    """The orders that are drawn follow from the seed alone."""
    runs = orders(*["abcd", "bcda", "dabc"] * 4)
    first, again, other = (effect_of(runs, noisy(runs, 1, 0.0), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_without_two_positions_there_is_no_order() -> None:
    """A single arm, or blocks of one run."""
    assert order_effect([1.0, 2.0], [0, 1], ["a", "b"], [1, 2]) is None
