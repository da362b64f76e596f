"""Runs in the interchange format."""

from __future__ import annotations

from execledger.agents.formats import read_run
from execledger.runs.recording import ModelReply, Recorded, Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.vocabulary.actions import Action, Aside, Call, Edit, Observation, OtherTool, Patch, Read, Search
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
        replies=(ModelReply("x"), ModelReply("x")),
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


HEADER = "Chunk ID: 7d353b\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 2\nOutput:\n"
"""What Codex writes before the output of a command; the count is a quarter of the output's bytes."""
PLACE = "<environment_context>\n  <cwd>/app</cwd>\n  <shell>bash</shell>\n</environment_context>"
"""The message in which Codex states its directory."""


def of_agent(named: Fields, *steps: Fields, said: tuple[str, ...] = ()) -> Run:
    """The run of an agent, with these messages of the user before its own steps."""
    data = interchange(*steps)
    data["agent"] = named
    data["steps"][:1] = [{"source": "user", "message": text} for text in (*said, TASK)]
    return read_run("r", encoded(data))


def test_codex() -> None:
    """Codex's calls have its own meaning, its directory is known, and results in its frame are what the model read."""
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
    script = 'const r = await tools.exec_command({cmd: "cat b.py"}); text(r.output);'
    run = of_agent(
        {"name": "codex", "version": "0.166.0", "extra": {"originator": "codex_exec", "cwd": "/app"}},
        agent("a", HEADER + "x = 1\n", ("exec_command", {"cmd": "cat a.py", "workdir": "/app/src"})),
        agent("b", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n", ("apply_patch", {"input": patch})),
        agent("c", "Script completed\nWall time 0.1 seconds\nOutput:\n\ny\n", ("exec", {"input": script})),
        agent("d", "x = 1\n", ("exec_command", {"cmd": "ls"})),
        said=(PLACE,),
    )
    assert (run.task, run.agent) == (TASK, "codex 0.166.0")
    assert run.steps == (
        Recorded(Action("cat a.py", "/app/src"), Observation("x = 1\n", exit_status=0), 0),
        Recorded(Action(f"apply_patch {patch}", "/app", Patch(patch)), Observation("Success.\n", exit_status=0), 1),
        Recorded(
            Action("cat b.py", "/app"),
            Observation("Script completed\nWall time 0.1 seconds\nOutput:\n\ny\n", truncated=True),
            2,
        ),
        Recorded(Action("ls", "/app"), Observation("x = 1\n", truncated=True), 3),
    )


def test_mini_swe_agent() -> None:
    """Results are unwrapped from the JSON text that the agent rendered, and answer the calls in their order."""
    whole = '{\n  "returncode": 0,\n  "output": "if a \\u003c b:\\n"\n}'
    parts = '{\n  "returncode": 0,\n  "output_head": "a\\n",\n  "output_tail": "z\\n",\n  "elided_chars": 3\n}'
    late = '{"returncode": -1, "output": "", "exception_info": "An error occurred: the command timed out"}'
    turn = agent("a", "", *(("bash", {"command": text}) for text in ("cat a.py", "cat b.py", "sleep 99")))
    complaint = "Please always provide EXACTLY ONE action"
    turn["observation"]["results"] = [{"content": text} for text in (whole, parts, late, complaint)]
    run = of_agent({"name": "mini-swe-agent", "version": "2.4.6", "extra": {"agent_config": {}}}, turn)
    assert run.steps == (
        Recorded(Action("cat a.py"), Observation("if a < b:\n", exit_status=0), 0),
        Recorded(Action("cat b.py"), Observation("a\nz\n", exit_status=0, cut=2, truncated=True), 0),
        Recorded(
            Action("sleep 99"),
            Observation(exit_status=-1, timed_out=True, notice="An error occurred: the command timed out"),
            0,
        ),
    )


def test_agents_with_tools_of_their_own() -> None:
    """The calls of every agent that Harbor converts have the meaning that they have on the wire."""

    def meaning(name: str, *calls: tuple[str, Fields]) -> list[Call | None]:
        run = of_agent({"name": name}, *(agent(f"{at}", "x", call) for at, call in enumerate(calls)))
        return [one.action.call for one in run.steps]

    replaced = {"file_path": "/a", "old_string": "x", "new_string": "y"}
    edit = Edit("/a", "x", "y")
    read = ("Read", {"file_path": "/a"})
    assert meaning("claude-code", read, ("TodoWrite", {"todos": []})) == [Read("/a", 1, 2000, "\t"), Aside()]
    opened = [("read", {"filePath": "/a"}), ("edit", {"filePath": "/a", "oldString": "x", "newString": "y"})]
    assert meaning("opencode", *opened) == [Read("/a", 1, 2000, ": "), edit]
    assert meaning("gemini-cli", ("replace", replaced), ("glob", {})) == [edit, Search()]
    assert meaning("qwen-code", ("edit", replaced), ("glob", {})) == [edit, Search()]
    old = {"path": "/a", "old_str": "x", "new_str": "y"}
    assert meaning("copilot-cli", ("edit", old), ("glob", {})) == [edit, Search()]
    viewed = ("file_editor", {"command": "view", "path": "/a"})
    assert meaning("openhands", viewed, ("think", {"thought": "x"})) == [Read("/a", 1, None, "\t"), Aside()]


def test_a_shell_that_keeps_its_directory() -> None:
    """Claude Code's directory is unknown behind a command that may change it."""
    calls = [
        agent(name, "x", ("Bash", {"command": text})) for name, text in {"a": "ls", "b": "cd src", "c": "ls"}.items()
    ]
    run = of_agent({"name": "claude-code", "extra": {"cwds": ["/app"]}}, *calls)
    assert [one.action.cwd for one in run.steps] == ["/app", "/app", None]
