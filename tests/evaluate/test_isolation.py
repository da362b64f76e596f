"""Salts: another one for each run, always of the same length, at the very start of what the agent sends."""

from __future__ import annotations

from pathlib import Path

import pytest

from execledger.demo.mini import console_script
from execledger.errors import LedgerError
from execledger.evaluate.isolation import DIGITS, Salted, mini_template
from execledger.evaluate.plan import Plan
from tests.support.agents.mini import installed

needs_mini = pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed")
TASKS = ('Say "hi" \\n }} {% raw %} {{ task }}', "Größe: 😀\nline two\\", "'plain'")


def test_each_run_has_a_salt_of_its_own() -> None:
    """By evaluation, arm, instance and trial; none is shorter than another."""
    salts = [
        Salted(study=study, template="").salt(arm, instance, trial)
        for study in ("a", "b")
        for arm in ("base", "both")
        for instance in ("x", "y")
        for trial in range(1, 100)
    ]
    assert len(set(salts)) == len(salts)
    assert {len(salt) for salt in salts} == {DIGITS}
    assert all(salt.isdecimal() for salt in salts)


def test_a_prompt_begins_with_the_salt() -> None:
    """The template behind it stays as it is."""
    made = Salted(study="a", template="You {{ may }}.").system_template({"task": "1" * DIGITS})
    assert made == f"Run {'1' * DIGITS}.\n\nYou {{{{ may }}}}."


@needs_mini
def test_the_tasks_of_one_process_have_salts_of_their_own() -> None:
    """The agent's own template language finds the salt by the text of the task, whatever that holds."""
    from jinja2 import StrictUndefined, Template

    salts = {task: f"{number:018}" for number, task in enumerate(TASKS)}
    template = Template(Salted(study="a", template="Go.").system_template(salts), undefined=StrictUndefined)
    assert [template.render(task=task) for task in TASKS] == [f"Run {salts[task]}.\n\nGo." for task in TASKS]


@needs_mini
def test_the_agent_is_asked_for_its_system_prompt(tmp_path: Path) -> None:
    """The last configuration that has one decides, and the plan's own settings over it."""
    program = console_script("mini-extra")
    (tmp_path / "mine.yaml").write_text("agent: {system_template: Mine.}")
    (tmp_path / "other.yaml").write_text("model: {}")
    assert mini_template(Plan(config=("swebench.yaml", "mine.yaml", "other.yaml")), program, tmp_path) == "Mine."
    assert mini_template(Plan(), program, tmp_path).startswith("You are")
    assert mini_template(Plan(settings={"agent": {"system_template": "Own."}}), program, tmp_path) == "Own."
    with pytest.raises(LedgerError, match=r"other\.yaml: found no `agent\.system_template`"):
        mini_template(Plan(config=("other.yaml",)), program, tmp_path)
    with pytest.raises(LedgerError, match="can't be asked for its system prompt"):
        mini_template(Plan(config=("none.yaml",)), program, tmp_path)
