"""Whether repairs pass the tests: reading the reports of graders, and keeping what they say beside the runs.

Two shapes of report are known. The summary of the official harness, which the hosted service gives too, lists names by
outcome; the report of a single task says whether it is resolved. What a report does not name stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from execledger.errors import LedgerError
from execledger.evaluate.results import Result, write_whole
from execledger.evaluate.study import Trial

GRADES = "resolved.json"
"""The file in the folder of an arm and trial that keeps the grades."""
ERRORS = ("error_ids", "failed_ids")
"""Lists of tasks that could not be tested, often since the repair does not apply: unresolved, for the benchmark."""
UNRESOLVED = ("unresolved_ids", "empty_patch_ids", *ERRORS)
"""Lists of tasks that are not resolved."""


class Verdicts(Struct, frozen=True, kw_only=True):
    """What one or more reports say."""

    resolved: Mapping[str, bool]
    """By task, for those that were graded."""
    errors: tuple[str, ...] = ()
    """Those that count as unresolved since they could not be tested."""


class Grade(Struct, frozen=True, kw_only=True):
    """What is kept of a task's grade."""

    resolved: bool
    """Whether the repair passes the tests."""
    patch: str
    """The repair that was graded, by its mark: of another repair of the same task nothing is known."""
    source: str
    """The report that says so."""
    error: bool = False
    """It could not be tested, and so counts as unresolved."""


def read_report(path: Path) -> Verdicts:
    """What a report says."""
    try:
        report = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError) as error:
        raise LedgerError(f"{path}: expected a report in JSON: {error}") from None
    verdicts = _of_summary(report) if "resolved_ids" in report else _of_tasks(report)
    if verdicts is None:
        keys = ", ".join(list(report)[:5])
        raise LedgerError(f"{path}: found the keys {keys or 'none'}, expected the report of a grader")
    return verdicts


def _of_summary(report: Mapping[str, Any]) -> Verdicts | None:
    """A summary; an older one of the service has no list of the unresolved, but one of all that were tested."""
    lists = {name: ids for name, ids in report.items() if name.endswith("_ids") and isinstance(ids, list)}
    if "resolved_ids" not in lists:
        return None
    unresolved = [one for name in UNRESOLVED for one in lists.get(name, ())]
    if "unresolved_ids" not in lists:
        unresolved += lists.get("completed_ids", ())
    passed = {str(one): True for one in lists["resolved_ids"]}
    errors = {str(one) for name in ERRORS for one in lists.get(name, ())} - set(passed)
    return Verdicts(resolved={str(one): False for one in unresolved} | passed, errors=tuple(sorted(errors)))


def _of_tasks(report: Mapping[str, Any]) -> Verdicts | None:
    """A report by task."""
    told = {name: value.get("resolved") for name, value in report.items() if isinstance(value, dict)}
    resolved = {name: value for name, value in told.items() if isinstance(value, bool)}
    return Verdicts(resolved=resolved) if resolved and len(resolved) == len(report) else None


def read_grades(trial: Trial) -> dict[str, Grade]:
    """The grades that are kept for an arm and trial."""
    path = trial.folder / GRADES
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Grade])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise LedgerError(f"{path}: expected grades: {error}", hint="remove it, and grade again") from None


def keep(trial: Trial, verdicts: Verdicts, source: str) -> int:
    """Keep what a report says about the tasks of an arm and trial; how many of them it names."""
    grades, results = read_grades(trial), trial.results()
    named = {name: results[name] for name in verdicts.resolved if name in results}
    for name, result in named.items():
        error = name in verdicts.errors
        grades[name] = Grade(resolved=verdicts.resolved[name], patch=result.mark, source=source, error=error)
    if named:
        spelled = msgspec.json.encode(dict(sorted(grades.items())))
        write_whole(trial.folder / GRADES, msgspec.json.format(spelled))
    return len(named)


def resolved(result: Result, grades: Mapping[str, Grade]) -> bool | None:
    """Whether a repair passes the tests; None where nobody has graded it."""
    grade = grades.get(result.instance_id)
    return grade.resolved if grade is not None and grade.patch == result.mark else None
