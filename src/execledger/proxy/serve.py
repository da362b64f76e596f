"""A running proxy: on loopback, in a thread of its own, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType

from aiohttp import web
from msgspec import Struct
from yarl import URL

from execledger.agents import codex
from execledger.errors import LedgerError
from execledger.journal.summary import RunSummary
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from execledger.proxy.relay import MAX_HEADER, PREFIX, Relay
from execledger.proxy.responses import Responses

HOST = "127.0.0.1"
"""Where the proxy listens: keys pass through it, so nowhere else."""
BACKLOG = 1024
"""Connections that may wait to be taken: many agents can start at once."""
READ_BYTES = 1_048_576
"""How much of a request is taken at a time: most histories in one piece."""
JOURNAL_SECONDS = 0.01
"""How long the journal waits: by then the request is on its way, and its agent waits for the model."""
STOP_SECONDS = 2.0
"""How long streams may go on when the proxy is told to stop."""

_SILENT = logging.Logger("execledger.proxy", logging.CRITICAL + 1)


class Settings(Struct, frozen=True, kw_only=True):
    """How a proxy is started."""

    upstream: str
    """The base address of the model's API."""
    rules: Rules = Rules()
    """What is done with conversations."""
    edits: Path | None = None
    """Where edits are remembered; None remembers them in memory only."""
    port: int = 0
    """The port; 0 takes a free one."""
    pass_through: bool = False
    """Change nothing, not a byte."""


class Proxy:
    """Serves while it is entered."""

    def __init__(self, settings: Settings) -> None:
        """A proxy whose port is taken, so that an agent can be told of it, and that is not running yet."""
        _check(settings.upstream)
        self._socket = _listening(settings.port)
        self.port: int = self._socket.getsockname()[1]
        """The port that it listens on."""
        self.summaries: Sequence[RunSummary] = ()
        """What the sessions came to."""
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="execledger-proxy", daemon=True)

    @property
    def url(self) -> str:
        """The base address that an agent is given."""
        return f"http://{HOST}:{self.port}{PREFIX}"

    def __enter__(self) -> Proxy:
        """Start to serve."""
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and let go of everything."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        # Signals are the main thread's: one that was delivered here would not wake it.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._loop.run_until_complete(self._serve())
        except Exception as error:
            self._failure = error
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        """Serve until told to stop."""
        _allow_many_files()
        settings, dialect = self._settings, Responses()
        store = _opened(settings)
        later = partial(self._loop.call_later, JOURNAL_SECONDS)
        book = Book(settings.rules, dialect, codex, store, later)
        self.summaries = book.summaries
        tell, through = settings.rules.tell, settings.pass_through
        relay = Relay(settings.upstream, Passage(book, dialect, codex, store, pass_through=through, tell=tell))
        runner = web.AppRunner(
            relay.application(),
            access_log=None,
            # What is wrong with a request is told to whoever sent it; a log would quote its keys.
            logger=_SILENT,
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
            handler_cancellation=True,
            auto_decompress=False,
            read_bufsize=READ_BYTES,
            shutdown_timeout=STOP_SECONDS,
        )
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket, backlog=BACKLOG).start()
            self._ready.set()
            await self._stop.wait()
        finally:
            await runner.cleanup()
            store.close()


def _check(upstream: str) -> None:
    """An address that is none is better known before anything is started."""
    try:
        url = URL(upstream)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host:
        hint = "one is like https://api.openai.com/v1"
        raise LedgerError(f"{upstream!r} can't be sent on to: found no address of a server", hint=hint)


def _opened(settings: Settings) -> EditStore:
    """The remembered edits; where they can't be kept, those of this run alone."""
    try:
        return EditStore(settings.edits)
    except (OSError, sqlite3.Error) as error:
        settings.rules.tell(f"Ledger can't keep its edits in {settings.edits}, a later run won't know them: {error}")
        return EditStore(None)


def _listening(port: int) -> socket.socket:
    """A socket on loopback, and nowhere else."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((HOST, port))
        taken.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        taken.close()
        raise LedgerError(f"port {port} can't be listened on: {getattr(error, 'strerror', None) or error}") from error
    return taken


def _allow_many_files() -> None:
    """Every session has a journal and two connections: ask for as many files as the system allows."""
    with suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536) if most > 0 else 65_536, most))
