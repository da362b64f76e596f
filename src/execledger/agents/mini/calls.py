"""mini-swe-agent's calls and results in runs that other programs recorded: its only tool is ``bash``.

Every command starts in the same directory. Results have the text that the agent's template rendered: an exit status and
the output, between tags or in a JSON object.
"""

from __future__ import annotations

from execledger.agents.mini.messages import observed
from execledger.agents.table_adapter import arguments_of
from execledger.runs.decoding import spelled
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Action, Observation, OtherTool

SHELL = "bash"
"""The tool."""


def task_of(text: str) -> str:
    """Return the task that a user message states."""
    return text


def cwd_of(text: str) -> str | None:
    """Return None: no message states the working directory."""
    return None


def cwd_after(call: ToolCall, parts: tuple[str, ...] | None, cwd: str | None) -> str | None:
    """Return ``cwd``: every command is a new process."""
    return cwd


def action_of(call: ToolCall, cwd: str | None, thread: str = "") -> Action:
    """Return the action that a call proposes; only a command of ``bash`` is understood."""
    command = _command(call)
    if command is None:
        return Action(f"{call.name} {spelled(arguments_of(call))}", cwd, OtherTool(), thread)
    return Action(command, cwd, None, thread)


def observation_of(call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
    """Return the observation that a rendered result holds; of any other text nothing is claimed."""
    text = "\n".join(parts)
    seen = observed(text, _command(call) or "") if len(parts) == 1 and not is_error else None
    return Observation(text, truncated=True, failed=is_error) if seen is None else seen


def _command(call: ToolCall) -> str | None:
    """The command of a call; None if it has none."""
    given = arguments_of(call) if call.name == SHELL else None
    command = given.get("command") if isinstance(given, dict) else None
    return command if isinstance(command, str) else None
