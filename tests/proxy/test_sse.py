"""Splitting a stream into events, wherever it was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.proxy.sse import Events, data_of, with_data

STREAM = b': keep-alive\n\nevent: a\ndata: {"x":1}\n\ndata: two\ndata: lines\n\n'


def split(chunks: list[bytes]) -> tuple[list[bytes], bytes]:
    events = Events()
    whole = [event for chunk in chunks for event in events.feed(chunk)]
    return whole, events.rest()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_events_are_the_same_wherever_the_stream_is_cut(end: bytes) -> None:
    """Every cut in two gives the events that the stream has in one piece, and loses nothing."""
    stream = STREAM.replace(b"\n", end) + b"data: torn"
    expected = [part + end + end for part in stream.split(end + end)[:-1]]
    for at in range(len(stream)):
        whole, rest = split([stream[:at], stream[at:]])
        assert (whole, rest) == (expected, b"data: torn")


@given(st.lists(st.sampled_from([b"\r", b"\n", b"a", b"data: ", b"\r\n"])), st.data())
def test_no_byte_is_lost_or_changed(pieces: list[bytes], data: st.DataObject) -> None:
    """Whatever comes in comes out, in order."""
    stream = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, rest = split(chunks)
    assert b"".join(whole) + rest == stream


def test_data_can_be_read_and_replaced() -> None:
    """The lines of data are one text; replacing it leaves the other lines alone."""
    event = b"event: a\nid: 7\ndata: one\ndata: two\n\n"
    assert data_of(event) == b"one\ntwo"
    assert with_data(event, b"three") == b"event: a\nid: 7\ndata: three\n\n"
