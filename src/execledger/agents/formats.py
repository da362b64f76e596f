"""Choosing the reader of a recorded run by what is in it, never by its name."""

from __future__ import annotations

import os
import stat
from typing import NoReturn

from msgspec import Raw

from execledger.agents.claude import tools as claude_tools
from execledger.agents.claude.recorded import is_transcript, read_transcript
from execledger.agents.codex.recorded import is_rollout, read_rollout
from execledger.agents.mini.recorded import is_mini, read_list, read_trajectory
from execledger.agents.openhands import tools as openhands_tools
from execledger.agents.openhands.events import is_event_lines, is_event_list
from execledger.agents.openhands.recorded import read_event_lines, read_event_list, read_instance
from execledger.agents.swe_agent.recorded import is_trajectory, read_traj
from execledger.errors import UnreadableRun
from execledger.journal.folder import edits_file
from execledger.journal.reader import is_journal
from execledger.runs.atif import is_interchange, read_interchange
from execledger.runs.decoding import FIELDS, TOO_LARGE, decode, fields_of
from execledger.runs.find import is_instance
from execledger.runs.journals import read_as_run
from execledger.runs.recording import Run
from execledger.runs.spans import is_spans, read_spans
from execledger.session.adapter import Resolve, ToolCall
from execledger.vocabulary.actions import Action

_KEYS_SHOWN = 8
_SHELLS = frozenset(("bash", "bash_command", "shell", "exec_command", "run_shell_command"))
"""Tools that run a shell command, in most agents."""
_EXPECTED = "a run of mini-swe-agent, SWE-agent, OpenHands, Codex, Claude Code or Vorflux, or one in ATIF"


def read_run(source_name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read one recorded run; raises ``UnreadableRun``, and nothing else, for whatever can't be read.

    ``resolve`` knows the calls that shims in a rollout stand for.
    """
    try:
        return _read(source_name, data, resolve)
    except RecursionError as error:
        raise UnreadableRun(source_name, "found values nested too deeply, expected a recorded run") from error
    except MemoryError as error:
        raise UnreadableRun(source_name, TOO_LARGE) from error


def _read(source_name: str, data: bytes, resolve: Resolve | None) -> Run:
    """Read a run of any known format."""
    if not data.strip():
        raise UnreadableRun(source_name, "found an empty file, expected a recorded run")
    if data.lstrip().startswith(b"["):
        return read_event_list(source_name, data) if is_event_list(data) else read_list(source_name, data)
    if is_journal(data):
        return read_as_run(source_name, data)
    if is_rollout(data):
        return read_rollout(source_name, data, resolve)
    if is_transcript(data):
        return read_transcript(source_name, data)
    if is_event_lines(data):
        return read_event_lines(source_name, data)
    return _read_object(source_name, data)


def _read_object(name: str, data: bytes) -> Run:
    """Read a run that is kept as one object, chosen by the object's fields."""
    first, _, rest = data.lstrip().partition(b"\n")
    if rest.strip() and (lines := fields_of(first)):
        _unknown(name, lines, "lines of JSON, the first of them ")
    fields = decode(name, data, FIELDS, "")
    if is_mini(fields):
        return read_trajectory(name, fields)
    if is_spans(fields):
        return read_spans(name, fields)
    if is_interchange(fields):
        return read_interchange(name, fields, _interchange_action)
    if "trajectory" in fields and is_event_list(fields["trajectory"]):
        return read_event_list(name, fields["trajectory"], "trajectory")
    if is_trajectory(fields):
        return read_traj(name, fields)
    if is_instance(fields):
        return read_instance(name, data, fields)
    _unknown(name, fields)


def _unknown(name: str, fields: dict[str, Raw], what: str = "") -> NoReturn:
    """Say what was found where no format fits."""
    keys = ", ".join(sorted(fields)[:_KEYS_SHOWN]) + (", ..." if len(fields) > _KEYS_SHOWN else "")
    found = f"an object with the keys {keys}" if keys else "an empty object"
    raise UnreadableRun(name, f"found {what}{found}, expected {_EXPECTED}")


def _interchange_action(agent: str, tool: str, arguments: object) -> Action:
    """The action that a call proposes, by the tools of the agent that made it."""
    if "claude" in agent:
        return claude_tools.action_of(tool, arguments, None)
    return openhands_tools.action_of("execute_bash" if tool in _SHELLS else tool, arguments, None)


def shim_resolver() -> Resolve | None:
    """A function that finds the calls that shims in an agent's own records replaced; None without stored edits."""
    try:
        if not stat.S_ISREG(os.stat(edits_file()).st_mode):
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    from execledger.proxy.edits import EditStore

    store = EditStore(edits_file())

    def original(mark: str) -> ToolCall | None:
        edit = store.call(mark)
        return None if edit is None else edit.original

    return original
