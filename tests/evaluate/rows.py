"""Small experiments for the tests of tables and figures."""

from __future__ import annotations

from typing import Any

from execledger.evaluate.records import RunRow
from execledger.journal.events import Counts
from execledger.runs.usage import Tokens

AGENT = "mini-swe-agent 2.4.6"
MODEL = "gpt-5-mini"


def row(instance: str, arm: str = "base", trial: int = 1, **given: Any) -> RunRow:
    """A run with figures that follow from nothing but what is given; a count that is None makes all counts unknown."""
    values: dict[str, Any] = {
        "run": f"{arm}/{trial}/{instance}",
        "agent": AGENT,
        "model": MODEL,
        "preset": "" if arm == "base" else "verified",
        "resolved": False,
        "model_calls": 10,
        "ran": 9,
        "rereads": 2,
        "tokens": Tokens(uncached=100_000, cached=900_000, output=5_000),
        "cost": 0.5,
        "input_by_call": (100_000,) * 10,
        "evaluation": "out",
        "plan": '{"cache":"isolated"}',
    }
    values |= given
    counted = {name: values.pop(name) for name in Counts.__struct_fields__ if name in values}
    counts = None if None in counted.values() else Counts(**counted)
    return RunRow(instance=instance, arm=arm, trial=trial, counts=counts, **values)


def experiment(trials: int = 1) -> list[RunRow]:
    """Four arms over four instances: a is always resolved, b recovers, c regresses, d is never resolved."""
    rows = []
    for arm, resolved, cost in (("base", "ac", 0.5), ("inform", "ab", 0.3), ("govern", "ab", 0.4), ("both", "ab", 0.2)):
        for trial in range(1, trials + 1):
            for name in "abcd":
                solved = name in resolved and not (trial == 2 and arm == "both" and name == "b")
                rows.append(
                    row(name, arm, trial, resolved=solved, cost=cost * trial, rereads=0 if arm == "both" else 2)
                )
    return rows
