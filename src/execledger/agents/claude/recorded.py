"""Claude Code's transcripts: what was said and done in a session, one JSON object per line.

A message of the model is spread over several lines, one for each of its parts; they share its id. Sub-agents have files
of their own, or in older versions stand among the other lines, marked as side chains. What ``claude -p`` prints with
``--output-format stream-json`` has the same messages with less around them. Since 2.1.325 a transcript also has each
request: the messages that it keeps of an earlier one, and those behind them by their digests.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

from msgspec import Struct, field
from msgspec.json import Decoder, encode
from msgspec.structs import replace

from execledger.agents.claude.adapter import shim_mark
from execledger.agents.claude.tools import OWN_WORDS, SHELL, action_of, mark_of, observed
from execledger.agents.formats import Format
from execledger.agents.table_adapter import arguments_of
from execledger.agents.tool_table import MOVES, reminders_at
from execledger.runs.decoding import (
    decode,
    fields_of,
    instance_of,
    is_torn,
    joined_text,
    lines_of,
    moment_of,
    read_lines,
    text_of,
    written_text,
)
from execledger.runs.find import Kept
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies
from execledger.runs.usage import ModelCall, model_call, summed, told
from execledger.session.adapter import Resolve, ToolCall
from execledger.vocabulary.actions import Observation

FORMAT = "claude-code"
"""The name of the format."""
_LOOKED_AT = 200
"""Lines that are looked at to tell the format; titles and settings may precede the first message."""
_FORGETS = frozenset(("compact_boundary", "microcompact_boundary"))
_SYNTHETIC = "<synthetic>"
_REQUESTS = 16
"""Requests whose messages are remembered: one repeats what the one before it, or one shortly before, had."""


class _Message(Struct, frozen=True):
    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: Any = None
    usage: Any = None
    stop_reason: str | None = None


class _Line(Struct, frozen=True, rename="camel"):
    """A line of any type; streams have some names in another spelling."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    agent_id: str | None = None
    id: Any = None
    hash: str | None = None
    base: str | None = None
    keep: int = 0
    tail: list[str] | None = None
    cwd: str | None = None
    version: str | None = None
    timestamp: Any = None
    message: _Message | None = None
    tool_use_result: Any = None
    cost: Any = field(default=None, name="costUSD")
    total_cost: Any = field(default=None, name="totalCostUSD")
    model_usage: Any = None
    claude_code_version: str | None = field(default=None, name="claude_code_version")
    parent_tool_use_id: str | None = field(default=None, name="parent_tool_use_id")
    total_cost_usd: Any = field(default=None, name="total_cost_usd")


_LINE = Decoder(_Line)


def is_transcript(data: bytes) -> bool:
    """The lines are those of a transcript, or of a stream of the same messages."""
    for _, line in islice(lines_of(data), _LOOKED_AT):
        fields = fields_of(line)
        kind = bytes(fields.get("type", b""))
        if is_torn(line, fields):
            continue
        if not kind.startswith(b'"') or "payload" in fields:
            return False
        if kind in (b'"user"', b'"assistant"'):
            # Others that keep sessions in this way have other messages.
            known = "sessionId" in fields or "session_id" in fields
            return known and "content" in fields_of(bytes(fields.get("message", b"")))
        if (kind == b'"summary"' and "leafUuid" in fields) or (kind == b'"system"' and "claude_code_version" in fields):
            return True
    return False


def read_transcript(name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read a transcript or a stream; ``resolve`` finds the calls that shims in it replaced."""
    reader = _Reader(name, resolve)
    trouble = read_lines(name, data, lambda line: reader.take(decode(name, line, _LINE, "")), reader.lose)
    return reader.run(trouble)


class _Asked(Struct, frozen=True):
    """A call that waits for its result."""

    name: str
    given: object
    cwd: str | None
    turn: int
    thread: str


class _Requests:
    """The results in the requests of a session, as the client recorded them."""

    def __init__(self) -> None:
        self._messages: dict[str, list[str]] = {}
        self._results: dict[str, dict[str, str]] = {}

    def add_message(self, line: _Line) -> None:
        """Take in a message of a request, which later requests name by its digest."""
        parts = line.message.content if line.message is not None else None
        found = {
            str(part.get("tool_use_id")): _own_text(text_of(part.get("content")))
            for part in (parts if isinstance(parts, list) else ())
            if isinstance(part, dict) and part.get("type") == "tool_result"
        }
        if found and line.hash is not None:
            self._results[line.hash] = found

    def sent(self, line: _Line) -> dict[str, str] | None:
        """The results in a request, by their calls; None if it has all that the one before it had."""
        before = self._messages.get(line.base or "", [])
        messages = [*before[: line.keep], *(line.tail or ())]
        self._messages[str(line.id)] = messages
        while len(self._messages) > _REQUESTS:
            del self._messages[next(iter(self._messages))]
        if line.base is not None and line.keep >= len(before):
            return None
        return {call: text for digest in messages for call, text in self._results.get(digest, {}).items()}


def _own_text(text: str) -> str:
    """The tool's own words in a result; the client trims them where a reminder follows."""
    return text[: reminders_at(text)].rstrip()


class _Reader:
    """Walks along the lines, and pairs every call with its result."""

    def __init__(self, name: str, resolve: Resolve | None = None) -> None:
        self._name = name
        self._resolve = resolve
        self._requests = _Requests()
        self._results: list[tuple[str, str]] = []
        self._version = ""
        self._model = ""
        self._tasks: dict[str, str] = {}
        self._ended = ""
        self._cwd: dict[str, str | None] = {}
        self._seen: dict[str, tuple[str, int]] = {}
        self._calls: dict[str, ModelCall] = {}
        self._turns: dict[str, int] = {}
        self._replies: dict[str, ModelReply] = {}
        self._shells: Counter[int] = Counter()
        self._waiting: dict[str, _Asked] = {}
        self._totals: ModelCall | None = None
        self._steps: list[Recorded] = []
        self._forgotten: list[int] = []
        self._lost = False

    def run(self, trouble: tuple[str, ...] = ()) -> Run:
        """The run, when all lines were taken; ``trouble`` is what was wrong with its file."""
        return Run(
            name=self._name,
            format=FORMAT,
            agent=f"claude-code {self._version}".rstrip(),
            model=self._model,
            # A file of a sub-agent has no other task than that agent's.
            task=self._tasks.get("") or next(iter(self._tasks.values()), ""),
            container=False,
            turns=len(self._calls),
            steps=tuple(self._steps),
            compactions=tuple(at for at in dict.fromkeys(self._forgotten) if 0 < at < len(self._steps)),
            model_calls=told(list(self._calls.values())),
            replies=told_replies(self._replies.values()),
            totals=self._totals,
            instance=instance_of(self._name),
            ended=self._ended,
            parallel=True,
            trouble=trouble,
        )

    def lose(self) -> None:
        """Note that a line can't be read, which may have been an edit, a compaction or a change of the directory."""
        self._lost = True
        self._forgotten.append(len(self._steps))
        self._cwd = dict.fromkeys(self._cwd)

    def take(self, line: _Line) -> None:
        """Take in one line; one that is there twice, as after a session was resumed, counts once."""
        if line.uuid is not None and line.uuid in self._seen:
            return
        thread = self._thread(line)
        if line.cwd is not None:
            self._cwd[thread] = line.cwd
        self._version = self._version or line.version or line.claude_code_version or ""
        if line.subtype in _FORGETS or line.is_compact_summary:
            self._forgotten.append(len(self._steps))
        if line.type == "api-request-blob":
            self._requests.add_message(line)
        elif line.type == "api-request":
            self._request(line)
        elif line.type == "assistant" and line.message is not None:
            self._answer(line, line.message, thread)
        elif line.type == "user" and line.message is not None:
            self._user(line, line.message, thread)
        elif line.type == "result":
            self._ended = line.subtype or ""
        if line.model_usage is not None:
            self._totals = _totals(line)
        if line.uuid is not None:
            self._seen[line.uuid] = (thread, len(self._steps))

    def _thread(self, line: _Line) -> str:
        """The conversation that a line belongs to: a side chain is known by its agent, or by its first line."""
        if line.parent_tool_use_id is not None:
            return line.parent_tool_use_id
        if not line.is_sidechain:
            return ""
        above = self._seen.get(line.parent_uuid or "", ("", 0))[0]
        return line.agent_id or above or line.uuid or "sidechain"

    def _answer(self, line: _Line, message: _Message, thread: str) -> None:
        if message.model == _SYNTHETIC:
            # The client's own words where the model could not be reached.
            return
        self._model = self._model or message.model or ""
        self._ended = message.stop_reason or ""
        key = message.id or line.uuid or str(len(self._calls))
        took = model_call(message.usage, line.cost)
        # Until the message has come to its end, its tokens are not counted.
        counted = took.tokens if message.stop_reason is not None else replace(took.tokens, output=None)
        self._calls[key] = replace(took, tokens=counted)
        turn = self._turns.setdefault(key, len(self._turns))
        text = joined_text(self._replies.get(key, ModelReply()).text, written_text(message.content))
        self._replies[key] = ModelReply(text, moment_of(line.timestamp))
        for part in message.content if isinstance(message.content, list) else ():
            if isinstance(part, dict) and part.get("type") == "tool_use" and isinstance(part.get("id"), str):
                asked = _Asked(str(part.get("name")), part.get("input"), self._where(thread), turn, thread)
                self._waiting[part["id"]] = asked
                self._shells[turn] += asked.name == SHELL

    def _user(self, line: _Line, message: _Message, thread: str) -> None:
        parts = message.content if isinstance(message.content, list) else [message.content]
        results = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_result"]
        for part in results:
            self._result(part, line.tool_use_result if len(results) == 1 else None, line, thread)
        if results or line.is_meta or line.is_compact_summary:
            return
        text = "\n".join(said for said in map(text_of, parts) if said and not OWN_WORDS.match(said))
        if text:
            self._tasks.setdefault(thread, text)
        if self._steps and self._rewound(line):
            self._forgotten.append(len(self._steps))

    def _request(self, line: _Line) -> None:
        """Find out from a request whether earlier results are still in the model's context.

        A request without the newest result is not the next one of this conversation, but a side call.
        """
        sent = self._requests.sent(line)
        if sent is None or not self._results or self._results[-1][0] not in sent:
            return
        since = max(self._forgotten, default=0)
        if any(sent.get(call) != text for call, text in self._results[since:]):
            self._forgotten.append(len(self._steps))

    def _rewound(self, line: _Line) -> bool:
        """The user went back to an earlier place: what was done since is not in the conversation any more."""
        above = self._seen.get(line.parent_uuid or "")
        if above is None:
            # The place may be a line that was left out.
            return self._lost and line.parent_uuid is not None
        return above[1] < len(self._steps)

    def _result(self, part: dict[str, Any], kept: object, line: _Line, thread: str) -> None:
        asked = self._waiting.pop(str(part.get("tool_use_id")), None)
        if asked is None:
            return
        text = text_of(part.get("content"))
        action = action_of(asked.name, asked.given, self._place(asked), asked.thread, mark=mark_of(text))
        observation = observed(action, asked.name, text, is_error=part.get("is_error") is True, told=kept)
        if (original := self._replaced(asked)) is not None:
            # What a call that was not run would have returned is unknown.
            action = action_of(original.name, arguments_of(original), self._place(asked), asked.thread)
            observation = Observation(truncated=True)
        self._steps.append(Recorded(action, observation, asked.turn, at=moment_of(line.timestamp)))
        self._results.append((str(part.get("tool_use_id")), _own_text(text)))
        if asked.name == SHELL and line.cwd is None and MOVES.search(action.command):
            # A stream does not tell where the shell is.
            self._cwd[thread] = None

    def _replaced(self, asked: _Asked) -> ToolCall | None:
        """The call that a shim replaced; None if the call is no shim."""
        if self._resolve is None or asked.name != SHELL:
            return None
        mark = shim_mark(ToolCall(asked.name, encode(asked.given).decode()))
        return self._resolve(mark) if mark is not None else None

    def _place(self, asked: _Asked) -> str | None:
        """Where a call started; not known if another command of the same message may have moved the shell."""
        moved = self._where(asked.thread) != asked.cwd
        return None if moved and self._shells[asked.turn] > 1 else asked.cwd

    def _where(self, thread: str) -> str | None:
        """Where the shell is now; a sub-agent starts where the session is."""
        return self._cwd.get(thread, self._cwd.get(""))


def _totals(line: _Line) -> ModelCall:
    """What the client added up over all models."""
    usage = line.model_usage if isinstance(line.model_usage, dict) else {}
    whole = summed([model_call(each) for each in usage.values()]) or ModelCall()
    cost = line.total_cost if line.total_cost is not None else line.total_cost_usd
    return replace(whole, cost=model_call(None, cost).cost)


FORMATS = (
    Format(
        kind="lines",
        recognises=lambda file: is_transcript(file.data),
        read=lambda file: read_transcript(file.name, file.data, file.resolve),
    ),
)
"""The formats of Claude Code's records."""
KEPT = Kept(beside=frozenset({"sessions-index.json"}))
"""What Claude Code keeps beside its transcripts."""
