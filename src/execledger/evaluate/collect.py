"""Collects the rows of a report: one per run, from the folders of evaluations and from any other recorded runs."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.evaluation import RECORDED, SUBAGENTS, TaskResult
from execledger.agents.formats import find_recorded, read_run
from execledger.agents.registry import evaluated
from execledger.core.policy import Policy
from execledger.errors import LedgerError, UnreadableRun, reason
from execledger.evaluate.dataset import read_instances
from execledger.evaluate.experiment import arm_order
from execledger.evaluate.grade import GRADES, Grade, grade_of, read_grades, resolved
from execledger.evaluate.harbor_jobs import job_trials, trial_folders, trial_rows
from execledger.evaluate.metrics import Read, measure, measured_runs, with_subagents
from execledger.evaluate.plan import ArmName, Plan
from execledger.evaluate.records import RunRow
from execledger.evaluate.run_journals import Journals
from execledger.evaluate.study import PLAN, Study, StudyRecord, Trial
from execledger.runs.decoding import instance_of
from execledger.runs.find import PLAN_KEYS, REPEATED, Source
from execledger.runs.prices import Prices
from execledger.runs.recording import Run

COPIED = "runs that another copy of the same evaluation has"
"""What is left out where the folder of an evaluation was copied: its runs are no further trials."""
SAME_CONTENT = "copies of files that were read already"
"""What is left out where files of runs were copied."""
_FOLDERS = re.compile(r".*[/!\\]", re.DOTALL)
"""What precedes the name of a file, or of a run in a bundle or an archive."""
REASONS_SHOWN = 10
"""Number of reasons that are named for runs that are not finished."""


def collect(
    paths: Iterable[str],
    prices: Prices,
    unreadable: list[str],
    read: Read = read_run,
    skipped: Counter[str] | None = None,
    partly: list[str] | None = None,
) -> Iterator[tuple[Run, RunRow]]:
    """Yield every run with its row, one in memory at a time; reasons why something can't be read go to ``unreadable``.

    What is passed by in folders is counted in ``skipped``, by reason. A file that is read as far as it goes, such as a
    torn journal, has a sentence in ``partly``, by default in ``unreadable``.

    For runs of an evaluation (its folder, that of an arm or trial, or a folder that contains evaluations) the row has
    the arm, the trial and the grade. A run that is given twice, or is in a copy of its evaluation, counts once: the
    graded one, else the newest. So does a file that has the name and the content of one that was read before, unless it
    has another journal. A path that does not exist raises ``LedgerError`` before anything is read.
    """
    given = {os.path.realpath(path): path for path in paths}
    find_recorded(given.values())
    skipped, partly = Counter() if skipped is None else skipped, unreadable if partly is None else partly
    return _collected(given.values(), prices, unreadable, read, skipped, partly)


def _collected(
    paths: Iterable[str],
    prices: Prices,
    unreadable: list[str],
    read: Read,
    skipped: Counter[str],
    partly: list[str],
) -> Iterator[tuple[Run, RunRow]]:
    seen: set[Path] = set()
    contents = _Contents(read, skipped)
    found = [(path, studies_at(Path(path), unreadable)) for path in paths]
    copied = _copied(found)
    # Copies of an evaluation are one evaluation, called by the folder that is given first, with the versions of all.
    names: dict[str, str] = {}
    whole = _with_copies(study for _, studies in found for study in studies)
    for path, studies in found:
        for study in studies:
            for trial, recorded in _trials(study, Path(path), unreadable):
                if trial.folder not in seen:
                    seen.add(trial.folder)
                    without = copied.get(trial.folder, frozenset())
                    if without:
                        skipped[f"{COPIED}, in {_shown(Path(path), study)}"] += len(without)
                    identity = _one_evaluation(study, recorded)
                    name = names.setdefault(identity, str(_root_shown(Path(path), study)))
                    plan = msgspec.json.encode(whole[identity].matters()).decode()
                    placed = (recorded, name, plan, _positions(study, recorded, trial))
                    yield from _of_trial(trial, *placed, prices, unreadable, contents.read, without)
        if not any(_real(path).is_relative_to(study.root) for study in studies):
            folders = [*trial_folders(Path(path))]
            trials = [one for one in job_trials(folders, unreadable) if _real(one.folder) not in seen]
            # A trial without a result is noted, and its record is no run of its own.
            seen |= set(map(_real, folders))
            yield from trial_rows(trials, prices, unreadable, read)
            others = _elsewhere(path, studies, seen, skipped)
            yield from measured_runs(others, prices, unreadable, contents.read, partly, contents.is_copy)


class _Contents:
    """Reads runs, and remembers those that could be read, by what copies of them have in common."""

    def __init__(self, read: Read, skipped: Counter[str]) -> None:
        """Start without any; ``read`` reads a run, ``skipped`` counts copies."""
        self._read, self._skipped = read, skipped
        self._names: dict[_Identity, list[str]] = {}

    def read(self, name: str, data: bytes) -> Run:
        """Return the run with this content; raises ``UnreadableRun`` if it can't be read."""
        run = self._read(name, data)
        self._names.setdefault(_identity(name, data), []).append(name)
        return run

    def is_copy(self, name: str, data: bytes) -> bool:
        """Return whether the same run was read before, and count it as a copy if so.

        Equal bytes alone prove no copy: runs that fail before their first model call may differ in nothing but the
        task that their path names, or in their journals.
        """
        known = self._names.get(_identity(name, data))
        if known is None:
            return False
        journal = _journal(name, data)
        if journal is not None and all(journal != _journal(one, data) for one in known):
            return False
        self._skipped[SAME_CONTENT] += 1
        return True


class _Identity(NamedTuple):
    """What the copies of a run have in common."""

    file: str
    """The name of the file, or that of the run in its bundle or archive, without folders."""
    instance: str
    """The instance that the path names; "" if it names none."""
    digest: bytes
    """The digest of the content."""


def _identity(name: str, data: bytes) -> _Identity:
    """Return what the copies of the run with this name and content have in common."""
    return _Identity(_FOLDERS.sub("", name), instance_of(name), hashlib.sha256(data).digest())


def _journal(name: str, data: bytes) -> bytes | None:
    """Return the content of the journal of a run; None if it has none that can be read."""
    found = Journals().claim(name, data)
    try:
        return found.read_bytes() if found is not None else None
    except OSError:
        return None


def left_out(skipped: Counter[str]) -> list[str]:
    """Return a sentence for each reason, and each copy of an evaluation, for which repeated runs were left out."""
    reasons = (reason for reason in sorted(skipped) if reason.startswith((REPEATED, COPIED, SAME_CONTENT)))
    return [f"left out: {reason} ({skipped[reason]:,})" for reason in reasons]


def _copied(found: Iterable[tuple[str, list[Study]]]) -> dict[Path, frozenset[str]]:
    """Return, by the folder of an arm and trial, the tasks that count in another copy of the same evaluation.

    Of several results of a task a graded one counts, of these the newest, of equally old ones that graded last.
    """
    copies: dict[str, set[tuple[Path, float, Trial]]] = {}
    for path, studies in found:
        for study in studies:
            recorded = _record(study)
            graded_at = max((_written_at(one.folder / GRADES) for one in study.trials(recorded.plan)), default=0.0)
            trials = {(study.root, graded_at, one) for one in trials_under(Path(path), study, recorded.plan)}
            copies.setdefault(recorded.salt, set()).update(trials)
    results: dict[tuple[str, str, str], list[_Copy]] = {}
    for salt, trials in copies.items():
        if salt and len({root for root, _, _ in trials}) > 1:
            for _, graded_at, trial in sorted(trials):
                for one in _copies(trial, graded_at):
                    results.setdefault((salt, trial.name, one.result.instance_id), []).append(one)
    elsewhere: dict[Path, set[str]] = {}
    for (_, _, name), copies_of_one in results.items():
        chosen = _chosen(copies_of_one)
        for one in copies_of_one:
            if one is not chosen:
                elsewhere.setdefault(one.folder, set()).add(name)
    return {folder: frozenset(names) for folder, names in elsewhere.items()}


class _Copy(Struct, frozen=True):
    """The result of one task in one of several copies of an evaluation."""

    folder: Path
    """The folder of its trial."""
    result: TaskResult
    """The result."""
    graded: bool
    """Whether its repair was graded."""
    made: float
    """When its files were written last."""
    graded_at: tuple[float, float]
    """When the grades of its trial, and of any trial of its evaluation, were written last."""


def _chosen(copies: list[_Copy]) -> _Copy:
    """Return the result that counts: a graded one; the newest, if the results differ; the one that was graded last.

    Times of equal results prove nothing: a copy may have the time of the copying.
    """
    differ = any(one.result != copies[0].result for one in copies)
    return max(copies, key=lambda one: (one.graded, one.made if differ else 0.0, one.graded_at))


def _copies(trial: Trial, graded_at: float) -> Iterator[_Copy]:
    """Yield the results of a trial."""
    unreadable: list[str] = []
    grades, at = _grades(trial, unreadable), (_written_at(trial.folder / GRADES), graded_at)
    for name, result in _results(trial, unreadable).items():
        made = max(map(_written_at, (trial.folder / name).glob("*")), default=0.0)
        yield _Copy(trial.folder, result, resolved(result, grades) is not None, made, at)


def _written_at(file: Path) -> float:
    """Return when a file was written last; 0 if that can't be known."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _trials(study: Study, path: Path, unreadable: list[str]) -> Iterator[tuple[Trial, StudyRecord]]:
    """Yield the trials of a study at or below a path, with its record; an agent that is not known is noted."""
    recorded = _record(study)
    if fault := recorded.plan.unknown_agent:
        unreadable.append(f"{study.root / PLAN}: {fault}: its records are read as far as their formats are known")
    for trial in trials_under(path, study, recorded.plan):
        yield trial, recorded


def _record(study: Study) -> StudyRecord:
    """Return the record of a study that ``studies_at`` found."""
    recorded = study.recorded()
    assert recorded is not None, "a study's folder has a plan"
    return recorded


def _one_evaluation(study: Study, recorded: StudyRecord) -> str:
    """Return what copies of an evaluation have in common; its folder if it was run before evaluations had a salt."""
    return recorded.salt or str(study.root)


def _with_copies(studies: Iterable[Study]) -> dict[str, StudyRecord]:
    """Return, by identity, the records of evaluations, with the versions that any of their copies was run with."""
    found: dict[str, StudyRecord] = {}
    for study in studies:
        recorded = _record(study)
        identity = _one_evaluation(study, recorded)
        first = found.setdefault(identity, recorded)
        versions = (*first.versions, *(one for one in recorded.versions if one not in first.versions))
        found[identity] = msgspec.structs.replace(first, versions=versions)
    return found


def _positions(study: Study, recorded: StudyRecord, trial: Trial) -> dict[str, int]:
    """Return, by instance, the planned position of the trial's arm; empty if the tasks can't be read.

    Before arms were rotated, an evaluation had no seed, and ran each instance in the order of the plan.
    """
    try:
        instances = read_instances(study.dataset / f"{recorded.plan.split}.jsonl")
    except LedgerError:
        return {}
    rows = ((one.instance_id, number // recorded.plan.batch) for number, one in enumerate(instances))
    arms, seed = recorded.plan.arms, recorded.seed
    if seed is None:
        return dict.fromkeys((name for name, _ in rows), arms.index(trial.arm))
    return {name: arm_order(arms, seed, row, trial.number).index(trial.arm) for name, row in rows}


def _elsewhere(path: str, studies: Iterable[Study], seen: set[Path], skipped: Counter[str]) -> Iterator[Source]:
    """Yield the recorded runs at a path that belong to no study, each once."""
    for source in find_recorded([path], skipped=skipped):
        file = _real(source.name)
        known = seen & {file, *file.parents}
        if not known and not any(file.is_relative_to(study.root) for study in studies):
            seen.add(file)
            yield source


def _real(path: str | Path) -> Path:
    """Return a path without symbolic links; a link that leads back to itself stays, where ``Path.resolve`` raises."""
    return Path(os.path.realpath(path))


def studies_at(path: Path, unreadable: list[str]) -> list[Study]:
    """Return the study that a folder is or belongs to, else the studies below it; a broken plan is noted."""
    whole = _real(path)
    for folders in ((whole, *whole.parents[:2]), (file.parent for file in sorted(whole.rglob(PLAN)))):
        found = [Study(folder) for folder in folders if _has_plan(folder, unreadable)]
        if found:
            return found
    return []


def study_of(path: Path, unreadable: list[str] | None = None) -> Study | None:
    """Return the study that a folder is, or is an arm or a trial of; None if there is none; a broken plan is noted."""
    whole, noted = _real(path), [] if unreadable is None else unreadable
    return next((Study(one) for one in (whole, *whole.parents[:2]) if _has_plan(one, noted)), None)


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
    if not fields.keys() >= PLAN_KEYS:
        return False
    try:
        Study(folder).recorded()
    except LedgerError as error:
        said = f"{error.message}: its arms and grades are lost"
        unreadable += [said] if said not in unreadable else []
        return False
    return True


def trials_under(path: Path, study: Study, plan: Plan) -> list[Trial]:
    """Return the arms and trials of a study at or below a path."""
    return [trial for trial in study.trials(plan) if trial.folder.is_relative_to(_real(path))]


def unfinished(path: Path) -> list[str]:
    """Return a sentence for each study at a path that has unfinished runs, and one for each reason."""
    return [said for study in studies_at(path, []) for said in _unfinished(path, study)]


def _unfinished(path: Path, study: Study) -> list[str]:
    recorded = _record(study)
    try:
        tasks = len(read_instances(study.dataset / f"{recorded.plan.split}.jsonl"))
    except LedgerError as error:
        return [error.message]
    unreadable: list[str] = []
    trials = trials_under(path, study, recorded.plan)
    done = {trial.name: _results(trial, unreadable) for trial in trials}
    missing = {name: tasks - len(results) for name, results in done.items() if len(results) < tasks}
    # "1 of 2 instances of base-1, 2 of 2 of both-1"
    said = [f"{count} of {tasks} instances of {name}" for name, count in missing.items()]
    named = ", ".join([*said[:1], *(one.replace(" instances", "") for one in said[1:])])
    if not missing:
        return []
    reasons = [
        f"{one.name}, {name}: {said}"
        for one in trials
        for name, said in one.troubles().items()
        if name not in done[one.name]
    ]
    return [f"{_shown(path, study)}: not finished yet: {named}", *reasons[:REASONS_SHOWN]]


def conditions(path: Path) -> list[str]:
    """Return a sentence for each study at a path on the isolation and the order of its arms."""
    return [f"{_shown(path, study)}: {_condition(_record(study))}" for study in studies_at(path, [])]


def versions_used(path: Path) -> list[str]:
    """Return a sentence for each study at a path on the versions that its results were made with."""
    said = []
    for study in studies_at(path, []):
        recorded = _record(study)
        sets = [", ".join(f"{name} {value}" for name, value in sorted(one.items())) for one in recorded.versions]
        mixed = f"{len(sets)} sets of versions (--mixed)" if len(sets) > 1 else "versions"
        said.append(f"{_shown(path, study)}: {mixed}: {'; '.join(sets)}")
    return said


def _condition(recorded: StudyRecord) -> str:
    order = f"in rotated order (seed {recorded.seed})"
    if recorded.seed is None:
        order = "in the order of the plan, the same for every instance, so that arm and position can't be told apart"
    if not recorded.isolated:
        return (
            f"the arms share the provider's prompt cache and ran {order}:"
            " a run finds cached what an earlier one sent, so that tokens and cost depend on the order"
        )
    if recorded.plan.unknown_agent:
        return f"the arms ran {order}; whether runs were isolated in the provider's prompt cache is unknown"
    if recorded.plan.record.isolation == "salt":
        return (
            "by the plan, a salt at the start of its prompt isolates each run from the others in the provider's prompt"
            f" cache; the arms ran {order}"
        )
    if recorded.plan.record.isolation == "prompt salt":
        return (
            f"by the plan, the task's prompt begins with a salt in each run; the arms ran {order}: from there on no run"
            " finds cached what another one sent; the agent's instructions and tools, which come before, may have been"
            " cached by an earlier run"
        )
    return (
        f"by the plan, each run sends a cache key of its own; the arms ran {order}: a provider that follows that key"
        " isolates the runs from each other, with one that ignores it tokens and cost depend on the order"
    )


def _shown(path: Path, study: Study) -> Path:
    """Return the path of a study as the user gave it, or the path inside it that was given."""
    whole = _real(path)
    return path / study.root.relative_to(whole) if study.root.is_relative_to(whole) else path


def _root_shown(path: Path, study: Study) -> Path:
    """Return the path of a study's folder, spelled as the user gave it or a path inside it, where that is possible."""
    shown = _shown(path, study)
    return next((one for one in (shown, *shown.parents) if _real(one) == study.root), study.root)


def _of_trial(
    trial: Trial,
    recorded: StudyRecord,
    evaluation: str,
    plan: str,
    positions: Mapping[str, int],
    prices: Prices,
    unreadable: list[str],
    read: Read,
    without: Container[str],
) -> Iterator[tuple[Run, RunRow]]:
    """Yield the runs of an arm and trial with their rows, those of the tasks ``without`` excepted.

    ``evaluation`` and ``plan`` are those of the evaluation in rows, ``positions`` has the planned ones by instance.
    """
    grades, journals, governed = _grades(trial, unreadable), Journals(), trial.arm is not ArmName.BASE
    for name, result in _results(trial, unreadable).items():
        if name in without:
            continue
        patterns = [f"{RECORDED}/*", *(pattern for one in evaluated() for pattern in one.records)]
        files = sorted({file for pattern in patterns for file in (trial.folder / name).glob(pattern)})
        if not files:
            unreadable.append(f"{trial.folder / name}: found no recorded run in it")
        for file in files:
            try:
                data = file.read_bytes()
                run = read(str(file), data)
            except (OSError, UnreadableRun) as error:
                unreadable.append(_with_path(error, file))
                continue
            journal = journals.of(str(file), data, unreadable)
            row = measure(run, journal, prices, governed=Policy() if governed else None)
            beside = _subagents(trial.folder / name, prices, unreadable, read)
            row = with_subagents(row, beside, governed=governed)
            placed = _placed(row, trial, recorded.plan, result, grades)
            yield run, replace(placed, evaluation=evaluation, plan=plan, position=positions.get(name))


def _subagents(folder: Path, prices: Prices, unreadable: list[str], read: Read) -> Iterator[RunRow]:
    """Yield the rows of the sub-agents' sessions in a task's folder; unreadable ones are noted."""
    for file in sorted((folder / SUBAGENTS).glob("*")):
        try:
            yield measure(read(str(file), file.read_bytes()), None, prices)
        except (OSError, UnreadableRun) as error:
            unreadable.append(_with_path(error, file))


def _results(trial: Trial, unreadable: list[str]) -> dict[str, TaskResult]:
    """Return the results of an arm and trial; files and folders that can't be read are noted."""
    try:
        results = trial.results()
        folders = sorted(trial.folder.iterdir()) if trial.folder.is_dir() else []
    except OSError as error:
        unreadable.append(_with_path(error, trial.folder))
        return {}
    for folder in folders:
        if folder.name not in results and not folder.name.startswith("."):
            unreadable += _closed(folder)
    return results


def _closed(folder: Path) -> Iterator[str]:
    """Yield why a folder or a file in it can't be read: the task may be finished all the same."""
    try:
        with os.scandir(folder) if os.path.isdir(folder) else nullcontext(()) as entries:
            for path in sorted(entry.path for entry in entries if entry.is_file()):
                with open(path, "rb"):
                    pass
    except OSError as error:
        yield _with_path(error, folder)


def _with_path(error: Exception, path: Path) -> str:
    """Return the reason of an error behind the path that it names."""
    return f"{error.filename or path}: {reason(error)}" if isinstance(error, OSError) else str(error)


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
