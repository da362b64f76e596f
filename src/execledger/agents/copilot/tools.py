"""Copilot CLI's tools and its requests, which name no session: the launcher's path does.

``view`` shows the bare text of a file. Every command starts in the directory of the session, and its result ends with
its exit code.
"""

from __future__ import annotations

import re
from itertools import pairwise

from msgspec.structs import replace

from execledger.agents.table_adapter import AgentClient, TableAdapter
from execledger.agents.tool_table import AgentTool, Frame, Tools
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation, Read

_SHELL = Frame(
    tail=re.compile(
        r"\n?<(?:(?:shellId: [^\s>]+ completed|exited) with exit code (?P<status>-?\d{1,9})"
        r"|command (?:with|started) [^\n]*)>\Z"
    ),
    required=True,
    gap=re.compile(r"\AOutput too large to read at once "),
)
TOOLS = Tools(
    table={
        "bash": AgentTool(kind="run", command="command", frame=_SHELL),
        "view": AgentTool(
            kind="read",
            path=("path",),
            span="view_range",
            beside=("forceReadLargeFiles",),
            frame=Frame(gap=re.compile(r"\[Output truncated\b")),
        ),
        "create": AgentTool(kind="write", path=("path",), new="file_text"),
        "edit": AgentTool(kind="edit", path=("path",), old="old_str", new="new_str"),
        **dict.fromkeys(("grep", "rg", "glob"), AgentTool(kind="search")),
        # Tables of the client's own; reading the output of a command that is still running.
        **dict.fromkeys(
            "sql session_store_sql read_bash list_bash read_agent list_agents skill report_intent ask_user update_todo"
            " web_fetch web_search fetch_copilot_cli_documentation".split(),
            AgentTool(kind="aside"),
        ),
    },
    running=re.compile(r"\n?<command (?:with shellId: [^\s>]+ is still running|started in)"),
)
"""The tools; ``task`` starts a sub-agent, ``write_agent`` continues one, and either may do anything."""
_REFUSAL = re.compile(
    r"Path (?:[^\n]* )?does not exist|File too large to read at once"
    r"|(?:Error|Failed|Invalid|Unable|Permission denied)\b"
    r"|The user (?:rejected|declined)|Binary file|Cannot |Could not "
)
"""How the result of ``view`` begins that shows no file; a file that begins so proves nothing either."""
_TIME = re.compile(r"\A\s*<current_datetime>[^<]*</current_datetime>\s*")
_SUMMARY = re.compile(r"\s*(?:Some of the|The) conversation history has been summarized to free up context\.")
"""How the text begins that a compaction puts in place of earlier messages; it repeats those of the user."""
_REPEATED = re.compile(r"^<user_message>\n(.*?)\n</user_message>$", re.MULTILINE | re.DOTALL)


class CopilotAdapter(TableAdapter):
    """The adapter of Copilot CLI."""

    def task_of(self, text: str) -> str:
        """The task that a user message states, without the time before it; behind a summary, the one repeated there."""
        if _SUMMARY.match(text):
            first = _REPEATED.search(text)
            text = first[1] if first else ""
        return super().task_of(_TIME.sub("", text))

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation; a message in place of a file, what may list a folder, and numbered lines are no content."""
        refused = call.name == "view" and bool(parts) and _REFUSAL.match(parts[0]) is not None
        seen = super().observation_of(call, parts, is_error=is_error or refused)
        read = self.action_of(call, None).call
        unclear = isinstance(read, Read) and (_may_list(read, seen.output) or _is_numbered(read, seen.output))
        return replace(seen, truncated=True, cut=None) if unclear else seen


def _is_numbered(read: Read, shown: str) -> bool:
    """Whether every line has its number before it, as in older versions: it is not known then what the file has."""
    return all(line.startswith(f"{number}. ") for number, line in enumerate(shown.split("\n"), read.first))


def _may_list(read: Read, shown: str) -> bool:
    """Whether a text may be the listing of a folder: names in the order of their UTF-16 code units.

    ``view`` also shows folders, in this form alone, and disregards the range of lines: as many lines as were asked for
    are lines of a file. The last name has no line break.
    """
    names = shown.split("\n")
    if read.last is not None and len(names) == read.last - read.first + 1:
        return False
    keys = [name.encode("utf-16-be", "surrogatepass") for name in names]
    return all(name and "/" not in name for name in names) and all(one < two for one, two in pairwise(keys))


ADAPTER = CopilotAdapter(
    AgentClient(
        name="copilot",
        tools=TOOLS,
        own_words=re.compile(r"\s*<(?:system_notification|system_reminder|summary)\b"),
        place=re.compile(
            r"^You are working in the following environment\.[^\n]*\n\* Current working directory: (/[^\n]*)$",
            re.MULTILINE,
        ),
        reminder="system_reminder",
    )
)
"""The adapter for the proxy."""
