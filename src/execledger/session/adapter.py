"""What the proxy asks of an agent's adapter: a foreign shape to and from the core's, and no policy.

A module with these functions is an adapter; ``agents/codex/tools.py`` is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from execledger.session.tool_calls import ToolCall
from execledger.vocabulary.actions import Action, Observation


class Asked(Struct, frozen=True):
    """Who sends a request, and what for."""

    session: str
    """The session: one workspace, one ledger; "" if the request does not name it."""
    thread: str
    """The conversation within it; a sub-agent has its own."""
    turn: bool
    """The request asks the model to act; others, such as a compaction, are only restored."""
    agent: str = ""
    """The agent, with its version where that is told."""
    helper: bool = False
    """The request is for a helper of the agent itself, such as a reviewer of approvals: its steps are recorded, and no
    state view is added to it."""
    named: bool = True
    """The request names its conversation; otherwise it is known by what it goes on with."""


class Adapter(Protocol):
    """An agent's own words for what the core calls actions and observations."""

    def asked(self, headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
        """Who asks: from the request's headers, its cache key, and the text of its last item if a user says it."""
        ...

    def task_of(self, text: str) -> str:
        """The task that words of the user state; "" if these are the agent's own."""
        ...

    def cwd_of(self, text: str) -> str | None:
        """Where commands start from here on, if this message tells."""
        ...

    def action_of(self, call: ToolCall, cwd: str | None, thread: str = "") -> Action:
        """What a call would do."""
        ...

    def observation_of(self, call: ToolCall, parts: tuple[str, ...]) -> Observation:
        """What came back."""
        ...

    def referenced(self, call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
        """The result with a reference in place of its text."""
        ...

    def remarked(self, call: ToolCall, parts: tuple[str, ...], remark: str) -> tuple[str, ...]:
        """The result with a remark behind it."""
        ...

    def shim_of(self, call: ToolCall, mark: str, words: str) -> ToolCall | None:
        """The call without effects that can take this call's place; None if none can."""
        ...

    def shim_mark(self, call: ToolCall) -> str | None:
        """The mark in a call that looks like a shim."""
        ...
