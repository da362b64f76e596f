"""Codex over SWE-bench: it has no batch runner of its own, so this is a small one.

Each task is one ``codex exec`` in the task's repository. What it changed there is the repair; its events and its
recorded session are kept beside it. The arms differ in what stands before the command, and in nothing else.
"""

from __future__ import annotations

import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from execledger.agents import processes
from execledger.agents.codex.catalog import direct_tools
from execledger.agents.codex.place import Place, clear, codex_home, opened
from execledger.agents.evaluation import PLACE, Batch, Instance, Result, Setup, answer_of, held, settings, store, stored
from execledger.errors import LedgerError
from execledger.runs.prices import load_prices
from execledger.runs.usage import Tokens, tokens_of

__all__ = ["clear", "finished", "system_template", "versions", "work"]

EVENTS = "events.ndjson"
"""What Codex reported while it worked."""
UNGUARDED = "--dangerously-bypass-approvals-and-sandbox"
"""In a container, nothing else is there to be guarded."""
TIMED_OUT = "timed out"
"""How a run ended that took too long."""


def work(batch: Batch) -> str:
    """Run the tasks that the batch's folder does not hold yet, one after the other; why one is not finished."""
    trouble = ""
    with held(batch.folder) as lock:
        for task in batch.tasks:
            if processes.stopping.is_set():
                break
            if stored(batch.folder / task.instance_id) is None:
                try:
                    run(batch, task, lock)
                except (LedgerError, OSError) as error:
                    trouble = f"{task.instance_id}: {error}"
    return trouble


def run(batch: Batch, task: Instance, lock: int) -> None:
    """Run one task, and store its result when everything else is kept."""
    setup, folder = batch.setup, batch.folder / task.instance_id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    needed = [catalog(batch.shared, setup.program)] if setup.keys["direct_tools"] else []
    with opened(setup, task, batch.scratch, needed) as place:
        before = place.snapshot()
        ended = _ended(_exec(batch, task, place, lock), folder, batch.log)
        patch = place.changes_since(before)
        _keep_sessions(place, folder)
    model = setup.model or "codex"
    cost = load_prices().cost(_tokens(_events(folder)), model)
    result = Result(instance_id=task.instance_id, model_name_or_path=model, model_patch=patch, ended=ended, cost=cost)
    store(folder, result)


def command(batch: Batch, task: Instance, place: Place) -> list[str]:
    """The command line for a task."""
    setup = batch.setup
    own: dict[str, Any] = {} if place.sealed else {"sandbox_mode": "workspace-write"}
    if setup.model:
        own["model"] = setup.model
    if setup.reasoning_effort:
        own["model_reasoning_effort"] = setup.reasoning_effort
    if setup.keys["direct_tools"]:
        own["model_catalog_json"] = str(catalog(batch.shared, setup.program))
    return [
        *batch.around(*(("--sealed",) if place.sealed else ())),
        *(place.program, "exec", "--json", *((UNGUARDED,) if place.sealed else ())),
        *settings({**own, **setup.settings}),
        *("--", setup.keys["prompt"].replace(PLACE, task.problem_statement)),
    ]


def finished(folder: Path) -> Result | None:
    """Codex leaves no result of its own."""
    return None


def versions(setup: Setup) -> dict[str, str]:
    """The version of Codex, and that of our Python, which runs it."""
    return {"codex": answer_of([setup.program, "--version"]), "python": platform.python_version()}


def system_template(setup: Setup) -> str:
    """Codex gets no salt: every session has a cache key of its own."""
    raise NotImplementedError


def catalog(shared: Path, program: str) -> Path:
    """The catalog of models that every arm gets, made once."""
    folder = shared / ".catalog"
    if not (folder / "models.json").exists():
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            direct_tools(program, Path(beside)).replace(folder / "models.json")
    return folder / "models.json"


def _exec(batch: Batch, task: Instance, place: Place, lock: int) -> int | None:
    """Run Codex; its exit status, None if it took too long."""
    words, limit = command(batch, task, place), batch.setup.time_limit
    with (batch.folder / task.instance_id / EVENTS).open("wb") as events, batch.log.open("ab") as errors:
        try:
            return processes.run(words, cwd=place.folder, hold=lock, output=events, errors=errors, timeout=limit)
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
