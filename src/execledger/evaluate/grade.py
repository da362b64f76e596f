"""Grades the repairs of an evaluation with the official SWE-bench harness, or from reports that were made elsewhere.

Two formats of reports are read. The summary of the harness, which the hosted service returns too, lists instances by
outcome; the report of a single instance says whether it is resolved. An instance that no report names is ungraded.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.evaluation import TaskResult, last_words, unanswered, write_whole
from execledger.errors import LedgerError, reason
from execledger.evaluate.plan import ArmName, Plan
from execledger.evaluate.study import PREDICTIONS, Trial
from execledger.extras import install_command
from execledger.runs.find import absent

GRADES = "resolved.json"
"""File with the grades in the folder of an arm and trial."""
ERRORS = ("error_ids", "failed_ids")
"""Lists of tasks that could not be tested, often because the repair does not apply; the benchmark counts them as
unresolved."""
MACHINE = "infra_failure_ids"
"""The list of tasks at which the machine failed and not the repair, by signs in the logs that no repair can cause;
SWE-bench 5 has it, and keeps these tasks among the unresolved ones."""
AMBIGUOUS = "ambiguous_failure_ids"
"""The list of tasks at which the machine or the repair may have failed; they count as unresolved."""
NO_CONTAINER = "no_container"
"""Reason of a machine's failure: the harness could start no container of the task's image."""
OUTPUT_LOST = "output_lost"
"""Reason of a machine's failure: what the tests printed, or its beginning, did not reach the harness."""
STARTED, ENDED = b">>>>> Start Test Output", b">>>>> End Test Output"
"""Marks around the output of the tests; a repair has no part in either."""
UNRESOLVED = ("unresolved_ids", "empty_patch_ids", *ERRORS)
"""Lists of unresolved tasks."""


class Verdicts(Struct, frozen=True, kw_only=True):
    """Grades in a report."""

    resolved: Mapping[str, bool]
    """Whether each graded task is resolved."""
    errors: tuple[str, ...] = ()
    """Tasks that count as unresolved because they could not be tested."""
    machine: Mapping[str, str] = {}
    """Tasks that are not graded because the machine failed, with the reason in the harness's word."""
    ambiguous: Mapping[str, str] = {}
    """Unresolved tasks whose failure may be the machine's, with the reason."""


class Grade(Struct, frozen=True, kw_only=True):
    """Stored grade of a task."""

    resolved: bool
    """Whether the repair passes the tests."""
    patch: str
    """Digest of the graded repair; the grade is not valid for another repair of the same task."""
    source: str
    """File name of the report."""
    error: bool = False
    """True if it could not be tested, and so counts as unresolved."""
    machine: str = ""
    """Why the machine failed, and not the repair: then there is no grade, whatever ``resolved`` says."""
    ambiguous: str = ""
    """Why an unresolved task may be the machine's failure; it counts as unresolved all the same."""


def read_report(path: Path) -> Verdicts:
    """Read a report; raises ``LedgerError`` if the file is none."""
    try:
        report = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError) as error:
        raise LedgerError(f"{path}: expected a report in JSON: {reason(error)}") from None
    if both := _contradicted(report):
        more = f" and {len(both) - 1} more" if len(both) > 1 else ""
        raise LedgerError(f"{path}: it lists {both[0]}{more} as resolved and as unresolved")
    verdicts = _of_summary(report) if "resolved_ids" in report else _of_tasks(report)
    if verdicts is None:
        keys = ", ".join(list(report)[:5])
        raise LedgerError(f"{path}: found the keys {keys or 'none'}, expected the report of a grader")
    return verdicts


def _contradicted(report: Mapping[str, Any]) -> list[str]:
    """Return the tasks that a summary lists both as resolved and as unresolved."""
    lists = (report.get(name) for name in ("resolved_ids", "unresolved_ids"))
    passed, failed = ({str(one) for one in ids} if isinstance(ids, list) else set() for ids in lists)
    return sorted(passed & failed)


def _of_summary(report: Mapping[str, Any]) -> Verdicts | None:
    """Read a summary; older ones of the service have no list of unresolved tasks, but one of all completed."""
    lists = {name: ids for name, ids in report.items() if name.endswith("_ids") and isinstance(ids, list)}
    if "resolved_ids" not in lists:
        return None
    unresolved = [one for name in UNRESOLVED for one in lists.get(name, ())]
    if "unresolved_ids" not in lists:
        unresolved += lists.get("completed_ids", ())
    passed = {str(one): True for one in lists["resolved_ids"]}
    reasons = report.get("failure_reasons")
    machine, ambiguous = (
        {str(one): _reason(reasons, one) for one in lists.get(name, ()) if str(one) not in passed}
        for name in (MACHINE, AMBIGUOUS)
    )
    errors = {str(one) for name in ERRORS for one in lists.get(name, ())} - set(passed) - set(machine)
    failed = {str(one): False for one in unresolved if str(one) not in machine}
    return Verdicts(resolved=failed | passed, errors=tuple(sorted(errors)), machine=machine, ambiguous=ambiguous)


def _reason(reasons: Any, name: str) -> str:
    """Return the reason of a task's failure in the harness's word."""
    found = reasons.get(name) if isinstance(reasons, dict) else None
    return str(found or "unknown")


def _of_tasks(report: Mapping[str, Any]) -> Verdicts | None:
    """Read a report by task; None if the file is none."""
    tasks = {name: value for name, value in report.items() if isinstance(value, dict)}
    told = {name: value["resolved"] for name, value in tasks.items() if isinstance(value.get("resolved"), bool)}
    if not told or len(told) < len(report):
        return None
    why = {name: str(value.get("infra_failure_reason") or "") for name, value in tasks.items() if not told[name]}
    machine = {name: reason or "unknown" for name, reason in why.items() if tasks[name].get("infra_failure") is True}
    ambiguous = {name: reason for name, reason in why.items() if reason and name not in machine}
    graded = {name: passed for name, passed in told.items() if name not in machine}
    return Verdicts(resolved=graded, machine=machine, ambiguous=ambiguous)


def read_grades(trial: Trial) -> dict[str, Grade]:
    """Read the stored grades of an arm and trial."""
    path = trial.folder / GRADES
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Grade])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise LedgerError(f"{path}: expected grades: {reason(error)}", hint="remove it, and grade again") from None


def keep(trial: Trial, verdicts: Verdicts, source: str) -> int:
    """Store the grades of a report for the tasks of an arm and trial, and return how many of them it names."""
    grades, results = read_grades(trial), trial.results()
    named = {name: results[name] for name in (*verdicts.resolved, *verdicts.machine) if name in results}
    for name, result in named.items():
        if name in verdicts.machine and resolved(result, grades) is not None:
            continue  # Another machine has graded the same repair.
        grades[name] = Grade(
            resolved=verdicts.resolved.get(name, False),
            patch=result.mark,
            source=source,
            error=name in verdicts.errors,
            machine=verdicts.machine.get(name, ""),
            ambiguous=verdicts.ambiguous.get(name, ""),
        )
    if named:
        spelled = msgspec.json.encode(dict(sorted(grades.items())))
        write_whole(trial.folder / GRADES, msgspec.json.format(spelled))
    return len(named)


def grade_of(result: TaskResult, grades: Mapping[str, Grade]) -> Grade | None:
    """Return the grade of a repair; None if there is none, or it is about another repair."""
    grade = grades.get(result.instance_id)
    return grade if grade is not None and grade.patch == result.mark else None


def resolved(result: TaskResult, grades: Mapping[str, Grade]) -> bool | None:
    """Return whether a repair passes the tests; None if it was not graded, or the machine failed."""
    grade = grade_of(result, grades)
    return None if grade is None or grade.machine else grade.resolved


HARNESS = "swebench.harness.run_evaluation"
"""Module of the official harness."""
DATASETS = {
    "full": "SWE-bench/SWE-bench",
    "lite": "SWE-bench/SWE-bench_Lite",
    "multilingual": "SWE-bench/SWE-bench_Multilingual",
    "multimodal": "SWE-bench/SWE-bench_Multimodal",
    "verified": "SWE-bench/SWE-bench_Verified",
}
"""Names of the datasets for the harness; newer versions read the tests from fields that only these have."""
_NAMED = re.compile(rf"(?:^|[._-])((?:{'|'.join(ArmName)})-\d+)$")
"""An arm and trial, such as ``base-1``, at the end of a file name."""
_ELSEWHERE = "or grade elsewhere (sb-cli submit, the harness on another machine) and give --reports PATH"


def harness_missing(docker: str = "docker", package: str = "swebench") -> str:
    """Return why the harness can't run here; "" if it can."""
    if importlib.util.find_spec(package) is None:
        return f"the package {package} is not installed"
    program = shutil.which(docker)
    if program is None:
        return "there is no Docker here"
    return unanswered(program)


def run_harness(plan: Plan, trial: Trial, workers: int) -> int:
    """Run the harness for an arm and trial, and return the number of tasks in its report.

    It skips tasks that it has graded. What it kept of others, such as of an earlier repair of the same task or of one
    at which the machine failed, is removed before, since it would be taken for the result of this repair.
    """
    folder = trial.folder / "grading"
    folder.mkdir(exist_ok=True)
    grades, logs = read_grades(trial), folder / "logs" / "run_evaluation" / trial.name
    for name, result in trial.results().items():
        if resolved(result, grades) is None:
            for kept in logs.glob(f"*/{name}"):
                shutil.rmtree(kept)
    command = [
        *(sys.executable, "-P", "-m", HARNESS, "--dataset_name", _dataset(plan, trial)),
        *("--split", plan.split, "--predictions_path", str((trial.folder / PREDICTIONS).absolute())),
        *("--run_id", trial.name, "--max_workers", str(workers), "--report_dir", "."),
    ]
    log = folder / "harness.log"
    with log.open("ab") as output:
        status = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    reports = sorted(folder.glob(f"*.{trial.name}.json"))
    if status or not reports:
        raise LedgerError(f"{trial.name}: the harness ended with status {status}: {last_words(log)} ({log})")
    return sum(keep(trial, _without_machine_failures(read_report(path), logs), path.name) for path in reports)


def _without_machine_failures(verdicts: Verdicts, logs: Path) -> Verdicts:
    """Return verdicts without tasks at which the machine failed by their logs; the harness calls them unresolved."""
    unresolved = [name for name, passed in verdicts.resolved.items() if not passed]
    failed = {name: reason for name in unresolved if (reason := _machine_failure(name, logs))}
    return replace(
        verdicts,
        resolved={name: passed for name, passed in verdicts.resolved.items() if name not in failed},
        errors=tuple(name for name in verdicts.errors if name not in failed),
        machine={**verdicts.machine, **failed},
    )


def _machine_failure(name: str, logs: Path) -> str:
    """Return how the machine failed at a task, by the harness's logs of it; "" if it did not."""
    for log in logs.glob(f"*/{name}/run_instance.log"):
        if f"Error creating container for {name}:".encode() in log.read_bytes():
            return NO_CONTAINER
    for log in logs.glob(f"*/{name}/test_output.txt"):
        printed = log.read_bytes()
        # The script prints its commands and the marks, whatever the tests print.
        if not printed.strip() or (ENDED in printed and STARTED not in printed):
            return OUTPUT_LOST
    return ""


def _dataset(plan: Plan, trial: Trial) -> str:
    """Return what the harness is given as its dataset: the stored tasks where they say how they are graded."""
    stored = trial.folder.parents[1] / "dataset" / f"{plan.split}.jsonl"
    rows = stored.read_bytes().splitlines() if stored.is_file() else []
    if rows and all("eval_script" in msgspec.json.decode(row, type=dict[str, Any]) for row in rows):
        return str(stored.absolute())
    if plan.subset not in DATASETS and Path(plan.subset).exists():
        hint = "docs/own-tasks.md has the fields, which the harness reads from version 5 on"
        raise LedgerError(f"{plan.subset}: its tasks have no `eval_script`, so that they can't be graded", hint=hint)
    return DATASETS.get(plan.subset, plan.subset)


def need_harness(docker: str = "docker", package: str = "swebench") -> None:
    """Raise ``LedgerError`` if the harness can't run here."""
    if missing := harness_missing(docker, package):
        hint = f"{install_command('swebench')} where Docker runs, {_ELSEWHERE}"
        raise LedgerError(f"{missing}: which instances are resolved stays unknown", hint=hint)


def import_reports(path: Path, trials: Sequence[Trial], unused: list[str]) -> dict[str, int]:
    """Store the grades of the reports at ``path``, and return the number of graded tasks by arm and trial.

    The path of a report names its arm and trial: ``ARM/TRIAL`` as folders, or ``ARM-TRIAL`` at the end of a name. If
    only one arm and trial is graded, a report that names none is about that one. Reports that are not used are noted in
    ``unused`` with the reason; of contradicting reports, both are.
    """
    found: dict[str, dict[Path, Verdicts]] = {trial.name: {} for trial in trials}
    reasons: list[str] = []
    for file, verdicts in _reports(path, reasons):
        name = _about(file) or (trials[0].name if len(trials) == 1 else "")
        if name in found:
            found[name][file] = verdicts
        else:
            said = f"names {name}, expected" if name else "names none of"
            reasons.append(f"{file}: its path {said} {', '.join(found) or 'an arm and trial with finished instances'}")
    graded = {trial.name: _keep_all(trial, found[trial.name], reasons) for trial in trials}
    unused += sorted(reasons)
    return {name: count for name, count in graded.items() if count}


def _keep_all(trial: Trial, reports: Mapping[Path, Verdicts], unused: list[str]) -> int:
    """Store the grades of reports that do not contradict each other, and return how many tasks they name."""
    contradicted = _contradictions(reports)
    unused += [f"{file}: {reason}" for file, reason in contradicted.items()]
    count = 0
    for file, verdicts in reports.items():
        named = 0 if file in contradicted else keep(trial, verdicts, file.name)
        if not named and file not in contradicted:
            unused.append(f"{file}: it names no instance of {trial.name}")
        elif named:
            unused += _unknown(trial, verdicts, file)
        count += named
    return count


def _unknown(trial: Trial, verdicts: Verdicts, file: Path) -> Iterator[str]:
    """Yield how many tasks of a report have no result in an arm and trial, if there are any."""
    names = {*verdicts.resolved, *verdicts.machine}
    unknown = sorted(names - trial.results().keys())
    if unknown:
        told = f"{len(unknown)} of the {len(names)} instances that it names have no result in {trial.name}"
        yield f"{file}: {told}, such as {unknown[0]}"


def _contradictions(reports: Mapping[Path, Verdicts]) -> dict[Path, str]:
    """Return the reports that contradict another one, with the reason."""
    first: dict[str, Path] = {}
    found: dict[Path, str] = {}
    for file, verdicts in reports.items():
        for name, passed in verdicts.resolved.items():
            other = first.setdefault(name, file)
            if reports[other].resolved[name] != passed:
                found.setdefault(other, f"{file} says otherwise about {name}")
                found.setdefault(file, f"{other} says otherwise about {name}")
    return found


def _reports(path: Path, unused: list[str]) -> Iterator[tuple[Path, Verdicts]]:
    """Yield the reports at a path; other files in a folder are noted, except those that accompany a report."""
    if found := absent(str(path)):
        raise LedgerError(f"{path}: found {found}, expected reports of a grader")
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    for file in files:
        if file.name.endswith(".response.json"):
            continue
        try:
            yield file, read_report(file)
        except LedgerError as error:
            unused.append(error.message)


def _about(file: Path) -> str:
    """Return the arm and trial in a report's path, from the last part that names one; "" if none does."""
    parts = file.parts
    for at in range(len(parts) - 1, -1, -1):
        if at and parts[at - 1] in list(ArmName) and parts[at].isdecimal():
            return f"{parts[at - 1]}-{parts[at]}"
        if named := _NAMED.search(parts[at].removesuffix(".json")):
            return named[1]
    return ""
