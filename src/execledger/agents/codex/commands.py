"""The shell commands among Codex's tool calls: every version has its own tool, with arguments of its own."""

from __future__ import annotations

import posixpath
import shlex
from typing import TypeVar

import msgspec
from msgspec import Struct

from execledger.session.adapter import ToolCall
from execledger.shell.paths import PARENT, resolve

ARGV_TOOLS = ("shell", "container.exec", "local_shell")
"""Tools whose command is a list of words."""
COMMAND_TOOLS = ("exec_command", "shell_command", *ARGV_TOOLS)
"""Tools that run a shell command."""
PATIENCE = 10.0
"""Seconds that ``exec_command`` waits for the end of a command, unless it is told otherwise."""
SHELLS = frozenset("bash sh zsh dash ksh".split())
"""Shells whose language we read."""
SHORTEST, LONGEST = 0.25, 30.0
"""What Codex makes of any other waiting time, in seconds."""

T = TypeVar("T")


class ShellCall(Struct, frozen=True):
    """A shell command that a call asks for, and how it is to be run."""

    text: str
    """The command."""
    workdir: str = ""
    """Where it starts, as the call names it; "" for where the session is."""
    tty: bool = False
    """It runs in a terminal: its output has other line ends, and may have colours and prompts."""
    patience: float = PATIENCE
    """After so many seconds a command that still runs is reported as it stands."""
    budget: float | None = None
    """How many tokens of its output are shown, if the call says it."""


class _Exec(Struct, frozen=True):
    cmd: str
    workdir: str | None = None
    shell: str | None = None
    tty: bool | None = None
    yield_time_ms: float | None = None
    max_output_tokens: float | None = None
    environment_id: str | None = None


class _ShellCommand(Struct, frozen=True):
    command: str
    workdir: str | None = None


class _Shell(Struct, frozen=True):
    command: list[str]
    workdir: str | None = None
    working_directory: str | None = None
    env: dict[str, str] | None = None


def arguments(text: str, form: type[T]) -> T | None:
    """The arguments of a function call; None if they are broken, or not what the tool takes."""
    try:
        return msgspec.json.decode(text, type=form)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def command_of(call: ToolCall) -> ShellCall | None:
    """The shell command that ``call`` runs; None if it runs none, or none that is sure to be what it looks like."""
    if call.custom:
        return None
    if call.name == "exec_command":
        return _exec_command(arguments(call.text, _Exec))
    if call.name == "shell_command":
        plain = arguments(call.text, _ShellCommand)
        return None if plain is None else ShellCall(plain.command, plain.workdir or "")
    return _from_words(arguments(call.text, _Shell)) if call.name in ARGV_TOOLS else None


def _exec_command(given: _Exec | None) -> ShellCall | None:
    if given is None or given.environment_id or not _is_shell(given.shell or "sh"):
        # Files of another machine, or a language that we don't read.
        return None
    wait = PATIENCE if given.yield_time_ms is None else given.yield_time_ms / 1000
    return ShellCall(
        given.cmd, given.workdir or "", bool(given.tty), min(max(wait, SHORTEST), LONGEST), given.max_output_tokens
    )


def _from_words(given: _Shell | None) -> ShellCall | None:
    """``bash -lc X`` is X; other words are quoted, since no shell sees them."""
    if given is None or not given.command or given.env:
        return None
    words, workdir = given.command, given.workdir or given.working_directory or ""
    if len(words) == 3 and _is_shell(words[0]) and words[1] in ("-c", "-lc"):
        return ShellCall(words[2], workdir)
    return ShellCall(shlex.join(words), workdir)


def _is_shell(program: str) -> bool:
    return posixpath.basename(program) in SHELLS


def place(cwd: str | None, workdir: str) -> str | None:
    """Where a command starts; None where that is not certain."""
    if not workdir:
        return resolve(None, cwd) if cwd else None
    if workdir.startswith("~") or PARENT.search(workdir):
        # A step up leads elsewhere behind a link, and whose home is meant is not known.
        return None
    return resolve(resolve(None, cwd) if cwd else None, workdir)
