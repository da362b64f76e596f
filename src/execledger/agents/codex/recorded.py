"""Codex's own records of its sessions, called rollouts: the items of a conversation, one JSON object per line.

Newer versions wrap every item (``{"type": ..., "payload": ...}``) and note where each turn runs. Older ones begin with
a bare object about the session, and the items behind it are bare too. A sub-agent's session is a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from execledger.agents.codex.tools import action_of, cwd_of, observation_of, shim_mark, task_of
from execledger.agents.formats import Format
from execledger.runs.decoding import (
    decode,
    fields_of,
    instance_of,
    joined_text,
    moment_of,
    read_lines,
    text_of,
    written_text,
)
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies
from execledger.runs.usage import ModelCall, model_call
from execledger.session.adapter import Resolve, ToolCall
from execledger.vocabulary.actions import Observation

FORMAT = "codex"
"""The name of the format."""

_WRAPPED = frozenset(("session_meta", "response_item", "turn_context", "event_msg", "compacted", "world_state"))
_ENDINGS = frozenset(("task_complete", "turn_complete", "turn_aborted"))
"""How a turn of the user's ends, in events."""
_DEFAULT_NAMESPACES = (None, "", "functions")
_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call"))
_MODEL_ITEMS = _CALLS | {"reasoning", "web_search_call", "tool_search_call", "image_generation_call"}
"""What the model writes, but for its messages."""
_FORGETS = frozenset(
    "compacted compaction context_compaction compaction_summary thread_rolled_back undo_completed".split()
)
"""What takes earlier results out of the model's sight, or files back to what they were."""


_SESSION_LENGTH = 36
"""Length of the identifier of a session."""


class _Line(Struct, frozen=True):
    """A line of either form; a bare one has no payload."""

    type: str | None = None
    payload: Raw = Raw()
    timestamp: Any = None


class _Kind(Struct, frozen=True):
    type: str | None = None


class _Session(Struct, frozen=True):
    cwd: str | None = None
    cli_version: str | None = None


class _Turn(Struct, frozen=True):
    cwd: str | None = None
    model: str | None = None


class _Message(Struct, frozen=True):
    role: str | None = None
    content: Any = None


class _Call(Struct, frozen=True):
    call_id: str | None = None
    id: str | None = None
    name: str = "local_shell"
    namespace: str | None = None
    arguments: str | None = None
    input: str | None = None
    action: Raw = Raw(b"null")


class _Output(Struct, frozen=True):
    call_id: str
    output: Any = None


class _Counts(Struct, frozen=True):
    """What was counted so far, and for the last call of the model."""

    total_token_usage: Any = None
    last_token_usage: Any = None


class _Counted(Struct, frozen=True):
    """The usage of one call of the model, in the versions that record it."""

    usage: Any = None


class _Told(Struct, frozen=True):
    """An event for the user interface."""

    type: str | None = None
    info: _Counts | None = None


_LINE, _KIND, _SESSION, _TURN = Decoder(_Line), Decoder(_Kind), Decoder(_Session), Decoder(_Turn)
_MESSAGE, _CALL, _OUTPUT = Decoder(_Message), Decoder(_Call), Decoder(_Output)
_COUNTED, _TOLD = Decoder(_Counted), Decoder(_Told)


def is_rollout(data: bytes) -> bool:
    """The first line is one of a rollout."""
    fields = fields_of(data[: data.find(b"\n") + 1] or data)
    kind = bytes(fields.get("type", b"null")).decode("utf-8", "replace")
    bare = fields.keys() >= {"id", "timestamp", "instructions"}
    return kind.strip('"') in _WRAPPED if "payload" in fields else bare and kind == "null"


def read_rollout(name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read a rollout; ``resolve`` maps our shims to the calls that they replaced."""
    reader = _Reader(name, resolve)
    return reader.run(read_lines(name, data, reader.take, reader.lose))


class _Reader:
    """Walks along the lines, and pairs every call with its output."""

    def __init__(self, name: str, resolve: Resolve | None) -> None:
        self._name = name
        self._resolve = resolve
        self._session = _Session()
        self._model = ""
        self._task = ""
        self._cwd: str | None = None
        self._turn = -1
        self._answering = False
        self._waiting: dict[str, tuple[ToolCall, str | None, int]] = {}
        self._steps: list[Recorded] = []
        self._forgotten: list[int] = []
        self._counted: list[ModelCall] = []
        self._told: list[ModelCall] = []
        self._replies: list[ModelReply] = []
        self._at: float | None = None
        self._total: object = None
        self._ended = ""

    def run(self, trouble: tuple[str, ...]) -> Run:
        """The run, when all lines were taken; ``trouble`` is what was wrong with its file."""
        return Run(
            name=self._name,
            format=FORMAT,
            parallel=True,
            agent=f"codex {self._session.cli_version or ''}".rstrip(),
            model=self._model,
            task=self._task,
            container=False,
            turns=self._turn + 1,
            steps=tuple(self._steps),
            compactions=tuple(at for at in dict.fromkeys(self._forgotten) if 0 < at < len(self._steps)),
            # The newer record has every call; events for the user interface may leave some out.
            model_calls=tuple(self._counted or self._told),
            replies=told_replies(self._replies),
            totals=model_call(self._total) if self._total is not None else None,
            instance=instance_of(self._name),
            ended=self._ended,
            trouble=trouble,
        )

    def lose(self) -> None:
        """Note that a line can't be read, which may have been an edit, a compaction or a change of the directory."""
        self._forget()
        self._cwd = None

    def take(self, line: bytes) -> None:
        """Take in one line."""
        found = self._decoded(line, _LINE)
        if found.type is None:
            return
        payload = bytes(found.payload)
        self._at = moment_of(found.timestamp)
        if not payload:
            self._item(found.type, line)
        elif found.type == "session_meta":
            self._begin(self._decoded(payload, _SESSION))
        elif found.type == "turn_context":
            turn = self._decoded(payload, _TURN)
            self._cwd = turn.cwd or self._cwd
            self._model = self._model or turn.model or ""
        elif found.type == "response_item":
            self._item(self._decoded(payload, _KIND).type or "", payload)
        elif found.type == "token_usage_record":
            self._counted.append(model_call(self._decoded(payload, _COUNTED).usage))
        elif found.type == "event_msg":
            self._event(self._decoded(payload, _KIND).type, payload)
        elif found.type in _FORGETS:
            self._forget()

    def _event(self, kind: str | None, payload: bytes) -> None:
        if kind in _FORGETS:
            self._forget()
        elif kind in _ENDINGS:
            self._ended = kind or ""
        elif kind == "token_count":
            counts = self._decoded(payload, _TOLD).info or _Counts()
            # The same counts come again when only a rate limit has changed.
            if counts.total_token_usage not in (None, self._total):
                self._total = counts.total_token_usage
                self._told.append(model_call(counts.last_token_usage))

    def _decoded(self, data: bytes, decoder: Decoder[Any]) -> Any:
        return decode(self._name, data, decoder, "")

    def _begin(self, session: _Session) -> None:
        """The first session is this one; a forked one repeats the lines of its parent behind its own."""
        if self._session == _Session():
            self._session = session
            self._cwd = session.cwd

    def _item(self, kind: str, data: bytes) -> None:
        if kind in _MODEL_ITEMS:
            self._answer()
        if kind == "message":
            self._message(self._decoded(data, _MESSAGE))
        elif kind in _CALLS:
            call = self._decoded(data, _CALL)
            self._waiting[call.call_id or call.id or ""] = (_tool_call(call), self._cwd, self._turn)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._answering = False
            self._output(self._decoded(data, _OUTPUT))
        elif kind in _FORGETS:
            self._forget()

    def _forget(self) -> None:
        """Earlier results are gone from the context: what the model writes next is another call of it."""
        self._answering = False
        self._forgotten.append(len(self._steps))

    def _answer(self) -> None:
        """The model writes: one call of it lasts until a result or a message of the user comes in."""
        if not self._answering:
            self._turn += 1
            self._replies.append(ModelReply())
        self._answering = True
        self._replies[-1] = replace(self._replies[-1], at=self._at)

    def _message(self, message: _Message) -> None:
        if message.role == "assistant":
            self._answer()
            before = self._replies[-1]
            self._replies[-1] = replace(before, text=joined_text(before.text, written_text(message.content)))
        if message.role != "user":
            return
        self._answering = False
        parts = message.content if isinstance(message.content, list) else [message.content]
        for text in map(text_of, parts):
            self._cwd = self._cwd or cwd_of(text)
            self._task = self._task or task_of(text)

    def _output(self, output: _Output) -> None:
        if (asked := self._waiting.pop(output.call_id, None)) is None:
            return
        call, cwd, turn = asked
        observation = observation_of(call, _parts(output.output))
        mark = shim_mark(call) if self._resolve is not None else None
        original = self._resolve(mark) if self._resolve is not None and mark is not None else None
        if original is not None:
            # The output of a call that was not run is unknown.
            call, observation = original, Observation(exit_status=observation.exit_status, truncated=True)
        self._steps.append(Recorded(action_of(call, cwd), observation, turn, at=self._at))


def _tool_call(call: _Call) -> ToolCall:
    name = call.name if call.namespace in _DEFAULT_NAMESPACES else f"{call.namespace}.{call.name}"
    if call.input is not None:
        return ToolCall(name, call.input, custom=True)
    return ToolCall(name, call.arguments if call.arguments is not None else bytes(call.action).decode())


def _parts(output: object) -> tuple[str, ...]:
    """The text parts of an output: itself, or those of its parts that are text."""
    if isinstance(output, list):
        return tuple(part["text"] for part in output if isinstance(part, dict) and isinstance(part.get("text"), str))
    return (text_of(output),) if output is not None else ()


def journal_names(file: Path, data: bytes) -> Iterator[str]:
    """A pattern of the journal's name: both files are named after the identifier of the session."""
    if file.name.startswith("rollout-") and file.suffix == ".jsonl":
        yield f"*{file.stem[-_SESSION_LENGTH:]}*"


FORMATS = (
    Format(
        kind="lines",
        recognises=lambda file: is_rollout(file.data),
        read=lambda file: read_rollout(file.name, file.data, file.resolve),
    ),
)
"""The formats of Codex's records."""
