"""Gemini CLI's tools, and what it writes around their results; its adapter for the proxy.

``read_file`` shows the bare text of a file, and of a part which lines these are. Every command starts in the project;
its result has the exit code, unless that is 0, and a process id, which differs each time.

With an API key requests name no session, and the launcher's path does; with a Google login the body names it. A
sub-agent is a conversation that does not continue the main one. Calls of the model have no id until the client gives
them one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from execledger.agents.table_adapter import AgentClient, TableAdapter, arguments_of
from execledger.agents.tool_table import AgentTool, Frame, Tools
from execledger.runs.decoding import classified
from execledger.session.adapter import Asked, ToolCall
from execledger.vocabulary.actions import Action, Observation

_FILE = ("file_path", "absolute_path")
_COMMAND = Frame(
    head=re.compile(r"(?P<cut>Output too large\.[^\n]*\n)?(?:<untrusted_context>\n)?Output: "),
    tail=re.compile(
        r"\n(?:Exit Code: (?P<status>-?[1-9]\d{0,8})\n)?(?:Signal: (?P<failed>[^\n]*)\n)?"
        r"(?:Background PIDs: [\d, ]+\n)?Process Group PGID: \d+(?:\n</untrusted_context>)?\s*\Z"
    ),
    required=True,
    gap=re.compile(r"\A\s*Output too large\.|\.\.\. \[\d+ characters (?:omitted|truncated)\] \.\.\."),
    empty=("(empty)",),
    status=0,
)
_LINES = Frame(
    head=re.compile(
        r"(?:\nIMPORTANT: The file content has been truncated\.\nStatus: Showing lines (?P<first>\d{1,9})-"
        r"(?P<last>\d{1,9}) of (?P<total>\d{1,9}) total lines\.\nAction: [^\n]*\n\n"
        r"--- FILE CONTENT \(truncated\) ---\n)?"
    ),
    gap=re.compile(r"\.\.\. \[truncated\]$", re.MULTILINE),
)
TOOLS = Tools(
    table={
        "run_shell_command": AgentTool(
            kind="run",
            command="command",
            directory="dir_path",
            background="is_background",
            frame=_COMMAND,
        ),
        "read_file": AgentTool(kind="read", path=_FILE, first="start_line", last="end_line", frame=_LINES),
        "replace": AgentTool(
            kind="edit",
            path=_FILE,
            old="old_string",
            new="new_string",
            beside=("instruction",),
        ),
        "write_file": AgentTool(kind="write", path=_FILE, new="content"),
        "grep_search": AgentTool(kind="search", path=("dir_path", "path")),
        "search_file_content": AgentTool(kind="search", path=("dir_path", "path")),
        **dict.fromkeys(("glob", "list_directory", "read_many_files"), AgentTool(kind="search")),
        **dict.fromkeys(
            "activate_skill ask_user complete_task enter_plan_mode exit_plan_mode get_internal_docs google_web_search"
            " list_background_processes read_background_output update_topic web_fetch write_todos".split(),
            AgentTool(kind="aside"),
        ),
    },
    stub=re.compile(r"<tool_output_masked>\n"),
    failure=re.compile(r"(?:File not found|Error)\b[^\n]*\Z"),
    running=re.compile(
        r"(?:<untrusted_context>\n)?Command (?:moved to background|was automatically cancelled|was cancelled)"
        r"|Background PIDs: "
    ),
)
"""The tools. A sub-agent, a tool of another server, or any that is not here may do anything."""
_CLIENT = AgentClient(
    name="gemini",
    tools=TOOLS,
    version=re.compile(r"GeminiCLI(?:-\w+)?/(\d[\w.+-]*)"),
    own_words=re.compile(r"\s*<(?:session_context|hook_context)\b|This is the Gemini CLI\."),
    # It may begin with what the model thought of it.
    summary=re.compile("<state_snapshot>"),
    place=re.compile(
        # With several directories it is not known which one is the root.
        r"\A\s*<session_context>\n(?:[^\n]*\n)*?- \*\*Workspace Directories:\*\*\n +- (/[^\n]*)\n(?! +- )"
    ),
)


class GeminiAdapter(TableAdapter):
    """The adapter; with a login, sub-agents have the session of their parent and are told apart by their history."""

    def asked(self, headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
        """Sender and purpose of a request; the cache key is the session that a body with a login names."""
        asked = super().asked(headers, cache_key, last)
        return replace(asked, session=cache_key, thread=cache_key)

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation; of a result whose exit code the command may itself have printed nothing is known."""
        seen = super().observation_of(call, parts, is_error=is_error)
        given = arguments_of(call)
        command = self.tools.command_of(call.name, given)
        status = self.tools.framed(call.name, given, "\n".join(parts)).told.get("status")
        if command is None or status is None or not seen.output or not _may_print_code(command):
            return seen
        return replace(seen, output=f"{seen.output}\nExit Code: {status}", exit_status=None, truncated=True, cut=None)


def _may_print_code(command: str) -> bool:
    """Whether a command prints text of files, or the words that precede an exit code."""
    return "exit code" in command.lower() or classified(Action(command)).comparable


ADAPTER = GeminiAdapter(_CLIENT)
"""The adapter for the proxy."""
