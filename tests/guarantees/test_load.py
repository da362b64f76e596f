"""Load: many sessions at once, many writers of one journal, a very long session, a very large request."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

from execledger.journal import Journal, StepRecorded
from execledger.journal.codec import decode
from execledger.proxy.limits import MAX_NEW
from execledger.proxy.passage import Passage
from tests.journal.runs import start
from tests.proxy.talk import new_passage, opening
from tests.support.measuring import Counted, append_many, resident

Figure = Callable[[str], None]
TURN = {"session-id": "s", "thread-id": "t", "user-agent": "codex_exec/1.0"}
EVENTS = 40
"""Events of one answer."""


def call_and_result(number: int, lines: int) -> list[bytes]:
    """One step of a history: a read of lines that nobody has read before."""
    command = f"sed -n '{number * lines + 1},{(number + 1) * lines}p' src/module_{number % 97}.py"
    text = "".join(f"def function_{number}_{line}(value): return value\n" for line in range(lines))
    shown = f"Chunk ID: {number:06x}\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n{text}"
    call = {"type": "function_call", "name": "exec_command", "call_id": f"c{number}"}
    result = {"type": "function_call_output", "call_id": f"c{number}", "output": shown}
    return [json.dumps({**call, "arguments": json.dumps({"cmd": command})}).encode(), json.dumps(result).encode()]


def body_of(items: list[bytes]) -> bytes:
    """A request with these items."""
    return b'{"model":"m","stream":true,"tools":[{"type":"local_shell"}],"input":[' + b",".join(items) + b"]}"


FIRST = [json.dumps(item).encode() for item in opening()]


# Many sessions at once


class Crowd:
    """An upstream that answers when everybody has asked: all streams are open at the same time."""

    def __init__(self, many: int) -> None:
        self._left = many
        self._all = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Words, event by event, that belong to one session."""
        data = json.loads(await request.read())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        events = said(data["prompt_cache_key"])
        await response.write(events[0])
        self._left -= 1
        if self._left <= 0:
            self._all.set()
        await self._all.wait()
        for event in events[1:]:
            await response.write(event)
        await response.write_eof()
        return response


def said(session: str) -> list[bytes]:
    """The events of the answer to one session."""
    deltas = [{"type": "response.output_text.delta", "delta": f"{session} {number} é"} for number in range(EVENTS)]
    events = [*deltas, {"type": "response.completed", "response": {"id": session, "usage": {"input_tokens": 1}}}]
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]


@contextmanager
def proxy_process(upstream: str, folder: Path, files: int | None = None) -> Iterator[tuple[str, int]]:
    """A proxy in a process of its own, with at most so many open ``files``: its address and number."""
    command = [sys.executable, "-m", "execledger", "proxy", "--upstream", upstream, "--port", "0"]
    command += ["--journal", str(folder / "journals")]
    own = {**os.environ, "XDG_STATE_HOME": str(folder), "HOME": str(folder), "EXECLEDGER": "", "no_proxy": "*"}
    limit = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"] if files is not None else []
    errors = (folder / "stderr").open("w")
    with (
        errors,
        subprocess.Popen([*limit, *command], env=own, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1], process.pid
        finally:
            process.terminate()
            process.stdout.read()


async def ask(client: ClientSession, url: str, session: str) -> bytes:
    """One request of one session, with a short history."""
    items = [*FIRST, *call_and_result(1, 40)]
    data = body_of(items)[:-1] + b',"prompt_cache_key":"' + session.encode() + b'"}'
    headers = {**TURN, "session-id": session, "thread-id": session}
    async with client.post(f"{url}/responses", data=data, headers=headers) as response:
        assert response.status == 200
        return await response.read()


async def crowded(many: int, folder: Path) -> tuple[list[bytes], int]:
    """What all sessions get at once through one proxy, and the memory that it took."""
    app = web.Application()
    app.router.add_post("/responses", Crowd(many).answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    try:
        with proxy_process(f"http://127.0.0.1:{runner.addresses[0][1]}", folder) as (url, pid):
            before = resident(pid)
            async with ClientSession(connector=TCPConnector(limit=0), timeout=ClientTimeout(total=600)) as client:
                found = await asyncio.gather(*(ask(client, url, f"s{number}") for number in range(many)))
            return list(found), resident(pid) - before
    finally:
        await runner.cleanup()


@pytest.mark.guarantee("bounded", "fail-open")
def test_many_streams_at_once_all_complete(full: bool, figure: Figure, tmp_path: Path) -> None:
    """Streams that are all open at the same time are each passed byte for byte, at a bounded cost of memory."""
    many = 500 if full else 50
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8 * many if hard == resource.RLIM_INFINITY else min(hard, 8 * many)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        found, grown = asyncio.run(crowded(many, tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found == [b"".join(said(f"s{number}")) for number in range(many)]
    assert len(list((tmp_path / "journals").iterdir())) == many
    figure(f"{many} streams open at once: all complete, byte for byte, {grown / many:,.0f} KB of memory each")
    assert grown / many < 2_000


async def one_after_the_other(many: int, folder: Path) -> None:
    """So many sessions, on a few connections of one proxy that may open 256 files."""
    app = web.Application()
    app.router.add_post("/responses", Crowd(0).answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with proxy_process(f"http://127.0.0.1:{runner.addresses[0][1]}", folder, files=256) as (url, _):
            async with ClientSession(connector=TCPConnector(limit=8)) as client:
                await asyncio.gather(*(ask(client, url, f"s{number}") for number in range(many)))
    finally:
        await runner.cleanup()


@pytest.mark.guarantee("bounded", "step-in-flight")
def test_more_sessions_than_files_have_every_event_in_their_journals(figure: Figure, tmp_path: Path) -> None:
    """Journals of idle sessions are closed and opened again; nothing is lost, and there is at most one warning."""
    many = 320
    asyncio.run(one_after_the_other(many, tmp_path))
    kinds = Counter(tuple(events_of(path)) for path in (tmp_path / "journals").iterdir())
    assert kinds == {("start", "step", "end"): many}
    assert len([line for line in (tmp_path / "stderr").read_text().splitlines() if "file" in line]) <= 1
    figure(f"{many} sessions with 256 files: every journal complete")


def events_of(path: Path) -> Iterator[str]:
    """The kinds of events in a journal, in order."""
    return (json.loads(line)["event"] for line in path.read_text().splitlines())


# Many writers of one journal


@pytest.mark.guarantee("bounded", "step-in-flight")
def test_many_writers_of_one_journal_lose_and_tear_nothing(full: bool, figure: Figure, tmp_path: Path) -> None:
    """Sixteen processes that write to one journal at once leave every event of theirs, whole and in its order."""
    events = 1_000 if full else 60
    journal = Journal.create(tmp_path, "crowd")
    journal.append(start())
    journal.close()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.measuring"])
    writers = [context.Process(target=append_many, args=(journal.path, number, events)) for number in range(16)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(600)
    assert [writer.exitcode for writer in writers] == [0] * 16
    found = dict[int, list[int]]()
    for line in journal.path.read_bytes().splitlines(keepends=True):
        decoded = decode(line)
        assert line.endswith(b"\n") and decoded.event is not None and not decoded.unknown_fields
        if isinstance(decoded.event, StepRecorded):
            found.setdefault(decoded.event.turn, []).append(decoded.event.index)
    assert found == {number: list(range(events)) for number in range(16)}
    figure(f"16 writers x {events:,} events: {16 * events:,} there, 0 torn")


# A long session, and a large request


def judged(passage: Passage, items: list[bytes], command: str) -> int:
    """Send a request and have one call of its answer judged; how much work that took."""
    call = {
        "type": "function_call",
        "name": "exec_command",
        "call_id": "new",
        "arguments": json.dumps({"cmd": command}),
    }
    event = {"type": "response.output_item.done", "output_index": 0, "item": call}
    body = body_of(items)
    with Counted() as counted:
        sent = passage.request("POST", "/v1/responses", TURN, body)
        editor = passage.answer(sent, 200, {"content-type": "text/event-stream"})
        assert editor is not None
        editor.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    assert passage.faults == 0
    return counted.calls


@pytest.mark.guarantee("bounded")
def test_late_steps_of_a_long_session_cost_what_early_ones_cost(full: bool, figure: Figure) -> None:
    """Counted in calls of functions, steps at the end of a long session take no more work than those at its begin."""
    steps, at_once = (10_000, 100) if full else (1_000, 50)
    passage, items, work = new_passage(), list(FIRST), list[int]()
    before = resident()
    for batch in range(steps // at_once):
        for number in range(batch * at_once, (batch + 1) * at_once):
            items += call_and_result(number, 12)
        work.append(judged(passage, items, f"cat src/module_{batch}.py") // at_once)
    early, late = sum(work[1:4]) / 3, sum(work[-3:]) / 3
    grown = (resident() - before) / steps
    figure(f"{steps:,} steps: {early:,.0f} calls a step at first, {late:,.0f} at last; {grown:.0f} KB of memory a step")
    assert late < 1.25 * early
    assert grown < 100


@pytest.mark.guarantee("bounded")
def test_a_large_history_is_read_once(full: bool, figure: Figure) -> None:
    """A request of many megabytes is followed, and the next one costs what is new in it."""
    size = 20_000_000 if full else 3_000_000
    items = list(FIRST)
    held = 0
    while held < size:
        step = call_and_result(len(items), 300)
        items += step
        held += sum(map(len, step))
    passage = new_passage()
    with Counted() as parts:
        for _ in range(size // MAX_NEW):
            passage.request("POST", "/v1/responses", TURN, body_of(items))
    first = parts.calls + judged(passage, items, "cat a.py")
    items += call_and_result(len(items), 300)
    second = judged(passage, items, "cat b.py")
    figure(f"a history of {held / 1e6:.0f} MB: {first:,} calls at first, {second:,} for the next request")
    steps = len(items) // 2
    assert second < 5 * first / steps + 1_000
