"""The output folder of an evaluation: what is where, which plan it belongs to, and who may write to it.

    plan.json                      the plan, its digest, the versions of everything that matters, and the seed
    dataset/SPLIT.jsonl            the tasks
    ARM/TRIAL/INSTANCE/            one finished task: its trajectory or rollout
    ARM/TRIAL/journals/            Ledger's journals
    ARM/TRIAL/preds.json           the repairs, as graders take them
    ARM/TRIAL/resolved.json        the grades
    ARM/TRIAL/logs/                what the agent's program printed
    ARM/TRIAL/.work/               what is under way

A task's folder comes into its place by one rename, when the task is finished: what is there is whole, and stays.
"""

from __future__ import annotations

import fcntl
import json
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from execledger.agents.evaluation import Result, store, stored, write_whole
from execledger.agents.registry import evaluated
from execledger.errors import LedgerError, reason
from execledger.evaluate.plan import ArmName, Cache, Plan, difference
from execledger.evaluate.run_journals import JOURNALS
from execledger.journal.folder import make_folder

PREDICTIONS = "preds.json"
"""The file that graders read."""


def finished(folder: Path) -> Result | None:
    """The result of a task, stored or in the agent's own files; None if the task is not finished."""
    found = (one.part("batch").finished(folder) for one in evaluated())
    return stored(folder) or next((result for result in found if result is not None), None)


def write_predictions(folder: Path, results: Iterable[Result]) -> None:
    """Write the predictions of these results, in the form that SWE-bench reads."""
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
"""The file that makes a folder the output of an evaluation."""


class Recorded(Struct, frozen=True, kw_only=True):
    """What ``plan.json`` holds."""

    plan: Plan
    """The plan, as it was given when the work began."""
    digest: str
    """Its digest."""
    versions: tuple[dict[str, str], ...]
    """The versions that results came about with; more than one set only where the user asked for that."""
    seed: int | None = None
    """What the order of the arms is drawn from; None in evaluations from before arms were rotated."""
    salt: str = ""
    """Drawn once: what tells the prompts of this evaluation from those of any other."""

    @property
    def isolated(self) -> bool:
        """No run finds in the provider's cache what another one has sent."""
        return self.plan.cache is Cache.ISOLATED and self.seed is not None


class Trial(NamedTuple):
    """The folder of one arm and trial."""

    folder: Path
    """Where it is."""
    arm: ArmName
    """The arm."""
    number: int
    """Which trial, from 1."""

    @property
    def journals(self) -> Path:
        """Where Ledger's journals go."""
        return self.folder / JOURNALS

    @property
    def name(self) -> str:
        """The arm and the trial in one word."""
        return f"{self.arm}-{self.number}"

    def work(self, job: str) -> Path:
        """Where a job works."""
        return self.folder / ".work" / job

    def log(self, job: str) -> Path:
        """Where what a job's program prints is kept."""
        path = self.folder / "logs" / f"{job}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def results(self) -> dict[str, Result]:
        """The finished tasks."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        found = (finished(folder) for folder in folders if not folder.name.startswith("."))
        return {result.instance_id: result for result in found if result is not None}

    def adopt(self, work: Path) -> list[Result]:
        """Move what a job has finished to its place, and remove the rest; the job must have ended."""
        adopted = []
        for folder in sorted(work.iterdir()) if work.is_dir() else []:
            if folder.is_dir() and (result := finished(folder)) is not None:
                store(folder, result)
                folder.rename(self.folder / folder.name)
                adopted.append(result)
        shutil.rmtree(work, ignore_errors=True)
        if adopted:
            write_predictions(self.folder, self.results().values())
        return adopted

    def take_back(self, ended: str) -> int:
        """Put the tasks that ended in this way aside, so that they are run again; how many there were."""
        back = [result for result in self.results().values() if result.ended == ended]
        for result in back:
            aside = self.folder / ".replaced"
            aside.mkdir(exist_ok=True)
            (self.folder / result.instance_id).rename(aside / f"{result.instance_id}-{len([*aside.iterdir()])}")
        if back:
            write_predictions(self.folder, self.results().values())
        return len(back)


class Study(NamedTuple):
    """An evaluation's output folder."""

    root: Path
    """Where it is."""

    @property
    def dataset(self) -> Path:
        """Where the tasks are kept."""
        return self.root / "dataset"

    @property
    def scratch(self) -> Path:
        """For what lives as long as one run of a task; its names say nothing of the arm, since agents see them."""
        return self.root / ".scratch"

    def recorded(self) -> Recorded | None:
        """The plan that this folder belongs to; None if it belongs to none yet."""
        path = self.root / PLAN
        try:
            return msgspec.json.decode(path.read_bytes(), type=Recorded)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            place = self.root if isinstance(error, NotADirectoryError) else path
            raise LedgerError(f"{place}: expected the plan of an evaluation: {reason(error)}") from error

    def claim(self, plan: Plan, versions: dict[str, str], *, mixed: bool = False) -> None:
        """Make this the folder of a plan; another plan, or other versions unless ``mixed``, are refused."""
        record = self.admit(plan, versions, mixed=mixed)
        make_folder(self.root)
        write_whole(self.root / PLAN, msgspec.json.format(msgspec.json.encode(record)))

    def admit(self, plan: Plan, versions: dict[str, str], *, mixed: bool = False) -> Recorded:
        """What ``plan.json`` is to hold; refuses what ``claim`` does, and writes nothing."""
        before = self.recorded()
        if before is None:
            seed = secrets.randbits(32) if plan.seed is None else plan.seed
            return Recorded(plan=plan, digest=plan.digest(), versions=(versions,), seed=seed, salt=secrets.token_hex(8))
        self._refuse_other(before, plan)
        if versions in before.versions:
            return before
        if not mixed:
            hint = "--mixed goes on all the same and records both; a new folder keeps them apart"
            raise LedgerError(f"{self.root}: other versions: {difference(before.versions[-1], versions)}", hint=hint)
        return msgspec.structs.replace(before, versions=(*before.versions, versions))

    def _refuse_other(self, before: Recorded, plan: Plan) -> None:
        if before.seed is None:
            hint = "it can still be graded and reported; give another folder to run it anew"
            raise LedgerError(f"{self.root}: was begun when arms shared the provider's cache in one order", hint=hint)
        if before.digest == plan.digest():
            return
        # A digest of another version of ours may differ although the values do not.
        told = difference(before.plan.matters(), plan.matters()) or "the digest is another"
        hint = "go on with the same plan, or give another folder"
        raise LedgerError(f"{self.root}: belongs to another plan: {told}", hint=hint)

    def trial(self, arm: ArmName, number: int) -> Trial:
        """The folder of an arm and trial."""
        return Trial(self.root / arm / str(number), arm, number)

    def trials(self, plan: Plan) -> Iterator[Trial]:
        """Every arm and trial of a plan, trial by trial."""
        for number in range(1, plan.trials + 1):
            for arm in plan.arms:
                yield self.trial(arm, number)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only one that carries the evaluation out."""
        make_folder(self.root)
        with (self.root / ".lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LedgerError(f"{self.root}: another `execledger eval run` is at work there") from None
            yield
