"""A server on loopback that speaks the Responses API with a stream of events, and answers from a script.

It stands for the provider in tests with real clients and in benchmarks. It runs on a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Sequence
from types import TracebackType

import msgspec
from aiohttp import web

from execledger.testing.model_dialects import Json, Usage
from execledger.testing.model_server import BYTES_PER_TOKEN, SECRET_HEADERS
from execledger.testing.prefix_cache import PrefixCache
from tests.support.servers.responses_request import Request
from tests.support.servers.responses_script import Answer, Script
from tests.support.servers.responses_stream import event_frames, response_object

PATIENCE = 60.0
"""Seconds that a test waits for a request."""
MODELS = {"object": "list", "data": [], "models": []}
"""What a client is told about models: nothing that it would not assume itself."""


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
        # Guards the counts and the list of requests, and tells those who wait for one.
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
        """Listen until told to stop."""
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
