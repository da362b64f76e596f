"""A running proxy: on loopback, in a thread of its own, until it is told to stop."""

from __future__ import annotations

import gc
import logging
import resource
import sys
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from aiohttp import web
from msgspec import Struct
from yarl import URL

from execledger.errors import LedgerError
from execledger.journal.pause import Pause
from execledger.local_server.loopback import LOOPBACK_NAMES
from execledger.local_server.server import LocalServer
from execledger.proxy.book import Book, Rules
from execledger.proxy.clients import Clients
from execledger.proxy.edits import EditStore, open_edits
from execledger.proxy.passage import Passage
from execledger.proxy.relay import MAX_HEADER, PREFIX, Relay
from execledger.proxy.worker import Work, Worker
from execledger.runs.account import Account
from execledger.session.adapter import Adapter

READ_BYTES = 1_048_576
"""How much of a request is taken at a time: most histories in one piece."""
KEPT_BYTES = 16_777_216
"""Memory below this size is kept when it is freed: more than any history takes."""
JOURNAL_SECONDS = 0.01
"""How long the journal waits: by then the request is on its way, and its agent waits for the model."""
SWITCH_SECONDS = 0.0005
"""How long the worker may go on when the event loop has something to do: for each answer it may wait some times."""
THRESHOLDS = (1000, 4, 4)
"""How many new objects a garbage collection looks at; a full one at some 16,000, which takes a few milliseconds."""
FULL_COLLECTION = 2
"""The generation of a garbage collection that looks at everything."""
STOP_SECONDS = 2.0
"""How long streams may go on when the proxy is told to stop."""

_SILENT = logging.Logger("execledger.proxy", logging.CRITICAL + 1)


class ProxySettings(Struct, frozen=True, kw_only=True):
    """How a proxy is started."""

    adapter: Adapter | Clients
    """What translates the tools of the agents that use the proxy: one adapter for all, or a choice per request."""
    upstream: str = ""
    """The base address of the model's API; "" if all requests use ``routes``."""
    rules: Rules = Rules()
    """What is done with conversations."""
    prefix: str = PREFIX
    """The path prefix of the agent's requests that ``upstream`` replaces."""
    routes: Mapping[str, str] = {}
    """Further path prefixes, such as ``/claude``, each with the base address that replaces it."""
    edits: Path | None = None
    """Where edits are remembered; None remembers them in memory only."""
    port: int = 0
    """The port; 0 takes a free one."""
    pass_through: bool = False
    """Change nothing, not a byte."""
    web_proxies: Mapping[str, str] | None = None
    """Web proxies by scheme, and as ``no`` the hosts that are reached without one; None takes the environment's."""
    route_proxies: Mapping[str, Mapping[str, str]] = {}
    """The same for single routes, by their path prefixes, in place of ``web_proxies``."""


class Proxy(LocalServer):
    """Serves while it is entered; its port is taken before, so that an agent can be told of it."""

    def __init__(self, settings: ProxySettings) -> None:
        """A proxy that is not running yet."""
        for upstream in _routes(settings).values():
            _check(upstream)
        super().__init__(
            settings.port,
            self._built,
            # What is wrong with a request is told to whoever sent it; a log would quote its keys.
            logger=_SILENT,
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
            auto_decompress=False,
            read_bufsize=READ_BYTES,
            shutdown_timeout=STOP_SECONDS,
        )
        try:
            for upstream in _routes(settings).values():
                _check_apart(upstream, self.port)
        except Exception:
            self.discard()
            raise
        self.summaries: Sequence[Account] = ()
        """What the sessions came to."""
        self._passage: Passage | None = None
        self._settings = settings

    @property
    def asked_to_act(self) -> bool:
        """Whether a request asked a model to act."""
        return self._passage is not None and self._passage.asked_to_act

    @property
    def url(self) -> str:
        """The base address that an agent is given."""
        return self.base(self._settings.prefix)

    def base(self, prefix: str) -> str:
        """The base address of the route with this path prefix."""
        return super().url.rstrip("/") + prefix

    def _built(self) -> web.Application:
        """The relay with everything behind it."""
        _allow_many_files()
        _keep_memory()
        settings, worker = self._settings, Worker()
        store = open_edits(settings.edits, settings.rules.tell)
        book = Book(settings.rules, settings.adapter, store, partial(self._later, worker))
        self.summaries = book.summaries
        tell, through = settings.rules.tell, settings.pass_through
        self._passage = Passage(book, pass_through=through, paused=Pause(), tell=tell, runner=worker)
        routes, of_all = _routes(settings), settings.web_proxies
        given = {} if of_all is None else dict.fromkeys(routes, of_all)
        app = Relay(routes, self._passage, {**given, **settings.route_proxies}).application()
        app.cleanup_ctx.append(partial(_closing, store))
        app.cleanup_ctx.append(_short_collections)
        app.cleanup_ctx.append(_quick_switches)
        return app

    def _later(self, worker: Worker, work: Work[None]) -> None:
        """Run ``work`` when its request is on its way; called on the loop or on the thread of the worker."""
        if threading.current_thread() is self._thread:
            self._loop.call_later(JOURNAL_SECONDS, worker.start, work)
        else:
            self._loop.call_soon_threadsafe(self._loop.call_later, JOURNAL_SECONDS, worker.start, work)


async def _closing(store: EditStore, _: web.Application) -> AsyncIterator[None]:
    """Let go of the store at the end."""
    yield
    store.close()


async def _short_collections(_: web.Application) -> AsyncIterator[None]:
    """Keep Python's garbage collections short: what has survived a full one is not looked at again.

    A full collection looks at every object and stops all threads: with the histories of a day in memory, for seconds.
    What is given up is freed all the same, unless it refers to itself in a circle; ledgers and histories do not.
    """

    def freeze(phase: str, collected: dict[str, int]) -> None:
        if phase == "stop" and collected["generation"] == FULL_COLLECTION:
            gc.freeze()

    before = gc.get_threshold()
    gc.freeze()
    gc.callbacks.append(freeze)
    gc.set_threshold(*THRESHOLDS)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(freeze)
    gc.unfreeze()


async def _quick_switches(_: web.Application) -> AsyncIterator[None]:
    """Have Python switch between threads more often while the proxy runs, so that the event loop waits less."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    yield
    sys.setswitchinterval(before)


def _routes(settings: ProxySettings) -> dict[str, str]:
    """Every path prefix with its upstream."""
    own = {settings.prefix: settings.upstream} if settings.upstream or not settings.routes else {}
    return {**settings.routes, **own}


def _check(upstream: str) -> None:
    """An address that is none is better known before anything is started."""
    try:
        url = URL(upstream)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host or any(map(str.isspace, upstream)):
        hint = "one is like https://api.openai.com/v1"
        raise LedgerError(f"{upstream!r} can't be sent on to: found no address of a server", hint=hint)


def _check_apart(upstream: str, port: int) -> None:
    """An upstream is not the proxy itself, which is on this port."""
    if _leads_to(upstream, port):
        hint = "name the address of the model's API, and not the proxy's own"
        raise LedgerError(f"{upstream!r} is this proxy itself: requests would go round in circles", hint=hint)


def _leads_to(upstream: str, port: int) -> bool:
    """Whether an address is that of a port on this machine."""
    url = URL(upstream)
    host = (url.host or "").rstrip(".")
    # The system takes 0.0.0.0 for this machine as well.
    near = host in LOOPBACK_NAMES or host.endswith(".localhost") or host in ("0.0.0.0", "::", "::ffff:127.0.0.1")
    return near and url.port == port


def _keep_memory() -> None:
    """Have the C library keep freed memory for the next request, where it is glibc.

    It takes every larger block anew from the system, until one of them was freed: from then on it keeps what is below
    that size. Without this, a third of the time for passing on a long history goes into pages that were just given up.
    """
    bytes(KEPT_BYTES)


def _allow_many_files() -> None:
    """Every session has a journal and two connections: ask for as many files as the system allows."""
    with suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536) if most > 0 else 65_536, most))
