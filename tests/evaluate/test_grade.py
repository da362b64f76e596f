"""Grades: what reports say, which arm and trial they are about, and what stays unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execledger.errors import LedgerError
from execledger.evaluate.grade import (
    Grade,
    Verdicts,
    harness_missing,
    import_reports,
    keep,
    need_harness,
    read_grades,
    read_report,
    resolved,
    run_harness,
)
from execledger.evaluate.plan import ArmName, Plan
from execledger.evaluate.study import Study, Trial, write_predictions
from tests.evaluate.trials import leave, trajectory

SUMMARY = {
    "total_instances": 6,
    "completed_ids": ["a", "b"],
    "incomplete_ids": ["f"],
    "empty_patch_ids": ["c"],
    "submitted_ids": ["a", "b", "c", "d"],
    "resolved_ids": ["a"],
    "unresolved_ids": ["b"],
    "error_ids": ["d"],
    "schema_version": 2,
}
SUMMARY_5 = {
    **SUMMARY,
    "completed_ids": ["a", "b", "e", "g"],
    "unresolved_ids": ["b", "e", "g"],
    "error_ids": ["d", "h"],
    "infra_failure_instances": 2,
    "ambiguous_failure_instances": 2,
    "infra_failure_ids": ["e", "h"],
    "ambiguous_failure_ids": ["d", "g"],
    "failure_reasons": {
        "d": "tests_timed_out",
        "e": "out_of_memory",
        "g": "missing_module",
        "h": "container_unavailable",
    },
}
"""A summary of version 5: the machine failed at e and h, and may have failed at d and g."""
HOSTED = {
    "submitted_ids": ["a", "b", "c", "d"],
    "completed_ids": ["a", "b"],
    "resolved_ids": ["a"],
    "failed_ids": ["c"],
    "pending_ids": ["d"],
    "error_ids": [],
}


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


@pytest.fixture
def trials(tmp_path: Path) -> list[Trial]:
    """Two arms with two trials of two tasks each."""
    study = Study(tmp_path / "out")
    found = [study.trial(arm, number) for arm in (ArmName.BASE, ArmName.BOTH) for number in (1, 2)]
    for trial in found:
        for name in ("a", "b"):
            leave(trial.folder, name, trajectory(name))
    return found


def grades(trial: Trial) -> dict[str, bool | None]:
    return {name: resolved(result, read_grades(trial)) for name, result in trial.results().items()}


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (SUMMARY, Verdicts(resolved={"a": True, "b": False, "c": False, "d": False}, errors=("d",))),
        (
            SUMMARY_5,
            Verdicts(
                resolved={"a": True, "b": False, "c": False, "d": False, "g": False},
                errors=("d",),
                machine={"e": "out_of_memory", "h": "container_unavailable"},
                ambiguous={"d": "tests_timed_out", "g": "missing_module"},
            ),
        ),
        (HOSTED, Verdicts(resolved={"a": True, "b": False, "c": False}, errors=("c",))),
        ({"a": {"resolved": True, "patch_exists": True}}, Verdicts(resolved={"a": True})),
        ({"a": {"resolved": False, "infra_failure": False}}, Verdicts(resolved={"a": False})),
        (
            {"a": {"resolved": False, "infra_failure": True, "infra_failure_reason": "out_of_memory"}},
            Verdicts(resolved={}, machine={"a": "out_of_memory"}),
        ),
        (
            {"a": {"resolved": False, "infra_failure": False, "infra_failure_reason": "missing_module"}},
            Verdicts(resolved={"a": False}, ambiguous={"a": "missing_module"}),
        ),
    ],
    ids=["harness 4.1", "harness 5", "hosted", "one task", "unresolved", "machine", "ambiguous"],
)
def test_every_shape_of_report_is_read(tmp_path: Path, report: Any, said: Verdicts) -> None:
    """What could not be tested is unresolved, as for the benchmark, unless the machine failed; pending is not named."""
    assert read_report(written(tmp_path / "r.json", report)) == said


@pytest.mark.parametrize("value", [[], {}, {"a": 1}, {"a": {"resolved": True}, "b": 2}, {"resolved_ids": 3}])
def test_what_is_no_report_is_named(tmp_path: Path, value: Any) -> None:
    """With what was found in it."""
    path = written(tmp_path / "r.json", value)
    with pytest.raises(LedgerError, match=r"r\.json: (?:found the keys .*, )?expected"):
        read_report(path)


def test_reports_find_their_arm_and_trial_by_path(tmp_path: Path, trials: list[Trial]) -> None:
    """By folders, by the name of the file, and by the folder that the harness keeps a task's report in."""
    reports = tmp_path / "reports"
    written(reports / "base" / "1" / "report.json", {"resolved_ids": ["a"], "unresolved_ids": ["b"]})
    written(reports / "swe-bench_verified__test__base-2.json", {"resolved_ids": ["b"], "completed_ids": ["a", "b"]})
    written(reports / "swe-bench_verified__test__base-2.response.json", {"status": "done"})
    written(reports / "logs" / "both-1" / "scripted" / "a" / "report.json", {"a": {"resolved": True}})
    unused: list[str] = []
    assert import_reports(reports, trials, unused) == {"base-1": 2, "base-2": 2, "both-1": 1}
    assert unused == []
    assert [grades(trial) for trial in trials] == [
        {"a": True, "b": False},
        {"a": False, "b": True},
        {"a": True, "b": None},
        {"a": None, "b": None},
    ]


def test_reports_that_are_of_no_use_are_named(tmp_path: Path, trials: list[Trial]) -> None:
    """Those of nobody knows which arm, of other tasks, and files that are no reports."""
    reports = tmp_path / "reports"
    elsewhere = written(reports / "mine.json", {"resolved_ids": ["a"]})
    foreign = written(reports / "base-1.json", {"resolved_ids": ["z"]})
    broken = reports / "both-2.json"
    broken.write_text("{")
    unused: list[str] = []
    assert import_reports(reports, trials, unused) == {}
    assert [sentence.partition(":")[0] for sentence in unused] == [str(foreign), str(broken), str(elsewhere)]
    assert unused[0].endswith("it names no instance of base-1")
    assert "expected a report in JSON" in unused[1]
    assert unused[2].endswith("its path names none of base-1, base-2, both-1, both-2")


def test_a_single_arm_and_trial_takes_every_report(tmp_path: Path, trials: list[Trial]) -> None:
    """Whatever its file is called; later reports count over earlier ones, task by task."""
    for report in ({"resolved_ids": ["a"], "unresolved_ids": ["b"]}, {"resolved_ids": ["b"]}):
        import_reports(written(tmp_path / "mine.json", report), trials[:1], [])
    assert grades(trials[0]) == {"a": True, "b": True}


def test_a_report_that_names_another_arm_or_trial_is_refused(tmp_path: Path, trials: list[Trial]) -> None:
    """Although one arm and trial alone is graded; one that there is not counts, too."""
    reports = tmp_path / "reports"
    files = [written(reports / name, {"resolved_ids": ["a"]}) for name in ("both-1.json", "m.base-7.json")]
    unused: list[str] = []
    assert import_reports(reports, trials[:1], unused) == {}
    assert unused == [
        f"{files[0]}: its path names both-1, expected base-1",
        f"{files[1]}: its path names base-7, expected base-1",
    ]


def test_reports_that_contradict_each_other_are_refused(tmp_path: Path, trials: list[Trial]) -> None:
    """Both are named, nothing of them is kept, and a third one is used."""
    reports = tmp_path / "reports"
    one = written(reports / "base-1.json", {"resolved_ids": ["a"]})
    two = written(reports / "m.base-1.json", {"resolved_ids": ["b"], "unresolved_ids": ["a"]})
    written(reports / "both-1.json", {"resolved_ids": ["a"]})
    unused: list[str] = []
    assert import_reports(reports, trials, unused) == {"both-1": 1}
    assert unused == [f"{one}: {two} says otherwise about a", f"{two}: {one} says otherwise about a"]
    assert grades(trials[0]) == {"a": None, "b": None}


def test_a_report_that_contradicts_itself_is_refused(tmp_path: Path, trials: list[Trial]) -> None:
    """Whether the instance is resolved is unknown, and so is what else the report is worth."""
    report = written(tmp_path / "base-1.json", {"resolved_ids": ["a", "b"], "unresolved_ids": ["b"]})
    unused: list[str] = []
    assert import_reports(report, trials, unused) == {}
    assert unused == [f"{report}: it lists b as resolved and as unresolved"]
    assert grades(trials[0]) == {"a": None, "b": None}


def test_instances_of_a_report_that_were_not_run_are_named(tmp_path: Path, trials: list[Trial]) -> None:
    """How many they are, and one of them; the others are graded."""
    report = written(tmp_path / "base-1.json", {"resolved_ids": ["a", "y"], "unresolved_ids": ["z"]})
    unused: list[str] = []
    assert import_reports(report, trials, unused) == {"base-1": 1}
    assert unused == [f"{report}: 2 of the 3 instances that it names have no result in base-1, such as y"]


def test_a_grade_belongs_to_the_repair_that_was_graded(trials: list[Trial]) -> None:
    """Of another repair of the same task nothing is known."""
    trial = trials[0]
    assert keep(trial, Verdicts(resolved={"a": True}), "r.json") == 1
    assert read_grades(trial)["a"] == Grade(resolved=True, patch=trial.results()["a"].mark, source="r.json")
    (trial.folder / "a" / "a.traj.json").write_text(trajectory("a", patch="another"))
    assert grades(trial) == {"a": None, "b": None}


HARNESS = """
import json, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
predictions = json.load(open(words["--predictions_path"]))
assert (words["--dataset_name"], words["--split"]) == ("SWE-bench/SWE-bench_Verified", "test")
print("testing", *predictions)
report = {"resolved_ids": ["a"], "unresolved_ids": [], "error_ids": ["b"]}
json.dump(report, open(f"scripted.{words['--run_id']}.json", "w"))
"""


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A harness that takes the official one's options and tests nothing; its file."""
    file = tmp_path / "packages" / "swebench" / "harness" / "run_evaluation.py"
    file.parent.mkdir(parents=True)
    for folder in (file.parent, file.parent.parent):
        (folder / "__init__.py").touch()
    file.write_text(HARNESS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    return file


def test_the_harness_grades_what_there_is(trials: list[Trial], harness: Path) -> None:
    """What it could not test is unresolved, and known as that."""
    trial = trials[0]
    write_predictions(trial.folder, trial.results().values())
    assert run_harness(Plan(), trial, workers=2) == 2
    assert grades(trial) == {"a": True, "b": False}
    assert [grade.error for grade in read_grades(trial).values()] == [False, True]
    assert (trial.folder / "grading" / "harness.log").read_text() == "testing a b\n"


FAILING = """
import json, pathlib, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
folder = pathlib.Path("logs/run_evaluation", words["--run_id"], "scripted")
for name in json.load(open(words["--predictions_path"])):
    log = folder / name / "run_instance.log"
    print(name, "is tested" if not log.exists() else "was tested")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("ERROR - Error creating container for b: no such image" if name == "b" else "tested")
report = {"resolved_ids": [], "unresolved_ids": ["a"], "error_ids": ["b"], "infra_failure_ids": ["a"]}
report["failure_reasons"] = {"a": "out_of_memory"}
json.dump(report, open(f"scripted.{words['--run_id']}.json", "w"))
"""
"""A harness on a machine that fails: at one task by lack of memory, at another there is no image."""


def test_failures_of_the_machine_are_no_grades(trials: list[Trial], harness: Path) -> None:
    """They are known as such, count as ungraded, are tested again, and do not take the place of a grade."""
    trial = trials[0]
    write_predictions(trial.folder, trial.results().values())
    harness.write_text(FAILING)
    for _ in range(2):
        run_harness(Plan(), trial, workers=2)
    assert grades(trial) == {"a": None, "b": None}
    assert {name: grade.machine for name, grade in read_grades(trial).items()} == {
        "a": "out_of_memory",
        "b": "no_container",
    }
    log = trial.folder / "grading" / "harness.log"
    assert log.read_text() == "a is tested\nb is tested\n" * 2
    keep(trial, Verdicts(resolved={"a": True}), "r.json")
    run_harness(Plan(), trial, workers=2)
    assert grades(trial) == {"a": True, "b": None}
    assert log.read_text().splitlines()[-2:] == ["a was tested", "b is tested"]


LOSING = """
import json, pathlib, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
folder = pathlib.Path("logs/run_evaluation", words["--run_id"], "scripted")
printed = {"a": LOST, "b": "error: patch failed\\n"}
for name, text in printed.items():
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "test_output.txt").write_text(text)
report = {"resolved_ids": [], "unresolved_ids": ["a", "b"], "error_ids": []}
json.dump(report, open(f"scripted.{words['--run_id']}.json", "w"))
"""
"""A harness that got ``LOST`` of one task's output, and a whole one of another whose tests did not begin."""


@pytest.mark.parametrize("lost", ["ok 1\n+ : '>>>>> End Test Output'\n", "", "\n"], ids=["end", "nothing", "line"])
def test_an_output_without_its_beginning_is_a_failure_of_the_machine(
    trials: list[Trial], harness: Path, lost: str
) -> None:
    """The mark before the tests is printed before anything of the repair runs, so a repair can't remove it."""
    write_predictions(trials[0].folder, trials[0].results().values())
    harness.write_text(LOSING.replace("LOST", repr(lost)))
    run_harness(Plan(), trials[0], workers=2)
    assert grades(trials[0]) == {"a": None, "b": False}
    assert {name: grade.machine for name, grade in read_grades(trials[0]).items()} == {"a": "output_lost", "b": ""}


def test_an_earlier_repair_of_a_task_is_not_graded_in_place_of_this_one(trials: list[Trial], harness: Path) -> None:
    """The harness skips what it has tested; what it kept of another repair is removed before."""
    trial = trials[0]
    write_predictions(trial.folder, trial.results().values())
    harness.write_text(FAILING.replace('"infra_failure_ids": ["a"]', '"infra_failure_ids": []'))
    run_harness(Plan(), trial, workers=2)
    assert grades(trial) == {"a": False, "b": None}
    (trial.folder / "a" / "a.traj.json").write_text(trajectory("a", patch="another"))
    run_harness(Plan(), trial, workers=2)
    log = trial.folder / "grading" / "harness.log"
    assert log.read_text().splitlines()[-2:] == ["a is tested", "b is tested"]


def test_a_harness_that_fails_is_told(trials: list[Trial], harness: Path) -> None:
    """With its last words and where to look; nothing is graded."""
    harness.write_text("raise SystemExit('no more disk')")
    with pytest.raises(LedgerError, match=r"base-1: the harness ended with status 1: no more disk \(.*harness\.log\)"):
        run_harness(Plan(), trials[0], workers=2)
    assert grades(trials[0]) == {"a": None, "b": None}


def test_without_a_grader_resolution_is_said_to_be_unknown(tmp_path: Path) -> None:
    """With what stands in the way, and what can be done about it."""
    with pytest.raises(LedgerError) as caught:
        need_harness(package="nobench")
    assert caught.value.message == "the package nobench is not installed: which instances are resolved stays unknown"
    assert "--reports PATH" in caught.value.hint
    assert harness_missing("no-such-docker", "json") == "there is no Docker here"
    silent = tmp_path / "docker"
    silent.write_text("#!/bin/sh\nexit 1\n")
    silent.chmod(0o755)
    assert harness_missing(str(silent), "json") == f"{silent} does not answer: it says nothing"
    silent.write_text("#!/bin/sh\necho 'Cannot connect to the daemon at unix:///d.sock' >&2\nexit 1\n")
    assert harness_missing(str(silent), "json") == (
        f"{silent} does not answer: Cannot connect to the daemon at unix:///d.sock"
    )
    silent.write_text("#!/bin/sh\n")
    assert harness_missing(str(silent), "json") == ""
