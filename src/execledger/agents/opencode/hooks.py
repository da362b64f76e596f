"""opencode's plugin hook: the exit code of a command, which is not in the text that the model is shown.

The plugin is a temporary file, named in the configuration beside the plugins of the user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.opencode.tools import ADAPTER, SHELL
from execledger.agents.table_adapter import TableAdapter, arguments_of
from execledger.proxy.call_reports import CallReport, HookPort
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation

PLUGIN = """export const Ledger = async () => ({
  "tool.execute.after": async (call, result) => {
    if (call.tool !== %(tool)s) return;
    const { sessionID, callID, args } = call;
    const body = JSON.stringify({ sessionID, callID, command: args?.command, exit: result?.metadata?.exit });
    const headers = { "content-type": "application/json" };
    try {
      await fetch(%(url)s, { method: "POST", headers, body, signal: AbortSignal.timeout(2000) });
    } catch {}
  },
});
"""
"""The plugin; a report that is not taken changes nothing."""


class _Event(Struct, frozen=True):
    """What the plugin sends."""

    sessionID: str
    callID: str
    command: str
    exit: int


def plugin(url: str) -> str:
    """The text of the plugin that reports to ``url``."""
    return PLUGIN % {"tool": json.dumps(SHELL), "url": json.dumps(url)}


def with_plugin(config: Mapping[str, Any], address: str) -> dict[str, Any]:
    """A configuration with one more plugin, by the address of its file."""
    given = config.get("plugin", [])
    # opencode says what is wrong with another shape.
    return {**config, "plugin": [*given, address]} if isinstance(given, list) else dict(config)


def report_of(event: object) -> CallReport | None:
    """The report on a command that has ended."""
    try:
        found = msgspec.convert(event, _Event)
    except msgspec.ValidationError:
        return None
    return CallReport(thread=found.sessionID, call_id=found.callID, command=found.command, told=found.exit)


def observation_of(call: ToolCall, parts: tuple[str, ...], is_error: bool, told: object) -> Observation:
    """The observation; with an exit code, whether a command failed is not to be guessed from its output."""
    seen = TableAdapter.observation_of(ADAPTER, call, parts, is_error=is_error)
    return replace(seen, exit_status=told) if isinstance(told, int) and not seen.timed_out else seen


PORT = HookPort(
    report_of=report_of,
    command_of=lambda call: ADAPTER.tools.command_of(call.name, arguments_of(call)),
    observation_of=observation_of,
)
"""The hooks of opencode."""
