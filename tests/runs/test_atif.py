"""Runs in the interchange format."""

from __future__ import annotations

from execledger.agents.formats import read_run
from execledger.runs.recording import Recorded, Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.vocabulary.actions import Action, Observation, OtherTool, Read
from tests.runs.samples import encoded
from tests.runs.samples_agents import TASK, Fields, interchange


def agent(name: str, result: str | None, *calls: tuple[str, Fields], **more: object) -> Fields:
    """A step of the agent, whose calls have the result, if there is one."""
    tool_calls = [
        {"tool_call_id": f"{name}{at}", "function_name": tool, "arguments": given}
        for at, (tool, given) in enumerate(calls)
    ]
    results = [{"source_call_id": one["tool_call_id"], "content": result} for one in tool_calls]
    step = {"source": "agent", "message": "x", "tool_calls": tool_calls, **more}
    return step | ({"observation": {"results": results}} if result is not None else {})


def test_a_run() -> None:
    """What the calls would do is understood; of the results, which a converter wrote, nothing is claimed."""
    metrics = {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 5, "cost_usd": 0.5}
    final = {"total_prompt_tokens": 18, "total_completion_tokens": 4, "total_cached_tokens": 10, "total_cost_usd": 1.0}
    run = read_run(
        "x/some__repo-1/trajectory.json",
        encoded(
            interchange(
                agent("a", "a.py", ("bash", {"command": "ls"}), ("terminate", {}), metrics=metrics),
                agent("b", None, ("bash", {"command": "ls"}), metrics=metrics),
            )
            | {"final_metrics": final}
        ),
    )
    took = ModelCall(Tokens.of(input=9, cached=5, output=2), 0.5)
    shown = Observation("a.py", truncated=True)
    assert run == Run(
        name="x/some__repo-1/trajectory.json",
        format="atif",
        agent="some-agent 1.2",
        model="some-model",
        task=TASK,
        container=False,
        turns=2,
        steps=(Recorded(Action("ls"), shown, 0), Recorded(Action("terminate {}", call=OtherTool()), shown, 0)),
        model_calls=(took, took),
        totals=ModelCall(Tokens.of(input=18, cached=10, output=4), 1.0),
        instance="some__repo-1",
        parallel=True,
    )


def test_the_tools_are_those_of_the_agent() -> None:
    """A run of Claude Code has the tools of Claude Code."""
    data = interchange(agent("a", "x", ("Read", {"file_path": "/a"}), ("Bash", {"command": "ls"})))
    data["agent"] = {"name": "claude-code"}
    assert [one.action.call for one in read_run("r", encoded(data)).steps] == [Read("/a", 1, 2000, "\t"), None]


def test_one_result_without_an_id_answers_one_call() -> None:
    """Some converters leave the id out."""
    step = agent("a", "x", ("bash", {"command": "ls"}))
    del step["observation"]["results"][0]["source_call_id"]
    assert len(read_run("r", encoded(interchange(step))).steps) == 1
    two = agent("a", "x", ("bash", {"command": "ls"}), ("bash", {"command": "pwd"}))
    two["observation"]["results"] = [{"content": "x"}]
    assert len(read_run("r", encoded(interchange(two))).steps) == 0
