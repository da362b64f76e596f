"""Claude Code's http hooks: what it reports of a command beside the text that the model is shown.

A hook is called when a command has ended, with the shell's directory and what the client keeps of the result for
itself. The hooks are passed with ``--settings``, where Claude Code adds them to those of the user's files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from execledger.agents.claude import adapter, tools
from execledger.proxy.call_reports import CallReport, HookPort

EVENTS = ("PostToolUse", "PostToolUseFailure")
"""The events whose hooks are called when a command has ended."""
SECONDS = 2
"""How long Claude Code waits for the answer of a hook."""
TOLD = ("interrupted", "isImage", "returnCodeInterpretation", "backgroundTaskId")
"""The fields of a result that are kept: not what the command printed, which comes with the request."""


class _Input(Struct, frozen=True):
    command: str


class _Event(Struct, frozen=True):
    """The fields of an event that are read."""

    session_id: str
    hook_event_name: str
    tool_name: str
    tool_use_id: str
    tool_input: _Input
    tool_response: dict[str, Any] = {}
    error: str = ""
    cwd: str = ""
    agent_id: str = ""


def with_hooks(settings: Mapping[str, Any], url: str) -> dict[str, Any]:
    """Settings with our hooks behind those that they have."""
    own = {"matcher": tools.SHELL, "hooks": [{"type": "http", "url": url, "timeout": SECONDS}]}
    given = settings.get("hooks", {})
    if not isinstance(given, dict) or not all(isinstance(given.get(event, []), list) for event in EVENTS):
        # Claude Code says what is wrong with them.
        return dict(settings)
    return {**settings, "hooks": {**given, **{event: [*given.get(event, []), own] for event in EVENTS}}}


def report_of(event: object) -> CallReport | None:
    """The report on a command that has ended."""
    try:
        found = msgspec.convert(event, _Event)
    except msgspec.ValidationError:
        return None
    if found.hook_event_name not in EVENTS or found.tool_name != tools.SHELL:
        return None
    told: object = {name: found.tool_response[name] for name in TOLD if name in found.tool_response}
    return CallReport(
        thread=f"{found.session_id}/{found.agent_id}" if found.agent_id else found.session_id,
        call_id=found.tool_use_id,
        command=found.tool_input.command,
        told=found.error or told,
        # Of a sub-agent's event it is not known whose directory it names.
        cwd=found.cwd if found.cwd.startswith("/") and not found.agent_id else None,
    )


PORT = HookPort(report_of=report_of, command_of=adapter.command_of, observation_of=adapter.observed)
"""The hooks of Claude Code."""
