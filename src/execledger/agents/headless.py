"""Runs an agent over the tasks of an evaluation that has no batch runner of its own: its program once for each task.

The package of an agent has a ``HeadlessRunner`` with what is its own: the command line of a run without a user, and
where the agent records its sessions. A subclass says what words can't. The arms differ in what stands before the
command, and in nothing else.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents import processes
from execledger.agents.access import Access
from execledger.agents.call_log import text_field
from execledger.agents.evaluation import (
    JOURNALS,
    RECORDED,
    SUBAGENTS,
    Batch,
    Failure,
    Instance,
    Needs,
    Problem,
    Setup,
    TaskResult,
    answer_of,
    container_needs,
    held,
    last_words,
    nested_settings,
    store,
    stored,
)
from execledger.agents.formats import find_recorded, read_run
from execledger.agents.plan_keys import PLACE
from execledger.agents.work_folder import NO_DOCKER, Contained, Home, WorkFolder, clear, opened, unprepared
from execledger.errors import LedgerError
from execledger.journal.events import BYPASSED
from execledger.journal.reader import read_journal
from execledger.runs.caching import usage
from execledger.runs.decoding import Undecodable, decode
from execledger.runs.prices import load_prices
from execledger.runs.recording import Run
from execledger.runs.usage import Tokens

EVENTS = "events.ndjson"
"""The file in a task's folder with what the agent printed: events, one JSON object per line."""
TIMED_OUT = "timed out"
"""How a run ended that took too long."""
_EVENT = msgspec.json.Decoder(dict[str, Any])
_NATIVE = b"\x7fELF"
"""How a program begins that needs no interpreter."""
_LONGEST = 400
"""Characters of a reason that are reported."""


class FailedEnd(NamedTuple):
    """An error that ended a run."""

    kind: Failure
    """Its kind."""
    details: str
    """What the agent says about it."""


class TaskRun(Struct, frozen=True, kw_only=True):
    """One run of a task."""

    batch: Batch
    """The batch that the task belongs to."""
    task: Instance
    """The task."""
    place: WorkFolder
    """Where the agent works."""
    session: str
    """A new identifier, for agents that take one for their session."""
    log_start: int = 0
    """The size of the batch's log when the run began: what precedes is of other runs."""

    @property
    def setup(self) -> Setup:
        """The agent and its settings."""
        return self.batch.setup

    @property
    def folder(self) -> Path:
        """The task's folder, for what is kept."""
        return self.batch.folder / self.task.instance_id

    @property
    def prompt(self) -> str:
        """The prompt; where runs are isolated by salts, it begins with one."""
        prompt: str = self.setup.keys["prompt"].replace(PLACE, self.task.problem_statement)
        salt = self.batch.salts.get(self.task.instance_id)
        # In the first paragraph: for a prompt without tags, Ledger takes that for the task.
        return f"Run {salt}. {prompt}" if salt else prompt

    def filled(self, word: str) -> str:
        """A word or pattern with the identifier and the folder of this run."""
        return word.format(session=self.session, own=self.place.own)

    def events(self) -> list[dict[str, Any]]:
        """What the agent reported; a line that is no event, or was cut off, is left out."""
        return [*decoded_events((self.folder / EVENTS).read_bytes().splitlines())]


class HeadlessRunner(Struct, frozen=True, kw_only=True):
    """The ``Runner`` of an agent without one of its own.

    In words and patterns ``{session}`` is a new identifier, ``{own}`` a folder for the run alone.
    """

    words: tuple[str, ...]
    """The command line behind the program; the prompt is put behind it."""
    records: tuple[str, ...]
    """Patterns of the files in which it records its session, below ``home``."""
    subagents: tuple[str, ...] = ()
    """Patterns of the files in which it records those of sub-agents."""
    home: Home | None = None
    """Where it keeps them; None for the run's own folder."""
    model: str = "--model"
    """The option for the model; "" if it takes none."""
    effort: str = ""
    """The option for the reasoning effort; "" if it takes none."""
    settings: str = ""
    """The option for further settings as JSON; "" if it takes none."""
    contained: Contained | None = None
    """What it needs in a container; None if it can't be run in one."""
    access: str = ""
    """The module whose function ``access`` looks for keys and sign-ins before an evaluation; "" to look for none."""
    api_errors: str = r"(?i)\bAPI error:"
    """A pattern that is found in those of its errors which the model's API has caused."""
    limits: frozenset[str] = frozenset()
    """How runs end that reached a limit of the agent's own, which is no failure."""
    limit_statuses: Mapping[int, str] = {}
    """Exit statuses of runs that reached such a limit, each with the agent's name for it."""

    def arguments(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program."""
        setup = run.setup
        own = msgspec.json.encode(nested_settings(setup.settings)).decode() if setup.settings else ""
        given = ((self.model, setup.model), (self.effort, setup.reasoning_effort), (self.settings, own))
        options = [word for option, value in given if option and value for word in (option, value)]
        *words, last = (run.filled(word) for word in self.words)
        return [*words, *options, last, run.prompt]

    def patterns(self, run: TaskRun, patterns: Sequence[str]) -> Sequence[str]:
        """The patterns of recorded files, for one run."""
        return [*map(run.filled, patterns)]

    def variables(self, run: TaskRun) -> Mapping[str, str]:
        """Variables of the agent's process, in addition to those of this one."""
        return {}

    def needed(self, batch: Batch) -> Sequence[Path]:
        """Files that a container is given, beside the program."""
        return ()

    def is_main(self, data: bytes) -> bool:
        """Whether a recorded session is the one of the run, and not one of a sub-agent in the same file."""
        return True

    def ended(self, run: TaskRun, recorded: Run, status: int) -> str:
        """How a run ended, in the agent's own word."""
        if status in self.limit_statuses:
            return self.limit_statuses[status]
        results = [event for event in run.events() if event.get("type") == "result"]
        result = results[-1] if results else {}
        word = text_field(result, "subtype") or text_field(result, "status")
        return "error" if result.get("is_error") and word == "success" else word or recorded.ended or f"status {status}"

    def model_problems(self, model: str) -> Sequence[Problem]:
        """What is certainly wrong with the name of a model; "" is the one of the agent's own configuration."""
        return ()

    def error_in(self, event: dict[str, Any]) -> str:
        """The message of an event that reports an error; "" for others."""
        return _error_in(event)

    def error(self, run: TaskRun, recorded: Run) -> FailedEnd | None:
        """The error that ended a run, as the agent reports it at the end; None if it reports none.

        An error after which the agent went on is not the end. This is for agents that print a last event ``result``.
        """
        results = [event for event in run.events() if event.get("type") == "result"]
        last = results[-1] if results else {}
        failed = last.get("is_error") or last.get("status") == "error"
        return self.classified(self.error_in(last)) if failed else None

    def classified(self, details: str) -> FailedEnd:
        """An error with its kind: one of the model's API, or another."""
        kind = Failure.API if re.search(self.api_errors, details) else Failure.OTHER
        return FailedEnd(kind, details or "the agent reports an error, and none of its details")

    def failure(self, run: TaskRun, recorded: Run, status: int | None) -> str:
        """What ended a run if it was not the agent: the kind of failure and details; "" otherwise."""
        if status is None:
            return Failure.TIMEOUT.because("the run reached the limit of time in the plan")
        if status in self.limit_statuses or self.ended(run, recorded, status) in self.limits:
            return ""
        found = self.error(run, recorded)
        if found is None and status:
            found = self.classified(f"ended with status {status}: {self._reason(run)}")
        return found.kind.because(found.details) if found is not None else ""

    def _reason(self, run: TaskRun) -> str:
        """The reason of a failure: the last error among the agent's events, else its last words."""
        said = [text for event in run.events() if (text := self.error_in(event))]
        return said[-1].strip()[:_LONGEST] if said else last_words(run.batch.log, run.log_start) or "it said nothing"

    # The port of evaluations

    def work(self, batch: Batch) -> dict[str, str]:
        """Run the tasks that the batch's folder does not hold yet, one after the other; why tasks are not finished."""
        troubles = {}
        with held(batch.folder) as lock:
            for task in batch.tasks:
                if processes.stopping.is_set():
                    break
                if stored(batch.folder / task.instance_id) is None:
                    try:
                        self._work(batch, task, lock)
                    except (LedgerError, OSError) as error:
                        troubles[task.instance_id] = str(error)
        return troubles

    def finished(self, folder: Path) -> TaskResult | None:
        """No agent of this kind leaves a result of its own."""
        return None

    def versions(self, setup: Setup) -> dict[str, str]:
        """The version of the agent, and that of our Python, which runs it; what can't be run is refused."""
        program = Path(setup.program)
        if setup.settings and not self.settings:
            hint = "put them into the agent's own files; every arm reads these"
            raise LedgerError(f"`settings` can't be given to {program.name} on its command line", hint=hint)
        if setup.reasoning_effort and not self.effort:
            hint = "put it into the agent's own settings; every arm reads these"
            raise LedgerError(f"`reasoning_effort` can't be given to {program.name} on its command line", hint=hint)
        if not setup.keys["repos"]:
            self._need_containable(program)
        return {program.name: answer_of([setup.program, "--version"]), "python": platform.python_version()}

    def needs(self, setup: Setup, tasks: Sequence[Instance]) -> Needs:
        """What runs need of this machine: containers of images, or prepared repositories."""
        if not setup.keys.get("repos") and self.contained is None:
            refused = self._uncontainable(Path(setup.program))
            return Needs(model=setup.model, problems=(Problem(refused.message, refused.hint),))
        problems = (*unprepared(setup, tasks), *self._without_access(setup), *self.model_problems(setup.model))
        return replace(container_needs(setup, tasks), problems=problems, model_checked=False)

    def _without_access(self, setup: Setup) -> Sequence[Problem]:
        """The problem of an agent without access to its model, as far as this machine's variables and files tell."""
        try:
            # Imported here: launchers know where keys are, and import the proxy.
            found: Access | None = import_module(self.access).access(setup, os.environ) if self.access else None
        except ModuleNotFoundError:
            # Without the proxy's packages only the arm base can be run, and nothing is known about its keys.
            return ()
        except LedgerError as error:
            return (Problem(error.message, error.hint),)
        return tuple(found.problems(Path(setup.program).name)) if found is not None else ()

    def system_template(self, setup: Setup) -> str:
        """No system prompt is changed: a salt is put before the task's prompt."""
        return ""

    def clear(self, setup: Setup, scratch: Path) -> None:
        """Remove what killed processes left; no other process works there."""
        clear(setup, scratch)

    def _uncontainable(self, program: Path) -> LedgerError:
        """Return the refusal of a plan for containers, for an agent that can't be run in one."""
        reason = f"{program.name} can't be run in containers: it needs more than its program, which images do not have"
        return LedgerError(reason, hint="give prepared repositories: --repos DIR")

    def _need_containable(self, program: Path) -> None:
        """Refuse a program that would not run in a container, before every run fails by it."""
        if self.contained is None:
            raise self._uncontainable(program)
        with program.open("rb") as file:
            if file.read(len(_NATIVE)) != _NATIVE:
                hint = f"name the native program of the package by `program`; {NO_DOCKER}"
                raise LedgerError(f"{program}: found a script, expected a program that needs nothing else", hint=hint)

    def _work(self, batch: Batch, task: Instance, lock: int) -> None:
        """Run one task, and store its result when everything else is kept."""
        folder = batch.folder / task.instance_id
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with opened(batch.setup, task, batch.scratch, self.contained, self.needed(batch)) as place:
            size = batch.log.stat().st_size if batch.log.exists() else 0
            run = TaskRun(batch=batch, task=task, place=place, session=str(uuid.uuid4()), log_start=size)
            before = place.snapshot()
            status = self._status(run, lock)
            patch = place.changes_since(before)
            self._keep(run)
        recorded = [_read(path) for part in (RECORDED, SUBAGENTS) for path in sorted((folder / part).glob("*"))]
        self._check_finished(run, recorded, status)
        model = batch.setup.model or recorded[0].model or Path(batch.setup.program).name
        store(
            folder,
            TaskResult(
                instance_id=task.instance_id,
                model_name_or_path=model,
                model_patch=patch,
                ended=TIMED_OUT if status is None else self.ended(run, recorded[0], status),
                cost=_cost(recorded, model),
                failure=self.failure(run, recorded[0], status),
            ),
        )

    def _check_finished(self, run: TaskRun, recorded: Sequence[Run], status: int | None) -> None:
        """Raise an error for a run that is none: killed, never answered by a model, or led past Ledger."""
        folder, log = run.folder, run.batch.log
        if status is not None and status < 0:
            raise LedgerError(f"the agent was ended by signal {-status} ({log})")
        if not (folder / RECORDED).is_dir() or not _answered(recorded[0]):
            how = "reached the limit of time" if status is None else f"ended with status {status}"
            raise LedgerError(f"the agent {how}: {self._reason(run)} ({log})")
        journals = [read_journal(str(path), path.read_bytes()) for path in (folder / JOURNALS).glob("*.jsonl")]
        ends = [journal.ended.reason if journal.ended is not None else "" for journal in journals]
        if run.batch.ledger and not any(reason != BYPASSED for reason in ends):
            raise LedgerError(f"no request of the agent reached Ledger, though its model has answered ({log})")

    def _status(self, run: TaskRun, lock: int) -> int | None:
        """Run the agent; its exit status, None if it took too long."""
        place, journals = run.place, run.folder / JOURNALS
        sealed = ("--sealed", "--witness", "off") if place.sealed else ()
        command = [*run.batch.around("--journal", str(journals), *sealed), place.program, *self.arguments(run)]
        # What a launcher writes for the agent must be there in a container, too.
        own = {"TMPDIR": str(place.own)} if place.sealed else {}
        with (run.folder / EVENTS).open("wb") as output, run.batch.log.open("ab") as errors:
            try:
                return processes.run(
                    command,
                    cwd=place.folder,
                    hold=lock,
                    output=output,
                    errors=errors,
                    variables={**own, **self.variables(run)},
                    timeout=run.setup.time_limit,
                )
            except subprocess.TimeoutExpired:
                return None

    def _keep(self, run: TaskRun) -> None:
        """Store the sessions that the agent recorded, each in one file."""
        root = run.place.own if self.home is None else self.home.folder
        for part, patterns in ((RECORDED, self.records), (SUBAGENTS, self.subagents)):
            copies = run.place.own / f"copies-{part}"
            run.place.copy(root, self.patterns(run, patterns), copies)
            self._store(run, copies, part)

    def _store(self, run: TaskRun, copies: Path, part: str) -> None:
        """Store the sessions in copies of the agent's files."""
        for source in find_recorded([str(copies)]):
            data, name = source.read(), source.name.rpartition("!")[2]
            folder = run.folder / (part if self.is_main(data) else SUBAGENTS)
            folder.mkdir(exist_ok=True)
            # A folder of events is named by the one that it is in.
            shown = Path(name) if Path(name).name != "events" else Path(name).parent
            (folder / (shown.name if shown.suffix else f"{shown.name}.jsonl")).write_bytes(data)


def decoded_events(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the events on these lines; a line that is no event, or was cut off, is left out."""
    for line in lines:
        with suppress(Undecodable, RecursionError):
            yield decode("", line, _EVENT, "")


def named_error(name: str, details: str) -> str:
    """An error's name and its details as one text; either may be missing."""
    return ": ".join(filter(None, (name, details)))


def _read(path: Path) -> Run:
    return read_run(str(path), path.read_bytes())


def _answered(recorded: Run) -> bool:
    """Whether a model has answered: some agents record a failed request as an answer that took nothing."""
    return bool(recorded.steps) or any(call.tokens.output != 0 for call in recorded.model_calls)


def _error_in(event: dict[str, Any]) -> str:
    """The message of an event that reports an error; "" for others."""
    error = event.get("error")
    places = ((error, "message"), (error, "data", "message"), (event, "message", "errorMessage"))
    found = next((text for place in places if (text := text_field(*place))), "")
    if not found and event.get("is_error"):
        found = text_field(event, "result")
    if not found and "error" in str(event.get("type") or event.get("kind")).lower():
        found = text_field(event, "data", "message") or text_field(event, "message") or text_field(event, "detail")
    return found or (error if isinstance(error, str) else "")


def _cost(recorded: Sequence[Run], model: str) -> float | None:
    """Dollars for all sessions of a run: as the agent recorded them, else by the price table; None if unknown."""
    found = [run.reported_cost or load_prices().cost(_tokens(run), run.model or model) for run in recorded]
    known = [cost for cost in found if cost is not None]
    return sum(known) if len(known) == len(found) else None


def _tokens(run: Run) -> Tokens | None:
    counted = usage(run)
    return None if counted.estimated else counted.total
