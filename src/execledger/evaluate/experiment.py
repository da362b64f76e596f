"""Carries a plan out: finds what is not finished, has it run, and puts what was finished in its place.

It may be killed at any moment and started again. A task that is finished is never run again; one that was under way is
begun anew. The first Ctrl-C lets whatever runs come to its end, and begins nothing else; the second ends it.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from msgspec import Struct, field

from execledger.agents.codex import batch as codex_batch
from execledger.agents.codex.place import clear
from execledger.evaluate import batch, children
from execledger.evaluate.engine import engine_of
from execledger.evaluate.isolation import Salted, mini_template
from execledger.evaluate.jobs import Job, Outcome, still_to_do
from execledger.evaluate.plan import Agent, Plan
from execledger.evaluate.progress import Bar
from execledger.evaluate.study import Study, held

BARREN = 3
"""After so many different jobs of an arm in a row that finished nothing no more are begun: it is not their tasks."""
Tell: TypeAlias = Callable[[str], None]
"""How the user is told something."""


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


def carry_out(study: Study, plan: Plan, program: str, names: Sequence[str], cwd: Path, tell: Tell) -> Course:
    """Run whatever is not finished; the caller has the folder to itself."""
    salvage(study, plan, tell)
    recorded = study.recorded()
    assert recorded is not None and recorded.seed is not None, "the folder was claimed for this plan"
    salted = None
    if recorded.isolated and plan.agent is Agent.MINI:
        salted = Salted(study=recorded.salt, template=mini_template(plan, program, cwd))
    jobs = still_to_do(study, plan, program, names, cwd, seed=recorded.seed, salted=salted)
    course = Course(total=len(names) * len(plan.arms) * plan.trials)
    work = batch.work if plan.agent is Agent.MINI else codex_batch.work
    before = [result for trial in study.trials(plan) for result in trial.results().values()]
    with Bar(course.total, before) as bar, stoppable(course, tell):
        for outcome in engine_of(plan).map(work, course.hand_out(jobs)):
            adopted = outcome.job.place.adopt(outcome.job.work)
            bar.add(adopted)
            course.note(outcome, fruitful=bool(adopted))
    clear(study.scratch, plan.docker)
    course.done, course.spent = bar.done, bar.spent
    course.ends.update(result.ended for trial in study.trials(plan) for result in trial.results().values())
    return course


def salvage(study: Study, plan: Plan, tell: Tell) -> None:
    """Put what an earlier call left in its place; what still runs, on another machine for one, is waited for."""
    for trial in study.trials(plan):
        for folder in sorted((trial.folder / ".work").glob("*")):
            tell(f"{trial.name}, {folder.name}: taking over what an earlier call left")
            with held(folder):
                trial.adopt(folder)
    clear(study.scratch, plan.docker)


@contextmanager
def stoppable(course: Course, tell: Tell) -> Iterator[None]:
    """Heed Ctrl-C: once, and what runs is finished; twice, and it is ended."""

    def heed(number: int, frame: FrameType | None) -> None:
        if course.stopped:
            children.kill()
            raise KeyboardInterrupt
        course.stopped = "stopped by Ctrl-C"
        tell("stopping: what runs is finished first, and the same command goes on from there; Ctrl-C again ends it now")
        children.interrupt()

    children.stopping.clear()
    before = signal.signal(signal.SIGINT, heed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
