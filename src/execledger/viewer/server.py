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
from execledger.viewer.runs import CHOICES, SORTABLE, Filter, NoSuchRun, Opened, OpenRuns, Shelf
from execledger.viewer.scan import Errand


class Presence:
    """When the server was last asked for something. Asked on one thread, told on any."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody has asked yet."""
        self._clock = clock
        self._last: float | None = None
        self._open = 0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Somebody is being answered; a stream is one answer that takes as long as the page is open."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._last = self._clock()

    def quiet(self) -> float | None:
        """Seconds since somebody was last answered; None if nobody ever was."""
        if self._open:
            return 0.0
        return None if self._last is None else self._clock() - self._last


T = TypeVar("T")

LIST_SECONDS = 2.0
"""How long the first list may wait for the runs to be found; what is found later comes with the next one."""
OPEN_SECONDS = 60.0
"""How long a run that is not known may be waited for, while places are still looked at for the first time."""
LOOK_SECONDS = 0.02
"""How often it is looked whether what is waited for has come."""
THREADS = 16
"""Threads that read runs, while the server answers: a few slow runs must not keep others waiting."""


class ViewerSettings(Struct, frozen=True, kw_only=True):
    """What is served, and how."""

    paths: tuple[str, ...]
    """Files, folders and archives with recorded runs."""
    policy: Policy | None = None
    """What runs are replayed under; None is their own, and journals are shown as they are."""
    newer: float = 0.0
    """Runs that began before this moment are left out."""
    port: int = 0
    """The port; 0 takes a free one."""
    taken: socket.socket | None = None
    """A socket that listens already, in place of a port."""
    resolver: Callable[[], Resolve | None] = lambda: None
    """Makes what knows the calls that shims in a rollout stand for."""
    pace: Pace = Pace()
    """How often things are done."""


STOP_SECONDS = 0.2
"""How long answers may go on when the server is told to stop: those that follow a run would never end."""


class Viewer(LocalServer):
    """Serves runs while it is entered."""

    def __init__(self, settings: ViewerSettings) -> None:
        """A viewer whose port is taken, and that is not running yet."""
        routes = Routes(settings)
        super().__init__(settings.port, routes.application, settings.taken, shutdown_timeout=STOP_SECONDS)
        self.presence = routes.presence
        """Whether anybody looks."""


class Routes:
    """What the page asks for."""

    def __init__(self, settings: ViewerSettings) -> None:
        """Nothing was looked for yet."""
        self._settings = settings
        self.presence = Presence()
        """Whether anybody looks."""

    def application(self) -> web.Application:
        """The routes."""
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
        """Hold what answers need while the server runs."""
        settings = self._settings
        self._shelf = Shelf(Errand(paths=settings.paths, policy=settings.policy, newer=settings.newer))
        self._open = OpenRuns(self._shelf, settings.policy, settings.resolver)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="execledger-view")
        yield
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._shelf.close()

    async def _aside(self, work: Callable[[], T]) -> T:
        """Do work on another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @web.middleware
    async def _noticed(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Note that somebody is there."""
        with self.presence.answering():
            return await handler(request)

    async def _here(self, request: web.Request) -> web.Response:
        """An open page says that it is still open."""
        return web.Response(status=204)

    async def _listed(self, seconds: float) -> None:
        """Wait until everything that is there was found, but not for longer than told; no thread waits with us."""
        until = time.monotonic() + seconds
        while not self._shelf.listed() and time.monotonic() < until:
            await asyncio.sleep(LOOK_SECONDS)

    async def _runs(self, request: web.Request) -> web.Response:
        sort = request.query.get("sort", "")
        if sort and sort not in SORTABLE:
            raise RequestRefused(400, f"`sort` is none of {', '.join(SORTABLE)}")
        self._shelf.look()
        await self._listed(LIST_SECONDS)
        chosen = Filter(
            **{name: request.query.get(name, "") for name in ("q", *CHOICES)},
            faults=request.query.get("faults", "") not in ("", "0"),
        )
        asked = partial(
            self._shelf.listing,
            chosen,
            sort,
            request.query.get("desc", "") not in ("", "0"),
            number(request, "offset", 0),
            number(request, "limit", 1000),
        )
        return answered(await self._aside(asked))

    async def _opened(self, identity: str) -> Opened:
        if self._shelf.find(identity) is None:
            await self._listed(OPEN_SECONDS)
        try:
            return await self._aside(partial(self._open.get, identity))
        except NoSuchRun as error:
            raise RequestRefused(404, error.message) from None

    async def _reached(self, identity: str, step: int | None) -> Opened:
        """The run, read up to a step, or to its end if that is None."""
        opened = await self._opened(identity)
        reading, steps = opened.reading, None if step is None else step + 1
        while not (reading.over or (steps is not None and len(reading.telling) >= steps)):
            await self._aside(partial(reading.read, self._settings.pace.chunk, steps))
            if reading.waits:
                break
        if step is not None and len(reading.telling) <= step:
            raise RequestRefused(404, f"there is no step {step} in this run, which has {len(reading.telling)}")
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
        """What is new behind the step that the page has, by the browser's word or else by its own."""
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
            # The viewer has left.
            return response
        return response


async def _page(kind: str, content: bytes, request: web.Request) -> web.Response:
    """A file of the page."""
    return packed(web.Response(body=content, content_type=kind, charset="utf-8"))


def number(request: web.Request, name: str, otherwise: int | None = None) -> int:
    """A number in the query of a request, at least 0."""
    text = request.query.get(name, "" if otherwise is None else str(otherwise))
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise RequestRefused(400, f"`{name}` is not a number, expected one from 0 on")
    return int(text)


def can_open(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser would have a screen; one that runs in the terminal is in nobody's interest."""
    return platform == "darwin" or any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def open_browser(url: str) -> None:
    """Open the address if that can be seen; a browser may take its time, so nobody waits for it."""
    if can_open(os.environ):
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
