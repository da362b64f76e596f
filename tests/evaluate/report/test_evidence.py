"""What an evaluation shows and what it can't, from the point of view of whoever believes the table."""

from __future__ import annotations

import random
from typing import Any

import pytest
from inline_snapshot import snapshot

from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import settings
from execledger.evaluate.report.evidence import evidence
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
            "Difference of input tokens": "none found: +0.0% (95% interval +0.0% to +0.0%, p 1.000)",
            "Smallest difference of Pass@1 that it would find": "14.7 points",
            "Trials needed to find 1 point": "397 with these 80 instances",
            "Trials needed to find 3 points": "45 with these 80 instances",
            "Trials needed to find 5 points": "17 with these 80 instances",
            "Effect on cost": "none found: +0.4% from one position to the next (p 0.745)",
            "Effect on input tokens": "none found: +0.0% from one position to the next (p 1.000)",
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
            "Difference of input tokens": "not testable with 2 instances: +0.0% (95% interval +0.0% to +0.0%, p 1.000)",
            "Effect on cost": "not tested: the order in which the arms ran is not recorded",
            "Effect on input tokens": "not tested: the order in which the arms ran is not recorded",
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
            "Difference of input tokens": "not testable with 3 instances: +0.0% (95% interval +0.0% to +0.0%, p 1.000)",
            "Smallest difference of Pass@1 that it would find": "none of any size:"
            " not testable with 3 instances, at least 6 are needed",
            "Effect on cost": "not tested: the order in which the arms ran is not recorded",
            "Effect on input tokens": "not tested: the order in which the arms ran is not recorded",
        }
    )
    assert table.notes == snapshot(
        (
            "A difference is found if p is below 0.05: sign-flip permutation test over instances,"
            " with the mean of all trials of each",
            "Not testable: with n instances no p-value of this test is below 2 / 2^n, so that with fewer than"
            " 6 it finds no difference of any size, with any number of trials",
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
    """Two arms of five instances have 32 orders, of which the two most extreme ones are 6 %."""
    for instances, said in ((5, "not testable with so few runs: -"), (6, "found: -")):
        rows = [
            row(f"i{n}", arm, position=(at + n) % 2, cost=0.5 if (at + n) % 2 else 1.0)
            for n in range(instances)
            for at, arm in enumerate(("base", "both"))
        ]
        assert answers(rows)["Effect on cost"].startswith(said)


def test_one_arm_alone_shows_nothing() -> None:
    """There is nothing to compare."""
    assert evidence(settings([row("a")])) is None
