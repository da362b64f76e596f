"""What an evaluation shows and what it can't, from the point of view of whoever believes the table."""

from __future__ import annotations

import random
from typing import Any

import pytest
from inline_snapshot import snapshot

from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import settings
from execledger.evaluate.report.evidence import UNEVEN, evidence
from execledger.evaluate.report.footnotes import ESTIMATED
from execledger.runs.usage import Tokens
from tests.evaluate.rows import row


def study(
    seed: int, *, gain: float = 0.0, cheaper: float = 0.0, drift: float = 0.0, trials: int = 2, instances: int = 80
) -> list[RunRow]:
    """Instances in two arms: the second resolves ``gain`` more of them, and takes less by the share ``cheaper``.

    Tokens of each class and cost vary by instance, by run, and independently of each other. Each run costs less than
    the one before it by the share ``drift``; the arms take turns in going first.
    """
    draw = random.Random(seed)
    rows = []
    for number in range(instances):
        chance, price = draw.uniform(0.1, 0.6), draw.uniform(0.2, 1.0)
        for trial in range(1, trials + 1):
            for at, arm in enumerate(("base", "both")):
                position = (at + number + trial) % 2
                cost, new, cached = (price * draw.uniform(0.8, 1.2) * (1 - cheaper * at) for _ in range(3))
                tokens = Tokens(uncached=round(50_000 * new), cached=round(400_000 * cached), output=5_000)
                given = {"cost": cost * (1 - drift) ** position, "tokens": tokens, "position": position}
                solved = draw.random() < chance + gain * at
                rows.append(row(f"i{number}", arm, trial, resolved=solved, **given))
    return rows


def answers(rows: list[RunRow]) -> dict[str, str]:
    """The answers of the table by their questions."""
    table = evidence(settings(rows))
    assert table is not None
    return {line[0].text: line[1].text for line in table.rows}


def test_a_null_study_reports_no_difference_and_says_what_it_could_have_found() -> None:
    """Both arms are alike: no difference of outcome or cost, no effect of the order, and the power of the study."""
    assert answers(study(1)) == snapshot(
        {
            "Compared": "80 instances, 2 trials in each arm, 80 graded",
            "Difference of Pass@1": "none found: +1.9 points (95% interval -8.1 to +11.9, p 0.818, corrected 1.000)",
            "Difference of cost": "none found: +0.6% (95% interval -1.9% to +3.2%, p 0.628, corrected 1.000)",
            "Difference of new input tokens": "none found: -0.7% (95% interval -2.9% to +1.6%, p 0.555, corrected"
            " 1.000)",
            "Difference of cached input tokens": "none found: -1.0% (95% interval -4.0% to +2.1%, p 0.523, corrected"
            " 1.000)",
            "Smallest difference of Pass@1 that it would find": "18.5 points",
            "Trials needed to find 1 point": "597 with these 80 instances",
            "Trials needed to find 3 points": "69 with these 80 instances",
            "Trials needed to find 5 points": "26 with these 80 instances",
            "Effect on cost": "none found: -0.1% from one position to the next (p 0.950, corrected 1.000)",
            "Effect on new input tokens": "none found: -2.0% from one position to the next (p 0.083, corrected 0.250)",
            "Effect on cached input tokens": "none found: -0.3% from one position to the next (p 0.781, corrected"
            " 1.000)",
        }
    )


def test_a_planted_difference_is_found() -> None:
    """20 points more, 15 % cheaper."""
    found = answers(study(2, gain=0.2, cheaper=0.15))
    assert found["Difference of Pass@1"].startswith("found: +")
    assert found["Difference of cost"].startswith("found: -")
    assert found["Effect on cost"].startswith("none found")


def test_a_drift_from_run_to_run_is_found_and_is_not_taken_for_ledgers() -> None:
    """Every later run is 10 % cheaper: an effect of the order, and no difference between arms that take turns."""
    found = answers(study(3, drift=0.1))
    assert found["Effect on cost"].startswith("found: -")
    assert found["Difference of cost"].startswith("none found")


@pytest.mark.parametrize("studies", [30, pytest.param(200, marks=pytest.mark.long)])
def test_of_null_studies_one_in_twenty_finds_any_difference(studies: int) -> None:
    """Of 30 or 200 studies of 30 instances whose arms are alike; docs/evaluate.md has the numbers of the long form.

    If each of them finds one with a probability of 5 %, at most 5 of 30 do, or 18 of 200, in 99 % of simulations.
    """
    found = uncorrected = 0
    for seed in range(studies):
        table = evidence(settings(study(seed, instances=30)))
        assert table is not None
        tested = [line[1] for line in table.rows if line[0].text.startswith("Difference")]
        assert len(tested) == 4
        found += any(cell.text.startswith("found") for cell in tested)
        uncorrected += any(isinstance(cell.value, tuple) and float(cell.value[1] or 0) < 0.05 for cell in tested)
    print(f"{studies} null studies: {found} find a difference, {uncorrected} would without a correction")
    assert found <= (5 if studies == 30 else 18)
    assert found < uncorrected


def test_where_nothing_is_tested_no_correction_is_mentioned() -> None:
    """Nothing is graded, and neither cost nor tokens are known."""
    unknown: dict[str, Any] = {"resolved": None, "cost": None, "tokens": None}
    table = evidence(tuple(settings([row("a", **unknown), row("a", "both", **unknown)])))
    assert table is not None and not any("Holm" in note for note in table.notes)


def test_without_grades_or_positions_the_table_says_that_it_is_unknown() -> None:
    """What nobody graded is unknown; an order that is not recorded is not tested."""
    rows = [row(name, arm, resolved=None) for arm in ("base", "both") for name in "ab"]
    assert answers(rows) == snapshot(
        {
            "Compared": "2 instances, 1 trial in each arm, 0 graded",
            "Difference of Pass@1": "unknown: nothing was graded in both arms",
            "Difference of cost": "not testable with 2 instances: +0.0% (95% interval +0.0% to +0.0%, p 1.000,"
            " corrected 1.000)",
            "Difference of new input tokens": "not testable with 2 instances: +0.0% (95% interval +0.0% to +0.0%, p"
            " 1.000, corrected 1.000)",
            "Difference of cached input tokens": "not testable with 2 instances: +0.0% (95% interval +0.0% to +0.0%,"
            " p 1.000, corrected 1.000)",
            "Effect on cost": "not tested: the order in which the arms ran is not recorded",
            "Effect on new input tokens": "not tested: the order in which the arms ran is not recorded",
            "Effect on cached input tokens": "not tested: the order in which the arms ran is not recorded",
        }
    )


def test_with_few_instances_nothing_is_testable_and_no_number_of_trials_is_promised() -> None:
    """Three instances with two trials each: the smallest p-value is 0.25, however large the difference is."""
    rows = [
        row(name, arm, trial, resolved=arm == "both", cost=price * (0.7 if arm == "both" else 1))
        for arm in ("base", "both")
        for trial in (1, 2)
        for name, price in (("a", 0.4), ("b", 0.5), ("c", 0.9))
    ]
    table = evidence(settings(rows))
    assert table is not None
    assert {line[0].text: line[1].text for line in table.rows} == snapshot(
        {
            "Compared": "3 instances, 2 trials in each arm, 3 graded",
            "Difference of Pass@1": "not testable with 3 instances: +100.0 points (no interval, p 0.250, corrected"
            " 1.000)",
            "Difference of cost": "not testable with 3 instances: -30.0% (95% interval -30.0% to -30.0%, p 0.250,"
            " corrected 1.000)",
            "Difference of new input tokens": "not testable with 3 instances: +0.0% (95% interval +0.0% to +0.0%, p"
            " 1.000, corrected 1.000)",
            "Difference of cached input tokens": "not testable with 3 instances: +0.0% (95% interval +0.0% to +0.0%,"
            " p 1.000, corrected 1.000)",
            "Smallest difference of Pass@1 that it would find": "none of any size: not testable with 3 instances, at"
            " least 8 are needed",
            "Effect on cost": "not tested: the order in which the arms ran is not recorded",
            "Effect on new input tokens": "not tested: the order in which the arms ran is not recorded",
            "Effect on cached input tokens": "not tested: the order in which the arms ran is not recorded",
        }
    )
    assert table.notes == snapshot(
        (
            "A difference is found if its p is below 0.05 after Holm's correction over the 4 differences tested in"
            " one comparison (corrected); p itself and all intervals are not corrected: sign-flip permutation test"
            " over instances, with the mean of all trials of each",
            "Not testable: with n instances no p-value of this test is below 2 / 2^n, so that with fewer than 6, or"
            " 8 after the correction for 4 tests, it finds no difference of any size, with any number of trials",
            "New input tokens are those not read from a cache: uncached, or written to it",
        )
    )


@pytest.mark.parametrize("solved", [True, False])
def test_outcomes_that_all_agree_are_not_certain(solved: bool) -> None:
    """Twelve instances that both arms resolve, or neither: from 0 to 0 would exclude a difference of any size."""
    rows = [row(f"i{n}", arm, resolved=solved) for n in range(12) for arm in ("base", "both")]
    assert answers(rows)["Difference of Pass@1"] == "none found: +0.0 points (no interval, p 1.000, corrected 1.000)"


@pytest.mark.parametrize(("instances", "verdict"), [(7, "not testable with 7 instances"), (8, "found")])
def test_eight_instances_are_the_fewest_that_show_one_difference_of_four(instances: int, verdict: str) -> None:
    """Every instance is resolved with Ledger only."""
    rows = [row(f"i{n}", arm, resolved=arm == "both") for n in range(instances) for arm in ("base", "both")]
    assert answers(rows)["Difference of Pass@1"].startswith(verdict)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"position": 0, "cost": None, "tokens": None}, "not tested: cost unknown"),
        (
            {"position": 0, "cost": None},
            "not tested: cost unknown, since `gpt-5-mini` has no price: give one with `--prices FILE`",
        ),
        ({"position": 0}, "not tested: no two runs of an instance and trial have different positions"),
        ({}, "not tested: the order in which the arms ran is not recorded"),
    ],
)
def test_an_effect_of_the_order_that_is_not_tested_has_its_reason(given: dict[str, Any], said: str) -> None:
    """The row is there, and says why; so does that of the difference if the price is missing."""
    rows = [row(name, arm, **given) for arm in ("base", "both") for name in "ab"]
    if "has no price" in said:
        assert (
            answers(rows)["Difference of cost"] == "unknown: `gpt-5-mini` has no price: give one with `--prices FILE`"
        )
    assert answers(rows)["Effect on cost"] == said


def test_an_effect_of_the_order_is_not_testable_with_few_runs() -> None:
    """The two most extreme orders of two arms are 3 % of all with six instances, of which three tests find nothing."""
    for instances, said in ((6, "not testable with so few runs: -"), (8, "found: -")):
        rows = [
            row(f"i{n}", arm, position=(at + n) % 2, cost=0.5 if (at + n) % 2 else 1.0)
            for n in range(instances)
            for at, arm in enumerate(("base", "both"))
        ]
        assert answers(rows)["Effect on cost"].startswith(said)


def test_arms_that_always_have_the_same_position_are_not_told_apart_from_it() -> None:
    """The second arm always runs second, and costs twice as much: of Ledger's doing, or of the order's."""
    rows = [
        row(f"i{n}", arm, position=at, cost=0.5 * 2**at) for n in range(20) for at, arm in enumerate(("base", "both"))
    ]
    assert answers(rows)["Effect on cost"] == snapshot(
        "not testable: arm and position can't be told apart; the arms' mean positions differ"
        " (base 0.00, inform + govern 1.00), so that an effect of the order is part of their differences"
    )


@pytest.mark.parametrize("word", ["none found", "found"])
def test_positions_that_are_unequal_on_average_are_told_whatever_is_found(word: str) -> None:
    """The base goes first in 15 of 20 instances, and is as expensive as the other arm, or whoever is second is."""
    rows = []
    for n in range(20):
        for at, arm in enumerate(("base", "both")):
            position = at if n % 4 else 1 - at
            cost = random.Random(f"{n} {arm}").uniform(0.9, 1.1) * (1.5**position if word == "found" else 1)
            rows.append(row(f"i{n}", arm, position=position, cost=cost))
    said = answers(rows)["Effect on cost"]
    assert said.startswith(word)
    assert said.endswith(
        "; the arms' mean positions differ (base 0.25, inform + govern 0.75),"
        " so that an effect of the order is part of their differences"
    )


ARMS = tuple(enumerate(("base", "both")))
"""Two arms with their positions."""


def classes(uncached: int, cached: int | None, written: int | None = 0, **given: Any) -> dict[str, Any]:
    """Two arms of 20 instances; the second takes half as many new tokens and twice as many cached ones."""
    rows = []
    for n in range(20):
        for at, arm in enumerate(("base", "both")):
            times = None if cached is None else cached * (n + 1) * (1 + at)
            new = uncached * (n + 1) // (1 + at)
            tokens = Tokens(uncached=new, cached=times, written=written and written * (n + 1) // (1 + at))
            rows.append(row(f"i{n}", arm, tokens=tokens, position=(at + n) % 2, **given))
    return {question: answer for question, answer in answers(rows).items() if "input" in question}


@pytest.mark.parametrize(("uncached", "written"), [(4_000, 0), (4_000, None), (1_000, 3_000)])
def test_classes_of_input_are_tested_one_by_one(uncached: int, written: int | None) -> None:
    """What is written to the cache is new; what is read from it is never added to that."""
    assert classes(uncached, 2_000, written) == snapshot(
        {
            "Difference of new input tokens": "found: -50.0% (95% interval -50.0% to -50.0%, p <0.001, corrected"
            " 0.002)",
            "Difference of cached input tokens": "found: +100.0% (95% interval +100.0% to +100.0%, p <0.001,"
            " corrected 0.002)",
            "Effect on new input tokens": "none found: +0.0% from one position to the next (p 1.000, corrected 1.000)",
            "Effect on cached input tokens": "none found: +0.0% from one position to the next (p 1.000, corrected"
            " 1.000)",
        }
    )


@pytest.mark.parametrize("given", [{"cached": 0, "cached_told": False}, {"cached": None}])
def test_input_is_not_tested_where_no_cached_tokens_are_reported(given: dict[str, Any]) -> None:
    """Nobody knows how much of the input came from a cache."""
    assert set(classes(4_000, **given).values()) == {
        "not tested: no run reports cached tokens, so how much of the input was new is unknown"
    }


def test_where_all_runs_report_0_cached_tokens_all_input_is_new_and_tested() -> None:
    """A report of 0 is a report; there is no relative change from nothing, and nothing unknown about it."""
    assert classes(4_000, 0) == snapshot(
        {
            "Difference of new input tokens": "found: -50.0% (95% interval -50.0% to -50.0%, p <0.001, corrected"
            " 0.001)",
            "Difference of cached input tokens": "not tested: no cached input tokens in either arm",
            "Effect on new input tokens": "none found: +0.0% from one position to the next (p 1.000, corrected 1.000)",
            "Effect on cached input tokens": "not tested: no cached input tokens in any arm",
        }
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0, 0), "no cached input tokens in either arm"),
        ((0, 9), "no cached input tokens in the base, to which a change would be relative"),
    ],
)
def test_no_change_is_relative_to_nothing(given: tuple[int, int], said: str) -> None:
    """What is left out of the comparison is told there as well: one of ten instances has an estimate."""
    rows = [
        row(f"i{n}", arm, tokens=Tokens(uncached=9, cached=given[at]), estimated=n == at == 0)
        for n in range(10)
        for at, arm in ARMS
    ]
    assert answers(rows)["Difference of cached input tokens"] == (
        f"not tested: {said}; 1 instance left out, whose tokens are estimated in some runs and counted by the provider"
        " in others"
    )


def test_cost_of_0_is_not_unknown() -> None:
    """A table of prices may have a model of one's own at 0 dollars."""
    found = answers([row(f"i{n}", arm, position=(at + n) % 2, cost=0.0) for n in range(9) for at, arm in ARMS])
    assert found["Difference of cost"] == "not tested: no cost in either arm"
    assert found["Effect on cost"] == "not tested: no cost in any arm"


def test_input_is_not_tested_where_tokens_are_unknown() -> None:
    """That no run reports cached tokens would be a reason that is too narrow."""
    rows = [row(f"i{n}", arm, position=(at + n) % 2, tokens=None) for n in range(20) for at, arm in ARMS]
    assert {said for question, said in answers(rows).items() if "input" in question} == {"not tested: tokens unknown"}


@pytest.mark.parametrize(("given", "tests"), [({}, 3), ({"cost": None}, 2)])
def test_the_fewest_instances_are_those_for_the_tests_of_the_table(given: dict[str, Any], tests: int) -> None:
    """Without grades there are three tests; with a missing price as well, two."""
    table = evidence(settings(row(name, arm, resolved=None, **given) for name in "abc" for _, arm in ARMS))
    assert table is not None
    (note,) = (one for one in table.notes if one.startswith("Not testable"))
    assert f"with fewer than 6, or 7 after the correction for {tests} tests, it finds" in note


def test_runs_without_cached_tokens_are_no_part_of_the_test_of_their_order() -> None:
    """There is no relative change from nothing."""
    rows = [
        row(f"i{n}", arm, position=(at + n) % 2, tokens=Tokens(uncached=9, cached=n))
        for n in range(9)
        for at, arm in enumerate(("base", "both"))
    ]
    assert answers(rows)["Effect on cached input tokens"].startswith(
        "none found: +0.0% from one position to the next (p 1.000, corrected 1.000); 2 runs with no cached input"
        " tokens left out"
    )


def test_what_rests_on_estimated_tokens_is_marked() -> None:
    """The figures, and the note that says what the mark is."""
    rows = [
        row(f"i{n}", arm, position=(at + n) % 2, estimated=True)
        for n in range(9)
        for at, arm in enumerate(("base", "both"))
    ]
    table = evidence(settings(rows))
    assert table is not None and ESTIMATED in table.notes
    found = answers(rows)
    assert found["Difference of cost"] == "none found: ~+0.0% (95% interval ~+0.0% to +0.0%, p 1.000, corrected 1.000)"
    assert "~" not in found["Difference of Pass@1"]


def test_arms_of_which_one_reports_no_cached_tokens_are_not_compared_by_class_or_cost() -> None:
    """The base reports one number for all of its input: by it, the other arm takes a tenth of the new tokens."""
    rows = [
        row(f"i{n}", arm, cost=cost, tokens=tokens, cached_told=arm == "both")
        for n in range(20)
        for arm, cost, tokens in (
            ("base", 0.9, Tokens(uncached=100_000)),
            ("both", 0.3, Tokens(uncached=10_000, cached=90_000)),
        )
    ]
    found = answers(rows)
    for name in ("cost", "new input tokens", "cached input tokens"):
        assert found[f"Difference of {name}"] == "not tested: no run in base reports cached tokens, other runs do"


def test_the_order_is_tested_only_among_runs_that_count_tokens_alike() -> None:
    """What the differences leave out, or do not test at all, the test of the order does neither, with the reason."""
    untold: dict[str, Any] = {"cached_told": False}
    estimated: dict[str, Any] = {"estimated": True}
    for given, number, said in (
        (untold, 20, "not tested: no run in base reports cached tokens, other runs do"),
        (estimated, 20, "not tested: tokens are estimated in some runs and counted by the provider in others"),
        (untold, 8, "; 8 instances left out, whose cached tokens are reported in some runs only"),
        (
            estimated,
            8,
            "; 8 instances left out, whose tokens are estimated in some runs and counted by the provider in others",
        ),
    ):
        rows = [
            row(f"i{n}", arm, position=(at + n) % 2, cost=0.1 if odd else 0.5, **(given if odd else {}))
            for n in range(20)
            for at, arm in enumerate(("base", "both"))
            for odd in (arm == "base" and n < number,)
        ]
        whole = (
            said
            if number == 20
            else f"none found: +0.0% from one position to the next (p 1.000, corrected 1.000){said}"
        )
        assert answers(rows)["Effect on cost"] == whole


def test_the_order_of_three_arms_is_not_tested_if_one_counts_otherwise() -> None:
    """The other two have no positions of their own."""
    rows = [
        row(f"i{n}", arm, position=(at + n) % 3, cached_told=arm != "shadow")
        for n in range(20)
        for at, arm in enumerate(("base", "both", "shadow"))
    ]
    said = "not tested: no run in shadow reports cached tokens, other runs do"
    assert answers(rows)["Effect on new input tokens"] == said


def test_cost_with_cached_tokens_is_not_compared_with_cost_without_in_single_instances() -> None:
    """Eight of twenty base runs report one number for all of their input, which makes them seem expensive."""
    rows = [
        row(f"i{n}", arm, cached_told=told, cost=0.3 if told else 0.9)
        for n in range(20)
        for arm in ("base", "both")
        for told in (arm == "both" or n >= 8,)
    ]
    found = answers(rows)
    for name in ("cost", "new input tokens", "cached input tokens"):
        assert found[f"Difference of {name}"] == (
            "none found: +0.0% (95% interval +0.0% to +0.0%, p 1.000, corrected 1.000); 8 instances left out, whose"
            " cached tokens are"
            " reported in some runs only"
        )


def test_estimated_tokens_are_not_compared_with_counted_ones() -> None:
    """An estimate is low: such instances are left out, and nothing is tested if all are of that kind."""
    for estimated, said in (
        (20, "not tested: tokens are estimated in some runs and counted by the provider in others"),
        (
            2,
            "none found: +0.0% (95% interval +0.0% to +0.0%, p 1.000, corrected 1.000); 2 instances left out, whose"
            " tokens are"
            " estimated in some runs and counted by the provider in others",
        ),
    ):
        rows = [
            row(f"i{n}", arm, estimated=arm == "base" and n < estimated, cost=0.1 if arm == "base" and n < 2 else 0.5)
            for n in range(20)
            for arm in ("base", "both")
        ]
        assert answers(rows)["Difference of cost"] == said


@pytest.mark.parametrize(("base", "both", "said"), [(3, 3, "3 trials"), (1, 3, "1 to 3 trials"), (1, 1, "1 trial")])
def test_unequal_numbers_of_trials_are_told(base: int, both: int, said: str) -> None:
    """Three trials in one arm and one in the other are neither three nor one in each."""
    numbers = {"base": base, "both": both}
    rows = [row(name, arm, trial) for arm, of in numbers.items() for trial in range(1, of + 1) for name in "ab"]
    assert answers(rows)["Compared"] == f"2 instances, {said} in each arm, 2 graded"


@pytest.mark.parametrize(("base", "both", "warned"), [(1, 1, False), (2, 3, False), (1, 2, True), (5, 1, True)])
def test_a_test_of_very_unequal_trials_has_a_warning(base: int, both: int, warned: bool) -> None:
    """The mean of five trials is not as likely to be far above that of one as far below it, where costs are skewed."""
    numbers = {"base": base, "both": both}
    rows = [row(name, arm, trial) for arm, of in numbers.items() for trial in range(1, of + 1) for name in "abcdef"]
    table = evidence(settings(rows))
    assert table is not None and (UNEVEN in table.notes) is warned


def test_with_one_trial_the_number_of_trials_is_a_lower_bound() -> None:
    """The table says "at least", and why."""
    rows = study(1, trials=1)
    table = evidence(settings(rows))
    assert table is not None
    assert {question: said for question, said in answers(rows).items() if "find" in question} == snapshot(
        {
            "Smallest difference of Pass@1 that it would find": "26.9 points",
            "Trials needed to find 1 point": "at least 609 with these 80 instances",
            "Trials needed to find 3 points": "at least 70 with these 80 instances",
            "Trials needed to find 5 points": "at least 26 with these 80 instances",
        }
    )
    assert table.notes == snapshot(
        (
            "A difference is found if its p is below 0.05 after Holm's correction over the 4 differences tested in"
            " one comparison (corrected); p itself and all intervals are not corrected: sign-flip permutation test"
            " over instances, with the mean of all trials of each",
            "Power: which difference 80% of such evaluations would find after that correction even if no other"
            " difference is found, given how much the outcomes of an instance vary over trials and arms, if Ledger"
            " resolves the same share of the unresolved runs of each instance; if its effect differs more between"
            " instances than the table can tell from chance, more trials are needed, or no number is enough",
            "At least: a single trial can't separate chance from the variance between instances' effects, which"
            " trials of the same instances don't average out; every disagreement between two arms counts as chance,"
            " so that the number of trials is a lower bound, and perhaps none is enough",
            "Order: permutation test of positions within the trials of an instance, of the change from one planned"
            " position among the arms to the next, after the differences between arms and instances are removed from"
            " both; found after Holm's correction over the effects tested in one setting",
            "New input tokens are those not read from a cache: uncached, or written to it",
            "2 families of tests (comparisons, and orders of arms) are corrected each for itself: if nothing is"
            " real, at most about one evaluation in 20 finds something in a given one, and up to about 10% find"
            " something in any",
        )
    )


def test_a_difference_larger_than_what_the_base_leaves_unresolved_is_told_to_be_no_gain() -> None:
    """38 of 40 are resolved: 5 points are left, and 20 points could only be lost."""
    rows = [row(f"i{n}", arm, resolved=n > 1) for n in range(40) for arm in ("base", "both")]
    said = answers(rows)["Smallest difference of Pass@1 that it would find"]
    assert said.endswith("points; no gain can be that large, since the base leaves 5.0 points unresolved")
    assert answers(rows)["Trials needed to find 5 points"].endswith("such instances")
    better = [row(f"i{n}", arm, resolved=n > 0) for n in range(40) for arm in ("base", "both")]
    said = answers(better)["Trials needed to find 5 points"]
    assert said == "no gain can be that large, since the base leaves 2.5 points unresolved"


def test_where_no_difference_of_any_size_would_be_found_the_reason_is_not_the_number_of_instances() -> None:
    """Five of 500 instances leave something to gain, and one trial would find a difference that two would not."""
    rows = [
        row(f"i{n}", arm, trial, resolved=n > 4) for n in range(500) for arm in ("base", "both") for trial in (1, 2, 3)
    ]
    said = answers(rows)["Smallest difference of Pass@1 that it would find"]
    assert said == "none; no gain can be that large, since the base leaves 1.0 points unresolved"


def test_a_stopped_second_trial_promises_no_more_than_single_trials_do() -> None:
    """Two of 80 instances ran twice and repeated their outcomes, which is no reason to expect that of all."""
    rows = [one for one in study(1) if one.trial == 1]
    again = [row(one.instance, one.arm, 2, resolved=one.resolved) for one in rows if one.instance in ("i1", "i2")]
    said = [{name: text for name, text in answers(of).items() if "find" in name} for of in (rows, [*rows, *again])]
    assert said[0] == said[1]


def test_a_lost_run_hardly_changes_the_power() -> None:
    """Trials are then worth 1.99, and are still called 2 where instances differ so much that no number is enough."""
    smallest = "Smallest difference of Pass@1 that it would find"
    assert [answers(rows)[smallest] for rows in (study(1), study(1)[1:])] == snapshot(["18.5 points", "18.5 points"])
    rows = [
        row(f"i{n}", arm, trial, resolved=n % 2 == at)
        for n in range(80)
        for at, arm in enumerate(("base", "both"))
        for trial in (1, 2)
    ]
    assert [answers(of)["Trials needed to find 5 points"] for of in (rows, rows[1:])] == snapshot(
        [
            "no number with these 80 instances; 2 with 4,550 such instances",
            "no number with these 80 instances; 2 with 4,550 such instances",
        ]
    )


def test_each_comparison_is_corrected_for_itself_and_several_are_told() -> None:
    """Four tests in each of two comparisons: one evaluation in ten finds something where there is nothing."""
    rows = [row(f"i{n}", arm, cost=0.5 + n / 10) for arm in ("base", "both", "every") for n in range(8)]
    table = evidence(settings(rows))
    assert table is not None
    assert "over the 4 differences tested in one comparison" in table.notes[0]
    assert table.notes[-1] == snapshot(
        "2 families of tests (comparisons, and orders of arms) are corrected each for itself: if nothing is real, at"
        " most about one evaluation in 20 finds something in a given one, and up to about 10% find something in any"
    )


def test_every_arm_is_tested_against_the_base_the_full_system_first() -> None:
    """The paper's four arms: the ablation has totals of single paths, and this is where chance is told from them."""
    rows = [
        row(f"i{n}", arm, resolved=arm == "govern") for arm in ("base", "inform", "govern", "both") for n in range(8)
    ]
    table = evidence(settings(rows))
    assert table is not None
    titles = [section.title.partition(": ")[2] for section in table.sections]
    assert titles == [
        "inform + govern against base",
        "inform only against base",
        "govern only against base",
        "order of the arms",
    ]
    verdicts = [section.rows[1][1].text.partition(":")[0] for section in table.sections[:3]]
    assert verdicts == ["none found", "none found", "found"]
    assert "3 families of tests" in table.notes[-1]


def test_a_difference_that_one_test_would_find_is_none_among_four() -> None:
    """Both classes of input are the same, outcomes too: a p-value of 3 % of cost is no rare one of four."""
    rows = [
        row(f"i{n}", arm, cost=0.5 - (arm == "both" and n < 6) * (n + 1) / 100)
        for arm in ("base", "both")
        for n in range(20)
    ]
    assert answers(rows)["Difference of cost"] == snapshot(
        "none found: -2.1% (95% interval -4.0% to -0.5%, p 0.031, corrected 0.125)"
    )


def test_holm_finds_more_once_one_difference_is_found() -> None:
    """Each that is found leaves fewer others among which the next is the smallest."""
    rows = [
        row(f"i{n}", arm, resolved=arm == "both", cost=0.5 - (arm == "both" and n < 7) * (n + 1) / 100)
        for arm in ("base", "both")
        for n in range(20)
    ]
    found = answers(rows)
    assert found["Difference of Pass@1"].startswith("found: ")
    assert found["Difference of cost"] == snapshot(
        "found: -2.8% (95% interval -5.1% to -0.9%, p 0.016, corrected 0.047)"
    )


def test_one_arm_alone_shows_nothing() -> None:
    """There is nothing to compare."""
    assert evidence(settings([row("a")])) is None
