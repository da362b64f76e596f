"""What is new in a run, sent as it comes: server-sent events with the number of steps as their id.

A viewer that comes late gets the whole run, one that comes back the steps behind the last it has seen. A long recorded
run is sent in the same way while it is being read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from execledger.viewer.encoding import encoded
from execledger.viewer.model import News
from execledger.viewer.opening import Opened

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


async def stream(reopen: Callable[[], Opened], after: int, aside: Aside, pace: Pace) -> AsyncIterator[bytes]:
    """The events of a run behind step ``after``, until it is over; ``reopen`` gives the run as it stands."""
    yield RETRY
    sent, silence = after, 0.0
    while True:
        opened: Opened = await aside(reopen)
        reading = opened.reading
        await aside(partial(reading.read, pace.chunk))
        at_end = reading.waits or reading.over
        if at_end and len(reading.telling) < sent:
            # Another run stands in the file by now.
            sent = 0
        if len(reading.telling) > sent:
            news: News = await aside(partial(reading.news, sent, live=opened.lives()))
            sent = news.first + len(news.steps.category)
            yield event("steps", news, sent)
            silence = 0.0
        elif at_end and not opened.lives():
            yield event("end", {"line": await aside(reading.line)}, sent)
            return
        elif at_end:
            await asyncio.sleep(pace.poll)
            silence += pace.poll
            if silence >= pace.heartbeat:
                yield HEARTBEAT
                silence = 0.0


def event(kind: str, data: object, number: int) -> bytes:
    """One event; JSON has no line break in it, so it is one line."""
    return b"event: %b\nid: %d\ndata: %b\n\n" % (kind.encode(), number, encoded(data))
