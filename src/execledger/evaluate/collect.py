"""Collects the rows of a report: one per run, from the folders of evaluations and from any other recorded runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from execledger.agents.evaluation import RECORDED, SUBAGENTS, TaskResult
from execledger.agents.formats import find_recorded, read_run
from execledger.agents.registry import evaluated
from execledger.core.policy import Policy
from execledger.errors import LedgerError, UnreadableRun, reason
from execledger.evaluate.dataset import read_instances
from execledger.evaluate.experiment import arm_order
from execledger.evaluate.grade import Grade, grade_of, read_grades, resolved
from execledger.evaluate.harbor_jobs import job_trials, trial_rows
from execledger.evaluate.metrics import Read, measure, measured_runs, with_subagents
from execledger.evaluate.plan import ArmName, Plan
from execledger.evaluate.records import RunRow
from execledger.evaluate.run_journals import Journals
from execledger.evaluate.study import PLAN, Study, StudyRecord, Trial
from execledger.runs.find import Source
from execledger.runs.prices import Prices
from execledger.runs.recording import Run

REASONS_SHOWN = 10
"""Number of reasons that are named for runs that are not finished."""


def collect(
    paths: Iterable[str], prices: Prices, unreadable: list[str], read: Read = read_run
) -> Iterator[tuple[Run, RunRow]]:
    """Yield every run with its row, one in memory at a time; reasons why something can't be read go to ``unreadable``.

    For runs of an evaluation (its folder, that of an arm or trial, or a folder that contains evaluations) the row has
    the arm, the trial and the grade. A run that is given twice counts once. A path that does not exist raises
    ``LedgerError`` before anything is read.
    """
    given = {os.path.realpath(path): path for path in paths}
    find_recorded(given.values())
    return _collected(given.values(), prices, unreadable, read)


def _collected(paths: Iterable[str], prices: Prices, unreadable: list[str], read: Read) -> Iterator[tuple[Run, RunRow]]:
    seen: set[Path] = set()
    for path in paths:
        studies = studies_at(Path(path), unreadable)
        for study in studies:
            for trial, recorded in _trials(study, Path(path), unreadable):
                if trial.folder not in seen:
                    seen.add(trial.folder)
                    placed = (recorded.plan, _positions(study, recorded, trial))
                    yield from _of_trial(trial, *placed, prices, unreadable, read)
        if not any(Path(path).resolve().is_relative_to(study.root) for study in studies):
            trials = [one for one in job_trials(Path(path), unreadable) if one.folder.resolve() not in seen]
            seen |= {one.folder.resolve() for one in trials}
            yield from trial_rows(trials, prices, unreadable, read)
            yield from measured_runs(_elsewhere(path, studies, seen), prices, unreadable, read)


def _trials(study: Study, path: Path, unreadable: list[str]) -> Iterator[tuple[Trial, StudyRecord]]:
    """Yield the trials of a study at or below a path, with its record; an unreadable plan is noted."""
    try:
        recorded = study.recorded()
    except LedgerError as error:
        unreadable.append(error.message)
        return
    assert recorded is not None, "a study's folder has a plan"
    for trial in trials_under(path, study, recorded.plan):
        yield trial, recorded


def _positions(study: Study, recorded: StudyRecord, trial: Trial) -> dict[str, int]:
    """Return, by instance, the planned position of the trial's arm; empty if the order is not recorded."""
    if recorded.seed is None:
        return {}
    try:
        instances = read_instances(study.dataset / f"{recorded.plan.split}.jsonl")
    except LedgerError:
        return {}
    rows = ((one.instance_id, number // recorded.plan.batch) for number, one in enumerate(instances))
    arms, seed = recorded.plan.arms, recorded.seed
    return {name: arm_order(arms, seed, row, trial.number).index(trial.arm) for name, row in rows}


def _elsewhere(path: str, studies: Iterable[Study], seen: set[Path]) -> Iterator[Source]:
    """Yield the recorded runs at a path that belong to no study, each once."""
    for source in find_recorded([path]):
        file = Path(source.name).resolve()
        known = seen & {file, *file.parents}
        if not known and not any(file.is_relative_to(study.root) for study in studies):
            seen.add(file)
            yield source


def studies_at(path: Path, unreadable: list[str]) -> list[Study]:
    """Return the study that a folder is or belongs to, else the studies below it; a broken plan is noted."""
    whole = path.resolve()
    for folders in ((whole, *whole.parents[:2]), (file.parent for file in sorted(whole.rglob(PLAN)))):
        found = [Study(folder) for folder in folders if _has_plan(folder, unreadable)]
        if found:
            return found
    return []


def study_of(path: Path) -> Study | None:
    """Return the study that a folder is, or is an arm or a trial of; None if there is none."""
    whole = path.resolve()
    return next((Study(one) for one in (whole, *whole.parents[:2]) if _has_plan(one, [])), None)


def _has_plan(folder: Path, unreadable: list[str]) -> bool:
    """Return whether a folder has the plan of an evaluation; other programs may have files of that name."""
    try:
        fields = msgspec.json.decode((folder / PLAN).read_bytes(), type=dict[str, Any])
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, msgspec.MsgspecError) as error:
        said = f"{folder / PLAN}: if this is the plan of an evaluation, its arms and grades are lost: {reason(error)}"
        unreadable += [said] if said not in unreadable else []
        return False
    return {"plan", "digest", "versions"} <= fields.keys()


def trials_under(path: Path, study: Study, plan: Plan) -> list[Trial]:
    """Return the arms and trials of a study at or below a path."""
    return [trial for trial in study.trials(plan) if trial.folder.is_relative_to(path.resolve())]


def unfinished(path: Path) -> list[str]:
    """Return a sentence for each study at a path that has unfinished runs, and one for each reason."""
    return [said for study in studies_at(path, []) for said in _unfinished(path, study)]


def _unfinished(path: Path, study: Study) -> list[str]:
    try:
        recorded = study.recorded()
        assert recorded is not None, "a study's folder has a plan"
        tasks = len(read_instances(study.dataset / f"{recorded.plan.split}.jsonl"))
    except LedgerError as error:
        return [error.message]
    counts = {trial.name: len(trial.results()) for trial in trials_under(path, study, recorded.plan)}
    missing = {name: tasks - count for name, count in counts.items() if count < tasks}
    named = ", ".join(f"{name} {count}" for name, count in missing.items())
    if not missing:
        return []
    reasons = [f"{one.name}: {said}" for one in trials_under(path, study, recorded.plan) for said in one.troubles()]
    return [f"{_shown(path, study)}: not finished yet: {named} of {tasks} instances", *reasons[:REASONS_SHOWN]]


def conditions(path: Path) -> list[str]:
    """Return a sentence for each study at a path on the isolation and the order of its arms."""
    said = []
    for study in studies_at(path, []):
        try:
            recorded = study.recorded()
        except LedgerError:
            continue
        assert recorded is not None, "a study's folder has a plan"
        said.append(f"{_shown(path, study)}: {_condition(recorded)}")
    return said


def versions_used(path: Path) -> list[str]:
    """Return a sentence for each study at a path on the versions that its results were made with."""
    said = []
    for study in studies_at(path, []):
        try:
            recorded = study.recorded()
        except LedgerError:
            continue
        assert recorded is not None, "a study's folder has a plan"
        sets = [", ".join(f"{name} {value}" for name, value in sorted(one.items())) for one in recorded.versions]
        mixed = f"{len(sets)} sets of versions (--mixed)" if len(sets) > 1 else "versions"
        said.append(f"{_shown(path, study)}: {mixed}: {'; '.join(sets)}")
    return said


def _condition(recorded: StudyRecord) -> str:
    order = "in the order of the plan" if recorded.seed is None else f"in rotated order (seed {recorded.seed})"
    if not recorded.isolated:
        return (
            f"the arms share the provider's prompt cache and ran {order}:"
            " a run finds cached what an earlier one sent, so that tokens and cost depend on the order"
        )
    if recorded.plan.record.isolation == "salt":
        salt = "a salt at the start of its prompt"
        return f"each run was isolated from the others in the provider's prompt cache by {salt}; the arms ran {order}"
    if recorded.plan.record.isolation == "prompt salt":
        return (
            f"the task's prompt began with a salt in each run; the arms ran {order}: from there on no run finds cached"
            " what another one sent; the agent's instructions and tools, which come before, may have been cached by an"
            " earlier run"
        )
    return (
        f"each run sent a cache key of its own; the arms ran {order}: a provider that follows that key isolates the"
        " runs from each other, with one that ignores it tokens and cost depend on the order"
    )


def _shown(path: Path, study: Study) -> Path:
    """Return the path of a study as the user gave it, or the path inside it that was given."""
    return path / study.root.relative_to(path.resolve()) if study.root.is_relative_to(path.resolve()) else path


def _of_trial(
    trial: Trial, plan: Plan, positions: Mapping[str, int], prices: Prices, unreadable: list[str], read: Read
) -> Iterator[tuple[Run, RunRow]]:
    grades, journals, governed = _grades(trial, unreadable), Journals(), trial.arm is not ArmName.BASE
    for name, result in trial.results().items():
        patterns = [f"{RECORDED}/*", *(pattern for one in evaluated() for pattern in one.records)]
        files = sorted({file for pattern in patterns for file in (trial.folder / name).glob(pattern)})
        if not files:
            unreadable.append(f"{trial.folder / name}: found no recorded run in it")
        for file in files:
            try:
                data = file.read_bytes()
                run, journal = read(str(file), data), journals.of(str(file), data)
            except (OSError, UnreadableRun) as error:
                unreadable.append(str(error))
                continue
            row = measure(run, journal, prices, governed=Policy() if governed else None)
            beside = _subagents(trial.folder / name, prices, unreadable, read)
            row = with_subagents(row, beside, governed=governed)
            placed = _placed(row, trial, plan, result, grades)
            yield run, replace(placed, position=positions.get(name))


def _subagents(folder: Path, prices: Prices, unreadable: list[str], read: Read) -> Iterator[RunRow]:
    """Yield the rows of the sub-agents' sessions in a task's folder; unreadable ones are noted."""
    for file in sorted((folder / SUBAGENTS).glob("*")):
        try:
            yield measure(read(str(file), file.read_bytes()), None, prices)
        except (OSError, UnreadableRun) as error:
            unreadable.append(str(error))


def _grades(trial: Trial, unreadable: list[str]) -> dict[str, Grade]:
    """Return the grades of an arm and trial; unreadable ones are noted, and count as unknown."""
    try:
        return read_grades(trial)
    except LedgerError as error:
        unreadable.append(error.message)
        return {}


def _placed(row: RunRow, trial: Trial, plan: Plan, result: TaskResult, grades: Mapping[str, Grade]) -> RunRow:
    """Return a row with its instance, arm, trial and grade."""
    grade = grade_of(result, grades)
    return replace(
        row,
        instance=result.instance_id,
        arm=trial.arm.value,
        trial=trial.number,
        preset="" if trial.arm is ArmName.BASE else plan.preset.value,
        ended=result.ended or row.ended,
        model=row.model or result.model_name_or_path,
        resolved=resolved(result, grades),
        machine_failure=grade.machine if grade else "",
        ambiguous_failure=grade.ambiguous if grade else "",
        failure=result.failure,
    )
