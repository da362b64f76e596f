"""A web server on loopback, in a thread of its own, that runs while it is entered."""

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

from execledger.loopback import BACKLOG, HOST, listening


class _Faults(logging.Filter):
    """Lets faults of the server be told, and no requests that are none: those are answered, and are others' faults."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this is told."""
        return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


LOGGER = logging.getLogger("execledger.serving")
"""Where faults of the server are told."""
LOGGER.addFilter(_Faults())


class _Accepting:
    """Handles errors of the event loop: that no connection can be accepted is reported once, not for every attempt."""

    def __init__(self) -> None:
        self._said = False

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Called by the event loop."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)):
            loop.default_exception_handler(context)
        elif not self._said:
            self._said = True
            LOGGER.warning(
                "execledger: no more files can be opened (ulimit -n): new connections wait for old ones to end"
            )


class Serving:
    """A server that is about to run, or runs."""

    def __init__(
        self, port: int, application: Callable[[], web.Application], taken: socket.socket | None = None, **options: Any
    ) -> None:
        """The port is taken, 0 is any that is free; ``application`` makes what is served there, with ``options``.

        A socket that was ``taken`` before, by another process perhaps, stands in place of the port.
        """
        self._application = application
        self._options = options
        self._socket = listening(port) if taken is None else taken
        self.port: int = self._socket.getsockname()[1]
        """The port that it listens on."""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="execledger-serving", daemon=True)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}/"

    def __enter__(self) -> Self:
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
        self._loop.set_exception_handler(_Accepting())
        try:
            self._loop.run_until_complete(self._serve())
        except Exception as error:
            self._failure = error
        finally:
            self._ready.set()
            self._loop.close()

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
