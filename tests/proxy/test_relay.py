"""The relay over real sockets: what passes untouched, what is refused, and how failures are passed on."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import zstandard
from aiohttp import ClientConnectionError, ClientPayloadError, ClientSession, web
from yarl import URL

from execledger.agents.codex import tools as codex
from execledger.core.policy import Policy, Preset
from execledger.errors import LedgerError
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from tests.proxy.talk import opening
from tests.support.servers.responses import ResponsesServer, answer, call, refuse, say, tries, turns

T = TypeVar("T")
HEADERS = {"authorization": "Bearer secret-key", "session-id": "s", "thread-id": "t", "user-agent": "codex_exec/1.2.3"}
SILENT = Rules(policy=Policy(inform=False))
"""Rules under which a first request has nothing added."""


def body(*items: dict[str, Any]) -> bytes:
    """A request as a client writes it: with spaces, an odd number and a field that nobody knows."""
    request = {
        "model": "m",
        "stream": True,
        "input": [*opening(), *items],
        "odd": {"é": 1.50},
        "tools": [{"type": "local_shell"}],
    }
    return json.dumps(request, ensure_ascii=False).encode()


def asking(work: Callable[[ClientSession], Awaitable[T]]) -> T:
    """What ``work`` finds out with a client."""

    async def run() -> T:
        async with ClientSession(auto_decompress=False) as client:
            return await work(client)

    return asyncio.run(run())


def post(url: str, data: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    async def work(client: ClientSession) -> tuple[int, dict[str, str], bytes]:
        async with client.post(f"{url}/responses", data=data, headers={**HEADERS, **headers}) as response:
            return response.status, {k.lower(): v for k, v in response.headers.items()}, await response.read()

    return asking(work)


class Echo:
    """An upstream that answers with fixed bytes, and keeps what it was sent."""

    def __init__(
        self, reply: bytes = b"data: {}\n\n", status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self.reply, self.status, self.headers = reply, status, headers or {}
        self.received: list[tuple[str, dict[str, str], bytes]] = []

    async def answer(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append((request.raw_path, headers, await request.read()))
        return web.Response(body=self.reply, status=self.status, headers=self.headers)


def through(upstream: Echo, work: Callable[[str, ClientSession], Awaitable[T]], **settings: Any) -> T:
    """What ``work`` finds out through a proxy before ``upstream``."""

    async def run() -> T:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", upstream.answer)
        runner = web.AppRunner(app, auto_decompress=False)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            address = f"http://127.0.0.1:{runner.addresses[0][1]}/base"
            with Proxy(ProxySettings(adapter=codex, upstream=address, **settings)) as proxy:
                async with ClientSession(auto_decompress=False) as client:
                    return await work(proxy.url, client)
        finally:
            await runner.cleanup()

    return asyncio.run(run())


@pytest.mark.parametrize("coding", ["", "zstd", "gzip"])
def test_passing_through_changes_no_byte(coding: str) -> None:
    """Upstream gets the client's bytes and the client gets upstream's, whatever is in them."""
    plain = body()
    packed = {"": plain, "zstd": zstandard.compress(plain), "gzip": gzip.compress(plain)}[coding]
    reply = gzip.compress(b'event: odd\r\ndata: {"type":"response.output_item.done"}\r\n\r\n')
    upstream = Echo(reply, headers={"Content-Type": "text/event-stream", "Content-Encoding": "gzip", "X-Odd": "1"})
    headers = {**HEADERS, "accept-encoding": "br", **({"content-encoding": coding} if coding else {})}

    async def work(url: str, client: ClientSession) -> tuple[bytes, str | None]:
        async with client.post(URL(f"{url}/responses?x=%2F1", encoded=True), data=packed, headers=headers) as response:
            return await response.read(), response.headers.get("x-odd")

    assert through(upstream, work, pass_through=True) == (reply, "1")
    ((path, sent, data),) = upstream.received
    assert (path, data) == ("/base/responses?x=%2F1", packed)
    assert {name: sent[name] for name in headers} == headers


def test_a_request_without_anything_to_say_is_sent_as_it_came() -> None:
    """Without edits and without a view the body is the client's, byte for byte; the key reaches the upstream."""
    upstream = Echo(b"data: [DONE]\n\n", headers={"Content-Type": "text/event-stream"})

    async def work(url: str, client: ClientSession) -> bytes:
        async with client.post(f"{url}/responses", data=body(), headers=HEADERS) as response:
            return await response.read()

    assert through(upstream, work, rules=SILENT) == b"data: [DONE]\n\n"
    ((_, sent, data),) = upstream.received
    assert data == body()
    assert sent["authorization"] == "Bearer secret-key"


def test_passwords_of_other_programs_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``.netrc`` that has a password for every machine changes nothing: the client's own key reaches the upstream."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password something\n")
    monkeypatch.setenv("NETRC", str(netrc))
    upstream = Echo()

    async def work(url: str, client: ClientSession) -> int:
        async with client.post(f"{url}/responses", data=body(), headers=HEADERS) as response:
            return response.status

    assert through(upstream, work) == 200
    assert [sent["authorization"] for _, sent, _ in upstream.received] == ["Bearer secret-key"]


@pytest.mark.parametrize("coding", ["zstd", "gzip"])
def test_a_packed_request_is_unpacked(coding: str) -> None:
    """What has to be looked into is sent on plain, and says so."""
    packed = {"zstd": zstandard.compress(body()), "gzip": gzip.compress(body())}[coding]
    upstream = Echo()

    async def work(url: str, client: ClientSession) -> int:
        async with client.post(f"{url}/responses", data=packed, headers={"content-encoding": coding}) as response:
            return response.status

    assert through(upstream, work, rules=SILENT) == 200
    ((_, sent, data),) = upstream.received
    assert data == body()
    assert "content-encoding" not in sent


@pytest.mark.parametrize(
    "data", [b"", b"not json", b"\xff\xfe", b'{"input": "text"}', b'{"input":[1,2,null]}', b"[" * 9999]
)
def test_what_is_not_understood_passes(data: bytes) -> None:
    """A body of any other shape is the upstream's to refuse."""
    upstream = Echo(b"no", 418)

    async def work(url: str, client: ClientSession) -> tuple[int, bytes]:
        async with client.post(f"{url}/responses", data=data) as response:
            return response.status, await response.read()

    assert through(upstream, work) == (418, b"no")
    assert upstream.received[0][2] == data


def test_failures_of_the_upstream_are_passed_on_as_they_are() -> None:
    """Status, headers and body are the upstream's own."""
    upstream = Echo(b'{"error": {"message": "slow down"}}', 429, {"Retry-After": "7", "X-Request-Id": "r1"})

    async def work(url: str, client: ClientSession) -> tuple[int, str, str, bytes]:
        async with client.post(f"{url}/responses", data=body()) as response:
            headers = response.headers
            return response.status, headers["retry-after"], headers["x-request-id"], await response.read()

    assert through(upstream, work) == (429, "7", "r1", b'{"error": {"message": "slow down"}}')


def test_an_upstream_that_is_not_there_is_named() -> None:
    """The client is told in the shape that it reads."""
    with Proxy(ProxySettings(adapter=codex, upstream="http://127.0.0.1:1/v1")) as proxy:
        status, _, data = post(proxy.url, body())
    assert status == 502
    assert json.loads(data)["error"]["message"].startswith("execledger proxy: http://127.0.0.1:1/v1: ")


def test_other_requests_pass_and_sockets_do_not() -> None:
    """The list of models is the upstream's; a WebSocket is refused in the one way that Codex takes well."""
    upstream = Echo(b"[]")

    async def work(url: str, client: ClientSession) -> list[int]:
        statuses = []
        async with client.get(f"{url}/models") as response:
            statuses.append(response.status)
        async with client.get(
            f"{url}/responses", headers={"upgrade": "websocket", "connection": "upgrade"}
        ) as response:
            statuses.append(response.status)
        async with client.get(f"{url.removesuffix('/v1')}/healthz") as response:
            statuses.append(response.status)
            health = await response.json()
        assert (health["status"], health["requests"], health["faults"]) == ("ok", 1, 0)
        return statuses

    assert through(upstream, work) == [200, 426, 200]
    assert [path for path, _, _ in upstream.received] == ["/base/models"]


def test_a_foreign_page_is_turned_away() -> None:
    """A name that is not this machine's was led here by somebody else."""
    upstream = Echo()

    async def work(url: str, client: ClientSession) -> int:
        async with client.post(f"{url}/responses", data=body(), headers={"host": "evil.example"}) as response:
            return response.status

    assert through(upstream, work) == 403
    assert upstream.received == []


def test_only_this_machine_can_reach_it() -> None:
    """The proxy listens on loopback, and a port that is taken is named."""
    with Proxy(ProxySettings(adapter=codex, upstream="http://127.0.0.1:1")) as proxy:
        assert proxy.url == f"http://127.0.0.1:{proxy.port}/v1"
        with pytest.raises(LedgerError, match=f"port {proxy.port} can't be listened on"):
            Proxy(ProxySettings(adapter=codex, upstream="http://127.0.0.1:1", port=proxy.port))


def test_the_settings_of_the_process_come_back() -> None:
    """A program that has a proxy for a while keeps its own intervals between threads and garbage collections."""
    before = sys.getswitchinterval(), gc.get_threshold()
    with Proxy(ProxySettings(adapter=codex, upstream="http://127.0.0.1:1")):
        assert (sys.getswitchinterval(), gc.get_threshold()) != before
    assert (sys.getswitchinterval(), gc.get_threshold()) == before


@pytest.fixture
def paper(tmp_path: Path) -> Iterator[Rules]:
    yield Rules(policy=Policy(preset=Preset.PAPER), journals=tmp_path / "journals")


def test_a_stream_that_is_cut_is_cut_for_the_client(paper: Rules) -> None:
    """What came before the cut arrives, and then the connection breaks, as it would without us."""
    script = turns(answer(say("a long text " * 50), cut_after=4))
    broken = pytest.raises((ClientPayloadError, ClientConnectionError))
    with (
        ResponsesServer(script) as server,
        Proxy(ProxySettings(adapter=codex, upstream=server.url, rules=paper)) as proxy,
        broken,
    ):
        post(proxy.url, body())


def test_a_packed_stream_is_unpacked_for_judging(paper: Rules) -> None:
    """An upstream that compresses its answer is read all the same."""
    script = turns(answer(call("exec_command", cmd="ls"), gzip=True, strange=True))
    with (
        ResponsesServer(script) as server,
        Proxy(ProxySettings(adapter=codex, upstream=server.url, rules=paper)) as proxy,
    ):
        status, headers, data = post(proxy.url, body())
    assert status == 200
    assert "content-encoding" not in headers
    assert b"response.completed" in data


def test_a_retry_after_a_failure_is_the_same_request(paper: Rules) -> None:
    """A client that tries again sends the same, and so do we."""
    script = turns(tries(refuse(500), say("Hello.")))
    with (
        ResponsesServer(script) as server,
        Proxy(ProxySettings(adapter=codex, upstream=server.url, rules=paper)) as proxy,
    ):
        assert [post(proxy.url, body())[0] for _ in range(2)] == [500, 200]
    first, second = (request.raw for request in server.requests)
    assert first == second


def test_keys_are_kept_nowhere(tmp_path: Path, paper: Rules) -> None:
    """Neither the journal nor the edits hold the key that passed."""
    script = turns(call("exec_command", cmd="ls"))
    settings = ProxySettings(adapter=codex, upstream="", rules=paper, edits=tmp_path / "edits.sqlite3")
    with (
        ResponsesServer(script) as server,
        Proxy(ProxySettings(adapter=codex, upstream=server.url, rules=paper, edits=settings.edits)) as proxy,
    ):
        post(proxy.url, body())
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 2
    assert not any(b"secret-key" in file.read_bytes() for file in files)


@pytest.mark.parametrize(
    ("prefix", "path", "expected"),
    [
        ("/v1", "/responses?x=1", "/base/responses?x=1"),
        ("", "/v1/messages?beta=true", "/base/v1/messages?beta=true"),
        ("", "/api/hello", "/base/api/hello"),
        ("", "/v1/run/9/x", "/base/v1/run/9/x"),
    ],
)
@pytest.mark.parametrize("launched", [False, True])
def test_a_path_reaches_the_upstream_without_what_is_ours(
    prefix: str, path: str, expected: str, launched: bool
) -> None:
    """The prefix is replaced by the upstream's address, and the name of a launched run is removed."""
    upstream = Echo()

    async def work(url: str, client: ClientSession) -> int:
        root = url.removesuffix(prefix) if prefix else url
        async with client.get(f"{root}{'/run/some-run' if launched else ''}{prefix}{path}") as response:
            return response.status

    assert through(upstream, work, prefix=prefix) == 200
    assert [path for path, _, _ in upstream.received] == [expected]


def test_a_client_that_names_no_session_has_that_of_its_path(tmp_path: Path) -> None:
    """Two starts of a client whose conversations begin alike are two sessions."""
    upstream = Echo()
    unnamed = {"user-agent": "some-client/1.0"}

    async def work(url: str, client: ClientSession) -> None:
        for run in ("one", "one", "two"):
            address = url.replace("/v1", f"/run/{run}/v1/responses")
            async with client.post(address, data=body(), headers=unnamed) as response:
                await response.read()

    through(upstream, work, rules=Rules(journals=tmp_path))
    assert sorted(path.name.split(".")[0][-3:] for path in tmp_path.glob("*.jsonl")) == ["one", "two"]
