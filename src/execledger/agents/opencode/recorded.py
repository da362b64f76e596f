"""opencode's sessions, in the shape of ``opencode export``: the session, its messages, and the parts of each.

opencode keeps them in a database; ``kept`` takes them out of it. The database has the exit code of a command, which
its text lacks. A sub-agent's session is one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Raw
from msgspec.json import Decoder

from execledger.agents.call_log import CallLog, count_field, field_of, text_field
from execledger.agents.formats import Format
from execledger.agents.opencode.tools import ADAPTER, OpencodeAdapter
from execledger.agents.table_adapter import TableAdapter
from execledger.runs.decoding import decode, fields_of, joined_text
from execledger.runs.recording import Run
from execledger.runs.usage import ModelCall, Tokens, model_call
from execledger.session.adapter import Resolve, ToolCall
from execledger.vocabulary.actions import Observation

FORMAT = "opencode"
"""The name of the format."""
_INFO = Decoder(dict[str, Any])
_MESSAGES = Decoder(list[dict[str, Any]])


class _RecordedAdapter(OpencodeAdapter):
    """The adapter for sessions in which the exit codes of commands are known."""

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation; whether a command failed is not to be guessed from its output."""
        return TableAdapter.observation_of(self, call, parts, is_error=is_error)


_ADAPTER = _RecordedAdapter(ADAPTER.client)


def is_session(fields: dict[str, Raw]) -> bool:
    """These are the fields of an exported session."""
    return fields.keys() >= {"info", "messages"} and {"id", "directory"} <= fields_of(bytes(fields["info"])).keys()


def read_session(name: str, fields: dict[str, Raw], resolve: Resolve | None = None) -> Run:
    """Read a session."""
    info = decode(name, fields["info"], _INFO, "info")
    log = CallLog(name, _ADAPTER, resolve)
    log.agent = f"opencode {text_field(info, 'version')}".rstrip()
    log.cwd = text_field(info, "directory") or None
    cleared: list[int] = []
    starts: list[int | None] = []
    for message in decode(name, fields["messages"], _MESSAGES, "messages"):
        _take(log, message, cleared, starts)
    for time in cleared:
        # Results that were cleared at some time are not in the requests after it.
        log.forgets(next((at for at, start in enumerate(starts) if start is not None and start > time), len(starts)))
    return log.run(FORMAT)


def _take(log: CallLog, message: dict[str, Any], cleared: list[int], starts: list[int | None]) -> None:
    """Take in one message; note when calls started, and when results were cleared."""
    info, parts = message.get("info"), message.get("parts")
    texts = [text_field(part, "text") for part in _kind(parts, "text") if not field_of(part, "synthetic")]
    if any(True for _ in _kind(parts, "compaction")) or field_of(info, "summary") is True:
        log.forgets()
    if field_of(info, "role") == "user":
        log.says("\n".join(filter(None, texts)))
    elif field_of(info, "role") == "assistant":
        at = field_of(info, "time", "created")
        log.answers(_took(info), field_of(info, "modelID"), text=joined_text(*texts), at=at)
        log.ended = text_field(info, "finish")
        for part in _kind(parts, "tool"):
            before = len(log)
            _call(log, part)
            starts += [count_field(part, "state", "time", "start")] * (len(log) - before)
            if (time := count_field(part, "state", "time", "compacted")) is not None:
                cleared.append(time)


def _kind(parts: object, kind: str) -> Iterator[dict[str, Any]]:
    """The parts of a kind."""
    yield from (part for part in (parts if isinstance(parts, list) else ()) if field_of(part, "type") == kind)


def _call(log: CallLog, part: dict[str, Any]) -> None:
    """Take in a call with its result; one that has not ended is no step."""
    state = part.get("state")
    failed = field_of(state, "status") == "error"
    if not failed and field_of(state, "status") != "completed":
        return
    log.asks(part.get("callID"), part.get("tool"), field_of(state, "input"))
    text = text_field(state, "error" if failed else "output")
    status = count_field(state, "metadata", "exit")
    start, end = (count_field(state, "time", name) for name in ("start", "end"))
    seconds = (end - start) / 1000 if start is not None and end is not None and end >= start else None
    log.returns(part.get("callID"), text, is_error=failed, exit_status=status, at=end, seconds=seconds)


def _took(info: object) -> ModelCall:
    """What an answer took; tokens of input are those that no cache served."""
    written = [count_field(info, "tokens", name) for name in ("output", "reasoning")]
    known = [count for count in written if count is not None]
    tokens = Tokens(
        uncached=count_field(info, "tokens", "input"),
        cached=count_field(info, "tokens", "cache", "read"),
        written=count_field(info, "tokens", "cache", "write"),
        output=sum(known) if known else None,
    )
    cost = model_call(None, field_of(info, "cost")).cost
    return ModelCall(tokens, cost)


FORMATS = (
    Format(
        kind="object",
        recognises=lambda file: is_session(file.fields),
        read=lambda file: read_session(file.name, file.fields, file.resolve),
    ),
)
"""The formats of opencode's records."""
