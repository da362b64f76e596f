"""The tools that Inspect itself runs for an agent such as ``react``: ``bash``, ``text_editor`` and others.

``bash`` is a new login shell for each command, and answers with standard error, a line feed and standard output: there
is no exit status, and what a profile or the shell prints can't be told from lines of a file. A longer output is cut in
the middle and wrapped in a sentence. ``bash_session`` is one shell whose directory is unknown; what it prints is a
terminal's text. ``python`` may do anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from execledger.agents.table_adapter import AgentClient, TableAdapter, arguments_of
from execledger.agents.tool_table import AgentTool, Frame, Tools
from execledger.runs.editor import EditorCall, editor_call, viewed
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Action, Command, Observation, OtherTool, Read

_SHELL, _EDITOR, _SESSION = "bash", "text_editor", "bash_session"
_CUT = re.compile(
    r"\A\nThe output of your call to \w+ was too long to be displayed\.\n"
    r"Here is a truncated version:\n<START_TOOL_OUTPUT>\n(.*)\n<END_TOOL_OUTPUT>\n\Z",
    re.DOTALL,
)
_HEADER = re.compile(r"Here's the result of running `cat -n` on [^\n]*:\n")
TOOLS = Tools(
    table={
        _SHELL: AgentTool(kind="run", command="command"),
        _EDITOR: AgentTool(kind="search", frame=Frame(head=_HEADER)),
        **dict.fromkeys("submit think update_plan todo_write web_search".split(), AgentTool(kind="aside")),
    },
    running=re.compile(r"\ACommand timed out before completing\."),
)
"""What is written around results; ``InspectAdapter`` knows what the editor and the session do."""
PARAMETERS: Mapping[str, frozenset[str]] = {
    _SHELL: frozenset({"command"}),
    "python": frozenset({"code"}),
    _SESSION: frozenset({"action", "input"}),
    _EDITOR: frozenset("command path file_text insert_line insert_text new_str old_str view_range".split()),
}
"""The parameters of the tools: a tool of the same name with others is somebody else's."""

KEY, VIEW = "execledger", "view"
"""The key and the value in the metadata of the message that carries a state view; the key also names Ledger's events
and its approver in a log."""
SCORING = ("scorers", "scorer")
"""Types of spans in which a sample is scored: their model calls are not the agent's."""
SEALED = frozenset("docker podman k8s modal daytona e2b ec2 proxmox".split())
"""Types of sandboxes that are a machine of the sample's own: nothing but the agent's commands writes there."""


def is_native(offered: Mapping[str, frozenset[str]]) -> bool:
    """Whether tools with these parameters are Inspect's own, as far as their names are."""
    known = [name for name in offered if name in PARAMETERS]
    return bool(known) and all(offered[name] <= PARAMETERS[name] for name in known)


def current_arguments(name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call in a log, by the names that they have in current versions of Inspect."""
    if name == _SHELL and given.keys() == {"cmd"}:
        # Until 0.3.205.
        return {"command": given["cmd"]}
    if name == _SESSION and isinstance(given.get("command"), str):
        # Until 0.3.90, where the only other argument restarted the shell.
        return {"action": "type_submit", "input": given["command"]}
    return given


class InspectAdapter(TableAdapter):
    """The adapter of Inspect's own tools."""

    def action_of(self, call: ToolCall, cwd: str | None, thread: str = "") -> Action:
        """The action that a call proposes."""
        given, usual = arguments_of(call), super().action_of(call, cwd, thread)
        if call.name == _EDITOR:
            try:
                return replace(usual, call=editor_call(msgspec.convert(given, EditorCall)))
            except msgspec.ValidationError:
                return replace(usual, call=OtherTool())
        if call.name == _SHELL and usual.call is None:
            return replace(usual, call=Command(_SHELL, merged=True))
        if call.name == _SESSION and isinstance(given, dict) and given.get("action") == "type_submit":
            typed = given.get("input")
            if isinstance(typed, str):
                return Action(typed, None, Command(_SESSION, verbatim=False), thread)
        return usual

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation that a call's output holds."""
        cut = _CUT.match(parts[0]) if len(parts) == 1 and not is_error else None
        if cut is not None:
            # Halves of the limit in bytes: where characters have several, the place is not certain.
            at = len(cut[1]) // 2 if cut[1].isascii() else None
            return Observation(cut[1], notice=parts[0][: cut.start(1)].strip(), cut=at, truncated=True)
        if call.name == _SESSION:
            # The command may still be running.
            return Observation("\n".join(parts), truncated=True, failed=is_error, timed_out=not is_error)
        read = self.action_of(call, None).call
        if isinstance(read, Read) and len(parts) == 1 and not is_error:
            return viewed(read, parts[0]) if _HEADER.match(parts[0]) else Observation(parts[0], truncated=True)
        return super().observation_of(call, parts, is_error=is_error)


ADAPTER = InspectAdapter(AgentClient(name="inspect", tools=TOOLS))
"""The adapter."""
