"""Runs kept as spans."""

from __future__ import annotations

from typing import Any

import pytest

from execledger.agents.formats import read_run
from execledger.runs.recording import ModelReply, Recorded, Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.vocabulary import actions
from execledger.vocabulary.actions import Action, Call, Edit, Observation, Read, Search, Write
from tests.runs.samples import encoded, spans, tool

FOOTER = "[Showing 2 lines starting at line 5. Use 'offset' and 'limit' parameters to read more.]"
LINES = "     5→a = 1\n     6→\n"


def only_step(entry: dict[str, Any]) -> Recorded:
    """The one step of a run with one tool call."""
    (step,) = read_run("r", encoded(spans(entry))).steps
    return step


def bash(stdout: str = "", stderr: str = "", status: int = 0, exceeded: bool = False) -> dict[str, Any]:
    """A result of the shell tool."""
    return {"stdout": stdout, "stderr": stderr, "exitCode": status, "outputExceededThreshold": exceeded}


def test_a_run_of_spans() -> None:
    """Model calls are counted, calls get the latest one's number, and the harness's own calls are left out."""
    run = spans(
        tool("bash_execute", bash("a.py", "warning", 1), command="ls"),
        {"type": "judge_call", "model": "other", "input_messages": []},
        tool("bash_execute", bash(), command="mkdir -p /memory/sessions"),
        tool("write_file", "Successfully wrote", filePath="/x", content={"deep": ["/memory/sessions/1"]}),
        {"type": "llm_call"},
        {"type": "llm_call", "output": {"content": "hm"}},
        tool("bash_execute", bash("/srv"), command="pwd", working_dir="/srv"),
        tool("bash_execute", None, command="never ended"),
    )
    assert read_run("a.json", encoded(run)) == Run(
        name="a.json",
        format="vorflux",
        agent="vorflux",
        model="",
        task="Please fix the sum.",
        container=False,
        turns=3,
        steps=(
            Recorded(Action("ls"), Observation("a.py", stderr="warning", exit_status=1), 0),
            Recorded(Action("pwd", cwd="/srv"), Observation("/srv", exit_status=0), 2),
        ),
        replies=(ModelReply(), ModelReply(), ModelReply("hm")),
    )


@pytest.mark.parametrize(
    ("result", "observation"),
    [
        (bash("see the file", exceeded=True), Observation("see the file", exit_status=0, truncated=True)),
        (bash(status=-1), Observation(exit_status=-1, failed=True)),
        ("Error: command timed out after 2m0s", Observation("Error: command timed out after 2m0s", timed_out=True)),
        ("", Observation("", failed=True)),
        ([1], Observation("[1]", failed=True)),
    ],
)
def test_shell_results(result: object, observation: Observation) -> None:
    """A shell result that is not in the tool's normal form is a failure of the tool, or a timeout if it says so."""
    assert only_step(tool("bash_execute", result, command="make")) == Recorded(Action("make"), observation, 0)


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ({}, Read("/a.py", 1, 500, "→")),
        ({"offset": 4}, Read("/a.py", 5, 504, "→")),
        ({"limit": 9}, Read("/a.py", 1, 9, "→")),
        ({"offset": 4, "limit": 2}, Read("/a.py", 5, 6, "→")),
    ],
)
def test_a_read_asks_for_lines(arguments: dict[str, int], read: Read) -> None:
    """The offset is the number of lines skipped, and without a limit the tool has one of its own."""
    assert only_step(tool("read_text_file", LINES, filePath="/a.py", **arguments)).action.call == read


@pytest.mark.parametrize(
    ("result", "observation"),
    [
        (f"{LINES}\n{FOOTER}", Observation(LINES.removesuffix("\n"), notice=FOOTER)),
        (LINES, Observation(LINES)),
        ("", Observation("")),
        ("Error: file not found: /a.py", Observation("Error: file not found: /a.py", failed=True)),
        (f"     5→x\n     6→\n     7→{FOOTER}", Observation(f"     5→x\n     6→\n     7→{FOOTER}")),
    ],
)
def test_read_results(result: str, observation: Observation) -> None:
    """The tool's footer is a notice and not output; a line of the file that looks like it is output."""
    action = Action('read_text_file {"filePath":"/a.py"}', call=Read("/a.py", 1, 500, "→"))
    assert only_step(tool("read_text_file", result, filePath="/a.py")) == Recorded(action, observation, 0)


@pytest.mark.parametrize(
    ("name", "arguments", "command", "call"),
    [
        ("grep_search", {"pattern": "é", "-n": True}, 'grep_search {"-n":true,"pattern":"é"}', Search()),
        ("search_files", {"path": "/"}, 'search_files {"path":"/"}', Search()),
        (
            "write_file",
            {"filePath": "/a", "content": "x"},
            'write_file {"content":"x","filePath":"/a"}',
            Write("/a", "x"),
        ),
        (
            "edit_file",
            {"old_string": "x", "new_string": "y", "filePath": "/a"},
            'edit_file {"filePath":"/a","new_string":"y","old_string":"x"}',
            Edit("/a", "x", "y"),
        ),
        ("list-git-repositories", {}, "list-git-repositories {}", actions.OtherTool()),
        ("read_text_file", {"filePath": 3}, 'read_text_file {"filePath":3}', actions.OtherTool()),
        (
            "read_text_file",
            {"filePath": "/a", "offset": -3},
            'read_text_file {"filePath":"/a","offset":-3}',
            actions.OtherTool(),
        ),
        ("bash_execute", {"cmd": "ls"}, 'bash_execute {"cmd":"ls"}', actions.OtherTool()),
    ],
)
def test_structured_calls(name: str, arguments: dict[str, object], command: str, call: Call) -> None:
    """Known tools become known calls, spelt in one way; arguments that do not fit make a call of unknown effects."""
    assert only_step(tool(name, "ok", **arguments)) == Recorded(Action(command, call=call), Observation("ok"), 0)


def test_a_structured_result_is_spelt_as_json() -> None:
    """A result that is an object is shown in one fixed spelling, and says itself whether it was truncated."""
    step = only_step(tool("grep_search", {"truncated": True, "files": []}, pattern="x"))
    assert step.observation == Observation('{"files":[],"truncated":true}', truncated=True)


def test_an_error_of_a_tool_is_a_failure() -> None:
    """Tools without an exit status say in words that they failed."""
    step = only_step(tool("edit_file", "Error: old_string not found in file", filePath="/a"))
    assert step.observation == Observation("Error: old_string not found in file", failed=True)


def test_the_task_and_the_tokens_where_they_are_told() -> None:
    """A run may name its task; a model call may say what it took."""
    call = {"type": "llm_call", "usage": {"input_tokens": 9, "output_tokens": 2}}
    run = read_run("r", encoded(spans(call) | {"instance_id": "some__repo-1"}))
    assert (run.instance, run.model_calls) == ("some__repo-1", (ModelCall(), ModelCall(Tokens.of(input=9, output=2))))
