"""A round trip on loopback: a small upstream, the proxy before it, one streamed request; and the viewer's page."""

from __future__ import annotations

import asyncio
import http.client
import json
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from execledger.doctor.environment import passes_by
from execledger.doctor.findings import Finding
from execledger.extras import install_command, missing
from execledger.local_server.loopback import HOST

if TYPE_CHECKING:
    from aiohttp import web

EVENTS = [
    f'event: response.{name}\ndata: {{"type": "response.{name}"}}\n\n'.encode() for name in ("created", "completed")
]
"""What the upstream streams."""
REQUEST = json.dumps({"model": "doctor", "stream": True, "input": [{"type": "message", "role": "user", "content": []}]})
"""What is asked of it."""
SECONDS = 60.0
"""How long an answer may take."""


def proxy() -> Iterator[Finding]:
    """One streamed request through the proxy and back."""
    if missing("proxy"):
        yield Finding("proxy", "note", "not installed", install_command("proxy"))
        return
    if not passes_by():
        # The proxy would ask the same web proxy for the upstream that we are about to start.
        yield Finding("proxy", "note", "not tried, since a web proxy is asked for addresses on this machine")
        return
    from execledger.agents.registry import proxy_adapter
    from execledger.local_server.server import LocalServer
    from execledger.proxy.serve import Proxy, ProxySettings

    with (
        LocalServer(0, _upstream) as upstream,
        Proxy(
            ProxySettings(adapter=proxy_adapter(dialect="responses"), upstream=upstream.url.rstrip("/") + "/v1")
        ) as relay,
    ):
        status, body = _asked(relay.port, "POST", "/v1/responses", REQUEST)
    if (status, body) == (200, b"".join(EVENTS)):
        yield Finding("proxy", "ok", f"a streamed request came back whole through {HOST}, {len(body)} bytes")
    else:
        found = f"a streamed request came back with status {status} and {len(body)} bytes, not as it was sent"
        yield Finding("proxy", "fix", found, "see whether something on this machine changes what passes on loopback")


def viewer() -> Iterator[Finding]:
    """The page."""
    if missing("view"):
        yield Finding("viewer", "note", "not installed", install_command("view"))
        return
    from execledger.viewer.server import Viewer, ViewerSettings

    with (
        tempfile.TemporaryDirectory(prefix="execledger-doctor-") as empty,
        Viewer(ViewerSettings(paths=(empty,))) as page,
    ):
        status, body = _asked(page.port, "GET", "/", "")
    good = status == 200 and b"<html" in body
    fix = "" if good else "see whether something on this machine answers in its place"
    yield Finding("viewer", "ok" if good else "fix", f"its page came back with status {status}", fix)


def _upstream() -> web.Application:
    """A model's server that says two words."""
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in EVENTS:
            await response.write(event)
            # The next one is a piece of its own.
            await asyncio.sleep(0)
        return response

    application = web.Application()
    application.router.add_post("/v1/responses", answer)
    return application


def _asked(port: int, method: str, path: str, body: str) -> tuple[int, bytes]:
    """An answer, past whatever web proxy the environment names."""
    connection = http.client.HTTPConnection(HOST, port, timeout=SECONDS)
    try:
        connection.request(method, path, body or None, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
