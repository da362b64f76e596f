"""What the documents say about plans is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from execledger.agents.registry import evaluated
from execledger.core.policy import Preset
from execledger.evaluate import plan
from execledger.evaluate.plan import Plan

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = [
    (page.name, text)
    for page in sorted(DOCS.glob("*.md"))
    for text in re.findall(r"```toml\n(agent = .*?)```", page.read_text(), re.DOTALL)
]


@pytest.mark.parametrize(("page", "text"), EXAMPLES)
def test_every_plan_in_the_documents_can_be_followed(page: str, text: str) -> None:
    """Down to the last key."""
    assert Plan.from_toml(text, page).model


def test_every_agent_has_a_plan_on_its_own_page() -> None:
    """Whoever looks for an agent finds how to evaluate it; mini-swe-agent's is on the page of evaluations."""
    pages = {Plan.from_toml(text).agent: page for page, text in EXAMPLES if page not in ("evaluate.md", "reproduce.md")}
    assert pages.keys() == {one.key for one in evaluated()} - {"mini"}
    assert len(set(pages.values())) == len(pages)


def test_the_papers_plans_are_the_papers() -> None:
    """Both scaffolds, under the published rules, one run per instance of the whole benchmark."""
    plans = [Plan.from_toml(text) for page, text in EXAMPLES if page == "reproduce.md"]
    assert [one.agent for one in plans] == ["mini", "codex"]
    for one in plans:
        assert (one.preset, one.trials, one.subset, one.split) == (Preset.PAPER, 1, "verified", "test")
        assert (one.reasoning_effort, one.instances, one.slice) == ("high", (), "")


def test_every_key_of_a_plan_is_explained() -> None:
    """In one table, those that may change last."""
    rows = [line for line in (DOCS / "evaluate.md").read_text().splitlines() if line.startswith("| `")]
    keys = [key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(keys) == sorted(plan.keys())
    assert sorted(keys[keys.index("program") :]) == sorted(plan.distribution_keys())
