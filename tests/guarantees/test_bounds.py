"""The proxy's own bounds: beyond each, requests and answers pass with the edits of before, and nothing piles up."""

from __future__ import annotations

import asyncio
import gc
import gzip
import io
import json
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import zstandard
from aiohttp import ClientSession, web

from execledger.agents.codex import tools as codex
from execledger.proxy import limits
from execledger.proxy.content_encoding import decoder, portions
from execledger.proxy.dialects.responses import Responses, ResponsesStream
from execledger.proxy.edits import EditStore
from execledger.proxy.history import History
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.proxy.sse import Events, Piece
from tests.proxy.talk import Json, Talk, new_passage, opening
from tests.support.measuring import Counted

Figure = Callable[[str], None]
ROOT = Path(__file__).resolve().parents[2]
CAT = "cat a.py"


def bare(shown: list[Json]) -> list[Json]:
    """What a model was shown, without its view."""
    return [item for item in shown if "<execution_state>" not in json.dumps(item)]


@pytest.mark.guarantee("bounded", "append-only")
@pytest.mark.parametrize(
    "bound", ["conversation.MAX_ITEMS", "conversation.MAX_STEPS", "conversation.MAX_TAKEN", "json_split.MAX_COMMAS"]
)
def test_beyond_a_bound_the_edits_of_before_still_stand(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that outgrows a bound is shown what it was shown, is judged no more, and meets no fault."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    talk.turn(CAT)
    before = bare(talk.sent[-1])
    assert "[Ledger: not run" in json.dumps(before)
    if bound == "json_split.MAX_COMMAS":
        # What can't even be taken apart passes as it came.
        monkeypatch.setattr("execledger.proxy.json_split.UNCOUNTED", 0)
        before = talk.items
    monkeypatch.setattr(f"execledger.proxy.{bound}", 1)
    shown = talk.request()
    assert shown == before
    assert talk.last is not None and talk.last.followed is None
    assert talk.passage.faults == 0


@pytest.mark.guarantee("bounded", "append-only")
def test_a_long_history_is_taken_in_with_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until all of it is, the model is shown what it was shown, and nothing is judged; then Ledger goes on."""
    store = EditStore(None)
    before = Talk(new_passage(store, preset="paper"))
    for _ in range(4):
        before.turn(CAT)
        before.turn("cat b.py")
    monkeypatch.setattr("execledger.proxy.conversation.MAX_NEW", 10_000)
    talk = Talk(new_passage(store, preset="paper"), items=before.items)
    talk.numbers, talk.sent = before.numbers, before.sent[-1:]
    talk.request()
    views = [bool(talk.view)]
    for number in range(8):
        talk.turn(f"cat {number}.txt")
        views.append(bool(talk.view))
    assert views == sorted(views) and views[0] < views[-1]
    assert talk.grows()
    assert "[Ledger: not run" in json.dumps(talk.sent[-1])
    (opened,) = talk.passage.book._sessions.values()
    assert len(opened.workspace.session.ledger) == len(talk.results(talk.items))
    assert talk.passage.faults == 0


@pytest.mark.guarantee("bounded", "append-only")
def test_sessions_let_go_for_their_size_come_back_with_their_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sessions silent longest are let go when all of them weigh too much, and lose nothing that was shown."""
    monkeypatch.setattr("execledger.proxy.book.KEPT_TAKEN", 9_000)
    passage = new_passage(preset="paper")
    talks = [Talk(passage, f"s{number}", f"t{number}") for number in range(6)]
    for talk in talks:
        talk.turn(CAT)
        talk.turn(CAT)
    assert 1 <= len(passage.book) < 6
    for talk in talks:
        talk.request()
        assert talk.grows()


@pytest.mark.guarantee("bounded")
def test_conversations_of_one_session_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that opens ever new threads, or never names them, does not fill the memory."""
    monkeypatch.setattr("execledger.proxy.book.MAX_THREADS", 5)
    passage = new_passage()
    for number in range(40):
        Talk(passage, "s", f"t{number}").turn(CAT)
        unnamed = Talk(passage, items=[*opening(), {"type": "message", "role": "user", "content": str(number)}])
        unnamed.headers = {"user-agent": "other"}
        unnamed.turn(CAT)
    assert [len(one.threads) for one in passage.book._sessions.values()] == [5, 5]
    assert passage.faults == 0


@pytest.mark.guarantee("bounded")
def test_a_history_of_the_most_items_is_followed_in_one_go(full: bool, figure: Figure) -> None:
    """Results without calls, calls of one id, and references by the thousand are all found without a search."""
    count = limits.MAX_ITEMS if full else 4_000
    call = b'{"type":"function_call","name":"exec_command","arguments":"{\\"cmd\\":\\"ls\\"}","call_id":"x"}'
    result = b'{"type":"function_call_output","call_id":"%s","output":"a"}'
    shapes = {
        "results without calls": [result % b"y"] * count,
        "calls of one id": [call] * (count // 2) + [result % b"x"] * (count // 2),
        "calls without results": [call] * count,
    }
    store = EditStore(None)
    for name, items in shapes.items():
        counted = Counted()
        history = History(Responses(), codex, store)
        with counted:
            history.follow(items)
        assert counted.calls < 60 * count, name
        with counted:
            assert history.follow([*items, call])[-1] == call
        # One new item: what was there before is recognised, and not looked into.
        assert counted.calls < 200, name
    store.close()
    figure(f"{count:,} items in one request, 1 new item in the next: under 200 calls of ours")


@pytest.mark.guarantee("bounded")
def test_an_event_without_an_end_is_not_held(figure: Figure) -> None:
    """Beyond the bound an event passes in pieces, the events behind it are whole again, and no byte is lost."""
    events, chunk, held = Events(), b"x" * 1_000_000, 0
    sent: list[bytes] = []
    for _ in range(40):
        pieces = events.feed(chunk)
        assert all(isinstance(piece, Piece) for piece in pieces)
        sent += pieces
        held = max(held, events._size)
    tail = events.feed(b"\n") + events.feed(b"\ndata: 1\n\n")
    assert [type(one) for one in tail] == [Piece, Piece, bytes]
    assert b"".join(sent + tail) == chunk * 40 + b"\n\ndata: 1\n\n"
    assert held <= limits.MAX_EVENT + len(chunk)
    figure(f"an event of 40 MB: at most {held / 1e6:.0f} MB held")


@pytest.mark.guarantee("bounded", "fail-open")
def test_calls_without_an_end_are_not_held(figure: Figure) -> None:
    """Calls that begin and never end are held up to a bound, one alone or many side by side, and then pass."""
    for calls in (1, 50):
        stream = ResponsesStream(lambda *_: None)
        item = {"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": ""}
        fed: list[bytes] = []
        sent: list[bytes] = []
        held = 0
        for number in range(400):
            kind = "output_item.added" if number < calls else "function_call_arguments.delta"
            data = {"type": f"response.{kind}", "output_index": number % calls, "delta": "y" * 100_000}
            event = b"data: " + json.dumps({**data, **({"item": item} if number < calls else {})}).encode() + b"\n\n"
            fed.append(event)
            sent.append(stream.feed(event))
            held = max(held, stream._held.size)
        sent.append(stream.end())
        # What is let go of comes as it came, if not always in the same order.
        assert sorted(b"".join(sent).split(b"\n\n")) == sorted(b"".join(fed).split(b"\n\n"))
        assert held <= (limits.MAX_CALL if calls == 1 else limits.MAX_HELD) + 200_000
    figure(f"calls of 40 MB without an end: at most {held / 1e6:.0f} MB held")


@pytest.mark.guarantee("bounded")
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_packed_answer_is_unpacked_in_small_pieces(coding: str) -> None:
    """A chunk of a few kilobytes that stands for a hundred megabytes never does so at once."""
    plain = b"\n" * 100_000_000
    packed = gzip.compress(plain, 1) if coding == "gzip" else zstandard.compress(plain)
    unpack = decoder(coding)
    assert unpack is not None
    sizes = [len(unpack.decompress(piece)) for piece in portions(packed)]
    assert sum(sizes) == len(plain)
    assert max(sizes) <= 16_000_000


async def served(answer: Callable[[web.Request], object]) -> tuple[web.AppRunner, str]:
    """An upstream with one answer to everything."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)  # type: ignore[arg-type]
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


@pytest.mark.guarantee("bounded", "fail-open")
@pytest.mark.parametrize("told", [True, False])
def test_a_body_that_is_too_large_is_streamed_on(told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reaches the upstream byte for byte, whether its size is told or not, and is not looked into."""
    monkeypatch.setattr("execledger.proxy.relay.MAX_BODY", 100_000)
    body = b'{"input":[' + b" " * 3_000_000 + b"]}"
    received: list[bytes] = []

    async def answer(request: web.Request) -> web.Response:
        parts = [chunk async for chunk in request.content.iter_any()]
        received.append(b"".join(parts))
        return web.Response(text="taken")

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), 50_000):
            yield body[at : at + 50_000]

    async def run() -> tuple[int, str]:
        runner, upstream = await served(answer)
        try:
            with Proxy(ProxySettings(adapter=codex, upstream=upstream)) as proxy:
                async with ClientSession() as client:
                    data = io.BytesIO(body) if told else pieces()
                    async with client.post(f"{proxy.url}/responses", data=data) as response:
                        return response.status, await response.text()
        finally:
            await runner.cleanup()

    assert asyncio.run(run()) == (200, "taken")
    assert received == [body]


@pytest.mark.guarantee("bounded")
def test_the_bounds_are_stated_where_users_look() -> None:
    """Every number of the limits stands in the documents."""
    page = (ROOT / "docs" / "codex.md").read_text(encoding="utf-8")
    for name in ("MAX_ITEMS", "MAX_STEPS", "MAX_RESULT", "MAX_SESSIONS", "MAX_THREADS"):
        assert f"{getattr(limits, name):,}" in page, name
    for name in ("MAX_BODY", "MAX_NEW", "MAX_EVENT", "MAX_CALL", "MAX_HELD"):
        assert f"{getattr(limits, name) // 1_000_000} MB" in page, name
    assert f"{limits.MAX_SURROGATES:,} halves of characters" in page
    assert f"{limits.MAX_TAKEN // 1_000_000} million characters" in page
    assert f"{limits.KEPT_TAKEN // 1_000_000} million" in page


@pytest.mark.guarantee("bounded")
def test_a_session_that_is_let_go_is_freed_without_a_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ledger and histories refer to themselves in no circle: the proxy spares them from full collections."""
    monkeypatch.setattr("execledger.proxy.book.MAX_SESSIONS", 1)
    passage = new_passage(preset="paper")
    talk = Talk(passage, "one", "one")
    talk.turn(CAT)
    talk.turn(CAT, "ls")
    (opened,) = passage.book._sessions.values()
    ledger, history = weakref.ref(opened.workspace.session.ledger), weakref.ref(opened.threads["one"]._history)
    gc.collect()
    gc.disable()
    try:
        del opened, talk
        Talk(passage, "other", "other").turn(CAT)
        assert len(passage.book) == 1
        assert (ledger(), history()) == (None, None)
    finally:
        gc.enable()
