"""Edits one streamed model response: bytes in as the upstream sends them, bytes out as the client receives them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from contextlib import suppress

import zstandard

from execledger.proxy.content_encoding import Decoder
from execledger.proxy.dialect import StreamEditor
from execledger.proxy.sse import Events, Piece
from execledger.runs.usage import ModelCall
from execledger.session.session import Session


class ResponseEditor:
    """Judges the tool calls of one response; after an internal fault, the rest is forwarded unchanged."""

    def __init__(
        self,
        stream: StreamEditor,
        session: Session,
        lock: asyncio.Lock,
        overlook: Callable[[], None],
        decoder: Decoder | None = None,
    ) -> None:
        """An editor at the start of a response.

        ``decoder`` undoes its content encoding; ``overlook`` is called when calls were forwarded without being judged.
        """
        self.lock = lock
        """Must be held while bytes are fed: other conversations of the session use the same ledger."""
        self._stream = stream
        self._session = session
        self._overlook = overlook
        self._decoder = decoder
        self._events = Events()
        self._broken = False
        self._begun = False
        self._counted = False

    def feed(self, chunk: bytes) -> bytes:
        """The bytes to forward after the next chunk."""
        plain = chunk if self._decoder is None else self._decoded(chunk, self._decoder)
        if self._broken:
            return plain
        sent: list[bytes] = []
        left: list[bytes] | None = None
        try:
            left = self._events.feed(plain)[::-1]
            while left:
                sent.append(self._edited(left[-1]))
                left.pop()
            self._count()
        except Exception as error:
            self._broken = True
            with suppress(Exception):
                self._faulted(error)
            # Everything that was held or not yet processed, in its original order.
            rest = self._events.rest()
            sent += [self._stream.end(), *((rest, plain) if left is None else (*left[::-1], rest))]
        return b"".join(sent)

    def _edited(self, event: bytes) -> bytes:
        """The bytes to forward after one event, or after a piece of an event that is too long."""
        return (self._stream.skip if isinstance(event, Piece) else self._stream.feed)(event)

    def _decoded(self, chunk: bytes, decoder: Decoder) -> bytes:
        """A chunk, decoded; a body that is not encoded as declared from its first byte on is forwarded unchanged."""
        try:
            plain = decoder.decompress(chunk)
        except (zlib.error, zstandard.ZstdError):
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
