"""Content codings: what is packed in one piece or in several comes out whole."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
import zstandard

from execledger.proxy.coding import unpacked, unpacker

PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("coding", sorted(PACK))
def test_several_pieces_are_one_text(coding: str) -> None:
    """As a body, and as a stream that is cut anywhere."""
    packed = PACK[coding](b"one ") + PACK[coding](b"two")
    assert unpacked(packed, coding) == b"one two"
    for at in range(len(packed)):
        tool = unpacker(coding)
        assert tool is not None
        assert tool.decompress(packed[:at]) + tool.decompress(packed[at:]) == b"one two"


def test_what_cannot_be_undone_is_left_alone() -> None:
    """An unknown coding, a broken body, and one that is none."""
    assert unpacked(b"x", "br") is None
    assert unpacker("br") is None
    assert unpacked(b"not packed", "gzip") is None
    assert unpacked(b"not packed", "zstd") is None
    assert unpacked(b"plain", "") == unpacked(b"plain", "identity") == b"plain"
