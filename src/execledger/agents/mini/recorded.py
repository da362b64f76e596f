"""Runs of mini-swe-agent.

Version 2 keeps every action and its output in ``extra`` fields beside the messages. Version 1 keeps messages only: the
command is the fenced block of a reply, and its result is the text of a message after it. The oldest files are a bare
list of such messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder

from execledger.agents.formats import Format
from execledger.agents.mini.config import shares_nothing
from execledger.agents.mini.messages import (
    NOT_EXECUTED,
    REJECTED,
    SUBMITTED,
    answer_of,
    observed,
    policy_of,
    read_answer,
    rendered_output,
)
from execledger.core.references import NOT_ANSWERED
from execledger.errors import UnreadableRun
from execledger.journal.migrate import NewerVersion
from execledger.runs.decoding import (
    Undecodable,
    decode,
    fields_of,
    instance_of,
    joined_text,
    moment_of,
    text_of,
    written_text,
)
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies
from execledger.runs.usage import ModelCall, model_call, told
from execledger.shell.paths import UNRECORDED_DIRECTORY
from execledger.vocabulary.actions import Action, Observation

_FENCE = r"(?:[\w`<>/ -]|\\s[*+]|\\n|\n|\(\?:[\w|-]+\))*"
_PLAIN_FENCE = re.compile(_FENCE + r"\(\.\*\?\)" + _FENCE)
_FENCED = r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```"
_CONTAINERS = re.compile("docker|podman|singularity|apptainer|modal|contree|bubblewrap", re.IGNORECASE)


class _Call(Struct, frozen=True):
    """An action of a model turn, version 2."""

    command: str
    tool_call_id: str | None = None


class _Extra(Struct, frozen=True):
    """What is kept beside a message."""

    actions: list[_Call] | None = None
    returncode: int | None = None
    raw_output: str | None = None
    exception_info: str | None = None
    exception_type: str | None = None
    interrupt_type: str | None = None
    exit_status: str | None = None
    traceback: Any = None
    response: Raw = Raw()
    cost: Any = None
    timestamp: Any = None
    ledger: Any = None


_NOTHING = _Extra()


class _Ledger(Struct, frozen=True):
    """Ledger's note in a trajectory."""

    journal: str = ""


class _LedgerInfo(Struct, frozen=True):
    ledger: _Ledger | None = None


class _Noted(Struct, frozen=True):
    """The part of a trajectory that names its journal."""

    info: _LedgerInfo


_NOTED = Decoder(_Noted)


class _Message(Struct, frozen=True):
    """A message: chat, or an item of the Responses API."""

    role: str | None = None
    type: str | None = None
    object: str | None = None
    content: str | list[Any] | None = None
    output: str | list[Any] | None = None
    tool_call_id: str | None = None
    call_id: str | None = None
    usage: Any = None
    timestamp: Any = None
    extra: _Extra | None = None

    @property
    def at(self) -> float | None:
        """When it was recorded: version 2 notes that beside the message."""
        return moment_of(self.timestamp if self.extra is None or self.extra.timestamp is None else self.extra.timestamp)


class _Agent(Struct, frozen=True):
    action_regex: str | None = None


class _Model(Struct, frozen=True):
    model_name: str | None = None


class _Environment(Struct, frozen=True):
    cwd: str | None = None
    image: str | None = None
    environment_class: str | None = None
    run_args: list[str] | None = None


class _Config(Struct, frozen=True):
    agent: _Agent | None = None
    model: _Model | None = None
    environment: _Environment | None = None
    environment_type: str | None = None


class _Stats(Struct, frozen=True):
    instance_cost: Any = None


class _Info(Struct, frozen=True):
    mini_version: str | None = None
    exit_status: str | None = None
    traceback: Any = None
    model_stats: _Stats | None = None
    config: _Config | None = None
    ledger: Any = None


_MESSAGES = Decoder(list[_Message])
_INFO = Decoder(_Info | None)
_TEXT, _ANY = Decoder(str | None), Decoder(Any)
_NULL = Raw(b"null")


def is_mini(fields: Mapping[str, Raw]) -> bool:
    """These are the fields of a trajectory of mini-swe-agent."""
    return "messages" in fields and ("trajectory_format" in fields or "info" in fields)


def read_trajectory(name: str, fields: Mapping[str, Raw]) -> Run:
    """Read a trajectory of either version from its top-level fields."""
    kind = decode(name, fields.get("trajectory_format", _NULL), _TEXT, "trajectory_format")
    if kind not in (None, "mini-swe-agent-1", "mini-swe-agent-1.1"):
        expected = "expected mini-swe-agent-1 or mini-swe-agent-1.1"
        raise UnreadableRun(name, f"found {kind!r} at trajectory_format, {expected}")
    info = decode(name, fields.get("info", _NULL), _INFO, "info")
    messages = decode(name, fields["messages"], _MESSAGES, "messages")
    structured = kind == "mini-swe-agent-1.1" or any(message.extra and message.extra.actions for message in messages)
    instance = decode(name, fields.get("instance_id", _NULL), _TEXT, "instance_id")
    kind = "mini-swe-agent-1.1" if structured else "mini-swe-agent-1"
    return _run(name, kind, info or _Info(), messages, instance_of(name, instance))


def read_list(name: str, data: bytes) -> Run:
    """Read a bare list of messages."""
    messages = decode(name, data, _MESSAGES, "")
    if not messages or not all(message.role for message in messages):
        raise UnreadableRun(name, "found a list, expected every item of it to be a message with a role")
    return _run(name, "mini-swe-agent-list", _Info(), messages, instance_of(name))


def _run(name: str, kind: str, info: _Info, messages: list[_Message], instance: str) -> Run:
    """The run that these messages record."""
    config = info.config or _Config()
    cwd = _directory(config, messages)
    pattern = None if kind == "mini-swe-agent-1.1" else _action_pattern(config.agent)
    if pattern is None:
        try:
            steps = tuple(_called(messages, cwd))
        except NewerVersion as error:
            raise UnreadableRun(name, error.message, hint=error.hint) from error
    else:
        steps = tuple(_typed(messages, cwd, pattern))
    sealed = [one.governed.sealed for one in steps if one.governed is not None]
    answers = [message for message in messages if _is_model_call(message)]
    cost = model_call(None, info.model_stats.instance_cost).cost if info.model_stats else None
    return Run(
        name=name,
        format=kind,
        agent=f"mini-swe-agent {info.mini_version or ''}".rstrip(),
        model=(config.model.model_name or "") if config.model else "",
        task=next((text_of(message.content) for message in messages if message.role == "user"), ""),
        container=all(sealed) if sealed else _is_container(config),
        turns=len(answers),
        steps=steps,
        model_calls=told([_took(name, message) for message in answers]),
        replies=told_replies(ModelReply(_written(message, pattern), message.at) for message in answers),
        totals=ModelCall(cost=cost) if cost is not None else None,
        instance=instance,
        ended=info.exit_status or "",
        failed=_failed(info, messages),
        policy=policy_of(info.ledger),
    )


def _failed(info: _Info, messages: list[_Message]) -> bool:
    """Whether an exception ended the run: its traceback is kept by the batch runner, or beside the last message."""
    last = messages[-1].extra if messages else None
    return bool(info.traceback or (last is not None and last.traceback))


def _directory(config: _Config, messages: list[_Message]) -> str | None:
    """The directory in which every command starts: as configured, else as Ledger knew it, else the placeholder.

    Each command runs in a shell of its own, so it is one directory also where the run does not say which: the local
    environment records an empty one, and starts its commands where the agent was started.
    """
    if config.environment is not None and config.environment.cwd:
        return config.environment.cwd
    notes = (answer_of(message.extra.ledger) for message in messages if message.extra is not None)
    noted = next((answer for answer in notes if answer is not None), None)
    return UNRECORDED_DIRECTORY if noted is None else noted.cwd


def _took(name: str, message: _Message) -> ModelCall:
    """What the call of the model for this message took."""
    extra = message.extra or _NOTHING
    usage = fields_of(bytes(extra.response)).get("usage")
    reported = decode(name, usage, _ANY, "messages[].extra.response.usage") if usage is not None else message.usage
    return model_call(reported, extra.cost)


def _written(message: _Message, pattern: re.Pattern[str] | None) -> str:
    """What the model wrote beside its calls; in version 1, around the one block that is its command."""
    if message.role != "assistant" and message.object != "response":
        return ""
    if message.object == "response" and isinstance(message.output, list):
        items = (item for item in message.output if isinstance(item, dict) and item.get("type") == "message")
        return joined_text(*(written_text(item.get("content")) for item in items))
    text = written_text(message.content)
    blocks = list(pattern.finditer(text)) if pattern is not None else []
    return joined_text(text[: blocks[0].start()], text[blocks[0].end() :]) if len(blocks) == 1 else text


def _called(messages: list[_Message], cwd: str | None) -> Iterator[Recorded]:
    """The steps of version 2: actions and results are separate from the text."""
    turn, index, waiting = -1, 0, list[_Call]()
    for at, message in enumerate(messages):
        extra = message.extra or _NOTHING
        turn += _is_model_call(message)
        if extra.actions is not None or _is_model_call(message):
            # A person's commands count as actions too. What an earlier turn left unanswered stays so.
            waiting = list(extra.actions or ())
        elif call := _answered(message, waiting):
            waiting.remove(call)
            if _is_padding(extra) and _nothing_ran(messages, at):
                continue
            yield _recorded(message, Action(call.command, cwd), max(turn, 0), index)
            index += 1


def _is_padding(extra: _Extra) -> bool:
    """Whether a result takes the place of one, for an action that has none; Ledger's references have its note."""
    told = (extra.returncode, extra.exception_info)
    return extra.ledger is None and told == (NOT_EXECUTED["returncode"], NOT_EXECUTED["exception_info"])


def _nothing_ran(messages: list[_Message], at: int) -> bool:
    """Whether actions of this turn without a result have none because the run ended by one, or a person rejected them.

    The interactive agent gives them the same words as an interrupted one, which may have done a part of its work. What
    tells them apart is the next message that is no result.
    """
    extras = (message.extra or _NOTHING for message in messages[at:])
    behind = next((extra for extra in extras if extra.returncode is None), _NOTHING)
    return behind.exit_status == SUBMITTED or behind.interrupt_type == REJECTED


def _answered(message: _Message, waiting: list[_Call]) -> _Call | None:
    """The call that a message answers: the one that it names, else the next in order."""
    extra = message.extra or _NOTHING
    if extra.returncode is None and message.role != "tool" and message.type != "function_call_output":
        return None
    named = message.tool_call_id or message.call_id
    fitting = (call for call in waiting if named is None or call.tool_call_id in (named, None))
    return next(fitting, None)


def _recorded(message: _Message, action: Action, turn: int, index: int) -> Recorded:
    """The call that a message of version 2 answers; where Ledger did, with what is known of the true result."""
    extra, text = message.extra or _NOTHING, text_of(message.content) or text_of(message.output)
    answer = read_answer(extra.ledger)
    if answer is None:
        return Recorded(action, _observation(extra, text, action.command), turn, at=message.at)
    action = Action(action.command, answer.cwd)
    shown = _observation(extra, answer.bare(text), action.command)
    governed = answer.governed(action, shown, index)
    return Recorded(action, answer.result(shown, extra.raw_output), turn, governed, at=message.at)


def _observation(extra: _Extra, text: str, command: str) -> Observation:
    """The result that a message of version 2 shows."""
    if extra.raw_output == NOT_ANSWERED:
        return Observation(exit_status=extra.returncode, truncated=True)
    if extra.returncode is None:
        return observed(text, command) or Observation(text, truncated=True)
    output, cut, truncated = rendered_output(text, extra.raw_output)
    error = extra.exception_info or ""
    # The agent gives -1 to whatever did not run to its end; a program can't.
    stopped = extra.returncode == -1
    timed_out = stopped and (extra.exception_type == "TimeoutExpired" or "timed out" in error)
    return Observation(
        output=output,
        notice=error,
        exit_status=extra.returncode,
        failed=stopped and not timed_out,
        cut=cut,
        truncated=truncated,
        timed_out=timed_out,
    )


def _typed(messages: list[_Message], cwd: str | None, pattern: re.Pattern[str]) -> Iterator[Recorded]:
    """The steps of version 1: replies with exactly one fenced command, answered before the next reply."""
    turn, command = -1, None
    for message in messages:
        text = text_of(message.content)
        if _is_model_call(message):
            turn += 1
            blocks = pattern.findall(text)
            command = blocks[0].strip() if len(blocks) == 1 else None
        elif command is not None and (observation := observed(text, command)):
            # Complaints about the format, remarks of a fork and the submitted patch are no results.
            yield Recorded(Action(command, cwd), observation, turn, at=message.at)
            command = None


def _is_model_call(message: _Message) -> bool:
    """The model was called for this message. A reply that broke the format is not kept, only the complaint about it."""
    return (
        message.role == "assistant"
        or message.object == "response"
        or (message.extra is not None and message.extra.interrupt_type == "FormatError")
    )


def _action_pattern(agent: _Agent | None) -> re.Pattern[str]:
    """How the run's agent found the command in a reply.

    A pattern from a file could take for ever to fail, so only fences around one lazy group are taken over.
    """
    pattern = (agent.action_regex if agent else None) or _FENCED
    return re.compile(pattern if _PLAIN_FENCE.fullmatch(pattern) else _FENCED, re.DOTALL)


def _is_container(config: _Config) -> bool:
    """The environment is a container, and shares nothing with the host as far as its configuration tells."""
    environment = config.environment or _Environment()
    if not shares_nothing(environment.run_args or ()):
        return False
    names = f"{config.environment_type or ''} {environment.environment_class or ''}"
    return bool(environment.image or _CONTAINERS.search(names))


def journal_names(file: Path, data: bytes) -> Iterator[Path]:
    """The path of the journal that a trajectory holds, if Ledger took part in it."""
    if file.suffix == ".jsonl":
        return
    try:
        ledger = decode(str(file), data, _NOTED, "").info.ledger
    except (Undecodable, RecursionError):
        return
    if ledger is not None and ledger.journal:
        yield Path(ledger.journal)


FORMATS = (
    # Other agents keep ``info`` and ``messages`` too, with more that tells them apart.
    Format(
        kind="object",
        fallback=True,
        recognises=lambda file: is_mini(file.fields),
        read=lambda file: read_trajectory(file.name, file.fields),
    ),
    # Of old versions nothing but the messages was kept.
    Format(
        kind="list",
        fallback=True,
        recognises=lambda file: True,
        read=lambda file: read_list(file.name, file.data),
    ),
)
"""The formats of mini-swe-agent's records."""
