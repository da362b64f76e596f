"""One streamed answer: its bytes go in as they come, and what the client is sent comes out."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from contextlib import suppress

import zstandard

from execledger.proxy.coding import Unpacker
from execledger.proxy.dialect import CallStream
from execledger.proxy.sse import Events, Piece
from execledger.session.session import Session


class Answer:
    """Judges the calls of an answer; after a fault of ours, the rest passes as it comes."""

    def __init__(
        self,
        stream: CallStream,
        session: Session,
        lock: asyncio.Lock,
        overlook: Callable[[], None],
        unpack: Unpacker | None = None,
    ) -> None:
        """An answer of which nothing has come yet; ``unpack`` undoes its coding, ``overlook`` notes unknown calls."""
        self.lock = lock
        """To be held while it is fed: the session's ledger may be at work for another conversation."""
        self._stream = stream
        self._session = session
        self._overlook = overlook
        self._unpack = unpack
        self._events = Events()
        self._broken = False
        self._begun = False
        self._counted = False

    def feed(self, chunk: bytes) -> bytes:
        """What may be sent on now."""
        plain = chunk if self._unpack is None else self._unpacked(chunk, self._unpack)
        if self._broken:
            return plain
        sent: list[bytes] = []
        left: list[bytes] | None = None
        try:
            left = self._events.feed(plain)[::-1]
            while left:
                sent.append(self._fed(left[-1]))
                left.pop()
            self._count()
        except Exception as error:
            self._broken = True
            with suppress(Exception):
                self._faulted(error)
            # Whatever was held or not looked at yet, in the order in which it came.
            rest = self._events.rest()
            sent += [self._stream.end(), *((rest, plain) if left is None else (*left[::-1], rest))]
        return b"".join(sent)

    def _fed(self, event: bytes) -> bytes:
        """What may be sent on for one event, or for a piece of one that is too long."""
        return (self._stream.skip if isinstance(event, Piece) else self._stream.feed)(event)

    def _unpacked(self, chunk: bytes, unpack: Unpacker) -> bytes:
        """A chunk without its coding; what is not coded as it says from its first byte on passes as it comes."""
        try:
            plain = unpack.decompress(chunk)
        except (zlib.error, zstandard.ZstdError):
            if self._begun:
                raise
            self._unpack, self._broken = None, True
            return chunk
        self._begun = True
        return plain

    def end(self) -> bytes:
        """What is left when the stream has ended or was cut off, as it came."""
        sent: list[bytes] = []
        for take in () if self._broken else (self._stream.end, self._events.rest):
            try:
                sent.append(take())
            except Exception as error:
                # Asked once more: what is held there is the client's.
                with suppress(Exception):
                    sent.append(take())
                with suppress(Exception):
                    self._faulted(error)
        return b"".join(sent)

    def _faulted(self, error: Exception) -> None:
        """Count a fault of ours; what the rest of the answer calls is unknown."""
        self._overlook()
        self._session.faults.note("stream", error)

    def _count(self) -> None:
        """Note what the answer took, as soon as it tells: some clients hang up right after."""
        tokens = self._stream.tokens
        if tokens is not None and not self._counted:
            self._counted = True
            counts = {"input_tokens": tokens.input, "cached_tokens": tokens.cached, "output_tokens": tokens.output}
            self._session.chronicle.usage.add(counts, None)
