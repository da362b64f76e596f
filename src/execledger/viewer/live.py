"""New steps of a run as server-sent events, whose ids are numbers of steps.

A page that connects late gets the whole run, one that reconnects the steps after the last that it has. A long recorded
run is sent in the same way while it is being read. The last event says why there are no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from execledger.errors import LedgerError
from execledger.viewer.counting import RunLine
from execledger.viewer.encoding import encoded
from execledger.viewer.model import NewSteps
from execledger.viewer.reading import Reading
from execledger.viewer.runs import NoSuchRun, OpenRun

Aside: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs work on another thread."""

HEARTBEAT = b": still here\n\n"
"""A comment that keeps the connection open."""
RETRY = b"retry: 1000\n\n"
"""Tells browsers to reconnect after so many milliseconds."""


class Pace(Struct, frozen=True, kw_only=True):
    """Intervals of an event stream, in seconds."""

    first: float = 0.15
    """How long a run is read before it is first shown."""
    chunk: float = 0.2
    """How long it is read on between two events."""
    poll: float = 0.3
    """How often a journal is checked for new events."""
    heartbeat: float = 15.0
    """The longest silence before a comment is sent."""


class End(Struct, frozen=True, kw_only=True):
    """The last event of a stream: why nothing more is sent."""

    reason: Literal["finished", "left", "gone", "trouble"]
    """The run has ended, its journal is not written any more, its file is gone, or it can't be read any further."""
    words: str = ""
    """The error in words."""
    line: RunLine | None = None
    """The run in one line; None if nothing was read."""
    trouble: tuple[str, ...] = ()
    """Damage found in the file."""


async def stream(reopen: Callable[[], OpenRun], after: int, aside: Aside, pace: Pace) -> AsyncIterator[bytes]:
    """The event stream of a run after step ``after``, until it ends; ``reopen`` gives the run as it is now."""
    yield RETRY
    sent, silence = after, 0.0
    reading: Reading | None = None
    while True:
        try:
            opened: OpenRun = await aside(reopen)
            reading = opened.reading
            await aside(partial(reading.read, pace.chunk))
        except (LedgerError, OSError) as error:
            yield event("end", await aside(partial(_broken, error, reading)), sent)
            return
        at_end = reading.waits or reading.over
        if at_end and len(reading.model) < sent:
            # Another run is in the file by now.
            sent = 0
        lives: bool = await aside(opened.lives)
        if len(reading.model) > sent:
            news: NewSteps = await aside(partial(reading.news, sent, live=lives))
            sent = news.first + len(news.steps.category)
            yield event("steps", news, sent)
            silence = 0.0
        elif at_end and not lives:
            yield event("end", await aside(partial(_ended, reopen, reading)), sent)
            return
        elif at_end:
            await asyncio.sleep(pace.poll)
            silence += pace.poll
            if silence >= pace.heartbeat:
                yield HEARTBEAT
                silence = 0.0


def _ended(reopen: Callable[[], OpenRun], reading: Reading) -> End:
    """The end of a run that was read as far as it goes, or of one whose file was deleted just now."""
    try:
        reopen()
    except (LedgerError, OSError) as error:
        return _broken(error, reading)
    trouble = reading.trouble()
    reason: Literal["finished", "left"] = "finished" if reading.over else "left"
    return End(reason=reason, line=reading.line(), trouble=trouble)


def _broken(error: LedgerError | OSError, reading: Reading | None) -> End:
    """The end of a run whose file can't be read any further."""
    gone = isinstance(error, NoSuchRun | FileNotFoundError)
    words = error.message if isinstance(error, LedgerError) else error.strerror or str(error)
    return End(reason="gone" if gone else "trouble", words=words, line=reading.line() if reading else None)


def event(kind: str, data: object, number: int) -> bytes:
    """One server-sent event; JSON has no line breaks, so the data is one line."""
    return b"event: %b\nid: %d\ndata: %b\n\n" % (kind.encode(), number, encoded(data))
