"""Server-sent events, split from a byte stream wherever it was cut, and never altered."""

from __future__ import annotations

import re

from execledger.proxy.limits import MAX_EVENT

_END = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
"""The blank line that ends an event; the groups are atomic so that one ``\\r\\n`` is never taken for two ends."""
_REACH = 3
"""Bytes of an end that may stand before the chunk with its last one."""


class Piece(bytes):
    """A part of an event that is too long to be held: it is passed on, and not read."""


class Events:
    """Takes chunks and gives whole events, each with the blank line that ends it; no byte is lost or changed."""

    def __init__(self, most: int = MAX_EVENT) -> None:
        """Nothing was fed yet; an event of more than ``most`` bytes comes in pieces."""
        self._most = most
        self._waiting: list[bytes] = []
        self._size = 0
        self._before = b""
        """The last bytes that came: an end may have begun in them."""
        self._long = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that are whole now, and the pieces of one that is too long."""
        events: list[bytes] = []
        if self._long and not (chunk := self._rest_of_long(chunk, events)):
            return events
        if self._waiting and not _may_end(self._before + chunk):
            # Nothing is searched or copied twice while a long event comes in.
            self._wait(chunk)
        else:
            seek = max(self._size - _REACH, 0)
            data = b"".join((*self._waiting, chunk)) if self._waiting else chunk
            whole, rest = _split(data, seek)
            events = events + whole if events else whole
            if not (rest or self._waiting):
                return events
            # At once: after a fault, what waits and the chunk are still all that there is.
            self._waiting, self._size, self._before = [rest] if rest else [], len(rest), rest[-_REACH:]
        if self._size > self._most:
            piece, self._waiting, self._size, self._long = Piece(b"".join(self._waiting)), [], 0, True
            events.append(piece)
        return events

    def rest(self) -> bytes:
        """What came after the last whole event."""
        rest, self._waiting, self._size = b"".join(self._waiting), [], 0
        return rest

    def _wait(self, chunk: bytes) -> None:
        self._waiting.append(chunk)
        self._size += len(chunk)
        self._before = (self._before + chunk)[-_REACH:]

    def _rest_of_long(self, chunk: bytes, events: list[bytes]) -> bytes:
        """Pass on what belongs to an event that is too long; what comes behind it."""
        data = self._before + chunk
        end = _END.search(data)
        if end is None or (end.end() == len(data) and data.endswith(b"\r")):
            self._before = data[-_REACH:]
            events += [Piece(chunk)] if chunk else []
            return b""
        at = max(end.end() - len(self._before), 0)
        events += [Piece(chunk[:at])] if at else []
        self._long, self._before = False, b""
        return chunk[at:]


def _may_end(data: bytes) -> bool:
    """An end may stand in ``data``."""
    return b"\n\n" in data or (b"\r" in data and _END.search(data) is not None)


def _split(data: bytes, seek: int) -> tuple[list[bytes], bytes]:
    """The whole events in ``data``, and what is left; no end stands before ``seek``."""
    if b"\r" not in data:
        # Nearly every server ends its lines so, and searching for two kinds of ends takes five times as long.
        *whole, rest = data.split(b"\n\n")
        return [event + b"\n\n" for event in whole], rest
    events: list[bytes] = []
    at = 0
    while end := _END.search(data, seek):
        if end.end() == len(data) and data.endswith(b"\r"):
            # The other half of a line's end may be in the next chunk.
            break
        events.append(data[at : end.end()])
        at = seek = end.end()
    return events, data[at:]


def data_of(event: bytes) -> bytes:
    """The data of an event: its data lines, joined."""
    lines = (line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:"))
    return b"\n".join(lines)


def with_data(event: bytes, data: bytes) -> bytes:
    """The event with other data; its remaining lines stay as they are."""
    others = [line for line in event.splitlines() if line and not line.startswith(b"data:")]
    return b"\n".join((*others, b"data: " + data, b"", b""))
