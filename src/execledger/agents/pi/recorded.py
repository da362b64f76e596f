"""pi's sessions: messages, one JSON object per line, in a tree in which each line names the one that it follows."""

from __future__ import annotations

from typing import Any

from msgspec.json import Decoder

from execledger.agents.call_log import CallLog, count_field, field_of, text_field
from execledger.agents.formats import Format
from execledger.agents.pi.tools import ADAPTER
from execledger.runs.decoding import decode, fields_of, read_lines, text_of, written_text
from execledger.runs.recording import Run
from execledger.runs.usage import ModelCall, Tokens, model_call
from execledger.session.adapter import Resolve

FORMAT = "pi"
"""The name of the format."""
_LINE = Decoder(dict[str, Any])
_FORGETS = frozenset(("compaction", "branch_summary"))
"""Lines behind which earlier results are no longer in the model's context."""


def is_session(data: bytes) -> bool:
    """The first line is that of a session."""
    fields = fields_of(data[: data.find(b"\n") + 1] or data)
    return fields.keys() >= {"type", "version", "id", "cwd"} and bytes(fields["type"]) == b'"session"'


def read_session(name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read a session."""
    log = CallLog(name, ADAPTER, resolve)
    log.agent = "pi"

    def take(line: bytes) -> None:
        taken = decode(name, line, _LINE, "")
        log.follows(taken.get("parentId"))
        _take(log, taken)
        log.passes(taken.get("id"))

    return log.run(FORMAT, read_lines(name, data, take, log.loses_line))


def _take(log: CallLog, line: dict[str, Any]) -> None:
    """Take in one line."""
    kind = text_field(line, "type")
    if kind == "session":
        log.cwd = text_field(line, "cwd") or None
        return
    if kind in _FORGETS:
        log.forgets()
    message = line.get("message")
    role = field_of(message, "role") if kind == "message" else None
    if role == "user":
        log.says(text_of(field_of(message, "content")))
    elif role == "assistant":
        content = field_of(message, "content")
        text = written_text(content)
        log.answers(_took(message), field_of(message, "model"), text=text, at=line.get("timestamp"))
        log.ended = text_field(message, "stopReason")
        for part in content if isinstance(content, list) else ():
            if field_of(part, "type") == "toolCall":
                log.asks(part.get("id"), part.get("name"), part.get("arguments"))
    elif role == "toolResult":
        is_error = field_of(message, "isError") is True
        text = text_of(field_of(message, "content"))
        log.returns(field_of(message, "toolCallId"), text, is_error=is_error, at=line.get("timestamp"))


def _took(message: object) -> ModelCall:
    """What an answer took; tokens of input are those that no cache served."""
    counts = {name: count_field(message, "usage", name) for name in ("input", "cacheRead", "cacheWrite", "output")}
    tokens = Tokens(
        uncached=counts["input"], cached=counts["cacheRead"], written=counts["cacheWrite"], output=counts["output"]
    )
    return ModelCall(tokens, model_call(None, field_of(message, "usage", "cost", "total")).cost)


FORMATS = (
    Format(
        kind="lines",
        recognises=lambda file: is_session(file.data),
        read=lambda file: read_session(file.name, file.data, file.resolve),
    ),
)
"""The formats of pi's records."""
