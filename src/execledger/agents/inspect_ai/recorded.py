"""Inspect's logs: ``.eval`` files, which are archives with one member for each sample, and logs as one JSON object.

They are read without Inspect. A run is one sample of one epoch. Its calls are those of the model events, in order: the
final messages of a sample lack calls that the agent removed, and results that a compaction dropped. Results that Ledger
replaced by references are taken from those messages where they are there.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw, Struct

from execledger.agents import registry
from execledger.agents.formats import Format, Recording
from execledger.agents.inspect_ai.tools import KEY, SCORING, SEALED, VIEW, current_arguments
from execledger.core.fingerprint import digest
from execledger.core.policy import Policy
from execledger.errors import UnreadableRun
from execledger.extras import install_command
from execledger.journal.events import known_policy
from execledger.off import SWITCHED_OFF
from execledger.runs.decoding import MAX_BYTES, Undecodable, decode, fields_of, joined_text, moment_of, seconds_of
from execledger.runs.find import Bundle, Kept, Part
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies
from execledger.runs.usage import ModelCall, Tokens, recorded_cost, told
from execledger.session.adapter import Calls, ToolCall
from execledger.shell.paths import UNRECORDED_DIRECTORY
from execledger.vocabulary.actions import Observation

ZSTD = 93
"""The compression of members, which Python's own archives read from 3.14 on."""
_WRAPPED = "inspect_log"
"""The field of a loaded sample that holds what its log says of all samples."""
_JSON_LOG = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":\s*"')
_OF_TASK = re.compile(r"_([0-9A-Za-z]{22})\.(?:eval|json)\Z")
"""How Inspect ends the names of logs: with the identifier of the task, which a retried one keeps."""
_PACKED = ".eval"
_SAMPLES = "samples/"
_ATTACHED = "attachment://"
_LOCAL_HEADER = 30
_ONLY_BASH = frozenset({"bash"})
"""The tools of mini-swe-agent."""
OFF = "EXECLEDGER was not on, though its approver was given"
"""Why Ledger took no part in a sample whose calls went through its approver and that has no note of it."""
MOST = 200
"""Characters of an error that are kept."""


# Files


def _bundled(file: BinaryIO) -> Iterator[Part]:
    """The samples in a log; none if the file is no log of Inspect."""
    start = file.read(64)
    file.seek(0)
    name = str(getattr(file, "name", ""))
    if start.startswith(b"PK"):
        yield from _in_archive(file)
    elif _JSON_LOG.match(start):
        yield from _in_json(file)
    elif name.endswith(_PACKED):
        raise UnreadableRun(name, "found no archive, expected a log of Inspect")


def _in_archive(file: BinaryIO) -> Iterator[Part]:
    """The samples of an ``.eval`` file; one that is still being written has no header yet."""
    name = getattr(file, "name", "the archive")
    try:
        archive = zipfile.ZipFile(file)
    # The last two are what it raises for damaged versions, names and positions.
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise UnreadableRun(str(name), f"found a damaged archive, expected a log of Inspect: {error}") from error
    members = {member.filename: member for member in archive.infolist()}
    header = members.get("header.json") or members.get("_journal/start.json")
    if header is None:
        if str(name).endswith(_PACKED):
            raise UnreadableRun(str(name), "found an archive without header.json, expected a log of Inspect")
        return
    about = _about(_content(file, header, str(name)))
    # The file is closed when its samples are loaded: they are loaded from another one.
    for member in sorted(members.values(), key=lambda one: one.filename):
        if member.filename.startswith(_SAMPLES):
            data = None if isinstance(name, str) and Path(name).is_file() else _content(file, member, str(name))
            yield (
                member.filename,
                lambda member=member, data=data: _wrapped(  # type: ignore[misc]
                    about, data if data is not None else _loaded(str(name), member)
                ),
            )


def _loaded(name: str, member: zipfile.ZipInfo) -> bytes:
    with open(name, "rb") as file:
        return _content(file, member, name)


def _content(file: BinaryIO, member: zipfile.ZipInfo, log: str) -> bytes:
    """The content of a member of a log."""
    name = f"{log}!{member.filename}"
    if member.file_size > MAX_BYTES:
        found = f"found {member.file_size:,} bytes, expected at most {MAX_BYTES:,} in one recorded run"
        raise UnreadableRun(name, found)
    if member.compress_type != ZSTD:
        try:
            with zipfile.ZipFile(file) as archive:
                return archive.read(member)
        # What the standard library raises for damaged, encrypted and unknown members.
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise UnreadableRun(name, f"found a damaged member, expected a sample: {error}") from error
    try:
        import zstandard
    except ModuleNotFoundError as error:
        found = "found a member that only the module zstandard unpacks, which is not installed"
        raise UnreadableRun(name, found, hint=install_command("proxy")) from error
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER)
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), io.SEEK_CUR)
    packed = file.read(member.compress_size)
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except zstandard.ZstdError as error:
        raise UnreadableRun(name, f"found a damaged member, expected a sample: {error}") from error


def _in_json(file: BinaryIO) -> Iterator[Part]:
    """The samples of a log that is one object."""
    name = str(getattr(file, "name", "the log"))
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableRun(name, f"found more than {MAX_BYTES:,} bytes in one log")
    log = fields_of(data)
    about = _about(data)
    for raw in decode(name, log.get("samples", Raw(b"null")), _RAWS, "samples") or ():
        sample = decode(name, raw, _NAMED, "samples[]")
        yield f"{_SAMPLES}{sample.id}_epoch_{sample.epoch}.json", lambda raw=raw: _wrapped(about, bytes(raw))  # type: ignore[misc]


def _about(log: bytes) -> bytes:
    """What a log says of all its samples, without what it holds of each."""
    fields = fields_of(log)
    return msgspec.json.encode(
        {name: fields[name] for name in ("version", "eval", "plan", "results") if name in fields}
    )


def _wrapped(about: bytes, sample: bytes) -> bytes:
    return b'{"%b":%b,"sample":%b}' % (_WRAPPED.encode(), about, sample)


class _Named(Struct, frozen=True):
    id: str | int = ""
    epoch: int = 1


_RAWS: msgspec.json.Decoder[list[Raw] | None] = msgspec.json.Decoder(list[Raw] | None)
_NAMED = msgspec.json.Decoder(_Named)


def _repeated(folder: str, names: Sequence[str]) -> frozenset[str]:
    """The samples in a folder that a later log of the same task has again.

    `inspect eval-retry` copies the completed samples into a log of its own, and runs the others again.
    """
    logs: dict[str, list[str]] = {}
    for name in sorted(names):
        if found := _OF_TASK.search(name):
            logs.setdefault(found[1], []).append(os.path.join(folder, name))
    repeated = set()
    for retried in logs.values():
        later: set[str] = set()
        for path in reversed(retried if len(retried) > 1 else ()):
            samples = _sample_names(path)
            repeated |= {f"{path}!{name}" for name in samples & later}
            later |= samples
    return frozenset(repeated)


def _sample_names(path: str) -> set[str]:
    """The names of the samples in a log; none if it can't be read, which is said when its samples are."""
    try:
        with open(path, "rb") as file:
            return {name for name, _ in _bundled(file)}
    # Whatever is wrong with one log must not cost the others of its folder.
    except Exception:
        return set()


KEPT = Kept(
    bundles=(Bundle(endings=(_PACKED, ".json"), runs=_bundled, repeated=_repeated),),
    beside=frozenset({"eval-set.json", "logs.json", "listing.json"}),
)
"""What Inspect keeps."""


# Samples


class _Sandbox(Struct, frozen=True):
    type: str = ""


class _Eval(Struct, frozen=True):
    task: str = ""
    model: str = ""
    sandbox: _Sandbox | None = None
    packages: dict[str, str] = {}


class _Solver(Struct, frozen=True):
    solver: str = ""


class _Plan(Struct, frozen=True):
    steps: list[_Solver] = []


class _Headline(Struct, frozen=True):
    score: str = ""


class _Results(Struct, frozen=True):
    headline: _Headline | None = None


class _Log(Struct, frozen=True):
    eval: _Eval = _Eval()
    plan: _Plan = _Plan()
    results: _Results | None = None


class _Call(Struct, frozen=True):
    id: str = ""
    function: str = ""
    arguments: Any = None
    parse_error: str | None = None
    type: str | None = "function"


class _Error(Struct, frozen=True):
    message: str = ""
    type: str = ""


class _Message(Struct, frozen=True):
    role: str = ""
    content: str | list[Any] = ""
    tool_calls: list[_Call] | None = None
    # Of a result a string; a user message that carries the images of results has a list.
    tool_call_id: Any = None
    error: _Error | None = None
    metadata: dict[str, Any] | None = None

    @property
    def answers(self) -> str:
        """The identifier of the call whose result this message is; "" for all other messages."""
        return self.tool_call_id if self.role == "tool" and isinstance(self.tool_call_id, str) else ""


class _Choice(Struct, frozen=True):
    message: _Message = _Message()


class _Usage(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None
    total_cost: float | None = None


class _Output(Struct, frozen=True):
    choices: list[_Choice] = []
    usage: _Usage | None = None


class _Tool(Struct, frozen=True):
    name: str = ""


class _Event(Struct, frozen=True):
    """The fields of events that are read; those of other events are not of these names."""

    event: str = ""
    span_id: str | None = None
    parent_id: str | None = None
    id: Any = None
    type: Any = None
    action: Any = None
    timestamp: Any = None
    completed: Any = None
    working_time: Any = None
    source: str | None = None
    data: Any = None
    model: Any = None
    input: Any = None
    input_refs: list[tuple[int, int]] | None = None
    tools: list[_Tool] | None = None
    output: Any = None
    error: Any = None
    cache: str | None = None
    call: Any = None
    approver: str | None = None
    decision: str | None = None
    explanation: str | None = None
    cmd: str | None = None
    result: Any = None


class _Pool(Struct, frozen=True):
    messages: list[_Message] = []


class _Score(Struct, frozen=True):
    value: Any = None


class _Sample(Struct, frozen=True):
    id: str | int = ""
    epoch: int = 1
    messages: list[_Message] = []
    events: list[_Event] = []
    events_data: _Pool | None = None
    attachments: dict[str, str] = {}
    scores: dict[str, _Score] | None = None
    error: _Error | None = None
    limit: Any = None


_LOG, _SAMPLE = msgspec.json.Decoder(_Log), msgspec.json.Decoder(_Sample)


def is_sample(fields: Mapping[str, Raw]) -> bool:
    """These are the fields of a sample that was loaded from a log."""
    return _WRAPPED in fields and "sample" in fields


def read_sample(name: str, fields: Mapping[str, Raw]) -> Run:
    """Read one sample of a log."""
    log = decode(name, fields[_WRAPPED], _LOG, _WRAPPED)
    sample = decode(name, fields["sample"], _SAMPLE, "sample")
    return _SampleReader(name, log, sample).run()


class _SampleReader:
    """Reads the events of one sample."""

    def __init__(self, name: str, log: _Log, sample: _Sample) -> None:
        self._name, self._log, self._sample = name, log, sample
        self._pool = sample.events_data.messages if sample.events_data is not None else []
        self._final = {one.answers: one for one in sample.messages if one.answers}
        self._ran = {str(event.id): event for event in sample.events if event.event == "tool"}
        self._native = bool(self._ran)
        self._suppressed = {
            str(_field(event.call, "id")) for event in sample.events if event.decision == "modify" and _is_ours(event)
        }
        self._scoring = _scoring_spans(sample.events)
        self._steps: list[Recorded] = []
        self._compactions: list[int] = []
        self._waiting: dict[str, tuple[_Call, int, str]] = {}
        self._threads: dict[str, str] = {}
        self._shown: dict[str, set[str]] = {}
        self._cwd: dict[str, str | None] = {}
        self._heard: dict[str, set[str]] = {}
        self._starts = _working_directory(sample.events)
        self._task = ""
        self._agents: set[str] = set()

    def run(self) -> Run:
        """The run."""
        calls: list[ModelCall] = []
        replies: list[ModelReply] = []
        scored = False
        for event in self._sample.events:
            if event.event == "step" and event.type in SCORING:
                # Versions without spans say where scoring begins and ends.
                scored = event.action == "begin"
            if event.event == "model" and event.error is None and not scored and event.span_id not in self._scoring:
                output = msgspec.convert(event.output, _Output)
                self._take(event, output, len(calls))
                calls.append(_took(event, output))
                replies.append(self._reply(event, output))
        self._take_rest()
        noted = [event.data for event in self._sample.events if event.source == KEY and event.data]
        followed, asked = (
            next((policy for one in noted if (policy := _policy(one, name)) is not None), None)
            for name in ("policy", "asked")
        )
        absent = next((said for one in noted if isinstance(said := _field(one, "absent"), str)), "")
        absent = absent or ("" if noted else self._off())
        without_ledger = _attached(absent, self._sample.attachments) if followed is None else ""
        version = self._log.eval.packages.get("inspect_ai", "")
        solver = self._log.plan.steps[-1].solver if self._log.plan.steps else ""
        sandbox = self._log.eval.sandbox.type if self._log.eval.sandbox is not None else ""
        return Run(
            name=self._name,
            format="inspect",
            agent=f"{solver or 'inspect'} (inspect-ai {version})" if version else solver or "inspect",
            model=self._log.eval.model,
            task=self._task,
            container=sandbox in SEALED,
            turns=len(calls),
            steps=tuple(self._steps),
            compactions=tuple(self._compactions),
            model_calls=told(calls),
            replies=told_replies(replies),
            instance=f"{self._log.eval.task}/{self._sample.id}",
            ended=self._ended(),
            parallel=self._native,
            failed=self._sample.error is not None,
            policy=followed if followed is not None or without_ledger else asked,
            without_ledger=without_ledger,
            trial=self._sample.epoch,
            resolved=self._resolved(),
        )

    def _off(self) -> str:
        """Why a sample without any note of Ledger is none without it: its calls went through the approver of Ledger.

        It is a sample without Ledger if the approver was asked about no call, and so changed none, or if it says that
        Ledger was switched off on purpose.
        """
        answers = [one for one in self._sample.events if _is_ours(one) and one.decision == "escalate"]
        return OFF if any(one.explanation != SWITCHED_OFF for one in answers) else ""

    def _take(self, event: _Event, output: _Output, turn: int) -> None:
        """Take one model call: the results in its input, then the calls in its output."""
        messages = self._input(event)
        tools = frozenset(tool.name for tool in event.tools or ())
        if not tools or not messages:
            return
        adapter = _adapter(tools, native=self._native)
        starts = self._starts or (UNRECORDED_DIRECTORY if _starts_anew(tools, native=self._native) else None)
        thread = self._thread(event, messages, adapter, starts)
        shown = {message.answers for message in messages if message.answers}
        if self._shown.get(thread, set()) - shown:
            self._compactions.append(len(self._steps))
        for message in messages:
            if message.answers and message.answers in self._waiting:
                self._answered(message, adapter)
        self._shown[thread] = shown
        for call in output.choices[0].message.tool_calls or () if output.choices else ():
            self._waiting[call.id] = (call, turn, thread)
        self._last = adapter

    def _answered(self, message: _Message, adapter: Calls) -> None:
        """Record the call that a message answers."""
        call_id = message.answers
        asked, turn, thread = self._waiting.pop(call_id)
        call = _call_of(asked, self._text, native=self._native)
        action = adapter.action_of(call, self._cwd.get(thread), thread)
        self._cwd[thread] = adapter.cwd_after(call, self._parts(message), self._cwd.get(thread))
        ran = self._ran.get(call_id, _Event())
        at, seconds = moment_of(ran.completed), seconds_of(ran.working_time)
        observation = self._observed(call_id, call, message, adapter)
        suppressed = call_id in self._suppressed
        self._steps.append(Recorded(action, observation, turn, at=at, seconds=seconds, suppressed=suppressed))

    def _reply(self, event: _Event, output: _Output) -> ModelReply:
        """What a model call wrote, without its reasoning; its time is that at which the answer was complete."""
        content = output.choices[0].message.content if output.choices else ""
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts = (_field(part, "text") for part in parts if _field(part, "type") == "text")
        return ModelReply(joined_text(*map(self._text, texts)), moment_of(event.completed))

    def _observed(self, call_id: str, call: ToolCall, message: _Message, adapter: Calls) -> Observation:
        """The result of a call. That of a suppressed one is unknown; in place of a reference the true one is taken."""
        if call_id in self._suppressed:
            return Observation(truncated=True)
        true = self._final.get(call_id, message) if self._native else message
        parts = self._parts(true)
        if parts is None:
            return Observation(truncated=True)
        return adapter.observation_of(call, parts, is_error=true.error is not None)

    def _take_rest(self) -> None:
        """Record the last calls, whose results no model has read."""
        for call_id in [*self._waiting]:
            if (message := self._final.get(call_id)) is not None:
                self._answered(message, self._last)

    def _thread(self, event: _Event, messages: list[_Message], adapter: Calls, starts: str | None) -> str:
        """The conversation of a model call, by the part of the run, the system prompt and the task.

        Those of a sub-agent differ, and a rewritten history keeps them. Its commands start in ``starts``, until a text
        states a directory: whatever does so for the first time sets that of the conversation.
        """
        said = [(one.role, text) for one in messages if one.role in ("system", "user") for text in self._texts(one)]
        system = "\n".join(text for _, text in takewhile(lambda one: one[0] == "system", said))
        task = next(filter(None, (adapter.task_of(text) for role, text in said if role == "user")), "")
        self._task = self._task or task
        opening = digest(event.span_id or "", system, task)
        thread = self._threads.setdefault(opening, str(len(self._threads)) if self._threads else "")
        heard, cwd = self._heard.setdefault(thread, set()), self._cwd.get(thread, starts)
        for text in (system, *(text for _, text in said)):
            if text not in heard:
                heard.add(text)
                cwd = adapter.cwd_of(text) or cwd
        self._cwd[thread] = cwd
        return thread

    def _input(self, event: _Event) -> list[_Message]:
        """The messages that the model read, without state views."""
        if event.input_refs:
            found = [one for first, behind in event.input_refs for one in self._pool[first:behind]]
        else:
            found = msgspec.convert(event.input or [], list[_Message])
        return [
            one for one in found if (one.metadata or {}).get(KEY) != VIEW or "combined_from" in (one.metadata or {})
        ]

    def _text(self, content: object) -> str | None:
        """The text of a message, with attachments in their places; None if it is not only text."""
        if isinstance(content, str):
            return _attached(content, self._sample.attachments)
        if not isinstance(content, list) or not all(_field(part, "type") == "text" for part in content):
            return None
        return "\n".join(self._text(_field(part, "text")) or "" for part in content)

    def _texts(self, message: _Message) -> list[str]:
        """The texts of a message, one by one, without what is no text, such as an image."""
        parts = message.content if isinstance(message.content, list) else [message.content]
        return [text for part in parts if (text := self._text(part if isinstance(part, str) else [part])) is not None]

    def _parts(self, message: _Message) -> tuple[str, ...] | None:
        """The texts of a result; of a failure its message."""
        if message.error is not None:
            return (self._text(message.error.message) or "",)
        text = self._text(message.content)
        return None if text is None else (text,)

    def _ended(self) -> str:
        """How the sample ended: by its score, where it has one, and by the limit that ended it."""
        if self._sample.error is not None:
            return f"error: {self._sample.error.message.strip()}".partition("\n")[0][:MOST]
        kind = _field(self._sample.limit, "type")
        scored = {True: "solved", False: "not solved", None: ""}[self._resolved()]
        return ", ".join(filter(None, (scored, f"limit: {kind}" if kind else ""))) or "completed"

    def _resolved(self) -> bool | None:
        """Whether the sample was solved, by the score that the log puts first; None if it failed or has no score."""
        scores = self._sample.scores or {}
        if self._sample.error is not None or not scores:
            return None
        results = self._log.results
        first = results.headline.score if results is not None and results.headline is not None else ""
        return _passes((scores.get(first) or next(iter(scores.values()))).value)


def _passes(value: object) -> bool | None:
    """Whether a score says that the task was solved; None for one that says neither."""
    if isinstance(value, str):
        return {"C": True, "I": False, "P": False, "N": False}.get(value)
    if isinstance(value, bool | int | float):
        return value >= 1
    return None


def _adapter(tools: frozenset[str], *, native: bool) -> Calls:
    """The adapter of the agent that offers these tools."""
    if native:
        own = registry.agent_of("inspect")
    elif tools == _ONLY_BASH:
        own = registry.agent_of("mini")
    else:
        own = registry.agent_offering(tools) or registry.agent_of("inspect")
    calls = own.tool_calls() if own is not None else None
    assert calls is not None, "these agents have tools"
    return calls


def _starts_anew(tools: frozenset[str], *, native: bool) -> bool:
    """Whether each command of the agent that offers these tools starts in the same directory, whichever that is.

    Inspect's own tools start in that of the sandbox, except for a session, which the adapter knows; mini-swe-agent
    starts all its commands in its own.
    """
    return native or tools == _ONLY_BASH


def _call_of(call: _Call, text: Any, *, native: bool) -> ToolCall:
    """A call of the model, with attachments in their places; of a ``native`` tool, with its current arguments."""
    if call.parse_error is not None or not isinstance(call.arguments, dict):
        return ToolCall(call.function, "")
    given = {name: text(value) if isinstance(value, str) else value for name, value in call.arguments.items()}
    if call.type == "custom":
        return ToolCall(call.function, str(given.get("input", "")), custom=True)
    named = current_arguments(call.function, given) if native else given
    return ToolCall(call.function, msgspec.json.encode(named).decode())


def _took(event: _Event, output: _Output) -> ModelCall:
    """What a model call took; one whose answer came from Inspect's own cache took nothing."""
    used = output.usage
    if used is None or event.cache == "read":
        return ModelCall(Tokens() if event.cache == "read" else ModelCall().tokens)
    # The input leaves out the tokens that were read from a cache or written to one.
    read, written = used.input_tokens_cache_read, used.input_tokens_cache_write
    tokens = Tokens(uncached=used.input_tokens, cached=read, written=written, output=used.output_tokens)
    return ModelCall(tokens, recorded_cost(used.total_cost))


def _scoring_spans(events: list[_Event]) -> set[str]:
    """The spans in which the sample is scored: their model calls are not the agent's."""
    found: set[str] = set()
    for event in events:
        if event.event == "span_begin" and (event.type in SCORING or event.parent_id in found):
            found.add(str(event.id))
    return found


def _working_directory(events: list[_Event]) -> str | None:
    """The directory in which the commands of the sandbox start, as a command printed it; None if none did."""
    for event in events:
        asked = event.cmd == "bash --login -c pwd" or (event.cmd and "resumable_agent[.]ResumableAgent" in event.cmd)
        lines = event.output.splitlines() if asked and isinstance(event.output, str) else []
        if event.result == 0 and len(lines) == 1 and lines[0].startswith("/"):
            return str(lines[0])
    return None


def _policy(noted: object, name: str) -> Policy | None:
    """The policy in a field of an event of Ledger: the one that it followed, or that was asked for."""
    fields = _field(noted, name)
    return known_policy(fields) if isinstance(fields, dict) else None


def _is_ours(event: _Event) -> bool:
    return (event.approver or "").startswith(KEY)


def _attached(text: str, attachments: Mapping[str, str]) -> str:
    """A text, or the attachment that it names: Inspect keeps longer texts apart."""
    return attachments.get(text.removeprefix(_ATTACHED), text) if text.startswith(_ATTACHED) else text


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def journal_names(file: Path, data: bytes) -> Iterator[Path]:
    """The path of the journal that a sample names, if Ledger took part in it."""
    if not data.startswith(b'{"%b":' % _WRAPPED.encode()):
        return
    try:
        sample = decode(str(file), fields_of(data).get("sample", Raw(b"null")), _SAMPLE, "sample")
    except (Undecodable, RecursionError):
        return
    for event in sample.events:
        if event.source == KEY and isinstance(journal := _field(event.data, "journal"), str) and journal:
            yield Path(_attached(journal, sample.attachments))


def _read(file: Recording) -> Run:
    try:
        return read_sample(file.name, file.fields)
    except msgspec.ValidationError as error:
        raise UnreadableRun(file.name, f"expected a sample of a log of Inspect: {error}") from error


FORMATS = (Format(kind="object", recognises=lambda file: is_sample(file.fields), read=_read),)
"""The format of Inspect's samples."""
