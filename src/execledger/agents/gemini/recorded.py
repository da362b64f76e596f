"""Gemini CLI's sessions: messages, one JSON object per line, or in older versions a list in one object.

A message of the model is written again when its calls have results, so that the last of its lines counts; results
also follow as a message of the user. ``$set`` lines change the fields of the session: the messages, when it is resumed
or its history is compressed. A sub-agent's session is a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Raw
from msgspec.json import Decoder

from execledger.agents.call_log import CallLog, count_field, field_of, text_field
from execledger.agents.formats import Format
from execledger.agents.gemini.tools import ADAPTER
from execledger.runs.decoding import decode, fields_of, read_lines, text_of
from execledger.runs.recording import Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.session.adapter import Resolve

FORMAT = "gemini-cli"
"""The name of the format."""
_LINE = Decoder(dict[str, Any])
_MESSAGES = Decoder(list[dict[str, Any]])
_HEADER = frozenset(("sessionId", "projectHash"))


def is_session(data: bytes) -> bool:
    """The first line is the header of a session."""
    fields = fields_of(data[: data.find(b"\n") + 1] or data)
    return fields.keys() >= _HEADER and "messages" not in fields


def is_whole_session(fields: dict[str, Raw]) -> bool:
    """These are the fields of a session in one object."""
    return fields.keys() >= _HEADER | {"messages"}


def read_session(name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read a session of lines."""
    reader = _Reader(name, resolve)
    trouble = read_lines(name, data, lambda line: reader.take(decode(name, line, _LINE, "")), reader.log.loses_line)
    return reader.log.run(FORMAT, trouble)


def read_whole_session(name: str, fields: dict[str, Raw], resolve: Resolve | None = None) -> Run:
    """Read a session in one object."""
    reader = _Reader(name, resolve)
    for message in decode(name, fields["messages"], _MESSAGES, "messages"):
        reader.take(message)
    return reader.log.run(FORMAT)


class _Reader:
    """Walks along the messages."""

    def __init__(self, name: str, resolve: Resolve | None) -> None:
        self.log = CallLog(name, ADAPTER, resolve)
        self.log.agent = "gemini"
        self._answered: set[str] = set()
        self._calls: set[str] = set()
        self._kept: set[str] | None = None

    def take(self, line: dict[str, Any]) -> None:
        """Take in one line or message."""
        kind, changed = line.get("type"), field_of(line, "$set", "messages")
        if isinstance(changed, list):
            self._kept = {call for message in changed for call in _mentioned(message)}
            for message in changed:
                self._place(message)
        elif kind == "user":
            self._place(line)
            self.log.says(_text(line.get("content")))
        elif kind == "gemini":
            self._answer(line)

    def _place(self, message: object) -> None:
        """Take the working directory from the context that the client states."""
        if self.log.cwd is None:
            self.log.cwd = ADAPTER.cwd_of(_text(field_of(message, "content")))

    def _answer(self, line: dict[str, Any]) -> None:
        """Take in an answer, or its calls when they have results."""
        name = str(line.get("id"))
        if name not in self._answered:
            if self._kept is not None and not self._calls <= self._kept:
                self.log.forgets()
            self._kept = None
            self._answered.add(name)
            text = _text(line.get("content")).strip()
            self.log.answers(_took(line), line.get("model"), text=text, at=line.get("timestamp"))
        calls = line.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            response = _response(call)
            call_id = text_field(call, "id")
            if call_id in self._calls or response is None:
                continue
            self._calls.add(call_id)
            self.log.asks(call_id, field_of(call, "name"), field_of(call, "args"))
            error = text_field(response, "error")
            text = error or text_field(response, "output")
            self.log.returns(call_id, text, is_error=bool(error), at=field_of(call, "timestamp"))


def _response(call: object) -> object | None:
    """The response in a call's result; None if it has none."""
    result = field_of(call, "result")
    parts = result if isinstance(result, list) else []
    found = (field_of(part, "functionResponse", "response") for part in parts)
    return next((response for response in found if isinstance(response, dict)), None)


def _mentioned(message: object) -> Iterator[str]:
    """The calls of which a message has the result or the call itself."""
    calls = field_of(message, "toolCalls")
    yield from (text_field(call, "id") for call in (calls if isinstance(calls, list) else ()))
    content = field_of(message, "content")
    for part in content if isinstance(content, list) else ():
        yield text_field(part, "functionResponse", "id")


def _text(content: object) -> str:
    """The text of a message, without the results in it."""
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := text_field(part, "text")))
    return text_of(content)


def _took(line: dict[str, Any]) -> ModelCall:
    """What an answer took."""
    written = [count for name in ("output", "thoughts") if (count := count_field(line, "tokens", name)) is not None]
    counts = (count_field(line, "tokens", "input"), count_field(line, "tokens", "cached"))
    return ModelCall(Tokens.of(*counts, output=sum(written) if written else None))


FORMATS = (
    Format(
        kind="lines",
        recognises=lambda file: is_session(file.data),
        read=lambda file: read_session(file.name, file.data, file.resolve),
    ),
    Format(
        kind="object",
        recognises=lambda file: is_whole_session(file.fields),
        read=lambda file: read_whole_session(file.name, file.fields, file.resolve),
    ),
)
"""The formats of Gemini CLI's records."""
