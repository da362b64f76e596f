"""An upstream that misbehaves, and a client that sees exactly what comes: bytes, and whether they were all.

A *manner* is what the server does with a request, as pieces to be sent and how the connection ends. Nothing in here
knows HTTP well enough to repair anything, so that a test can compare what the proxy sent with what it got.
"""

from __future__ import annotations

import gzip
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Literal, NamedTuple, TypeAlias

PATIENCE = 60.0
"""Seconds after which something that must happen is given up."""
End: TypeAlias = Literal["close", "reset", "hold", "next"]
"""How a connection ends: in order, by force, not before the other side does it, or when the next request comes."""

_OK = b"HTTP/1.1 200 OK\r\n"
_EVENTS = b"content-type: text/event-stream\r\n"
_CHUNKED = b"transfer-encoding: chunked\r\n\r\n"
EVENT = b'event: response.created\ndata: {"type":"response.created","response":{"id":"r"}}\n\n'
"""The event that nearly every answer begins with."""
_CALL = (
    b'data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f",'
    b'"call_id":"c","name":"exec_command","arguments":""}}\n\n'
)


class Manner(NamedTuple):
    """What the server does with a request."""

    pieces: tuple[bytes, ...]
    """What it sends, each piece by itself."""
    end: End = "close"
    """What it does then."""
    answers: bool = True
    """It is one HTTP answer, as far as it goes, and nothing else."""


def _plain(status: bytes, body: bytes, *headers: bytes) -> Manner:
    """A whole answer of known length."""
    lines = (b"HTTP/1.1 " + status, b"content-length: %d" % len(body), *headers, b"", body)
    return Manner((b"\r\n".join(lines),))


def _chunked(*chunks: bytes, last: bytes = b"0\r\n\r\n", end: End = "close", headers: bytes = _EVENTS) -> Manner:
    """A stream of chunks; without ``last`` it is cut off."""
    pieces = (b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return Manner((_OK + headers + _CHUNKED, *pieces, last), end)


def _bytes_of(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[at : at + 1] for at in range(len(data)))


MANNERS = {
    "whole": _chunked(EVENT, _CALL, b"data: [DONE]\n\n"),
    "byte by byte": Manner((_OK + _EVENTS + _CHUNKED, *_bytes_of(b"%x\r\n%b\r\n0\r\n\r\n" % (len(EVENT), EVENT)))),
    "cut between events": _chunked(EVENT, EVENT, last=b""),
    "cut within an event": _chunked(EVENT, EVENT[:30], last=b""),
    "cut within a call": _chunked(EVENT, _CALL, _CALL[:50], last=b""),
    "cut within a chunk": _chunked(EVENT, last=b"ff\r\nhalf"),
    "cut after the headers": _chunked(last=b""),
    "reset": _chunked(EVENT, _CALL, last=b"", end="reset"),
    "hanging": _chunked(EVENT, _CALL[:50], last=b"", end="hold"),
    "no end in sight": Manner((_OK + _EVENTS + b"\r\n", EVENT, _CALL)),
    "garbage events": _chunked(b"\x00\xff\xfe data: \n\n", b"data: {not json\n\n", b"\r\r\n\n\rdata:\n\n", b"tail"),
    "garbage that ends a stream": _chunked(_CALL, b'data: {"type": "response.completed", "response": [\n\n'),
    "a very long line": _chunked(b"data: " + b"x" * 3_000_000 + b"\n\n", b"data: " + b"_call" * 300_000),
    "too few bytes": Manner((_OK + _EVENTS + b"content-length: 500\r\n\r\n" + EVENT,)),
    "invalid JSON": _plain(b"200 OK", b'{"output": [', b"content-type: application/json"),
    "no JSON": _plain(b"200 OK", b"<html>\xff</html>", b"content-type: text/html"),
    "packed": _chunked(gzip.compress(EVENT), headers=b"content-type: application/json\r\ncontent-encoding: gzip\r\n"),
    "not packed as it says": _chunked(EVENT, _CALL, headers=_EVENTS + b"content-encoding: gzip\r\n"),
    "packed in an unknown way": _chunked(EVENT, headers=_EVENTS + b"content-encoding: secret\r\n"),
    "large headers": _plain(b"200 OK", b"{}", b"x-large: " + b"h" * 200_000, b"content-type: application/json"),
    "many headers": _plain(b"200 OK", b"{}", *(b"x-many-%d: %s" % (number, b"h" * 500) for number in range(60))),
    "overloaded": _plain(b"529 Overloaded", b'{"error":{"type":"overloaded"}}', b"retry-after: 3"),
    "broken": _plain(b"500 Internal Server Error", b""),
    "unavailable": Manner((b"HTTP/1.1 503 Service Unavailable\r\n" + _EVENTS + _CHUNKED, b"4\r\nbusy\r\n0\r\n\r\n")),
    "redirect": _plain(b"307 Temporary Redirect", b"", b"location: http://127.0.0.1:9/elsewhere"),
    "nothing to say": Manner((b"HTTP/1.1 204 No Content\r\n\r\n",)),
    "hints first": Manner((b"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n", *_chunked(EVENT).pieces)),
    "too many bytes": Manner((_OK + _EVENTS + b"content-length: 20\r\n\r\n" + EVENT,), answers=False),
    "silent": Manner((), answers=False),
    "reset at once": Manner((), "reset", answers=False),
    "no HTTP": Manner((b"\x16\x03\x01 SSH-2.0 hello\r\n\r\n",), answers=False),
    "half a header": Manner((b"HTTP/1.1 200 OK\r\ncontent-le",), answers=False),
    "headers without end": Manner((_OK + b"x-endless: " + b"h" * 2_000_000,), answers=False),
}
"""The manners, by name."""

HANGS_UP = _chunked(EVENT, end="next")
"""An answer after which the connection seems to be kept, and is not."""


class Seen(NamedTuple):
    """What a client saw of an answer."""

    status: int
    """The status; 0 if there was no answer."""
    headers: dict[str, str]
    """The headers, by their names in lower case."""
    body: bytes
    """The body, as far as it came."""
    whole: bool
    """The answer said that this was all."""


class UnrulyServer:
    """Serves one manner at a time, on loopback."""

    def __init__(self) -> None:
        """A server that is silent so far."""
        self.manner = MANNERS["silent"]
        """What is done with the next request."""
        self.left = threading.Semaphore(0)
        """Released whenever the other side of a held connection has gone."""
        owner = self

        class Exchange(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):
                    owner._serve(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Exchange)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @contextmanager
    def running(self) -> Iterator[UnrulyServer]:
        """Serve for as long as this lasts."""
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def _serve(self, connection: socket.socket) -> None:
        """Read one request, and do with it as the manner says."""
        manner = self.manner
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _read_request(connection)
        try:
            for piece in manner.pieces:
                connection.sendall(piece)
            if manner.end == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            while manner.end == "hold" and connection.recv(4096):
                # Nothing more comes from the other side but its end.
                pass
            if manner.end == "next":
                _read_request(connection)
        finally:
            if manner.end == "hold":
                self.left.release()


def _read_request(connection: socket.socket) -> None:
    """Take in a whole request, so that closing the connection loses nothing that was sent."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65_536)
        if not piece:
            return
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65_536)


def ask(port: int, path: str, body: bytes, headers: Sequence[tuple[str, str]] = (), *, until: int = 0) -> Seen:
    """Send a request and read what comes to its end, or until the body has ``until`` bytes."""
    lines = [f"POST {path} HTTP/1.1", f"host: 127.0.0.1:{port}", f"content-length: {len(body)}", "connection: close"]
    head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers), "", ""]).encode()
    data = b""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(head + body)
        with suppress(ConnectionError):
            while piece := connection.recv(65_536):
                data += piece
                if until and len(_seen(data, ended=False).body) >= until:
                    return _seen(data, ended=False)
    return _seen(data, ended=True)


def _seen(data: bytes, *, ended: bool) -> Seen:
    """What these bytes are to a client; ``ended`` says that no more come."""
    head, blank, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if not blank or not first.startswith("HTTP/1.") or len(words) < 2 or not words[1].isdigit():
        return Seen(0, {}, b"", whole=False)
    status = int(words[1])
    if 100 <= status < 200:
        return _seen(body, ended=ended)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return Seen(status, headers, *_unchunked(body))
    length = headers.get("content-length")
    if length is not None:
        return Seen(status, headers, body[: int(length)], whole=len(body) >= int(length))
    return Seen(status, headers, body, whole=ended)


def _unchunked(body: bytes) -> tuple[bytes, bool]:
    """The content of chunks, as far as it goes, and whether the last chunk came."""
    content = b""
    while True:
        size, end, rest = body.partition(b"\r\n")
        try:
            length = int(size, 16)
        except ValueError:
            return content, False
        if not end:
            return content, False
        if length == 0:
            return content, True
        content += rest[:length]
        if len(rest) < length + 2:
            return content, False
        body = rest[length + 2 :]
