"""What an evaluation shows and what it can't, from the point of view of whoever believes the table."""

from __future__ import annotations

import random
from typing import Any

import pytest
from inline_snapshot import snapshot

from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import settings
from execledger.evaluate.report.evidence import evidence
from execledger.evaluate.report.footnotes import ESTIMATED
from execledger.runs.usage import Tokens
from tests.evaluate.rows import row


def study(seed: int, *, gain: float = 0.0, cheaper: float = 0.0, drift: float = 0.0, trials: int = 2) -> list[RunRow]:
    """80 instances in two arms: the second resolves ``gain`` more of them, and costs less by the share ``cheaper``.

    Each run costs less than the one before it by the share ``drift``; the arms take turns in going first.
    """
    draw = random.Random(seed)
    rows = []
    for number in range(80):
        chance, price = draw.uniform(0.1, 0.6), draw.uniform(0.2, 1.0)
        for trial in range(1, trials + 1):
            for at, arm in enumerate(("base", "both")):
                position = (at + number + trial) % 2
                cost = price * draw.uniform(0.8, 1.2) * (1 - cheaper * at) * (1 - drift) ** position
                solved = draw.random() < chance + gain * at
                rows.append(row(f"i{number}", arm, trial, resolved=solved, cost=cost, position=position))
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
            "Difference of Pass@1": "none found: -1.3 points (95% interval -11.2 to +9.4, p 0.895)",
            "Difference of cost": "none found: -0.4% (95% interval -3.3% to +2.6%, p 0.797)",
            "Difference of new input tokens": "none found: +0.0% (95% interval +0.0% to +0.0%, p 1.000)",
            "Difference of cached input tokens": "none found: +0.0% (95% interval +0.0% to +0.0%, p 1.000)",
            "Smallest difference of Pass@1 that it would find": "14.7 points",
            "Trials needed to find 1 point": "397 with these 80 instances",
            "Trials needed to find 3 points": "45 with these 80 instances",
            "Trials needed to find 5 points": "17 with these 80 instances",
            "Effect on cost": "none found: +0.4% from one position to the next (p 0.745)",
            "Effect on new input tokens": "none found: +0.0% from one position to the next (p 1.000)",
            "Effect on cached input tokens": "none found: +0.0% from one position to the next (p 1.000)",
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


@pytest.mark.parametrize("seed", range(20, 28))
def test_null_studies_rarely_find_anything(seed: int) -> None:
    """None of eight finds a difference of outcomes at one in a thousand."""
    table = evidence(settings(study(seed)))
    assert table is not None
    (tested,) = (line[1].value for line in table.rows if line[0].text == "Difference of Pass@1")
    assert isinstance(tested, tuple) and isinstance(tested[1], float) and tested[1] > 0.001


def test_without_grades_or_positions_the_table_says_that_it_is_unknown() -> None:
    """What nobody graded is unknown; an order that is not recorded is not tested."""
    rows = [row(name, arm, resolved=None) for arm in ("base", "both") for name in "ab"]
    assert answers(rows) == snapshot(
        {
            "Compared": "2 instances, 1 trial in each arm, 0 graded",
            "Difference of Pass@1": "unknown: nothing was graded in both arms",
            "Difference of cost": "not testable with 2 instances: +0.0% (95% interval +0.0% to +0.0%, p 1.000)",
            "Difference of new input tokens": "not testable with 2 instances: +0.0%"
            " (95% interval +0.0% to +0.0%, p 1.000)",
            "Difference of cached input tokens": "not testable with 2 instances: +0.0%"
            " (95% interval +0.0% to +0.0%, p 1.000)",
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
            "Difference of Pass@1": "not testable with 3 instances: +100.0 points"
            " (95% interval +100.0 to +100.0, p 0.250)",
            "Difference of cost": "not testable with 3 instances: -30.0% (95% interval -30.0% to -30.0%, p 0.250)",
            "Difference of new input tokens": "not testable with 3 instances: +0.0%"
            " (95% interval +0.0% to +0.0%, p 1.000)",
            "Difference of cached input tokens": "not testable with 3 instances: +0.0%"
            " (95% interval +0.0% to +0.0%, p 1.000)",
            "Smallest difference of Pass@1 that it would find": "none of any size:"
            " not testable with 3 instances, at least 6 are needed",
            "Effect on cost": "not tested: the order in which the arms ran is not recorded",
            "Effect on new input tokens": "not tested: the order in which the arms ran is not recorded",
            "Effect on cached input tokens": "not tested: the order in which the arms ran is not recorded",
        }
    )
    assert table.notes == snapshot(
        (
            "A difference is found if p is below 0.05: sign-flip permutation test over instances,"
            " with the mean of all trials of each",
            "Not testable: with n instances no p-value of this test is below 2 / 2^n, so that with fewer than"
            " 6 it finds no difference of any size, with any number of trials",
            "New input tokens are those not read from a cache: uncached, or written to it",
        )
    )


@pytest.mark.parametrize(("instances", "verdict"), [(5, "not testable with 5 instances"), (6, "found")])
def test_six_instances_are_the_fewest_that_show_a_difference(instances: int, verdict: str) -> None:
    """Every instance is resolved with Ledger only."""
    rows = [row(f"i{n}", arm, resolved=arm == "both") for n in range(instances) for arm in ("base", "both")]
    assert answers(rows)["Difference of Pass@1"].startswith(verdict)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"position": 0, "cost": None}, "not tested: cost unknown"),
        ({"position": 0}, "not tested: no two runs of an instance and trial have different positions"),
        ({}, "not tested: the order in which the arms ran is not recorded"),
    ],
)
def test_an_effect_of_the_order_that_is_not_tested_has_its_reason(given: dict[str, Any], said: str) -> None:
    """The row is there, and says why."""
    rows = [row(name, arm, **given) for arm in ("base", "both") for name in "ab"]
    assert answers(rows)["Effect on cost"] == said


def test_an_effect_of_the_order_is_not_testable_with_few_runs() -> None:
    """Two arms of five instances have 30 orders in which both arms go first, of which the two most extreme are 7 %."""
    for instances, said in ((5, "not testable with so few runs: -"), (6, "found: -")):
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


def classes(uncached: int, cached: int | None, written: int | None = 0) -> dict[str, Any]:
    """Two arms of 20 instances; the second takes half as many new tokens and twice as many cached ones."""
    rows = []
    for n in range(20):
        for at, arm in enumerate(("base", "both")):
            times = None if cached is None else cached * (n + 1) * (1 + at)
            new = uncached * (n + 1) // (1 + at)
            tokens = Tokens(uncached=new, cached=times, written=written and written * (n + 1) // (1 + at))
            rows.append(row(f"i{n}", arm, tokens=tokens, position=(at + n) % 2))
    return {question: answer for question, answer in answers(rows).items() if "input" in question}


@pytest.mark.parametrize(("uncached", "written"), [(4_000, 0), (4_000, None), (1_000, 3_000)])
def test_classes_of_input_are_tested_one_by_one(uncached: int, written: int | None) -> None:
    """What is written to the cache is new; what is read from it is never added to that."""
    assert classes(uncached, 2_000, written) == snapshot(
        {
            "Difference of new input tokens": "found: -50.0% (95% interval -50.0% to -50.0%, p <0.001)",
            "Difference of cached input tokens": "found: +100.0% (95% interval +100.0% to +100.0%, p <0.001)",
            "Effect on new input tokens": "none found: +0.0% from one position to the next (p 1.000)",
            "Effect on cached input tokens": "none found: +0.0% from one position to the next (p 1.000)",
        }
    )


@pytest.mark.parametrize("cached", [0, None])
def test_input_is_not_tested_where_no_cached_tokens_are_reported(cached: int | None) -> None:
    """Nobody knows how much of the input came from a cache."""
    assert set(classes(4_000, cached).values()) == {
        "not tested: no run reports cached tokens, so how much of the input was new is unknown"
    }


def test_runs_without_cached_tokens_are_no_part_of_the_test_of_their_order() -> None:
    """There is no relative change from nothing."""
    rows = [
        row(f"i{n}", arm, position=(at + n) % 2, tokens=Tokens(uncached=9, cached=n))
        for n in range(9)
        for at, arm in enumerate(("base", "both"))
    ]
    assert answers(rows)["Effect on cached input tokens"].startswith(
        "none found: +0.0% from one position to the next (p 1.000); 2 runs with no cached input tokens left out"
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
    assert found["Difference of cost"] == "none found: ~+0.0% (95% interval ~+0.0% to +0.0%, p 1.000)"
    assert "~" not in found["Difference of Pass@1"]


def test_with_one_trial_the_number_of_trials_is_a_lower_bound() -> None:
    """The table says "at least", and why."""
    rows = study(1, trials=1)
    table = evidence(settings(rows))
    assert table is not None
    assert {question: said for question, said in answers(rows).items() if "find" in question} == snapshot(
        {
            "Smallest difference of Pass@1 that it would find": "23.8 points",
            "Trials needed to find 1 point": "at least 511 with these 80 instances",
            "Trials needed to find 3 points": "at least 58 with these 80 instances",
            "Trials needed to find 5 points": "at least 21 with these 80 instances",
        }
    )
    assert table.notes == snapshot(
        (
            "A difference is found if p is below 0.05: sign-flip permutation test over instances, with the mean of"
            " all trials of each",
            "Power: which difference 80% of such evaluations would find at that level, given how much the outcomes"
            " of an instance vary over trials and arms",
            "At least: a single trial can't separate chance from the variance between instances' effects, which"
            " trials of the same instances don't average out; every disagreement between two arms counts as chance,"
            " so that the number of trials is a lower bound, and perhaps none is enough",
            "Order: permutation test of positions within the trials of an instance, of the change from one planned"
            " position among the arms to the next, after the differences between arms and instances are removed from"
            " both",
            "New input tokens are those not read from a cache: uncached, or written to it",
            "4 differences were tested; without any, about one in 20 is found by chance",
        )
    )


def test_one_arm_alone_shows_nothing() -> None:
    """There is nothing to compare."""
    assert evidence(settings([row("a")])) is None
