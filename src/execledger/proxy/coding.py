"""Content codings of HTTP bodies: what can be undone, and the rest left alone."""

from __future__ import annotations

import zlib
from typing import Protocol

import zstandard

MAX_BODY = 512_000_000
"""Bytes that a request may unpack to: above any history, below any machine's memory."""


class Unpacker(Protocol):
    """Undoes a coding chunk by chunk."""

    def decompress(self, data: bytes, /) -> bytes:
        """What the next bytes say."""
        ...


def unpacker(coding: str) -> Unpacker | None:
    """What undoes ``coding``; None if nothing here does."""
    name = coding.strip().lower()
    if name in ("gzip", "x-gzip"):
        return zlib.decompressobj(wbits=31)
    if name == "deflate":
        return zlib.decompressobj()
    if name == "zstd":
        return zstandard.ZstdDecompressor().decompressobj()
    return None


def unpacked(body: bytes, coding: str) -> bytes | None:
    """A whole body without its coding; None if it can't be undone, or is too large to be true."""
    if not coding or coding.strip().lower() == "identity":
        return body
    try:
        if coding.strip().lower() == "zstd":
            with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
                plain = reader.read(MAX_BODY + 1)
        elif (tool := unpacker(coding)) is not None:
            assert isinstance(tool, type(zlib.decompressobj()))
            plain = tool.decompress(body, MAX_BODY + 1)
        else:
            return None
    except (zlib.error, zstandard.ZstdError):
        return None
    return plain if len(plain) <= MAX_BODY else None
