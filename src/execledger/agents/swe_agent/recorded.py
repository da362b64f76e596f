"""Runs of SWE-agent, ``.traj`` files.

Version 0 works with a viewer that has a state: which file is open, and where in it. What it shows can't be told from
the command, so nothing is claimed of it. Version 1 may do the same, or use an editor that takes whole paths. Before
version 1 the state beside a step is that before the step, since then it is that behind it.

The editor shows tabs as spaces, so what it showed is no proof of what a command would print: such a run does not count
as sealed, although it ran in a container.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder

from execledger.agents.formats import Format
from execledger.runs.decoding import decode, instance_of, joined_text, seconds_of, text_of, trimmed
from execledger.runs.editor import EditorCall, editor_call, viewed
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies, windowed
from execledger.runs.usage import ModelCall, model_call
from execledger.vocabulary import actions
from execledger.vocabulary.actions import Action, Aside, Call, Edit, Observation, Read, Search, Write

VIEWERS = frozenset("open goto scroll_up scroll_down set_cursors".split())
"""Commands that move the viewer and show what is under it."""
SEARCHES = frozenset(("search_dir", "search_file", "find_file"))
"""Commands that search; ``search_file`` without a file searches the open one."""
EDITS = frozenset(("edit", "insert"))
"""Commands that change the open file."""
EDITOR = "str_replace_editor"
"""The command that takes whole paths."""
WINDOW = 5
"""Results that the model is shown where the run does not tell: older ones are left out by the usual configuration."""
MAX_OBSERVATION = 100_000
"""Characters of a result that the model is shown."""

_NOT_RUN = re.compile(r"\s*+(?:exit_\w+|skip)?\s*+")
"""The action of a step that ran nothing."""
_TIMED_OUT = re.compile(
    r"\s*EXECUTION TIMED OUT|\s*The command .{0,20000} was cancelled because it took more than|.{0,200}\bEXIT_TIMEOUT",
    re.DOTALL,
)
_EDIT_TEXT = re.compile(r"edit [^\n]*\n(.*?)\n?end_of_edit\s*\Z", re.DOTALL)


class _State(Struct, frozen=True):
    open_file: str | None = None
    working_dir: str | None = None


class _Entry(Struct, frozen=True):
    """A step of the trajectory."""

    action: str = ""
    observation: str | None = None
    thought: Any = None
    execution_time: Any = None
    state: str | dict[str, Any] | None = None


class _Stats(Struct, frozen=True):
    instance_cost: float | None = None
    total_cost: float | None = None
    tokens_sent: float | None = None
    tokens_received: float | None = None
    api_calls: int | None = None


class _Info(Struct, frozen=True):
    exit_status: str | None = None
    model_stats: _Stats | None = None
    swe_agent_version: str | None = None


class _Message(Struct, frozen=True):
    role: str | None = None
    content: Any = None
    is_demo: bool | None = None


_ENTRIES, _INFO, _HISTORY = Decoder(list[_Entry]), Decoder(_Info | None), Decoder(list[_Message] | None)
_STATE, _ANY, _NULL = Decoder(_State), Decoder(Any), Raw(b"null")


def is_trajectory(fields: Mapping[str, Raw]) -> bool:
    """These are the fields of a SWE-agent run."""
    return "trajectory" in fields and bool(fields.keys() & {"history", "info", "environment", "replay_config"})


def read_traj(name: str, fields: Mapping[str, Raw]) -> Run:
    """Read a run from its top-level fields."""
    entries = decode(name, fields["trajectory"], _ENTRIES, "trajectory")
    info = decode(name, fields.get("info", _NULL), _INFO, "info") or _Info()
    history = decode(name, fields.get("history", _NULL), _HISTORY, "history") or []
    config = _config(decode(name, fields.get("replay_config", _NULL), _ANY, "replay_config"))
    steps = tuple(_steps(entries))
    stats = info.model_stats or _Stats()
    window = _window(config)
    return Run(
        name=name,
        format="swe-agent",
        agent=f"swe-agent {info.swe_agent_version or ''}".rstrip(),
        model=_text(_at(config, "agent", "model", "name")),
        task=next((text_of(one.content) for one in history if one.role == "user" and not one.is_demo), ""),
        container=False,
        turns=stats.api_calls or len(entries),
        steps=steps,
        compactions=windowed(window, len(steps)) if window else (),
        totals=_totals(stats),
        replies=told_replies(ModelReply(joined_text(entry.thought)) for entry in entries),
        instance=instance_of(name, _at(config, "problem_statement", "id")),
        ended=info.exit_status or "",
    )


def _steps(entries: list[_Entry]) -> Iterator[Recorded]:
    before: _State | None = None
    for turn, entry in enumerate(entries):
        state = _state(entry.state)
        # A state in a string is that before the step; one that is an object is that behind it.
        here = (state if isinstance(entry.state, str) else before) or _State()
        before = state
        if entry.observation is not None and not _NOT_RUN.fullmatch(entry.action):
            action = _action(entry.action.strip(), here)
            # Some versions keep the line breaks of the terminal that it ran in.
            observation = _observation(action, entry.observation.replace("\r\n", "\n"))
            yield Recorded(action, observation, turn, seconds=seconds_of(entry.execution_time))


def _state(value: str | dict[str, Any] | None) -> _State | None:
    try:
        return _STATE.decode(value) if isinstance(value, str) else msgspec.convert(value, _State)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _action(text: str, here: _State) -> Action:
    """What was asked for: a command of the agent's own, or of the shell."""
    cwd = here.working_dir if (here.working_dir or "").startswith("/") else None
    command = text.split(maxsplit=1)[0]
    if command not in {*VIEWERS, *SEARCHES, *EDITS, EDITOR, "create", "submit"}:
        return Action(text, cwd)
    return Action(text, cwd, _own(command, text, here))


def _own(command: str, text: str, here: _State) -> Call:
    """What a command of the agent's own would do."""
    words = _words(text)
    if command in EDITS:
        # Its text need not be of the shell's form; which file it changes is in the state.
        replaced = _EDIT_TEXT.match(text)
        is_open = (here.open_file or "").startswith("/")
        return Edit(here.open_file or "", new=replaced[1] if replaced else "") if is_open else actions.OtherTool()
    if words is None or len(words) < 2:
        return Aside() if command in VIEWERS else actions.OtherTool()
    if command == EDITOR:
        given = _editor_call(words[1:])
        return actions.OtherTool() if given is None else editor_call(given)
    if command in VIEWERS or (command == "search_file" and len(words) < 3):
        return Aside()
    return Write(words[1]) if command == "create" else Search() if command in SEARCHES else actions.OtherTool()


def _words(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _editor_call(words: list[str]) -> EditorCall | None:
    """The arguments of the editor, written like those of a program."""
    left, plain = iter(words), list[str]()
    given: dict[str, Any] = {}
    for word in left:
        if word == "--view_range":
            given["view_range"] = list(islice(left, 2))
        elif word in ("--file_text", "--old_str", "--new_str", "--insert_line"):
            given[word.removeprefix("--")] = next(left, None)
        else:
            plain.append(word)
    if len(plain) != 2:
        return None
    try:
        return msgspec.convert({**given, "command": plain[0], "path": plain[1]}, EditorCall, strict=False)
    except msgspec.ValidationError:
        return None


def _observation(action: Action, text: str) -> Observation:
    """What came back; the run keeps all of it, the model is shown no more than a part."""
    if _TIMED_OUT.match(text):
        return Observation(text, timed_out=True)
    if len(text) > MAX_OBSERVATION:
        return Observation(text, truncated=True)
    if isinstance(action.call, Read):
        return viewed(action.call, text)
    return trimmed(action, Observation(text))


def _config(value: object) -> object:
    """The configuration, which some versions keep as text."""
    if not isinstance(value, str):
        return value
    try:
        return _ANY.decode(value)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _at(value: object, *keys: str) -> object:
    """The value under these keys; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _window(config: object) -> int | None:
    """How many results the model was shown; None for all of them."""
    processors = _at(config, "agent", "history_processors")
    if not isinstance(processors, list):
        return WINDOW
    sizes = [_at(one, "n") for one in processors if _at(one, "type") == "last_n_observations"]
    return next((max(size, 1) for size in sizes if isinstance(size, int)), WINDOW) if sizes else None


def _totals(stats: _Stats) -> ModelCall | None:
    """All calls together; a run without a model counted nothing."""
    said = {"prompt_tokens": stats.tokens_sent, "completion_tokens": stats.tokens_received}
    cost = stats.instance_cost if stats.instance_cost is not None else stats.total_cost
    return model_call(said, cost) if stats.tokens_sent or cost else None


FORMATS = (
    Format(
        kind="object",
        recognises=lambda file: is_trajectory(file.fields),
        read=lambda file: read_traj(file.name, file.fields),
    ),
)
"""The formats of SWE-agent's records."""
