"""Reading recorded runs: the format is recognised by what is in a file, never by the file's name.

Every agent's package registers the formats of its own records. Those that belong to no agent are listed here: Ledger's
journals, the spans of Vorflux, and the interchange format ATIF.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from typing import Literal, NoReturn

from msgspec import Raw, Struct
from msgspec.structs import replace

from execledger.agents import registry
from execledger.errors import LedgerError, UnreadableRun
from execledger.journal.folder import edits_file
from execledger.journal.migrate import NewerVersion
from execledger.journal.reader import MAX_MODEL_CALLS, is_journal
from execledger.runs.atif import is_interchange, read_interchange
from execledger.runs.decoding import FIELDS, TOO_DEEP, TOO_LARGE, decode, fields_of, reader_fault
from execledger.runs.find import NOTHING_KEPT, Kept, Records, Source, find_runs
from execledger.runs.harbor_trials import kept_in_job, records_of
from execledger.runs.journals import read_as_run
from execledger.runs.recording import Run
from execledger.runs.spans import is_spans, read_spans
from execledger.session.adapter import Resolve, ToolCall
from execledger.vocabulary.actions import Action, Observation

_KEYS_SHOWN = 8


class Recording:
    """A file with a recorded run, of a format that is still to be recognised."""

    def __init__(self, name: str, data: bytes, resolve: Resolve | None = None) -> None:
        """The content of the file ``name``; ``resolve`` finds the calls that shims in it replaced."""
        self.name = name
        """The file, as messages name it."""
        self.data = data
        """Its content."""
        self.resolve = resolve
        """Finds the calls that shims replaced; None if there are none."""

    @cached_property
    def fields(self) -> dict[str, Raw]:
        """The fields of a file that is one object."""
        return decode(self.name, self.data, FIELDS, "")


class Format(Struct, frozen=True, kw_only=True):
    """A format of recorded runs."""

    kind: Literal["list", "lines", "object"]
    """A list, one object per line, or one object; formats are tried in this order of kinds."""
    recognises: Callable[[Recording], bool]
    """Whether a file is in this format; the fields of a file are known only for the kind ``object``."""
    read: Callable[[Recording], Run]
    """Reads the run."""
    fallback: bool = False
    """It is tried after all others of its kind."""


OWN = (
    Format(
        kind="lines",
        recognises=lambda file: is_journal(file.data),
        read=lambda file: read_as_run(file.name, file.data),
    ),
    Format(
        kind="object",
        recognises=lambda file: is_spans(file.fields),
        read=lambda file: read_spans(file.name, file.fields),
    ),
    Format(
        kind="object",
        recognises=lambda file: is_interchange(file.fields),
        read=lambda file: read_interchange(file.name, file.fields, ConvertedCalls),
    ),
)
"""The formats that belong to no agent."""


def read_run(source_name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read one recorded run; raises ``UnreadableRun``, and nothing else, for whatever can't be read.

    A fault of Ledger's own in a reader is a ``ReaderFault``, which is one too.

    ``resolve`` finds the calls that shims in a record replaced.
    """
    try:
        run = _read(Recording(source_name, data, resolve))
        if run.turns > MAX_MODEL_CALLS:
            expected = f"expected at most {MAX_MODEL_CALLS:,} in one recorded run"
            raise UnreadableRun(source_name, f"found {run.turns:,} calls of the model, {expected}")
        return run
    except UnreadableRun:
        raise
    except LedgerError as error:
        raise UnreadableRun(source_name, error.message, hint=error.hint) from error
    except RecursionError as error:
        raise UnreadableRun(source_name, f"{TOO_DEEP}, expected a recorded run") from error
    except MemoryError as error:
        raise UnreadableRun(source_name, TOO_LARGE) from error
    # A fault of ours costs one run: the next ones are read.
    except Exception as error:
        raise reader_fault(source_name, error) from error


def _read(file: Recording) -> Run:
    """Read a run in the first format that recognises it."""
    if not file.data.strip():
        raise UnreadableRun(file.name, "found an empty file, expected a recorded run")
    if file.data.lstrip().startswith(b"["):
        run = _first(file, "list")
        assert run is not None, "every list is taken for a list of messages"
        return run
    return _first(file, "lines") or _read_object(file)


def _read_object(file: Recording) -> Run:
    """Read a run that is kept as one object."""
    first, _, rest = file.data.lstrip().partition(b"\n")
    if rest.strip() and (fields := fields_of(first)):
        _unknown(file.name, fields, "lines of JSON, the first of them ")
    return _first(file, "object") or _unknown(file.name, file.fields)


def _first(file: Recording, kind: str) -> Run | None:
    """The run as the first format of a kind reads it that recognises the file; None if none does."""
    tried = sorted((one for one in _formats() if one.kind == kind), key=lambda one: one.fallback)
    return next((one.read(file) for one in tried if one.recognises(file)), None)


def _formats() -> Iterator[Format]:
    """Every format, those of no agent first."""
    yield from OWN
    for agent in registry.agents():
        if agent.formats:
            yield from agent.part("formats")


@cache
def kept() -> Kept:
    """What the registered agents keep beyond one file for each run."""
    told: list[Kept] = [agent.part("kept") for agent in registry.agents() if agent.kept]
    return Kept(
        bundles=tuple(bundle for one in told for bundle in one.bundles),
        folders=tuple(folder for one in told for folder in one.folders),
        beside=frozenset().union(*(one.beside for one in told)),
        trial=trial_records,
        in_job=kept_in_job,
    )


def trial_records(folder: str, read: Callable[[str, bytes], Run] = read_run) -> Records | None:
    """The records of a trial of Harbor; None if a folder is not one."""
    in_trial = replace(kept(), trial=NOTHING_KEPT.trial)
    return records_of(folder, lambda path: find_runs([path], kept=in_trial), read)


def find_recorded(
    paths: Iterable[str], wanted: Callable[[str], bool] = lambda _: True, skipped: Counter[str] | None = None
) -> Iterator[Source]:
    """Every source at or under these paths, with what is known of the files that agents keep."""
    return find_runs(paths, wanted, skipped, kept())


def _unknown(name: str, fields: dict[str, Raw], what: str = "") -> NoReturn:
    """Raise the error for a file that no format recognises."""
    keys = ", ".join(sorted(fields)[:_KEYS_SHOWN]) + (", ..." if len(fields) > _KEYS_SHOWN else "")
    found = f"an object with the keys {keys}" if keys else "an empty object"
    known = ", ".join(agent.name for agent in registry.agents() if agent.formats)
    raise UnreadableRun(name, f"found {what}{found}, expected a run of {known} or Vorflux, or one in ATIF")


class ConvertedCalls:
    """Reads the calls of a run that another program converted, with the tools of the agent that it names."""

    def __init__(self, agent: str, cwd: str | None) -> None:
        """A run of the agent that is called so, started in ``cwd``; unknown agents are read as OpenHands."""
        named = registry.agent_named(agent)
        found = named if named is not None and named.tool_calls() is not None else registry.agent_of("openhands")
        assert found is not None, "OpenHands is registered"
        calls = found.tool_calls()
        assert calls is not None, "OpenHands has tools"
        self._agent, self._calls, self._cwd = found, calls, cwd
        self._framed = re.compile(found.framed) if found.framed else None

    def says(self, text: str) -> str:
        """Take in a message that is not the model's; gives the task that it states, "" if it states none."""
        self._cwd = self._calls.cwd_of(text) or self._cwd
        return self._calls.task_of(text)

    def calls(self, tool: str, arguments: object, result: str) -> tuple[Action, Observation]:
        """Take in a call with its result, of which something is claimed only if it has the agent's own marks."""
        call = self._agent.call_of(tool, arguments)
        action = self._calls.action_of(call, self._cwd)
        kept = (result,) if self._framed is not None and self._framed.match(result) else None
        self._cwd = self._calls.cwd_after(call, kept, self._cwd)
        if kept is None:
            return action, Observation(result, truncated=True)
        return action, self._calls.observation_of(call, kept)


def shim_resolver() -> Resolve | None:
    """A function that finds the calls that shims in an agent's own records replaced; None without stored edits."""
    try:
        if not stat.S_ISREG(os.stat(edits_file()).st_mode):
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    from execledger.proxy.edits import EditStore

    # Opened for the first shim: a store that can't be read is an error only for the runs that need it.
    @cache
    def store() -> EditStore:
        try:
            return EditStore(edits_file())
        except NewerVersion as error:
            raise UnreadableRun(str(edits_file()), error.message, hint=error.hint) from error

    def original(mark: str) -> ToolCall | None:
        edit = store().call(mark)
        return None if edit is None else edit.original

    return original
