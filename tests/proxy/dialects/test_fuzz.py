"""Damaged requests and answers in every dialect: whatever the proxy can't read it passes on, byte for byte.

The damage is that of ``Mutator``: unknown fields, types and blocks, values of another type, repeated names, numbers
that no machine word holds, deep nesting, lone surrogates, bytes that are no UTF-8; and every text is cut anywhere.
"""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.agents.claude import adapter
from execledger.core.policy import Cadence, Policy
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from tests.proxy.dialects.samples import SAMPLES, Sample
from tests.support.faults.mutate import Mutator

HEADERS = {"x-claude-code-session-id": "s"}
VIEW = b"<execution_state>"
MAX_INSERTED = 2000
"""Bytes of a state view and of the block around it."""
samples = st.sampled_from(list(SAMPLES))
seeds = st.integers(0, 2**32)
"""Seeds of the damage."""


def passage(cadence: Cadence = Cadence.AUTO) -> Passage:
    return Passage(Book(Rules(policy=Policy(cadence=cadence)), adapter, EditStore(None)))


def received(sample: Sample, kind: str, pieces: list[bytes]) -> bytes:
    """What the client receives of an answer to a request, while the ledger follows the conversation."""
    through = passage()
    sent = through.request("POST", sample.path, HEADERS, json.dumps(sample.request(1)).encode())
    editor = through.answer(sent, 200, {"content-type": kind})
    assert editor is not None, "the answer is judged"
    return b"".join([*map(editor.feed, pieces), editor.end()])


@pytest.mark.guarantee("fail-open")
@given(name=samples, seed=seeds)
def test_a_damaged_request_is_forwarded_unchanged(name: str, seed: int) -> None:
    """As the first of its conversation, where there is nothing to say, not one byte differs."""
    sample, mutator = SAMPLES[name], Mutator(seed, large=1000)
    body = mutator.document(sample.request(3))
    assert passage().request("POST", sample.path, HEADERS, body).body == body


@pytest.mark.guarantee("fail-open")
@given(name=samples, seed=seeds)
def test_a_damaged_request_gains_a_view_at_most(name: str, seed: int) -> None:
    """Within a conversation, with a view before every call: besides the view, every token is the client's."""
    sample, mutator = SAMPLES[name], Mutator(seed, large=1000)
    through = passage(Cadence.EVERY)
    for turn in range(3):
        through.request("POST", sample.path, HEADERS, json.dumps(sample.request(turn)).encode())
    body = mutator.document(sample.request(3))
    sent = through.request("POST", sample.path, HEADERS, body).body
    if sent == body:
        return
    own, edited = compact(body), compact(sent)
    assert VIEW in edited and len(edited) < len(own) + MAX_INSERTED
    # The view is inserted in one piece, or around the text of a message that becomes the first of two blocks.
    ahead = common(own, edited)
    assert ahead + common(own[::-1], edited[::-1]) >= len(own) or edited[ahead:].startswith(b'[{"type":')
    rest = iter(edited)
    assert all(byte in rest for byte in own), "a byte of the request is missing"


def compact(body: bytes) -> bytes:
    """A JSON text without the blanks between its tokens."""
    return re.sub(rb'("(?:[^"\\]|\\.)*")|\s+', lambda found: found[1] or b"", body, flags=re.DOTALL)


def common(one: bytes, other: bytes) -> int:
    """How many bytes are equal from the start."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@pytest.mark.guarantee("fail-open")
@given(name=samples, seed=seeds)
def test_a_stream_is_forwarded_wherever_it_is_cut(name: str, seed: int) -> None:
    """Cut at any bytes, also within a character, an escape or the end of an event."""
    sample, stream = SAMPLES[name], b"".join(SAMPLES[name].events)
    assert received(sample, "text/event-stream", Mutator(seed).cuts(stream)) == stream


@pytest.mark.guarantee("fail-open")
@given(name=samples, seed=seeds, damaged=st.sets(st.integers(0, 20), min_size=1, max_size=3))
def test_a_damaged_stream_is_forwarded_event_by_event(name: str, seed: int, damaged: set[int]) -> None:
    """Every event arrives as it is; at most it overtakes the events of a call, which are held until it is complete."""
    sample, mutator = SAMPLES[name], Mutator(seed, large=1000)
    events = list(sample.events)
    for at in damaged:
        one = sample.events[at % len(events)]
        head, mark, data = one.partition(b"data: ")
        value = json.loads(data) if data.strip() != b"[DONE]" else {}
        events[at % len(events)] = mutator.data([one]) if at % 2 else head + mark + mutator.document(value) + b"\n\n"
    stream = b"".join(events)
    sent = received(sample, "text/event-stream", mutator.cuts(stream))
    assert sorted(sent.split(b"\n\n")) == sorted(stream.split(b"\n\n"))


@pytest.mark.guarantee("fail-open")
@given(name=samples, seed=seeds)
def test_a_damaged_answer_is_forwarded_unchanged(name: str, seed: int) -> None:
    """An answer that is not streamed arrives byte for byte, in however many pieces it came."""
    sample, mutator = SAMPLES[name], Mutator(seed, large=1000)
    body = mutator.document(sample.body)
    assert received(sample, "application/json", mutator.cuts(body)) == body
