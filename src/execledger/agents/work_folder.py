"""Where an agent works on a task of an evaluation: a copy of a prepared repository, or a container of the task's image.

What the agent has changed is the difference of the files before and after, committed or not. A container gets the
agent's program, one file, and the folders of its settings, at the same paths as on this machine.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from execledger.agents.evaluation import Instance, Problem, Setup, complaint
from execledger.errors import LedgerError
from execledger.runs.find import absent

INSIDE = "/testbed"
"""Where the images of SWE-bench keep the repository."""
PROFILE = "/root/.bashrc"
"""What sets up the environment of the tests there, for shells that read no profile by themselves."""
SOURCED = f"unset BASH_ENV\n[ ! -r {PROFILE} ] || . {PROFILE}\n"
"""Sources it in the first shell alone: what it exports reaches all others, and one that starts a shell in which it is
sourced again, as `pyenv init` does, would never end."""
NO_DOCKER = "without Docker, give prepared repositories: --repos DIR"
"""What to do if there are no containers."""
LIFETIME = 24 * 3600
"""Seconds after which a container ends by itself, unless it was stopped before."""
_PREPARE = "`repos` names a folder with a clone for each instance, DIR/INSTANCE, at the instance's base commit"
_LISTED = 3
"""Number of instances that a problem names."""
SHIMS = "bin"
"""The folder of the file that starts an agent in a container."""

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


class Home(Struct, frozen=True):
    """A folder of the user's in which an agent keeps settings, logins and sessions."""

    variable: str
    """The variable with its path."""
    default: str
    """Its path below the user's home folder, without that variable."""
    part: str = ""
    """The part of it that is the agent's."""
    other: str = ""
    """Another variable with its path, if the first is not set."""

    @property
    def folder(self) -> Path:
        """The path that the variable has, or would have."""
        named = os.environ.get(self.variable) or os.environ.get(self.other)
        return Path(named or Path.home() / self.default).absolute()


class Contained(Struct, frozen=True, kw_only=True):
    """What an agent's program needs in a container beside itself."""

    homes: tuple[Home, ...]
    """The folders of its settings."""
    passed: tuple[str, ...] = ()
    """Variables that its launcher sets; those that the plan names are passed as well."""
    fixed: tuple[str, ...] = ()
    """Variables with values, as in ``NAME=1``."""


class WorkFolder(NamedTuple):
    """A place to work in."""

    folder: Path
    """Where the agent is started on this machine."""
    program: str
    """The program to start there: the agent itself, or what starts it in the container."""
    own: Path
    """A folder for this run alone, which the agent can write to, at the same path in the container."""
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

    def copy(self, root: Path, patterns: Sequence[str], target: Path) -> None:
        """Copy the files below ``root`` whose paths match one of these patterns of the shell."""
        target.mkdir()
        for pattern in patterns:
            # The search begins at the last folder that the pattern names.
            start = root.joinpath(*takewhile(lambda part: "*" not in part, Path(pattern).parent.parts))
            found = shlex.join(["find", str(start), "-type", "f", "-path", f"{root}/{pattern}"])
            for path in map(Path, self.ask(f"test ! -d {shlex.quote(str(start))} || {found}").decode().splitlines()):
                copy = target / path.relative_to(root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                # The files of a container may belong to another user.
                copy.write_bytes(self.ask(shlex.join(["cat", str(path)])) if self.sealed else path.read_bytes())


@contextmanager
def opened(
    setup: Setup, instance: Instance, scratch: Path, contained: Contained | None, needed: Sequence[Path] = ()
) -> Iterator[WorkFolder]:
    """A place for one run of a task, removed when the run is over; names in it say nothing of the arm.

    A container is also given the files that are ``needed``; without ``contained`` the agent can't be run in one.
    """
    own = scratch / uuid.uuid4().hex[:12]
    own.mkdir(parents=True)
    try:
        if setup.keys["repos"]:
            yield _copied(setup.cwd / setup.keys["repos"], instance, own, setup.program)
        else:
            assert contained is not None, "plans for containers are refused for agents that can't be run in one"
            with _contained(setup, instance, own, contained, needed) as place:
                yield place
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _copied(repos: Path, instance: Instance, own: Path, program: str) -> WorkFolder:
    """A copy of the task's prepared repository."""
    source, target = repos / instance.instance_id, own / "testbed"
    if not _is_repository(source):
        raise LedgerError(f"{source}: found no repository there")
    shutil.copytree(source, target, symlinks=True)
    if not _is_prepared(target, instance):
        raise LedgerError(f"{source}: expected it to stand at the commit {instance.base_commit}")
    return WorkFolder(target, program, own, (), target, sealed=False)


def _is_repository(folder: Path) -> bool:
    return os.path.exists(folder / ".git")


def _is_prepared(folder: Path, instance: Instance) -> bool:
    """Whether a task's repository has its base commit, if the task names one."""
    if not instance.base_commit.strip("0"):
        return True
    git = ["git", "-c", "safe.directory=*", "-C", str(folder)]
    command = [*git, "merge-base", "--is-ancestor", instance.base_commit, "HEAD"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def unprepared(setup: Setup, instances: Sequence[Instance]) -> Iterator[Problem]:
    """What is wrong with the prepared repositories of a plan: the folder, those that are missing, the wrong ones."""
    given = str(setup.keys.get("repos") or "")
    repos = setup.cwd / given
    if not given:
        return
    if not os.path.isdir(repos):
        found = "a file" if os.path.isfile(repos) else absent(str(repos)) or "something else"
        yield Problem(f"{given}: found {found}, expected a folder with prepared repositories", _PREPARE)
        return
    if shutil.which("git") is None:
        yield Problem("git: not found, expected it for the prepared repositories", "install git")
        return
    missing = [one for one in instances if not _is_repository(repos / one.instance_id)]
    if missing:
        yield Problem(f"{given}: found no repository of {_listed(missing)}", _PREPARE)
    others = [one for one in instances if one not in missing and not _is_prepared(repos / one.instance_id, one)]
    if others:
        yield Problem(f"{given}: found another commit than the base commit of {_listed(others)}", _PREPARE)


def _listed(instances: Sequence[Instance]) -> str:
    """The names of the first instances, and how many more there are."""
    more = len(instances) - _LISTED
    return ", ".join(one.instance_id for one in instances[:_LISTED]) + (f" and {more} more" if more > 0 else "")


@contextmanager
def _contained(
    setup: Setup, instance: Instance, own: Path, contained: Contained, needed: Sequence[Path]
) -> Iterator[WorkFolder]:
    """A container of the task's image, with this machine's program and its settings in it, at the same paths."""
    name, profile, program = _name(own), own / "profile", Path(setup.program)
    profile.write_text(SOURCED)
    docker = setup.keys["docker"]
    shim = _shim(setup, own, contained, f"BASH_ENV={profile}")
    folders = (own, *(home.folder / home.part for home in contained.homes))
    for folder in folders:
        # As the agent itself would: a container program refuses folders that are not there, or gives them to root.
        folder.mkdir(parents=True, exist_ok=True)
    mounts = [*(f"--volume={path}:{path}" for path in folders), *(f"--volume={path}:{path}:ro" for path in needed)]
    try:
        # The model, or Ledger before it, may listen on this machine alone, so the container shares its network.
        start = [docker, "run", "-d", "--rm", f"--name={name}", "--network=host", *mounts]
        _start([*start, f"--volume={program}:{program}:ro", "-w", INSIDE, instance.image, "sleep", str(LIFETIME)])
        place = WorkFolder(own, str(shim), own, (docker, "exec", "-w", INSIDE, name), None, sealed=True)
        yield place
        with suppress(LedgerError):
            # What was written from inside may belong to another user.
            place.ask(f"rm -rf {shlex.quote(str(own))}/*")
    finally:
        _remove(docker, own)


def _shim(setup: Setup, own: Path, contained: Contained, *values: str) -> Path:
    """A program of the agent's name that starts the agent in the container, with the variables that are set then."""
    shim = own / SHIMS / Path(setup.program).name
    shim.parent.mkdir()
    homes = [f"{home.variable}={home.folder}" for home in contained.homes]
    passed = " ".join(f"${{{name}+-e {name}}}" for name in dict.fromkeys((*setup.keys["variables"], *contained.passed)))
    enter = shlex.join([setup.keys["docker"], "exec", "-i", "-w", INSIDE])
    inside = shlex.join([_name(own), "env", *homes, *contained.fixed, *values, setup.program])
    shim.write_text(f'#!/bin/sh\nexec {enter} {passed} {inside} "$@"\n')
    shim.chmod(0o755)
    return shim


def _start(command: Sequence[str]) -> None:
    """Start a container."""
    image = command[-3]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise LedgerError(f"{command[0]}: can't be started: {error.strerror}", hint=NO_DOCKER) from None
    if done.returncode:
        raise LedgerError(f"{image}: no container could be started: {complaint(done.stderr)}", hint=NO_DOCKER)


def clear(setup: Setup, scratch: Path) -> None:
    """Remove the places that a killed process left; no other process works in them."""
    for own in scratch.iterdir() if scratch.is_dir() else ():
        if (own / SHIMS).exists():
            _remove(setup.keys["docker"], own)
    shutil.rmtree(scratch, ignore_errors=True)


def _remove(docker: str, own: Path) -> None:
    """Remove the container of a place."""
    with suppress(OSError):
        subprocess.run([docker, "rm", "-f", _name(own)], stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _name(own: Path) -> str:
    """What the container of a place is called."""
    return f"task-{own.name}"
