"""Carries a plan out: finds what is not finished, has it run, and puts what was finished in its place.

It may be killed at any moment and started again. A task that is finished is never run again; one that was under way is
begun anew. The first Ctrl-C lets whatever runs come to its end, and begins nothing else; the second ends it.
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
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from execledger import __version__
from execledger.agents import processes
from execledger.agents.evaluation import Batch, Result, Runner, Setup, held
from execledger.agents.programs import find_program
from execledger.errors import LedgerError
from execledger.evaluate.dataset import read_instances
from execledger.evaluate.plan import SWITCHES, ArmName, EngineName, Plan
from execledger.evaluate.study import Study, Trial
from execledger.extras import needing

_Arm = TypeVar("_Arm")
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")
Tell: TypeAlias = Callable[[str], None]
"""How the user is told something."""
BARREN = 3
"""After so many different jobs of an arm in a row that finished nothing no more are begun: it is not their tasks."""
DIGITS = 18
"""Digits of a salt."""
ATTEMPTS = 5
"""How often Ray gives a job to another worker when the one at work has died."""


def carry_out(study: Study, plan: Plan, program: str, names: Sequence[str], cwd: Path, tell: Tell) -> Course:
    """Run whatever is not finished; the caller has the folder to itself."""
    runner, setup = runner_of(plan), setup_of(plan, program, cwd)
    salvage(study, plan, tell)
    runner.clear(setup, study.scratch)
    recorded = study.recorded()
    assert recorded is not None and recorded.seed is not None, "the folder was claimed for this plan"
    salted = None
    if recorded.isolated and plan.record.isolation == "salt":
        salted = Salted(study=recorded.salt, template=runner.system_template(setup))
    jobs = remaining_jobs(study, plan, program, names, cwd, seed=recorded.seed, salted=salted)
    course = Course(total=len(names) * len(plan.arms) * plan.trials)
    before = [result for trial in study.trials(plan) for result in trial.results().values()]
    with Bar(course.total, before) as bar, stoppable(course, tell):
        for outcome in engine_of(plan).map(work, course.hand_out(jobs)):
            adopted = outcome.job.place.adopt(outcome.job.work)
            bar.add(adopted)
            course.note(outcome, fruitful=bool(adopted))
    runner.clear(setup, study.scratch)
    course.done, course.spent = bar.done, bar.spent
    course.ends.update(result.ended for trial in study.trials(plan) for result in trial.results().values())
    return course


class Course(Struct, kw_only=True):
    """How it goes, and in the end how it went."""

    total: int
    """Tasks in all arms and trials."""
    done: int = 0
    """Those that are finished."""
    spent: str = ""
    """What they cost, in words."""
    ends: Counter[str] = field(default_factory=Counter)
    """How many ended in which way, in the agent's own words."""
    troubles: list[str] = []
    """Jobs that did not finish all their tasks, and why."""
    barren: dict[str, set[str]] = {}
    """The latest jobs of each arm that finished nothing."""
    stopped: str = ""
    """Why no more jobs are begun; empty as long as they are."""

    def hand_out(self, jobs: Sequence[Job]) -> Iterator[Job]:
        """The jobs, one by one, until there is a reason to stop."""
        for job in jobs:
            if self.stopped:
                return
            yield job

    def note(self, outcome: Outcome, *, fruitful: bool) -> None:
        """Keep what went wrong with a job."""
        job = outcome.job
        if outcome.trouble:
            self.troubles.append(f"{job.place.name}, {job.name}: {outcome.trouble}")
        before = self.barren.get(job.arm, set())
        self.barren[job.arm] = set() if fruitful else before | {job.name}
        if len(self.barren[job.arm]) == BARREN:
            self.stopped = f"{BARREN} jobs of the arm {job.arm} in a row finished nothing"


def salvage(study: Study, plan: Plan, tell: Tell) -> None:
    """Put what an earlier call left in its place; what still runs, on another machine for one, is waited for."""
    for trial in study.trials(plan):
        for folder in sorted((trial.folder / ".work").glob("*")):
            tell(f"{trial.name}, {folder.name}: taking over what an earlier call left")
            with held(folder):
                trial.adopt(folder)


@contextmanager
def stoppable(course: Course, tell: Tell) -> Iterator[None]:
    """Heed Ctrl-C: once, and what runs is finished; twice, and it is ended."""

    def heed(number: int, frame: FrameType | None) -> None:
        if course.stopped:
            processes.kill()
            raise KeyboardInterrupt
        course.stopped = "stopped by Ctrl-C"
        tell("stopping: what runs is finished first, and the same command goes on from there; Ctrl-C again ends it now")
        processes.interrupt()

    processes.stopping.clear()
    before = signal.signal(signal.SIGINT, heed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def remaining_jobs(
    study: Study,
    plan: Plan,
    program: str,
    names: Sequence[str],
    cwd: Path,
    *,
    seed: int,
    salted: Salted | None = None,
) -> list[Job]:
    """The jobs for whatever is not finished: trial by trial, and within one all arms together, in rotated order.

    So an evaluation that is stopped early has its arms side by side, and all of them see the same moods of a provider.
    An instance has its place in the rotation whether or not others are finished, so that going on changes no order.
    """
    jobs = []
    done = {(trial.arm, trial.number): trial.results() for trial in study.trials(plan)}
    for number in range(1, plan.trials + 1):
        for row, first in enumerate(range(0, len(names), plan.batch)):
            for arm in rotated(plan.arms, seed, row, number):
                tasks = tuple(name for name in names[first : first + plan.batch] if name not in done[arm, number])
                job = Job(
                    plan=plan,
                    program=program,
                    root=study.root,
                    cwd=cwd,
                    arm=arm,
                    trial=number,
                    instances=tasks,
                    salted=salted,
                )
                jobs += [job] if tasks else []
    return jobs


def rotated(arms: Sequence[_Arm], seed: int, row: int, trial: int) -> tuple[_Arm, ...]:
    """The order of the arms for one row of instances and one trial (from 1): a row of a seeded Latin square.

    A later run may profit from an earlier one, by a warm cache or a provider's quiet hour. In a Latin square every arm
    has every position equally often, so that no arm profits more than another.
    Of as many rows as there are arms, from a multiple of that number on, each arm has each position once; so it has in
    as many trials of one row.
    """
    number = len(arms)
    symbols = random.Random(f"arms {seed}").sample(arms, number)
    block, within = divmod(row, number)
    shifts = random.Random(f"rows {seed} {block}").sample(range(number), number)
    first = (shifts[within] + trial - 1) % number
    return (*symbols[first:], *symbols[:first])


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


class Engine(Protocol):
    """Carries jobs out."""

    def map(self, work: Callable[[_Job], _Result], jobs: Iterable[_Job]) -> Iterator[_Result]:
        """The result of ``work`` for each job, as they finish."""
        ...


class Local:
    """Workers on this machine: threads, since all that they do is wait for processes of the agent."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def map(self, work: Callable[[_Job], _Result], jobs: Iterable[_Job]) -> Iterator[_Result]:
        """The result of ``work`` for each job, as they finish."""
        waiting = iter(jobs)
        with ThreadPoolExecutor(self._workers) as pool:
            running: set[Future[_Result]] = {pool.submit(work, job) for job in islice(waiting, self._workers)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                running |= {pool.submit(work, job) for job in islice(waiting, len(done))}


class Ray:
    """Workers of a Ray cluster; its machines share the output folder, and have the agent and its keys."""

    def __init__(self, workers: int, address: str = "") -> None:
        self._workers, self._address = workers, address

    def map(self, work: Callable[[_Job], _Result], jobs: Iterable[_Job]) -> Iterator[_Result]:
        """The result of ``work`` for each job, as they finish; a job whose worker died is run again by another one."""
        ray = _ray()
        # A cluster of our own has as many places as we have workers; agents mostly wait, so a place is no processor.
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
    """The engine that a plan asks for."""
    return Ray(plan.workers, plan.address) if plan.engine is EngineName.RAY else Local(plan.workers)


def _ray() -> Any:
    with needing("ray"):
        import ray
    return ray


class Bar:
    """The bar, and what it counts."""

    def __init__(self, total: int, done: Iterable[Result], console: Console | None = None) -> None:
        self.total = total
        """How many tasks there are, in all arms and trials."""
        self.done = 0
        """How many of them are finished."""
        self.cost = 0.0
        """What these cost, where it is known."""
        self.priced = False
        """Something is known about it."""
        console = console or Console(stderr=True)
        columns = (
            TextColumn("evaluating"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[spent]}"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            # Tasks take minutes: the speed is that of a long stretch.
            TimeRemainingColumn(),
        )
        self._progress = Progress(
            *columns, console=console, disable=not console.is_terminal, speed_estimate_period=3600
        )
        self._bar = self._progress.add_task("", total=total, spent="")
        self.add(done)

    def add(self, results: Iterable[Result]) -> None:
        """Count results."""
        for result in results:
            self.done += 1
            if result.cost is not None:
                self.cost, self.priced = self.cost + result.cost, True
        self._progress.update(self._bar, completed=self.done, spent=self.spent)

    @property
    def spent(self) -> str:
        """The cost so far, in words."""
        return f"${self.cost:,.2f}" if self.priced else "cost unknown"

    def __enter__(self) -> Bar:
        """Show it."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it as it stands."""
        self._progress.stop()
