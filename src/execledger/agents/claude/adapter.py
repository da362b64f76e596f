"""Claude Code behind the proxy: its requests, its calls and their results, as the Messages dialect carries them.

The client appends reminders to results: to the last text of a result, or as texts of their own. They are its own words,
are left out of every comparison, and stay where they are when a result is edited.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

import msgspec

from execledger.agents import shims
from execledger.agents.claude import tools
from execledger.session.adapter import Asked, ToolCall
from execledger.vocabulary.actions import Action, Observation

COMPACTION = "CRITICAL: Respond with TEXT ONLY"
"""How the last text of a request for a summary begins; such a request offers tools."""
SESSION, AGENT = "x-claude-code-session-id", "x-claude-code-agent-id"
"""Headers that name the session and, within it, a sub-agent."""
_VERSION = re.compile(r"claude-cli/(\d[\w.+-]*)")
_PLACE = re.compile(r"^ *-? *(?:Primary working directory|Working directory): (/[^\n]*?)(?: \(was /[^\n]*\))? *$", re.M)
"""The line in which the client states the working directory, in its first message or in its instructions."""
_CD = re.compile(r"""cd (?P<quote>['"]?)(?P<path>[^\s'"$`*?\[~\\&;|<>(){}]+)(?P=quote) *(?:&&|;|\n|\Z)""")
"""A leading ``cd`` to a literal path."""


def asked(headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
    """Sender and purpose of a request; a sub-agent is a conversation of its own in the session."""
    session, agent = headers.get(SESSION, ""), headers.get(AGENT, "")
    version = _VERSION.search(headers.get("user-agent", ""))
    name = f"claude {version[1]}" if version else "claude"
    thread = f"{session}/{agent}" if agent else session
    return Asked(session, thread, not last.lstrip().startswith(COMPACTION), name, named=bool(session))


def task_of(text: str) -> str:
    """The task that a user message states; "" for the client's own words."""
    return "" if tools.OWN_WORDS.match(text) or text.startswith(tools.SUMMARY) else text


def cwd_of(text: str) -> str | None:
    """The working directory that the client states in its environment section."""
    found = _PLACE.search(text) if "orking directory" in text else None
    return found[1].strip() if found else None


def cwd_after(call: ToolCall, parts: tuple[str, ...] | None, cwd: str | None) -> str | None:
    """The shell's directory persists between commands.

    Newer versions report a change in a reminder. Otherwise a leading ``cd`` to a literal path is followed, and after
    any other command that may change the directory it is unknown.
    """
    _, reminders = _split(parts or ())
    if (told := cwd_of("\n".join(reminders))) is not None:
        return told
    command = _command(call) or ""
    if call.name != tools.SHELL or not tools.MOVES.search(command):
        return cwd
    leading = _CD.match(command)
    if parts is None or leading is None or tools.MOVES.search(command, leading.end()):
        return None
    place = posixpath.normpath(posixpath.join(cwd, leading["path"])) if cwd else leading["path"]
    # A failed command may have failed to change the directory.
    return place if place.startswith("/") and (place == cwd or not _failed(parts)) else None


def action_of(call: ToolCall, cwd: str | None, thread: str = "") -> Action:
    """The action that a call proposes."""
    return tools.action_of(call.name, _arguments(call), cwd, thread)


def observation_of(call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
    """The observation that a call's output holds, without the client's reminders."""
    own, _ = _split(parts)
    seen = tools.observed(action_of(call, None), call.name, "\n".join(parts), is_error=is_error, told=None)
    return msgspec.structs.replace(seen, truncated=seen.truncated or len(own) > 1)


def referenced(call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
    """The output with a reference in place of its own text, and the reminders behind it."""
    _, reminders = _split(parts)
    return _joined((reference,), reminders, len(parts))


def remarked(call: ToolCall, parts: tuple[str, ...], remark: str) -> tuple[str, ...]:
    """The output with a remark behind its own text, before the reminders."""
    own, reminders = _split(parts)
    *before, last = own or ("",)
    return _joined((*before, f"{last.rstrip()}\n{remark}" if last.strip() else remark), reminders, len(parts))


def shim_of(call: ToolCall, mark: str, words: str) -> ToolCall | None:
    """A shim for a shell command; other tools always run, because the client keeps account of what it read."""
    if call.name != tools.SHELL or _command(call) is None:
        return None
    return ToolCall(call.name, msgspec.json.encode({"command": shims.echo(shims.note(mark, words))}).decode())


def shim_mark(call: ToolCall) -> str | None:
    """The mark in a call that looks like a shim."""
    return shims.mark_in(shims.echoed(_command(call))) if call.name == tools.SHELL else None


def _arguments(call: ToolCall) -> object:
    """The arguments of a call; None if they are not JSON."""
    try:
        return msgspec.json.decode(call.text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _command(call: ToolCall) -> str | None:
    """The command of a shell call that runs in the foreground; None for anything else."""
    given = _arguments(call)
    command = given.get("command") if isinstance(given, dict) and not given.get("run_in_background") else None
    return command if call.name == tools.SHELL and isinstance(command, str) else None


def _failed(parts: tuple[str, ...]) -> bool:
    """Whether a shell command reports a failure in its text."""
    return bool(parts) and tools.EXIT.match(parts[0]) is not None


def _split(parts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts of the tool, and the reminders behind them: the end of a text and its separator, or whole texts."""
    own = list(parts)
    reminders: list[str] = []
    while len(own) > 1 and tools.reminders_at(own[-1]) == 0:
        reminders.insert(0, own.pop())
    if own and (at := tools.reminders_at(own[-1])) < len(own[-1]):
        reminders.insert(0, own[-1][at:])
        own[-1] = own[-1][:at]
    return tuple(own), tuple(reminders)


def _joined(own: tuple[str, ...], reminders: tuple[str, ...], count: int) -> tuple[str, ...]:
    """The texts of a result, with reminders where ``_split`` found them: ``count`` texts if one of them was cut."""
    if reminders and len(own) + len(reminders) > count and reminders[0].startswith("\n"):
        return (*own[:-1], own[-1] + reminders[0], *reminders[1:])
    return (*own, *reminders)
