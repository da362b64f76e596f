"""OpenHands' tools, of both generations: what a call would do, and what came back."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from execledger.agents.openhands.events import Event
from execledger.runs.decoding import spelled, text_of, trimmed
from execledger.runs.editor import EditorCall, editor_call, viewed
from execledger.vocabulary import actions
from execledger.vocabulary.actions import Action, Aside, Call, Edit, Observation, Patch, Read, Search, Write

SHELLS = frozenset(("run", "execute_bash", "terminal", "bash"))
"""Tools that run a command in the one shell of the session."""
EDITORS = frozenset(("edit", "file_editor", "str_replace_editor", "planning_file_editor"))
"""Tools that look at and change files; ``read`` is the looking part of the older ones."""
SEARCHES = frozenset(("grep", "glob", "list_directory", "read_file"))
"""Tools that look, in a form of their own."""
ASIDES = frozenset("think finish task_tracker task_tracking browse browse_interactive reject".split())
"""Tools that touch no file of the workspace."""
FORGETS = frozenset(("condensation", "Condensation"))
"""Events that take earlier results out of the model's sight; some of them or all, which is not asked."""
NO_CALLS = frozenset("message system recall change_agent_state condensation_request null start_hook stop_hook".split())
"""Actions that call no tool."""
MAX_OUTPUT = 30_000
"""Characters of a result that the model is shown."""
_BESIDE = frozenset("thought security_risk summary confirmation_state hidden blocking kind impl_source".split())
"""Arguments that say nothing about what is done."""
FOREIGN_SHELLS = frozenset(("bash", "bash_command", "shell", "exec_command", "run_shell_command"))
"""Tools that run a shell command, in most agents."""
_MARK = "\n[... Observation truncated due to length ...]\n"
_CLIPPED = "<response clipped>"


class _Command(Struct, frozen=True):
    command: str
    is_input: bool | None = None
    reset: bool | None = None
    cwd: str | None = None


class _Viewed(Struct, frozen=True):
    path: str
    view_range: list[int] | None = None
    impl_source: str | None = None


class _Edited(Struct, frozen=True):
    path: str | None = None
    file_path: str | None = None
    content: str | None = None
    old_string: str | None = None
    new_string: str | None = None


class _Patched(Struct, frozen=True):
    patch: str


class _Metadata(Struct, frozen=True):
    """What is known of a command besides its output."""

    exit_code: int | None = None
    working_dir: str | None = None
    prefix: str | None = None
    suffix: str | None = None


class _Result(Struct, frozen=True):
    """The result of a tool; older events keep some of it among their extras."""

    content: Any = None
    output: Any = None
    is_error: bool | None = None
    exit_code: int | None = None
    timeout: bool | None = None
    metadata: _Metadata | None = None


def action_of(name: str, given: object, cwd: str | None) -> Action:
    """What a call would do; arguments that do not fit their tool make it a call of unknown effects."""
    try:
        if name in SHELLS:
            shell = msgspec.convert(given, _Command, strict=False)
            if not (shell.is_input or shell.reset or not shell.command.strip()):
                return Action(shell.command, shell.cwd or cwd)
        call = _call(name, given)
    except msgspec.ValidationError:
        call = actions.OtherTool()
    if isinstance(given, dict):
        given = {key: value for key, value in given.items() if key not in _BESIDE and value is not None}
    return Action(f"{name} {spelled(given)}", cwd, call)


def _call(name: str, given: object) -> Call:
    """The structured call of any tool but the shell."""
    if name == "read":
        look = msgspec.convert(given, _Viewed)
        plain = look.impl_source != "oh_aci"
        return Search() if plain else editor_call(EditorCall("view", look.path, view_range=look.view_range))
    if name in EDITORS and isinstance(given, dict) and given.get("command"):
        return editor_call(msgspec.convert(given, EditorCall, strict=False))
    if name in ("edit", "write", "write_file"):
        edit = msgspec.convert(given, _Edited)
        path = edit.path or edit.file_path
        if not path:
            return actions.OtherTool()
        new = edit.content or edit.new_string or ""
        return Edit(path, edit.old_string or "", new) if name == "edit" else Write(path, new)
    if name == "apply_patch":
        return Patch(msgspec.convert(given, _Patched).patch)
    browses = name.startswith("browser_") or name in ASIDES
    return Search() if name in SEARCHES else Aside() if browses else actions.OtherTool()


def observed(action: Action, event: Event) -> Observation:
    """What came back from a call."""
    if event.error is not None or event.rejection_reason is not None:
        return Observation(event.error or event.rejection_reason or "", failed=True)
    result = _result(event)
    text = text_of(result.content) or text_of(result.output)
    if result.is_error or event.observation in ("error", "user_rejected"):
        return Observation(text, failed=True)
    if isinstance(action.call, Read):
        return viewed(action.call, text)
    if event.observation == "run" or result.metadata is not None:
        return trimmed(action, _of_shell(result, text))
    return _shown(text)


def _of_shell(result: _Result, text: str) -> Observation:
    """The result of a command; -1 is the status of one that has not ended."""
    about = result.metadata or _Metadata()
    status = about.exit_code if about.exit_code is not None else result.exit_code
    running = status == -1 or bool(result.timeout)
    shown = _shown(text)
    return Observation(
        shown.output,
        notice=(about.suffix or "").strip(),
        exit_status=None if running else status,
        cut=shown.cut,
        # Without more about it, the shell's prompt is part of the output; with something before it, so does another's.
        truncated=shown.truncated or result.metadata is None or bool((about.prefix or "").strip()),
        timed_out=running,
    )


def _shown(text: str) -> Observation:
    """The text without the mark of what was left out."""
    head, mark, tail = text.partition(_MARK)
    if mark and _MARK not in tail:
        return Observation(head + tail, cut=len(head), truncated=True)
    return Observation(text, truncated=bool(mark) or _CLIPPED in text or len(text) > MAX_OUTPUT)


def place_of(event: Event) -> str | None:
    """Where the shell is behind a command, if the result of one tells."""
    directory = (_result(event).metadata or _Metadata()).working_dir
    return directory if (directory or "").startswith("/") else None


def _result(event: Event) -> _Result:
    """The result in an event of either generation; parts that are not of the known form are left out."""
    given = event.observation if isinstance(event.observation, dict) else event.extras
    try:
        known = msgspec.convert(given if isinstance(given, dict) else {}, _Result, strict=False)
    except msgspec.ValidationError:
        known = _Result()
    return known if isinstance(event.observation, dict) else msgspec.structs.replace(known, content=event.content)
