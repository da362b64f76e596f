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
from execledger.agents.table_adapter import arguments_of, joined_parts, split_parts, trimmed_parts
from execledger.agents.tool_table import MOVES, reminders_at
from execledger.session.adapter import Asked, ToolCall
from execledger.vocabulary.actions import Action, Observation

COMPACTION = "CRITICAL: Respond with TEXT ONLY"
"""How the last text of a request for a summary begins; such a request offers tools."""
SESSION, AGENT = "x-claude-code-session-id", "x-claude-code-agent-id"
"""Headers that name the session and, within it, a sub-agent."""
CLASS = "x-claude-code-request-class"
"""The header with the purpose of a request; since 2.1.325, where the address counts as Anthropic's own."""
ACTING = frozenset({"main", "subagent", "workflow"})
"""The classes of the requests that continue a conversation; a summary has one of its own, all others are side calls."""
SIDE = (
    "[SUGGESTION MODE: Suggest what the user might naturally type next",
    "<system-reminder>This is a side question from the user. You must answer this question directly",
    "The user stepped away and is coming back. Recap in under 40 words",
    "Describe your most recent action in 3-5 words using present tense",
    "Generate a short kebab-case name (2-4 words) that captures the main topic of this conversation",
)
"""How the texts begin that the client puts behind a copy of the conversation to ask something beside it.

It offers the same tools, and lets none of them run.
"""
_VERSION = re.compile(r"claude-cli/(\d[\w.+-]*)")
_PLACE = re.compile(
    r"^ *-? *(?:Primary working directory|Working directory): (/[^\n]*?)(?: \(was (/[^\n]*)\))? *$", re.M
)
"""The line in which the client states the working directory."""
_SECTION = re.compile(
    r"\s*(?:<system-reminder>\s*# Environment\b|# Environment\s+You have been invoked in the following environment\b"
    r"|# Environment update\n - Primary working directory: /"
    r"|x-anthropic-billing-header|You are (?:Claude|a Claude))"
)
"""How the client's first messages or its instructions begin that hold this line; other texts may quote one."""
_UPDATE = re.compile(r"\s*<system-reminder>\s*# Environment update\b")
"""How the reminder begins that reports a change of the directory."""
_CD = re.compile(r"""cd (?P<quote>['"]?)(?P<path>[^\s'"$`*?\[~\\&;|<>(){}]+)(?P=quote) *(?:&&|;|\n|\Z)""")
"""A leading ``cd`` to a literal path."""


def asked(headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
    """Sender and purpose of a request; a sub-agent is a conversation of its own in the session."""
    session, agent, kind = (headers.get(header, "") for header in (SESSION, AGENT, CLASS))
    version = _VERSION.search(headers.get("user-agent", ""))
    name = f"claude {version[1]}" if version else "claude"
    thread = f"{session}/{agent}" if agent else session
    text = last.lstrip()
    summary = kind == "compaction" or text.startswith(COMPACTION)
    toolless = kind not in ACTING and text.startswith(SIDE)
    side = toolless or not (summary or kind in ACTING or not kind)
    return Asked(session, thread, not (summary or toolless), name, side=side, named=bool(session))


def task_of(text: str) -> str:
    """The task that a user message states; "" for the client's own words."""
    return "" if tools.OWN_WORDS.match(text) or text.startswith(tools.SUMMARY) else text


def cwd_of(text: str) -> str | None:
    """The working directory that the client states in its environment section."""
    found = _PLACE.search(text) if _SECTION.match(text) else None
    return found[1].strip() if found else None


def is_summary(text: str) -> bool:
    """Whether a message is a summary that the client has put in place of its history."""
    return text.startswith(tools.SUMMARY)


def embedded_files(text: str) -> tuple[str, ...]:
    """None: files that the client puts back after a compaction are in its reminders behind results."""
    return ()


def cwd_after(call: ToolCall, parts: tuple[str, ...] | None, cwd: str | None) -> str | None:
    """The shell's directory persists between commands.

    A reset is reported behind the output, and newer versions report any change in a reminder. Without a report, a
    command that may change the directory leaves it unknown, unless all that it does is to change to this very one.
    """
    _, reminders = _split(parts or ())
    if (told := _reported("".join(reminders), cwd)) is not None:
        return told
    command = tools.action_of(call.name, arguments_of(call), None).command if call.name == tools.SHELL else ""
    if not MOVES.search(command):
        return cwd
    leading = _CD.match(command)
    if cwd is None or leading is None or MOVES.search(command, leading.end()):
        return None
    return cwd if posixpath.normpath(posixpath.join(cwd, leading["path"])) == cwd else None


def _reported(reminders: str, cwd: str | None) -> str | None:
    """The directory that the client reports behind a result; None if it reports none that follows from ``cwd``."""
    notices = reminders.partition(tools.OPENS)[0]
    if reset := tools.RESET.match(notices, 0, tools.modified_at(notices)):
        return reset["place"].strip() or None
    for reminder in reminders.split("</system-reminder>"):
        found = _PLACE.search(reminder) if _UPDATE.match(reminder) else None
        if found and cwd in (None, (found[2] or "").strip()):
            return found[1].strip()
    return None


def action_of(call: ToolCall, cwd: str | None, thread: str = "") -> Action:
    """The action that a call proposes."""
    return tools.action_of(call.name, arguments_of(call), cwd, thread)


def observation_of(call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
    """The observation that a call's output holds, without the client's reminders."""
    return observed(call, parts, is_error, None)


def observed(call: ToolCall, parts: tuple[str, ...], is_error: bool, told: object) -> Observation:
    """The same, with what the client has ``told`` a hook about the result beside its text."""
    own, _ = _split(parts)
    seen = tools.observed(action_of(call, None), call.name, "\n".join(parts), is_error=is_error, told=told)
    # A reminder between other words could not be kept in its place.
    unclear = len(own) > 1 or any(tools.OPENS in text for text in own)
    return msgspec.structs.replace(seen, truncated=seen.truncated or unclear)


def own_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The text parts of a result without the client's reminders."""
    own, _ = _split(parts)
    return trimmed_parts(own)


def referenced(call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
    """The output with a reference in place of its own text, and the reminders behind it."""
    _, reminders = _split(parts)
    return joined_parts((reference,), reminders, len(parts))


def remarked(call: ToolCall, parts: tuple[str, ...], remark: str) -> tuple[str, ...]:
    """The output with a remark behind its own text, before the reminders."""
    own, reminders = _split(parts)
    *before, last = own or ("",)
    return joined_parts((*before, f"{last.rstrip()}\n{remark}" if last.strip() else remark), reminders, len(parts))


def shim_of(call: ToolCall, mark: str, words: str) -> ToolCall | None:
    """A shim for a shell command; other tools always run, because the client keeps account of what it read.

    A command that may change the directory always runs: the shell keeps it.
    """
    command = command_of(call)
    if command is None or MOVES.search(command):
        return None
    return ToolCall(call.name, msgspec.json.encode({"command": shims.echo(shims.note(mark, words))}).decode())


def shim_mark(call: ToolCall) -> str | None:
    """The mark in a call that looks like a shim."""
    return shims.mark_in(shims.echoed(command_of(call))) if call.name == tools.SHELL else None


def command_of(call: ToolCall) -> str | None:
    """The command of a shell call that runs in the foreground; None for anything else."""
    return tools.TOOLS.command_of(call.name, arguments_of(call))


def _split(parts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts of the tool, and the client's own behind them."""
    return split_parts(parts, _own_end)


def _own_end(text: str) -> int:
    """Where the words of the tool end in a text; behind them are notices of the client and reminders."""
    return tools.notices_at(text[: reminders_at(text)])
