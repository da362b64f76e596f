"""The port of evaluations: what an evaluation gives to the batch runner of an agent, and what it gets back.

A runner is a module with the functions of ``Runner``; ``agents/mini/batch.py`` is one. It works in a folder of its own,
in which every task has a folder by its name. What a finished task left is stored there as a ``TaskResult``.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from execledger.errors import LedgerError, UnreadableRun
from execledger.runs.decoding import decode

_Kind = TypeVar("_Kind")

JOURNALS = "journals"
"""The folder for journals, in the folder of a task or of a trial."""
RECORDED = "recorded"
"""The folder in a task's folder for the session that the agent recorded, if its runner has no other place for it."""
SUBAGENTS = "subagents"
"""The folder beside that one for the sessions of sub-agents."""
STORED = ".result.json"
"""The file in a task's folder that holds its result."""
TAIL = 8000
"""Bytes at the end of a log that are searched for the reason of a failure."""
ANSWER_SECONDS = 60.0
"""Seconds within which a program must have answered a question: a container program, or an agent for its version."""
START_DOCKER = "start Docker, or set DOCKER_HOST"
"""Hint for a container program that does not answer."""
_LONGEST = 400
"""Characters of a reason that are reported."""
_ACCOUNT = "Ledger: "
"""Beginning of a line of Ledger's account of a run."""
_HINT = "hint:"
"""Beginning of the line that follows an error message of Ledger's."""
_DRAWN = re.compile("[\u2500-\u257f]")
"""A character of tables, panels and progress bars."""
_ERROR = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Expired)(?::|$)")
"""The line of a traceback that names the error."""


class Instance(Struct, frozen=True, kw_only=True):
    """One task: the fields of its row that a runner reads; the dataset's file keeps all the others."""

    instance_id: str
    """Its name."""
    problem_statement: str
    """The issue."""
    base_commit: str = ""
    """The commit that the work begins at."""
    image_name: str | None = None
    """Its image, where the row names one."""
    docker_image: str | None = None
    """The same, as some datasets call it."""

    @property
    def image(self) -> str:
        """The image that holds the repository and whatever its tests need."""
        # An image's name can't hold two underscores in a row, so the benchmark writes them in another way.
        usual = self.instance_id.replace("__", "_1776_").lower()
        return self.image_name or self.docker_image or f"docker.io/swebench/sweb.eval.x86_64.{usual}:latest"


class Failure(StrEnum):
    """Kinds of failures that end a run, or keep it from beginning."""

    IMAGE = "image missing"
    """The task's image is not in the local store, and could not be pulled."""
    CONTAINER = "container died"
    """The container ended before the run did."""
    TIMEOUT = "timeout"
    """A limit of time was reached."""
    API = "API error"
    """The model's API refused a request, or could not be reached."""
    FORMAT = "format error"
    """The model's answers could not be read, several times in a row."""
    OTHER = "error"
    """Something else; the details tell."""

    def because(self, details: str) -> str:
        """The failure with its details, in one line."""
        return f"{self.value}: {' '.join(details.split())[:_LONGEST] or 'no details'}"


class TaskResult(Struct, frozen=True, kw_only=True):
    """A finished task."""

    instance_id: str
    """The task."""
    model_name_or_path: str
    """The model, as predictions name it."""
    model_patch: str
    """The repair; empty if there is none."""
    ended: str
    """How the run ended, in the agent's own word."""
    cost: float | None = None
    """Dollars, as the agent or the price table has them; None if neither does."""
    failure: str = ""
    """What ended the run if it was not the agent: one of ``Failure``, a colon, and the details; "" otherwise."""

    @property
    def mark(self) -> str:
        """A short digest of the repair: a grade is valid for this repair, not for another one of the same task."""
        return hashlib.sha256(self.model_patch.encode()).hexdigest()[:16]


class Setup(Struct, frozen=True, kw_only=True):
    """The part of a plan that is about the agent."""

    program: str
    """The agent's program; its mere name where it was not found, as far as checks go on."""
    cwd: Path
    """Where the evaluation was started; relative names of files in the plan start there."""
    model: str = ""
    """The model, as the agent names it; "" is the one of the agent's own configuration."""
    reasoning_effort: str = ""
    """How long the model thinks, in the provider's word; "" leaves it to the provider."""
    time_limit: int | None = None
    """Seconds per task; None is the agent's own limit."""
    settings: Mapping[str, Any] = {}
    """Further settings of the agent, by their dotted names."""
    keys: Mapping[str, Any] = {}
    """The values of the plan's keys that belong to this agent."""


class Batch(Struct, frozen=True, kw_only=True):
    """Tasks for one process of an agent's runner."""

    setup: Setup
    """The agent and its settings."""
    tasks: tuple[Instance, ...]
    """The tasks."""
    folder: Path
    """The folder to work in."""
    log: Path
    """The file for what the agent's program prints."""
    scratch: Path
    """A folder for what lives as long as one run of a task; its name does not tell the arm, since agents see it."""
    shared: Path
    """The folder of the evaluation, for what all its runs share."""
    dataset: Path
    """The folder of the frozen dataset."""
    split: str
    """The split of the dataset."""
    ledger: tuple[str, ...] = ()
    """The command that starts an agent with Ledger, with the switches of the arm; empty in the arm base."""
    template: str = ""
    """The agent's system template, for the salts."""
    salts: Mapping[str, str] = {}
    """What the system prompt or the task's prompt begins with, by the name of the task; empty without salts."""

    def around(self, *options: str) -> list[str]:
        """The words before the agent's own command: Ledger with these further options, or nothing in the arm base."""
        return [*self.ledger, *options, "--"] if self.ledger else []


class Problem(Struct, frozen=True):
    """Something that would make runs fail, found before any is started."""

    message: str
    """What was found, and what was expected."""
    hint: str = ""
    """What can be done about it."""
    warning: bool = False
    """True if runs may succeed all the same."""


class Needs(Struct, frozen=True, kw_only=True):
    """What the runs of an evaluation need of the machine."""

    docker: str = ""
    """The container program; "" if none is needed."""
    images: tuple[str, ...] = ()
    """The images of the tasks."""
    model: str = ""
    """The model, as the agent names it; "" if that is not known."""
    model_checked: bool = True
    """The agent itself, or its library, was asked whether it knows the model."""
    problems: tuple[Problem, ...] = ()
    """What the agent's own configuration lacks."""


class Runner(Protocol):
    """Runs an agent over tasks.

    A runner may also have ``needs(setup, tasks)``, which returns the ``Needs`` of its runs; for others those of
    ``container_needs`` are taken.
    """

    def work(self, batch: Batch) -> dict[str, str]:
        """Run the tasks that the batch's folder does not hold yet; by name, why tasks are not finished."""
        ...

    def finished(self, folder: Path) -> TaskResult | None:
        """The result of a task whose folder has no stored result, from the agent's own files; None if there is none."""
        ...

    def versions(self, setup: Setup) -> dict[str, str]:
        """The versions of everything that may change a result, by name; of the user's own files, a digest."""
        ...

    def system_template(self, setup: Setup) -> str:
        """The agent's system template under these settings, if its system prompts begin with a salt; else ""."""
        ...

    def clear(self, setup: Setup, scratch: Path) -> None:
        """Remove what killed processes left; no other process works there."""
        ...


def stored(folder: Path) -> TaskResult | None:
    """The stored result of a task; None if there is none, or it is torn."""
    return decoded(folder / STORED, TaskResult)


def store(folder: Path, result: TaskResult) -> None:
    """Store a task's result: from then on the task is finished."""
    write_whole(folder / STORED, msgspec.json.encode(result))


def decoded(path: Path, kind: type[_Kind]) -> _Kind | None:
    """The content of a JSON file; None if it can't be read or is of another shape."""
    try:
        return decode(path.name, path.read_bytes(), msgspec.json.Decoder(kind), "")
    except (OSError, UnreadableRun):
        return None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader, at any moment, finds the old content or the new one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    except OSError as error:
        # That of a full disk names no file.
        with suppress(OSError):
            beside.unlink()
        raise OSError(error.errno, f"can't be written: {error.strerror}", str(path)) from None


@contextmanager
def held(work: Path) -> Iterator[int]:
    """Lock a folder, waiting for the process that holds it; yields the lock's descriptor.

    The agent's process is given that descriptor, so that the lock lasts as long as it does, even if we are killed.
    """
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"{os.getpid()} {socket.gethostname()}\n")
        file.flush()
        yield file.fileno()


def settings(values: Mapping[str, Any]) -> list[str]:
    """Settings as words of a command line, each behind its own ``-c``."""
    return [word for name, value in values.items() for word in ("-c", f"{name}={json.dumps(value)}")]


def nested_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their dotted names as tables within tables."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *above, last = name.split(".")
        table = found
        for part in above:
            table = table.setdefault(part, {})
        table[last] = value
    return found


def last_words(log: Path, start: int = 0) -> str:
    """The reason of a failure in one line: the last error that a log names from byte ``start`` on, else its last line.

    Lines of tables and progress bars are no reasons, an error may have several lines, and a hint only follows one.
    """
    try:
        with log.open("rb") as file:
            file.seek(max(start, log.stat().st_size - TAIL))
            lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    said = [line for line in lines if line and not _DRAWN.search(line)]
    # Ledger's account of a run follows what the agent has printed.
    said = [line for line in said if not line.startswith(_ACCOUNT)] or said
    messages = [at for at, line in enumerate(said) if not line.startswith(_HINT)]
    last = max((at for at in messages if _ERROR.match(said[at])), default=messages[-1] if messages else 0)
    return " ".join(said[last:])[:_LONGEST]


def answer_of(command: list[str]) -> str:
    """What a program prints that is asked for its version."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        silent = f"no answer within {ANSWER_SECONDS:g} seconds"
        raise LedgerError(f"{command[0]}: can't be asked for its version: {silent}") from None
    except (OSError, subprocess.CalledProcessError) as error:
        raise LedgerError(f"{command[0]}: can't be asked for its version: {error}") from error
    return done.stdout.strip()


def container_needs(setup: Setup, tasks: Sequence[Instance]) -> Needs:
    """What runs need by the keys of the plan: a container for each task, unless there are prepared repositories."""
    docker = "" if setup.keys.get("repos") else str(setup.keys.get("docker", ""))
    images = tuple(dict.fromkeys(task.image for task in tasks)) if docker else ()
    return Needs(docker=docker, images=images, model=setup.model)


def image_here(docker: str, *images: str) -> bool:
    """Return whether all these images are in the local store; ``LedgerError`` if the container program hangs."""
    if not images:
        return True
    return not _asked(docker, "image", "inspect", "--format", "{{.Id}}", *images).returncode


def refused_start(docker: str, image: str) -> str:
    """Why no container of an image starts, in the container program's words; "" if one does.

    It is started detached, so an entry point that never ends is not waited for, and removed. Raises ``LedgerError`` if
    the container program hangs.
    """
    asked = _asked(docker, "run", "-d", "--rm", "--pull=never", image, "true")
    if asked.returncode:
        return complaint(asked.stderr)
    if started := asked.stdout.split()[-1:]:
        _asked(docker, "rm", "-f", *started)
    return ""


def _asked(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Ask a container program something; ``LedgerError`` if it does not answer in time."""
    command = [program, *words]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise LedgerError(f"{program} does not answer within {ANSWER_SECONDS:g} seconds", hint=START_DOCKER) from None


def complaint(errors: str) -> str:
    """The reason in what Docker printed, without its advice to read the help."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    reasons = [line for line in lines if "--help" not in line]
    return (reasons or lines or ["it says nothing"])[-1]


def unanswered(program: str) -> str:
    """Why Docker does not answer, in words; "" if it does."""
    try:
        asked = _asked(program, "version")
    except LedgerError as error:
        return error.message
    return f"{program} does not answer: {complaint(asked.stderr)}" if asked.returncode else ""
