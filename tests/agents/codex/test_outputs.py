"""What Codex writes back: headers of every version, marks of what was left out, and refusals."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.agents.codex.outputs import CAPTURED
from execledger.agents.codex.tools import action_of, observation_of, referenced, remarked
from execledger.core.classify import classify
from execledger.core.lines import returned
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.records import Lines

READ = ToolCall("exec_command", '{"cmd": "cat /repo/a.txt"}')
SHELL = ToolCall("shell", '{"command": ["cat", "/repo/a.txt"]}')
PATCH = ToolCall("apply_patch", "*** Begin Patch\n*** End Patch", custom=True)
SCRIPT = ToolCall("exec", 'const r = await tools.exec_command({cmd: "cat /repo/a.txt"});\ntext(r.output);', custom=True)
WHOLE = ToolCall("exec", 'text(await tools.exec_command({cmd: "ls"}));', custom=True)
ENDED = "Exit code: 0\nWall time: 0.2 seconds\nOutput:\n"
HEADER = "Script completed\nWall time 0.1 seconds\nOutput:\n"


def waited(body: str, status: str = "Process exited with code 0", tokens: int | None = None) -> str:
    """The answer of ``exec_command``."""
    count = (len(body.encode()) + 3) // 4 if tokens is None else tokens
    return f"Chunk ID: 0a1b2c\nWall time: 0.0123 seconds\n{status}\nOriginal token count: {count}\nOutput:\n{body}"


def in_json(output: str, status: int = 0) -> str:
    """The answer of ``shell`` in older versions."""
    metadata = {"exit_code": status, "duration_seconds": 0.5}
    return json.dumps({"output": output, "metadata": metadata}, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("text", "observation"),
    [
        (waited("one\ntwo\n"), Observation("one\ntwo\n", exit_status=0)),
        (waited("", "Process exited with code 3"), Observation(exit_status=3)),
        (waited("gone", "Process exited with code -1"), Observation("gone", exit_status=-1)),
        (waited("part\n", "Process running with session ID 7"), Observation("part\n", timed_out=True)),
        ("Wall time: 1.234 seconds\nProcess exited with code 0\nOutput:\nx", Observation("x", exit_status=0)),
        (ENDED + "x\n", Observation("x\n", exit_status=0)),
        ("Exit code: 2\nWall time: 12 seconds\nTotal output lines: 9\nOutput:\nx", Observation("x", exit_status=2)),
        (in_json("a\n“b”\n", 1), Observation("a\n“b”\n", exit_status=1)),
        (
            "Exit code: 124\nWall time: 1 seconds\nOutput:\ncommand timed out after 1000 milliseconds\npart\n",
            Observation("part\n", notice="command timed out after 1000 milliseconds", exit_status=124, timed_out=True),
        ),
        (f"Wall time: 0.0000 seconds\nOutput:\n{ENDED}Done.\n", Observation("Done.\n", exit_status=0)),
        (f"Wall time: 0.0000 seconds\nOutput:\n{in_json('Done.', 1)}", Observation("Done.", exit_status=1)),
        (ENDED + ENDED + "x", Observation(ENDED + "x", exit_status=0)),
        (waited(ENDED + "x"), Observation(ENDED + "x", exit_status=0)),
        ("Wall time: 0.1 seconds\nOutput:\nwhat?", Observation("what?", failed=True)),
    ],
)
def test_headers_are_taken_off(text: str, observation: Observation) -> None:
    """Each version's own; the same words in a file's own text are its text."""
    assert observation_of(READ, (text,)) == observation_of(SHELL, (text,)) == observation


@pytest.mark.parametrize(
    "command", ["cat README.md", "cat <<EOF\nChunk ID: x\nWall time: 1 seconds\nOutput:\nEOF"], ids=["one line", "more"]
)
def test_a_command_that_is_repeated_before_the_header(command: str) -> None:
    """As 0.115 to 0.118 do it; where it ends, the command itself tells, and not what it says."""
    call = ToolCall("exec_command", json.dumps({"cmd": command}))
    text = f"Command: /bin/bash -lc '{command}'\n" + waited("one\ntwo\n", "Process exited with code 3")
    assert observation_of(call, (text,)) == Observation("one\ntwo\n", exit_status=3)
    assert referenced(call, (text,), "[see above]") == (text.removesuffix("one\ntwo\n") + "[see above]",)
    assert observation_of(READ, (f"Command: {command}",)).failed


@pytest.mark.parametrize(
    "text",
    [
        "unsupported call: exec_command",
        "failed to parse function arguments: expected value at line 1 column 1",
        "exec_command failed: CreateProcess",
        "exec command rejected by user",
        "failed in sandbox Some with execution error: sandbox denied exec error, exit code: 1, stdout: , stderr: no",
        "approval policy is never; reject command",
        "error: nothing to find",
        "",
    ],
)
def test_a_word_of_codex_itself_is_a_failure(text: str) -> None:
    """Nothing ran, or nobody knows what did."""
    assert observation_of(READ, (text,)) == Observation(text, failed=True)
    assert observation_of(PATCH, (text,)).failed


@pytest.mark.parametrize(
    "text",
    [
        "aborted",
        "aborted by user after 3.1s",
        "Wall time: 3.1 seconds\naborted by user",
        "command timed out after 10000 milliseconds",
        "failed in sandbox None with execution error: command timed out",
    ],
)
def test_what_was_broken_off_may_still_be_running(text: str) -> None:
    """So nothing is sealed any more."""
    assert observation_of(READ, (text,)) == Observation(text, timed_out=True)


OLD_HEADER = (
    "Wall time: 0.100 seconds\nProcess exited with code 0\nWarning: truncated output (original token count: 999)\n"
    "Output:\n"
)
WARNING = "Warning: truncated output (original token count: 999)\nTotal output lines: 300\n\n"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (READ, waited(f"{WARNING}1\n2\n3…99 tokens truncated…8\n9\n", tokens=999)),
        (READ, waited("Total output lines: 300\n\n1\n2\n3…99 tokens truncated…8\n9\n", tokens=999)),
        (READ, waited("1\n2\n3…99 tokens truncated…8\n9\n", tokens=999)),
        (READ, f"{OLD_HEADER}1\n2\n3…99 tokens truncated…8\n9\n"),
        (SHELL, f"{ENDED}1\n2\n3…99 chars truncated…8\n9\n"),
        (SHELL, in_json("Total output lines: 300\n\n1\n2\n3\n[... omitted 290 of 300 lines ...]\n\n8\n9\n")),
        (SHELL, in_json("1\n2\n3\n[... output truncated to fit 40 bytes ...]\n\n8\n9\n")),
        (SCRIPT, f"{WARNING}1\n2\n3…99 tokens truncated…8\n9\n"),
    ],
)
def test_a_mark_says_where_something_was_left_out(call: ToolCall, text: str) -> None:
    """It may stand in the middle of a line: half lines are no lines."""
    observation = observation_of(call, (HEADER, text) if call is SCRIPT else (text,))
    assert (observation.output, observation.cut, observation.truncated) == ("1\n2\n38\n9\n", 5, True)
    view = classify(action_of(call, None)).view
    assert view is not None
    shown = returned(view, observation)
    assert shown is not None and shown.ranges == (Lines(1, 2), Lines(-1))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (READ, waited("1\n…9 tokens truncated…\n2…9 tokens truncated…3\n", tokens=999)),
        (READ, waited("1\n2\n", tokens=999)),
        (READ, f"{OLD_HEADER}1\n2\n"),
        (READ, waited("... 77 bytes omitted ...\n1\n2\n", tokens=999)),
        (SHELL, f"{ENDED}1\n…9 tokens truncated…\n…9 tokens truncated…\n2\n"),
        (SHELL, in_json("x" * 99)[:50] + "…9 tokens truncated…" + in_json("x")[-20:]),
    ],
)
def test_where_the_place_is_not_certain_nothing_is_claimed(call: ToolCall, text: str) -> None:
    """More marks than one, or fewer bytes than there should be."""
    observation = observation_of(call, (text,))
    assert (observation.cut, observation.truncated, observation.failed) == (None, True, False)


def test_a_file_that_holds_a_mark_is_shown_whole_if_its_length_says_so() -> None:
    """The header counts the output's bytes."""
    text = "a\n…12 tokens truncated…\nb\n"
    assert observation_of(READ, (waited(text),)) == Observation(text, exit_status=0)


def test_the_end_of_a_very_long_output_is_not_claimed() -> None:
    """Some versions keep only the first part of it, and show the end of that."""
    text = f"{ENDED}1\n2\n…{CAPTURED // 4} tokens truncated…\n8\n9\n"
    assert observation_of(SHELL, (text,)) == Observation("1\n2\n", exit_status=0, cut=4, truncated=True)


@pytest.mark.parametrize(
    ("call", "parts", "observation"),
    [
        (SCRIPT, (HEADER, "one\n"), Observation("one\n")),
        (SCRIPT, (HEADER + "one\n",), Observation("one\n")),
        (SCRIPT, (HEADER,), Observation()),
        (SCRIPT, (HEADER, "one\n", "more"), Observation("one\n\nmore", truncated=True)),
        (
            SCRIPT,
            (HEADER.replace("completed", "failed"), "Script error:\nx"),
            Observation("Script error:\nx", failed=True),
        ),
        (SCRIPT, (HEADER.replace("0.1", "10.0"), "one\n"), Observation("one\n", timed_out=True)),
        (SCRIPT, (HEADER.replace("completed", "running with cell ID 3"), "one"), Observation("one", timed_out=True)),
        (SCRIPT, (HEADER.replace("completed", "terminated"),), Observation(timed_out=True)),
        (SCRIPT, ("exec expects raw JavaScript",), Observation("exec expects raw JavaScript", failed=True)),
        (SCRIPT, (), Observation(failed=True)),
        (
            WHOLE,
            (HEADER, '{"exit_code":3,"output":"a"}'),
            Observation('{"exit_code":3,"output":"a"}', exit_status=3),
        ),
        (
            WHOLE,
            (HEADER, '{"session_id":3,"output":"a"}'),
            Observation('{"session_id":3,"output":"a"}', timed_out=True),
        ),
        (WHOLE, (HEADER, "{cut"), Observation("{cut")),
    ],
)
def test_answers_of_scripts(call: ToolCall, parts: tuple[str, ...], observation: Observation) -> None:
    """The header is a part of its own, as is every text that the script shows."""
    assert observation_of(call, parts) == observation


@pytest.mark.parametrize(
    ("name", "text", "observation"),
    [
        ("update_plan", "Plan updated", Observation("Plan updated")),
        ("mcp__x__y", "error: no", Observation("error: no", failed=True)),
        ("mcp__x__y", "2 tests failed: see above", Observation("2 tests failed: see above")),
        ("collaboration.spawn_agent", '{"agent_id":"x"}', Observation('{"agent_id":"x"}', timed_out=True)),
        ("web_search", "", Observation()),
        ("wait", HEADER.replace("completed", "running with cell ID 3"), None),
        ("write_stdin", waited("y\n"), Observation("y\n", exit_status=0)),
    ],
)
def test_answers_of_other_tools(name: str, text: str, observation: Observation | None) -> None:
    """Another agent that was set to work, like a script that goes on, may write from now on."""
    found = observation_of(ToolCall(name, "{}"), (text,))
    assert found == (observation or Observation(text, timed_out=True))


@pytest.mark.parametrize(
    ("call", "parts", "shown"),
    [
        (READ, (waited("long\n"),), (waited("see above", tokens=2),)),
        (SHELL, (ENDED + "long\n",), (ENDED + "see above",)),
        (SHELL, (in_json("long\n", 1),), (in_json("see above", 1),)),
        (SCRIPT, (HEADER, "long\n"), (HEADER, "see above")),
        (SCRIPT, (HEADER + "long\n",), (HEADER, "see above")),
        (READ, ("no header",), ("see above",)),
        (READ, (), ("see above",)),
    ],
)
def test_a_reference_takes_the_place_of_the_text(
    call: ToolCall, parts: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    """The header stays, and with it the exit status."""
    assert referenced(call, parts, "see above") == shown


@pytest.mark.parametrize(
    ("call", "parts", "shown"),
    [
        (SHELL, (ENDED + "a\n",), (ENDED + "a\n[again]",)),
        (SHELL, (ENDED + "a",), (ENDED + "a\n[again]",)),
        (SHELL, (in_json("a"),), (in_json("a\n[again]"),)),
        (SCRIPT, (HEADER, "a"), (HEADER, "a", "[again]")),
        (READ, ("no header",), ("no header\n[again]",)),
        (READ, (), ("[again]",)),
    ],
)
def test_a_remark_stands_behind_the_text(call: ToolCall, parts: tuple[str, ...], shown: tuple[str, ...]) -> None:
    """On a line of its own, or as a part of its own."""
    assert remarked(call, parts, "[again]") == shown


OUTPUTS = st.text(alphabet='ab\n…1 tokenschartrucd.[]{}":,\\é') | st.just(in_json("x")) | st.just(ENDED)


@given(st.sampled_from([READ, SHELL, SCRIPT, PATCH]), st.lists(OUTPUTS, max_size=3).map(tuple))
def test_no_answer_breaks_the_adapter(call: ToolCall, parts: tuple[str, ...]) -> None:
    """Whatever comes is an observation, and can be replaced and remarked upon."""
    observation = observation_of(call, parts)
    assert observation.cut is None or 0 <= observation.cut <= len(observation.output)
    assert "".join(referenced(call, parts, "see")).count("see") >= 1
    assert "".join(remarked(call, parts, "again")).count("again") >= 1


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from([READ, SHELL, SCRIPT]))
def test_a_whole_output_comes_back_as_it_was(output: str, call: ToolCall) -> None:
    """Behind each header, whatever it is."""
    parts = {READ: (waited(output),), SHELL: (in_json(output),), SCRIPT: (HEADER, output)}[call]
    assert observation_of(call, parts).output == output
