"""The rows of a report: one for each run, from the folders of evaluations and from runs that came about elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.errors import UnreadableRun
from execledger.evaluate.dataset import read_instances
from execledger.evaluate.metrics import Read, measure, measured_runs
from execledger.evaluate.plan import ArmName, Plan
from execledger.evaluate.prices import Prices
from execledger.evaluate.records import RunRow
from execledger.evaluate.results import Result
from execledger.evaluate.study import PLAN, Study, Trial
from execledger.evaluate.verdicts import read_grades, resolved
from execledger.journal.reader import JournalRun, read_journal
from execledger.trajectories.find import find_runs
from execledger.trajectories.formats import read_run
from execledger.trajectories.recording import Run


class _Ledger(Struct, frozen=True):
    journal: str = ""


class _Info(Struct, frozen=True):
    ledger: _Ledger | None = None


class _Trajectory(Struct, frozen=True):
    info: _Info


def collect(
    paths: Iterable[str], prices: Prices, unreadable: list[str], read: Read = read_run
) -> Iterator[tuple[Run, RunRow]]:
    """Every run with its row, one in memory at a time; what can't be read is noted with its reason.

    Of an evaluation's folder, or one of an arm or a trial in it, rows know the arm, the trial and the grade. All else
    is taken as runs from elsewhere. A path that does not exist is reported before anything is read.
    """
    given = list(paths)
    find_runs(given)
    return _collected(given, prices, unreadable, read)


def _collected(paths: Iterable[str], prices: Prices, unreadable: list[str], read: Read) -> Iterator[tuple[Run, RunRow]]:
    for path in paths:
        study = study_of(Path(path))
        if study is None:
            yield from measured_runs(find_runs([path]), prices, unreadable, read)
            continue
        recorded = study.recorded()
        assert recorded is not None, "a study's folder has a plan"
        for trial in trials_under(Path(path), study, recorded.plan):
            yield from _of_trial(trial, recorded.plan, prices, unreadable, read)


def study_of(path: Path) -> Study | None:
    """The evaluation that a folder is, or is an arm or a trial of; None if it is none of these."""
    whole = path.absolute()
    return next((Study(one) for one in (whole, *whole.parents[:2]) if _has_plan(one)), None)


def _has_plan(folder: Path) -> bool:
    """Whether a folder belongs to a plan of ours; others may keep something of that name, too."""
    try:
        fields = msgspec.json.decode((folder / PLAN).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return False
    return {"plan", "digest", "versions"} <= fields.keys()


def trials_under(path: Path, study: Study, plan: Plan) -> list[Trial]:
    """The arms and trials of a study that lie at or under a path."""
    return [trial for trial in study.trials(plan) if trial.folder.is_relative_to(path.absolute())]


def unfinished(path: Path) -> str:
    """How many runs of a study's part are still missing, in words; empty if none are."""
    study = study_of(path)
    recorded = study.recorded() if study is not None else None
    if study is None or recorded is None:
        return ""
    tasks = len(read_instances(study.dataset / f"{recorded.plan.split}.jsonl"))
    counts = {trial.name: len(trial.results()) for trial in trials_under(path, study, recorded.plan)}
    missing = {name: tasks - count for name, count in counts.items() if count < tasks}
    named = ", ".join(f"{name} {count}" for name, count in missing.items())
    return f"{path}: not finished yet: {named} of {tasks} instances" if missing else ""


def _of_trial(
    trial: Trial, plan: Plan, prices: Prices, unreadable: list[str], read: Read
) -> Iterator[tuple[Run, RunRow]]:
    grades = read_grades(trial)
    for name, result in trial.results().items():
        files = sorted({*(trial.folder / name).glob("*.traj.json"), *(trial.folder / name).glob("rollout-*.jsonl")})
        if not files:
            unreadable.append(f"{trial.folder / name}: found no recorded run in it")
        for file in files:
            try:
                data = file.read_bytes()
                run, journal = read(str(file), data), _journal(trial, file, data)
            except (OSError, UnreadableRun) as error:
                unreadable.append(str(error))
                continue
            if journal is None and trial.arm is not ArmName.BASE:
                unreadable.append(f"{file}: found no journal of it, so that what Ledger did in it is not counted")
            row = measure(run, journal, prices)
            yield run, _placed(row, trial, plan, result, resolved(result, grades))


def _placed(row: RunRow, trial: Trial, plan: Plan, result: Result, passed: bool | None) -> RunRow:
    """A row with its place in the evaluation."""
    return replace(
        row,
        instance=result.instance_id,
        arm=trial.arm.value,
        trial=trial.number,
        preset="" if trial.arm is ArmName.BASE else plan.preset.value,
        ended=result.ended or row.ended,
        model=row.model or result.model_name_or_path,
        resolved=passed,
    )


def _journal(trial: Trial, file: Path, data: bytes) -> JournalRun | None:
    """What Ledger recorded of a run; None if nothing. It is looked for by its name, so that folders may be moved."""
    if file.suffix == ".jsonl":
        # Codex's session is a part of either name.
        session = file.stem[-36:]
        found = next(iter(sorted(trial.journals.glob(f"*{session}*"))), None)
    else:
        ledger = msgspec.json.decode(data, type=_Trajectory).info.ledger
        found = trial.journals / Path(ledger.journal).name if ledger is not None and ledger.journal else None
    return read_journal(str(found), found.read_bytes()) if found is not None and found.is_file() else None
