"""Qwen Code behind the proxy: what a call would do, and what is the client's own in a result."""

from __future__ import annotations

import json

import pytest

from execledger.agents.qwen.tools import ADAPTER
from execledger.session.adapter import Adapter, Asked, ToolCall
from execledger.testing.adapters import Example, check_calls
from execledger.vocabulary.actions import Action, Aside, Edit, Observation, OtherTool, Read, Search, Write

PROTOCOL: Adapter = ADAPTER
LINES = "".join(f"line {number} of a file\n" for number in range(1, 41))
PLACE = (
    "<system-reminder>\nThis is the Qwen Code. A chat begins.\nToday's date is Monday.\n"
    "I'm currently working in the directory: /repo\nHere are folders:\n/repo/\n</system-reminder>"
)


def call(name: str, **given: object) -> ToolCall:
    return ToolCall(name, json.dumps(given))


def shell(command: str, **more: object) -> ToolCall:
    return call("run_shell_command", command=command, is_background=False, **more)


def ran(command: str, output: str, status: object = 0, signal: str = "(none)", folder: str = "(root)") -> str:
    """A result of the shell as the client writes it."""
    return (
        f"Command: {command}\nDirectory: {folder}\nOutput: {output}\nError: (none)\nExit Code: {status}\n"
        f"Signal: {signal}\nProcess Group PGID: (none)"
    )


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Commands and reads, whole and in part."""
    check_calls(
        ADAPTER,
        [
            Example(shell("cat a.py"), (ran("cat a.py", LINES.rstrip()),), "cat a.py", LINES.rstrip()),
            Example(shell("cat a.py\nls"), (ran("cat a.py\nls", "x\nError: (none)\nExit Code: 7\ny"),)),
            Example(call("read_file", file_path="/repo/a.py"), (LINES,), output=LINES),
            Example(
                call("read_file", file_path="/repo/a.py", offset=1, limit=2),
                ("Showing lines 2-3 of 9 total lines.\n\n---\n\ntwo\nthree",),
                output="two\nthree\n",
            ),
        ],
    )


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("read_file", file_path="a", offset=20, limit=5), Read("a", 21, 25, form="read_file")),
        (call("edit", file_path="a", old_string="x", new_string="y"), Edit("a", "x", "y")),
        (call("write_file", file_path="a", content="y"), Write("a", "y")),
        (call("grep_search", pattern="x", path="src"), Search("src", shows=True)),
        (call("glob", pattern="*"), Search()),
        (call("todo_write", todos=[]), Aside()),
        (call("agent", prompt="x"), OtherTool()),
        (call("mcp__files__read", path="x"), OtherTool()),
    ],
)
def test_tools(made: ToolCall, expected: object) -> None:
    """A sub-agent and the tools of other servers may do anything."""
    assert ADAPTER.action_of(made, "/repo").call == expected


def test_results_of_commands() -> None:
    """The exit code is in the frame; an empty output and one without the frame prove nothing."""
    made = shell("make")
    assert ADAPTER.action_of(shell("make", directory="/repo/src"), "/repo") == Action("make", "/repo/src")
    assert ADAPTER.observation_of(made, (ran("make", "built"),)) == Observation("built", exit_status=0)
    failed = Observation("built", exit_status=2)
    assert ADAPTER.observation_of(made, (ran("make", "built", 2),)) == failed
    assert ADAPTER.observation_of(made, (ran("make", "built", 2),), is_error=True) == failed
    assert ADAPTER.observation_of(made, (ran("make", "built", "(none)", "SIGKILL"),)).failed
    empty = ADAPTER.observation_of(made, (ran("make", "(empty)"),))
    assert empty.output_unknown and empty.exit_status == 0
    cut = "Tool output was too large and has been truncated.\nSaved.\n\nTruncated part of the output:\n" + ran(
        "make", "a"
    )
    assert ADAPTER.observation_of(made, (cut,)) == Observation("a", exit_status=0, truncated=True)
    for pids, running in (("(none)", False), ("8535, 8536", True)):
        beside = ran("make", "built").replace("Process Group", f"Background PIDs: {pids}\nProcess Group")
        seen = ADAPTER.observation_of(made, (beside,))
        assert (seen.output, seen.timed_out, seen.exit_status) == ("built", running, None if running else 0)
    for text in ("Background shell started.\nid: b1", "Command timed out after 5ms before it could complete."):
        assert ADAPTER.observation_of(made, (text,)).timed_out
    assert ADAPTER.observation_of(call("agent", prompt="x"), ("Background agent launched successfully.",)).timed_out


def test_results_of_reads() -> None:
    """A stub is no read, what has a gap is no lines of the file, and a failure is one line in words of the client."""
    made = call("read_file", file_path="/repo/a.py")
    stub = "[File a.py unchanged since last read in this session - it was shown earlier.]"
    assert ADAPTER.observation_of(made, (stub,)) == Observation(notice=stub, truncated=True)
    head = "Showing lines 1-2 of 90 total lines.\n\n---\n\n"
    shown = ADAPTER.observation_of(made, (f"{head}one\ntwo",))
    assert (shown.output, shown.truncated, shown.cut) == ("one\ntwo\n", True, 8)
    saved = "<persisted-output>\nOutput too large (90.1KB). Full output saved to: /tmp/x\n\nPreview (first 2KB):\n"
    for text in (
        f"{head}one\ntw... [truncated]",
        f"{saved}one\ntwo\n...\n</persisted-output>",
        "one\n... [CONTENT TRUNCATED] ...\nninety\n",
    ):
        gap = ADAPTER.observation_of(made, (text,))
        assert gap.truncated and gap.cut is None
    assert ADAPTER.observation_of(made, ("File not found: /repo/a.py",)).failed
    assert not ADAPTER.observation_of(made, ("File not found: as the first line\nof a file\n",)).failed


def test_only_commands_are_suppressed() -> None:
    """The client refuses to edit what it has not read by its own tool."""
    assert ADAPTER.shim_of(call("read_file", file_path="/repo/a.py"), "m", "x") is None
    shim = ADAPTER.shim_of(shell("cat a.py"), "m", "Instead of cat a.py.")
    assert shim is not None and ADAPTER.shim_mark(shim) == "m"
    assert ADAPTER.referenced(shell("cat a"), (ran("cat a", LINES),), "[R]") == (ran("cat a", "[R]"),)


def test_what_the_client_writes_when_it_compacts() -> None:
    """Requests for a summary or a suggestion are no turns although they offer tools, and summaries are no tasks."""
    prompt = "You are the component that summarizes a conversation when its context window is about to overflow. x"
    cold = "First, reason in your <analysis> block. Then, produce the <state_snapshot> XML."
    suggestion = "[SUGGESTION MODE: Suggest what the user might naturally type next.]"
    assert not any(ADAPTER.asked({}, "", text).turn for text in (prompt, cold, suggestion, f"It said:\n{suggestion}"))
    summary = "It was read.\n\nResume the prior task using the summary above. Continue from the last in-flight step;"
    file = "Recently accessed file (full current content embedded):\n\n## /repo/a.py\n\n```\nx\n```"
    assert ADAPTER.embedded_files(f"{PLACE}\n{file}\n{file.replace('a.py', 'b.py')}") == ("/repo/a.py", "/repo/b.py")
    assert [ADAPTER.task_of(text) for text in (f"{PLACE}\n{summary}", file, "Resume the prior task.")] == [
        "",
        "",
        "Resume the prior task.",
    ]
    cleared = ADAPTER.observation_of(call("read_file", file_path="/repo/a.py"), ("[Old tool result content cleared]",))
    assert (cleared.output, cleared.truncated) == ("", True)


def test_who_asks_and_where() -> None:
    """Requests name no session; in some dialects the client's reminders and the task are one text."""
    headers = {"user-agent": "QwenCode/0.24.4 (linux; x64)"}
    assert ADAPTER.asked(headers, "", "Mend it.") == Asked("", "", True, "qwen 0.24.4", named=False)
    for text in (PLACE, f"<system-reminder>\nskills\n</system-reminder>\n{PLACE}\nMend it."):
        assert ADAPTER.cwd_of(text) == "/repo"
    assert ADAPTER.cwd_of("I'm currently working in the directory: /else\n") is None
    assert ADAPTER.task_of(f"{PLACE}\n{PLACE}\nMend it.") == "Mend it."
    assert ADAPTER.task_of(PLACE) == ADAPTER.task_of("<task-notification>\n<task-id>1</task-id>") == ""
