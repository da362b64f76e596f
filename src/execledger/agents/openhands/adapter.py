"""OpenHands behind the proxy: its requests, its calls and their results, in all dialects that litellm speaks.

The shell keeps its directory, and every result states it, with the exit code. Arguments that only describe a call are
not part of it. Answers are not streamed.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.agents.openhands import tools
from execledger.agents.table_adapter import AgentClient, TableAdapter, arguments_of
from execledger.agents.tool_table import MOVES, AgentTool, Frame, Tools
from execledger.runs.editor import viewed
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Action, Observation, Read

_TERMINAL = AgentTool(
    kind="run",
    command="command",
    background="is_input",
    frame=Frame(
        tail=re.compile(
            r"\n?\[The command [^\n]*\]\n(?:\[Current working directory: (?P<place>/[^\n]*)\]\n)?"
            r"(?:\[Python interpreter: [^\n]*\]\n)?\[Command finished with exit code (?P<status>-?\d{1,9})\]\Z"
        ),
        required=True,
        gap=re.compile(r"\A\[Below is the output of the previous command|<response clipped>"),
    ),
)
_HEADER = re.compile(r"Here's the result of running `cat -n` on [^\n]*:\n")
TOOLS = Tools(
    table={
        **dict.fromkeys(("terminal", "execute_bash"), _TERMINAL),
        **dict.fromkeys(("file_editor", "str_replace_editor"), AgentTool(kind="search", frame=Frame(head=_HEADER))),
    },
    running=re.compile(r"\n?\[The command (?!completed with exit code)|\[Command finished with exit code -1\]"),
)
"""What the client writes around results; what a call would do is in ``tools``, as for recorded runs."""


class OpenHandsAdapter(TableAdapter):
    """The adapter of OpenHands."""

    def action_of(self, call: ToolCall, cwd: str | None, thread: str = "") -> Action:
        """The action that a call proposes."""
        return replace(tools.action_of(call.name, arguments_of(call), cwd), thread=thread)

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation that a call's output holds, without what the client adds."""
        action = self.action_of(call, None)
        if isinstance(action.call, Read) and len(parts) == 1 and not is_error:
            return viewed(action.call, parts[0]) if _HEADER.match(parts[0]) else _unknown(parts[0])
        return super().observation_of(call, parts, is_error=is_error)

    def shim_of(self, call: ToolCall, mark: str, words: str) -> ToolCall | None:
        """A shim for a shell command that can't change the shell's directory."""
        command = TOOLS.command_of(call.name, arguments_of(call))
        return None if command is None or MOVES.search(command) else super().shim_of(call, mark, words)


class ForeignAdapter(OpenHandsAdapter):
    """The calls of agents that are not known by name and have similar tools."""

    def action_of(self, call: ToolCall, cwd: str | None, thread: str = "") -> Action:
        """The action that a call proposes."""
        shell = call.name in tools.FOREIGN_SHELLS
        return super().action_of(replace(call, name="execute_bash") if shell else call, cwd, thread)


def _unknown(text: str) -> Observation:
    """A message in place of a file."""
    return Observation(text, failed=True, truncated=True)


_CLIENT = AgentClient(
    name="openhands",
    tools=TOOLS,
    session=("x-litellm-session-id",),
    own_words=re.compile(r"\s*<(?:CONVERSATION SUMMARY|EXTRA_INFO|USER_CONTEXT)"),
    place=re.compile(r"^Your current working directory is: (/[^\n]*)\nUser operating system: ", re.MULTILINE),
    keeps_directory=True,
)
ADAPTER = OpenHandsAdapter(_CLIENT)
"""The adapter for the proxy."""
FOREIGN = ForeignAdapter(_CLIENT)
"""The calls of runs that other programs converted."""
