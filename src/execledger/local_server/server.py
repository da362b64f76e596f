"""A web server on loopback in a thread of its own, started and stopped as a context manager."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from execledger.local_server.loopback import BACKLOG, HOST, loopback_socket


class _ServerFaults(logging.Filter):
    """Keeps malformed requests out of the log: they are answered with an error, and are no fault of the server."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


LOGGER = logging.getLogger("execledger.local_server.server")
"""Logs faults of the server."""
LOGGER.addFilter(_ServerFaults())


class _LoopErrors:
    """Handles errors of the event loop; running out of file descriptors is logged once, not for every attempt."""

    def __init__(self) -> None:
        self._logged = False

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Called by the event loop."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)):
            loop.default_exception_handler(context)
        elif not self._logged:
            self._logged = True
            LOGGER.warning(
                "execledger: no more files can be opened (ulimit -n): new connections wait for old ones to end"
            )


class LocalServer:
    """A server on loopback: its socket listens at once, requests are answered while it is entered."""

    def __init__(
        self, port: int, application: Callable[[], web.Application], taken: socket.socket | None = None, **options: Any
    ) -> None:
        """Listen on ``port`` (0 takes a free one), or on the socket ``taken`` that was opened before.

        ``application`` builds the routes on the server's thread; ``options`` go to aiohttp's ``AppRunner``.
        """
        self._application = application
        self._options = options
        self._socket = loopback_socket(port) if taken is None else taken
        self.port: int = self._socket.getsockname()[1]
        """The port of its socket."""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="execledger-serving", daemon=True)

    @property
    def url(self) -> str:
        """Its base address."""
        return f"http://{HOST}:{self.port}/"

    def __enter__(self) -> Self:
        """Start the thread; an error during startup is raised here."""
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server and join its thread."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def discard(self) -> None:
        """Close a server that was never entered; one that was has closed itself."""
        if self._thread.ident is None:
            self._socket.close()
            self._loop.close()

    def _run(self) -> None:
        # Signals belong to the main thread: one delivered here would not wake it.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._loop.set_exception_handler(_LoopErrors())
            self._loop.run_until_complete(self._serve())
        except Exception as error:
            self._failure = error
        finally:
            # What has failed before it listened leaves the socket open.
            self._socket.close()
            self._loop.close()
            self._ready.set()

    async def _serve(self) -> None:
        runner = web.AppRunner(
            self._application(), access_log=None, handler_cancellation=True, **{"logger": LOGGER, **self._options}
        )
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket, backlog=BACKLOG).start()
            self._ready.set()
            await self._stop.wait()
        finally:
            await runner.cleanup()
