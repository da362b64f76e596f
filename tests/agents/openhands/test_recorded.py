"""Runs of OpenHands: events of both generations, and the lines of its evaluation harness."""

from __future__ import annotations

from typing import Any

import pytest

from execledger.agents.formats import read_run
from execledger.runs.recording import ModelReply, Recorded, Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.vocabulary.actions import Action, Aside, Call, Edit, Observation, OtherTool, Patch, Read, Search, Write
from tests.runs.samples import encoded
from tests.runs.samples_agents import (
    ASKED,
    TASK,
    Fields,
    act,
    called,
    instance,
    lines,
    ran,
    returned,
    seen,
    shell,
)

VIEW = "Here's the result of running `cat -n` on /repo/a.py:\n"
TOOK = ModelCall(Tokens.of(input=9, output=2))


def read(*events: Fields) -> Run:
    """The run that these events record."""
    return read_run("r", encoded([ASKED, *events]))


def observed(answer: Fields, command: str = "make") -> Observation:
    """What came back from one command."""
    return read(act(1, "run", command=command), answer).steps[0].observation


def test_events_of_the_older_generation() -> None:
    """An observation names the action that caused it; where the shell is, each result of a command says."""
    run = read(
        act(1, "run", command="ls", is_input="false"),
        ran(1, "a.py", cwd="/src"),
        act(3, "read", path="/repo/a.py", impl_source="oh_aci", view_range=None, thought="I look."),
        seen(3, "read", VIEW + "     1\tx = 1\n     2\t\n"),
        act(5, "finish"),
    )
    command = Observation("a.py", notice="[Ended with 0.]", exit_status=0)
    assert run == Run(
        name="r",
        format="openhands",
        agent="openhands",
        model="some-model",
        task=TASK,
        container=False,
        turns=3,
        steps=(
            Recorded(Action("ls"), command, 0),
            Recorded(
                Action('read {"path":"/repo/a.py"}', "/src", Read("/repo/a.py", numbering="\t")),
                Observation("     1\tx = 1\n", notice=VIEW),
                1,
            ),
        ),
        model_calls=(TOOK, TOOK, TOOK),
        ended="finish",
        parallel=True,
        replies=(ModelReply(), ModelReply("I look."), ModelReply()),
    )


def test_events_of_the_sdk() -> None:
    """Calls and results are joined by the id of the call; calls of one response belong to one call of the model."""
    told = {"kind": "MessageEvent", "source": "user", "llm_message": {"content": [{"type": "text", "text": TASK}]}}
    usage = {"accumulated_token_usage": {"prompt_tokens": 5, "completion_tokens": 1}, "accumulated_cost": 0.5}
    rows = [
        {**told, "id": "e"},
        called("a", "terminal", "r", command="ls"),
        called("b", "file_editor", "r", command="view", path="/repo/a.py", view_range=[2, 3]),
        returned("a", "a.py", **shell(3)),
        returned("b", VIEW + "     2\tx\n     3\ty\n"),
        {
            "kind": "ConversationStateUpdateEvent",
            "key": "stats",
            "value": {"usage_to_metrics": {"x": usage, "y": usage}},
        },
        {"kind": "ConversationStateUpdateEvent", "key": "execution_status", "value": "finished"},
    ]
    run = read_run("r", lines(*rows))
    assert (run.turns, run.task, run.ended, run.model_calls) == (1, TASK, "finished", ())
    assert run.totals == ModelCall(Tokens.of(input=10, output=2), 1.0)
    assert [(one.action.call, one.observation, one.turn) for one in run.steps] == [
        (None, Observation("a.py", exit_status=3), 0),
        (Read("/repo/a.py", 2, 3, "\t"), Observation("     2\tx\n     3\ty\n", notice=VIEW), 0),
    ]
    assert read_run("r", encoded(rows)) == run


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ran(1, "out", 2), Observation("out", notice="[Ended with 2.]", exit_status=2)),
        (ran(1, "out", -1, suffix=""), Observation("out", timed_out=True)),
        (ran(1, "out", prefix="[Below is the rest.]\n", suffix=""), Observation("out", exit_status=0, truncated=True)),
        (
            seen(1, "run", "out\r\nme@x:/repo $", exit_code=1),
            Observation("out\r\nme@x:/repo $", exit_status=1, truncated=True),
        ),
        (
            ran(1, "a\n[... Observation truncated due to length ...]\nb", suffix=""),
            Observation("ab", exit_status=0, cut=1, truncated=True),
        ),
        (ran(1, "x" * 30_001, suffix=""), Observation("x" * 30_001, exit_status=0, truncated=True)),
        (seen(1, "error", "It broke."), Observation("It broke.", failed=True)),
        (seen(1, "user_rejected", "No."), Observation("No.", failed=True)),
    ],
)
def test_results_of_commands(answer: Fields, expected: Observation) -> None:
    """Status, time limits, and what was left out; without more about it, the shell's prompt stands in the output."""
    assert observed(answer) == expected


def test_a_read_by_a_command_may_have_lost_blank_lines() -> None:
    """Outputs are trimmed: fewer lines than asked for prove nothing about the end of the file."""
    assert observed(ran(1, "x\ny", suffix=""), "head -3 a.py") == Observation(
        "x\ny", exit_status=0, cut=0, truncated=True
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("     1\tx<response clipped><NOTE>Cut.</NOTE>\n", Observation("     1\tx", cut=8, truncated=True)),
        (
            "     1\tx<response clipped><NOTE>Cut.</NOTE>y\n     2\tz\n",
            Observation("     1\tx<response clipped><NOTE>Cut.</NOTE>y\n     2\tz\n", truncated=True),
        ),
    ],
)
def test_views_that_were_cut(text: str, expected: Observation) -> None:
    """What stands before the cut was shown; behind it the numbers are not the file's, so nothing is claimed."""
    run = read(act(1, "read", path="/a", impl_source="oh_aci"), seen(1, "read", VIEW + text))
    found = run.steps[0].observation
    assert (found.output, found.cut, found.truncated) == (expected.output, expected.cut, expected.truncated)


@pytest.mark.parametrize(
    ("name", "given", "call"),
    [
        ("read", {"path": "/a", "impl_source": "default"}, Search()),
        ("edit", {"path": "/a", "command": "create", "file_text": "x"}, Write("/a", "x")),
        ("edit", {"path": "/a", "command": "str_replace", "old_str": "x", "new_str": "y"}, Edit("/a", "x", "y")),
        ("edit", {"path": "/a", "command": "", "content": "x"}, Edit("/a", new="x")),
        ("write", {"path": "/a", "content": "x"}, Write("/a", "x")),
        ("write", {"content": "x"}, OtherTool()),
        ("think", {"thought": "x"}, Aside()),
        ("browse", {"url": "x"}, Aside()),
        ("run", {"command": "C-c", "is_input": True}, OtherTool()),
        ("run", {"command": ""}, OtherTool()),
        ("run", {}, OtherTool()),
        ("run_ipython", {"code": "x"}, OtherTool()),
        ("call_tool_mcp", {"name": "x"}, OtherTool()),
    ],
)
def test_actions_of_the_older_generation(name: str, given: dict[str, Any], call: Call) -> None:
    """What every action would do; one that is not known may do anything."""
    assert read(act(1, name, **given), seen(1, "x", "done")).steps[0].action.call == call


@pytest.mark.parametrize(
    ("tool", "given", "call"),
    [
        ("str_replace_editor", {"command": "insert", "path": "/a", "new_str": "x"}, Edit("/a", new="x")),
        ("grep", {"pattern": "x"}, Search()),
        ("browser_navigate", {"url": "x"}, Aside()),
        ("task_tracker", {"command": "view"}, Aside()),
        ("apply_patch", {"patch": "x"}, Patch("x")),
        ("write_file", {"file_path": "/a", "content": "x"}, Write("/a", "x")),
        ("edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, Edit("/a", "x", "y")),
        ("terminal", {"command": "ls", "reset": True}, OtherTool()),
        ("delegate", {"command": "spawn"}, OtherTool()),
    ],
)
def test_tools_of_the_sdk(tool: str, given: dict[str, Any], call: Call) -> None:
    """What every tool would do."""
    assert read(called("c", tool, **given), returned("c", "done")).steps[0].action.call == call


def test_calls_that_were_not_carried_out() -> None:
    """The arguments did not fit, or the user would not have it."""
    asked = {**called("a", "terminal"), "action": None, "tool_call": {"arguments": '{"command": "ls"}'}}
    run = read(
        asked,
        {"kind": "AgentErrorEvent", "source": "agent", "tool_call_id": "a", "error": "No."},
        called("b", "terminal", command="ls"),
        {"kind": "UserRejectObservation", "source": "environment", "tool_call_id": "b", "rejection_reason": "Not now."},
    )
    assert [(one.action.command, one.observation) for one in run.steps] == [
        ("ls", Observation("No.", failed=True)),
        ("ls", Observation("Not now.", failed=True)),
    ]


def test_commands_of_one_response_may_move_each_other() -> None:
    """Where the second of two commands started is not known once the first has moved the shell."""
    run = read(
        act(1, "run", command="pwd"),
        ran(1, "/repo"),
        act(3, "run", "r", command="cd /src"),
        act(4, "run", "r", command="ls"),
        ran(3, "", cwd="/src"),
        ran(4, "a.py", cwd="/src"),
    )
    assert [(one.action.cwd, one.turn) for one in run.steps] == [(None, 0), ("/repo", 1), (None, 1)]


@pytest.mark.parametrize(
    "event", [{"id": 9, "source": "agent", "action": "condensation", "args": {}}, {"kind": "Condensation", "id": "x"}]
)
def test_condensation(event: Fields) -> None:
    """Earlier results are no longer in sight."""
    one, two = (act(1, "run", command="ls"), ran(1, "a.py")), (act(3, "run", command="ls"), ran(3, "a.py"))
    assert (read(*one, event, *two).compactions, read(*one, *two, event).compactions) == ((1,), ())


def test_what_is_not_the_agents_own() -> None:
    """What the harness recalls and the user runs are no calls of the agent."""
    run = read(
        {"id": 1, "source": "user", "action": "recall", "args": {"query": "x"}},
        seen(1, "recall", "x"),
        {"id": 3, "source": "user", "action": "run", "args": {"command": "ls"}},
        ran(3, "a.py"),
    )
    assert (run.steps, run.turns) == ((), 0)


def test_a_line_of_the_harness() -> None:
    """It has the instance, the model, and what was counted call by call."""
    metrics = {
        "accumulated_cost": 0.75,
        "accumulated_token_usage": {"prompt_tokens": 30, "completion_tokens": 3, "cache_read_tokens": 20},
        "costs": [{"model": "m", "cost": 0.25}, {"model": "m", "cost": 0.5}],
        "token_usages": [
            {"prompt_tokens": 10, "completion_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 8},
            {"prompt_tokens": 20, "completion_tokens": 2, "cache_read_tokens": 20, "cache_write_tokens": 0},
        ],
    }
    metadata = {"llm_config": {"model": "the-model"}, "condenser_config": {"type": "noop"}}
    run = read_run("r", encoded(instance(act(1, "run", command="ls"), metrics=metrics, metadata=metadata)))
    assert (run.instance, run.model, run.task, run.ended) == ("some__repo-1", "the-model", TASK, "")
    assert run.model_calls == (
        ModelCall(Tokens.of(input=10, cached=0, written=8, output=1), 0.25),
        ModelCall(Tokens.of(input=20, cached=20, written=0, output=2), 0.5),
    )
    assert run.totals == ModelCall(Tokens.of(input=30, cached=20, output=3), 0.75)


def test_an_instance_that_failed() -> None:
    """Its first line of trouble is how it ended; there may be no events at all."""
    run = read_run("r", encoded(instance(error="RuntimeError: too long\nmore") | {"history": None}))
    assert (run.ended, run.steps) == ("RuntimeError: too long", ())


def test_a_condenser_that_masks_silently() -> None:
    """Only the last results are shown to the model, and no event says so."""
    events = [one for at in range(0, 14, 2) for one in (act(at, "run", command="ls"), ran(at, "x"))]
    metadata = {"condenser_config": {"type": "observation_masking", "attention_window": 3}}
    assert read_run("r", encoded(instance(*events, metadata=metadata))).compactions == (3, 6)
    metadata = {"condenser_config": {"type": "recent", "max_events": 100}}
    assert read_run("r", encoded(instance(*events, metadata=metadata))).compactions == (5,)
