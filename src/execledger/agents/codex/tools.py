"""Codex's tool calls as actions: what a call would do, what came back, and what can take its place.

A pure adapter, without policy or I/O. ``codex_commands`` knows the shell tools, ``codex_looks`` the tools that look at
files, ``codex_scripts`` the scripts of code mode, ``codex_outputs`` the answers, ``codex_requests`` what a request
tells about itself.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from execledger.agents.codex.commands import ARGV_TOOLS, ShellCall, arguments, command_of, place
from execledger.agents.codex.looks import LOOKS, look_of, note_in, noted
from execledger.agents.codex.outputs import observation_of, referenced, remarked
from execledger.agents.codex.requests import asked, cwd_of, task_of
from execledger.agents.codex.scripts import SCRIPT_TOOL, Script, Shows, read_script
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Action, Aside, Call, Command, OtherTool, Patch

__all__ = [
    "action_of",
    "asked",
    "cwd_of",
    "observation_of",
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
MAX_WORDS = 160
"""Characters of the words in a shim."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._/:,=+-]+")
_NOTE = re.compile(r"\[ledger:([\w-]{1,64})\] [A-Za-z0-9 ._/:,=+-]*", re.ASCII)
_ECHO = re.compile(r"echo '([^']*)'")
_TEXT = re.compile(r'text\("([^"\\]*)"\);')


class _Patch(Struct, frozen=True):
    input: str


def action_of(call: ToolCall, cwd: str | None, thread: str = "") -> Action:
    """What ``call`` would do in ``cwd``; a call that is not certain has unknown effects."""
    script = _script_of(call)
    inner = call if script is None else script.call
    shell = command_of(inner)
    if shell is not None:
        return Action(shell.text, place(cwd, shell.workdir), _manner(shell, script), thread)
    return Action(f"{inner.name} {_spelled(inner)}", place(cwd, ""), _structured(inner), thread)


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
    note = f"[ledger:{mark}] {_UNSAFE.sub(' ', words)[:MAX_WORDS].strip()}"
    assert _NOTE.fullmatch(note), f"no mark for a shim: {mark!r}"
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
        given = {"cmd" if call.name == "exec_command" else "command": f"echo '{note}'"}
    swappable = call.name in LOOKS or (call.name != "local_shell" and _is_plain(call))
    return ToolCall(call.name, msgspec.json.encode(given).decode()) if swappable else None


def _is_plain(call: ToolCall) -> bool:
    """It runs a command, outside of any terminal."""
    command = command_of(call)
    return command is not None and not command.tty


def shim_mark(call: ToolCall) -> str | None:
    """The mark in a call that looks like a shim; None in any other."""
    match = _NOTE.fullmatch(_noted(call))
    return match[1] if match else None


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
    match = _ECHO.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else ""
