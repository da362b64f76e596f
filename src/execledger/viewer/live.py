"""What is new in a run, sent as it comes: server-sent events with the number of steps as their id.

A viewer that comes late gets the whole run, one that comes back the steps behind the last it has seen. A long recorded
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
from execledger.viewer.model import News
from execledger.viewer.reading import Reading
from execledger.viewer.responses import encoded
from execledger.viewer.runs import NoSuchRun, Opened

Aside: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Does work on another thread."""

HEARTBEAT = b": still here\n\n"
"""What is sent so that neither side takes the other for gone."""
RETRY = b"retry: 1000\n\n"
"""How long a viewer waits before it comes back, in milliseconds."""


class Pace(Struct, frozen=True, kw_only=True):
    """How often things are done, in seconds."""

    first: float = 0.15
    """How long a run is read before it is shown for the first time."""
    chunk: float = 0.2
    """How long it is read on between two events."""
    poll: float = 0.3
    """How often a journal is looked at."""
    heartbeat: float = 15.0
    """How long nothing may be sent."""


class End(Struct, frozen=True, kw_only=True):
    """Why nothing more is sent."""

    reason: Literal["finished", "left", "gone", "trouble"]
    """The run is over, nobody writes its journal any more, its file is gone, or it can't be read any further."""
    words: str = ""
    """What the trouble is."""
    line: RunLine | None = None
    """The run in one line; None if nothing was read."""
    trouble: tuple[str, ...] = ()
    """What was not as it should be in the file."""


async def stream(reopen: Callable[[], Opened], after: int, aside: Aside, pace: Pace) -> AsyncIterator[bytes]:
    """The events of a run behind step ``after``, until it is over; ``reopen`` gives the run as it stands."""
    yield RETRY
    sent, silence = after, 0.0
    reading: Reading | None = None
    while True:
        try:
            opened: Opened = await aside(reopen)
            reading = opened.reading
            await aside(partial(reading.read, pace.chunk))
        except (LedgerError, OSError) as error:
            yield event("end", await aside(partial(_broken, error, reading)), sent)
            return
        at_end = reading.waits or reading.over
        if at_end and len(reading.telling) < sent:
            # Another run stands in the file by now.
            sent = 0
        lives: bool = await aside(opened.lives)
        if len(reading.telling) > sent:
            news: News = await aside(partial(reading.news, sent, live=lives))
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


def _ended(reopen: Callable[[], Opened], reading: Reading) -> End:
    """The end of a run that was read as far as it goes, unless it does not live because its file went just now."""
    try:
        reopen()
    except (LedgerError, OSError) as error:
        return _broken(error, reading)
    trouble = reading.trouble()
    reason: Literal["finished", "left"] = "finished" if reading.over else "left"
    return End(reason=reason, line=reading.line(), trouble=trouble)


def _broken(error: LedgerError | OSError, reading: Reading | None) -> End:
    """The end of a run whose file does not give more."""
    gone = isinstance(error, NoSuchRun | FileNotFoundError)
    words = error.message if isinstance(error, LedgerError) else error.strerror or str(error)
    return End(reason="gone" if gone else "trouble", words=words, line=reading.line() if reading else None)


def event(kind: str, data: object, number: int) -> bytes:
    """One event; JSON has no line break in it, so it is one line."""
    return b"event: %b\nid: %d\ndata: %b\n\n" % (kind.encode(), number, encoded(data))
