"""opencode's tools and its requests: the same in all three dialects that it speaks, by provider.

A command's result has no exit code, so that whether it failed is unknown. Every command starts in the project.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.agents.table_adapter import AgentClient, TableAdapter
from execledger.agents.tool_table import AgentTool, Frame, Tools
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation

SHELL = "bash"
"""The tool that runs a shell command."""
MAX_LINES = 2000
"""Lines that ``read`` shows if the call does not say how many."""
_READ = Frame(
    head=re.compile(r"<path>[^\n]*</path>\n<type>file</type>\n<content>\n"),
    tail=re.compile(
        r"\n\n\((?:End of file - total \d+ lines|(?P<cut>Output capped at [^\n]*?\. )?"
        r"Showing lines (?P<first>\d+)-(?P<last>\d+)(?: of (?P<total>\d+))?\. Use offset=\d+ to continue\.)\)"
        r"\n</content>\Z"
    ),
    required=True,
    gap=re.compile(r"\(line truncated to \d+ chars\)$", re.MULTILINE),
)
_BASH = Frame(
    head=re.compile(r"(?P<cut>\.\.\.output truncated\.\.\.\n\nFull output saved to: [^\n]*\n\n)?"),
    tail=re.compile(r"\n\n<(?:bash|shell)_metadata>\n[^<]*\n</(?:bash|shell)_metadata>\Z"),
    empty=("(no output)",),
)
TOOLS = Tools(
    table={
        SHELL: AgentTool(
            kind="run", command="command", directory="workdir", beside=("description", "timeout"), frame=_BASH
        ),
        "read": AgentTool(
            kind="read",
            path=("filePath",),
            first="offset",
            count="limit",
            most=MAX_LINES,
            numbering=": ",
            frame=_READ,
        ),
        "edit": AgentTool(kind="edit", path=("filePath",), old="oldString", new="newString"),
        "multiedit": AgentTool(kind="edit", path=("filePath",), edits="edits", old="oldString", new="newString"),
        "write": AgentTool(kind="write", path=("filePath",), new="content"),
        "apply_patch": AgentTool(kind="patch", new="patchText"),
        **dict.fromkeys("grep glob list codesearch lsp".split(), AgentTool(kind="search")),
        **dict.fromkeys("todowrite todoread webfetch websearch skill question".split(), AgentTool(kind="aside")),
        # What the client makes of a call that does not fit any tool: an error for the model.
        "invalid": AgentTool(kind="aside"),
    },
    running=re.compile(r"_metadata>\n[^<]*(?:exceeding timeout|aborted the command)|User aborted the command"),
)
"""The tools; ``task`` starts a sub-agent, and may do anything."""
_COMPLAINT = re.compile(
    r"^[^\s:][^\n:]*: (?:[^\n]*: )?(?:No such file or directory|Permission denied|Is a directory|command not found"
    r"|Not a directory|Input/output error)",
    re.MULTILINE,
)
"""A line by which programs report a failure."""
_NOT_RUN = re.compile(r"The \w+ tool was called with invalid arguments: ")
"""How the result of a call begins that the client did not run."""


class OpencodeAdapter(TableAdapter):
    """The adapter of opencode."""

    def task_of(self, text: str) -> str:
        """The task that a user message states; ``opencode run`` puts it in quotes."""
        task = super().task_of(text)
        return task[1:-1] if len(task) > 1 and task[0] == task[-1] == '"' else task

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation; without an exit code, an output that contains a complaint proves nothing."""
        not_run = bool(parts) and _NOT_RUN.match(parts[0]) is not None
        seen = super().observation_of(call, parts, is_error=is_error or not_run)
        return replace(seen, truncated=True, cut=None) if call.name == SHELL and _complains(seen.output) else seen


def _complains(output: str) -> bool:
    """Whether an output contains the complaint of a program."""
    return _COMPLAINT.search(output) is not None


ADAPTER = OpencodeAdapter(
    AgentClient(
        name="opencode",
        tools=TOOLS,
        version=re.compile(r"opencode/(\d[\w.+-]*)"),
        # Older versions name it by the other header.
        session=("x-session-id", "x-session-affinity"),
        parent=("x-parent-session-id",),
        own_words=re.compile(r"\s*<system-reminder>|What did we do so far\?|Continue if you have next steps, or stop"),
        place=re.compile(
            r"^You are powered by the model named [^\n]*\nHere is some useful information about the environment[^\n]*\n"
            r"<env>\n  Working directory: (/[^\n]*)\n  Workspace root folder: ",
            re.MULTILINE,
        ),
        reminder="system-reminder",
    )
)
"""The adapter for the proxy."""
