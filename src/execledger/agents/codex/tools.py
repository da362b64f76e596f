"""Codex's requests and tool calls, translated for the proxy: the ``Adapter`` of Codex.

It has no policy and does no I/O. The arguments of calls are read by ``calls``, the scripts of code mode by ``scripts``,
outputs by ``outputs``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from execledger.agents import shims
from execledger.agents.codex.calls import (
    ARGV_TOOLS,
    LOOKS,
    ShellCall,
    arguments,
    command_of,
    look_of,
    note_in,
    noted,
)
from execledger.agents.codex.outputs import observation_of, referenced, remarked
from execledger.agents.codex.scripts import SCRIPT_TOOL, Script, Shows, read_script
from execledger.agents.tool_table import place_of
from execledger.session.adapter import Asked, ToolCall
from execledger.vocabulary.actions import Action, Aside, Call, Command, OtherTool, Patch

_SESSION = ("session-id", "x-codex-parent-thread-id", "session_id", "conversation_id", "thread-id")
_THREAD = ("thread-id", "conversation_id", "session_id", "session-id")
"""Headers that name the session and the conversation; newer versions first."""
_METADATA = "x-codex-turn-metadata"
_SUBAGENT = "x-openai-subagent"
_HELPERS = frozenset(("compact", "guardian", "memory_consolidation"))
"""Sub-agents that do not work on the task: they sum up, judge approvals, or tidy Codex's memories."""
_COMPACTION = "You are performing a CONTEXT CHECKPOINT COMPACTION"
"""How the request for a summary begins, in the versions that don't say so otherwise."""
_VERSION = re.compile(r"codex(?:(?!codex)[\w-])*+/(\d[\w.+-]*)")
_PLACE = re.compile(r"\s*(?:# AGENTS\.md instructions.*?</INSTRUCTIONS>\s*)?<environment_context>", re.DOTALL)
"""How the message begins in which Codex tells where it is; words of the user that quote one do not."""
_TAGGED = re.compile(r"\s*<(?:\w+_(?:context|instructions|notification|mode|command)|turn_aborted|permissions|skill)\b")
"""The tags of Codex's own messages; a task in a tag of its own is a task."""
_EDITOR = "## My request for Codex:"
"""What an editor's extension puts between what it adds and what the user typed."""
_SUMMARY = "Another language model started to solve this problem"
_OWN = ("# AGENTS.md instructions", _SUMMARY, _COMPACTION)
"""How messages begin that Codex itself puts into the user's mouth."""


class _Metadata(Struct):
    """The fields of a turn's metadata that we look at."""

    request_kind: str = "turn"
    thread_source: str | None = None


def asked(headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
    """Who asks: from the request's headers, its cache key, and the text of its last item if a user says it."""
    named = _first(headers, _SESSION)
    session = named or cache_key
    thread = _first(headers, _THREAD) or session
    version = _VERSION.search(headers.get("user-agent", ""))
    turn = _asks_to_act(headers.get(_METADATA, "")) and not last.startswith(_COMPACTION)
    agent = f"codex {version[1]}" if version else "codex"
    return Asked(session, thread, turn, agent, headers.get(_SUBAGENT) in _HELPERS, named=bool(named))


def task_of(text: str) -> str:
    """The task that words of the user state; "" if these are Codex's own."""
    own = text.lstrip().startswith(_OWN) or _TAGGED.match(text)
    return "" if own else text.partition(_EDITOR)[2].strip() or text


def cwd_of(text: str) -> str | None:
    """Where commands start from here on, if this message is one that tells."""
    start = text.find("<cwd>") if _PLACE.match(text) else -1
    end = text.find("</cwd>", start)
    return text[start + len("<cwd>") : end].strip() or None if 0 <= start < end else None


def is_summary(text: str) -> bool:
    """Whether a message is a summary that Codex has put in place of its history."""
    return text.startswith(_SUMMARY)


def embedded_files(text: str) -> tuple[str, ...]:
    """None: Codex puts no files into its messages."""
    return ()


def cwd_after(call: ToolCall, parts: tuple[str, ...] | None, cwd: str | None) -> str | None:
    """Every command of Codex starts in the directory that its messages name."""
    return cwd


def own_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The text parts of a result; Codex adds no words of its own that change when it sends a result again."""
    return parts


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := headers.get(name))), "")


def _asks_to_act(metadata: str) -> bool:
    """The request is a turn of the agent, and not one for a summary or a title; one that does not say is a turn."""
    if not metadata:
        return True
    try:
        told = msgspec.json.decode(metadata, type=_Metadata)
    except msgspec.MsgspecError:
        return True
    return told.request_kind == "turn" and told.thread_source != "thread_title"


__all__ = [
    "action_of",
    "asked",
    "cwd_after",
    "cwd_of",
    "embedded_files",
    "is_summary",
    "observation_of",
    "own_parts",
    "referenced",
    "remarked",
    "shim_mark",
    "shim_of",
    "task_of",
]

PATCH_TOOL = "apply_patch"
"""The tool that takes a patch, as free text or as the argument ``input``."""
ASIDES = frozenset(
    "view_image update_plan request_user_input get_goal create_goal update_goal tool_search web_search "
    "wait_agent".split()
)
"""Tools that touch no file of the workspace; a sub-agent that is waited for tells of its own calls."""

_TEXT = re.compile(r'text\("([^"\\]*)"\);')


class _Patch(Struct, frozen=True):
    input: str


def action_of(call: ToolCall, cwd: str | None, thread: str = "") -> Action:
    """What ``call`` would do in ``cwd``; a call that is not certain has unknown effects."""
    script = _script_of(call)
    inner = call if script is None else script.call
    shell = command_of(inner)
    if shell is not None:
        return Action(shell.text, place_of(cwd, shell.workdir), _manner(shell, script), thread)
    return Action(f"{inner.name} {_spelled(inner)}", place_of(cwd, ""), _structured(inner), thread)


def _script_of(call: ToolCall) -> Script | None:
    """The script, if it makes one call and does nothing else."""
    return read_script(call.text) if call.custom and call.name == SCRIPT_TOOL else None


def _manner(shell: ShellCall, script: Script | None) -> Command | None:
    """How the output is shown, if not in the usual way."""
    shows = Shows.OUTPUT if script is None else script.shows
    words = [
        f"max_output_tokens={shell.budget:g}" if shell.budget is not None else "",
        "tty" if shell.tty else "",
        script.pragma if script is not None else "",
        shows.value if shows is not Shows.OUTPUT else "",
    ]
    manner = " ".join(filter(None, words))
    return Command(manner, shows is Shows.OUTPUT and not shell.tty) if manner else None


def _spelled(call: ToolCall) -> str:
    """The arguments in one fixed spelling."""
    value = None if call.custom else arguments(call.text, dict)
    return call.text if value is None else msgspec.json.encode(value, order="sorted").decode()


def _structured(call: ToolCall) -> Call:
    if call.name == PATCH_TOOL:
        given = _Patch(call.text) if call.custom else arguments(call.text, _Patch)
        return OtherTool() if given is None else Patch(given.input)
    if call.name in LOOKS and not call.custom:
        return look_of(call)
    name = call.name.removeprefix("multi_agent_v1.").removeprefix("collaboration.")
    return Aside() if name in ASIDES or shim_mark(call) is not None else OtherTool()


def shim_of(call: ToolCall, mark: str, words: str) -> ToolCall | None:
    """The call without effects that can take the place of ``call``; None if none can.

    It says ``words`` to a person who looks at Codex's own history, and carries ``mark``, by which we know it again.
    """
    note = shims.note(mark, words)
    if call.custom:
        script = _script_of(call)
        plain = script is not None and script.shows is Shows.OUTPUT and _is_plain(script.call)
        return ToolCall(call.name, f'text("{note}");', custom=True) if plain else None
    given: dict[str, object]
    if call.name in LOOKS:
        given = noted(call.name, note)
    elif call.name in ARGV_TOOLS:
        given = {"command": ["echo", note]}
    else:
        given = {"cmd" if call.name == "exec_command" else "command": shims.echo(note)}
    swappable = call.name in LOOKS or (call.name != "local_shell" and _is_plain(call))
    return ToolCall(call.name, msgspec.json.encode(given).decode()) if swappable else None


def _is_plain(call: ToolCall) -> bool:
    """It runs a command, outside of any terminal."""
    command = command_of(call)
    return command is not None and not command.tty


def shim_mark(call: ToolCall) -> str | None:
    """The mark in a call that looks like a shim; None in any other."""
    return shims.mark_in(_noted(call))


def _noted(call: ToolCall) -> str:
    """The text that a call does nothing but print, or is refused for; "" if it does anything else."""
    if call.custom:
        match = _TEXT.fullmatch(call.text) if call.name == SCRIPT_TOOL else None
        return match[1] if match else ""
    given = arguments(call.text, dict)
    if given is not None and call.name in LOOKS:
        return note_in(call.name, given)
    if given is None or len(given) != 1:
        return ""
    value = given.get("cmd" if call.name == "exec_command" else "command")
    if isinstance(value, list):
        return value[1] if len(value) == 2 and value[0] == "echo" and isinstance(value[1], str) else ""
    return shims.echoed(value)
