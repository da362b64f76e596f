"""Runs in the Agent Trajectory Interchange Format, which other agents' runs are converted to.

The calls are read with the tools of the agent that the run names. A converter wrote the results: those with the marks
that the agent itself puts around its results were taken over as they were. Of all others it is not known whether the
model read them in that form, so nothing is claimed of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Raw, Struct
from msgspec.json import Decoder

from execledger.runs.decoding import decode, instance_of, moment_of, text_of, written_text
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies
from execledger.runs.usage import ModelCall, model_call, told
from execledger.vocabulary.actions import Action, Observation


class CallReader(Protocol):
    """Reads the messages and calls of one run, in their order, with the tools of its agent."""

    def says(self, text: str) -> str:
        """Take in a message that is not the model's; gives the task that it states, "" if it states none."""
        ...

    def calls(self, tool: str, arguments: object, result: str) -> tuple[Action, Observation]:
        """Take in a call with its result."""
        ...


Begin: TypeAlias = Callable[[str, str | None], CallReader]
"""Takes an agent's name and the directory in which it started, None if that is unknown."""


class _Agent(Struct, frozen=True):
    name: str | None = None
    version: str | None = None
    model_name: str | None = None
    extra: Any = None

    @property
    def cwd(self) -> str | None:
        """The directory in which the agent started; None if it is not kept, or if there were several."""
        about = self.extra if isinstance(self.extra, dict) else {}
        several = about.get("cwds")
        found = several[0] if isinstance(several, list) and len(several) == 1 else about.get("cwd")
        return found if isinstance(found, str) and found.startswith("/") else None


class _Call(Struct, frozen=True):
    tool_call_id: str | None = None
    function_name: str = ""
    arguments: Any = None


class _Result(Struct, frozen=True):
    source_call_id: str | None = None
    content: Any = None


class _Results(Struct, frozen=True):
    results: list[_Result] = []


class _Step(Struct, frozen=True):
    source: str | None = None
    message: Any = None
    model_name: str | None = None
    tool_calls: list[_Call] | None = None
    observation: _Results | None = None
    metrics: Any = None
    timestamp: Any = None


_AGENT, _STEPS, _ANY, _NULL = Decoder(_Agent | None), Decoder(list[_Step]), Decoder(Any), Raw(b"null")


def is_interchange(fields: Mapping[str, Raw]) -> bool:
    """These are the fields of a run in this format."""
    return "steps" in fields and bytes(fields.get("schema_version", b"")).startswith(b'"ATIF')


def read_interchange(name: str, fields: Mapping[str, Raw], begin: Begin) -> Run:
    """Read a run from its top-level fields; ``begin`` knows the tools of agents."""
    agent = decode(name, fields.get("agent", _NULL), _AGENT, "agent") or _Agent()
    steps = decode(name, fields["steps"], _STEPS, "steps")
    answers = [step for step in steps if step.source == "agent"]
    reader = begin(agent.name or "", agent.cwd)
    task, recorded = "", list[Recorded]()
    turn = 0
    for step in steps:
        if step.source == "agent":
            recorded += _recorded(turn, step, reader)
            turn += 1
        else:
            stated = reader.says(text_of(step.message))
            task = task or (stated if step.source == "user" else "")
    return Run(
        name=name,
        format="atif",
        agent=f"{agent.name or ''} {agent.version or ''}".strip(),
        model=agent.model_name or next((step.model_name for step in answers if step.model_name), ""),
        task=task,
        container=False,
        turns=len(answers),
        steps=tuple(recorded),
        model_calls=told([_took(step.metrics) for step in answers]),
        replies=told_replies(ModelReply(written_text(step.message), moment_of(step.timestamp)) for step in answers),
        totals=_total(decode(name, fields.get("final_metrics", _NULL), _ANY, "final_metrics")),
        instance=instance_of(name),
        parallel=True,
    )


def _recorded(turn: int, step: _Step, reader: CallReader) -> Iterator[Recorded]:
    """The calls of a step that have a result; results without ids answer the calls in their order."""
    calls, results = step.tool_calls or [], (step.observation or _Results()).results
    if any(result.source_call_id for result in results):
        by_id = {result.source_call_id: result for result in results}
        pairs = [(call, by_id[call.tool_call_id]) for call in calls if call.tool_call_id in by_id]
    else:
        # Behind the results there may be a complaint about an answer that is not kept.
        pairs = [*zip(calls, results, strict=False)] if len(results) >= len(calls) else []
    for call, result in pairs:
        read = reader.calls(call.function_name, call.arguments, text_of(result.content))
        yield Recorded(*read, turn)


def _took(metrics: object) -> ModelCall:
    cost = metrics.get("cost_usd") if isinstance(metrics, dict) else None
    return model_call(metrics, cost)


def _total(metrics: object) -> ModelCall | None:
    if not isinstance(metrics, dict):
        return None
    said = {str(key).removeprefix("total_"): value for key, value in metrics.items()}
    whole = _took(said)
    return whole if told([whole]) else None
