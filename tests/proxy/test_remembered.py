"""Messages of a request that are remembered once they were split."""

from __future__ import annotations

from execledger.proxy.json_split import Remembered


def test_a_message_is_split_once() -> None:
    """Until others, of so many bytes, were asked for since."""
    asked: list[bytes] = []

    def split(raw: bytes) -> int:
        asked.append(raw)
        return len(raw)

    remembered = Remembered(split, most=10)
    assert [remembered(raw) for raw in (b"aaaa", b"bbbb", b"aaaa", b"cccc", b"aaaa", b"bbbb")] == [4] * 6
    assert asked == [b"aaaa", b"bbbb", b"cccc", b"bbbb"]
    assert [remembered(b"x" * 11), remembered(b"x" * 11)] == [11, 11]
    remembered.cache_clear()
    assert remembered(b"aaaa") == 4
    assert asked[4:] == [b"x" * 11, b"x" * 11, b"aaaa"]
