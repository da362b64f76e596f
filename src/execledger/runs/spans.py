"""Runs kept as spans by Vorflux: model calls and tool calls in one list, each tool call with its arguments and result.

The list does not say which conversation a call belongs to. A run may delegate to other agents and call reviewers; all
their calls stand on one thread here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from execledger.runs.decoding import decode, instance_of, moment_of, spelled, text_of, written_text
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies
from execledger.runs.usage import model_call, told
from execledger.vocabulary import actions
from execledger.vocabulary.actions import Action, Call, Edit, Observation, Read, Search, Write

_OWN_FOLDER = "/memory/sessions"
"""Where the harness keeps its notes: calls that name it are its own, not the agent's."""
_LIMIT = 500
"""Lines that the reading tool returns where the call has no limit."""
_FOOTER = re.compile(r"\n\n(\[Showing \d+ lines starting at line \d+\.[^\n]*\])\Z")


class _Prompt(Struct, frozen=True):
    content: Any = None


class _Span(Struct, frozen=True):
    """An entry of the trajectory."""

    type: str
    tool: str = ""
    arguments: Any = None
    result: Any = None
    task_prompt: list[_Prompt] | None = None
    usage: Any = None
    timestamp: Any = None
    output: Any = None


_SPANS = msgspec.json.Decoder(list[_Span])
_TEXT = msgspec.json.Decoder(str | None)


class _BashArguments(Struct, frozen=True):
    command: str
    working_dir: str | None = None


class _ReadArguments(Struct, frozen=True, rename="camel"):
    file_path: str
    offset: int = 0
    limit: int | None = None


class _EditArguments(Struct, frozen=True):
    file: str = msgspec.field(name="filePath")
    old_string: str = ""
    new_string: str = ""


class _WriteArguments(Struct, frozen=True, rename="camel"):
    file_path: str
    content: str = ""


class _BashResult(Struct, frozen=True, rename="camel"):
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    output_exceeded_threshold: bool = False


def is_spans(fields: Mapping[str, Raw]) -> bool:
    """These are the fields of a run kept as spans."""
    return "trajectory" in fields and ("trajectory_entries" in fields or "total_spans" in fields)


def read_spans(name: str, fields: Mapping[str, Raw]) -> Run:
    """Read a run from its top-level fields."""
    spans = decode(name, fields["trajectory"], _SPANS, "trajectory")
    prompts = (span.task_prompt for span in spans if span.task_prompt)
    return Run(
        name=name,
        format="vorflux",
        agent="vorflux",
        model="",
        task=next((text_of(prompt[0].content) for prompt in prompts), ""),
        container=False,
        turns=sum(span.type == "llm_call" for span in spans),
        steps=tuple(_steps(spans)),
        model_calls=told([model_call(span.usage) for span in spans if span.type == "llm_call"]),
        replies=told_replies(_reply(span) for span in spans if span.type == "llm_call"),
        instance=instance_of(name, decode(name, fields.get("instance_id", Raw(b"null")), _TEXT, "instance_id")),
    )


def _steps(spans: list[_Span]) -> Iterator[Recorded]:
    """The agent's own calls that have a result."""
    turn = -1
    for span in spans:
        turn += span.type == "llm_call"
        if span.type == "tool_call" and span.result is not None and not _names_own_folder(span.arguments):
            action = _action(span)
            yield Recorded(action, _observation(action, span), max(turn, 0), at=moment_of(span.timestamp))


def _reply(span: _Span) -> ModelReply:
    """What a model call wrote; whether the time of a span is that of its start or of its end is not known."""
    return ModelReply(written_text(span.output.get("content") if isinstance(span.output, dict) else None))


def _names_own_folder(value: object) -> bool:
    """Some text in these arguments names the harness's own folder."""
    if isinstance(value, str):
        return _OWN_FOLDER in value
    if isinstance(value, dict):
        return any(map(_names_own_folder, value.values()))
    return isinstance(value, list) and any(map(_names_own_folder, value))


def _action(span: _Span) -> Action:
    """The proposed call. Arguments that do not fit their tool make it a call of unknown effects."""
    try:
        if span.tool == "bash_execute":
            bash = msgspec.convert(span.arguments, _BashArguments)
            # Where a shell starts is not recorded, unless the call itself says it.
            return Action(bash.command, cwd=bash.working_dir if (bash.working_dir or "").startswith("/") else None)
        call = _call(span)
    except msgspec.ValidationError:
        call = actions.OtherTool()
    return Action(f"{span.tool} {spelled(span.arguments)}", call=call)


def _call(span: _Span) -> Call:
    """The structured call of any tool but the shell."""
    match span.tool:
        case "read_text_file":
            read = msgspec.convert(span.arguments, _ReadArguments)
            limit = _LIMIT if read.limit is None else read.limit
            if read.offset < 0 or limit < 1:
                return actions.OtherTool()
            # The offset counts the lines skipped, so the first line shown is the next one.
            return Read(read.file_path, first=read.offset + 1, last=read.offset + limit, numbering="→")
        case "grep_search" | "search_files":
            return Search()
        case "edit_file":
            edit = msgspec.convert(span.arguments, _EditArguments)
            return Edit(edit.file, edit.old_string, edit.new_string)
        case "write_file":
            write = msgspec.convert(span.arguments, _WriteArguments)
            return Write(write.file_path, write.content)
    return actions.OtherTool()


def _observation(action: Action, span: _Span) -> Observation:
    """The result, as far as the span tells it."""
    if action.call is None:
        return _shell_observation(span.result)
    text = span.result if isinstance(span.result, str) else spelled(span.result)
    truncated = isinstance(span.result, dict) and span.result.get("truncated") is True
    notice = ""
    if isinstance(action.call, Read) and (footer := _FOOTER.search(text)):
        text, notice = text[: footer.start()], footer[1]
    return Observation(text, notice=notice, failed=text.startswith("Error: "), truncated=truncated)


def _shell_observation(result: object) -> Observation:
    """The result of a shell command: output, error output and status; plain text only where the tool itself failed."""
    try:
        bash = msgspec.convert(result, _BashResult)
    except msgspec.ValidationError:
        text = result if isinstance(result, str) else spelled(result)
        timed_out = text.startswith("Error: command timed out")
        return Observation(text, failed=not timed_out, timed_out=timed_out)
    return Observation(
        output=bash.stdout,
        stderr=bash.stderr,
        exit_status=bash.exit_code,
        # The tool gives -1 to a command that it could not see to its end.
        failed=bash.exit_code == -1,
        truncated=bash.output_exceeded_threshold,
    )
