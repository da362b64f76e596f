"""What an evaluation shows and what it can't, from the point of view of whoever believes the table."""

from __future__ import annotations

import random

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
            "Smallest difference of Pass@1 that it would find": "13.8 points",
            "Trials needed to find 1 point": "381 with these 80 instances",
            "Trials needed to find 3 points": "43 with these 80 instances",
            "Trials needed to find 5 points": "16 with these 80 instances",
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


def test_without_grades_or_positions_nothing_is_said_of_them() -> None:
    """What nobody graded is unknown; without a recorded order there is no row on it."""
    rows = [row(name, arm, resolved=None) for arm in ("base", "both") for name in "ab"]
    assert answers(rows) == snapshot(
        {
            "Compared": "2 instances, 1 trial in each arm, 0 graded",
            "Difference of Pass@1": "unknown: nothing was graded in both arms",
            "Difference of cost": "none found: +0.0% (95% interval +0.0% to +0.0%, p 1.000)",
            "Difference of input tokens": "none found: +0.0% (95% interval +0.0% to +0.0%, p 1.000)",
        }
    )


def test_one_arm_alone_shows_nothing() -> None:
    """There is nothing to compare."""
    assert evidence(settings([row("a")])) is None
