"""Edits one streamed model response: bytes in as the upstream sends them, bytes out as the client receives them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from contextlib import suppress

import zstandard
from msgspec import Struct, field

from execledger.proxy.content_encoding import Decoder
from execledger.proxy.dialect import StreamEditor
from execledger.proxy.sse import Events, NoEvents, Piece
from execledger.proxy.worker import LIGHTER, Work, WorkRunner, run_to_end
from execledger.runs.usage import ModelCall
from execledger.session.session import Session

LONG_EVENT = 5_000
"""Bytes of an event from which on it may hold a call that takes long to judge; deltas are much shorter."""
HEAVIER = 10
"""How much more a byte of such an event weighs: a call of many short commands takes up to 7 us a byte."""

UNDECODABLE = (zlib.error, zstandard.ZstdError)
"""What a decoder raises for a body that is damaged in the middle: it can't be forwarded any further."""


class _Progress(Struct):
    """What was done with one chunk."""

    plain: bytes
    """The chunk, decoded."""
    sent: list[bytes] = field(default_factory=list)
    """The bytes to forward for the events that were processed."""
    left: list[bytes] | None = None
    """The events that were not, in reverse order; None before the chunk was split."""


class ResponseEditor:
    """Judges the tool calls of one response; after an internal fault, the rest is forwarded unchanged."""

    def __init__(
        self,
        stream: StreamEditor,
        session: Session,
        lock: asyncio.Lock,
        overlook: Callable[[], None],
        decoder: Decoder | None = None,
        *,
        events: bool = True,
    ) -> None:
        """An editor at the start of a response.

        ``decoder`` undoes its content encoding; ``overlook`` is called when calls were forwarded without being judged.
        Without ``events`` the response is one body and not a stream of events.
        """
        self.lock = lock
        """Must be held while bytes are fed: other conversations of the session use the same ledger."""
        self._stream = stream
        self._session = session
        self._overlook = overlook
        self._decoder = decoder
        self._events = Events() if events else NoEvents()
        self._broken = False
        self._begun = False
        self._counted = False
        self._progress: _Progress | None = None

    def feed(self, chunk: bytes) -> bytes:
        """The bytes to forward after the next chunk, computed on the calling thread."""
        self._progress = None
        try:
            return run_to_end(self._feeding(chunk))
        except UNDECODABLE:
            raise
        except Exception as error:
            return self._recovered(chunk, error)

    async def fed(self, chunk: bytes, runner: WorkRunner) -> bytes:
        """The bytes to forward after the next chunk, computed by ``runner``, which moves long work to the worker."""
        self._progress = None
        try:
            return await runner.run(self._feeding(chunk), self.lock)
        except UNDECODABLE:
            raise
        except Exception as error:
            async with self.lock:
                return self._recovered(chunk, error)

    def _feeding(self, chunk: bytes) -> Work[bytes]:
        """The bytes to forward after a chunk; ``_progress`` has what was done so far."""
        plain = self._plain(chunk)
        if self._broken:
            return plain
        progress = self._progress = _Progress(plain)
        progress.left = left = self._events.feed(plain)[::-1]
        while left:
            yield _weight(left[-1])
            progress.sent.append(self._edited(left[-1]))
            left.pop()
        self._count()
        return b"".join(progress.sent)

    def _recovered(self, chunk: bytes, error: Exception) -> bytes:
        """The bytes to forward after a chunk that met an internal fault: what is left of it is forwarded unchanged."""
        progress = self._progress or _Progress(self._plain(chunk))
        self._broken = True
        with suppress(Exception):
            self._faulted(error)
        # Everything that was held or not yet processed, in its original order.
        held, rest = b"", b""
        try:
            held = self._stream.end()
            rest = self._events.rest()
        except Exception as another:
            # A second attempt: the held bytes belong to the client.
            with suppress(Exception):
                held = held or self._stream.end()
            with suppress(Exception):
                rest = self._events.rest()
            with suppress(Exception):
                self._faulted(another)
        left = (rest, progress.plain) if progress.left is None else (*progress.left[::-1], rest)
        return b"".join((*progress.sent, held, *left))

    def _edited(self, event: bytes) -> bytes:
        """The bytes to forward after one event, or after a piece of an event that is too long."""
        return (self._stream.skip if isinstance(event, Piece) else self._stream.feed)(event)

    def _plain(self, chunk: bytes) -> bytes:
        """A chunk, decoded; a body that is not encoded as declared from its first byte on is forwarded unchanged."""
        if self._decoder is None:
            return chunk
        try:
            plain = self._decoder.decompress(chunk)
        except UNDECODABLE:
            if self._begun:
                raise
            self._decoder, self._broken = None, True
            return chunk
        self._begun = True
        return plain

    def end(self) -> bytes:
        """The bytes that are still held when the stream has ended or was cut off, unchanged."""
        sent: list[bytes] = []
        for take in () if self._broken else (self._stream.end, self._events.rest):
            try:
                sent.append(take())
            except Exception as error:
                # A second attempt: the held bytes belong to the client.
                with suppress(Exception):
                    sent.append(take())
                with suppress(Exception):
                    self._faulted(error)
        with suppress(Exception):
            self._count()
        return b"".join(sent)

    def _faulted(self, error: Exception) -> None:
        """Count an internal fault; the calls in the rest of the response are unknown."""
        self._overlook()
        self._session.faults.note("stream", error)

    def _count(self) -> None:
        """Record the usage as soon as it is known: some clients disconnect right after it."""
        tokens = self._stream.tokens
        if tokens is not None and not self._counted:
            self._counted = True
            self._session.chronicle.add_call(ModelCall(tokens))


def _weight(event: bytes) -> int:
    """The weight of an event for the worker."""
    return len(event) * HEAVIER if len(event) > LONG_EVENT else len(event) // LIGHTER
