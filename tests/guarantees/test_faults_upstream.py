"""A model's server that misbehaves: what the client sees through the proxy is what it sees without."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from execledger.agents.codex import tools as codex
from execledger.core.policy import Policy, Preset
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from tests.proxy.talk import opening
from tests.support.servers.unruly import EVENT, HANGS_UP, MANNERS, PATIENCE, Seen, UnrulyServer, ask

HEADERS = [("session-id", "s"), ("thread-id", "t"), ("user-agent", "codex_exec/1.0"), ("content-type", "x/y")]
HISTORY = [
    *opening(),
    {"type": "function_call", "name": "exec_command", "arguments": '{"cmd":"cat a.py"}', "call_id": "a"},
    {"type": "function_call_output", "call_id": "a", "output": "Process exited with code 0\nOutput:\nx = 1\n"},
]
REQUEST = json.dumps({"model": "m", "stream": True, "input": HISTORY, "tools": [{"type": "local_shell"}]}).encode()
KEPT = ("content-type", "retry-after", "location", "x-large", "x-many-59", "link")
"""Headers that are the client's; the others belong to one connection."""


@pytest.fixture(scope="module")
def server() -> Iterator[UnrulyServer]:
    """The server that misbehaves."""
    with UnrulyServer().running() as running:
        yield running


@pytest.fixture(scope="module")
def proxy(server: UnrulyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy before it that governs."""
    rules = Rules(policy=Policy(preset=Preset.PAPER), journals=tmp_path_factory.mktemp("journals"))
    with Proxy(ProxySettings(adapter=codex, upstream=f"http://127.0.0.1:{server.port}/v1", rules=rules)) as running:
        yield running


def both(server: UnrulyServer, proxy: Proxy, path: str, until: int = 0) -> tuple[Seen, Seen]:
    """What a client sees without and with the proxy."""
    port = int(proxy.url.rsplit(":", 1)[1].partition("/")[0])
    direct = ask(server.port, path, REQUEST, HEADERS, until=until)
    return direct, ask(port, path, REQUEST, HEADERS, until=until)


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("path", ["/v1/responses", "/v1/models"])
def test_what_comes_is_passed_on_as_far_as_it_came(
    server: UnrulyServer, proxy: Proxy, path: str, figure: Callable[[str], None]
) -> None:
    """Status, headers, body and whether it was whole, byte for byte; where no answer came, the client is told."""
    answering = {name: manner for name, manner in MANNERS.items() if manner.answers and manner.end != "hold"}
    for name, manner in answering.items():
        server.manner = manner
        direct, through = both(server, proxy, path)
        told = [{key: one.headers.get(key) for key in KEPT} for one in (direct, through)]
        assert (through.status, told[1]) == (direct.status, told[0]), name
        if manner.end == "reset":
            # What had not been read by then is lost, with and without us.
            assert direct.body.startswith(through.body) or through.body.startswith(direct.body), name
        else:
            # An answer that is judged is decoded for that, and sent on without its encoding.
            unpacked = gzip.decompress(direct.body) if name == "packed" and path == "/v1/responses" else direct.body
            assert through.body == unpacked, name
        assert through.whole == direct.whole, name
    figure(f"{len(answering)} manners of a broken upstream, 0 changed answers")


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("name", [name for name, manner in MANNERS.items() if not manner.answers])
def test_where_no_answer_comes_the_client_is_told(server: UnrulyServer, proxy: Proxy, name: str) -> None:
    """An upstream that says nothing that is HTTP is a bad gateway, and no reason to keep the client waiting."""
    server.manner = MANNERS[name]
    direct, through = both(server, proxy, "/v1/responses")
    assert (direct.status in (0, 200), through.status, through.whole) == (True, 502, True)
    assert json.loads(through.body)["error"]["type"] == "proxy_error"


@pytest.mark.guarantee("fail-open")
def test_a_hanging_answer_is_neither_kept_back_nor_kept_open(server: UnrulyServer, proxy: Proxy) -> None:
    """What came is passed on while the rest is waited for; when the client goes, so do we."""
    server.manner = MANNERS["hanging"]
    for path in ("/v1/responses", "/v1/models"):
        direct, through = both(server, proxy, path, until=len(EVENT))
        assert (direct.status, through.status) == (200, 200)
        assert direct.body.startswith(EVENT) and through.body.startswith(EVENT)
    for _ in range(4):
        assert server.left.acquire(timeout=PATIENCE), "a connection to the upstream was left open"


@pytest.mark.guarantee("fail-open")
def test_an_upstream_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The client gets an answer at once, and the next server at the same place is found."""
    unruly = UnrulyServer()
    with Proxy(ProxySettings(adapter=codex, upstream=f"http://127.0.0.1:{unruly.port}/v1")) as proxy:
        with unruly.running():
            unruly.manner = MANNERS["whole"]
            assert both(unruly, proxy, "/v1/responses")[1].status == 200
        port = int(proxy.url.rsplit(":", 1)[1].partition("/")[0])
        assert ask(port, "/v1/responses", REQUEST, HEADERS).status == 502


@pytest.mark.guarantee("fail-open")
def test_a_kept_connection_that_was_closed_is_no_failure(server: UnrulyServer, proxy: Proxy) -> None:
    """An upstream that hangs up between two requests, as idle ones do, costs the agent nothing."""
    server.manner = HANGS_UP
    seen = [both(server, proxy, "/v1/responses", until=len(EVENT)) for _ in range(5)]
    assert [(through.status, through.body) for _, through in seen] == [(200, EVENT)] * 5
