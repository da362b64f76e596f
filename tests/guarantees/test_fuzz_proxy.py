"""Damaged requests and answers through the proxy: all passes, and nothing is changed but what is ours to change."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zstandard

from execledger.proxy.sse import Events, Piece
from tests.proxy.talk import TOOLS, Json, Talk, new_passage
from tests.support.faults.mutate import Mutator, watched

Figure = Callable[[str], None]
TURN = {"x-codex-turn-metadata": '{"request_kind": "turn"}'}
OURS = ("output", "arguments", "input")
"""The fields of an item that an edit may change."""


def talked(preset: str, *commands: str) -> Talk:
    """A conversation in which results were shown as references, and calls were swapped."""
    talk = Talk(new_passage(preset=preset))
    for command in commands:
        talk.turn(command)
    assert talk.grows()
    return talk


def same_but_for_edits(sent: bytes, body: bytes) -> bool:
    """A request is what it was, but for edited results and calls, and a view at its end."""
    before, after = json.loads(body), json.loads(sent)
    if [*before] != [*after] or any(before[name] != after[name] for name in before if name != "input"):
        return False
    items = after["input"]
    if len(items) == len(before["input"]) + 1 and "<execution_state>" in json.dumps(items[-1]):
        items = items[:-1]
    pairs = zip(before["input"], items, strict=True)
    return all(old == new or (kept(old) == kept(new) and old["type"] == new["type"]) for old, new in pairs)


def kept(item: Json) -> Json:
    """An item without what an edit may change; half a character in a name becomes the sign for an unreadable one."""
    return {re.sub("[\ud800-\udfff]", "\ufffd", name): value for name, value in item.items() if name not in OURS}


def is_json(data: bytes) -> bool:
    """Whether a lenient reader takes it for JSON."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


@pytest.mark.guarantee("fail-open", "append-only", "bounded")
@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_damaged_requests_pass_with_nothing_changed_but_our_edits(preset: str, full: bool, figure: Figure) -> None:
    """A request is sent on as it came, or as the same JSON with our edits in it; and no fault of ours is met."""
    rounds = 10_000 if full else 250
    talk = talked(preset, "cat a.py", "true", "cat a.py", "cat b.py")
    store = talk.passage.book.store
    good: Json = {"model": "m", "input": talk.items, "stream": True, "tools": [{"type": "local_shell"}], "odd": 1.50}
    mutator, edited, as_it_came = Mutator(81, large=2_000_000 if full else 20_000), 0, 0
    passage = new_passage(store, preset=preset)
    for number in range(rounds):
        if number % 50 == 0:
            assert passage.faults == 0
            passage = new_passage(store, preset=preset)
        body = mutator.document(good) if number % 3 else mutator.document({**good, "input": mutator.value(talk.items)})
        with watched(lambda n=number: f"request {n}"):  # type: ignore[misc]
            sent = passage.request("POST", "/v1/responses", {**talk.headers, **TURN}, body)
        if sent.body == body:
            as_it_came += 1
        else:
            edited += 1
            # What some readers refuse and ours does not is refused by the upstream, with or without our edits.
            assert sent.plain and (not is_json(body) or same_but_for_edits(sent.body, body)), number
        assert all(one.workspace.session.active for one in passage.book._sessions.values()), number
    figure(
        f"{rounds:,} damaged requests ({preset}): {as_it_came:,} passed as they came, {edited:,} with our edits alone"
    )
    assert passage.faults == 0 and edited and as_it_came


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_packed_garbage_passes_as_it_came(coding: str, full: bool) -> None:
    """A body that is not what its coding says is the upstream's to refuse."""
    pack = gzip.compress if coding == "gzip" else zstandard.compress
    packed, mutator = pack(b'{"input":[]}'), Mutator(82)
    passage = new_passage()
    for _ in range(5_000 if full else 200):
        body = mutator.data([packed, b"x"])
        sent = passage.request("POST", "/v1/responses", {"content-encoding": coding}, body)
        assert sent.plain or sent.body == body
    assert passage.faults == 0


def event(kind: str, **fields: Any) -> bytes:
    """One event of an answer."""
    data = json.dumps({"type": f"response.{kind}", **fields})
    return f"event: response.{kind}\ndata: {data}\n\n".encode()


def answer_of(command: str) -> bytes:
    """An answer that says something, and proposes a call in small pieces."""
    text = json.dumps({"cmd": command})
    call: Json = {"type": "function_call", "name": "exec_command", "call_id": "call_x", "arguments": ""}
    done = {**call, "arguments": text}
    deltas = [
        event("function_call_arguments.delta", output_index=1, item_id="i", delta=piece)
        for piece in re.findall(".{1,5}", text)
    ]
    return b"".join(
        [
            event("created", response={"id": "r"}),
            event("output_text.delta", output_index=0, delta="I look.\u202e"),
            event("output_item.added", output_index=1, item=call),
            *deltas,
            event("function_call_arguments.done", output_index=1, item_id="i", arguments=text),
            event("output_item.done", output_index=1, item=done),
            event("completed", response={"id": "r", "output": [done], "usage": {"input_tokens": 5}}),
        ]
    )


def answered(talk: Talk, chunks: list[bytes]) -> bytes:
    """What the client is sent for an answer that comes in these chunks."""
    talk.request()
    assert talk.last is not None
    editor = talk.passage.answer(talk.last, 200, {"content-type": "text/event-stream"})
    assert editor is not None
    return b"".join([*(editor.feed(chunk) for chunk in chunks), editor.end()])


def cut_in_two(stream: bytes, step: int) -> Iterator[list[bytes]]:
    """Every cut of a stream in two, or every few."""
    yield from ([stream[:at], stream[at:]] for at in range(0, len(stream) + 1, step))


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_events_are_the_same_wherever_a_stream_is_cut(ends: bytes, full: bool, figure: Figure) -> None:
    """Every cut in two, and random cuts in many, of a good and of damaged streams give the same events and rest."""

    def split(chunks: list[bytes], most: int = 10**9) -> tuple[list[bytes], bytes]:
        events = Events(most)
        found = [event for chunk in chunks for event in events.feed(chunk)]
        return found, events.rest()

    mutator = Mutator(83)
    good = answer_of("cat a.py").replace(b"\n", ends)
    streams = [good, *(mutator.data([good, b"\r\n\r\n\n\r"]) for _ in range(200 if full else 3))]
    cuts = 0
    for stream in streams:
        whole = split([stream])
        assert b"".join(whole[0]) + whole[1] == stream
        for chunks in [*cut_in_two(stream, 1), *(mutator.cuts(stream) for _ in range(50))]:
            cuts += 1
            assert split(chunks) == whole
            found, rest = split(chunks, most=60)
            assert b"".join(found) + rest == stream
            assert {one for one in found if not isinstance(one, Piece)} <= set(whole[0])
    figure(f"{cuts:,} ways to cut {len(streams)} streams: the same events")


@pytest.mark.guarantee("fail-open", "bounded")
def test_damaged_answers_reach_the_client_byte_for_byte(full: bool, figure: Figure) -> None:
    """Where nothing is edited, whatever the upstream sends arrives, wherever it was cut; words may overtake a call."""
    rounds = 10_000 if full else 200
    talk, mutator = Talk(new_passage()), Mutator(84, large=20_000)
    good = [answer_of("cat a.py"), answer_of("ls").replace(b"\n", b"\r\n"), b"data: [DONE]\n\n", b"\n" * 5_000]
    for number in range(rounds):
        stream = mutator.data(good)
        with watched(lambda n=number: f"answer {n}"):  # type: ignore[misc]
            sent = answered(talk, mutator.cuts(stream))
        assert sent == stream or (b"_call" in stream and sorted(sent) == sorted(stream))
    figure(f"{rounds:,} damaged answers, byte for byte")
    assert talk.passage.faults == 0


@pytest.mark.guarantee("fail-open")
def test_a_swapped_call_is_the_same_wherever_the_answer_is_cut(full: bool) -> None:
    """The shim that takes a call's place does not depend on how the network cuts the answer."""
    stream = answer_of("cat a.py")

    def shown(chunks: list[bytes]) -> bytes:
        return re.sub(rb"ledger:[0-9a-f]{16}", b"ledger:0", answered(talked("paper", "cat a.py"), chunks))

    whole = shown([stream])
    assert b"ledger:0" in whole
    assert all(shown(chunks) == whole for chunks in cut_in_two(stream, 1 if full else 41))


ONCE_FATAL = (
    b'{"type":"message","role":"user","content":[{"type":"input_text","n":1e999}]}',
    b'{"type":"function_call_output","call_id":"c","output":' + b"9" * 5000 + b"}",
    b'{"type":"function_call_output","call_id":"c","output":' + b"[" * 9999 + b"]" * 9999 + b"}",
    b'{"type":"function_call","name":"exec_command","call_id":"c","arguments":"\xff"}',
    b'{"type":"function_call_output","call_id":"c","\\ud800":"x","output":"y"}',
)
"""Items that once switched Ledger off for their session."""


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("item", ONCE_FATAL)
def test_items_that_once_ended_a_session_are_passed_on(item: bytes) -> None:
    """In a request and in an answer, each is sent on as it came, and Ledger goes on."""
    talk = talked("paper", "cat a.py")
    listed = json.dumps({"model": "m", "tools": TOOLS, "input": talk.items}).encode().removesuffix(b"]}")
    body = listed + b"," + item + b"]}"
    assert item in talk.passage.request("POST", "/v1/responses", {**talk.headers, **TURN}, body).body
    stream = b'data: {"type":"response.output_item.done","output_index":0,"item":' + item + b"}\n\n"
    assert answered(talk, [stream]) == stream
    assert talk.passage.faults == 0
    assert all(one.workspace.session.active for one in talk.passage.book._sessions.values())


@pytest.mark.guarantee("append-only")
def test_what_was_edited_is_edited_again_by_a_proxy_that_knows_nothing(figure: Figure) -> None:
    """A passage with the stored edits and no state shows the same history."""
    talk = talked("paper", "cat a.py", "true", "cat a.py")
    bare = [item for item in talk.sent[-1] if "<execution_state>" not in json.dumps(item)]
    other = Talk(new_passage(talk.passage.book.store), items=talk.items)
    assert other.request(turn=False) == bare
    figure(f"{len(bare)} items shown again, byte for byte")
