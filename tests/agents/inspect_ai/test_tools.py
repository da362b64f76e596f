"""Inspect's own tools: what their calls would do, and what their results show."""

from __future__ import annotations

import json

import pytest

from execledger.agents.inspect_ai.tools import ADAPTER, current_arguments, is_native
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Action, Aside, Command, Edit, Observation, OtherTool, Read, Write


def call(tool: str, **given: object) -> ToolCall:
    """A call of a tool."""
    return ToolCall(tool, json.dumps(given))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("bash", command="cat a.py"), Command("bash", merged=True)),
        (call("bash_session", action="type_submit", input="ls"), Command("bash_session", verbatim=False)),
        (call("bash_session", action="read"), OtherTool()),
        (call("python", code="print(1)"), OtherTool()),
        (call("text_editor", command="view", path="/r/a.py", view_range=[3, -1]), Read("/r/a.py", 3, numbering="\t")),
        (call("text_editor", command="create", path="/r/a.py", file_text="x"), Write("/r/a.py", "x")),
        (call("text_editor", command="str_replace", path="/r/a", old_str="x", new_str="y"), Edit("/r/a", "x", "y")),
        (call("text_editor", command=3), OtherTool()),
        (call("submit", answer="x"), Aside()),
        (call("somebodys_own"), OtherTool()),
    ],
)
def test_what_a_call_would_do(made: ToolCall, expected: object) -> None:
    """A known tool is understood, and any other may do anything."""
    assert ADAPTER.action_of(made, "/r").call == expected


def test_a_session_has_no_known_directory() -> None:
    """What is typed into a session starts anywhere, and may still be running."""
    typed = call("bash_session", action="type_submit", input="cat a.py")
    assert ADAPTER.action_of(typed, "/r") == Action("cat a.py", None, Command("bash_session", verbatim=False))
    assert ADAPTER.observation_of(typed, ("text",)) == Observation("text", truncated=True, timed_out=True)


def test_a_result_of_bash_has_no_exit_status() -> None:
    """What it printed is all that is known; a message of a time limit says that it may still run."""
    cat = call("bash", command="cat a.py")
    assert ADAPTER.observation_of(cat, ("a\nb\n",)) == Observation("a\nb\n")
    late = "Command timed out before completing."
    assert ADAPTER.observation_of(cat, (late,), is_error=True) == Observation(late, timed_out=True)


@pytest.mark.parametrize(("text", "cut"), [("1\n2\n8\n9\n", 4), ("1\né\n8\n9\n", None)])
def test_a_long_output_is_cut_in_the_middle(text: str, cut: int | None) -> None:
    """The halves are known where every character is one byte."""
    head = (
        "\nThe output of your call to bash was too long to be displayed.\nHere is a truncated version:\n"
        "<START_TOOL_OUTPUT>\n"
    )
    seen = ADAPTER.observation_of(call("bash", command="cat a"), (f"{head}{text}\n<END_TOOL_OUTPUT>\n",))
    assert seen == Observation(text, notice=head.strip(), cut=cut, truncated=True)


def test_the_editor_shows_numbered_lines() -> None:
    """The header is no content, nor is the number behind the last line break; a complaint shows nothing."""
    view = call("text_editor", command="view", path="/r/a.py")
    header = "Here's the result of running `cat -n` on /r/a.py:\n"
    shown = ADAPTER.observation_of(view, (f"{header}     1\tone\n     2\ttwo\n     3\t\n",))
    assert shown == Observation("     1\tone\n     2\ttwo\n", notice=header)
    assert ADAPTER.observation_of(view, ("The path does not exist.",), is_error=True).succeeded is False


def test_tools_of_the_same_name_with_other_parameters_are_not_inspects() -> None:
    """A tool is Inspect's own by its name and its parameters."""
    assert is_native({"bash": frozenset({"command"}), "submit": frozenset({"answer"})})
    assert not is_native({"bash": frozenset({"command", "restart"})})
    assert not is_native({"browser": frozenset({"url"})})


@pytest.mark.parametrize(
    ("tool", "given", "current"),
    [
        ("bash", {"cmd": "ls"}, {"command": "ls"}),
        ("bash", {"command": "ls"}, None),
        ("bash", {"cmd": "ls", "restart": True}, None),
        ("bash_session", {"command": "ls", "restart": None}, {"action": "type_submit", "input": "ls"}),
        ("bash_session", {"restart": True}, None),
        ("bash_session", {"action": "type_submit", "input": "ls"}, None),
        ("text_editor", {"command": "view", "path": "/a"}, None),
        ("python", {"code": "1"}, None),
        ("somebodys_own", {"cmd": "ls"}, None),
    ],
)
def test_arguments_of_earlier_versions_have_current_names(
    tool: str, given: dict[str, object], current: dict[str, object] | None
) -> None:
    """The shells' arguments were renamed; all other tools of Inspect, and tools of others, keep theirs."""
    assert current_arguments(tool, given) == (given if current is None else current)
