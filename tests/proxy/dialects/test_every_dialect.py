"""What every dialect keeps: the frame is the client's own, leaves repeat byte for byte, only proposed calls change."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.proxy.dialect import SplitRequest, StreamEditor
from execledger.proxy.dialects import DIALECTS
from execledger.proxy.json_split import RepeatedNames
from execledger.proxy.sse import Events
from execledger.proxy.whole_answer import WholeAnswer
from execledger.proxy.worker import run_to_end
from execledger.session.adapter import ToolCall
from tests.proxy.dialects.samples import ODD, SAMPLES, Sample

SHIM = '{"command":"echo shim"}'
anything = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Sample:
    """One dialect after the other."""
    return SAMPLES[request.param]


def split(sample: Sample, request: object) -> SplitRequest:
    found = run_to_end(sample.dialect.split(sample.path, json.dumps(request, separators=(",", ":")).encode()))
    assert found is not None
    return found


def fed(editor: StreamEditor, stream: bytes, size: int) -> bytes:
    """What a client receives of a stream that arrives in chunks of some size."""
    events = Events()
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    sent = [editor.feed(one) for chunk in chunks for one in events.feed(chunk)]
    return b"".join((*sent, editor.end(), events.rest()))


def test_every_dialect_has_a_sample() -> None:
    """None is left out here."""
    assert {type(sample.dialect) for sample in SAMPLES.values()} == {type(dialect) for dialect in DIALECTS}


def test_unchanged_leaves_give_the_same_body(sample: Sample) -> None:
    """Joining what was split changes not one byte."""
    request = split(sample, sample.request(3))
    assert request.joined(request.leaves) == request.body
    assert (request.model, request.offers_tools) == ("m", True)


@pytest.mark.parametrize("name,choice", [("chat", "none"), ("responses", "none"), ("messages", {"type": "none"})])
def test_a_request_that_bars_tools_is_no_turn(name: str, choice: object) -> None:
    """Some clients ask for a summary with all of their tools, none of which may be called."""
    sample = SAMPLES[name]
    assert not split(sample, {**sample.request(3), "tool_choice": choice}).offers_tools


def test_leaves_repeat_whatever_the_frame_does(sample: Sample) -> None:
    """Breakpoints, signatures and strings in place of lists change from turn to turn, leaves do not."""
    turns = [split(sample, sample.request(turn)).marks for turn in range(1, 5)]
    for earlier, later in pairwise(turns):
        assert later[: len(earlier)] == earlier


def test_the_view_comes_last_and_alone(sample: Sample) -> None:
    """Without it the request is the client's own, breakpoints included."""
    for turn in range(4):
        request = split(sample, sample.request(turn))
        sent = json.loads(request.joined([*request.leaves, sample.dialect.view_leaf("state")]))
        rest, text = sample.extra(sent)
        assert text == "state"
        assert split(sample, rest).marks == request.marks
        assert _breakpoints(rest) == _breakpoints(json.loads(request.body))


def _breakpoints(value: Any) -> list[Any]:
    """Every cache breakpoint and signature, in order."""
    if isinstance(value, list):
        return [one for item in value for one in _breakpoints(item)]
    if not isinstance(value, dict):
        return []
    own = [value[name] for name in ("cache_control", "thoughtSignature") if name in value]
    return own + [one for item in value.values() for one in _breakpoints(item)]


def test_an_edited_result_changes_nothing_else(sample: Sample) -> None:
    """The frame around it, breakpoints and unknown fields are as they were; edited again, it is itself."""
    for last in (False, True):
        request = split(sample, sample.request(3))
        at = [n for n, raw in enumerate(request.leaves) if sample.dialect.leaf(raw).kind == "result"][-1 if last else 0]
        own = sample.dialect.leaf(request.leaves[at])
        leaves = list(request.leaves)
        leaves[at] = sample.dialect.with_parts(leaves[at], ("short",))
        sent = request.joined(leaves)
        assert b"short" in sent and own.parts is not None and own.parts[0].encode() not in sent
        assert _breakpoints(json.loads(sent)) == _breakpoints(json.loads(request.body))
        back = split(sample, json.loads(sent))
        restored = list(back.leaves)
        restored[at] = sample.dialect.with_parts(restored[at], own.parts)
        assert json.loads(back.joined(restored)) == json.loads(request.body)


def test_a_request_that_repeats_a_name_is_forwarded_as_it_came(sample: Sample) -> None:
    """At the top it is not read at all; in a result or a call, that one is not edited."""
    body = json.dumps(sample.request(3), separators=(",", ":")).encode()
    twice = body.replace(b'"model":"m"', b'"model":"m","model":"m"', 1)
    assert twice == body or run_to_end(sample.dialect.split(sample.path, twice)) is None
    for kind in ("result", "call"):
        request = split(sample, sample.request(3))
        raw = bytes(next(one for one in request.leaves if sample.dialect.leaf(one).kind == kind))
        start = raw.index(b"{")
        odd = raw[: start + 1] + b'"odd":1,"odd":2,' + raw[start + 1 :]
        with pytest.raises(RepeatedNames):
            if kind == "result":
                sample.dialect.with_parts(odd, ("short",))
            else:
                sample.dialect.with_call(odd, ToolCall("Bash", SHIM))


@pytest.mark.parametrize("content", ["Mind the time.", [{"type": "text", "text": "Mind the time."}]])
def test_a_view_behind_a_message_of_the_system_is_a_block_of_it(content: object) -> None:
    """The Messages API accepts none but the model's behind such a message, and clients end their turns with one."""
    sample = SAMPLES["messages"]
    request = sample.request(3)
    request["messages"].append({"role": "system", "content": content})
    found = split(sample, request)
    assert found.offers_tools
    sent = json.loads(found.joined([*found.leaves, sample.dialect.view_leaf("state")]))
    assert sent["messages"][:-1] == request["messages"][:-1]
    texts = [{"type": "text", "text": text} for text in ("Mind the time.", "state")]
    assert sent["messages"][-1] == {"role": "system", "content": texts}


def test_an_edited_call_changes_nothing_else(sample: Sample) -> None:
    """Its id, its tool and unknown fields stay."""
    request = split(sample, sample.request(2))
    at = next(n for n, raw in enumerate(request.leaves) if sample.dialect.leaf(raw).kind == "call")
    own = sample.dialect.leaf(request.leaves[at])
    assert own.call is not None
    leaves = list(request.leaves)
    leaves[at] = sample.dialect.with_call(leaves[at], ToolCall(own.call.name, SHIM))
    sent = json.loads(request.joined(leaves))
    back = split(sample, sent)
    edited = sample.dialect.leaf(back.leaves[at])
    assert (edited.call_id, edited.call) == (own.call_id, ToolCall(own.call.name, SHIM))
    restored = list(back.leaves)
    restored[at] = sample.dialect.with_call(restored[at], own.call)
    first = split(sample, json.loads(back.joined(restored)))
    assert [sample.dialect.leaf(raw) for raw in first.leaves] == [sample.dialect.leaf(raw) for raw in request.leaves]


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_an_answer_without_a_decision_passes_unchanged(sample: Sample, size: int) -> None:
    """Split anywhere, every byte arrives, and every call is judged once, in order."""
    judged: list[tuple[str, ToolCall]] = []
    editor = sample.dialect.stream(lambda call_id, call: judged.append((call_id, call)))
    stream = b"".join(sample.events)
    assert fed(editor, stream, size) == stream
    said = sample.read_events(stream)
    assert [(name, call.name, json.loads(call.text)) for name, call in judged] == said.calls
    assert editor.tokens is not None
    assert (editor.tokens.input, editor.tokens.cached, editor.tokens.output) == (43, 40, 7)


@pytest.mark.parametrize("which", [{"c1"}, {"c2"}, {"c1", "c2"}])
def test_a_suppressed_call_is_replaced_in_a_stream(sample: Sample, which: set[str]) -> None:
    """The client reads the shim in its place, under the same id and tool, and all else as it was."""
    editor = sample.dialect.stream(lambda name, call: ToolCall(call.name, SHIM) if name in which else None)
    stream = b"".join(sample.events)
    said, received = sample.read_events(stream), sample.read_events(fed(editor, stream, 64))
    assert received.text == said.text
    expected = [(name, tool, json.loads(SHIM) if name in which else given) for name, tool, given in said.calls]
    assert received.calls == expected


@pytest.mark.parametrize("which", [set(), {"c1"}, {"c2"}, {"c1", "c2"}])
def test_a_whole_answer_is_judged_like_a_stream(sample: Sample, which: set[str]) -> None:
    """Clients that never stream get the same decisions; an answer without any passes byte for byte."""
    judged: list[str] = []

    def propose(name: str, call: ToolCall) -> ToolCall | None:
        judged.append(name)
        return ToolCall(call.name, SHIM) if name in which else None

    editor = WholeAnswer(sample.dialect, propose)
    body = json.dumps(sample.body).encode()
    sent = b"".join([editor.feed(body[:50]), editor.feed(body[50:]), editor.end(), editor.end()])
    assert judged == ["c1", "c2"]
    assert which or sent == body
    said, received = sample.read_body(sample.body), sample.read_body(json.loads(sent))
    expected = [(name, tool, json.loads(SHIM) if name in which else given) for name, tool, given in said.calls]
    assert (received.text, received.calls) == (said.text, expected)
    kept = json.loads(sent)
    assert (kept.get("response") or kept)["from_the_future"] == ODD["from_the_future"]
    assert editor.tokens is not None and (editor.tokens.input, editor.tokens.output) == sample.tokens


def _noted(judged: list[str], _: str, call: ToolCall) -> None:
    judged.append(call.name)


def test_what_is_no_answer_is_forwarded_and_may_call_anything(sample: Sample) -> None:
    """A body that can't be read is not changed, and is not taken for one without calls."""
    for body in (b"", b"{", b"[]", b'"text"'):
        judged: list[str] = []
        editor = WholeAnswer(sample.dialect, partial(_noted, judged))
        assert editor.feed(body) + editor.end() == body
        assert judged == (["unread"] if body else [])


def test_a_stream_that_breaks_off_is_forwarded_as_far_as_it_came(sample: Sample) -> None:
    """Cut at any byte, the client receives every byte before the cut."""
    stream = b"".join(sample.events)
    for cut in range(0, len(stream), 13):
        assert fed(sample.dialect.stream(lambda _, __: None), stream[:cut], 40) == stream[:cut]


@given(odd=anything, at=st.integers(0, 3), name=st.sampled_from(list(SAMPLES)))
def test_unknown_content_is_passed_on_unchanged(odd: object, at: int, name: str) -> None:
    """Whatever takes the place of a message: the request is forwarded unchanged, or joined to the same JSON."""
    sample = SAMPLES[name]
    request = sample.request(3)
    inner = request.get("request", request)
    listed = next(key for key in ("messages", "contents", "input") if key in inner)
    inner[listed][at] = odd if at % 2 else {**inner[listed][at], "content": odd, "parts": odd, "tool_calls": odd}
    body = json.dumps(request).encode()
    found = run_to_end(sample.dialect.split(sample.path, body))
    if found is None:
        return
    for raw in found.leaves:
        sample.dialect.leaf(raw)
    view = json.loads(found.joined([*found.leaves, sample.dialect.view_leaf("state")]))
    again = run_to_end(sample.dialect.split(sample.path, json.dumps(view).encode()))
    assert again is not None and len(again.leaves) == len(found.leaves) + 1
    assert json.loads(found.joined(found.leaves)) == request


@given(odd=anything, name=st.sampled_from(list(SAMPLES)), at=st.integers(0, 20))
def test_unknown_events_are_passed_on_unchanged(odd: object, name: str, at: int) -> None:
    """An event of any content, anywhere in a stream, arrives as it is, and so do all others."""
    sample = SAMPLES[name]
    events = list(sample.events)
    events.insert(at, b"data: " + json.dumps(odd).encode() + b"\n\n")
    # It may overtake the events of a call, which are held.
    sent = fed(sample.dialect.stream(lambda _, __: None), b"".join(events), 100)
    assert sorted(sent.split(b"\n\n")) == sorted(b"".join(events).split(b"\n\n"))
