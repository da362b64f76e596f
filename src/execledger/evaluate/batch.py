"""mini-swe-agent's own batch runner over some tasks, with or without Ledger around it.

The runner works in a folder of the job's own. It saves a task's trajectory when the task has ended, and rewrites its
``preds.json`` in place; so the trajectory, if it is whole, is what says that a task is finished, and the runner's
predictions are never read: ours are made from the trajectories.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence

from execledger.evaluate import children
from execledger.evaluate.dataset import read_instances
from execledger.evaluate.docker import unanswered
from execledger.evaluate.jobs import Job, Outcome, last_words, launcher, settings
from execledger.evaluate.study import PREDICTIONS, Study, finished, held


def work(job: Job) -> Outcome:
    """Run the tasks of a job that its folder does not hold yet: a worker that died before may have left some."""
    log = job.place.log(job.name)
    with held(job.work) as lock:
        left = [name for name in job.instances if finished(job.work / name) is None]
        # Torn files would stop the runner, or make it skip a task.
        (job.work / PREDICTIONS).unlink(missing_ok=True)
        for name in left:
            shutil.rmtree(job.work / name, ignore_errors=True)
        status = 0
        if left:
            with log.open("ab") as output:
                status = children.run(command(job, left), cwd=job.cwd, hold=lock, output=output, heeds_interrupts=True)
        missing = [name for name in left if finished(job.work / name) is None]
    if not missing:
        return Outcome(job=job)
    return Outcome(job=job, trouble=f"ended with status {status}: {_reason(last_words(log))} ({log})")


def _reason(words: str) -> str:
    """Why a runner ended, from its last words; the agent names a command of Docker that failed, and not the reason."""
    docker = shutil.which("docker") if "docker" in words else None
    return (unanswered(docker) if docker else "") or words or "it said nothing"


def command(job: Job, names: Sequence[str]) -> list[str]:
    """The command line for these tasks."""
    plan = job.plan
    own: dict[str, object] = {
        "model.model_kwargs.reasoning_effort": plan.reasoning_effort or None,
        "agent.step_limit": plan.step_limit,
        "agent.cost_limit": plan.cost_limit,
        "agent.wall_time_limit_seconds": plan.time_limit,
    }
    given = {name: value for name, value in own.items() if value is not None}
    return [
        *launcher(job, sys.executable),
        *(job.program, "swebench", "--subset", str(Study(job.root).dataset), "--split", plan.split),
        *("--filter", f"(?:{'|'.join(map(re.escape, names))})$"),
        *("-o", str(job.work), "-w", str(plan.threads)),
        *(word for name in plan.config for word in ("-c", name)),
        *settings({**given, **plan.dotted()}),
        *_salted(job, names),
        *(("-m", plan.model) if plan.model else ()),
    ]


def _salted(job: Job, names: Sequence[str]) -> list[str]:
    """The setting that begins the prompt of each task with its salt, behind all others; nothing without salts."""
    if job.salted is None:
        return []
    tasks = {task.instance_id: task for task in read_instances(Study(job.root).dataset / f"{job.plan.split}.jsonl")}
    salts = {tasks[name].problem_statement: job.salted.salt(job.arm, name, job.trial) for name in names}
    template = job.salted.system_template(salts)
    if len(salts) == 1:
        return settings({"agent.system_template": template})
    # The texts of many tasks are too long for a command line.
    file = job.work / "prompt.yaml"
    file.write_text(json.dumps({"agent": {"system_template": template}}), encoding="utf-8")
    return ["-c", str(file)]
