"""Where Codex works on a task: a copy of a prepared repository, or a container of the task's image.

Either way a shell can be asked there, for the state of the files before and after, and for what Codex recorded.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from execledger.agents.evaluation import Instance, Setup, complaint
from execledger.errors import LedgerError

INSIDE = "/testbed"
"""Where the images of SWE-bench keep the repository."""
PROFILE = "/root/.bashrc"
"""What sets up the environment of the tests there, for shells that read no profile by themselves."""
SHIM = "codex"
"""The file that starts Codex in a container; the launcher goes by this name."""
_NO_DOCKER = "without Docker, give prepared repositories: --repos DIR"
LIFETIME = 24 * 3600
"""Seconds after which a container ends by itself, if nobody does it."""

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


class Place(NamedTuple):
    """A place to work in."""

    folder: Path
    """Where Codex is started on this machine."""
    program: str
    """The program to start there: Codex itself, or what starts it in the container."""
    enter: tuple[str, ...]
    """What stands before a command so that it runs in the place."""
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
def opened(setup: Setup, instance: Instance, scratch: Path, needed: Sequence[Path] = ()) -> Iterator[Place]:
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


def _copied(repos: Path, instance: Instance, own: Path, program: str) -> Place:
    """A copy of the task's prepared repository."""
    source, target = repos / instance.instance_id, own / "testbed"
    if not (source / ".git").exists():
        raise LedgerError(f"{source}: found no repository there")
    shutil.copytree(source, target, symlinks=True)
    place = Place(target, program, (), target, sealed=False)
    if instance.base_commit.strip("0"):
        try:
            place.ask(f"git merge-base --is-ancestor {shlex.quote(instance.base_commit)} HEAD")
        except LedgerError:
            raise LedgerError(f"{source}: expected it to stand at the commit {instance.base_commit}") from None
    return place


@contextmanager
def _contained(setup: Setup, instance: Instance, own: Path, needed: Sequence[Path]) -> Iterator[Place]:
    """A container of the task's image, with this machine's Codex and its settings in it, at the same paths as here."""
    home, name, shim = codex_home(), _name(own), own / SHIM
    docker, program = setup.keys["docker"], setup.program
    given = [word for variable in setup.keys["variables"] if variable in os.environ for word in ("-e", variable)]
    inside = [docker, "exec", "-i", "-w", INSIDE, *given, name, "env", f"CODEX_HOME={home}", f"BASH_ENV={PROFILE}"]
    shim.write_text(f'#!/bin/sh\nexec {shlex.join([*inside, program])} "$@"\n')
    shim.chmod(0o755)
    mounts = [f"--volume={home}:{home}", *(f"--volume={path}:{path}:ro" for path in (Path(program), *needed))]
    try:
        # The model, or Ledger before it, may listen on this machine alone, so the container shares its network.
        start = [docker, "run", "-d", "--rm", f"--name={name}", "--network=host", *mounts, "-w", INSIDE]
        _start([*start, instance.image, "sleep", str(LIFETIME)], instance.image)
        yield Place(own, str(shim), (docker, "exec", "-w", INSIDE, name), None, sealed=True)
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
