"""A whole evaluation of two example tasks: real containers, the real batch runner, the official harness."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import msgspec
import pytest

from execledger.evaluate.grade import GRADES, read_grades
from execledger.evaluate.plan import ArmName
from tests.support.agents.mini import installed, quick_start
from tests.support.containers.engine import Engine
from tests.support.tasks.evaluation import (
    Bench,
    expected_arms,
    expected_runs,
    exported_runs,
    reported_arms,
)

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'"),
    pytest.mark.skipif(
        importlib.util.find_spec("swebench") is None, reason="the harness is not installed: pip install swebench"
    ),
]

TASKS = ("intervals", "versions")
"""One that is solved everywhere, and one that is solved without state views only."""


def test_a_whole_evaluation_of_two_tasks(containers: Engine, tmp_path: Path) -> None:
    """Four arms and two trials are run, graded and reported; every figure is the one that the script leads to."""
    bench = Bench(containers, tmp_path, TASKS, quick_start())
    with bench.model() as model:
        ran = bench.call("run", "plan.toml", "-o", "out", "--batch", "2", "--threads", "2")
        assert (ran.status, model.faults) == (0, []), ran.err
    graded = bench.call("grade", "out", "--workers", "2")
    assert (graded.status, graded.out.splitlines()) == (
        0,
        [
            "base-1: 2 resolved, 0 not, 0 unknown",
            "inform-1: 1 resolved, 1 not, 0 unknown",
            "govern-1: 2 resolved, 0 not, 0 unknown",
            "both-1: 1 resolved, 1 not, 0 unknown",
            "base-2: 2 resolved, 0 not, 0 unknown",
            "inform-2: 1 resolved, 1 not, 0 unknown",
            "govern-2: 1 resolved, 1 not, 0 unknown",
            "both-2: 1 resolved, 1 not, 0 unknown",
        ],
    ), graded
    assert bench.call("export", "out", "-o", "tables").status == 0
    expected = expected_runs(model, TASKS)
    assert exported_runs(tmp_path / "tables") == expected
    reported = bench.call("report", "out", "-o", "report", "--format", "json")
    assert reported.status == 0, reported.err
    assert reported_arms(tmp_path / "report" / "report.json") == expected_arms(expected)
    # An image that is gone is no failed repair; the other task is not tested again.
    trial = bench.study.trial(ArmName.BASE, 1)
    grades = read_grades(trial)
    grades.pop("example__versions-1")
    (trial.folder / GRADES).write_bytes(msgspec.json.encode(grades))
    containers.podman("rmi", "localhost/execledger-tasks/versions:1")
    again = bench.call("grade", "out/base/1")
    assert again.out == "base-1: 1 resolved, 0 not, 1 not graded: the machine failed (no_container), 0 unknown\n"
