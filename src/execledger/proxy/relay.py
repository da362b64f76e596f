"""The relay: forwards the requests of agents on loopback to a model's API, and its answers back.

A request that holds no supported conversation is forwarded unchanged; in pass-through mode, every request is. Secrets
in headers are forwarded and never stored.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from functools import partial
from hmac import compare_digest
from typing import Any
from urllib.request import getproxies, proxy_bypass, proxy_bypass_environment  # type: ignore[attr-defined]

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

from execledger.local_server.loopback import LOOPBACK_NAMES, foreign_origin
from execledger.proxy.call_reports import MAX_REPORT, PATH, CallReports
from execledger.proxy.clients import LAUNCHED
from execledger.proxy.content_encoding import portions
from execledger.proxy.limits import MAX_BODY
from execledger.proxy.passage import GOVERNED, Passage, Sent
from execledger.redact import redact
from execledger.version import __version__

PREFIX = "/v1"
"""The path prefix that is replaced by the upstream's base address, where that address includes the version."""
CONNECT_SECONDS, SILENCE_SECONDS = 30.0, 900.0
"""Timeouts for connecting to the upstream and for a pause in its answer: longer than any client waits."""
MAX_HEADER = 262_144
"""Bytes of one header: agents send metadata of a turn in one."""
KEPT_TRIES = 3
"""How often a request is sent again because a pooled connection turned out to be closed."""
AT_ONCE = 1_000_000
"""Bytes of a body that are written at once; a longer one is written in pieces, between which other streams go on."""
PIECE = 262_144
"""Bytes of such a piece."""
HOP_BY_HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    "upgrade host content-length expect".split()
)
"""Headers that belong to one connection and are not forwarded."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""The methods that are forwarded; any other is not one of an API."""


class Relay:
    """Forwards requests."""

    def __init__(
        self, routes: Mapping[str, str], passage: Passage, web_proxies: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """A relay with these routes, upstreams by the path prefixes that they replace; ``passage`` edits requests and
        answers. ``web_proxies``, of each route by scheme, are used in place of those of the environment."""
        self.requests = 0
        """The number of forwarded requests."""
        self._routes = {prefix: upstream.rstrip("/") for prefix, upstream in routes.items()}
        self._given_proxies = web_proxies or {}
        self._web_proxies: dict[str, str | None] = {}
        self._passage = passage
        self._client: ClientSession | None = None
        self._turn = asyncio.Lock()

    def application(self) -> web.Application:
        """The server's routes."""
        app = web.Application()
        app.router.add_get("/healthz", self._health)
        if self._passage.book.rules.reports is not None:
            app.router.add_route("*", PATH + "{secret:.*}", partial(self._report, self._passage.book.rules.reports))
        # The first route that fits is taken: longer prefixes come first.
        for prefix in sorted(self._routes, key=len, reverse=True):
            for before in ("", "/run/{run}"):
                app.router.add_route("*", f"{before}{prefix}/{{path:.*}}", partial(self._relay, prefix))
        app.cleanup_ctx.append(self._connected)
        app.on_response_prepare.append(_untyped)
        return app

    async def _connected(self, _: web.Application) -> AsyncIterator[None]:
        """Keep a pool of connections to the upstream while the server runs."""
        timeout = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        # Resolved once: with ``trust_env`` every request would read the environment again on another thread, and one
        # that has its own authorization would be refused if a ``.netrc`` has another.
        given = self._given_proxies
        self._web_proxies = {
            prefix: _web_proxy(URL(upstream), given.get(prefix)) for prefix, upstream in self._routes.items()
        }
        self._client = ClientSession(
            connector=TCPConnector(limit=0),
            timeout=timeout,
            auto_decompress=False,
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
            trace_configs=[_tracing()],
        )
        yield
        await self._client.close()
        await self._passage.close()

    async def _health(self, request: web.Request) -> web.Response:
        """Answer the health check."""
        if reason := foreign_origin(request.host, request.headers):
            return _error(403, reason)
        return web.json_response(
            {
                "status": "ok",
                "version": __version__,
                "sessions": len(self._passage.book),
                "requests": self.requests,
                "faults": self._passage.faults,
                "paused": self._passage.paused,
                "routes": sorted(self._routes),
            }
        )

    async def _report(self, reports: CallReports, request: web.Request) -> web.Response:
        """Take the report of a hook; the answer, which has the client do nothing, is always the same."""
        if reason := foreign_origin(request.host, request.headers):
            return _error(403, reason)
        if not compare_digest(request.match_info["secret"].encode(), reports.secret.encode()):
            return _error(404, "found another path than this run's")
        with suppress(Exception):
            body = await _body(request) if (request.content_length or 0) <= MAX_REPORT else b""
            if isinstance(body, bytes) and 0 < len(body) <= MAX_REPORT:
                reports.add(body)
        return web.json_response({})

    async def _relay(self, prefix: str, request: web.Request) -> web.StreamResponse:
        """Forward one request of a route, and its answer back; a fault of ours changes neither."""
        if refusal := _refusal(request):
            return refusal
        self.requests += 1
        # No variable holds the body as it came: it would stay in memory until the answer has ended.
        sent = await self._edited(request, await _body(request))
        started: list[web.StreamResponse] = []
        try:
            try:
                return await self._forwarded(prefix, request, sent, started)
            except (ClientError, TimeoutError):
                raise
            except Exception as error:
                self._passage.fault("a request", error)
                if started or sent.stream is not None:
                    # A part of the answer or of the request is gone: the connection breaks off, and clients try again.
                    raise
                return await self._plainly(prefix, request, sent)
        except TimeoutError:
            return _error(504, f"{self._routes[prefix]}: no answer in time")
        except ClientError as error:
            return _error(502, f"{self._routes[prefix]}: {type(error).__name__}: {error}")

    async def _edited(self, request: web.Request, data: bytes | AsyncIterator[bytes]) -> Sent:
        """The request to forward; one that is too large to be read, and one at which we fail, as it came."""
        try:
            if not isinstance(data, bytes):
                await self._passage.too_large(request.method, request.path, request.headers)
                return Sent(b"", data)
            async with self._turn:
                # Of many concurrent requests one is begun at a time, so that streams and connections go on between
                # them.
                await asyncio.sleep(0)
            return await self._passage.sent(request.method, request.path, request.headers, data)
        except Exception as error:
            self._passage.asked_to_act = True
            self._passage.fault("a request", error)
        if not isinstance(data, bytes):
            return Sent(b"", data)
        return await self._passage.sent(request.method, request.path, request.headers, data, decides=False)

    async def _forwarded(
        self, prefix: str, request: web.Request, sent: Sent, started: list[web.StreamResponse]
    ) -> web.StreamResponse:
        """Forward a request and its answer; ``started`` gets the answer to the client once that has begun."""
        read = ("content-encoding", "accept-encoding") if sent.plain else ()
        headers = _end_to_end(request.headers, (*read, GOVERNED))
        if self._passage.governs(sent) or GOVERNED in request.headers:
            # Another proxy of ours is on this machine, and providers are not: these are not told.
            headers.update({GOVERNED: "1"} if URL(self._routes[prefix]).host in LOOPBACK_NAMES else {})
        answer = await self._asked(prefix, request, headers, sent.stream or sent.body)
        async with answer:
            return await self._answered(request, sent, answer, started)

    async def _plainly(self, prefix: str, request: web.Request, sent: Sent) -> web.StreamResponse:
        """Forward a request and its answer by the shortest path, after a fault: no call of ours can fail in it."""
        assert self._client is not None
        path = LAUNCHED.sub("", request.rel_url.raw_path_qs, count=1)
        address = self._routes[prefix] + path.removeprefix(prefix)
        dropped = HOP_BY_HOP | {GOVERNED.lower()}
        dropped |= {"content-encoding", "accept-encoding"} if sent.plain else frozenset()
        for left in range(KEPT_TRIES, -1, -1):
            connection: dict[str, bool] = {}
            try:
                answer = await self._client.request(
                    request.method,
                    URL(address, encoded=True),
                    data=sent.body,
                    headers=[(name, value) for name, value in request.headers.items() if name.lower() not in dropped],
                    skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                    allow_redirects=False,
                    proxy=self._web_proxies[prefix],
                    trace_request_ctx=connection,
                )
                break
            except ClientConnectionError:
                # As in ``_asked``: the upstream had closed a pooled connection.
                if not (left and connection.get("kept")):
                    raise
        async with answer:
            response = web.StreamResponse(status=answer.status, reason=answer.reason)
            response.headers.extend(
                (name, value) for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP
            )
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
        return response

    async def _asked(
        self, prefix: str, request: web.Request, headers: Mapping[str, str], data: bytes | AsyncIterator[bytes]
    ) -> ClientResponse:
        """The upstream's answer to a request, once its headers have arrived."""
        assert self._client is not None
        path = LAUNCHED.sub("", request.rel_url.raw_path_qs, count=1)
        upstream = self._routes[prefix]
        address = URL(upstream + path.removeprefix(prefix), encoded=True)
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
                    proxy=self._web_proxies[prefix],
                    trace_request_ctx=connection,
                )
            except ClientConnectionError:
                # The upstream had closed a pooled connection, which the agent by itself would not have used.
                if not (left and connection.get("kept") and isinstance(data, bytes)):
                    raise
        raise AssertionError("unreachable")

    async def _answered(
        self, request: web.Request, sent: Sent, answer: ClientResponse, started: list[web.StreamResponse]
    ) -> web.StreamResponse:
        """Forward the answer to the client as it arrives."""
        async with sent.lock:
            editor = self._passage.answer(sent, answer.status, answer.headers)
        encoded = editor is not None and "content-encoding" in answer.headers
        response = _Answer(status=answer.status, reason=answer.reason)
        response.headers.extend(_end_to_end(answer.headers, ("content-encoding",) if editor else ()))
        response.untyped = "content-type" not in answer.headers
        if answer.content_length is not None and editor is None:
            response.content_length = answer.content_length
        # What follows takes most of the time: the history is not kept in memory meanwhile.
        sent.body = b""
        started.append(response)
        await response.prepare(request)
        try:
            try:
                async for chunk in answer.content.iter_any():
                    # An encoded chunk may decode to thousands of times its size: decode it piece by piece.
                    for piece in portions(chunk) if encoded else (chunk,):
                        if out := piece if editor is None else await self._passage.edited(editor, piece):
                            await response.write(out)
            except (ClientError, TimeoutError, zlib.error, zstandard.ZstdError):
                # The upstream broke off in the middle: break off as well, so that the client notices.
                await response.write(b"" if editor is None else await self._passage.edited(editor))
                if request.transport is not None:
                    request.transport.close()
                return response
            if editor is not None:
                await response.write(await self._passage.edited(editor))
            await response.write_eof()
        except ConnectionResetError:
            # Some clients disconnect as soon as the answer is complete.
            return response
        return response


def _refusal(request: web.Request) -> web.Response | None:
    """The answer to a request that is not forwarded; None to any other."""
    if reason := foreign_origin(request.host, request.headers):
        return _error(403, reason)
    if request.method not in METHODS:
        return _error(405, f"found the method {request.method[:20]}, expected one of an API")
    if ".." in request.path.split("/"):
        return _error(400, "found a path that leads out of the API, expected one below it")
    if request.headers.get("upgrade", "").lower() == "websocket":
        # Codex falls back to HTTP after this status, and takes any other for a failure.
        return _error(426, "no WebSocket here, plain HTTP only")
    return None


class _InPieces(Payload):
    """A long body, written in pieces without copying it; other streams go on between them."""

    _value: bytes

    def __init__(self, body: bytes) -> None:
        """A payload of ``body``."""
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
    """The upstream sent no content type."""


async def _untyped(_: web.Request, response: web.StreamResponse) -> None:
    """Remove the content type that aiohttp adds to an answer without one."""
    if isinstance(response, _Answer) and response.untyped:
        response.headers.popall("content-type", None)


async def _body(request: web.Request) -> bytes | AsyncIterator[bytes]:
    """The body of a request, or a stream of it if it is too large to be read.

    aiohttp's own ``request.read`` would keep it until the answer has ended.
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
        return _remaining(chunks, request)
    if size <= AT_ONCE:
        return b"".join(chunks)
    # Copying takes long as well, and releases the interpreter lock.
    return await asyncio.get_running_loop().run_in_executor(None, b"".join, chunks)


async def _remaining(chunks: deque[bytes], request: web.Request) -> AsyncIterator[bytes]:
    """The chunks of a body that were read already, and the rest as it arrives."""
    while chunks:
        yield chunks.popleft()
    async for chunk in request.content.iter_any():
        yield chunk


def _tracing() -> TraceConfig:
    """A trace that notes for each request whether it used a pooled connection."""

    async def reused(_: ClientSession, context: Any, __: object) -> None:
        context.trace_request_ctx["kept"] = True

    tracing = TraceConfig()
    tracing.on_connection_reuseconn.append(reused)
    return tracing


def _web_proxy(upstream: URL, given: Mapping[str, str] | None) -> str | None:
    """The web proxy for an address, of those that are given or else of the environment's; None if there is none."""
    host = upstream.host or ""
    if given is not None:
        return None if reached_without(host, given.get("no", "")) else given.get(upstream.scheme) or None
    return None if proxy_bypass(host) else getproxies().get(upstream.scheme)


def reached_without(host: str, listed: str) -> bool:
    """Whether a host is one of those that ``no_proxy`` lists."""
    # The type stubs lack this function.
    return bool(proxy_bypass_environment(host, {"no": listed}))


def _end_to_end(headers: Mapping[str, str], without: Iterable[str] = ()) -> CIMultiDict[str]:
    """The headers that are forwarded."""
    named = headers.get("connection", "").lower().replace(" ", "").split(",")
    dropped = HOP_BY_HOP.union(named, without)
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in dropped)


def _error(status: int, message: str) -> web.Response:
    """An error answer of the proxy, in the shape that clients of these APIs read."""
    error = {"message": f"execledger proxy: {redact(message)}", "type": "proxy_error"}
    return web.json_response({"error": error}, status=status)
