"""Server-sent events, split from a byte stream wherever it was cut, and never altered."""

from __future__ import annotations

import re

_END = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
"""The blank line that ends an event; the groups are atomic so that one ``\\r\\n`` is never taken for two ends."""


class Events:
    """Takes chunks and gives whole events, each with the blank line that ends it; no byte is lost or changed."""

    def __init__(self) -> None:
        """Nothing was fed yet."""
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that are whole now."""
        data = self._rest + chunk if self._rest else chunk
        if b"\r" not in data:
            # Nearly every server ends its lines so, and searching for two kinds of ends takes five times as long.
            *whole, self._rest = data.split(b"\n\n")
            return [event + b"\n\n" for event in whole]
        events: list[bytes] = []
        at = 0
        # An end that began in the rest was looked for before: only its last bytes can be part of a new one.
        seek = max(len(self._rest) - 3, 0)
        while end := _END.search(data, seek):
            if end.end() == len(data) and data.endswith(b"\r"):
                # The other half of a line's end may be in the next chunk.
                break
            events.append(data[at : end.end()])
            at = seek = end.end()
        self._rest = data[at:]
        return events

    def rest(self) -> bytes:
        """What came after the last whole event."""
        rest, self._rest = self._rest, b""
        return rest


def data_of(event: bytes) -> bytes:
    """The data of an event: its data lines, joined."""
    lines = (line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:"))
    return b"\n".join(lines)


def with_data(event: bytes, data: bytes) -> bytes:
    """The event with other data; its remaining lines stay as they are."""
    others = [line for line in event.splitlines() if line and not line.startswith(b"data:")]
    return b"\n".join((*others, b"data: " + data, b"", b""))
