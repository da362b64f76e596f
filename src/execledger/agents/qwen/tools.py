"""Qwen Code's tools, and what it writes around their results; its adapter for the proxy, in any of four dialects.

``read_file`` shows the bare text of a file, and of a part which lines these are; ``offset`` counts from 0. Every
command starts in the project, and its result repeats the command and has the exit code. Other results do not say
whether a tool failed: a failure is one line in words of the client. A command that printed something is sometimes
reported with an empty output.

Requests name no session: the launcher's path does. Sub-agents, which run in the background, are conversations that do
not continue the main one. A read tool is never suppressed: the client refuses to edit a file that it has not read.
"""

from __future__ import annotations

import re

from execledger.agents.table_adapter import AgentClient, TableAdapter
from execledger.agents.tool_table import AgentTool, Frame, Tools

_FILE = ("file_path", "absolute_path")
_COMMAND = Frame(
    lead=re.compile(
        r"Tool output was too large and has been truncated\.\n(?:[^\n]*\n){1,8}?Truncated part of the output:\n"
    ),
    echo="Command: {command}\n",
    head=re.compile(r"Directory: [^\n]*\nOutput: "),
    tail=re.compile(
        r"\nError: \(none\)\nExit Code: (?:(?P<status>-?\d{1,9})|\(none\))\nSignal: (?:\(none\)|(?P<failed>[^\n]*))"
        r"(?:\nBackground PIDs: [^\n]*)?\nProcess Group PGID: (?:\d+|\(none\))\s*\Z"
    ),
    required=True,
    gap=re.compile(r"\.\.\. \[CONTENT TRUNCATED\] \.\.\."),
    empty=("(empty)",),
)
_LINES = Frame(
    head=re.compile(
        r"(?:Showing lines (?P<first>\d{1,9})-(?P<last>\d{1,9}) of (?:at least \d+|(?P<total>\d{1,9})) total lines\."
        r"\n\n---\n\n)?"
    ),
    gap=re.compile(r"\.\.\. \[truncated\]$|\A<persisted-output>|\.\.\. \[CONTENT TRUNCATED\] \.\.\.", re.MULTILINE),
)
TOOLS = Tools(
    table={
        "run_shell_command": AgentTool(
            kind="run",
            command="command",
            directory="directory",
            background="is_background",
            frame=_COMMAND,
        ),
        "read_file": AgentTool(
            kind="read", path=_FILE, first="offset", from_zero=True, count="limit", otherwise=("pages",), frame=_LINES
        ),
        "edit": AgentTool(kind="edit", path=_FILE, old="old_string", new="new_string"),
        "write_file": AgentTool(kind="write", path=_FILE, new="content"),
        "notebook_edit": AgentTool(kind="edit", path=("notebook_path",), new="new_source"),
        "grep_search": AgentTool(kind="search", path=("path",)),
        **dict.fromkeys(("glob", "list_directory", "read_many_files", "lsp"), AgentTool(kind="search")),
        **dict.fromkeys(
            "ask_user_question exit_plan_mode get_goal list_agents skill todo_write tool_search update_goal web_fetch"
            " web_search".split(),
            AgentTool(kind="aside"),
        ),
    },
    stub=re.compile(
        r"\[File [^\n]* unchanged since last read in this session\b|\[Old tool result content cleared\]\s*\Z"
    ),
    running=re.compile(
        r"Background (?:agent launched|shell started)|Command timed out after|Command was cancelled"
        r"|Command finished before the background-promote|Command (?:was )?(?:moved to|promoted to)"
        r"|Background PIDs: (?!\(none\))"
    ),
    failure=re.compile(
        r"(?:File not found|Path is |Could not |Cannot |Failed |Error|\[(?:Error|Operation)|File (?:size|path|is|has)"
        r"|Tool |Qwen Code requires|This \"|Permission denied|Params must|params must)[^\n]*\Z"
    ),
)
"""The tools. A sub-agent, a tool of another server, or any that is not here may do anything."""
ADAPTER = TableAdapter(
    AgentClient(
        name="qwen",
        tools=TOOLS,
        version=re.compile(r"QwenCode/(\d[\w.+-]*)"),
        own_words=re.compile(
            r"\s*<(?:system-reminder|task-notification|state_snapshot|plan-mode-active|background-tasks)\b"
            r"|Recently accessed file \(|The following files were recently accessed before|This is the Qwen Code\."
        ),
        summary=re.compile(
            r"\A\s*<state_snapshot>|\n\nResume the prior task using the summary above\. Continue from the last "
        ),
        embedded=re.compile(
            r"^Recently accessed file \(full current content embedded\):\n\n## (/[^\n]*)\n\n```", re.MULTILINE
        ),
        side=re.compile(
            r"\s*You are the component that summarizes |(?s:(?=.*\[SUGGESTION MODE: ))"
            r"|First, reason in your (?:<analysis> block|scratchpad)\. Then, (?:produce|generate) the <state_snapshot>"
        ),
        # In some dialects all texts of a message are one.
        place=re.compile(
            r"(?:\A|\n\s*<system-reminder>\n|\A\s*<system-reminder>\n)This is the Qwen Code\."
            r"(?:(?!</system-reminder>)[^\n]*\n)*?"
            r"I'm currently working in the directory: (/[^\n]*)\n"
        ),
        reminder="system-reminder",
    )
)
"""The adapter for the proxy."""
