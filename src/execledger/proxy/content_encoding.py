"""HTTP content encodings: decoding of gzip and zstd, for whole bodies and for streams."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Protocol

import zstandard

from execledger.proxy.limits import MAX_BODY, PORTION


class Decoder(Protocol):
    """Decodes a stream chunk by chunk."""

    def decompress(self, data: bytes, /) -> bytes:
        """The decoded bytes of the next chunk."""
        ...


class _GzipDecoder:
    """Decodes gzip, also several members in a row."""

    def __init__(self) -> None:
        self._tool = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, /) -> bytes:
        plain = [self._tool.decompress(data)]
        while rest := self._tool.unused_data:
            self._tool = zlib.decompressobj(wbits=31)
            plain.append(self._tool.decompress(rest))
        return b"".join(plain)


def decoder(encoding: str) -> Decoder | None:
    """A decoder for ``encoding``; None if it is not supported."""
    name = encoding.strip().lower()
    if name in ("gzip", "x-gzip"):
        return _GzipDecoder()
    if name == "zstd":
        return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
    return None


def decoded(body: bytes, encoding: str) -> bytes | None:
    """A whole body, decoded; None if it can't be, or would exceed ``MAX_BODY``."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    try:
        if name == "zstd":
            with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
                plain = reader.read(MAX_BODY + 1)
        elif name in ("gzip", "x-gzip"):
            with gzip.GzipFile(fileobj=io.BytesIO(body)) as file:
                plain = file.read(MAX_BODY + 1)
        else:
            return None
    except (zlib.error, zstandard.ZstdError, EOFError, OSError):
        return None
    return plain if len(plain) <= MAX_BODY else None


def portions(chunk: bytes) -> Iterator[bytes]:
    """An encoded chunk in pieces, none of which decodes to more than a few megabytes."""
    return (chunk[at : at + PORTION] for at in range(0, len(chunk), PORTION))
