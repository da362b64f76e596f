"""Content codings: what is packed in one piece or in several comes out whole."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
import zstandard

from execledger.proxy.content_encoding import decoded, decoder

PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("coding", sorted(PACK))
def test_several_pieces_are_one_text(coding: str) -> None:
    """As a body, and as a stream that is cut anywhere."""
    packed = PACK[coding](b"one ") + PACK[coding](b"two")
    assert decoded(packed, coding) == b"one two"
    for at in range(len(packed)):
        tool = decoder(coding)
        assert tool is not None
        assert tool.decompress(packed[:at]) + tool.decompress(packed[at:]) == b"one two"


def test_what_cannot_be_undone_is_left_alone() -> None:
    """An unknown coding, a broken body, and one that is none."""
    assert decoded(b"x", "br") is None
    assert decoder("br") is None
    assert decoded(b"not packed", "gzip") is None
    assert decoded(b"not packed", "zstd") is None
    assert decoded(b"plain", "") == decoded(b"plain", "identity") == b"plain"
