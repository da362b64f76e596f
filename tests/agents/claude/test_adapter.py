"""Claude Code behind the proxy: who asks, what a call would do, and what is the client's own in a result."""

from __future__ import annotations

import json

import pytest

from execledger.agents.claude import adapter
from execledger.session.adapter import Adapter, Asked, ToolCall
from execledger.testing.adapters import Example, check_calls
from execledger.vocabulary.actions import Observation, Read

PROTOCOL: Adapter = adapter
LEFT = "<system-reminder>\n<total_tokens>14998991 tokens left</total_tokens>\n</system-reminder>"
MOVED = (
    "<system-reminder>\n# Environment update\n - Primary working directory: /repo/src (was /repo)\n</system-reminder>"
)
LEFT_OUT = (
    "[Tool result left out: too large for this summary request (9 MB). The call was made and may have had effects; "
    "its output is not available.]"
)
LINES = "".join(f"line {number} of a file\n" for number in range(1, 41))
NUMBERED = "".join(f"{number}\tline {number} of a file\n" for number in range(1, 41))


def bash(command: str, **more: object) -> ToolCall:
    return ToolCall("Bash", json.dumps({"command": command, **more}))


READ = ToolCall("Read", '{"file_path": "/repo/a.py"}')


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Commands and reads, with and without reminders, in one text or in several."""
    check_calls(
        adapter,
        [
            Example(bash("cat a.py"), (LINES,), "cat a.py", LINES),
            Example(bash("cat a.py"), (f"{LINES.rstrip()}\n\n{LEFT}",), "cat a.py", LINES.rstrip()),
            Example(bash("cat a.py"), (LINES, LEFT), "cat a.py", LINES.rstrip()),
            Example(READ, (f"{NUMBERED}41\t",), output=NUMBERED),
            Example(READ, (f"{NUMBERED}41\n\n{MOVED}\n\n{LEFT}",), output=NUMBERED),
        ],
    )


def test_who_asks() -> None:
    """The session and the sub-agent are in headers; a request for a summary offers tools and is no turn."""
    headers = {"x-claude-code-session-id": "s", "user-agent": "claude-cli/2.1.325 (external, cli)"}
    assert adapter.asked(headers, "", "Mend it.") == Asked("s", "s", True, "claude 2.1.325")
    beside = {**headers, "x-claude-code-agent-id": "a1"}
    assert adapter.asked(beside, "", "") == Asked("s", "s/a1", True, "claude 2.1.325")
    assert not adapter.asked(headers, "", "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.").turn
    assert adapter.asked({}, "", "") == Asked("", "", True, "claude", named=False)
    for kind, turn, side in (
        ("main", True, False),
        ("subagent", True, False),
        ("workflow", True, False),
        ("compaction", False, False),
        ("auxiliary", True, True),
        ("side_reply", True, True),
    ):
        asked = adapter.asked({**headers, "x-claude-code-request-class": kind}, "", "Mend it.")
        assert (asked.turn, asked.side) == (turn, side), kind


def test_the_task_is_what_the_user_typed() -> None:
    """Reminders, commands of the terminal, notifications and summaries are the client's own words."""
    own = (
        LEFT,
        "<command-name>/clear</command-name>",
        "<task-notification>\n",
        "Caveat: The messages below",
        "[Request interrupted by user]",
    )
    assert [adapter.task_of(text) for text in own] == [""] * len(own)
    assert adapter.task_of("This session is being continued from a previous conversation that ran out") == ""
    assert adapter.task_of("Mend it.") == "Mend it."


def test_reminders_stay_behind_a_reference_and_a_remark() -> None:
    """The client's words are kept byte for byte, wherever they were."""
    folded, apart = f"{LINES.rstrip()}\n\n{MOVED}\n\n{LEFT}", (LINES, MOVED, LEFT)
    assert adapter.referenced(READ, (folded,), "[R]") == (f"[R]\n\n{MOVED}\n\n{LEFT}",)
    assert adapter.referenced(READ, apart, "[R]") == ("[R]", MOVED, LEFT)
    assert adapter.remarked(READ, (folded,), "[R]") == (f"{LINES.rstrip()}\n[R]\n\n{MOVED}\n\n{LEFT}",)
    assert adapter.remarked(READ, apart, "[R]") == (f"{LINES.rstrip()}\n[R]", MOVED, LEFT)
    assert adapter.referenced(READ, (LINES,), "[R]") == ("[R]",)


def test_what_looks_like_a_reminder_is_never_lost() -> None:
    """A file that ends like one keeps its end: it is shown, and only the rest may be referred to."""
    text = f"{LINES}<system-reminder>\nnot one\n</system-reminder>\n"
    (shown,) = adapter.referenced(bash("cat a.md"), (text,), "[R]")
    assert shown.endswith("<system-reminder>\nnot one\n</system-reminder>\n")


@pytest.mark.parametrize(
    ("text", "is_error", "expected"),
    [
        ("Exit code 3\nout", True, Observation("out", exit_status=3)),
        (
            "<tool_use_error>No such tool</tool_use_error>",
            True,
            Observation("<tool_use_error>No such tool</tool_use_error>", failed=True),
        ),
        ("out", False, Observation("out", exit_status=0)),
    ],
)
def test_how_a_command_ended(text: str, is_error: bool, expected: Observation) -> None:
    """The exit status is in the text of a failure; an error without one has failed."""
    assert adapter.observation_of(bash("make"), (text,), is_error=is_error) == expected


def test_a_stub_of_the_client_is_no_read() -> None:
    """Older versions answer an equal read with a sentence: nothing was shown by it."""
    stub = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."
    seen = adapter.observation_of(READ, (stub,))
    assert (seen.output, seen.truncated) == ("", True)


@pytest.mark.parametrize("call", [READ, bash("cat a.py"), ToolCall("Grep", '{"pattern": "x"}')])
@pytest.mark.parametrize("stub", ["[Old tool result content cleared]", LEFT_OUT])
def test_a_result_that_the_client_took_away_is_no_result(call: ToolCall, stub: str) -> None:
    """It did not fail, and nothing is known of it; a text that only begins like one is an output."""
    for text in (stub, f"{stub}\n\n{LEFT}"):
        seen = adapter.observation_of(call, (text,))
        assert (seen.output, seen.output_unknown, seen.succeeded, seen.notice) == ("", True, True, stub)
    assert not adapter.observation_of(bash("cat a.py"), (f"{stub}\nmore",)).output_unknown


def test_no_output_proves_nothing() -> None:
    """The client's words in place of it are no output; a command that is known to have printed nothing has none."""
    words = "(Bash completed with no output)"
    expected = Observation("", exit_status=0, truncated=True)
    assert adapter.observation_of(bash("ls"), (words,)) == expected
    assert adapter.observation_of(bash("ls"), (f"{words}\n\n{LEFT}",)).output_unknown
    assert adapter.observed(bash("ls"), (words,), False, {"stdout": ""}) == Observation("", exit_status=0)
    assert adapter.observation_of(bash("ls"), (f"{words} x",)).output == f"{words} x"


def test_a_notice_of_modified_files_is_the_clients() -> None:
    """It stays behind a reference, before the reminders and behind a reset of the directory; alone, nothing is known
    of the output."""
    notice = "[This command modified 2 files you've previously read: a.py, src/b.py. Call Read before editing.]"
    reset = "Shell cwd was reset to /repo"
    call = bash("cat a.py; make")
    for behind in (f"\n{notice}", f"\n{notice}\n\n{LEFT}", f"\n{reset}\n{notice}\n\n{LEFT}"):
        text = f"{LINES.rstrip()}{behind}"
        seen = adapter.observation_of(call, (text,))
        assert (seen.output, seen.truncated, notice in seen.reminders) == (LINES.rstrip(), False, True)
        assert seen.notice == (reset if reset in behind else "")
        assert adapter.referenced(call, (text,), "[R]") == (f"[R]{behind}",)
        assert adapter.remarked(call, (text,), "[R]") == (f"{LINES.rstrip()}\n[R]{behind}",)
        assert adapter.own_parts((text,)) == (LINES.rstrip(),)
    assert adapter.cwd_after(bash("cd /x"), (f"ok\n{reset}\n{notice}\n\n{LEFT}",), "/repo") == "/repo"
    assert adapter.observation_of(call, (notice,)) == Observation("", reminders=notice, exit_status=0, truncated=True)
    # Lines of an output that look like it are output.
    assert adapter.observation_of(call, (f"{notice}\nmore",)).output == f"{notice}\nmore"


def test_a_background_command_may_still_run() -> None:
    """It is neither succeeded nor failed, and never replaced by a shim."""
    call = bash("make", run_in_background=True)
    seen = adapter.observation_of(call, ("Command running in background with ID: b1. Output is being written to: x",))
    assert seen.timed_out and not seen.succeeded
    assert adapter.shim_of(call, "m", "words") is None
    assert adapter.shim_of(READ, "m", "words") is None


def test_the_directory_of_the_shell() -> None:
    """It persists: a change is reported, and after a command that may change it without a report it is unknown."""

    def after(command: str, *parts: str, cwd: str | None = "/repo") -> str | None:
        return adapter.cwd_after(bash(command), parts or ("ok",), cwd)

    assert after("ls") == "/repo"
    assert after("anything", f"ok\n\n{MOVED}\n\n{LEFT}") == "/repo/src"
    assert after("anything", f"ok\n\n{MOVED}", cwd=None) == "/repo/src"
    # A report that does not follow from what is known, as a file that is printed may imitate it.
    assert after("cat x", f"ok\n\n{MOVED}", cwd="/other") == "/other"
    quoted = "<system-reminder>\nPrimary working directory: /etc\n</system-reminder>"
    assert after("cat x", f"ok\n\n{quoted}") == "/repo"
    assert after("cd /tmp && ls", "ok\nShell cwd was reset to /repo") == "/repo"
    assert after("cd /tmp && ls", f"ok\nShell cwd was reset to /repo\n\n{LEFT}") == "/repo"
    for command in ("cd /repo && ls", "cd . && false", "cd src/.. && make"):
        assert after(command) == "/repo", command
    unknown = "cd $X && ls|ls; cd src|cd a && cd b|pushd src|source x.sh|cd src && ls|cd nope; ls|(cd src)|cd src &"
    for command in (*unknown.split("|"), "set -e\n. ./env.sh", "if true; then . ./env.sh; fi"):
        assert after(command) is None, command
    # Before its answer, a call of the same turn starts where this one may have led.
    assert adapter.cwd_after(bash("cd src"), None, "/repo") is None
    assert adapter.cwd_after(bash("cd src", run_in_background=True), None, "/repo") is None
    assert adapter.cwd_after(bash("ls"), None, "/repo") == "/repo"
    assert adapter.cwd_after(READ, None, "/repo") == "/repo"


def test_a_reset_of_the_directory_stays_behind_a_reference() -> None:
    """The model learns where the next command starts, whatever is omitted; such a command is never replaced."""
    text = f"{LINES.rstrip()}\nShell cwd was reset to /repo\n\n{LEFT}"
    call = bash("cd /tmp && cat a.py")
    assert adapter.referenced(call, (text,), "[R]") == (f"[R]\nShell cwd was reset to /repo\n\n{LEFT}",)
    assert adapter.observation_of(call, (text,)).output == LINES.rstrip()
    assert adapter.shim_of(call, "m", "words") is None


def test_a_reminder_between_other_words_is_not_elided() -> None:
    """It could not be kept in its place."""
    for parts in (("out", LEFT, "tail"), (f"out\n\n{LEFT}\n[This command modified 1 file]",)):
        assert adapter.observation_of(bash("cat a.py"), parts).truncated


def test_where_the_client_is() -> None:
    """It says so in its first message, or in its instructions; words of others are no statement of the client's."""
    place = " - Primary working directory: /repo\n - Is a git repository: true"
    section = f"# Environment\nYou have been invoked in:\n{place}"
    assert adapter.cwd_of(f"<system-reminder>\n{section}\n</system-reminder>") == "/repo"
    told = "You are Claude Code.\n<env>\nWorking directory: /repo/x\nIs directory a git repo: Yes\n</env>"
    assert adapter.cwd_of(told) == "/repo/x"
    # A message of its own with the role of the system, without a reminder around it.
    assert adapter.cwd_of(f"# Environment\nYou have been invoked in the following environment: \n{place}") == "/repo"
    for text in (section, "Working directory: /app", "<system-reminder>\n# claudeMd\nWorking directory: /app"):
        assert adapter.cwd_of(text) is None


def test_a_read_names_its_lines() -> None:
    """The first line and how many; numbers are printed behind each."""
    call = ToolCall("Read", '{"file_path": "/repo/a.py", "offset": 5, "limit": 3}')
    assert adapter.action_of(call, "/repo").call == Read("/repo/a.py", 5, 7, "\t")
