"""A server on loopback that speaks the Responses API with a stream of events, and answers from a script.

A script is a function from a ``Request`` to an ``Answer``. ``turns`` makes one that keeps its place in every
conversation, ``by_text`` chooses one by what the user said, and ``always`` gives the same answer to every request.
``event_frames`` makes the events of an answer; a ``Gate`` holds an answer back until a test opens it.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

import msgspec
from aiohttp import web

from execledger.testing.scripted_model import BYTES_PER_TOKEN, SECRET_HEADERS, Json, PrefixCache, Usage

CONVERSATION_HEADERS = ("thread-id", "session_id", "conversation_id", "session-id")
"""Headers that identify a conversation, the most specific first: sub-agents share all but the first."""
METADATA = "x-codex-turn-metadata"
"""The header, or the field of ``client_metadata``, in which newer clients say what a request is for."""
CHECKPOINT = "You are performing a CONTEXT CHECKPOINT COMPACTION"
"""How the request for a summary begins, in versions that do not say what a request is for."""


@dataclass(frozen=True)
class Request:
    """One request."""

    path: str
    """Where it was sent to."""
    headers: Mapping[str, str]
    """Its headers by lower-case name, those with secrets left out."""
    authorized: bool
    """Whether it came with an authorization."""
    raw: bytes
    """Its body, byte for byte as it came."""
    plain: bytes
    """Its body, decompressed."""

    @cached_property
    def body(self) -> Json:
        """What the body says; decoded when it is first asked for."""
        found: Json = msgspec.json.decode(self.plain)
        return found

    @property
    def input(self) -> list[Json]:
        """The history that it holds."""
        items: list[Json] = self.body["input"]
        return items

    @cached_property
    def conversation(self) -> str:
        """Which conversation it belongs to; an empty text where nothing says so."""
        found = next((self.headers[name] for name in CONVERSATION_HEADERS if name in self.headers), None)
        return found or str(self.body.get("prompt_cache_key") or "")

    @cached_property
    def mark(self) -> bytes:
        """Tells the turns of a conversation apart: what users and tools have said, of which a new turn has more.

        A client that tries again repeats that exactly, but may add what it had received of the model's words.
        """
        said = [item for item in self.input if item.get("type") != "reasoning" and item.get("role") != "assistant"]
        return hashlib.sha256(self.conversation.encode() + b"\0" + msgspec.json.encode(said)).digest()

    @cached_property
    def metadata(self) -> Json:
        """What the client says about the request, as far as it does."""
        own = self.body.get("client_metadata") or {}
        text = self.headers.get(METADATA) or own.get(METADATA) or "{}"
        return {**own, **msgspec.json.decode(text, type=dict[str, Any])}

    @cached_property
    def kind(self) -> str:
        """What it is for: ``turn``, ``compaction``, ``thread_title``, or another word of the client's."""
        if (
            self.wants_history
            or self.wants_sealed_compaction
            or (self.user_texts and self.user_texts[-1].startswith(CHECKPOINT))
        ):
            return "compaction"
        if self.metadata.get("thread_source") == "thread_title":
            return "thread_title"
        return str(self.metadata.get("request_kind") or "turn")

    @property
    def wants_history(self) -> bool:
        """Whether it asks the server for a whole shorter history, as older versions ask OpenAI's own."""
        return self.path.endswith("/compact")

    @property
    def wants_sealed_compaction(self) -> bool:
        """Whether it asks for a summary that only the server can read."""
        return any(item.get("type") == "compaction_trigger" for item in self.input[-1:])

    @cached_property
    def user_texts(self) -> list[str]:
        """What users, and agents that started this one, have said; one text for each message."""
        return ["\n".join(_texts(item)) for item in self.input if _from_user(item)]


def _from_user(item: Json) -> bool:
    return item.get("role") == "user" or item.get("type") == "agent_message"


def _texts(item: Json) -> Iterator[str]:
    """The texts of a message; what another agent sends comes sealed, which a script doesn't mind."""
    content = item.get("content") or ()
    if isinstance(content, str):
        yield content
        return
    for part in content:
        yield str(part.get("text") or part.get("encrypted_content") or "")


class Gate:
    """Holds an answer back before one of its events, until a test opens it; before the first, even the status waits."""

    def __init__(self, after: int = 0) -> None:
        self.after = after
        """How many events are sent before."""
        self.reached = threading.Event()
        """Set when an answer waits at the gate."""
        self._opened: Future[None] = Future()

    def open(self) -> None:
        """Let the answer go on, and every later one."""
        if not self._opened.done():
            self._opened.set_result(None)

    async def passed(self) -> None:
        """Wait until the gate is open."""
        self.reached.set()
        # Another answer may still wait here when the client of this one has disconnected.
        await asyncio.shield(asyncio.wrap_future(self._opened))


PIECE = 32
"""How many characters a delta has at most."""
UNKNOWN_FIELD = "x_from_tomorrow"
"""A field that no client knows, for answers that must be passed on although they are strange."""
UNKNOWN_EVENT = "response.tomorrow.happened"
"""A type of event that no client knows."""
COMMENT = b": nothing happened yet\n\n"
"""What a server sends to keep a connection open."""


def response_object(items: Sequence[Json], *, identity: str, model: str, usage: Usage) -> Json:
    """The finished answer, as its last event holds it and as a request without streaming gets it."""
    counts = {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.completion,
    }
    return {**_opening(identity, model), "status": "completed", "output": list(items), "usage": counts}


def event_frames(
    items: Sequence[Json], *, identity: str, model: str, usage: Usage, strange: bool = False
) -> list[bytes]:
    """The events of an answer, in order, each as the bytes that are sent; ``strange`` puts unknown ones in between."""
    opening = _opening(identity, model)
    events: list[Json] = [{"type": kind, "response": opening} for kind in ("response.created", "response.in_progress")]
    for index, item in enumerate(items):
        events += ({**event, "output_index": index} for event in _item_events(item))
    finished = response_object(items, identity=identity, model=model, usage=usage)
    events.append({"type": "response.completed", "response": finished})
    if strange:
        events = [part for event in events for part in (event, {"type": UNKNOWN_EVENT, "nested": {"a": [1, None]}})]
        # Clients stop reading at the completion, so nothing follows it.
        events.pop()
    return [
        _frame({**event, "sequence_number": number, **({UNKNOWN_FIELD: "é"} if strange else {})}, strange)
        for number, event in enumerate(events)
    ]


def _opening(identity: str, model: str) -> Json:
    """An answer that has just begun."""
    return {"id": identity, "object": "response", "status": "in_progress", "model": model, "output": []}


def _frame(event: Json, strange: bool) -> bytes:
    """An event as it is sent."""
    head = COMMENT if strange and event["sequence_number"] % 5 == 3 else b""
    return b"%sevent: %s\ndata: %s\n\n" % (head, event["type"].encode(), msgspec.json.encode(event))


def _item_events(item: Json) -> Iterator[Json]:
    """The events of one output item."""
    match item["type"]:
        case "message":
            yield from _message(item)
        case "reasoning":
            yield from _reasoning(item)
        case "function_call":
            yield from _call(item, "function_call_arguments", "arguments")
        case "custom_tool_call":
            yield from _call(item, "custom_tool_call_input", "input")
        case _:
            yield {"type": "response.output_item.added", "item": item}
            yield _done(item)


def _message(item: Json) -> Iterator[Json]:
    """Words are streamed as they come."""
    place = {"item_id": item["id"], "content_index": 0}
    part, text = item["content"][0], item["content"][0]["text"]
    yield {"type": "response.output_item.added", "item": {**item, "content": [], "status": "in_progress"}}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    yield from ({"type": "response.output_text.delta", **place, "delta": piece} for piece in _pieces(text))
    yield {"type": "response.output_text.done", **place, "text": text}
    yield {"type": "response.content_part.done", **place, "part": part}
    yield _done(item)


def _reasoning(item: Json) -> Iterator[Json]:
    """Of a thought, the summary is streamed; its encrypted content comes at the end."""
    place = {"item_id": item["id"], "summary_index": 0}
    part, text = item["summary"][0], item["summary"][0]["text"]
    yield {"type": "response.output_item.added", "item": {**item, "summary": []}}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}}
    yield from ({"type": "response.reasoning_summary_text.delta", **place, "delta": piece} for piece in _pieces(text))
    yield {"type": "response.reasoning_summary_text.done", **place, "text": text}
    yield {"type": "response.reasoning_summary_part.done", **place, "part": part}
    yield _done(item)


def _call(item: Json, stem: str, field: str) -> Iterator[Json]:
    """The arguments of a call are streamed; clients act on the item that is done."""
    yield {"type": "response.output_item.added", "item": {**item, field: "", "status": "in_progress"}}
    for piece in _pieces(item[field]):
        yield {"type": f"response.{stem}.delta", "item_id": item["id"], "delta": piece}
    yield {"type": f"response.{stem}.done", "item_id": item["id"], field: item[field]}
    yield _done(item)


def _done(item: Json) -> Json:
    return {"type": "response.output_item.done", "item": item}


def _pieces(text: str) -> Iterator[str]:
    """A text as it is streamed: in several pieces, also where it is short."""
    size = max(1, min(PIECE, -(-len(text) // 3)))
    return (text[start : start + size] for start in range(0, len(text), size))


SUMMARY = "The work so far, in short: see the files."
"""What a request for a compaction is answered with."""
OWN_IDS = "{conversation}_{turn}_{index}"
"""Call ids that differ from one conversation to the next."""
SHARED_IDS = "{turn}_{index}"
"""Call ids that are the same in every conversation."""

TYPICAL = Usage(1000, 0, 0, 10)
"""The usage in answers of which no test checks it."""


class OffScript(Exception):
    """A request that the script has no answer for."""


class Answer(NamedTuple):
    """One answer: the items of the model's output, or a failure; and the manner in which it is sent."""

    items: Sequence[Json] = ()
    """The output items; those without an id are given one."""
    status: int = 200
    """The status; of a failure, another than 200."""
    text: str = ""
    """The body of a failure."""
    usage: Usage | None = None
    """The usage that is reported; estimated if None."""
    delay: float | None = 0.0
    """Seconds between two events; ``None`` sends them all at once."""
    cut_after: int | None = None
    """After so many events the connection is closed."""
    gate: Gate | None = None
    """Holds the events back from some place on."""
    gzip: bool = False
    """Whether the body is compressed."""
    strange: bool = False
    """Whether events and fields that no client knows are added."""
    frames: Sequence[bytes] = ()
    """The events, where they were encoded before."""


class Tries(NamedTuple):
    """A turn that goes differently when the same request comes again."""

    answers: tuple[Answer, ...]
    """The answer to the first try, the second and so on; the last one also to all others."""


Item: TypeAlias = Json
"""One output item, without ids."""
Done: TypeAlias = Item | Sequence[Item] | Answer
"""What the model does at one go; several calls at once are parallel."""
Turn: TypeAlias = Done | Tries | Callable[[Request], Done]
"""One turn of a conversation; a function decides by the request, as where an earlier result names what to wait for."""
Script: TypeAlias = Callable[[Request], Answer]
"""Decides what a request is answered with; called on the server's thread alone."""


def say(text: str) -> Item:
    """Words of the model."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content}


def call(tool: str, /, **arguments: Any) -> Item:
    """A call of a function; a name with a dot in it has its namespace before the dot."""
    namespace, _, name = tool.rpartition(".")
    place = {"namespace": namespace} if namespace else {}
    return {
        "type": "function_call",
        "status": "completed",
        "name": name,
        **place,
        "arguments": json.dumps(arguments, ensure_ascii=False),
    }


def custom(tool: str, text: str) -> Item:
    """A call of a tool that takes free text, as ``apply_patch`` does."""
    return {"type": "custom_tool_call", "status": "completed", "name": tool, "input": text}


def think(text: str) -> Item:
    """A thought; where a turn has none, one is put before it."""
    sealed = hashlib.sha256(text.encode()).hexdigest()
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": sealed}


def answer(*items: Item, **manner: Any) -> Answer:
    """A turn that is sent in some manner: see the fields of ``Answer``."""
    return Answer(items, **manner)


def refuse(status: int, text: str = '{"error": {"message": "scripted failure"}}') -> Answer:
    """A failure."""
    return Answer(status=status, text=text)


def tries(*answers: Done) -> Tries:
    """A turn that goes differently when the same request comes again: ``tries(refuse(500), say("Hello."))``."""
    return Tries(tuple(as_answer(done) for done in answers))


def as_answer(done: Done) -> Answer:
    """What the model does, sent in the usual manner unless it says otherwise."""
    if isinstance(done, Answer):
        return done
    return Answer([done] if isinstance(done, dict) else done)


def turns(*script: Turn, ids: str = OWN_IDS, thoughts: bool = True, summary: str = SUMMARY) -> Turns:
    """A script of turns, from the first for every conversation."""
    return Turns(script, ids, thoughts, summary)


class Turns:
    """Answers the turns of each conversation in order; a request that comes again gets its turn again."""

    def __init__(self, script: Sequence[Turn], ids: str, thoughts: bool, summary: str) -> None:
        self._script, self._ids, self._thoughts, self._summary = script, ids, thoughts, summary
        self._places: dict[str, dict[bytes, int]] = {}
        self._attempts: Counter[bytes] = Counter()

    def __call__(self, request: Request) -> Answer:
        """The turn that a request asks for; a compaction or a title is answered, and is no turn."""
        if request.kind != "turn":
            return self._named(side_answer(request, self._summary), request, request.kind)
        places = self._places.setdefault(request.conversation, {})
        number = places.setdefault(request.mark, len(places))
        if number >= len(self._script):
            raise OffScript(f"the script has {len(self._script)} turns, and turn {number + 1} was asked for")
        done = self._done(self._script[number], request)
        if self._thoughts and done.items and not any(item["type"] == "reasoning" for item in done.items):
            done = done._replace(items=[think(f"This is turn {number}."), *done.items])
        return self._named(done, request, str(number))

    def _done(self, turn: Turn, request: Request) -> Answer:
        """What is done in a turn; how often it was tried before is counted."""
        attempt = self._attempts[request.mark]
        self._attempts[request.mark] += 1
        if isinstance(turn, Tries):
            return turn.answers[min(attempt, len(turn.answers) - 1)]
        return as_answer(turn(request) if callable(turn) else turn)

    def _named(self, given: Answer, request: Request, turn: str) -> Answer:
        """The answer with the ids that it has in this conversation."""
        conversation = hashlib.sha256(request.conversation.encode()).hexdigest()[:8]
        names = (self._ids.format(conversation=conversation, turn=turn, index=index) for index in itertools.count())
        return given._replace(items=[with_ids(item, name) for item, name in zip(given.items, names, strict=False)])


def with_ids(item: Item, name: str) -> Item:
    """An item with ids made of a name, unless it has its own."""
    prefix = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
    kind = item["type"]
    own = {"call_id": f"call_{name}"} if kind.endswith("_call") else {}
    return {"id": f"{prefix.get(kind, 'item')}_{name}", **own, **item}


def side_answer(request: Request, summary: str = SUMMARY) -> Answer:
    """What is answered to a request that is no turn: a summary, a title, or nothing."""
    if request.kind == "thread_title":
        return Answer([say(json.dumps({"title": "Scripted work"}))])
    if request.kind != "compaction":
        return Answer()
    sealed = {"type": "compaction", "encrypted_content": summary}
    if request.wants_history:
        return Answer([*(item for item in request.input if item.get("role") == "user"), sealed])
    if request.wants_sealed_compaction:
        return Answer([sealed])
    return Answer([say(summary)])


def by_text(scripts: Mapping[str, Script]) -> Script:
    """Chooses by the latest user message that holds one of the texts; of several texts in it, the longest decides."""

    def choose(request: Request) -> Answer:
        for text in reversed(request.user_texts):
            if keys := [key for key in scripts if key in text]:
                return scripts[max(keys, key=len)](request)
        raise OffScript(f"no script for {request.user_texts[-1:]}")

    return choose


def always(*items: Item, usage: Usage = TYPICAL, model: str = "scripted", **manner: Any) -> Script:
    """The same answer to every request, encoded once: the requests' bodies are not even decoded."""
    named = [with_ids(item, str(index)) for index, item in enumerate(items)]
    frames = event_frames(named, identity="resp_0", model=model, usage=usage)
    fixed = Answer(named, usage=usage, frames=frames, **manner)
    return lambda request: fixed


PATIENCE = 60.0
"""Seconds that a test waits for a request."""
MODELS = {"object": "list", "data": [], "models": []}
"""The answer to a request for the list of models: nothing that clients do not assume by themselves."""


class Unreadable(Exception):
    """A request whose body is encoded in a way that can't be undone here."""


class ResponsesServer:
    """Serves a script and records what it is asked; ``record=False`` keeps nothing, for benchmarks."""

    def __init__(self, script: Script, *, record: bool = True) -> None:
        self.faults: list[str] = []
        """Why requests were turned away."""
        self.websockets = 0
        """How often a client tried to talk over a WebSocket, which is refused."""
        self.served = 0
        """How many requests for an answer came."""
        self._script, self._record = script, record
        self._requests: list[Request] = []
        self._caches: dict[tuple[str, str], PrefixCache] = {}
        # Guards the counts and the list of requests, and wakes threads that wait for one.
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._port = 0
        self._started = threading.Event()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        """Where the server listens, with the ``/v1`` that clients want at its end."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests for an answer so far, in order."""
        with self._changed:
            return tuple(self._requests)

    def conversation(self, text: str) -> list[Request]:
        """The requests of the conversations in which a user said this."""
        return [request for request in self.requests if any(text in said for said in request.user_texts)]

    def wait_for(self, count: int) -> None:
        """Wait until so many requests have come."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.served >= count, PATIENCE)
        assert came, f"{self.served} of {count} requests came in {PATIENCE:.0f} seconds"

    def __enter__(self) -> ResponsesServer:
        """Start to serve."""
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving; answers under way are cut."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        """Serve until ``_stop`` is set."""
        # Bodies are recorded as they came, so they are decompressed here and not by the library.
        server = web.Server(self._respond, access_log=None, auto_decompress=False, handler_cancellation=True)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        self._port = runner.addresses[0][1]
        self._started.set()
        await self._stopping.wait()
        await runner.cleanup()

    async def _respond(self, asked: web.BaseRequest) -> web.StreamResponse:
        if asked.method == "GET":
            return self._respond_to_get(asked)
        raw = await asked.content.read()
        try:
            request = _received(asked, raw)
        except Unreadable as error:
            return self._turned_away(415, f"{asked.path}: {error}")
        with self._changed:
            self.served += 1
            if self._record:
                self._requests.append(request)
            self._changed.notify_all()
        try:
            answer = self._script(request)
        # Whatever a script raises is a fault of the test, and clients do not ask again after this status.
        except Exception as error:
            return self._turned_away(400, f"{asked.path}: {type(error).__name__}: {error}")
        return await self._send(asked, request, answer)

    def _respond_to_get(self, asked: web.BaseRequest) -> web.Response:
        if asked.headers.get("upgrade", "").lower() == "websocket":
            with self._changed:
                self.websockets += 1
            return web.Response(status=426, text="Upgrade Required")
        if asked.path.endswith("/models"):
            return web.json_response(MODELS)
        return self._turned_away(404, f"{asked.path}: nothing is there")

    def _turned_away(self, status: int, fault: str) -> web.Response:
        with self._changed:
            self.faults.append(fault)
        return web.json_response({"error": {"message": fault, "type": "invalid_request_error"}}, status=status)

    async def _send(self, asked: web.BaseRequest, request: Request, answer: Answer) -> web.StreamResponse:
        if answer.gate is not None and answer.gate.after == 0:
            await answer.gate.passed()
        if answer.status != 200:
            return web.Response(status=answer.status, text=answer.text, content_type="application/json")
        if not answer.frames:
            usage = answer.usage or self._usage(request, answer.items)
            identity, model = f"resp_{self.served}", str(request.body.get("model"))
            if not request.body.get("stream"):
                return web.json_response(response_object(answer.items, identity=identity, model=model, usage=usage))
            frames = event_frames(answer.items, identity=identity, model=model, usage=usage, strange=answer.strange)
            answer = answer._replace(frames=frames)
        return await _stream(asked, answer)

    def _usage(self, request: Request, items: Sequence[Json]) -> Usage:
        """What a provider would count: all that was sent, and what of it was sent before under the same cache key."""
        body = request.body
        parts = [msgspec.json.encode(part) for part in (body.get("instructions"), body.get("tools"), *request.input)]
        shared = (str(body.get("model")), str(body.get("prompt_cache_key") or ""))
        cached = self._caches.setdefault(shared, PrefixCache()).shared(parts)
        counts = (sum(map(len, parts)), cached, 0, len(msgspec.json.encode(items)))
        return Usage(*(count // BYTES_PER_TOKEN for count in counts))


def _received(asked: web.BaseRequest, raw: bytes) -> Request:
    """A request as it is recorded."""
    headers = {name.lower(): value for name, value in asked.headers.items()}
    authorized = not SECRET_HEADERS.isdisjoint(headers)
    shown = {name: value for name, value in headers.items() if name not in SECRET_HEADERS}
    return Request(asked.path, shown, authorized, raw, _plain(raw, headers.get("content-encoding", "identity")))


def _plain(raw: bytes, encoding: str) -> bytes:
    """A body without its compression."""
    match encoding:
        case "identity":
            return raw
        case "gzip":
            return zlib.decompress(raw, zlib.MAX_WBITS | 16)
        case "zstd":
            try:
                import zstandard
            except ImportError:
                raise Unreadable("the body is compressed with zstd: pip install zstandard") from None
            with zstandard.ZstdDecompressor().stream_reader(raw) as reader:
                return reader.read()
        case _:
            raise Unreadable(f"the body is encoded as {encoding}")


async def _stream(asked: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    """Send the events of an answer in the manner that it asks for."""
    response = web.StreamResponse(headers={"content-type": "text/event-stream", "cache-control": "no-store"})
    press = zlib.compressobj(wbits=zlib.MAX_WBITS | 16) if answer.gzip else None
    if press is not None:
        response.headers["content-encoding"] = "gzip"
    frames: Sequence[bytes] = answer.frames[: answer.cut_after]
    if answer.delay is None:
        frames = [b"".join(frames)]
    try:
        await response.prepare(asked)
        for number, frame in enumerate(frames):
            if answer.gate is not None and number == answer.gate.after > 0:
                await answer.gate.passed()
            if answer.delay and number:
                await asyncio.sleep(answer.delay)
            # Flushing after every event lets the client read it at once.
            await response.write(frame if press is None else press.compress(frame) + press.flush(zlib.Z_SYNC_FLUSH))
        if answer.cut_after is not None:
            _hang_up(asked)
        elif press is not None:
            await response.write(press.flush())
    except ConnectionError:
        # Clients hang up as soon as they have read the completion.
        pass
    return response


def _hang_up(asked: web.BaseRequest) -> None:
    """Close the connection in the middle of an answer; what was sent still arrives."""
    if asked.transport is not None:
        asked.transport.close()
