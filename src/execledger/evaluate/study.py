"""The output folder of an evaluation: its layout, the plan that it belongs to, and its lock.

    plan.json                      the plan, its digest, the versions of everything that may change a result, the seed
    dataset/SPLIT.jsonl            the tasks
    ARM/TRIAL/INSTANCE/            a finished task: its trajectory or rollout
    ARM/TRIAL/journals/            Ledger's journals
    ARM/TRIAL/preds.json           the repairs, in the format of SWE-bench
    ARM/TRIAL/resolved.json        the grades
    ARM/TRIAL/logs/                what the agent's program printed
    ARM/TRIAL/.work/               work folders of running jobs

The folder of a finished task is moved into place by one rename, so it is always complete.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from execledger.agents.evaluation import JOURNALS, Instance, TaskResult, store, stored, write_whole
from execledger.agents.registry import evaluated
from execledger.errors import LedgerError, reason
from execledger.evaluate.plan import ArmName, Cache, Plan, difference
from execledger.journal.folder import make_folder

PREDICTIONS = "preds.json"
"""File with the repairs, in the format of SWE-bench."""


UNFINISHED = ".unfinished"
"""Suffix of the file, beside the logs of jobs, that says why a task is not finished."""


def finished(folder: Path) -> TaskResult | None:
    """Return the result of a task, stored or from the agent's own files; None if the task is not finished."""
    found = (one.part("batch").finished(folder) for one in evaluated())
    return stored(folder) or next((result for result in found if result is not None), None)


def write_predictions(folder: Path, results: Iterable[TaskResult]) -> None:
    """Write the repairs of these results in the format of SWE-bench."""
    predictions = {
        one.instance_id: {
            "model_name_or_path": one.model_name_or_path,
            "instance_id": one.instance_id,
            "model_patch": one.model_patch,
        }
        for one in sorted(results, key=lambda result: result.instance_id)
    }
    write_whole(folder / PREDICTIONS, json.dumps(predictions, indent=2).encode())


PLAN = "plan.json"
"""File that marks a folder as the output of an evaluation."""


SELECTION = ("instances", "slice", "arms", "trials", "seed")
"""Keys of a plan that choose runs and their order, and change nothing in a run."""


class StudyRecord(Struct, frozen=True, kw_only=True):
    """Content of ``plan.json``."""

    plan: Plan
    """The plan, as it was given when the evaluation began."""
    digest: str
    """Digest of the plan."""
    versions: tuple[dict[str, str], ...]
    """Versions that results were made with; several sets only after ``--mixed``."""
    seed: int | None = None
    """Seed of the order of the arms; None in evaluations from before arms were rotated."""
    salt: str = ""
    """Random identifier of the evaluation, for the salts of prompts."""

    @property
    def isolated(self) -> bool:
        """Whether runs are isolated from each other in the provider's prompt cache."""
        return self.plan.cache is Cache.ISOLATED and self.seed is not None

    def matters(self) -> dict[str, Any]:
        """Return the values of the plan and the versions that may change a run, whatever else the evaluation has run.

        Several versions, as after ``--mixed``, are one value.
        """
        kept = {name: value for name, value in self.plan.matters().items() if name not in (*SELECTION, "settings")}
        settings = {f"settings.{name}": value for name, value in sorted(self.plan.dotted().items())}
        names = sorted({name for one in self.versions for name in one})
        versions = {name: " or ".join(sorted({one.get(name, "none") for one in self.versions})) for name in names}
        return kept | {"cache": Cache.ISOLATED if self.isolated else Cache.SHARED} | settings | versions


class Trial(NamedTuple):
    """The folder of one arm and trial."""

    folder: Path
    """Path of the folder."""
    arm: ArmName
    """The arm."""
    number: int
    """Number of the trial, from 1."""

    @property
    def journals(self) -> Path:
        """Folder for Ledger's journals."""
        return self.folder / JOURNALS

    @property
    def name(self) -> str:
        """Name of the arm and trial, such as ``base-1``."""
        return f"{self.arm}-{self.number}"

    def work(self, job: str) -> Path:
        """Return the work folder of a job."""
        return self.folder / ".work" / job

    def log(self, job: str) -> Path:
        """Return the file for the output of a job's program; its folder is created."""
        path = self.folder / "logs" / f"{job}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def note_trouble(self, task: str, trouble: str) -> None:
        """Store why a task is not finished, for reports; "" if it is, or if that is not known."""
        path = self.log(task).with_suffix(UNFINISHED)
        if trouble:
            path.write_text(trouble + "\n", encoding="utf-8")
        else:
            path.unlink(missing_ok=True)

    def troubles(self) -> dict[str, str]:
        """Return, by name, why tasks were not finished by their last attempt, finished or not since then."""
        found = {}
        # A file that can't be read is skipped, and the report is made without it.
        with suppress(OSError):
            for file in sorted((self.folder / "logs").glob(f"*{UNFINISHED}")):
                name = file.name.removesuffix(UNFINISHED)
                found[name] = file.read_text(encoding="utf-8", errors="replace").strip()
        return found

    def results(self) -> dict[str, TaskResult]:
        """Return the results of finished tasks by name."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        found = (finished(folder) for folder in folders if not folder.name.startswith("."))
        return {result.instance_id: result for result in found if result is not None}

    def adopt(self, work: Path) -> list[TaskResult]:
        """Move the finished tasks of a job into place, remove its work folder, and return the results.

        The job must have ended. The work folder is removed last: if a call is killed before that, the next one repeats
        what is missing, also where all tasks are in place already and only the predictions lack them.
        """
        adopted = []
        for folder in sorted(work.iterdir()) if work.is_dir() else []:
            if folder.is_dir() and (result := finished(folder)) is not None:
                store(folder, result)
                folder.rename(self.folder / folder.name)
                adopted.append(result)
        if results := self.results():
            write_predictions(self.folder, results.values())
        shutil.rmtree(work, ignore_errors=True)
        return adopted

    def take_back(self, ended: str) -> int:
        """Move tasks that ended with this status aside, so that they are run again, and return their number."""
        back = [result for result in self.results().values() if result.ended == ended]
        for result in back:
            aside = self.folder / ".replaced"
            aside.mkdir(exist_ok=True)
            (self.folder / result.instance_id).rename(aside / f"{result.instance_id}-{len([*aside.iterdir()])}")
        if back:
            write_predictions(self.folder, self.results().values())
        return len(back)


class Study(NamedTuple):
    """The output folder of an evaluation."""

    root: Path
    """Path of the folder."""

    @property
    def dataset(self) -> Path:
        """Folder of the frozen dataset."""
        return self.root / "dataset"

    @property
    def scratch(self) -> Path:
        """Folder for the temporary files of running tasks; its path does not name the arm, since agents see it."""
        return self.root / ".scratch"

    def recorded(self) -> StudyRecord | None:
        """Return the record of the plan that this folder belongs to; None if it belongs to none yet."""
        path = self.root / PLAN
        try:
            fields = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
            if isinstance(fields.get("plan"), dict):
                fields["plan"] = msgspec.to_builtins(Plan.recorded(fields["plan"], str(path)))
            return msgspec.convert(fields, StudyRecord)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            place = self.root if isinstance(error, NotADirectoryError) else path
            raise LedgerError(f"{place}: expected the plan of an evaluation: {reason(error)}") from error

    def claim(self, plan: Plan, versions: dict[str, str], *, mixed: bool = False) -> None:
        """Write the record of a plan; another plan, or other versions unless ``mixed``, are refused."""
        record = self.admit(plan, versions, mixed=mixed)
        make_folder(self.root)
        fields = msgspec.to_builtins(record) | {"plan": record.plan.values()}
        write_whole(self.root / PLAN, msgspec.json.format(msgspec.json.encode(fields)))

    def admit(self, plan: Plan, versions: dict[str, str], *, mixed: bool = False) -> StudyRecord:
        """Return the record that ``claim`` would write; refuses what it refuses, and writes nothing."""
        before = self.recorded()
        if before is None:
            seed = secrets.randbits(32) if plan.seed is None else plan.seed
            return StudyRecord(
                plan=plan, digest=plan.digest(), versions=(versions,), seed=seed, salt=secrets.token_hex(8)
            )
        self._refuse_other(before, plan)
        if versions in before.versions:
            return before
        if not mixed:
            hint = "--mixed goes on all the same and records both; a new folder keeps them apart"
            raise LedgerError(f"{self.root}: other versions: {difference(before.versions[-1], versions)}", hint=hint)
        return msgspec.structs.replace(before, versions=(*before.versions, versions))

    def _refuse_other(self, before: StudyRecord, plan: Plan) -> None:
        if before.seed is None:
            hint = "it can still be graded and reported; give another folder to run it anew"
            raise LedgerError(f"{self.root}: was begun when arms shared the provider's cache in one order", hint=hint)
        if before.digest == plan.digest():
            return
        # The digest may differ although the values are equal, if another version of Ledger made it.
        told = difference(before.plan.matters(), plan.matters()) or "the digest is another"
        hint = "go on with the same plan, or give another folder"
        raise LedgerError(f"{self.root}: belongs to another plan: {told}", hint=hint)

    def trial(self, arm: ArmName, number: int) -> Trial:
        """Return the folder of an arm and trial."""
        return Trial(self.root / arm / str(number), arm, number)

    def trials(self, plan: Plan) -> Iterator[Trial]:
        """Yield every arm and trial of a plan, trial by trial."""
        for number in range(1, plan.trials + 1):
            for arm in plan.arms:
                yield self.trial(arm, number)

    def unfinished(self, plan: Plan, tasks: Iterable[Instance], again: Sequence[str] = ()) -> list[Instance]:
        """Return the tasks that lack a result in some arm and trial; one that ended with ``again`` counts as none."""
        done = [
            {name for name, result in trial.results().items() if result.ended not in again}
            for trial in self.trials(plan)
        ]
        return [task for task in tasks if not all(task.instance_id in names for names in done)]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of the evaluation; raises ``LedgerError`` if another process holds it.

        Folders that were made for the lock are removed again if nothing else was stored.
        """
        path = self.root / ".lock"
        made = [folder for folder in (self.root, *self.root.parents) if not folder.exists()]
        make_folder(self.root)
        with path.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Another process may have removed the file before it was locked here.
                taken = path.stat().st_ino != os.fstat(file.fileno()).st_ino
            except (BlockingIOError, FileNotFoundError):
                taken = True
            if taken:
                raise LedgerError(f"{self.root}: another `execledger eval run` is at work there")
            try:
                yield
            finally:
                with suppress(OSError):
                    if [one.name for one in self.root.iterdir()] == [path.name]:
                        path.unlink()
                        for folder in made:
                            folder.rmdir()
