"""Qwen Code's sessions: lines as those of Claude Code, with messages in the shape of the Gemini API.

A sub-agent's session is a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec.json import Decoder

from execledger.agents.call_log import CallLog, field_of, text_field
from execledger.agents.formats import Format
from execledger.agents.qwen.tools import ADAPTER
from execledger.runs.decoding import decode, fields_of, is_torn, joined_text, lines_of, read_lines
from execledger.runs.recording import Run
from execledger.runs.usage import model_call
from execledger.session.adapter import Resolve

FORMAT = "qwen-code"
"""The name of the format."""
_LINE = Decoder(dict[str, Any])
_LOOKED_AT = 200
"""Lines that are examined to recognise the format; notes of the client may precede the first message."""
_FORGETS = frozenset(("chat_compression", "rewind"))
"""Notes behind which earlier results are no longer in the model's context."""


def is_session(data: bytes) -> bool:
    """The first message is one of Qwen Code."""
    for _, line in islice(lines_of(data), _LOOKED_AT):
        fields = fields_of(line)
        if is_torn(line, fields):
            continue
        if not fields.keys() >= {"uuid", "sessionId", "type"}:
            return False
        if "message" in fields:
            return "parts" in fields_of(bytes(fields["message"]))
    return False


def read_session(name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read a session."""
    log = CallLog(name, ADAPTER, resolve)
    log.agent = "qwen"

    def take(line: bytes) -> None:
        taken = decode(name, line, _LINE, "")
        log.follows(taken.get("parentUuid"))
        _take(log, taken)
        log.passes(taken.get("uuid"))

    return log.run(FORMAT, read_lines(name, data, take, log.loses_line))


def _take(log: CallLog, line: dict[str, Any]) -> None:
    """Take in one line."""
    log.cwd = text_field(line, "cwd") or log.cwd
    if version := text_field(line, "version"):
        log.agent = f"qwen {version}"
    kind = line.get("type")
    if kind == "system" and text_field(line, "subtype") in _FORGETS:
        log.forgets()
    elif kind == "user":
        log.says("\n".join(text for part in _parts(line) if (text := text_field(part, "text"))))
    elif kind == "assistant":
        text = joined_text(*(text_field(part, "text") for part in _parts(line)))
        log.answers(model_call(line.get("usageMetadata")), line.get("model"), text=text, at=line.get("timestamp"))
        for part in _parts(line):
            if call := field_of(part, "functionCall"):
                log.asks(field_of(call, "id"), field_of(call, "name"), field_of(call, "args"))
    elif kind == "tool_result":
        for part in _parts(line):
            _result(log, field_of(part, "functionResponse"), line.get("timestamp"))


def _parts(line: dict[str, Any]) -> Iterator[object]:
    """The parts of a line's message; those of thoughts are not for the model."""
    parts = field_of(line, "message", "parts")
    yield from (part for part in (parts if isinstance(parts, list) else ()) if not field_of(part, "thought"))


def _result(log: CallLog, response: object, at: object) -> None:
    """Take in a result; a command that failed has its exit code in the text."""
    error = text_field(response, "response", "error")
    is_error = bool(error) and ADAPTER.tools.command_of(text_field(response, "name"), {"command": ""}) is None
    text = error or text_field(response, "response", "output")
    log.returns(field_of(response, "id"), text, is_error=is_error, at=at)


FORMATS = (
    Format(
        kind="lines",
        recognises=lambda file: is_session(file.data),
        read=lambda file: read_session(file.name, file.data, file.resolve),
    ),
)
"""The formats of Qwen Code's records."""
