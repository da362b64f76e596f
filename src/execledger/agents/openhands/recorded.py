"""Runs of OpenHands: events, each an action or an observation, joined by the action's number or the call's id.

They come as a list, as a folder of files, as lines, or as the ``history`` of an instance in the ``output.jsonl`` of the
evaluation harness.

The shell's output is read off a terminal: tabs, the ends of lines and what it begins with are not as the command wrote
them. So what was shown elsewhere is no proof of what a command would print: such a run does not count as sealed,
although it ran in a container.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder

from execledger.agents.formats import Format
from execledger.agents.openhands.events import (
    Event,
    OpenHandsCall,
    decode_event_lines,
    decode_events,
    is_event_lines,
    is_event_list,
)
from execledger.agents.openhands.kept import is_instance
from execledger.agents.openhands.tools import FORGETS, NO_CALLS, action_of, observed, place_of
from execledger.errors import UnreadableRun
from execledger.runs.decoding import decode, instance_of, moment_of, text_of, written_text
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies, windowed
from execledger.runs.usage import ModelCall, model_call, summed, told

FORMAT = "openhands"
"""The name of the format."""
WINDOW = 5
"""Results that the model is shown by a condenser which masks older ones and does not tell how many it keeps."""
MASKING = ("observation_masking", "recent")
"""Condensers that leave out older results without an event that says so."""


class _Metrics(Struct, frozen=True):
    accumulated_cost: Any = None
    accumulated_token_usage: Any = None
    costs: list[Any] | None = None
    token_usages: list[Any] | None = None


class _Instance(Struct, frozen=True):
    """A line of ``output.jsonl``, without its history."""

    instance_id: str | None = None
    instruction: str | None = None
    metadata: Any = None
    metrics: _Metrics | None = None
    error: Any = None


class _Asked(Struct, frozen=True):
    """An action that waits for its observation."""

    name: str
    given: object
    cwd: str | None
    turn: int


_INSTANCE = Decoder(_Instance)


def read_instance(name: str, data: bytes, fields: Mapping[str, Raw]) -> Run:
    """Read an instance of the evaluation harness."""
    return _run(name, decode_events(name, fields["history"], "history"), decode(name, data, _INSTANCE, ""))


def read_event_list(name: str, data: bytes | Raw, where: str = "") -> Run:
    """Read a list of events."""
    return _run(name, decode_events(name, data, where), _Instance())


def read_event_lines(name: str, data: bytes) -> Run:
    """Read events, one to a line."""
    events, trouble = decode_event_lines(name, data)
    if len(events) - events.count(None) < 2:
        found = "; ".join(("found one event of OpenHands, expected all events of a run", *trouble))
        raise UnreadableRun(name, found, "give the whole folder")
    return _run(name, events, _Instance(), trouble)


def _run(name: str, events: Iterable[Event | None], instance: _Instance, trouble: tuple[str, ...] = ()) -> Run:
    """The run that these events record; None in place of an event that can't be read."""
    reader = _Reader()
    for event in events:
        if event is None:
            reader.lose()
        else:
            reader.take(event)
    metadata = instance.metadata if isinstance(instance.metadata, dict) else {}
    metrics = instance.metrics or _Metrics()
    window = _window(metadata.get("condenser_config"))
    forgotten = {*reader.forgotten, *(windowed(window, len(reader.steps)) if window else ())}
    return Run(
        name=name,
        format=FORMAT,
        agent="openhands",
        model=_model(metadata) or reader.model,
        task=instance.instruction or reader.task,
        container=False,
        turns=len(reader.calls),
        steps=tuple(reader.steps),
        compactions=tuple(sorted(at for at in forgotten if 0 < at < len(reader.steps))),
        model_calls=_model_calls(metrics) or told(list(reader.calls.values())),
        totals=_totals(metrics) or reader.totals,
        replies=told_replies(reader.replies.values()),
        instance=instance_of(name, instance.instance_id),
        ended=instance.error.strip().partition("\n")[0] if isinstance(instance.error, str) else reader.ended,
        parallel=True,
        trouble=trouble,
    )


class _Reader:
    """Walks along the events, and pairs every action with its observation."""

    def __init__(self) -> None:
        self.task = ""
        self.model = ""
        self.ended = ""
        self.totals: ModelCall | None = None
        self.calls: dict[str, ModelCall] = {}
        self.replies: dict[str, ModelReply] = {}
        self.steps: list[Recorded] = []
        self.forgotten: list[int] = []
        self._turns: dict[str, int] = {}
        self._cwd: str | None = None
        self._waiting: dict[object, _Asked] = {}

    def lose(self) -> None:
        """Note that an event can't be read, which may have been an edit, a compaction or a change of the directory."""
        self.forgotten.append(len(self.steps))
        self._cwd = None

    def take(self, event: Event) -> None:
        """Take in one event."""
        named = event.action if isinstance(event.action, str) else event.kind
        if named in FORGETS:
            self.forgotten.append(len(self.steps))
        elif event.key is not None:
            self._changed(event.key, event.value)
        elif named in ("message", "MessageEvent"):
            self._message(event)
        elif event.kind == "ActionEvent" or (isinstance(event.action, str) and named not in NO_CALLS):
            self._act(event)
        elif event.observation is not None or event.kind in ("AgentErrorEvent", "UserRejectObservation"):
            self._observe(event)

    def _changed(self, key: str, value: object) -> None:
        """Something about the conversation has changed."""
        if key == "execution_status" and isinstance(value, str):
            self.ended = value
        counted = value.get("usage_to_metrics") if key == "stats" and isinstance(value, dict) else None
        if isinstance(counted, dict):
            parts = [part for part in counted.values() if isinstance(part, dict)]
            self.totals = summed(
                [model_call(part.get("accumulated_token_usage"), part.get("accumulated_cost")) for part in parts]
            )

    def _message(self, event: Event) -> None:
        if event.source == "agent":
            self._turn(event)
        elif event.source == "user":
            args = event.args if isinstance(event.args, dict) else {}
            self.task = self.task or text_of(args.get("content") or event.content or event.llm_message)

    def _turn(self, event: Event) -> int:
        """Which call of the model an event belongs to; calls that it made at once share the id of the response."""
        response = event.response
        key = response.id or f"event {event.id if event.id is not None else len(self._turns)}"
        self.model = self.model or response.model or ""
        self.calls.setdefault(key, model_call(response.usage))
        self.replies.setdefault(key, ModelReply(_written(event), moment_of(event.timestamp)))
        return self._turns.setdefault(key, len(self._turns))

    def _act(self, event: Event) -> None:
        if event.source not in ("agent", None):
            return
        if event.kind == "ActionEvent":
            given = event.action if event.action is not None else _arguments(event.tool_call)
            asked = _Asked(event.tool_name or "", given, self._cwd, self._turn(event))
        else:
            asked = _Asked(event.action, event.args, self._cwd, self._turn(event))
        if asked.name == "finish":
            self.ended = self.ended or "finish"
        self._waiting[event.id if event.kind is None else event.tool_call_id] = asked

    def _observe(self, event: Event) -> None:
        asked = self._waiting.pop(event.cause if event.kind is None else event.tool_call_id, None)
        if asked is None:
            return
        # One shell serves all commands: if another of the same response has moved it, the order of the two is not sure.
        action = action_of(asked.name, asked.given, asked.cwd if asked.cwd == self._cwd else None)
        at = moment_of(event.timestamp)
        self.steps.append(Recorded(action, observed(action, event), asked.turn, at=at))
        self._cwd = place_of(event) or (self._cwd if action.call is not None else None)


def _written(event: Event) -> str:
    """What the model wrote: a message to the user, or its thought beside a call."""
    args = event.args if isinstance(event.args, dict) else {}
    said = event.llm_message.get("content") if isinstance(event.llm_message, dict) else None
    return next(filter(None, map(written_text, (args.get("thought"), event.thought, args.get("content"), said))), "")


def _arguments(call: OpenHandsCall | None) -> object:
    """The arguments of a call that was not carried out, as the model wrote them."""
    try:
        return msgspec.json.decode(call.arguments) if call is not None and isinstance(call.arguments, str) else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _model(metadata: dict[str, Any]) -> str:
    configs = (metadata.get(key) for key in ("llm_config", "llm"))
    models = (config.get("model") for config in configs if isinstance(config, dict))
    return next((model for model in models if isinstance(model, str)), "")


def _window(config: object) -> int | None:
    """How many results a condenser keeps that leaves out others silently; None for all."""
    if not isinstance(config, dict) or config.get("type") not in MASKING:
        return None
    size = config.get("attention_window")
    return size if isinstance(size, int) and size > 0 else WINDOW


def _model_calls(metrics: _Metrics) -> tuple[ModelCall, ...]:
    """What the harness counted call by call."""
    usages = metrics.token_usages or []
    costs = [cost.get("cost") if isinstance(cost, dict) else cost for cost in metrics.costs or []]
    paired = costs if len(costs) == len(usages) else [None] * len(usages)
    return told([model_call(usage, cost) for usage, cost in zip(usages, paired, strict=True)])


def _totals(metrics: _Metrics) -> ModelCall | None:
    whole = model_call(metrics.accumulated_token_usage, metrics.accumulated_cost)
    return whole if told([whole]) else None


FORMATS = (
    Format(
        kind="list",
        recognises=lambda file: is_event_list(file.data),
        read=lambda file: read_event_list(file.name, file.data),
    ),
    Format(
        kind="lines",
        recognises=lambda file: is_event_lines(file.data),
        read=lambda file: read_event_lines(file.name, file.data),
    ),
    Format(
        kind="object",
        recognises=lambda file: "trajectory" in file.fields and is_event_list(file.fields["trajectory"]),
        read=lambda file: read_event_list(file.name, file.fields["trajectory"], "trajectory"),
    ),
    Format(
        kind="object",
        recognises=lambda file: "trajectory" not in file.fields and is_instance(file.fields),
        read=lambda file: read_instance(file.name, file.data, file.fields),
    ),
)
"""The formats of OpenHands' records."""
