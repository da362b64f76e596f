"""Runs the plan of an evaluation: schedules jobs for unfinished tasks, runs them on an engine, and stores results.

It may be killed at any moment and started again: a finished task is never run again, and an unfinished one is started
over. After the first Ctrl-C running jobs are finished and no others are started; the second Ctrl-C kills them.
"""

from __future__ import annotations

import hashlib
import json
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from execledger.agents import processes
from execledger.agents.evaluation import Batch, Runner, Setup, TaskResult, held
from execledger.agents.programs import find_program
from execledger.errors import LedgerError
from execledger.evaluate.dataset import read_instances
from execledger.evaluate.plan import SWITCHES, ArmName, EngineName, Plan
from execledger.evaluate.study import Study, StudyRecord, Trial
from execledger.extras import needing
from execledger.version import __version__

_Arm = TypeVar("_Arm")
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")
Tell: TypeAlias = Callable[[str], None]
"""Prints a sentence for the user."""
MAX_FRUITLESS = 3
"""Number of consecutive jobs of an arm without a finished task after which the experiment stops."""
DIGITS = 18
"""Digits of a salt."""
ATTEMPTS = 5
"""Number of times that Ray restarts a job whose worker died."""


def run_experiment(study: Study, plan: Plan, program: str, names: Sequence[str], cwd: Path, tell: Tell) -> Progress:
    """Run all unfinished tasks of a plan and return the outcome; the caller holds the lock of the study."""
    runner, setup = runner_of(plan), setup_of(plan, program, cwd)
    adopt_leftovers(study, plan, tell)
    runner.clear(setup, study.scratch)
    recorded = study.recorded()
    assert recorded is not None, "the folder was claimed for this plan"
    salted = None
    if recorded.isolated and plan.record.isolation != "cache key":
        salted = Salted(study=recorded.salt, template=runner.system_template(setup))
    jobs = remaining_jobs(study, recorded, plan, program, names, cwd, salted=salted)
    progress = Progress(total=len(names) * len(plan.arms) * plan.trials)
    before = [result for trial in study.trials(plan) for result in trial.results().values()]
    with ProgressBar(progress.total, before) as bar, interruptible(progress, tell):
        for outcome in engine_of(plan).map(work, progress.until_stopped(jobs)):
            adopted = outcome.job.place.adopt(outcome.job.work)
            bar.add(adopted)
            progress.add(outcome, fruitful=bool(adopted))
            for name in outcome.job.instances:
                outcome.job.place.note_trouble(name, outcome.troubles.get(name, ""))
    runner.clear(setup, study.scratch)
    progress.done, progress.spent = bar.done, bar.spent
    for trial in study.trials(plan):
        for result in trial.results().values():
            progress.ends[result.ended] += 1
            if result.failure:
                progress.failures.append(f"{trial.name}, {result.instance_id}: {result.failure}")
    return progress


class Progress(Struct, kw_only=True):
    """Progress of an experiment, and in the end its outcome."""

    total: int
    """Number of runs: tasks times arms times trials."""
    done: int = 0
    """Number of finished runs."""
    spent: str = ""
    """Cost of the finished runs, in words."""
    ends: Counter[str] = field(default_factory=Counter)
    """Number of finished runs by the agent's exit status."""
    troubles: list[str] = []
    """Unfinished tasks of jobs, with the reason."""
    failures: list[str] = []
    """Finished runs that were ended by a failure and not by the agent, with the reason."""
    fruitless: dict[str, set[str]] = {}
    """By arm, the latest consecutive jobs that finished no task."""
    stopped: str = ""
    """Reason why no more jobs are started; empty while they are."""

    def until_stopped(self, jobs: Sequence[Job]) -> Iterator[Job]:
        """Yield the jobs one by one until there is a reason to stop."""
        for job in jobs:
            if self.stopped:
                return
            yield job

    def add(self, outcome: Outcome, *, fruitful: bool) -> None:
        """Record the outcome of a job; ``fruitful`` if it finished a task."""
        job = outcome.job
        self.troubles += [f"{job.place.name}, {name}: {trouble}" for name, trouble in outcome.troubles.items()]
        before = self.fruitless.get(job.arm, set())
        self.fruitless[job.arm] = set() if fruitful else before | {job.name}
        if len(self.fruitless[job.arm]) == MAX_FRUITLESS:
            self.stopped = f"{MAX_FRUITLESS} jobs of the arm {job.arm} in a row finished nothing"


def adopt_leftovers(study: Study, plan: Plan, tell: Tell) -> None:
    """Store results that a killed process left in work folders; waits for jobs that still run, as on other machines."""
    for trial in study.trials(plan):
        for folder in sorted((trial.folder / ".work").glob("*")):
            tell(f"{trial.name}, {folder.name}: taking over what an earlier call left")
            with held(folder):
                trial.adopt(folder)


@contextmanager
def interruptible(progress: Progress, tell: Tell) -> Iterator[None]:
    """Handle SIGINT: the first one lets running jobs finish and starts no others, the second kills them."""

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if progress.stopped:
            processes.kill()
            raise KeyboardInterrupt
        progress.stopped = "stopped by Ctrl-C"
        tell("stopping: what runs is finished first, and the same command goes on from there; Ctrl-C again ends it now")
        processes.interrupt()

    processes.stopping.clear()
    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def remaining_jobs(
    study: Study,
    recorded: StudyRecord,
    plan: Plan,
    program: str,
    names: Sequence[str],
    cwd: Path,
    *,
    salted: Salted | None = None,
) -> list[Job]:
    """Return the jobs for unfinished tasks: trial by trial, and in each trial all arms of a row in rotated order.

    So an evaluation that is stopped early has the same tasks in all arms, which saw the provider at similar times. The
    order of a row does not depend on what is finished, so continuing an evaluation does not change it. Rows are as long
    as ``batch`` of the recorded plan; with another ``batch`` in the plan of a later call they have shorter jobs.
    """
    assert recorded.seed is not None, "an evaluation without a seed is not continued"
    jobs, row_size = [], recorded.plan.batch
    done = {(trial.arm, trial.number): trial.results() for trial in study.trials(plan)}
    for number in range(1, plan.trials + 1):
        for row, first in enumerate(range(0, len(names), row_size)):
            for arm in arm_order(plan.arms, recorded.seed, row, number):
                tasks = tuple(name for name in names[first : first + row_size] if name not in done[arm, number])
                jobs += [
                    Job(
                        plan=plan,
                        program=program,
                        root=study.root,
                        cwd=cwd,
                        arm=arm,
                        trial=number,
                        instances=tasks[at : at + plan.batch],
                        salted=salted,
                    )
                    for at in range(0, len(tasks), plan.batch)
                ]
    return jobs


def arm_order(arms: Sequence[_Arm], seed: int, row: int, trial: int) -> tuple[_Arm, ...]:
    """Return the order of the arms for one row of instances and one trial (from 1): a row of a seeded Latin square.

    A later run may profit from an earlier one, such as by a warm cache. In a Latin square every arm has every position
    equally often, so that no arm profits more than another: once in each block of as many rows as there are arms, and
    once in as many trials of one row.
    """
    number = len(arms)
    symbols = random.Random(f"arms {seed}").sample(arms, number)
    block, within = divmod(row, number)
    shifts = random.Random(f"rows {seed} {block}").sample(range(number), number)
    first = (shifts[within] + trial - 1) % number
    return (*symbols[first:], *symbols[:first])


class Job(Struct, frozen=True, kw_only=True):
    """Some tasks of one arm and trial, for one process of the agent's runner."""

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
    """Number of the trial, from 1."""
    instances: tuple[str, ...]
    """The tasks."""
    salted: Salted | None = None
    """The salts of prompts; None where runs need none."""

    @property
    def name(self) -> str:
        """Name of the job within its arm and trial."""
        return self.instances[0]

    @property
    def place(self) -> Trial:
        """Folder of the arm and trial."""
        return Study(self.root).trial(self.arm, self.trial)

    @property
    def work(self) -> Path:
        """Work folder of the job."""
        return self.place.work(self.name)

    def batch(self) -> Batch:
        """Return the input of the agent's runner."""
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
        """Return the command that starts the agent with Ledger in this arm; empty in the arm base."""
        switches = SWITCHES[self.arm]
        if switches is None:
            return ()
        run = (sys.executable, "-P", "-m", "execledger", "run", "--no-settings")
        return (*run, "--preset", self.plan.preset, *switches, "--journal", str(self.place.journals))


class Salted(Struct, frozen=True, kw_only=True):
    """Salts at the start of system prompts, which keep runs apart in the provider's prompt cache."""

    study: str
    """Random identifier of the evaluation."""
    template: str
    """The agent's system template, as it is configured."""

    def salt(self, arm: str, instance: str, trial: int) -> str:
        """Return the salt of one run: a number of ``DIGITS`` digits, different in every run."""
        named = json.dumps([self.study, arm, instance, trial]).encode()
        return f"{int(hashlib.sha256(named).hexdigest(), 16) % 10**DIGITS:0{DIGITS}}"


class Outcome(Struct, frozen=True, kw_only=True):
    """The outcome of a job; the results of the tasks that it finished are in its folder."""

    job: Job
    """The job."""
    troubles: dict[str, str] = {}
    """By name, why tasks are not finished, as far as is known."""


def work(job: Job) -> Outcome:
    """Run the tasks of a job that its folder does not hold yet: an earlier worker may have finished some."""
    return Outcome(job=job, troubles=runner_of(job.plan).work(job.batch()))


def runner_of(plan: Plan) -> Runner:
    """Return the batch runner of the plan's agent."""
    runner: Runner = plan.record.part("batch")
    return runner


def setup_of(plan: Plan, program: str, cwd: Path) -> Setup:
    """Return the part of a plan that is about the agent, for an evaluation that was started in ``cwd``."""
    return Setup(
        program=program,
        cwd=cwd,
        model=plan.model,
        reasoning_effort=plan.reasoning_effort,
        time_limit=plan.time_limit,
        settings=plan.dotted(),
        keys=plan.agent_values(),
    )


def program_of(plan: Plan) -> str:
    """Return the path of the program of the plan's agent."""
    name = plan.record.batch_program
    program = find_program(plan.program or name, plan.record.how_to_install())
    if Path(program).name != name:
        raise LedgerError(f"`program` is {plan.program}, expected a program called {name}")
    return str(Path(program).absolute())


def versions(plan: Plan, cwd: Path) -> dict[str, str]:
    """Return the versions of everything that may change a result, and digests of the user's configuration files."""
    return {"execledger": __version__, **runner_of(plan).versions(setup_of(plan, program_of(plan), cwd))}


class Engine(Protocol):
    """Runs jobs in parallel: pulls them one by one, so that it can be stopped between two."""

    def map(self, work: Callable[[_Job], _Result], jobs: Iterable[_Job]) -> Iterator[_Result]:
        """Yield the result of ``work`` for each job, in the order in which they finish."""
        ...


class LocalEngine:
    """Runs jobs on this machine, in threads that wait for the agent's processes."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def map(self, work: Callable[[_Job], _Result], jobs: Iterable[_Job]) -> Iterator[_Result]:
        """Yield the result of ``work`` for each job, in the order in which they finish."""
        waiting = iter(jobs)
        with ThreadPoolExecutor(self._workers) as pool:
            running: set[Future[_Result]] = {pool.submit(work, job) for job in islice(waiting, self._workers)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                running |= {pool.submit(work, job) for job in islice(waiting, len(done))}


class RayEngine:
    """Runs jobs on a Ray cluster; its machines share the output folder, and have the agent and its API keys."""

    def __init__(self, workers: int, address: str = "") -> None:
        self._workers, self._address = workers, address

    def map(self, work: Callable[[_Job], _Result], jobs: Iterable[_Job]) -> Iterator[_Result]:
        """Yield the result of ``work`` for each job, as they finish; a job whose worker died is run by another one."""
        ray = _ray()
        # A new cluster gets one slot per worker; agents mostly wait, so a slot is not a processor.
        own: dict[str, Any] = {"num_cpus": self._workers, "include_dashboard": False}
        ray.init(**({"address": self._address} if self._address else own), log_to_driver=False, logging_level="ERROR")
        try:
            task = ray.remote(max_retries=ATTEMPTS, num_cpus=1)(work)
            waiting = iter(jobs)
            running = [task.remote(job) for job in islice(waiting, self._workers)]
            while running:
                done, running = ray.wait(running, num_returns=1)
                for reference in done:
                    yield ray.get(reference)
                running += [task.remote(job) for job in islice(waiting, len(done))]
        finally:
            ray.shutdown()


def engine_of(plan: Plan) -> Engine:
    """Return the engine that a plan names."""
    return RayEngine(plan.workers, plan.address) if plan.engine is EngineName.RAY else LocalEngine(plan.workers)


def _ray() -> Any:
    with needing("ray"):
        import ray
    return ray


class ProgressBar:
    """Progress bar with the number of finished runs, their cost and the time left; shown on a terminal only."""

    def __init__(self, total: int, done: Iterable[TaskResult], console: Console | None = None) -> None:
        self.total = total
        """Number of runs."""
        self.done = 0
        """Number of finished runs."""
        self.cost = 0.0
        """Cost of finished runs, as far as it is known."""
        self.priced = False
        """True if the cost of any finished run is known."""
        console = console or Console(stderr=True)
        columns = (
            TextColumn("evaluating"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[spent]}"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            # Tasks take minutes, so the speed is estimated over an hour.
            TimeRemainingColumn(),
        )
        self._progress = RichProgress(
            *columns, console=console, disable=not console.is_terminal, speed_estimate_period=3600
        )
        self._bar = self._progress.add_task("", total=total, spent="")
        self.add(done)

    def add(self, results: Iterable[TaskResult]) -> None:
        """Count finished runs."""
        for result in results:
            self.done += 1
            if result.cost is not None:
                self.cost, self.priced = self.cost + result.cost, True
        self._progress.update(self._bar, completed=self.done, spent=self.spent)

    @property
    def spent(self) -> str:
        """Cost so far, in words."""
        return f"${self.cost:,.2f}" if self.priced else "cost unknown"

    def __enter__(self) -> ProgressBar:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop updating the bar."""
        self._progress.stop()
