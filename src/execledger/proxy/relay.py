"""The relay: requests of agents on loopback, passed on to a model's API, and its answers passed back.

Whatever is not a conversation that Ledger understands passes as it came, and so does everything where the proxy is told
to pass through. Secrets in headers are forwarded and never kept.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any
from urllib.request import getproxies, proxy_bypass

import zstandard
from aiohttp import (
    ClientConnectionError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    TCPConnector,
    TraceConfig,
    web,
)
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload
from multidict import CIMultiDict
from yarl import URL

from execledger import __version__
from execledger.local_server.loopback import foreign_origin
from execledger.proxy.content_encoding import portions
from execledger.proxy.limits import MAX_BODY
from execledger.proxy.passage import Passage, Sent
from execledger.proxy.response_editor import ResponseEditor
from execledger.redact import redact

PREFIX = "/v1"
"""What stands for the upstream's base address in the addresses that agents ask for."""
CONNECT_SECONDS, SILENCE_SECONDS = 30.0, 900.0
"""How long the upstream may take to be reached, and to say nothing: longer than any client waits."""
MAX_HEADER = 262_144
"""Bytes of one header: agents put what they know about a turn into one."""
KEPT_TRIES = 3
"""How often a request is sent anew because the connection that was kept for it turned out to be closed."""
AT_ONCE = 1_000_000
"""Bytes of a body that are written in one go; more in pieces, so that other streams go on between them."""
PIECE = 262_144
"""Bytes of such a piece."""
HOP_BY_HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    "upgrade host content-length expect".split()
)
"""Headers that belong to one connection, and are made anew for the next."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""What may be asked of an API; anything else is meant for another kind of server."""


class Relay:
    """Passes requests on."""

    def __init__(self, upstream: str, passage: Passage) -> None:
        """Passes requests to ``upstream``, as ``passage`` sees fit."""
        self.requests = 0
        """Requests that were passed on."""
        self._upstream = upstream.rstrip("/")
        self._passage = passage
        self._client: ClientSession | None = None
        self._turn = asyncio.Lock()

    def application(self) -> web.Application:
        """The server's routes."""
        app = web.Application()
        app.router.add_get("/healthz", self._health)
        app.router.add_route("*", PREFIX + "/{path:.*}", self._relay)
        app.cleanup_ctx.append(self._connected)
        app.on_response_prepare.append(_untyped)
        return app

    async def _connected(self, _: web.Application) -> AsyncIterator[None]:
        """Hold connections to the upstream while the server runs."""
        timeout = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        # Found out once: with ``trust_env`` every request would ask the environment again on another thread, and one
        # that has its own authorization would be refused wherever a ``.netrc`` has another.
        proxy = _way_out(URL(self._upstream))
        self._client = ClientSession(
            connector=TCPConnector(limit=0),
            timeout=timeout,
            auto_decompress=False,
            proxy=proxy,
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
            trace_configs=[_tracing()],
        )
        yield
        await self._client.close()
        await self._passage.close()

    async def _health(self, request: web.Request) -> web.Response:
        """What a script asks to know that we are here."""
        if reason := foreign_origin(request.host, request.headers):
            return _error(403, reason)
        return web.json_response(
            {
                "status": "ok",
                "version": __version__,
                "sessions": len(self._passage.book),
                "requests": self.requests,
                "faults": self._passage.faults,
            }
        )

    async def _relay(self, request: web.Request) -> web.StreamResponse:
        """Pass one request on, and its answer back."""
        if reason := foreign_origin(request.host, request.headers):
            return _error(403, reason)
        if request.method not in METHODS:
            return _error(405, f"found the method {request.method[:20]}, expected one of an API")
        if ".." in request.path.split("/"):
            return _error(400, "found a path that leads out of the API, expected one below it")
        if request.headers.get("upgrade", "").lower() == "websocket":
            # Codex takes any other answer for a failure, and this one for what it is.
            return _error(426, "no WebSocket here, plain HTTP only")
        self.requests += 1
        data = await _body(request)
        sent = Sent(b"")
        if isinstance(data, bytes):
            sent = await self._taken(request, data)
            data = b""
        else:
            await self._passage.unread(request.method, request.path, request.headers)
        read = ("content-encoding", "accept-encoding") if sent.plain else ()
        headers = _end_to_end(request.headers, read)
        try:
            answer = await self._asked(request, headers, data or sent.body)
            # Agents wait for their model most of the time: their histories are not kept meanwhile.
            sent.body = b""
            async with answer:
                return await self._answered(request, sent, answer)
        except TimeoutError:
            return _error(504, f"{self._upstream}: no answer in time")
        except ClientError as error:
            return _error(502, f"{self._upstream}: {type(error).__name__}: {error}")

    async def _asked(
        self, request: web.Request, headers: Mapping[str, str], data: bytes | AsyncIterator[bytes]
    ) -> ClientResponse:
        """The upstream's answer to a request, as far as its headers."""
        assert self._client is not None
        address = URL(self._upstream + request.rel_url.raw_path_qs.removeprefix(PREFIX), encoded=True)
        for left in range(KEPT_TRIES, -1, -1):
            connection: dict[str, bool] = {}
            try:
                return await self._client.request(
                    request.method,
                    address,
                    data=_InPieces(data) if isinstance(data, bytes) and len(data) > AT_ONCE else data,
                    headers=headers,
                    skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                    allow_redirects=False,
                    trace_request_ctx=connection,
                )
            except ClientConnectionError:
                # The upstream had closed a connection that we kept: the agent would not have met with that.
                if not (left and connection.get("kept") and isinstance(data, bytes)):
                    raise
        raise AssertionError("unreachable")

    async def _taken(self, request: web.Request, body: bytes) -> Sent:
        """What is sent on for a request."""
        async with self._turn:
            # Of many that come at once, one is begun at a time, so that streams and connections go on between them.
            await asyncio.sleep(0)
        return await self._passage.sent(request.method, request.path, request.headers, body)

    async def _answered(self, request: web.Request, sent: Sent, answer: ClientResponse) -> web.StreamResponse:
        """Pass the answer back as it comes."""
        async with sent.lock:
            editor = self._passage.answer(sent, answer.status, answer.headers)
        packed = editor is not None and "content-encoding" in answer.headers
        response = _Answer(status=answer.status, reason=answer.reason)
        response.headers.extend(_end_to_end(answer.headers, ("content-encoding",) if editor else ()))
        response.untyped = "content-type" not in answer.headers
        if answer.content_length is not None and editor is None:
            response.content_length = answer.content_length
        await response.prepare(request)
        try:
            try:
                async for chunk in answer.content.iter_any():
                    # A packed chunk may unpack to thousands of times its size: piece by piece, as the client takes it.
                    for piece in portions(chunk) if packed else (chunk,):
                        if out := piece if editor is None else await _fed(editor, piece):
                            await response.write(out)
            except (ClientError, TimeoutError, zlib.error, zstandard.ZstdError):
                # The upstream broke off in the middle: so do we, for the client to see what happened.
                await response.write(b"" if editor is None else await _fed(editor))
                if request.transport is not None:
                    request.transport.close()
                return response
            if editor is not None:
                await response.write(await _fed(editor))
            await response.write_eof()
        except ConnectionResetError:
            # The client has what it wanted: some close as soon as the answer is complete.
            return response
        return response


async def _fed(editor: ResponseEditor, piece: bytes | None = None) -> bytes:
    """What may be sent on for a piece of an answer, or at its end."""
    async with editor.lock:
        return editor.end() if piece is None else editor.feed(piece)


class _InPieces(Payload):
    """A long body, written piece by piece: other streams go on between them, and it is never copied as a whole."""

    _value: bytes

    def __init__(self, body: bytes) -> None:
        """Writes ``body``."""
        super().__init__(body)
        self._size = len(body)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The body as text."""
        return self._value.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write all of it."""
        await self.write_with_length(writer, None)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Write at most so many bytes of it."""
        view = memoryview(self._value)[:content_length]
        for at in range(0, len(view), PIECE):
            await writer.write(view[at : at + PIECE])
            await asyncio.sleep(0)


class _Answer(web.StreamResponse):
    """An answer of the upstream."""

    untyped = False
    """It came without a content type."""


async def _untyped(_: web.Request, response: web.StreamResponse) -> None:
    """Take off the content type that the library puts where the upstream has none."""
    if isinstance(response, _Answer) and response.untyped:
        response.headers.popall("content-type", None)


async def _body(request: web.Request) -> bytes | AsyncIterator[bytes]:
    """The body of a request, or a stream of it where it is too large to be read.

    The library's own way to read it would keep it until the answer has ended.
    """
    chunks: deque[bytes] = deque()
    size = request.content_length or 0
    if size <= MAX_BODY:
        size = 0
        async for chunk in request.content.iter_any():
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BODY:
                break
    if size > MAX_BODY:
        return _going_on(chunks, request)
    if size <= AT_ONCE:
        return b"".join(chunks)
    # Copying takes a while, too; Python lets other threads go on meanwhile.
    return await asyncio.get_running_loop().run_in_executor(None, b"".join, chunks)


async def _going_on(chunks: deque[bytes], request: web.Request) -> AsyncIterator[bytes]:
    """What was read of a body, and the rest of it as it comes."""
    while chunks:
        yield chunks.popleft()
    async for chunk in request.content.iter_any():
        yield chunk


def _tracing() -> TraceConfig:
    """Notes for each request whether it went out on a connection that was kept from another."""

    async def reused(_: ClientSession, context: Any, __: object) -> None:
        context.trace_request_ctx["kept"] = True

    tracing = TraceConfig()
    tracing.on_connection_reuseconn.append(reused)
    return tracing


def _way_out(upstream: URL) -> str | None:
    """The web proxy that the environment names for an address; None if there is none."""
    return None if proxy_bypass(upstream.host or "") else getproxies().get(upstream.scheme)


def _end_to_end(headers: Mapping[str, str], without: Iterable[str] = ()) -> CIMultiDict[str]:
    """The headers that are passed on."""
    named = headers.get("connection", "").lower().replace(" ", "").split(",")
    dropped = HOP_BY_HOP.union(named, without)
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in dropped)


def _error(status: int, message: str) -> web.Response:
    """An answer of our own, in the shape that clients of these APIs read."""
    error = {"message": f"execledger proxy: {redact(message)}", "type": "proxy_error"}
    return web.json_response({"error": error}, status=status)
