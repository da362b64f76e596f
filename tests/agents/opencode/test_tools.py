"""opencode behind the proxy: who asks, what a call would do, and what is the client's own in a result."""

from __future__ import annotations

import json

import pytest

from execledger.agents.opencode.tools import ADAPTER
from execledger.session.adapter import Asked, ToolCall
from execledger.testing.adapters import Example, check_calls
from execledger.vocabulary.actions import Aside, Edit, OtherTool, Patch, Read, Search, Write

LINES = "".join(f"line {number} of a file\n" for number in range(1, 41))
NUMBERED = "\n".join(f"{number}: line {number} of a file" for number in range(1, 41))
REMINDER = "\n\n<system-reminder>\nInstructions from: /repo/AGENTS.md\n</system-reminder>"


def call(tool: str, **given: object) -> ToolCall:
    return ToolCall(tool, json.dumps(given))


def file(lines: str, footer: str) -> str:
    return f"<path>/repo/a.py</path>\n<type>file</type>\n<content>\n{lines}\n\n({footer})\n</content>"


READ = call("read", filePath="/repo/a.py")
WHOLE = file(NUMBERED, "End of file - total 40 lines")


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Commands and reads, with and without what the client writes around them."""
    check_calls(
        ADAPTER,
        [
            Example(call("bash", command="cat a.py"), (LINES,), "cat a.py", LINES),
            Example(READ, (WHOLE,), output=NUMBERED),
            Example(READ, (WHOLE + REMINDER,), output=NUMBERED),
        ],
    )


def test_who_asks() -> None:
    """The session is in a header, and a sub-agent names the one that started it."""
    headers = {"x-session-id": "s", "user-agent": "opencode/1.18.33 ai-sdk/provider-utils/4.0.23"}
    assert ADAPTER.asked(headers, "", "x") == Asked("s", "s", True, "opencode 1.18.33")
    beside = {**headers, "x-session-id": "t", "x-parent-session-id": "s"}
    assert ADAPTER.asked(beside, "", "x") == Asked("s", "t", True, "opencode 1.18.33")
    older = {"x-session-affinity": "t", "x-parent-session-id": "s", "user-agent": "opencode/1.14.34 ai-sdk/4.0.23"}
    assert ADAPTER.asked(older, "", "x") == Asked("s", "t", True, "opencode 1.14.34")


def test_what_the_client_says_of_itself() -> None:
    """The task is in quotes, and the directory is in the environment section of the system prompt."""
    assert ADAPTER.task_of('"Mend it."') == "Mend it."
    assert ADAPTER.task_of("What did we do so far?") == ""
    section = (
        "You are powered by the model named m. The exact model ID is p/m\n"
        "Here is some useful information about the environment you are running in:\n<env>\n"
        "  Working directory: /repo\n  Workspace root folder: /repo\n</env>"
    )
    assert ADAPTER.cwd_of(f"You are opencode.\n\n{section}") == "/repo"
    assert ADAPTER.cwd_of("Working directory: /elsewhere") is None
    assert ADAPTER.cwd_after(call("bash", command="cd src"), ("",), "/repo") == "/repo"


def test_a_call_that_was_not_run_shows_nothing() -> None:
    """The client's message about its arguments is no output of a command, and no file."""
    words = 'The bash tool was called with invalid arguments: SchemaError(Missing key\n  at ["description"]).'
    for one in (call("bash", command="cat a.py"), READ):
        seen = ADAPTER.observation_of(one, (words,))
        assert seen.failed and seen.truncated and seen.cut is None


def test_what_calls_would_do() -> None:
    """A directory of its own, ranges, edits and patches; an unknown tool may do anything."""
    moved = ADAPTER.action_of(call("bash", command="ls", workdir="src"), "/repo")
    assert (moved.command, moved.cwd) == ("ls", "/repo/src")
    part = ADAPTER.action_of(call("read", filePath="/repo/a.py", offset=20, limit=60), "/repo").call
    assert part == Read("/repo/a.py", 20, 79, ": ")
    given = {"filePath": "a.py", "oldString": "x", "newString": "y"}
    assert ADAPTER.action_of(call("edit", **given), "/repo").call == Edit("a.py", "x", "y")
    assert ADAPTER.action_of(call("write", filePath="a.py", content="x"), "/repo").call == Write("a.py", "x")
    assert ADAPTER.action_of(call("apply_patch", patchText="*** Begin Patch"), "/repo").call == Patch("*** Begin Patch")
    kinds = {"grep": Search(), "todowrite": Aside(), "task": OtherTool(), "mcp_x": OtherTool()}
    assert {name: ADAPTER.action_of(call(name, a=1), "/repo").call for name in kinds} == kinds


@pytest.mark.parametrize(
    "footer, truncated, cut",
    [
        ("Showing lines 1-40 of 90. Use offset=41 to continue.", True, len(NUMBERED)),
        ("Output capped at 50 KB. Showing lines 1-40. Use offset=41 to continue.", True, len(NUMBERED)),
        ("Showing lines 3-42 of 90. Use offset=43 to continue.", True, None),
    ],
)
def test_parts_of_files_are_known_as_parts(footer: str, truncated: bool, cut: int | None) -> None:
    """Lines that were shown are known by their numbers, and that more follow."""
    seen = ADAPTER.observation_of(READ, (file(NUMBERED, footer),))
    assert (seen.output, seen.truncated, seen.cut) == (NUMBERED, truncated, cut)


def test_a_result_that_shows_nothing_proves_nothing() -> None:
    """No exit code, so that a complaint leaves it unknown; a message in place of a file is none."""
    cat = call("bash", command="cat a.py")
    empty = ADAPTER.observation_of(cat, ("(no output)",))
    assert (empty.output, empty.truncated, empty.exit_status) == ("", True, None)
    complaint = ADAPTER.observation_of(cat, ("cat: a.py: No such file or directory\n",))
    assert complaint.truncated and complaint.cut is None and not complaint.failed
    cut = ADAPTER.observation_of(cat, (f"...output truncated...\n\nFull output saved to: /tmp/x\n\n{LINES}",))
    assert cut.truncated and cut.output == LINES
    late = f"{LINES}\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 9 ms\n</shell_metadata>"
    assert ADAPTER.observation_of(cat, (late,)).timed_out
    missing = ADAPTER.observation_of(READ, ("File not found: /repo/a.py",))
    assert missing.truncated and missing.failed


def test_only_shell_commands_have_shims() -> None:
    """The other arguments of the call stay; a native read always runs."""
    cat = call("bash", command="cat a.py", workdir="src")
    shim = ADAPTER.shim_of(cat, "m1", "Instead of cat a.py")
    assert shim is not None and json.loads(shim.text) == {
        "command": "echo '[ledger:m1] Instead of cat a.py'",
        "workdir": "src",
    }
    assert ADAPTER.shim_mark(shim) == "m1"
    assert ADAPTER.shim_of(READ, "m1", "x") is None
