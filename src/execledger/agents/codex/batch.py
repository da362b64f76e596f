"""Codex over the tasks of an evaluation: it has no batch runner of its own, so this is a small one.

Each task is one ``codex exec`` in the task's repository: in a copy of a prepared one, or in a container of the task's
image. The difference of the files before and after is the repair; Codex's events and its recorded session are kept
beside it. The arms differ in what stands before the command, and in nothing else.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from execledger.agents import processes
from execledger.agents.codex.config import direct_tools
from execledger.agents.evaluation import (
    Batch,
    Instance,
    Setup,
    TaskResult,
    answer_of,
    complaint,
    held,
    settings,
    store,
    stored,
)
from execledger.agents.plan_keys import PLACE
from execledger.errors import LedgerError
from execledger.runs.prices import load_prices
from execledger.runs.usage import Tokens, tokens_of

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
    result = TaskResult(
        instance_id=task.instance_id, model_name_or_path=model, model_patch=patch, ended=ended, cost=cost
    )
    store(folder, result)


def command(batch: Batch, task: Instance, place: WorkFolder) -> list[str]:
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
        *batch.around(*(("--sealed", "--witness", "off") if place.sealed else ())),
        *(place.program, "exec", "--json", *((UNGUARDED,) if place.sealed else ())),
        *settings({**own, **setup.settings}),
        *("--", setup.keys["prompt"].replace(PLACE, task.problem_statement)),
    ]


def finished(folder: Path) -> TaskResult | None:
    """Codex leaves no result of its own."""
    return None


def versions(setup: Setup) -> dict[str, str]:
    """The version of Codex, and that of our Python, which runs it."""
    return {"codex": answer_of([setup.program, "--version"]), "python": platform.python_version()}


def system_template(setup: Setup) -> str:
    """Codex gets no salt: every session has a cache key of its own."""
    raise LedgerError("Codex: found a study with salted prompts, expected one with a cache key for each session")


def catalog(shared: Path, program: str) -> Path:
    """The catalog of models that every arm gets, made once."""
    folder = shared / ".catalog"
    if not (folder / "models.json").exists():
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            direct_tools(program, Path(beside)).replace(folder / "models.json")
    return folder / "models.json"


def _exec(batch: Batch, task: Instance, place: WorkFolder, lock: int) -> int | None:
    """Run Codex; its exit status, None if it took too long."""
    words, limit = command(batch, task, place), batch.setup.time_limit
    with (batch.folder / task.instance_id / EVENTS).open("wb") as events, batch.log.open("ab") as errors:
        try:
            return processes.run(words, cwd=place.folder, hold=lock, output=events, errors=errors, timeout=limit)
        except subprocess.TimeoutExpired:
            return None


def _ended(status: int | None, folder: Path, log: Path) -> str:
    """How the run ended, in Codex's own word; one that never began, or that was killed, is not finished."""
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


def _keep_sessions(place: WorkFolder, folder: Path) -> None:
    """Copy the sessions that Codex recorded."""
    for event in _events(folder):
        if event.get("type") == "thread.started":
            sessions, thread = codex_home() / "sessions", shlex.quote(f"rollout-*{event['thread_id']}.jsonl")
            found = place.ask(f"find {shlex.quote(str(sessions))} -name {thread}").decode().splitlines()
            for path in found:
                (folder / Path(path).name).write_bytes(place.ask(f"cat {shlex.quote(path)}"))


INSIDE = "/testbed"
"""Where the images of SWE-bench keep the repository."""
PROFILE = "/root/.bashrc"
"""What sets up the environment of the tests there, for shells that read no profile by themselves."""
SOURCED = f"unset BASH_ENV\n[ ! -r {PROFILE} ] || . {PROFILE}\n"
"""Sources it in the first shell alone: what it exports reaches all others, and one that starts a shell in which it is
sourced again, as `pyenv init` does, would never end."""
SHIM = "codex"
"""The file that starts Codex in a container; the launcher goes by this name."""
_NO_DOCKER = "without Docker, give prepared repositories: --repos DIR"
LIFETIME = 24 * 3600
"""Seconds after which a container ends by itself, unless it was stopped before."""

# A tree of all files that are not ignored, those that the agent committed although they are ignored included. The
# index is one of its own, and settings that would change what is written, or run something, are overruled.
_GIT = "git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.autocrlf=false -c core.quotePath=true"
SNAPSHOT = f"""set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
GIT_INDEX_FILE=$(mktemp -u) && export GIT_INDEX_FILE && trap 'rm -f "$GIT_INDEX_FILE"' EXIT
{_GIT} -c safe.directory='*' read-tree HEAD
{_GIT} -c safe.directory='*' add --all .
{_GIT} -c safe.directory='*' write-tree
"""
"""Prints the name of a tree with the files as they are now."""
DIFF = f"""export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
{_GIT} -c safe.directory='*' -c diff.noprefix=false -c diff.mnemonicPrefix=false diff --binary --no-color \
--no-ext-diff --no-textconv --src-prefix=a/ --dst-prefix=b/ """
"""Prints what differs between two trees, whose names are put behind it."""


class WorkFolder(NamedTuple):
    """A place to work in."""

    folder: Path
    """Where Codex is started on this machine."""
    program: str
    """The program to start there: Codex itself, or what starts it in the container."""
    enter: tuple[str, ...]
    """The words before a command that make it run in the work folder."""
    cwd: Path | None
    """The folder on this machine in which such commands are started; None if it is in the container."""
    sealed: bool
    """Nothing but the agent's own commands writes there."""

    def ask(self, script: str) -> bytes:
        """What a shell script prints there."""
        done = subprocess.run(
            [*self.enter, "sh", "-c", script],
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["nothing"]
            raise LedgerError(f"a script in the repository ended with status {done.returncode}: {said[0]}")
        return done.stdout

    def snapshot(self) -> str:
        """The name of a tree with the files as they are now."""
        return self.ask(SNAPSHOT).decode().strip()

    def changes_since(self, tree: str) -> str:
        """What was changed since a snapshot, committed or not, new files too, as a patch."""
        return self.ask(DIFF + f"{tree} {self.snapshot()}").decode("utf-8", "replace")


@contextmanager
def opened(setup: Setup, instance: Instance, scratch: Path, needed: Sequence[Path] = ()) -> Iterator[WorkFolder]:
    """A place for one run of a task, removed when the run is over; names in it say nothing of the arm.

    A container is also given the files that are ``needed``.
    """
    own = scratch / uuid.uuid4().hex[:12]
    own.mkdir(parents=True)
    try:
        if setup.keys["repos"]:
            yield _copied(setup.cwd / setup.keys["repos"], instance, own, setup.program)
        else:
            with _contained(setup, instance, own, needed) as place:
                yield place
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _copied(repos: Path, instance: Instance, own: Path, program: str) -> WorkFolder:
    """A copy of the task's prepared repository."""
    source, target = repos / instance.instance_id, own / "testbed"
    if not (source / ".git").exists():
        raise LedgerError(f"{source}: found no repository there")
    shutil.copytree(source, target, symlinks=True)
    place = WorkFolder(target, program, (), target, sealed=False)
    if instance.base_commit.strip("0"):
        try:
            place.ask(f"git merge-base --is-ancestor {shlex.quote(instance.base_commit)} HEAD")
        except LedgerError:
            raise LedgerError(f"{source}: expected it to stand at the commit {instance.base_commit}") from None
    return place


@contextmanager
def _contained(setup: Setup, instance: Instance, own: Path, needed: Sequence[Path]) -> Iterator[WorkFolder]:
    """A container of the task's image, with this machine's Codex and its settings in it, at the same paths as here."""
    home, name, shim, profile = codex_home(), _name(own), own / SHIM, own / "profile"
    profile.write_text(SOURCED)
    docker, program = setup.keys["docker"], setup.program
    given = [word for variable in setup.keys["variables"] if variable in os.environ for word in ("-e", variable)]
    inside = [docker, "exec", "-i", "-w", INSIDE, *given, name, "env", f"CODEX_HOME={home}", f"BASH_ENV={profile}"]
    shim.write_text(f'#!/bin/sh\nexec {shlex.join([*inside, program])} "$@"\n')
    shim.chmod(0o755)
    mounts = [f"--volume={home}:{home}", *(f"--volume={path}:{path}:ro" for path in (Path(program), profile, *needed))]
    try:
        # The model, or Ledger before it, may listen on this machine alone, so the container shares its network.
        start = [docker, "run", "-d", "--rm", f"--name={name}", "--network=host", *mounts, "-w", INSIDE]
        _start([*start, instance.image, "sleep", str(LIFETIME)], instance.image)
        yield WorkFolder(own, str(shim), (docker, "exec", "-w", INSIDE, name), None, sealed=True)
    finally:
        _remove(docker, own)


def _start(command: Sequence[str], image: str) -> None:
    """Start a container."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise LedgerError(f"{command[0]}: can't be started: {error.strerror}", hint=_NO_DOCKER) from None
    if done.returncode:
        raise LedgerError(f"{image}: no container could be started: {complaint(done.stderr)}", hint=_NO_DOCKER)


def clear(setup: Setup, scratch: Path) -> None:
    """Remove the places that a killed process left; no other process works in them."""
    for own in scratch.iterdir() if scratch.is_dir() else ():
        if (own / SHIM).exists():
            _remove(setup.keys["docker"], own)
    shutil.rmtree(scratch, ignore_errors=True)


def _remove(docker: str, own: Path) -> None:
    """Remove the container of a place."""
    with suppress(OSError):
        subprocess.run([docker, "rm", "-f", _name(own)], stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _name(own: Path) -> str:
    """What the container of a place is called."""
    return f"task-{own.name}"


def codex_home() -> Path:
    """Where this user's Codex keeps its settings and sessions."""
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex").absolute()
