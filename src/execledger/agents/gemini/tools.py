"""Gemini CLI's tools, and what it writes around their results.

``read_file`` shows the bare text of a file, and of a part which lines these are. Every command starts in the project;
its result has the exit code, unless that is 0, and the number of a process.
"""

from __future__ import annotations

import re
from functools import partial

from execledger.agents.table_adapter import AgentClient, TableAdapter
from execledger.agents.tool_table import AgentTool, Frame, Tools

_READ = Frame(
    head=re.compile(
        r"(?:\nIMPORTANT: The file content has been truncated\.\n"
        r"Status: Showing lines (?P<first>\d+)-(?P<last>\d+) of (?P<total>\d+) total lines\.\n"
        r"Action: [^\n]*\n\n--- FILE CONTENT \(truncated\) ---\n)?"
    ),
    gap=re.compile(r"\.\.\. \[truncated\]$", re.MULTILINE),
)
_SHELL = Frame(
    head=re.compile(r"(?:<untrusted_context>\n)?Output: "),
    tail=re.compile(
        r"(?:\nError: [^\n]*)?(?:\nExit Code: (?P<status>\d{1,9}))?(?P<failed>\nSignal: [^\n]*)?"
        r"(?:\nBackground PIDs: [^\n]*)?(?:\nProcess Group PGID: [^\n]*)(?:\n</untrusted_context>)?\Z"
    ),
    required=True,
    gap=re.compile(r"\AOutput too large\. "),
    empty=("(empty)",),
    status=0,
)
TOOLS = Tools(
    table={
        "run_shell_command": AgentTool(
            kind="run",
            command="command",
            directory="dir_path",
            background="is_background",
            beside=("description",),
            frame=_SHELL,
        ),
        "read_file": AgentTool(
            kind="read", path=("file_path", "absolute_path"), first="start_line", last="end_line", frame=_READ
        ),
        "replace": AgentTool(
            kind="edit", path=("file_path",), old="old_string", new="new_string", beside=("instruction",)
        ),
        "write_file": AgentTool(kind="write", path=("file_path",), new="content"),
        **dict.fromkeys(
            "grep_search search_file_content glob list_directory read_many_files".split(), AgentTool(kind="search")
        ),
        **dict.fromkeys(
            "update_topic web_fetch google_web_search write_todos enter_plan_mode exit_plan_mode activate_skill"
            " list_background_processes read_background_output ask_user".split(),
            AgentTool(kind="aside"),
        ),
    },
    failure=re.compile(r"(?:File not found|Error)\b"),
)
"""The tools; ``invoke_agent`` starts a sub-agent, and may do anything."""
action_of = partial(TOOLS.action_of)
"""The meaning of its calls in the interchange format."""
ADAPTER = TableAdapter(
    AgentClient(
        name="gemini",
        tools=TOOLS,
        own_words=re.compile(r"\s*<(?:session_context|hook_context|state_snapshot)\b"),
        place=re.compile(r"^- \*\*Workspace Directories:\*\*\n  - (/[^\n]*)$", re.MULTILINE),
    )
)
"""The adapter."""
