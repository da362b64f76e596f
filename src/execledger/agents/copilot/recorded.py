"""Copilot CLI's sessions: events, one JSON object per line, in ``events.jsonl`` of the session's folder."""

from __future__ import annotations

from typing import Any

from msgspec.json import Decoder

from execledger.agents.call_log import CallLog, count_field, field_of, text_field
from execledger.agents.copilot.tools import ADAPTER
from execledger.agents.formats import Format
from execledger.runs.decoding import decode, fields_of, read_lines
from execledger.runs.recording import Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.session.adapter import Resolve

FORMAT = "copilot-cli"
"""The name of the format."""
_LINE = Decoder(dict[str, Any])
_FORGETS = frozenset(("session.compaction_complete", "session.truncation", "session.snapshot_rewind"))
"""Events after which earlier results are no longer in the model's context."""


def is_session(data: bytes) -> bool:
    """The first line is the start of a session."""
    fields = fields_of(data[: data.find(b"\n") + 1] or data)
    return bytes(fields.get("type", b"")) == b'"session.start"' and "data" in fields


def read_session(name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read a session."""
    reader = _Reader(name, resolve)

    def take(line: bytes) -> None:
        taken = decode(name, line, _LINE, "")
        reader.take(text_field(taken, "type"), taken.get("data"), taken.get("timestamp"))

    return reader.log.run(FORMAT, read_lines(name, data, take, reader.lose))


class _Reader:
    """Walks along the events; what an answer took is noted before the answer."""

    def __init__(self, name: str, resolve: Resolve | None) -> None:
        self.log = CallLog(name, ADAPTER, resolve)
        self.log.agent = "copilot"
        self._took = ModelCall()

    def lose(self) -> None:
        """Note that an event can't be read, which may have been one that names another directory."""
        self.log.loses_line()
        self.log.cwd = None

    def take(self, kind: str, data: object, at: object) -> None:
        """Take in one event, which was recorded at a time."""
        log = self.log
        if kind in ("session.start", "session.resume"):
            log.cwd = text_field(data, "context", "cwd") or log.cwd
            log.model = log.model or text_field(data, "selectedModel")
            version = text_field(data, "copilotVersion")
            log.agent = f"copilot {version}" if version else log.agent
        elif kind == "user.message":
            log.says(text_field(data, "content"))
        elif kind == "session.usage_record":
            self._took = _took(data)
        elif kind == "assistant.message":
            text = text_field(data, "content").strip()
            log.answers(self._took, field_of(data, "model"), text=text, at=at)
            self._took = ModelCall()
            requests = field_of(data, "toolRequests")
            for call in requests if isinstance(requests, list) else ():
                thread = text_field(data, "parentToolCallId")
                log.asks(field_of(call, "toolCallId"), field_of(call, "name"), field_of(call, "arguments"), thread)
        elif kind == "tool.execution_complete":
            text = text_field(data, "result", "content") or text_field(data, "error", "message")
            log.returns(field_of(data, "toolCallId"), text, is_error=field_of(data, "success") is False, at=at)
        elif kind in _FORGETS:
            log.forgets()


def _took(data: object) -> ModelCall:
    """What an answer took; its cost is in requests, and not in dollars."""
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    return ModelCall(Tokens.of(*(count_field(data, "usage", name) for name in names)))


FORMATS = (
    Format(
        kind="lines",
        recognises=lambda file: is_session(file.data),
        read=lambda file: read_session(file.name, file.data, file.resolve),
    ),
)
"""The formats of Copilot CLI's records."""
