"""Plans compared: what differs, and labels that are as short as they can be."""

from __future__ import annotations

import json

from execledger.evaluate.report.plans import differing, labels, values_of


def plan(**values: object) -> str:
    return json.dumps(values)


def test_a_label_has_as_few_keys_as_tell_plans_apart() -> None:
    """One where one is enough, two where only both together are, and none for what is left aside."""
    low, high, third = plan(a="low", b=1, c=None), plan(a="high", b=2, c=3), plan(a="high", b=2, c=4)
    assert labels([low, high]) == {low: "a=low", high: "a=high"}
    assert labels([low, high, third]) == {low: "c=default", high: "c=3", third: "c=4"}
    pairs = [plan(a=a, b=b) for a in (1, 2) for b in (1, 2)]
    assert list(labels(pairs).values()) == ["a=1, b=1", "a=1, b=2", "a=2, b=1", "a=2, b=2"]
    assert labels([low, high], aside=("a", "b", "c")) == {low: "", high: ""}


def test_a_single_plan_has_no_label_and_runs_without_a_plan_are_called_so() -> None:
    """Where all runs are without a plan, they have no label either."""
    assert labels([plan(a=1)]) == {plan(a=1): ""}
    assert labels([""]) == {"": ""}
    assert labels(["", plan(a=1)]) == {"": "no plan", plan(a=1): ""}


def test_a_value_that_is_spelled_like_a_word_for_none_is_told_apart() -> None:
    """``default`` and ``none`` are values of real settings, too."""
    plans = [json.dumps({"tier": value}) for value in (None, "default", "none")]
    assert differing(plans) == {"tier": ("default", '"default"', '"none"')}


def test_what_differs_is_named_with_its_values() -> None:
    """A key is `none` where a plan lacks it, `default` where it is left empty, and a digest where its value is long."""
    long, longer = plan(prompt="x" * 40, d=""), plan(prompt="x" * 41, d=3, limit=[1, 2])
    assert differing([long, longer]) == {
        "prompt": ("#bd913ff6", "#3164596d"),
        "d": ("default", "3"),
        "limit": ("none", "[1,2]"),
    }
    assert values_of("") == {}
