"""Long work on a thread of its own: others go on meanwhile, and work on one session keeps its order."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import ClientSession

from execledger.agents.codex import tools as codex
from execledger.proxy.book import Book, Rules
from execledger.proxy.conversation import Conversation
from execledger.proxy.edits import EditStore
from execledger.proxy.history import AnsweredCall, RecordedCall
from execledger.proxy.passage import Passage
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.proxy.worker import PORTION, Work, Worker, WorkerClosed, run_to_end
from tests.guarantees.test_load import call_and_result
from tests.proxy.talk import opening
from tests.support.servers.responses import ResponsesServer, answer, call, turns

LONG = 10 * PORTION


def noting(said: list[str], word: str, weight: int, pieces: int = 3) -> Work[str]:
    """Work that says what it does, and on which thread."""
    for number in range(pieces):
        yield weight
        said.append(f"{word}{number} {'loop' if threading.current_thread() is threading.main_thread() else 'worker'}")
    return word


def run(work: Callable[[Worker], Any]) -> Any:
    """What comes of a coroutine that has a worker."""

    async def main() -> Any:
        worker = Worker()
        try:
            return await work(worker)
        finally:
            await worker.close()

    return asyncio.run(main())


def test_short_work_stays_on_the_loop_and_long_work_leaves_it() -> None:
    """What weighs little is done at once; from the first piece that does not, the rest is done by the worker."""
    said: list[str] = []
    assert run(lambda worker: worker.run(noting(said, "short", 10))) == "short"
    assert run(lambda worker: worker.run(noting(said, "long", PORTION))) == "long"
    assert said == ["short0 loop", "short1 loop", "short2 loop", "long0 loop", "long1 worker", "long2 worker"]


def test_work_on_one_session_follows_its_order_and_sessions_take_turns() -> None:
    """A second request waits for the first of its session; that of another goes on beside it."""
    said: list[str] = []

    async def three(worker: Worker) -> None:
        one, other = asyncio.Lock(), asyncio.Lock()
        works = [("a", one), ("b", one), ("c", other)]
        await asyncio.gather(*(worker.run(noting(said, word, LONG), lock) for word, lock in works))

    run(three)
    words = [word.partition(" ")[0] for word in said]
    assert [word for word in words if word[0] in "ab"] == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert words.index("c0") < words.index("a2")


def test_an_error_reaches_who_waits_and_unlocks_the_session() -> None:
    """Also one that is raised on the thread."""

    def failing() -> Work[None]:
        yield LONG
        raise ValueError("on the thread")

    async def twice(worker: Worker) -> str:
        lock = asyncio.Lock()
        with pytest.raises(ValueError, match="on the thread"):
            await worker.run(failing(), lock)
        assert not lock.locked()
        return await worker.run(noting([], "next", LONG), lock)

    assert run(twice) == "next"


def held(reached: threading.Event, free: threading.Event, said: list[str]) -> Work[None]:
    """Work that does not end before it is let."""
    yield LONG
    reached.set()
    assert free.wait(60)
    said.append("ended")
    yield LONG
    said.append("went on")


def test_work_goes_on_when_nobody_waits_for_it_any_more() -> None:
    """A client that hangs up leaves no session half taken in, and its lock is held until the work has ended."""
    said: list[str] = []

    async def cancelled(worker: Worker) -> None:
        reached, free, lock = threading.Event(), threading.Event(), asyncio.Lock()
        waiting = asyncio.ensure_future(worker.run(held(reached, free, said), lock))
        await asyncio.to_thread(reached.wait, 60)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled() and lock.locked()
        free.set()
        await worker.run(noting(said, "next", 1, 1), lock)

    run(cancelled)
    assert said == ["ended", "went on", "next0 loop"]


def test_closing_gives_up_what_has_not_ended() -> None:
    """The piece that is under way ends, and nothing is begun behind it."""
    said: list[str] = []

    async def closed(worker: Worker) -> None:
        reached, free = threading.Event(), threading.Event()
        waiting = asyncio.ensure_future(worker.run(held(reached, free, said)))
        await asyncio.to_thread(reached.wait, 60)
        closing = asyncio.ensure_future(worker.close())
        await asyncio.sleep(0)
        free.set()
        await closing
        with pytest.raises(WorkerClosed):
            await waiting

    run(closed)
    assert said == ["ended"]


def test_all_at_once_gives_the_same() -> None:
    """Without a worker the same work gives the same result."""
    assert run_to_end(noting([], "x", LONG)) == "x"


# Requests while a history is taken in


class Pause(NamedTuple):
    """The point in a history at which the worker is paused."""

    reached: threading.Event
    """The worker is paused."""
    free: threading.Event
    """It may go on."""


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pause]:
    """Pauses the worker when it first reaches the call ``c30``."""
    paused = Pause(threading.Event(), threading.Event())
    watch = Conversation._recorded

    def slow(self: Conversation, answered: AnsweredCall) -> RecordedCall:
        if answered.call_id == "c30" and not paused.reached.is_set():
            paused.reached.set()
            assert paused.free.wait(60)
        return watch(self, answered)

    monkeypatch.setattr(Conversation, "_recorded", slow)
    yield paused
    paused.free.set()


def long_body(numbers: Iterable[int], session: str = "") -> tuple[dict[str, str], bytes]:
    """A request whose history is new to the proxy; without a ``session`` it names no conversation."""
    items = [*(json.dumps(item).encode() for item in opening())]
    for number in numbers:
        items += call_and_result(number, 40)
    named = {"session-id": session, "thread-id": session} if session else {}
    headers = {**named, "user-agent": "codex_exec/1.0"}
    return headers, b'{"model":"m","stream":true,"tools":[{"type":"local_shell"}],"input":[' + b",".join(items) + b"]}"


def during(pause: Pause, work: Callable[[Passage], Coroutine[Any, Any, None]]) -> Passage:
    """A passage in which ``work`` is begun while the worker is paused in a long history, and ends afterwards."""

    async def main(worker: Worker) -> Passage:
        store = EditStore(None)
        passage = Passage(Book(Rules(), codex, store), runner=worker)
        long = asyncio.ensure_future(passage.sent("POST", "/v1/responses", *long_body(range(40))))
        await asyncio.to_thread(pause.reached.wait, 60)
        working = asyncio.ensure_future(work(passage))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not (long.done() or working.done())
        pause.free.set()
        await asyncio.gather(long, working)
        assert passage.faults == 0
        return passage

    found: Passage = run(main)
    return found


@pytest.mark.guarantee("visibility")
def test_a_conversation_is_recognised_by_a_whole_history(pause: Pause) -> None:
    """A request that forks off behind what was taken in of another so far is a conversation of its own."""

    async def fork(passage: Passage) -> None:
        await passage.sent("POST", "/v1/responses", *long_body([*range(35), 50, 51]))

    (session,) = during(pause, fork).book._sessions.values()
    assert [len(conversation._history.steps) for conversation in session.threads.values()] == [40, 37]


def test_a_session_is_not_changed_beside_the_worker(pause: Pause) -> None:
    """That a request was not read is noted behind the one that is being taken in."""

    async def not_read(passage: Passage) -> None:
        (name,) = passage.book._sessions
        await passage._overlook(name)

    (session,) = during(pause, not_read).book._sessions.values()
    assert session.workspace.unseen


def test_a_session_that_a_request_waits_for_is_not_let_go(pause: Pause, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others come meanwhile, for which there is no room: both requests use the same ledger."""
    monkeypatch.setattr("execledger.proxy.book.MAX_SESSIONS", 1)

    async def again(passage: Passage) -> None:
        waiting = asyncio.ensure_future(passage.sent("POST", "/v1/responses", *long_body(range(41))))
        await asyncio.sleep(0)
        await passage.sent("POST", "/v1/responses", *long_body(range(1), "other"))
        await waiting

    sessions = during(pause, again).book._sessions.values()
    assert sorted(len(session.workspace.session.ledger) for session in sessions) == [1, 41]


# A real proxy


def test_others_are_served_while_a_long_history_is_taken_in(tmp_path: Path, pause: Pause) -> None:
    """While the worker is paused in the middle of a history, health and another session are answered."""
    script = turns(answer(call("exec_command", cmd="ls")), answer(call("exec_command", cmd="ls")))
    rules = Rules(journals=tmp_path / "journals")

    async def talk(url: str) -> tuple[list[int], bool]:
        async with ClientSession() as client:

            async def post(steps: int, session: str) -> int:
                headers, body = long_body(range(steps), session)
                async with client.post(f"{url}/responses", data=body, headers=headers) as response:
                    await response.read()
                    return response.status

            long = asyncio.ensure_future(post(40, "long"))
            await asyncio.to_thread(pause.reached.wait, 60)
            async with client.get(url.removesuffix("/v1") + "/healthz") as response:
                statuses = [response.status]
            statuses.append(await post(1, "short"))
            waited = not long.done()
            pause.free.set()
            return [*statuses, await long], waited

    with (
        ResponsesServer(script) as server,
        Proxy(ProxySettings(adapter=codex, upstream=server.url, rules=rules)) as proxy,
    ):
        assert asyncio.run(talk(proxy.url)) == ([200, 200, 200], True)
    steps = {path.name[-21:]: path.read_text().count('"event":"step"') for path in (tmp_path / "journals").iterdir()}
    assert sorted(steps.values()) == [1, 40]


def test_others_are_served_while_a_long_call_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of thousands of commands is judged on the worker: meanwhile, health is answered on the event loop."""
    paused = Pause(threading.Event(), threading.Event())
    judged = Conversation._judged

    def slow(self: Conversation, *given: Any) -> Any:
        paused.reached.set()
        assert threading.current_thread().name.startswith("execledger-worker") and paused.free.wait(60)
        return judged(self, *given)

    monkeypatch.setattr(Conversation, "_judged", slow)
    script = turns(answer(call("exec_command", cmd="true;true\n" * 2_000)))

    async def talk(url: str) -> tuple[int, bool, bytes]:
        async with ClientSession() as client:

            async def post() -> bytes:
                headers, body = long_body(range(1), "long")
                async with client.post(f"{url}/responses", data=body, headers=headers) as response:
                    return await response.read()

            long = asyncio.ensure_future(post())
            await asyncio.to_thread(paused.reached.wait, 60)
            async with client.get(url.removesuffix("/v1") + "/healthz") as response:
                status = response.status
            waited = not long.done()
            paused.free.set()
            return status, waited, await long

    with ResponsesServer(script) as server, Proxy(ProxySettings(adapter=codex, upstream=server.url)) as proxy:
        status, waited, received = asyncio.run(talk(proxy.url))
    assert (status, waited) == (200, True)
    assert received.count(b"true;true") >= 2_000
