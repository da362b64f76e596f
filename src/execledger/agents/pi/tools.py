"""pi's tools: ``read`` shows the bare text of a file, commands start in the project, and failed ones say their code."""

from __future__ import annotations

import re

from execledger.agents.table_adapter import AgentClient, TableAdapter
from execledger.agents.tool_table import AgentTool, Frame, Tools
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation

_READ = Frame(
    tail=re.compile(
        r"\n\n\[(?:Showing lines (?P<first>\d+)-(?P<last>\d+) of (?P<total>\d+)(?: \([^\n]* limit\))?\."
        r"|\d+ more lines in file\.) Use offset=(?P<next>\d+) to continue\.\]\Z"
    )
)
_BASH = Frame(
    tail=re.compile(
        r"(?:\n\n(?P<cut>\[Showing [^\n]*Full output: [^\n]*\]))?"
        r"(?:(?:\n\n|\A)Command (?:exited with code (?P<status>\d{1,9})|timed out after [^\n]*|aborted))?\Z"
    ),
    empty=("(no output)",),
    status=0,
)
TOOLS = Tools(
    table={
        "bash": AgentTool(kind="run", command="command", frame=_BASH),
        "read": AgentTool(kind="read", path=("path",), first="offset", count="limit", frame=_READ),
        "edit": AgentTool(kind="edit", path=("path",), edits="edits", old="oldText", new="newText"),
        "write": AgentTool(kind="write", path=("path",), new="content"),
        **dict.fromkeys(("grep", "find", "ls"), AgentTool(kind="search")),
    },
    running=re.compile(r"(?:\n\n|\A)Command (?:timed out|aborted)"),
    failure=re.compile(r"E[A-Z]{3,}: |Offset \d+ is beyond end|Operation aborted|Read image file \[|\[Line \d+ is "),
)
"""The tools; those of extensions may do anything."""


class PiAdapter(TableAdapter):
    """The adapter of pi."""

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation; a command that ended with a code is marked as an error, and its output is known."""
        ended = call.name == "bash" and len(parts) == 1 and "status" in TOOLS.framed("bash", None, parts[0]).told
        return super().observation_of(call, parts, is_error=is_error and not ended)


ADAPTER = PiAdapter(
    AgentClient(
        name="pi",
        tools=TOOLS,
        own_words=re.compile(r"The conversation history before this point was compacted"),
        place=re.compile(r"^Current date: [^\n]*\nCurrent working directory: (/[^\n]*)\Z", re.MULTILINE),
    )
)
"""The adapter for the proxy."""
