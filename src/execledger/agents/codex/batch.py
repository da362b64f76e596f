"""Codex over SWE-bench: it has no batch runner of its own, so this is a small one.

Each task is one ``codex exec`` in the task's repository. What it changed there is the repair; its events and its
recorded session are kept beside it. The arms differ in what stands before the command, and in nothing else.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from execledger.agents.codex.catalog import direct_tools
from execledger.agents.codex.place import Place, codex_home, opened
from execledger.errors import LedgerError
from execledger.evaluate import children
from execledger.evaluate.dataset import Instance, read_instances
from execledger.evaluate.jobs import Job, Outcome, launcher, settings
from execledger.evaluate.plan import PLACE
from execledger.evaluate.study import Result, Study, finished, held, store
from execledger.runs.prices import load_prices
from execledger.runs.usage import Tokens, tokens_of

EVENTS = "events.ndjson"
"""What Codex reported while it worked."""
UNGUARDED = "--dangerously-bypass-approvals-and-sandbox"
"""In a container, nothing else is there to be guarded."""
TIMED_OUT = "timed out"
"""How a run ended that took too long."""


def work(job: Job) -> Outcome:
    """Run the tasks of a job that its folder does not hold yet, one after the other."""
    study, log = Study(job.root), job.place.log(job.name)
    tasks = {task.instance_id: task for task in read_instances(study.dataset / f"{job.plan.split}.jsonl")}
    trouble = ""
    with held(job.work) as lock:
        for name in job.instances:
            if children.stopping.is_set():
                break
            if finished(job.work / name) is None:
                try:
                    run(job, tasks[name], lock, log)
                except (LedgerError, OSError) as error:
                    trouble = f"{name}: {error}"
    return Outcome(job=job, trouble=trouble)


def run(job: Job, task: Instance, lock: int, log: Path) -> None:
    """Run one task; its folder says that it is finished when all is kept."""
    study, folder = Study(job.root), job.work / task.instance_id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    needed = [catalog(study, job.program)] if job.plan.direct_tools else []
    with opened(job.plan, job.program, task, study.scratch, job.cwd, needed) as place:
        before = place.snapshot()
        ended = _ended(_exec(job, task, place, lock, log), folder, log)
        patch = place.changes_since(before)
        _keep_sessions(place, folder)
    model = job.plan.model or "codex"
    cost = load_prices().cost(_tokens(_events(folder)), model)
    result = Result(instance_id=task.instance_id, model_name_or_path=model, model_patch=patch, ended=ended, cost=cost)
    store(folder, result)


def command(job: Job, task: Instance, place: Place) -> list[str]:
    """The command line for a task."""
    plan = job.plan
    own: dict[str, Any] = {} if place.sealed else {"sandbox_mode": "workspace-write"}
    if plan.model:
        own["model"] = plan.model
    if plan.reasoning_effort:
        own["model_reasoning_effort"] = plan.reasoning_effort
    if plan.direct_tools:
        own["model_catalog_json"] = str(catalog(Study(job.root), job.program))
    return [
        *launcher(job, sys.executable, *(("--sealed",) if place.sealed else ())),
        *(place.program, "exec", "--json", *((UNGUARDED,) if place.sealed else ())),
        *settings({**own, **plan.dotted()}),
        *("--", plan.prompt.replace(PLACE, task.problem_statement)),
    ]


def catalog(study: Study, program: str) -> Path:
    """The catalog of models that every arm gets, made once."""
    folder = study.root / ".catalog"
    if not (folder / "models.json").exists():
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            direct_tools(program, Path(beside)).replace(folder / "models.json")
    return folder / "models.json"


def _exec(job: Job, task: Instance, place: Place, lock: int, log: Path) -> int | None:
    """Run Codex; its exit status, None if it took too long."""
    words, limit = command(job, task, place), job.plan.time_limit
    with (job.work / task.instance_id / EVENTS).open("wb") as events, log.open("ab") as errors:
        try:
            return children.run(words, cwd=place.folder, hold=lock, output=events, errors=errors, timeout=limit)
        except subprocess.TimeoutExpired:
            return None


def _ended(status: int | None, folder: Path, log: Path) -> str:
    """How the run ended, in Codex's own word; one that never began, or that somebody killed, is not finished."""
    if status is None:
        return TIMED_OUT
    kinds = [str(event.get("type")) for event in _events(folder)]
    if status < 0 or "thread.started" not in kinds:
        raise LedgerError(f"codex ended with status {status} ({log})")
    turns = [kind for kind in kinds if kind.startswith("turn.")]
    return turns[-1] if turns else f"status {status}"


def _events(folder: Path) -> Iterable[dict[str, Any]]:
    """What Codex reported; a line that was cut off is left out."""
    for line in (folder / EVENTS).read_bytes().splitlines():
        try:
            yield msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            continue


def _tokens(events: Iterable[dict[str, Any]]) -> Tokens | None:
    """What the turns took; None where Codex does not say."""
    found = [tokens_of(event["usage"]) for event in events if isinstance(event.get("usage"), dict)]
    return sum(found, Tokens()) if found else None


def _keep_sessions(place: Place, folder: Path) -> None:
    """Copy the sessions that Codex recorded."""
    for event in _events(folder):
        if event.get("type") == "thread.started":
            sessions, thread = codex_home() / "sessions", shlex.quote(f"rollout-*{event['thread_id']}.jsonl")
            found = place.ask(f"find {shlex.quote(str(sessions))} -name {thread}").decode().splitlines()
            for path in found:
                (folder / Path(path).name).write_bytes(place.ask(f"cat {shlex.quote(path)}"))
