"""The port of agents: tool calls in a neutral shape, and what Ledger asks of an agent's adapter.

An adapter is a module with the functions of ``Adapter``; ``agents/codex/tools.py`` is one. It translates between the
tools of one agent and the actions and observations of the core, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import msgspec
from msgspec import Struct

from execledger.vocabulary.actions import Action, Observation


class ToolCall(Struct, frozen=True):
    """One call of a tool, as the model made it; its output is a tuple of the text parts that the model reads."""

    name: str
    """The tool's name; outside the default namespace, the namespace, a dot, and the name."""
    text: str
    """The JSON arguments of a function call, or the free text of a custom tool."""
    custom: bool = False
    """The tool takes free text."""

    def repeats(self, proposed: ToolCall) -> bool:
        """Whether this call in a client's history is ``proposed``; clients may add arguments that have a default."""
        if self == proposed or self.name != proposed.name or self.custom:
            return self == proposed
        kept, made = (_arguments(call.text) for call in (self, proposed))
        return kept is not None and made is not None and made.items() <= kept.items()


def _arguments(text: str) -> dict[str, bytes] | None:
    """The JSON text of each argument, without spaces; None if the text is not an object."""
    try:
        arguments = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError):
        return None
    return {name: msgspec.json.encode(value) for name, value in arguments.items()}


Resolve: TypeAlias = Callable[[str], ToolCall | None]
"""Maps the mark of a shim to the call of the model that the shim replaced; None if it is not known."""


class Asked(Struct, frozen=True):
    """Sender and purpose of one request to the model."""

    session: str
    """The session: one workspace, one ledger; "" if the request does not name it."""
    thread: str
    """The conversation within it; a sub-agent has its own."""
    turn: bool
    """The request asks the model to act; others, such as a compaction, are only restored."""
    agent: str = ""
    """The agent, with its version where the request has it."""
    helper: bool = False
    """The request is for a helper of the agent itself, such as a reviewer of approvals: its steps are recorded, and no
    state view is added to it."""
    side: bool = False
    """The request asks something beside the conversation, such as a prompt to suggest: its history is shown as the
    conversation was shown it, and nothing of it is recorded. As a ``turn`` it may also act there, unseen."""
    named: bool = True
    """The request names its conversation; otherwise it is recognised by the history that it repeats."""


class Signs(Struct, frozen=True, kw_only=True):
    """What identifies the requests of one agent, for a proxy that several agents use."""

    headers: Mapping[str, str] = {}
    """Patterns of headers, by their names in lower case; one that matches from its beginning is enough."""
    tools: frozenset[str] = frozenset()
    """Tools that no other agent offers together; they count where no header identifies any agent."""


class Calls(Protocol):
    """Translates one agent's tool calls and their results to actions and observations of the core."""

    def task_of(self, text: str) -> str:
        """The task that a user message states; "" if the agent itself wrote the message."""
        ...

    def cwd_of(self, text: str) -> str | None:
        """The working directory that a message sets for the commands after it; None if it sets none."""
        ...

    def is_summary(self, text: str) -> bool:
        """Whether a message is a summary that the client has put in place of its history."""
        ...

    def embedded_files(self, text: str) -> tuple[str, ...]:
        """The files whose text the client itself has put into a message, as some do after a compaction."""
        ...

    def cwd_after(self, call: ToolCall, parts: tuple[str, ...] | None, cwd: str | None) -> str | None:
        """The working directory after a call with this output, which was ``cwd`` before; None if it is unknown.

        ``parts`` is None before the call is answered: the next call of the same turn starts then.
        """
        ...

    def action_of(self, call: ToolCall, cwd: str | None, thread: str = "") -> Action:
        """The action that a call proposes."""
        ...

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation that a call's output holds; ``is_error`` if the client marked it as an error."""
        ...


class Adapter(Calls, Protocol):
    """Translates one agent's tools to actions and observations of the core, and back."""

    def asked(self, headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
        """Sender and purpose of a request: from its headers, its cache key, and its last item if that is a user's."""
        ...

    def own_parts(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The text parts of a result without what the client appends in words of its own, such as reminders.

        A result is identified by them: a client may send it again with other reminders.
        """
        ...

    def referenced(self, call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
        """The output with a reference in place of its text."""
        ...

    def remarked(self, call: ToolCall, parts: tuple[str, ...], remark: str) -> tuple[str, ...]:
        """The output with a remark appended."""
        ...

    def shim_of(self, call: ToolCall, mark: str, words: str) -> ToolCall | None:
        """A call without effects that can replace this call; None if there is none."""
        ...

    def shim_mark(self, call: ToolCall) -> str | None:
        """The mark in a call that looks like a shim; None if it does not."""
        ...
