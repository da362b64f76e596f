"""Content codings of HTTP bodies: what can be undone, and the rest left alone."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Protocol

import zstandard

from execledger.proxy.limits import MAX_BODY, PORTION


class Unpacker(Protocol):
    """Undoes a coding chunk by chunk."""

    def decompress(self, data: bytes, /) -> bytes:
        """What the next bytes say."""
        ...


class _Members:
    """Undoes gzip, which may be several packed one behind the other."""

    def __init__(self) -> None:
        self._tool = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, /) -> bytes:
        plain = [self._tool.decompress(data)]
        while rest := self._tool.unused_data:
            self._tool = zlib.decompressobj(wbits=31)
            plain.append(self._tool.decompress(rest))
        return b"".join(plain)


def unpacker(coding: str) -> Unpacker | None:
    """What undoes ``coding``; None if nothing here does."""
    name = coding.strip().lower()
    if name in ("gzip", "x-gzip"):
        return _Members()
    if name == "zstd":
        return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
    return None


def unpacked(body: bytes, coding: str) -> bytes | None:
    """A whole body without its coding; None if it can't be undone, or is too large to be true."""
    if not coding or coding.strip().lower() == "identity":
        return body
    try:
        if coding.strip().lower() == "zstd":
            with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
                plain = reader.read(MAX_BODY + 1)
        elif coding.strip().lower() in ("gzip", "x-gzip"):
            with gzip.GzipFile(fileobj=io.BytesIO(body)) as file:
                plain = file.read(MAX_BODY + 1)
        else:
            return None
    except (zlib.error, zstandard.ZstdError, EOFError, OSError):
        return None
    return plain if len(plain) <= MAX_BODY else None


def portions(chunk: bytes) -> Iterator[bytes]:
    """A packed chunk, cut so that no piece unpacks to more than a few megabytes."""
    return (chunk[at : at + PORTION] for at in range(0, len(chunk), PORTION))
