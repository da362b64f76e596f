"""Copilot CLI behind the proxy: what a call would do, and what is the client's own in a result."""

from __future__ import annotations

import json

from execledger.agents.copilot.tools import ADAPTER
from execledger.session.adapter import Asked, ToolCall
from execledger.testing.adapters import Example, check_calls
from execledger.vocabulary.actions import Aside, Edit, OtherTool, Read, Search, Write

LINES = "".join(f"line {number} of a file\n" for number in range(1, 41))
ENDED = "\n<shellId: 3 completed with exit code 0>"


def call(tool: str, **given: object) -> ToolCall:
    return ToolCall(tool, json.dumps(given))


CAT = call("bash", command="cat a.py", description="read")
VIEW = call("view", path="/repo/a.py")


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Commands with their exit codes, and the bare text of files."""
    check_calls(
        ADAPTER,
        [
            Example(CAT, (LINES.rstrip() + ENDED,), "cat a.py", LINES.rstrip()),
            Example(VIEW, (LINES,), output=LINES),
        ],
    )


def test_requests_name_no_session() -> None:
    """The launcher's path does; the directory is in the system prompt, and the time before the task is not the task."""
    assert ADAPTER.asked({"x-initiator": "user"}, "", "x") == Asked("", "", True, "copilot", named=False)
    time = "<current_datetime>2026-11-15T21:27:04.003+00:00</current_datetime>\n\n"
    assert ADAPTER.task_of(f"{time}Mend it.") == "Mend it."
    assert ADAPTER.task_of("<system_notification>\nShell command ...</system_notification>") == ""
    prompt = "You are working in the following environment. You need no calls.\n* Current working directory: /repo\n"
    assert ADAPTER.cwd_of(f"<environment_context>\n{prompt}") == "/repo"


def test_what_calls_would_do() -> None:
    """Ranges, edits and new files; sub-agents and unknown tools may do anything."""
    whole = ADAPTER.action_of(VIEW, "/repo").call
    assert whole == Read("/repo/a.py", form="view")
    part = ADAPTER.action_of(call("view", path="a.py", view_range=[20, -1]), "/repo").call
    assert part == Read("a.py", 20, None, form="view")
    edit = ADAPTER.action_of(call("edit", path="a.py", old_str="x", new_str="y"), "/repo").call
    assert edit == Edit("a.py", "x", "y")
    assert ADAPTER.action_of(call("create", path="a.py", file_text="x"), "/repo").call == Write("a.py", "x")
    kinds = {"grep": Search(), "sql": Aside(), "read_bash": Aside(), "task": OtherTool(), "stop_bash": OtherTool()}
    assert {name: ADAPTER.action_of(call(name, paths=["a"]), "/repo").call for name in kinds} == kinds


def test_results_that_prove_nothing() -> None:
    """Outputs that are too large, messages in place of a file, and commands that have not ended."""
    failed = ADAPTER.observation_of(CAT, ("no\n<shellId: 3 completed with exit code 3>",))
    assert (failed.output, failed.exit_status) == ("no", 3)
    older = ADAPTER.observation_of(CAT, ("no\n<exited with exit code 3>",))
    assert (older.output, older.exit_status) == ("no", 3)
    numbered = ADAPTER.observation_of(call("view", path="/repo/a.py", view_range=[7, 9]), ("7. a\n8. b\n9. ",))
    assert numbered.truncated and numbered.cut is None
    large = f"Output too large to read at once (182.4 KB). Saved to: /tmp/x\nConsider grep.\n{LINES}{ENDED}"
    assert ADAPTER.observation_of(CAT, (large,)).truncated
    for words in (
        "<command started in background with shellId: 7>",
        f"{LINES}<command with shellId: 6 is still running>",
    ):
        assert ADAPTER.observation_of(CAT, (words,)).timed_out
    assert ADAPTER.observation_of(CAT, ("The user rejected this command",)).truncated
    for words in (
        "Path /repo/a.py does not exist. Please provide a valid path.",
        "File too large to read at once (1 MB).",
    ):
        seen = ADAPTER.observation_of(VIEW, (words,))
        assert seen.failed and seen.truncated and seen.cut is None
    cut = ADAPTER.observation_of(VIEW, (f"{LINES}[Output truncated. Use view_range to see more.]",))
    assert cut.truncated and cut.cut is None
    assert ADAPTER.observation_of(VIEW, ("",)).truncated


def test_the_listing_of_a_folder_is_no_file() -> None:
    """Nothing but its form tells it from a file: names in order, without a line break behind the last one."""
    for listing in (" lead\n.git\nREADME\nZed.py\na file.txt\nempty\nsrc", "one"):
        for call_ in (call("view", path="/repo"), call("view", path="/repo", view_range=[1, 2])):
            seen = ADAPTER.observation_of(call_, (listing,))
            assert (seen.output, seen.failed, seen.truncated, seen.pieces) == (listing, False, True, ())
    for file in ("a\nb\n", "b\na", "a\n\nb", "a\na", "a\nb/c"):
        assert not ADAPTER.observation_of(VIEW, (file,)).truncated, file
    part = call("view", path="/repo/a.py", view_range=[7, 8])
    assert not ADAPTER.observation_of(part, ("a = 1\nb = 2",)).truncated


def test_only_shell_commands_have_shims() -> None:
    """A native read always runs."""
    shim = ADAPTER.shim_of(CAT, "m1", "Instead of cat a.py")
    assert shim is not None and ADAPTER.shim_mark(shim) == "m1"
    assert ADAPTER.shim_of(VIEW, "m1", "x") is None
