"""The client's side of the proxy's benchmarks: one request measured, and many connections at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple, TypeVar

from aiohttp import ClientSession, ClientTimeout, TCPConnector

from benchmarks._client_sessions import ClientSession as Client
from benchmarks._proxy_stacks import KEY, Stack
from benchmarks._wires import LONG

T = TypeVar("T")
LIMIT = 300.0
"""Seconds that one answer may take."""
IDLE = 3.0
"""Seconds after which a connection is not used again: some servers close it after five."""


class Reply(NamedTuple):
    """One answer."""

    first: float
    """Seconds until its first byte."""
    data: bytes
    """All of it."""


class Rate(NamedTuple):
    """What a stack does in a second."""

    requests: float
    """Requests answered."""
    events: float
    """Events passed on."""


def connections() -> ClientSession:
    """A client that keeps its connections, as many as are asked for."""
    authorized = {"authorization": f"Bearer {KEY}"}
    connector = TCPConnector(limit=0, keepalive_timeout=IDLE)
    return ClientSession(connector=connector, timeout=ClientTimeout(total=LIMIT), headers=authorized)


async def ask(client: ClientSession, stack: Stack, session: Client, body: bytes) -> Reply:
    """Send a request and read its answer."""
    url = stack.address(session.wire)
    start = time.perf_counter()
    async with client.post(url, data=body, headers=session.headers) as answer:
        chunks = [await answer.content.readany()]
        first = time.perf_counter() - start
        chunks += [chunk async for chunk in answer.content.iter_any()]
        data = b"".join(chunks)
        assert answer.status == 200, f"{url}: status {answer.status}: {data[:500]!r}"
        assert session.wire.done in data, f"{url}: the answer broke off: {data[-500:]!r}"
        return Reply(first, data)


async def step(client: ClientSession, stack: Stack, session: Client) -> Reply:
    """One step of a session: a request, its answer, and what that proposes is run."""
    reply = await ask(client, stack, session, session.body())
    session.take(reply.data)
    return reply


async def explain(client: ClientSession, stack: Stack, session: Client) -> Reply:
    """A request that is answered in many words."""
    return await ask(client, stack, session, session.body(last=LONG))


async def at_once(many: int, sessions: Iterable[Client], work: Callable[[Client], Awaitable[Reply]]) -> Rate:
    """Work through the sessions on so many connections; what was done per second."""
    waiting = iter(sessions)

    async def connection() -> list[Reply]:
        return [await work(session) for session in waiting]

    start = time.perf_counter()
    replies = [reply for done in await asyncio.gather(*(connection() for _ in range(many))) for reply in done]
    seconds = time.perf_counter() - start
    return Rate(len(replies) / seconds, sum(reply.data.count(b"data: {") for reply in replies) / seconds)
