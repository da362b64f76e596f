"""Tasks for Inspect with a scripted model; this file is loaded by Inspect's own command line, and not by the tests.

The script is a JSON file, named by the argument ``script`` of a task: the commands of each turn, and what goes wrong.
"""

# mypy: disable-error-code="untyped-decorator,misc"
from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ModelAPI, ModelOutput, ModelUsage, get_model, modelapi
from inspect_ai.scorer import Score, Scorer, Target, accuracy, includes, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolCall, bash, bash_session, python, text_editor, tool
from tenacity import wait_fixed

DONE = "done"
"""The answer that scores as correct."""
GRADER = "Look whether it is right."
"""What a grader with tools is asked."""
_TRIES: dict[str, int] = {}
"""How often a model call was tried, by its place in the script."""


class Unavailable(Exception):
    """The scripted model is overloaded; Inspect is to try again."""


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """Answers each request with the next turn of its script."""

    def __init__(self, model_name: str, script: str = "", **given: Any) -> None:
        """The model of this script; other arguments belong to Inspect."""
        super().__init__(model_name, given.get("base_url"), given.get("api_key"), [], given["config"])
        self.script: dict[str, Any] = json.loads(Path(script).read_text())

    def should_retry(self, ex: BaseException) -> bool:
        """An overloaded model is tried again."""
        return isinstance(ex, Unavailable)

    def retry_wait(self) -> Any:
        """How long Inspect waits before it tries again."""
        return wait_fixed(0.01)

    async def generate(self, input: list[ChatMessage], tools: list[Any], tool_choice: Any, config: Any) -> ModelOutput:
        """The next turn, by the number of turns in the input."""
        turn = sum(message.role == "assistant" for message in input)
        said = "\n".join(message.text for message in input if message.role == "user")
        who = next(iter(re.findall(r"Fix (\w+\.py), please", said)), "")
        key = f"{who} {turn}"
        _TRIES[key] = _TRIES.get(key, 0) + 1
        if _TRIES[key] <= self.script.get("overloaded", {}).get(str(turn), 0):
            raise Unavailable("try again")
        if _TRIES[key] <= self.script.get("breaks", {}).get(str(turn), 0):
            raise RuntimeError("the scripted model broke")
        if not tools:
            return _output(ChatMessageAssistant(content="GRADE: C"))
        commands = self.script["turns"][turn] if turn < len(self.script["turns"]) else []
        texts = [command.replace("{file}", who) for command in commands]
        offered = {one.name for one in tools}
        calls = [_call(offered, turn, at, text) for at, text in enumerate(texts)]
        if not calls and "submit" in offered:
            calls = [ToolCall(id=f"call_{turn}_0", function="submit", arguments={"answer": DONE})]
        elif not calls and offered == {"bash"}:
            finish = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
            calls = [ToolCall(id=f"call_{turn}_0", function="bash", arguments={"command": finish})]
        return _output(ChatMessageAssistant(content=f"turn {turn}" if calls else DONE, tool_calls=calls or None))


def _call(offered: set[str], turn: int, at: int, text: str) -> ToolCall:
    """A call: a command for the shell tool that is offered, or ``tool NAME {arguments}``."""
    call_id = f"call_{turn}_{at}"
    if text.startswith("tool "):
        _, name, arguments = text.split(" ", 2)
        return ToolCall(id=call_id, function=name, arguments=json.loads(arguments))
    name, argument = ("exec_command", "cmd") if "exec_command" in offered else ("bash", "command")
    return ToolCall(id=call_id, function=name, arguments={argument: text})


def _output(message: ChatMessageAssistant) -> ModelOutput:
    output = ModelOutput.from_message(message)
    output.usage = ModelUsage(
        input_tokens=100, output_tokens=10, total_tokens=1110, input_tokens_cache_read=900, input_tokens_cache_write=100
    )
    return output


FILE = "".join(f"def f{at}():\n    return {at}  # some words about it\n" for at in range(1, 41))
"""The file of every sample."""


def _samples(count: int) -> list[Sample]:
    """Samples that name a file of their own each."""
    names = [f"file{at}.py" for at in range(1, count + 1)]
    return [Sample(id=name, input=f"Fix {name}, please.", target=DONE, files={name: FILE}) for name in names]


@tool
def finish_early() -> Tool:
    """A tool that Ledger does not know."""

    async def execute(reason: str) -> str:
        """Say why.

        Args:
          reason: Why.
        """
        return f"noted: {reason}"

    return execute


@scorer(metrics=[accuracy()])
def graded() -> Scorer:
    """A score that a model gives."""

    async def score(state: TaskState, target: Target) -> Score:
        judged = await get_model().generate(f"Is {state.output.completion!r} right?")
        # A grader that may look for itself.
        await get_model().generate(GRADER, tools=[bash()])
        return Score(value="C" if "C" in judged.completion else "I")

    return score


def _task(script: str, samples: int, agent: Any, scorers: Sequence[Scorer] = ()) -> Task:
    model = get_model("scripted/model", script=script)
    return Task(
        dataset=_samples(samples), solver=agent, scorer=[*scorers] or [includes()], sandbox="local", model=model
    )


@task
def native(script: str, samples: int = 1, grader: bool = False) -> Task:
    """Inspect's own agent with its own tools."""
    tools = [bash(timeout=60), text_editor(), python(), bash_session(), finish_early()]
    scorers = [graded()] if grader else []
    return _task(script, samples, react(tools=tools), scorers)


@solver
def broken() -> Solver:
    """A solver that fails before it asks a model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        raise RuntimeError("the solver broke")

    return solve


@task
def failing(script: str, initial: bool = False) -> Task:
    """Fails before the first model call: in its solver, or with its sandbox."""
    made = _task(script, 1, broken())
    if initial:
        made.dataset[0].files = {"missing.py": "/no/such/folder/missing.py"}
        made.dataset[0].setup = "exit 3"
    return made


@task
def bridged(script: str) -> Task:
    """An agent of ``inspect_swe`` that the script names, with the options that it has there."""
    import inspect_swe

    about = json.loads(Path(script).read_text())
    return _task(script, 1, getattr(inspect_swe, about["agent"])(**about["options"]))
