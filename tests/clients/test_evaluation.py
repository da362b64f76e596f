"""A whole evaluation of two example tasks: real containers, the real batch runner, the official harness."""

from __future__ import annotations

import importlib.util
import re
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

TASKS = ("sums", "versions")
"""One that each arm solves another number of times, and one that is solved without state views only."""
PAGE = Path(__file__).parents[2] / "docs" / "own-tasks.md"


def documented(verb: str) -> list[str]:
    """The words of a command of ``execledger eval`` in the documentation, with the plan of the test."""
    (line,) = re.findall(rf"^execledger eval ({verb} .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return ["plan.toml" if word == "examples/tasks/plan.toml" else word for word in line.split()]


def test_a_whole_evaluation_of_two_tasks(containers: Engine, tmp_path: Path) -> None:
    """By the documented commands, four arms and two trials; every figure is the one that the script leads to."""
    bench = Bench(containers, tmp_path, TASKS, quick_start())
    with bench.model() as model:
        ran = bench.call(*documented("run"), "--batch", "2", "--threads", "2")
        assert (ran.status, model.faults) == (0, []), ran.err
    graded = bench.grade(*documented("grade"), "--workers", "2")
    assert (graded.status, graded.out.splitlines()) == (
        0,
        [
            "base-1: 2 resolved, 0 not, 0 unknown",
            "inform-1: 0 resolved, 2 not, 0 unknown",
            "govern-1: 1 resolved, 1 not, 0 unknown",
            "both-1: 1 resolved, 1 not, 0 unknown",
            "base-2: 1 resolved, 1 not, 0 unknown",
            "inform-2: 0 resolved, 2 not, 0 unknown",
            "govern-2: 1 resolved, 1 not, 0 unknown",
            "both-2: 1 resolved, 1 not, 0 unknown",
        ],
    ), graded
    assert bench.call("export", "out", "-o", "tables").status == 0
    expected = expected_runs(model, TASKS)
    assert exported_runs(tmp_path / "tables") == expected
    reported = bench.call(*documented("report"), "--format", "json")
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


def test_failed_runs_have_their_actual_reason(containers: Engine, tmp_path: Path) -> None:
    """An image that is removed during the first run takes its container with it, and is missing in the second."""
    bench = Bench(containers, tmp_path, ["sums"], quick_start())
    image = "localhost/execledger-tasks/sums:1"
    with bench.model(at_turn={3: lambda: containers.podman("rmi", "--force", image)}):
        ran = bench.call(*documented("run"), "--arm", "base", "--workers", "1")
    died, missing = "container died: ", f"image missing: {image} is not in the local store, and could not be pulled"
    name, log = "example__sums-1", tmp_path / "out" / "base" / "2" / "logs" / "example__sums-1.log"
    lines = ran.err.splitlines()
    assert (ran.status, lines[0]) == (1, f"execledger: base-2, {name}: {missing} ({log})")
    assert lines[1].startswith(f"execledger: failed: base-1, {name}: {died}Error: ")
    reported = bench.call(*documented("report"), "--format", "json")
    assert f"execledger: base-2, {name}: {missing} ({log})" in reported.err.splitlines()
    report = (tmp_path / "report" / "report.json").read_text(encoding="utf-8")
    assert "1 of 1 runs were ended by a failure, not by the agent (container died 1)" in report
    # Now it is a problem that is told before anything is started.
    again = bench.call(*documented("run"), "--arm", "base")
    said = f"execledger: found one problem, and started nothing: {image}: not in the local store"
    assert (again.status, said in again.err) == (2, True), again
