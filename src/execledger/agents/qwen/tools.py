"""Qwen Code's tools, and what it writes around their results.

``read_file`` shows the bare text of a file, and of a part which lines these are; ``offset`` counts from 0. Every
command starts in the project, and its result repeats the command and has the exit code.
"""

from __future__ import annotations

import re
from functools import partial

from execledger.agents.table_adapter import AgentClient, TableAdapter
from execledger.agents.tool_table import AgentTool, Frame, Tools

_READ = Frame(
    head=re.compile(
        r"(?:Showing lines (?P<first>\d+)-(?P<last>\d+) of (?P<total>\d+) total lines\.[^\n]*\n\n---\n\n)?"
    ),
    gap=re.compile(r"\.\.\. \[truncated\]$", re.MULTILINE),
)
_SHELL = Frame(
    echo="Command: {command}\n",
    head=re.compile(r"Directory: [^\n]*\nOutput: "),
    tail=re.compile(
        r"\nError: [^\n]*\nExit Code: (?:(?P<status>\d{1,9})|\(none\))\nSignal: [^\n]*"
        r"(?:\nBackground PIDs: [^\n]*)?\nProcess Group PGID: [^\n]*\Z"
    ),
    required=True,
    empty=("(empty)",),
)
TOOLS = Tools(
    table={
        "run_shell_command": AgentTool(
            kind="run",
            command="command",
            directory="directory",
            background="is_background",
            beside=("description", "timeout"),
            frame=_SHELL,
        ),
        "read_file": AgentTool(
            kind="read",
            path=("file_path", "absolute_path"),
            first="offset",
            from_zero=True,
            count="limit",
            otherwise=("pages",),
            frame=_READ,
        ),
        "edit": AgentTool(kind="edit", path=("file_path",), old="old_string", new="new_string"),
        "write_file": AgentTool(kind="write", path=("file_path",), new="content"),
        "notebook_edit": AgentTool(kind="edit", path=("notebook_path",), new="new_source"),
        **dict.fromkeys("grep_search glob list_directory read_many_files lsp".split(), AgentTool(kind="search")),
        **dict.fromkeys(
            "todo_write get_goal update_goal tool_search list_agents skill web_fetch web_search exit_plan_mode"
            " ask_user_question".split(),
            AgentTool(kind="aside"),
        ),
    },
    stub=re.compile(r"\[File [^\n]* unchanged since last read in this session"),
    failure=re.compile(r"(?:File not found|Error|Permission denied|Path is |Invalid |Cannot |Could not |Failed )"),
)
"""The tools; ``agent`` starts a sub-agent, ``tool_call`` calls any tool, and either may do anything."""
action_of = partial(TOOLS.action_of)
"""The meaning of its calls in the interchange format."""
ADAPTER = TableAdapter(
    AgentClient(name="qwen", tools=TOOLS, own_words=re.compile(r"\s*<(?:system-reminder|task-notification)\b"))
)
"""The adapter."""
