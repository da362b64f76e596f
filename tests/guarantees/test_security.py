"""The two servers under attack: foreign pages, names, paths and methods, byte by byte as an attacker writes them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from execledger.agents.codex import tools as codex
from execledger.demo.mini import environment
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.viewer.counting import run_id
from execledger.viewer.server import Viewer, ViewerSettings
from tests.journal.runs import plain_step, start, written
from tests.proxy.talk import opening
from tests.support.servers.responses import ResponsesServer, call, turns

pytestmark = pytest.mark.guarantee("loopback-only")
SECRET = "what nobody was given to see"
BODY = json.dumps({"model": "m", "stream": True, "input": opening(), "tools": [{"type": "function", "name": "x"}]})

FOREIGN = {
    "a name of another machine": "Host: evil.example",
    "that name with our port": "Host: evil.example:{port}",
    "a name that begins like ours": "Host: 127.0.0.1.evil.example:{port}",
    "a name that ends like ours": "Host: evil.localhost:{port}",
    "our name as a user": "Host: 127.0.0.1@evil.example",
    "no name": "Host: ",
    "every interface": "Host: 0.0.0.0:{port}",
    "a page of another site": "Host: 127.0.0.1:{port}\r\nOrigin: https://evil.example",
    "a page on another port": "Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:1",
    "a page in a frame without a site": "Host: 127.0.0.1:{port}\r\nOrigin: null",
    "a link on a page": "Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site",
    "a page of a neighbour": "Host: localhost:{port}\r\nSec-Fetch-Site: same-site",
}
"""Headers of requests that a foreign page can have a browser send, rebinding its own name included."""


def sent(port: int, request: str) -> tuple[int, bytes]:
    """The status and the body of the answer to a request that is written out; 0 if the connection was just closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(request.encode("latin-1"))
        data = b""
        while chunk := line.recv(65_536):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    return int(status[1]) if status else 0, body


def asked(port: int, line: str, headers: str = "Host: 127.0.0.1:{port}", body: str = "") -> tuple[int, bytes]:
    """The answer to a request line with these headers."""
    length = f"Content-Length: {len(body.encode())}\r\n" if body else ""
    return sent(port, f"{line} HTTP/1.1\r\n{headers.format(port=port)}\r\n{length}Connection: close\r\n\r\n{body}")


@contextmanager
def proxied(folder: Path) -> Iterator[tuple[Proxy, ResponsesServer]]:
    with ResponsesServer(turns(call("exec_command", cmd="ls"))) as server:
        rules = Rules(journals=folder / "journals")
        with Proxy(
            ProxySettings(adapter=codex, upstream=server.url, rules=rules, edits=folder / "edits.sqlite3")
        ) as proxy:
            yield proxy, server


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[tuple[Viewer, Path]]:
    """A viewer that was given one of two folders; the other holds a secret."""
    written(tmp_path / "given", [start(), plain_step(0, "ls", "a.py\n")], "given")
    hidden = written(tmp_path / "hidden", [start(), plain_step(0, "ls", SECRET)], "hidden")
    with Viewer(ViewerSettings(paths=(str(tmp_path / "given"),))) as viewer:
        yield viewer, hidden


def test_no_foreign_page_reaches_the_model(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """Through the proxy, with a request that would be a turn of an agent; nothing of it is recorded either."""
    with proxied(tmp_path) as (proxy, server):
        for name, headers in FOREIGN.items():
            for line in ("POST /v1/responses", "GET /v1/models", "GET /healthz", "OPTIONS /v1/responses"):
                status, _ = asked(proxy.port, line, headers, BODY if line.startswith("POST") else "")
                assert status in (400, 403), (name, line, status)
        assert not server.requests
        assert asked(proxy.port, "POST /v1/responses", body=BODY)[0] == 200, "the agent's own request is answered"
        assert len(server.requests) == 1
    assert len(list((tmp_path / "journals").iterdir())) == 1
    figure(f"{4 * len(FOREIGN)} foreign requests to the proxy, 0 passed on")


def test_no_foreign_page_reaches_a_run(shelf: tuple[Viewer, Path], figure: Callable[[str], None]) -> None:
    """Neither the list nor a file of the page's own code that has the data."""
    viewer, _ = shelf
    for name, headers in FOREIGN.items():
        status, body = asked(viewer.port, "GET /api/runs", headers)
        assert status in (400, 403) and b"given" not in body, (name, status)
    status, body = asked(viewer.port, "GET /api/runs")
    assert status == 200 and b"given" in body
    figure(f"{len(FOREIGN)} foreign requests to the viewer, 0 answered")


@pytest.mark.parametrize(
    "line",
    [
        "CONNECT evil.example:443",
        "CONNECT 127.0.0.1:22",
        "GET http://evil.example/v1/models",
        "POST http://evil.example/v1/responses",
        "GET https://127.0.0.1.evil.example/v1/models",
        "TRACE /v1/responses",
        "PROPFIND /v1/",
        "GET /v1/../admin",
        "GET /v1/%2e%2e/admin",
        "GET /v1/x/..%2f..%2fadmin",
        "GET /v1/%2e%2e%2f%2e%2e/etc/passwd",
        "GET /v2/models",
        "GET /",
        "GET //evil.example/v1/models",
        "GET *",
    ],
)
def test_the_proxy_leads_nowhere_but_to_its_upstream(tmp_path: Path, line: str) -> None:
    """It is no web proxy, has no other methods than an API, and no path leads out of the upstream's own."""
    with proxied(tmp_path) as (proxy, server):
        status, _ = asked(proxy.port, line)
        assert status in (0, 400, 403, 404, 405), status
        assert not server.requests and server.faults == []
        assert asked(proxy.port, "POST /v1/responses", body=BODY)[0] == 200


@pytest.mark.parametrize(
    "request_text",
    [
        "POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"
        "Connection: close\r\n\r\n0\r\n\r\n",
        "POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n X-Folded: a\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/9.9\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
    ids=["two lengths", "a negative length", "a folded header", "another version", "TLS"],
)
def test_what_is_no_request_is_turned_away(tmp_path: Path, request_text: str) -> None:
    """By the proxy and by the viewer; both go on."""
    with proxied(tmp_path) as (proxy, server), Viewer(ViewerSettings(paths=(str(tmp_path),))) as viewer:
        for port, path in ((proxy.port, "/healthz"), (viewer.port, "/")):
            status, body = sent(port, request_text)
            assert status in (0, 400, 403, 405), body
            assert asked(port, f"GET {path}")[0] == 200
        assert not server.requests


def test_the_viewer_serves_only_what_it_was_given(shelf: tuple[Viewer, Path]) -> None:
    """No id, path or link leads to the folder beside."""
    viewer, hidden = shelf
    identity = run_id(str(hidden))
    up = f"../hidden/{hidden.name}"
    paths = [
        *(f"/api/runs/{identity}{rest}" for rest in ("", "/steps/0", "/output/0", "/map?at=0", "/events")),
        *(f"/api/compare?a={one}&b={one}" for one in (identity, str(hidden))),
        *(f"/api/runs/{one}" for one in (up, up.replace("/", "%2f"), str(hidden), str(hidden).replace("/", "%2f"))),
        *(f"/{one}" for one in (up, up.replace("/", "%2f"), f"/{hidden}", f"page/../{up}", f"..%5c{up}")),
        f"/api/runs?q={SECRET.replace(' ', '+')}",
    ]
    for path in paths:
        status, body = asked(viewer.port, f"GET {path}")
        assert SECRET.encode() not in body, path
        assert status in (400, 404) or path.startswith("/api/runs?"), (path, status)


def loopback_socket(process: int) -> list[tuple[str, int]]:
    """Every address that a process, or one that it started, listens at, as the kernel tells."""
    found = []
    for one in (process, *_children(process)):
        try:
            own = {os.readlink(link) for link in Path(f"/proc/{one}/fd").iterdir() if link.is_symlink()}
        except OSError:
            assert one != process
            continue
        for table in ("tcp", "tcp6", "udp", "udp6"):
            listed = Path(f"/proc/{one}/net/{table}")
            # Where IPv6 is off there is no table of it.
            for row in listed.read_text().splitlines()[1:] if listed.exists() else ():
                fields = row.split()
                state, inode = fields[3], fields[9]
                if f"socket:[{inode}]" in own and (table.startswith("udp") or state == "0A"):
                    address, _, port = fields[1].partition(":")
                    found.append((address, int(port, 16)))
    return found


def _children(process: int) -> list[int]:
    """The processes below a process, where the kernel tells; they may be gone by now."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        below = [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []
    return [*below, *(one for child in below for one in _children(child))]


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="the system does not tell who listens where")
@pytest.mark.parametrize(
    "verb", [("proxy", "--upstream", "http://127.0.0.1:1/v1"), ("view", "--no-browser", ".")], ids=lambda verb: verb[0]
)
def test_a_server_listens_on_loopback_alone(tmp_path: Path, verb: tuple[str, ...]) -> None:
    """As the kernel tells of the process that a user starts, and of those below it."""
    written(tmp_path, [start(), plain_step(0)])
    command = [sys.executable, "-m", "execledger", *verb]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as one:
        try:
            assert one.stdout is not None
            url = one.stdout.readline()
            port = int(re.search(r":(\d+)", url)[1])  # type: ignore[index]
            if verb[0] == "view":
                _wait_for(lambda: b'"listed":true' in asked(port, "GET /api/runs")[1].replace(b" ", b""))
            assert loopback_socket(one.pid) == [("0100007F", port)]
        finally:
            one.terminate()


def _wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)
