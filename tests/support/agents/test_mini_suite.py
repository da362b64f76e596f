"""The comparison of the agent's own suite, on a suite of two tests."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(find_spec("minisweagent") is None, reason="mini-swe-agent is not installed"),
]

ROOT = Path(__file__).parents[3]
SUITE = """
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.test_models import DeterministicModel, make_output


def test_an_agent_submits():
    answers = [make_output("", [{"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}])]
    settings = {"system_template": "s", "instance_template": "t", "cost_limit": 9.0}
    agent = DefaultAgent(DeterministicModel(outputs=answers), LocalEnvironment(), **settings)
    assert agent.run("x")["exit_status"] == "Submitted"


def test_whether_it_is_wrapped():
    agent = DefaultAgent(DeterministicModel(outputs=[]), LocalEnvironment(), system_template="s", instance_template="t")
    assert type(agent.model).__name__ == "DeterministicModel"
"""


def test_every_agent_is_wrapped_and_differences_are_named(tmp_path: Path) -> None:
    """A test that only passes without Ledger is named in every mode with it; the other passes in all."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "tests.support.agents.mini_suite", str(tmp_path), "-W", "ignore"]
    # What plugins this environment has is no matter to the suite of two tests, and they take their time.
    variables = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[0] == "unwrapped: 2 passed"
    assert done.stdout.count("test_whether_it_is_wrapped: PASSED without Ledger, FAILED with it") == 3
    assert done.stdout.splitlines()[-1] == "upstream: 3 tests differ"
