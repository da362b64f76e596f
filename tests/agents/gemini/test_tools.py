"""Gemini CLI behind the proxy: what a call would do, and what is the client's own in a result."""

from __future__ import annotations

import json

import pytest

from execledger.agents.gemini.tools import ADAPTER
from execledger.session.adapter import Adapter, Asked, ToolCall
from execledger.testing.adapters import Example, check_calls
from execledger.vocabulary.actions import Action, Aside, Edit, Observation, OtherTool, Read, Search, Write

PROTOCOL: Adapter = ADAPTER
LINES = "".join(f"line {number} of a file\n" for number in range(1, 41))
PART = (
    "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 2-3 of 9 total lines.\n"
    "Action: Read on.\n\n--- FILE CONTENT (truncated) ---\ntwo\nthree"
)


def call(name: str, **given: object) -> ToolCall:
    return ToolCall(name, json.dumps(given))


def shell(command: str, **more: object) -> ToolCall:
    return call("run_shell_command", command=command, **more)


def ran(output: str, more: str = "", pid: int = 8535) -> str:
    """A result of the shell as the client writes it."""
    return f"<untrusted_context>\nOutput: {output}{more}\nProcess Group PGID: {pid}\n</untrusted_context>"


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Commands and reads, whole and in part."""
    check_calls(
        ADAPTER,
        [
            Example(shell("cat a.py"), (ran(LINES.rstrip()),), "cat a.py", LINES.rstrip()),
            Example(call("read_file", file_path="a.py"), (LINES,), output=LINES),
            Example(call("read_file", file_path="a.py", start_line=2, end_line=3), (PART,), output="two\nthree\n"),
        ],
    )


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("read_file", file_path="a", start_line=2, end_line=5), Read("a", 2, 5, form="read_file")),
        (call("replace", file_path="a", old_string="x", new_string="y", instruction="z"), Edit("a", "x", "y")),
        (call("write_file", file_path="a", content="y"), Write("a", "y")),
        (call("grep_search", pattern="x", dir_path="src"), Search("src", shows=True)),
        (call("list_directory", dir_path="src"), Search()),
        (call("update_topic", topic="x"), Aside()),
        (call("invoke_agent", prompt="x"), OtherTool()),
    ],
)
def test_tools(made: ToolCall, expected: object) -> None:
    """A sub-agent and the tools of other servers may do anything."""
    assert ADAPTER.action_of(made, "/repo").call == expected


def test_results_of_commands() -> None:
    """Process ids are no output; an exit code is reported only if it is not 0."""
    made = shell("make", description="build it")
    assert ADAPTER.action_of(shell("make", dir_path="src"), "/repo") == Action("make", "/repo/src")
    for pid in (1, 2):
        assert ADAPTER.observation_of(made, (ran("built", pid=pid),)) == Observation("built", exit_status=0)
    assert ADAPTER.observation_of(made, (ran("x", "\nExit Code: 3"),)) == Observation("x", exit_status=3)
    assert ADAPTER.observation_of(made, (ran("x", "\nSignal: 9"),)).failed
    assert ADAPTER.observation_of(made, (ran("x", "\nBackground PIDs: 4, 5"),)).timed_out
    assert ADAPTER.observation_of(made, (ran("(empty)"),)).output_unknown
    cut = "Output too large. Showing first 8 and last 32 characters. For full output see: /tmp/x\n" + ran("a")
    assert ADAPTER.observation_of(made, (cut,)) == Observation("a", exit_status=0, truncated=True)
    moved = "<untrusted_context>\nCommand moved to background (PID: 1). Output hidden.\n</untrusted_context>"
    assert ADAPTER.observation_of(made, (moved,)).timed_out
    assert ADAPTER.observation_of(made, ("Tool execution denied",)).exit_status is None


def test_an_exit_code_that_a_command_may_have_printed() -> None:
    """The client writes one only if it is not 0; behind the text of a file, or if the command has the words, whose
    line it is remains unknown."""
    zero = ADAPTER.observation_of(shell("cat ci.log"), (ran("built\nExit Code: 0"),))
    assert zero == Observation("built\nExit Code: 0", exit_status=0)
    for command in ("cat ci.log", "tail -n 2 ci.log", "make; echo Exit Code: $?"):
        seen = ADAPTER.observation_of(shell(command), (ran("built\nExit Code: 1"),))
        assert seen == Observation("built\nExit Code: 1", truncated=True), command
    assert ADAPTER.observation_of(shell("pytest"), (ran("1 failed\nExit Code: 1"),)).exit_status == 1
    nothing = ADAPTER.observation_of(shell("grep x a.py"), (ran("(empty)", "\nExit Code: 1"),))
    assert nothing.output_unknown and nothing.exit_status == 1


def test_an_edited_result_keeps_the_frame() -> None:
    """Of a command and of a read in part."""
    assert ADAPTER.referenced(shell("cat a.py"), (ran(LINES.rstrip()),), "[R]") == (ran("[R]"),)
    part = call("read_file", file_path="a.py", start_line=2, end_line=3)
    assert ADAPTER.referenced(part, (PART,), "[R]\n") == (PART.replace("two\nthree", "[R]"),)


def test_who_asks_and_where() -> None:
    """With a login the body names the session, and sub-agents share it; with a key nothing does."""
    headers = {"user-agent": "GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)"}
    assert ADAPTER.asked(headers, "", "Mend it.") == Asked("", "", True, "gemini 0.61.0", named=False)
    assert ADAPTER.asked(headers, "s", "Mend it.") == Asked("s", "s", True, "gemini 0.61.0", named=False)
    place = "<session_context>\nThis is the Gemini CLI. A chat begins.\n- **Workspace Directories:**\n  - {}\n- **Next"
    assert ADAPTER.cwd_of(place.format("/repo")) == "/repo"
    assert ADAPTER.cwd_of(place.format("/repo\n  - /other")) is None
    assert ADAPTER.task_of(place.format("/repo")) == "" and ADAPTER.task_of("Mend it.") == "Mend it."
