"""Transcripts of Claude Code, older and newer, and the stream of the same messages."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from execledger.agents.formats import read_run
from execledger.runs.recording import ModelReply, Recorded, Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Action, Aside, Edit, Observation, OtherTool, Read, Search, Write
from tests.runs.samples_agents import PROMPT, TASK, Fields, lines, result, says, uses

TOOK = ModelCall(Tokens.of(input=60, cached=50, written=7, output=20))
REMINDER = "<system-reminder>\nBe careful.\n</system-reminder>"


def read(*rows: Fields) -> Run:
    """The run that these lines record."""
    return read_run("r", lines(PROMPT, *rows))


def step(tool: str, text: object, kept: object = None, *, error: bool = False, **given: Any) -> Recorded:
    """The one step of a session that makes one call."""
    (only,) = read(uses("m", "c", tool, **given), result("c", text, kept, error=error)).steps
    return only


def test_a_session_is_read_message_by_message() -> None:
    """Lines with one id are one call of the model, and count once; calls are paired with their results by id."""
    run = read(
        says("m1", {"type": "text", "text": "I look."}),
        uses("m1", "a", "Bash", command="ls"),
        uses("m1", "b", "Read", file_path="/repo/a.py"),
        result("a", "a.py"),
        result("b", "1\tx = 1\n2\t"),
        says("m2", {"type": "text", "text": "Done."}),
    )
    first, second = Action("ls", "/repo"), Read("/repo/a.py", 1, 2000, "\t")
    assert run == Run(
        name="r",
        format="claude-code",
        agent="claude-code 2.1.9",
        model="some-model",
        task=TASK,
        container=False,
        turns=2,
        steps=(
            Recorded(first, Observation("a.py", exit_status=0), 0),
            Recorded(Action('Read {"file_path":"/repo/a.py"}', "/repo", second), Observation("1\tx = 1\n"), 0),
        ),
        model_calls=(TOOK, TOOK),
        ended="tool_use",
        parallel=True,
        replies=(ModelReply("I look."), ModelReply("Done.")),
    )


def test_tokens_of_output_count_when_the_message_has_ended() -> None:
    """A line that was written while the message still came has no count of its output yet."""
    early = says("m1", uuid="early")
    early["message"] |= {"stop_reason": None, "usage": {**early["message"]["usage"], "output_tokens": 1}}
    assert read(early).model_calls == (ModelCall(Tokens.of(input=60, cached=50, written=7)),)
    assert read(early, says("m1")).model_calls == (TOOK,)


def test_what_the_client_says_for_the_model_is_no_call() -> None:
    """A message about an error, made by the client, costs nothing."""
    made = says("m1")
    made["message"]["model"] = "<synthetic>"
    assert (read(made).turns, read(made).model_calls) == (0, ())


def test_a_line_that_is_there_twice_counts_once() -> None:
    """A resumed session repeats lines."""
    rows = (uses("m", "c", "Bash", command="ls"), result("c", "a.py"))
    assert read(*rows, *rows) == read(*rows)


def test_what_the_client_added_up() -> None:
    """Totals over all models stand on a line of their own."""
    usage = {
        "inputTokens": 1,
        "cacheReadInputTokens": 2,
        "cacheCreationInputTokens": 3,
        "outputTokens": 4,
        "costUSD": 1,
    }
    run = read({"type": "cost-state", "sessionId": "s", "totalCostUSD": 0.5, "modelUsage": {"a": usage, "b": usage}})
    assert run.totals == ModelCall(Tokens.of(input=12, cached=4, written=6, output=8), 0.5)


@pytest.mark.parametrize(
    ("text", "kept", "expected"),
    [
        ("     1→x\n     2→y\n     3→", None, Observation("     1→x\n     2→y\n")),
        ("1\tx\n2\ty", None, Observation("1\tx\n2\ty")),
        ("1\tx\n2\t\n\n" + REMINDER + "\n", None, Observation("1\tx\n", reminders=REMINDER)),
        (REMINDER, None, Observation("", reminders=REMINDER)),
        (f"1\tx\n2\t{REMINDER}", None, Observation(f"1\tx\n2\t{REMINDER}")),
        (
            "File unchanged since last read. Look there.",
            None,
            Observation(notice="File unchanged since last read. Look there.", truncated=True),
        ),
        (
            "Wasted call — file unchanged since your last Read.",
            None,
            Observation(notice="Wasted call — file unchanged since your last Read.", truncated=True),
        ),
        ("See above.", {"type": "file_unchanged"}, Observation(notice="See above.", truncated=True)),
        ("[a picture]", {"type": "image"}, Observation("[a picture]", truncated=True)),
        ("1\t" + "x" * 2000, None, Observation("1\t" + "x" * 2000, truncated=True)),
    ],
)
def test_reads(text: str, kept: object, expected: Observation) -> None:
    """Lines stand behind numbers; reminders are the client's; a stub, a picture and a cut line are no content."""
    assert step("Read", text, kept, file_path="/repo/a.py").observation == expected


@pytest.mark.parametrize(
    ("total", "shown"),
    [(3, "2\ty\n"), (4, "2\ty\n3\t")],
)
def test_the_number_behind_the_last_line(total: int, shown: str) -> None:
    """An empty last line is one of the file only if the file goes on behind it."""
    kept = {"type": "text", "file": {"startLine": 2, "numLines": 2, "totalLines": total}}
    recorded = step("Read", "2\ty\n3\t", kept, file_path="/repo/a.py", offset=2, limit=2)
    assert recorded.observation == Observation(shown)


@pytest.mark.parametrize(
    ("given", "call"),
    [
        ({}, Read("/a.py", 1, 2000, "→")),
        ({"offset": 5, "limit": 3}, Read("/a.py", 5, 7, "→")),
        ({"offset": "5", "limit": "3"}, Read("/a.py", 5, 7, "→")),
        ({"offset": 0}, Read("/a.py", 1, 2000, "→")),
        ({"limit": -1}, OtherTool()),
        ({"offset": [1]}, OtherTool()),
        ({"pages": "1-2"}, Search()),
    ],
)
def test_what_a_read_asks_for(given: dict[str, Any], call: object) -> None:
    """The first line and how many, with the numbering of the version; what is not understood may do anything."""
    assert step("Read", "     5→x", file_path="/a.py", **given).action.call == call


@pytest.mark.parametrize(
    ("text", "error", "kept", "expected"),
    [
        ("out", False, None, Observation("out", exit_status=0)),
        ("Exit code 3\nout", True, None, Observation("out", exit_status=3)),
        ("Exit code 1", True, None, Observation("", exit_status=1)),
        ("out", True, "Error: Exit code 2\nout", Observation("out", exit_status=2)),
        ("no such tool", True, None, Observation("no such tool", failed=True)),
        ("", False, {"returnCodeInterpretation": "No matches found"}, Observation("")),
        (
            "out\nShell cwd was reset to /repo",
            False,
            None,
            Observation("out", notice="Shell cwd was reset to /repo", exit_status=0),
        ),
        (
            "Exit code 143\nCommand timed out after 2m 0s\nout",
            True,
            None,
            Observation("Command timed out after 2m 0s\nout", timed_out=True),
        ),
        (
            "Command running in background with ID: b1",
            False,
            None,
            Observation("Command running in background with ID: b1", timed_out=True),
        ),
        ("out", False, {"interrupted": True}, Observation("out", timed_out=True)),
        (
            "a\n\n... [9 lines truncated] ...\n\nb",
            False,
            None,
            Observation("a\n\n... [9 lines truncated] ...\n\nb", exit_status=0, truncated=True),
        ),
        (
            "<persisted-output>\nOutput too large",
            False,
            None,
            Observation("<persisted-output>\nOutput too large", exit_status=0, truncated=True),
        ),
        (f"out\n\n{REMINDER}", False, None, Observation("out", exit_status=0, reminders=REMINDER)),
        (f"out\n{REMINDER}", False, {"stdout": f"out\n{REMINDER}"}, Observation(f"out\n{REMINDER}", exit_status=0)),
    ],
)
def test_commands(text: str, error: bool, kept: object, expected: Observation) -> None:
    """Status, time limits, jobs in the background, and what the client left out or added."""
    assert step("Bash", text, kept, error=error, command="make").observation == expected


def test_a_read_by_a_command_may_have_lost_blank_lines() -> None:
    """The client trims outputs: fewer lines than asked for prove nothing about the end of the file."""
    asked = "sed -n '1,3p' a.py"
    assert step("Bash", "x\ny\nz", command=asked).observation == Observation("x\ny\nz", exit_status=0)
    assert step("Bash", "x\ny", command=asked).observation == Observation("x\ny", exit_status=0, cut=0, truncated=True)


@pytest.mark.parametrize(
    ("tool", "given", "call"),
    [
        ("Edit", {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": False}, Edit("/a", "x", "y")),
        (
            "MultiEdit",
            {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}, {"new_string": "z"}]},
            Edit("/a", "x\n", "y\nz"),
        ),
        ("MultiEdit", {"file_path": "/a", "edits": "x"}, OtherTool()),
        ("Write", {"file_path": "/a", "content": "x"}, Write("/a", "x")),
        ("NotebookEdit", {"notebook_path": "/a", "new_source": "x"}, Edit("/a", new="x")),
        ("Grep", {"pattern": "x"}, Search()),
        ("Glob", {"pattern": "x"}, Search()),
        ("LS", {"path": "/"}, Search()),
        ("TodoWrite", {"todos": []}, Aside()),
        ("WebFetch", {"url": "x"}, Aside()),
        ("Task", {"prompt": "x"}, OtherTool()),
        ("Agent", {"prompt": "x"}, OtherTool()),
        ("mcp__files__write", {"path": "/a"}, OtherTool()),
    ],
)
def test_tools(tool: str, given: dict[str, Any], call: object) -> None:
    """What every tool would do; one that is not known may do anything."""
    assert step(tool, "done", **given).action.call == call


def test_a_tool_that_failed() -> None:
    """A result that is marked as an error is a failure of the tool."""
    assert step("Edit", "Not found.", error=True, file_path="/a").observation == Observation("Not found.", failed=True)


def test_the_shell_moves() -> None:
    """A command starts where the line before it says; its result tells where it ended."""
    run = read(
        uses("m1", "a", "Bash", command="cd src"),
        result("a", "", cwd="/repo/src"),
        uses("m2", "b", "Bash", "/repo/src", command="ls"),
        result("b", "a.py", cwd="/repo/src"),
    )
    assert [one.action.cwd for one in run.steps] == ["/repo", "/repo/src"]


def test_commands_of_one_message_may_move_each_other() -> None:
    """Where the second of two commands started is not known once the first has moved the shell."""
    run = read(
        uses("m1", "a", "Bash", command="cd src"),
        uses("m1", "b", "Bash", command="ls"),
        result("a", "", cwd="/repo/src"),
        result("b", "a.py", cwd="/repo/src"),
    )
    assert [one.action.cwd for one in run.steps] == [None, None]


@pytest.mark.parametrize(
    "row",
    [
        {"type": "system", "subtype": "compact_boundary", "uuid": "x", "sessionId": "s"},
        {"type": "system", "subtype": "microcompact_boundary", "uuid": "x", "sessionId": "s"},
        {**PROMPT, "uuid": "x", "parentUuid": "result a", "isCompactSummary": True},
        {**PROMPT, "uuid": "x", "parentUuid": "u0"},
    ],
)
def test_what_takes_results_out_of_sight(row: Fields) -> None:
    """A compaction, results that were cleared, and a user who goes back to an earlier place."""
    one = (uses("m1", "a", "Bash", command="ls"), result("a", "a.py"))
    two = (uses("m2", "b", "Bash", command="ls"), result("b", "a.py"))
    assert (read(*one, row, *two).compactions, read(*one, *two, row).compactions) == ((1,), ())
    assert read(*one, {**PROMPT, "uuid": "y", "parentUuid": "result a"}, *two).compactions == ()


def test_side_chains_are_threads() -> None:
    """Sub-agents among the lines of the session: each is known by its agent, or by its first line."""
    side = {"isSidechain": True}
    run = read(
        {**PROMPT, **side, "uuid": "s0", "message": {"role": "user", "content": "Look around."}},
        {**uses("m1", "a", "Bash", command="ls"), **side, "parentUuid": "s0"},
        {**result("a", "a.py"), **side, "parentUuid": "use a"},
        {**uses("m2", "b", "Bash", command="ls"), **side, "agentId": "x"},
        {**result("b", "a.py"), **side, "agentId": "x"},
    )
    assert ([one.action.thread for one in run.steps], run.task) == (["s0", "x"], TASK)


def test_a_file_of_a_sub_agent() -> None:
    """It has no other task than the agent's."""
    row = {**PROMPT, "isSidechain": True, "agentId": "x"}
    assert read_run("r", lines(row)).task == TASK


def test_what_the_client_says_for_the_user_is_no_task() -> None:
    """Commands of the client and its notes stand before the task."""
    notes = [
        {**PROMPT, "uuid": "1", "message": {"role": "user", "content": "<command-name>/clear</command-name>"}},
        {**PROMPT, "uuid": "2", "message": {"role": "user", "content": "Caveat: x"}},
        {**PROMPT, "uuid": "3", "isMeta": True},
    ]
    own = {**PROMPT, "message": {"role": "user", "content": [{"type": "text", "text": TASK}]}}
    assert read_run("r", lines(*notes, own)).task == TASK


def test_a_stream() -> None:
    """What ``claude -p`` prints: where the shell is, only the beginning tells."""
    start = {"type": "system", "subtype": "init", "cwd": "/repo", "session_id": "s", "claude_code_version": "2.0.1"}
    calls = []
    for number, command in enumerate(("ls", "cd src", "ls")):
        asked, answer = uses(f"m{number}", f"c{number}", "Bash", command=command), result(f"c{number}", "x")
        calls += [{"type": one["type"], "message": one["message"], "session_id": "s"} for one in (asked, answer)]
    usage = {"a": {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 0}}
    end = {"type": "result", "subtype": "success", "total_cost_usd": 0.25, "modelUsage": usage, "session_id": "s"}
    run = read_run("r", lines(start, *calls, end))
    assert (run.format, run.agent, run.ended) == ("claude-code", "claude-code 2.0.1", "success")
    assert [one.action.cwd for one in run.steps] == ["/repo", "/repo", None]
    assert (len(run.model_calls), run.totals) == (3, ModelCall(Tokens.of(input=1, cached=0, output=2), 0.25))


def test_a_last_line_that_was_cut_off_is_left_out() -> None:
    """The client was stopped while it wrote."""
    whole = lines(PROMPT, uses("m", "c", "Bash", command="ls"), result("c", "a.py"))
    assert read_run("r", whole + lines(says("m2"))[:-20]) == read_run("r", whole)


LOOK = (uses("m1", "a", "Read", file_path="/repo/a.py"), result("a", "1\tone\n"))
AGAIN = (uses("m2", "b", "Read", file_path="/repo/a.py"), result("b", "1\tone\n"))


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (lines({"type": "user", "message": 3}), "expected `object | null`, got `int`, at message"),
        (lines({**PROMPT, "uuid": "x", "version": 3}), "expected `str | null`, got `int`, at version"),
        (b'{"type": "us\n', "expected JSON, found: JSON is malformed: invalid character (byte 12)"),
        (b"[1]\n", "expected `object`, got `array`, at the top"),
    ],
)
def test_a_line_that_cannot_be_read_is_left_out(odd: bytes, reason: str) -> None:
    """It is named with what is wrong with it, all calls are there, and what was shown before it is not visible."""
    run, whole = read_run("r", lines(PROMPT, *LOOK) + odd + lines(*AGAIN)), read(*LOOK, *AGAIN)
    said = f"one line can't be read and was left out, line 4: {reason}"
    assert run == replace(whole, compactions=(1,), trouble=(said,))


def test_a_first_line_that_was_torn_does_not_hide_the_session() -> None:
    """The format is recognised by the messages behind it."""
    run = read_run("r", b'{"type":"summ' + lines(PROMPT, *LOOK, PROMPT, *AGAIN))
    assert (run.format, len(run.steps), len(run.trouble)) == ("claude-code", 2, 1)


def test_half_a_character_costs_no_call() -> None:
    """Node writes a lone surrogate where it cuts a text."""
    data = lines(PROMPT, uses("m", "c", "Bash", command="cat a"), result("c", "one ~"), *AGAIN)
    run = read_run("r", data.replace(b"~", rb"\ud83d"))
    assert ([one.observation.output for one in run.steps], run.trouble) == (["one \ufffd", "1\tone\n"], ())


def test_in_a_stream_the_directory_is_unknown_behind_a_lost_line() -> None:
    """The line may have been the result of a command that moved the shell."""
    start = {"type": "system", "subtype": "init", "cwd": "/repo", "claude_code_version": "2.0.1", "session_id": "s"}
    rows = [uses("m", "c", "Bash", command="ls"), result("c", "x"), uses("n", "d", "Bash", command="ls")]
    bare = [{"type": row["type"], "message": row["message"], "session_id": "s"} for row in (*rows, result("d", "x"))]
    run = read_run("r", lines(start, *bare[:2]) + b"{\n" + lines(*bare[2:]))
    assert [one.action.cwd for one in run.steps] == ["/repo", None]


def test_going_back_to_a_line_that_is_lost() -> None:
    """Where that was is unknown: nothing that was shown before counts as visible."""
    back = {**PROMPT, "uuid": "u9", "parentUuid": "result a"}
    third = (uses("m3", "c", "Bash", command="ls"), result("c", "x"))
    run = read_run("r", lines(PROMPT, *LOOK) + b"{\n" + lines(*AGAIN, {**back, "parentUuid": "lost"}, *third))
    assert run.compactions == (1, 2)


# Requests, which newer versions record


def request(number: int, base: int | None, keep: int, *tail: str) -> Fields:
    """The line of a request: some messages of an earlier one, and others behind them."""
    more = {} if base is None else {"base": f"q{base}"}
    return {"type": "api-request", "sessionId": "s", "id": f"q{number}", "keep": keep, "tail": [*tail], **more}


def blob(digest: str, call: str, text: str) -> Fields:
    """A message with one result, as it was sent."""
    part = {"type": "tool_result", "tool_use_id": call, "content": f"{text}\n\n<system-reminder>x</system-reminder>"}
    message = {"role": "user", "content": [part]}
    return {"type": "api-request-blob", "sessionId": "s", "hash": digest, "message": message}


SENT = [blob(f"h{at}", f"c{at}", f"text {at}") for at in range(3)]
GONE = blob("gone", "c0", "[Old tool result content cleared]")


def called(at: int, *rows: Fields) -> list[Fields]:
    """A call with its result, and the request behind it."""
    return [uses(f"m{at}", f"c{at}", "Bash", command=f"echo {at}"), result(f"c{at}", f"text {at}"), *rows]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ([SENT[1], request(1, 0, 2, "a1", "h1")], ()),
        ([SENT[1], request(1, None, 0, "u", "h0", "a1", "h1")], ()),
        ([SENT[1], request(1, None, 0, "summary", "a1", "h1")], (2,)),
        ([SENT[1], GONE, request(1, 0, 1, "gone", "a1", "h1")], (2,)),
        ([SENT[1], request(1, None, 0, "title")], ()),
    ],
    ids=["the same and more", "all again", "a summary", "a cleared result", "a side call"],
)
def test_what_a_request_contains_is_what_is_visible(last: list[Fields], expected: tuple[int, ...]) -> None:
    """A result that is not in the request any more, or not as it was, is out of sight for the calls behind it."""
    rows = [PROMPT, *called(0, SENT[0], request(0, None, 0, "u", "h0")), *called(1, *last), *called(2)]
    assert read_run("t", lines(*rows)).compactions == expected


def test_a_shim_is_the_call_that_it_replaced() -> None:
    """A session that ran under Ledger is read as the model made it; what the call would have returned is unknown."""
    shim = "echo '[ledger:0123456789abcdef] Not run.'"
    rows = [PROMPT, uses("m", "c", "Bash", command=shim), result("c", "[ledger:0123456789abcdef] Not run.")]
    marks: list[str] = []

    def resolve(mark: str) -> ToolCall:
        marks.append(mark)
        return ToolCall("Bash", '{"command": "cat a.py"}')

    (step,) = read_run("t", lines(*rows), resolve).steps
    assert len(marks) == 1
    assert (step.action.command, step.observation.output_unknown) == ("cat a.py", True)
