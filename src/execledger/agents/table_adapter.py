"""The adapter of agents whose tools are a table: what such agents' adapters for the proxy share.

``TableAdapter`` implements ``session.adapter.Adapter`` for one ``AgentClient``. An agent that differs in a function
derives from it. Clients may append reminders to a result, in tags of their own: these are left out of every comparison
and stay where they are when the result is edited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents import shims
from execledger.agents.tool_table import MOVES, NEVER, Pattern, Tools, reminders_at
from execledger.session.adapter import Asked, ToolCall
from execledger.vocabulary.actions import Action, Observation


class AgentClient(Struct, frozen=True, kw_only=True):
    """What an adapter has to know of a client beside its tools."""

    name: str
    """The agent's name in journals."""
    tools: Tools
    """Its tools."""
    version: Pattern = NEVER
    """The version in the header ``user-agent``, in the first group."""
    session: tuple[str, ...] = ()
    """Headers that name the session, the first that is there; without one the launcher's path names it."""
    thread: tuple[str, ...] = ()
    """Headers that name the conversation within the session."""
    parent: tuple[str, ...] = ()
    """Headers of a sub-agent that name the session of the agent that started it."""
    own_words: Pattern = NEVER
    """How texts begin that the client itself writes in the user's name."""
    place: Pattern = NEVER
    """Where the client states the working directory, in the first group."""
    summary: Pattern = NEVER
    """What a summary contains that the client puts in place of its history."""
    embedded: Pattern = NEVER
    """What precedes the text of a file that the client itself puts into a message, with its path in the first group."""
    side: Pattern = NEVER
    """How the last text of a request begins that does not ask the model to act although it offers tools."""
    keeps_directory: bool = False
    """The shell keeps its directory from one command to the next; results may state it, in the group ``place``."""
    reminder: str = ""
    """The tag of the reminders that the client appends to results; "" if it appends none."""


class TableAdapter:
    """The adapter of one client."""

    def __init__(self, client: AgentClient) -> None:
        """The adapter of ``client``."""
        self.client = client
        """What is known of the client."""
        self.tools = client.tools
        """Its tools."""

    def asked(self, headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
        """Sender and purpose of a request, from its headers."""
        client = self.client
        session, thread = _first(headers, client.session), _first(headers, client.thread)
        above = _first(headers, client.parent) or session
        version = client.version.search(headers.get("user-agent", ""))
        name = f"{client.name} {version[1]}" if version else client.name
        return Asked(above, thread or session, not client.side.match(last), name, named=bool(session))

    def task_of(self, text: str) -> str:
        """The task that a user message states, without the reminders before it; "" for the client's own words."""
        closes = f"</{self.client.reminder}>"
        while self.client.reminder and text.lstrip().startswith(f"<{self.client.reminder}>") and closes in text:
            text = text.partition(closes)[2].lstrip()
        return "" if self.client.own_words.match(text) or self.is_summary(text) else text

    def cwd_of(self, text: str) -> str | None:
        """The working directory that the client states in a text of its own."""
        found = self.client.place.search(text)
        return found[1].strip() or None if found else None

    def is_summary(self, text: str) -> bool:
        """Whether a message is a summary that the client has put in place of its history."""
        return self.client.summary.search(text) is not None

    def embedded_files(self, text: str) -> tuple[str, ...]:
        """The files whose text the client itself has put into a message."""
        return tuple(found[1] for found in self.client.embedded.finditer(text))

    def cwd_after(self, call: ToolCall, parts: tuple[str, ...] | None, cwd: str | None) -> str | None:
        """The directory that a result states, or that the client stated before.

        Where the shell keeps its directory and nothing states it, it is unknown after a command that may change it.
        """
        given = arguments_of(call)
        command = self.tools.command_of(call.name, given)
        if command is None or not self.client.keeps_directory:
            return cwd
        own, _ = self._split(parts or ())
        stated = self.tools.framed(call.name, given, own[0]).told.get("place") if len(own) == 1 else None
        return stated or (None if MOVES.search(command) else cwd)

    def action_of(self, call: ToolCall, cwd: str | None, thread: str = "") -> Action:
        """The action that a call proposes."""
        return self.tools.action_of(call.name, arguments_of(call), cwd, thread)

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation that a call's output holds, without the client's reminders and its frame."""
        own, reminders = self._split(parts)
        given = arguments_of(call)
        action = self.tools.action_of(call.name, given, None)
        seen = self.tools.observed(action, call.name, given, "\n".join(own), is_error=is_error)
        # Several texts, or a reminder between other words, could not be put back in their places.
        tag = f"<{self.client.reminder}>"
        unclear = len(own) != 1 or (bool(self.client.reminder) and tag in own[0])
        if reminders:
            seen = replace(seen, reminders="\n".join(map(str.strip, reminders)))
        return replace(seen, truncated=True, cut=None) if unclear else seen

    def own_parts(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The text parts of a result without the client's reminders."""
        return trimmed_parts(self._split(parts)[0]) if self.client.reminder else parts

    def referenced(self, call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
        """The output with a reference in place of its own text; the frame and the reminders stay.

        A frame about a shim does not: it repeats a command that the model has not made.
        """
        own, reminders = self._split(parts)
        if self.shim_mark(call) is not None:
            return joined_parts((reference,), reminders, len(parts))
        framed = self.tools.framed(call.name, arguments_of(call), "\n".join(own))
        return joined_parts((framed.having(reference),), reminders, len(parts))

    def remarked(self, call: ToolCall, parts: tuple[str, ...], remark: str) -> tuple[str, ...]:
        """The output with a remark behind its own text, inside the frame and before the reminders."""
        own, reminders = self._split(parts)
        *before, last = own or ("",)
        framed = self.tools.framed(call.name, arguments_of(call), last)
        output = f"{framed.own.rstrip()}\n{remark}" if framed.own.strip() else remark
        return joined_parts((*before, framed.having(output)), reminders, len(parts))

    def shim_of(self, call: ToolCall, mark: str, words: str) -> ToolCall | None:
        """A shim for a shell command; other tools always run, because clients keep account of what they read."""
        given = arguments_of(call)
        if self.tools.command_of(call.name, given) is None or not isinstance(given, dict):
            return None
        name = self.tools.table[call.name].command
        # The other arguments stay: some are required.
        shim = {**given, name: shims.echo(shims.note(mark, words))}
        return ToolCall(call.name, msgspec.json.encode(shim).decode())

    def shim_mark(self, call: ToolCall) -> str | None:
        """The mark in a call that looks like a shim."""
        return shims.mark_in(shims.echoed(self.tools.command_of(call.name, arguments_of(call))))

    def _split(self, parts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        tag = self.client.reminder
        return split_parts(parts, lambda text: reminders_at(text, tag)) if tag else (parts, ())


def arguments_of(call: ToolCall) -> Any:
    """The arguments of a call; None if they are not JSON, the text itself if the tool takes free text."""
    if call.custom:
        return call.text
    try:
        return msgspec.json.decode(call.text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def split_parts(parts: tuple[str, ...], own_end: Callable[[str], int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts of the tool, and the client's behind them: the end of a text and its separator, or whole texts.

    ``own_end`` says where the tool's words end in a text.
    """
    own = list(parts)
    behind: list[str] = []
    while len(own) > 1 and own_end(own[-1]) == 0:
        behind.insert(0, own.pop())
    if own and (at := own_end(own[-1])) < len(own[-1]):
        behind.insert(0, own[-1][at:])
        own[-1] = own[-1][:at]
    return tuple(own), tuple(behind)


def trimmed_parts(own: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of a tool without spaces at the end, which clients trim if they append reminders; none if empty."""
    *before, last = own or ("",)
    return (*before, last.rstrip()) if last.strip() else tuple(before)


def joined_parts(own: tuple[str, ...], behind: tuple[str, ...], count: int) -> tuple[str, ...]:
    """The texts of a result, with the client's where ``split_parts`` found them: ``count`` texts if one was cut."""
    if behind and len(own) + len(behind) > count and behind[0].startswith("\n"):
        return (*own[:-1], own[-1] + behind[0], *behind[1:])
    return (*own, *behind)


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    """The value of the first of these headers that is there."""
    return next((value for name in names if (value := headers.get(name))), "")
