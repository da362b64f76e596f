"""Server-sent events, split from a stream of arbitrary chunks without changing a byte."""

from __future__ import annotations

import re

from execledger.proxy.limits import MAX_EVENT

_END = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
"""The blank line that ends an event; the groups are atomic so that one ``\\r\\n`` is never taken for two ends."""
_REACH = 3
"""Bytes of an event's end that may be in earlier chunks than its last byte."""


class Piece(bytes):
    """A part of an event that is too long to be held: it is forwarded without being read."""


class Events:
    """Splits chunks into whole events, each with the blank line that ends it."""

    def __init__(self, most: int = MAX_EVENT) -> None:
        """An empty splitter; an event of more than ``most`` bytes is given out in pieces."""
        self._most = most
        self._waiting: list[bytes] = []
        self._size = 0
        self._before = b""
        """The last bytes of the previous chunk: the end of an event may have begun in them."""
        self._long = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that are complete now, and the pieces of one that is too long."""
        events: list[bytes] = []
        if self._long and not (chunk := self._rest_of_long(chunk, events)):
            return events
        if self._waiting and not _may_end(self._before + chunk):
            # Nothing is searched or copied twice while a long event arrives.
            self._wait(chunk)
        else:
            seek = max(self._size - _REACH, 0)
            data = b"".join((*self._waiting, chunk)) if self._waiting else chunk
            whole, rest = _split(data, seek)
            events = events + whole if events else whole
            if not (rest or self._waiting):
                return events
            # In one assignment: after a fault, the waiting bytes and the chunk are still complete.
            self._waiting, self._size, self._before = [rest] if rest else [], len(rest), rest[-_REACH:]
        if self._size > self._most:
            piece, self._waiting, self._size, self._long = Piece(b"".join(self._waiting)), [], 0, True
            events.append(piece)
        return events

    def rest(self) -> bytes:
        """The bytes after the last complete event."""
        rest, self._waiting, self._size = b"".join(self._waiting), [], 0
        return rest

    def _wait(self, chunk: bytes) -> None:
        self._waiting.append(chunk)
        self._size += len(chunk)
        self._before = (self._before + chunk)[-_REACH:]

    def _rest_of_long(self, chunk: bytes, events: list[bytes]) -> bytes:
        """Append the pieces of an event that is too long to ``events``; the bytes after it."""
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


class NoEvents:
    """The splitter of a body that is not a stream of events: each chunk is one piece of it."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The chunk."""
        return [chunk] if chunk else []

    def rest(self) -> bytes:
        """Nothing: every byte was given out."""
        return b""


def _may_end(data: bytes) -> bool:
    """Whether ``data`` may contain the end of an event."""
    return b"\n\n" in data or (b"\r" in data and _END.search(data) is not None)


def _split(data: bytes, seek: int) -> tuple[list[bytes], bytes]:
    """The complete events in ``data``, and the rest; no event ends before ``seek``."""
    if b"\r" not in data:
        # Nearly all servers end lines with a line feed, and searching for every kind of end takes five times as long.
        *whole, rest = data.split(b"\n\n")
        return [event + b"\n\n" for event in whole], rest
    events: list[bytes] = []
    at = 0
    while end := _END.search(data, seek):
        if end.end() == len(data) and data.endswith(b"\r"):
            # The line feed of this line's end may be in the next chunk.
            break
        events.append(data[at : end.end()])
        at = seek = end.end()
    return events, data[at:]


def data_of(event: bytes) -> bytes:
    """The data of an event: its data lines, joined."""
    lines = (line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:"))
    return b"\n".join(lines)


def with_data(event: bytes, data: bytes) -> bytes:
    """The event with other data; its remaining lines are unchanged."""
    others = [line for line in event.splitlines() if line and not line.startswith(b"data:")]
    return b"\n".join((*others, b"data: " + data, b"", b""))
