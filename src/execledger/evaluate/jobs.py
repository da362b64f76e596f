"""Jobs of an evaluation: some tasks of one arm and trial, for one process of the agent's runner."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from msgspec import Struct

from execledger import __version__
from execledger.agents.evaluation import Batch, Runner, Setup
from execledger.agents.programs import find_program
from execledger.errors import LedgerError
from execledger.evaluate.dataset import read_instances
from execledger.evaluate.plan import SWITCHES, ArmName, Plan
from execledger.evaluate.study import Study, Trial

DIGITS = 18
"""Digits of a salt."""


class Salted(Struct, frozen=True, kw_only=True):
    """What the system prompts of the runs of an evaluation begin with."""

    study: str
    """What was drawn when the evaluation began."""
    template: str
    """The agent's system template, as it is configured."""

    def salt(self, arm: str, instance: str, trial: int) -> str:
        """The salt of one run: a number of ``DIGITS`` digits, different in every run."""
        named = json.dumps([self.study, arm, instance, trial]).encode()
        return f"{int(hashlib.sha256(named).hexdigest(), 16) % 10**DIGITS:0{DIGITS}}"


class Job(Struct, frozen=True, kw_only=True):
    """Tasks for one process of the agent."""

    plan: Plan
    """The plan."""
    program: str
    """The agent's program."""
    root: Path
    """The output folder of the evaluation."""
    cwd: Path
    """Where the evaluation was started; relative names of files in the plan start there."""
    arm: ArmName
    """The arm."""
    trial: int
    """Which trial."""
    instances: tuple[str, ...]
    """The tasks."""
    salted: Salted | None = None
    """The salts of prompts; None where runs need none."""

    @property
    def name(self) -> str:
        """Its name within its arm and trial."""
        return self.instances[0]

    @property
    def place(self) -> Trial:
        """The folder of its arm and trial."""
        return Study(self.root).trial(self.arm, self.trial)

    @property
    def work(self) -> Path:
        """The folder that it works in."""
        return self.place.work(self.name)

    def batch(self) -> Batch:
        """What the agent's runner is given."""
        study, plan = Study(self.root), self.plan
        tasks = {task.instance_id: task for task in read_instances(study.dataset / f"{plan.split}.jsonl")}
        salted = self.salted
        salts = {name: salted.salt(self.arm, name, self.trial) for name in self.instances} if salted else {}
        return Batch(
            setup=setup_of(plan, self.program, self.cwd),
            tasks=tuple(tasks[name] for name in self.instances),
            folder=self.work,
            log=self.place.log(self.name),
            scratch=study.scratch,
            shared=study.root,
            dataset=study.dataset,
            split=plan.split,
            ledger=self._ledger(),
            template=salted.template if salted else "",
            salts=salts,
        )

    def _ledger(self) -> tuple[str, ...]:
        """The command that starts the agent with Ledger in this arm; empty in the arm base."""
        switches = SWITCHES[self.arm]
        if switches is None:
            return ()
        run = (sys.executable, "-P", "-m", "execledger", "run")
        return (*run, "--preset", self.plan.preset, *switches, "--journal", str(self.place.journals))


class Outcome(Struct, frozen=True, kw_only=True):
    """The outcome of a job; the results of the tasks that it finished are in its folder."""

    job: Job
    """The job."""
    trouble: str = ""
    """Why some of its tasks are not finished, as far as is known."""


def work(job: Job) -> Outcome:
    """Run the tasks of a job that its folder does not hold yet: an earlier worker may have finished some."""
    return Outcome(job=job, trouble=runner_of(job.plan).work(job.batch()))


def runner_of(plan: Plan) -> Runner:
    """The batch runner of the plan's agent."""
    runner: Runner = plan.record.part("batch")
    return runner


def setup_of(plan: Plan, program: str, cwd: Path) -> Setup:
    """The part of a plan that is about the agent, for a plan that is carried out from ``cwd``."""
    return Setup(
        program=program,
        cwd=cwd,
        model=plan.model,
        reasoning_effort=plan.reasoning_effort,
        time_limit=plan.time_limit,
        settings=plan.dotted(),
        keys={key: getattr(plan, key) for key in plan.record.plan_keys},
    )


def program_of(plan: Plan) -> str:
    """The program of the plan's agent."""
    name = plan.record.batch_program
    program = find_program(plan.program or name, plan.record.how_to_install())
    if Path(program).name != name:
        raise LedgerError(f"`program` is {plan.program}, expected a program called {name}")
    return str(Path(program).absolute())


def versions(plan: Plan, cwd: Path) -> dict[str, str]:
    """The versions that matter to a plan that is carried out from ``cwd``; of the user's files, a digest."""
    return {"execledger": __version__, **runner_of(plan).versions(setup_of(plan, program_of(plan), cwd))}
