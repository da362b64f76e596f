"""Runs in the Agent Trajectory Interchange Format, which other agents' runs are converted to.

A converter wrote the results, in a form of its own. Whether the model read them in that form is not told, so nothing is
claimed of them; what the calls would do is understood as far as they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Raw, Struct
from msgspec.json import Decoder

from execledger.runs.decoding import decode, instance_of, text_of
from execledger.runs.recording import Recorded, Run
from execledger.runs.usage import ModelCall, model_call, told
from execledger.vocabulary.actions import Action, Observation

ActionOf: TypeAlias = Callable[[str, str, object], Action]
"""Maps an agent's name, a tool's name and its arguments to the action that the call proposes."""


class _Agent(Struct, frozen=True):
    name: str | None = None
    version: str | None = None
    model_name: str | None = None


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


_AGENT, _STEPS, _ANY, _NULL = Decoder(_Agent | None), Decoder(list[_Step]), Decoder(Any), Raw(b"null")


def is_interchange(fields: Mapping[str, Raw]) -> bool:
    """These are the fields of a run in this format."""
    return "steps" in fields and bytes(fields.get("schema_version", b"")).startswith(b'"ATIF')


def read_interchange(name: str, fields: Mapping[str, Raw], action_of: ActionOf) -> Run:
    """Read a run from its top-level fields; ``action_of`` knows the tools of agents."""
    agent = decode(name, fields.get("agent", _NULL), _AGENT, "agent") or _Agent()
    steps = decode(name, fields["steps"], _STEPS, "steps")
    answers = [step for step in steps if step.source == "agent"]
    return Run(
        name=name,
        format="atif",
        agent=f"{agent.name or ''} {agent.version or ''}".strip(),
        model=agent.model_name or next((step.model_name for step in answers if step.model_name), ""),
        task=next((text_of(step.message) for step in steps if step.source == "user"), ""),
        container=False,
        turns=len(answers),
        steps=tuple(_recorded(agent.name or "", answers, action_of)),
        model_calls=told([_took(step.metrics) for step in answers]),
        totals=_total(decode(name, fields.get("final_metrics", _NULL), _ANY, "final_metrics")),
        instance=instance_of(name),
        parallel=True,
    )


def _recorded(agent: str, answers: list[_Step], action_of: ActionOf) -> Iterator[Recorded]:
    """The calls that have a result; a single result without an id answers a single call."""
    for turn, step in enumerate(answers):
        calls, results = step.tool_calls or [], (step.observation or _Results()).results
        found = {result.source_call_id: text_of(result.content) for result in results}
        for call in calls:
            alone = None if len(calls) == len(results) == 1 else call.tool_call_id
            text = found.get(call.tool_call_id, found.get(alone))
            if text is not None:
                yield Recorded(
                    action_of(agent, call.function_name, call.arguments), Observation(text, truncated=True), turn
                )


def _took(metrics: object) -> ModelCall:
    cost = metrics.get("cost_usd") if isinstance(metrics, dict) else None
    return model_call(metrics, cost)


def _total(metrics: object) -> ModelCall | None:
    if not isinstance(metrics, dict):
        return None
    said = {str(key).removeprefix("total_"): value for key, value in metrics.items()}
    whole = _took(said)
    return whole if told([whole]) else None
