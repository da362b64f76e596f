"""Plans: what they say, what they refuse, and what makes two of them the same evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from execledger.core.policy import Preset
from execledger.errors import LedgerError
from execledger.evaluate.plan import ArmName, EngineName, Plan, difference, keys

WHOLE = """
agent = "mini"
model = "openai/gpt-5-mini"
reasoning_effort = "high"
step_limit = 250
cost_limit = 3
subset = "verified"
slice = "0:50"
arms = ["base", "both"]
preset = "paper"
trials = 3
workers = 8
engine = "ray"

[settings.model.model_kwargs]
drop_params = true
"""


def test_a_plan_is_read_from_toml() -> None:
    """Every key has its place, and tables of settings have dotted names."""
    plan = Plan.from_toml(WHOLE)
    assert plan == Plan(
        agent="mini",
        model="openai/gpt-5-mini",
        reasoning_effort="high",
        settings={"model": {"model_kwargs": {"drop_params": True}}},
        slice="0:50",
        arms=(ArmName.BASE, ArmName.BOTH),
        preset=Preset.PAPER,
        trials=3,
        workers=8,
        engine=EngineName.RAY,
        own={"cost_limit": 3.0, "step_limit": 250},
    )
    assert plan.dotted() == {"model.model_kwargs.drop_params": True}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trials = ", "plan is not TOML"),
        ("trails = 2", "plan has the unknown key `trails`"),
        ("trials = 0", "plan: `trials` is 0, expected at least 1"),
        ("trials = 'two'", "plan: `trials` is 'two', expected a whole number"),
        ("trials = 99999999999", "plan: `trials` is 99999999999, expected at most 1,000"),
        ("arms = ['none']", "plan: `arms[0]` is 'none', expected base or inform or govern or both or every"),
        ("arms = 'base'", "plan: `arms` is 'base', expected a list"),
        ("cache = 'warm'", "plan: `cache` is 'warm', expected isolated or shared"),
        ("settings = 3", "plan: `settings` is 3, expected a table"),
        ("config = [1]", "plan: `config[0]` is 1, expected a text"),
        ("cost_limit = 'much'", "plan: `cost_limit` is 'much', expected a number"),
        ("arms = []", "plan: `arms` is [], expected each of at least one arm once"),
        ("arms = ['base', 'base']", "plan: `arms` is ['base', 'base'], expected each of at least one arm once"),
        ("cost_limit = 0", "plan: `cost_limit` is 0.0, expected more than 0"),
        ("cost_limit = nan", "plan: `cost_limit` is nan, expected more than 0 and finite"),
        ("cost_limit = inf", "plan: `cost_limit` is inf, expected more than 0 and finite"),
        ("slice = '0:9:0'", "plan: `slice` is '0:9:0', expected as in 0:50"),
        ("slice = '-:9'", "plan: `slice` is '-:9', expected as in 0:50"),
        ("slice = 'some'", "plan: `slice` is 'some', expected as in 0:50"),
        ("direct_tools = true", "plan: `direct_tools` means nothing to mini"),
        ("agent = 'codex'\nstep_limit = 9", "plan: `step_limit` means nothing to codex"),
        ("agent = 'codex'\nprompt = 'Do it.'", "plan: `prompt` does not hold {problem_statement}"),
        (
            "settings = {model = {model_kwargs = {api_key = 'x'}}}",
            "plan: `settings` holds model.model_kwargs.api_key, expected keys in the environment alone",
        ),
    ],
)
def test_what_cannot_be_carried_out_is_refused(text: str, said: str) -> None:
    """The sentence names the key and what was expected."""
    with pytest.raises(LedgerError) as caught:
        Plan.from_toml(text)
    assert caught.value.message.startswith(said)


def test_an_unknown_key_is_answered_with_the_allowed_ones() -> None:
    """All of them, so that the right one is found."""
    with pytest.raises(LedgerError) as caught:
        Plan.from_toml("worker = 2")
    assert caught.value.hint == f"allowed are: {', '.join(keys())}"


@pytest.mark.parametrize(
    "how", [{"workers": 9}, {"threads": 9}, {"batch": 9}, {"engine": "ray"}, {"program": "/bin/mini-extra"}]
)
def test_how_the_work_is_spread_does_not_make_another_plan(how: dict[str, Any]) -> None:
    """It may be changed while an evaluation is under way."""
    assert Plan.from_values(how).digest() == Plan().digest()


@pytest.mark.parametrize(
    "what", [{"model": "m"}, {"trials": 2}, {"preset": "paper"}, {"settings": {"a.b": 1}}, {"arms": ["base"]}]
)
def test_whatever_may_change_a_result_makes_another_plan(what: dict[str, Any]) -> None:
    """Down to a single setting."""
    assert Plan.from_values(what).digest() != Plan().digest()


def test_a_difference_is_told_by_name() -> None:
    """With what was there before and what is there now."""
    told = difference(Plan().matters(), Plan(trials=3, model="m").matters())
    assert told == "`model` was '' and is 'm'; `trials` was 1 and is 3"


@pytest.mark.parametrize(
    ("values", "digest"),
    [
        ({}, "4f0ade94131d887d"),
        ({"config": ["a.yaml"], "step_limit": 3, "cost_limit": 2, "threads": 4}, "43a1eaf9ac2fd495"),
        (
            {"agent": "codex", "prompt": "x {problem_statement}", "direct_tools": True, "repos": "r"},
            "6683bb616e7815d0",
        ),
    ],
)
def test_the_digests_of_plans_stay_the_same(values: dict[str, Any], digest: str) -> None:
    """An evaluation that version 0.1 began can be continued."""
    assert Plan.from_values(values).digest() == digest


def test_a_plan_is_read_back_from_its_values() -> None:
    """Also with keys of other agents at their defaults, as version 0.1 wrote them."""
    plan = Plan.from_values({"config": ["a.yaml"], "threads": 4, "model": "m"})
    assert Plan.from_values({**plan.values(), "docker": "docker", "direct_tools": False}) == plan
    assert plan.agent_values() == {"config": ("a.yaml",), "step_limit": None, "cost_limit": None, "threads": 4}
