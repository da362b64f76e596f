"""The viewer's HTTP server: its routes, when it was last used, and opening the user's browser."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler
from msgspec import Struct

from execledger.core.policy import Policy
from execledger.local_server.server import LocalServer
from execledger.session.adapter import Resolve
from execledger.viewer.assets import INDEX, kind_of, page_files
from execledger.viewer.compare import compare
from execledger.viewer.live import Pace, stream
from execledger.viewer.responses import RequestRefused, add_headers, answered, guarded, packed
from execledger.viewer.runs import CHOICES, SORTABLE, Filter, NoSuchRun, OpenRun, OpenRuns, RunList
from execledger.viewer.scan import ScanRequest


class Activity:
    """When the server was last used: updated on the event loop, read on any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Not used yet."""
        self._clock = clock
        self._last: float | None = None
        self._open = 0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request as open; an event stream is one request as long as its page is open."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._last = self._clock()

    def quiet(self) -> float | None:
        """Seconds since the last response ended, 0 while one is open; None if there was none."""
        if self._open:
            return 0.0
        return None if self._last is None else self._clock() - self._last


T = TypeVar("T")

LIST_SECONDS = 2.0
"""How many seconds the first list waits for the scan; runs found later come with the next list."""
OPEN_SECONDS = 60.0
"""How many seconds a request waits for a run that is not known yet, while the first scan goes on."""
LOOK_SECONDS = 0.02
"""Seconds between two checks while waiting."""
THREADS = 16
"""Threads that read runs beside the event loop: a few slow runs must not delay others."""


class ViewerSettings(Struct, frozen=True, kw_only=True):
    """What is served, and how."""

    paths: tuple[str, ...]
    """Files, folders and archives with recorded runs."""
    policy: Policy | None = None
    """The policy that runs are replayed under; None replays each under its own, and shows journals as recorded."""
    newer: float = 0.0
    """Runs that began before this time are left out."""
    port: int = 0
    """The port; 0 chooses a free one."""
    taken: socket.socket | None = None
    """A socket that is listening already, in place of a port."""
    resolver: Callable[[], Resolve | None] = lambda: None
    """Makes a function that finds the calls that shims in a rollout replaced."""
    pace: Pace = Pace()
    """Intervals of the event stream."""


STOP_SECONDS = 0.2
"""Seconds until open responses are cut when the server stops: event streams would never end."""


class Viewer(LocalServer):
    """The viewer's server, running while it is entered as a context."""

    def __init__(self, settings: ViewerSettings) -> None:
        """Bind the port; the server does not run yet."""
        routes = Routes(settings)
        super().__init__(settings.port, routes.application, settings.taken, shutdown_timeout=STOP_SECONDS)
        self.activity = routes.activity
        """When the page was last used."""


class Routes:
    """The request handlers of the page's API."""

    def __init__(self, settings: ViewerSettings) -> None:
        """Handlers for these settings; scanning starts with the application."""
        self._settings = settings
        self.activity = Activity()
        """When the page was last used."""

    def application(self) -> web.Application:
        """The web application with its routes."""
        app = web.Application(middlewares=[guarded, self._noticed])
        app.on_response_prepare.append(add_headers)
        app.cleanup_ctx.append(self._at_work)
        for name, content in page_files().items():
            page = partial(_page, kind_of(name), content)
            app.router.add_get("/" if name == INDEX else f"/{name}", page)
        run = "/api/runs/{id:[0-9a-f]{16}}"
        app.router.add_get("/api/here", self._here)
        app.router.add_get("/api/runs", self._runs)
        app.router.add_get(run, self._run)
        app.router.add_get(run + "/map", self._map)
        app.router.add_get(run + "/events", self._events)
        app.router.add_get(run + r"/steps/{step:\d{1,9}}", self._step)
        app.router.add_get(run + r"/output/{step:\d{1,9}}", self._output)
        app.router.add_get("/api/compare", self._compare)
        return app

    async def _at_work(self, _: web.Application) -> AsyncIterator[None]:
        """Start the scan and the threads, and stop them with the server."""
        settings = self._settings
        self._run_list = RunList(ScanRequest(paths=settings.paths, policy=settings.policy, newer=settings.newer))
        self._open = OpenRuns(self._run_list, settings.policy, settings.resolver)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="execledger-view")
        yield
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._run_list.close()

    async def _aside(self, work: Callable[[], T]) -> T:
        """Run work on another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @web.middleware
    async def _noticed(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Record that the page is in use."""
        with self.activity.answering():
            return await handler(request)

    async def _here(self, request: web.Request) -> web.Response:
        """Answer an open page's sign of life."""
        return web.Response(status=204)

    async def _listed(self, seconds: float) -> None:
        """Wait until the first scan is over, at most ``seconds``, without blocking a thread."""
        until = time.monotonic() + seconds
        while not self._run_list.listed() and time.monotonic() < until:
            await asyncio.sleep(LOOK_SECONDS)

    async def _runs(self, request: web.Request) -> web.Response:
        sort = request.query.get("sort", "")
        if sort and sort not in SORTABLE:
            raise RequestRefused(400, f"`sort` is none of {', '.join(SORTABLE)}")
        self._run_list.look()
        await self._listed(LIST_SECONDS)
        chosen = Filter(
            **{name: request.query.get(name, "") for name in ("q", *CHOICES)},
            faults=request.query.get("faults", "") not in ("", "0"),
        )
        asked = partial(
            self._run_list.listing,
            chosen,
            sort,
            request.query.get("desc", "") not in ("", "0"),
            number(request, "offset", 0),
            number(request, "limit", 1000),
        )
        return answered(await self._aside(asked))

    async def _opened(self, identity: str) -> OpenRun:
        if self._run_list.find(identity) is None:
            await self._listed(OPEN_SECONDS)
        try:
            return await self._aside(partial(self._open.get, identity))
        except NoSuchRun as error:
            raise RequestRefused(404, error.message) from None

    async def _reached(self, identity: str, step: int | None) -> OpenRun:
        """The run, read up to a step, or to its end if that is None."""
        opened = await self._opened(identity)
        reading, steps = opened.reading, None if step is None else step + 1
        while not (reading.over or (steps is not None and len(reading.model) >= steps)):
            await self._aside(partial(reading.read, self._settings.pace.chunk, steps))
            if reading.waits:
                break
        if step is not None and len(reading.model) <= step:
            raise RequestRefused(404, f"there is no step {step} in this run, which has {len(reading.model)}")
        return opened

    async def _run(self, request: web.Request) -> web.Response:
        opened = await self._opened(request.match_info["id"])
        await self._aside(partial(opened.reading.read, self._settings.pace.first))
        return answered(await self._aside(lambda: opened.reading.answer(live=opened.lives())))

    async def _map(self, request: web.Request) -> web.Response:
        at = number(request, "at")
        opened = await self._reached(request.match_info["id"], at)
        return answered({"files": await self._aside(partial(opened.reading.map_at, at))})

    async def _step(self, request: web.Request) -> web.Response:
        index = int(request.match_info["step"])
        opened = await self._reached(request.match_info["id"], index)
        return answered(await self._aside(partial(opened.reading.step, index)))

    async def _output(self, request: web.Request) -> web.Response:
        """An output, or a part of it, as plain text."""
        index, offset = int(request.match_info["step"]), number(request, "offset", 0)
        opened = await self._reached(request.match_info["id"], index)
        text = await self._aside(partial(opened.reading.output, index))
        part = text[offset : offset + number(request, "length", len(text))]
        response = web.Response(body=part.encode("utf-8", "replace"), content_type="text/plain", charset="utf-8")
        response.headers["X-Total-Characters"] = str(len(text))
        return packed(response)

    async def _compare(self, request: web.Request) -> web.Response:
        one, other = [(await self._reached(request.query.get(name, ""), None)).reading for name in "ab"]
        return answered(await self._aside(partial(compare, one, other)))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Stream the steps after the last that the page has, by ``Last-Event-ID`` or else by the query."""
        last = request.headers.get("Last-Event-ID", "")
        after = int(last) if last.isascii() and last.isdecimal() and len(last) < 10 else number(request, "after", 0)
        identity = request.match_info["id"]
        await self._opened(identity)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            async for event in stream(partial(self._open.get, identity), after, self._aside, self._settings.pace):
                await response.write(event)
        except ConnectionResetError:
            # The browser closed the stream.
            return response
        return response


async def _page(kind: str, content: bytes, request: web.Request) -> web.Response:
    """Answer with one of the page's files."""
    return packed(web.Response(body=content, content_type=kind, charset="utf-8"))


def number(request: web.Request, name: str, otherwise: int | None = None) -> int:
    """A number of at least 0 in the query of a request; raises ``Refused``."""
    text = request.query.get(name, "" if otherwise is None else str(otherwise))
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise RequestRefused(400, f"`{name}` is not a number, expected one from 0 on")
    return int(text)


def can_open(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a graphical browser can be opened; one in the terminal would take the screen from the agent."""
    return platform == "darwin" or any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def open_browser(url: str) -> None:
    """Open the address in a graphical browser, if there is one, without waiting for it."""
    if can_open(os.environ):
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
