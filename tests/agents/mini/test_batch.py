"""mini-swe-agent's batch runner: the salts at the very start of what the agent sends."""

from __future__ import annotations

from pathlib import Path

import pytest

from execledger.agents.mini.batch import salted_template, system_template
from execledger.demo.mini import console_script
from execledger.errors import LedgerError
from execledger.evaluate.experiment import DIGITS, setup_of
from execledger.evaluate.plan import Plan
from tests.support.agents.mini import installed

needs_mini = pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed")
TASKS = ('Say "hi" \\n }} {% raw %} {{ task }}', "Größe: 😀\nline two\\", "'plain'")


def test_a_prompt_begins_with_the_salt() -> None:
    """The template behind it stays as it is."""
    made = salted_template("You {{ may }}.", {"task": "1" * DIGITS})
    assert made == f"Run {'1' * DIGITS}.\n\nYou {{{{ may }}}}."


@needs_mini
def test_the_tasks_of_one_process_have_salts_of_their_own() -> None:
    """The agent's own template language finds the salt by the text of the task, whatever that holds."""
    from jinja2 import StrictUndefined, Template

    salts = {task: f"{number:018}" for number, task in enumerate(TASKS)}
    template = Template(salted_template("Go.", salts), undefined=StrictUndefined)
    assert [template.render(task=task) for task in TASKS] == [f"Run {salts[task]}.\n\nGo." for task in TASKS]


@needs_mini
def test_the_agent_is_asked_for_its_system_prompt(tmp_path: Path) -> None:
    """The last configuration that has one decides, and the plan's own settings over it."""
    program = console_script("mini-extra")
    (tmp_path / "mine.yaml").write_text("agent: {system_template: Mine.}")
    (tmp_path / "other.yaml").write_text("model: {}")
    assert (
        system_template(setup_of(Plan(own={"config": ("swebench.yaml", "mine.yaml", "other.yaml")}), program, tmp_path))
        == "Mine."
    )
    assert system_template(setup_of(Plan(), program, tmp_path)).startswith("You are")
    assert system_template(setup_of(Plan(settings={"agent": {"system_template": "Own."}}), program, tmp_path)) == "Own."
    with pytest.raises(LedgerError, match=r"other\.yaml: found no `agent\.system_template`"):
        system_template(setup_of(Plan(own={"config": ("other.yaml",)}), program, tmp_path))
    with pytest.raises(LedgerError, match="can't be asked for its system prompt"):
        system_template(setup_of(Plan(own={"config": ("none.yaml",)}), program, tmp_path))
