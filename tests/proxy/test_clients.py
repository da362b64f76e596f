"""One proxy for several agents: each request is read by the adapter of the agent that sent it, or by none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import ClientSession, web

from execledger.agents.claude import adapter as claude
from execledger.agents.codex import tools as codex
from execledger.agents.registry import proxied, proxy_clients
from execledger.cli.proxy import divided
from execledger.errors import LedgerError
from execledger.proxy.clients import Client, Clients
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.proxy.worker import run_to_end
from execledger.session.adapter import Adapter, Signs
from tests.proxy.dialects.samples import SAMPLES

CLAUDE = {"user-agent": "claude-cli/2.1.325 (external, cli)", "x-claude-code-session-id": "c-1"}
CODEX = {"user-agent": "codex_exec/0.166.0 (Linux) vscode", "session-id": "x-1"}
QWEN = {"user-agent": "claude-cli/0.24.4 (external, cli)", "x-app": "cli"}
"""What Qwen Code sends to the Messages API, under the name of another client."""
SDK = {"user-agent": "OpenAI/Python 2.26.0"}
MESSAGES = {"model": "m", "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "Mend it."}]}
RESPONSES = {"model": "m", "tools": [{"name": "shell"}], "input": [{"role": "user", "content": "Mend it."}]}


def no_tools() -> frozenset[str]:
    raise AssertionError("tools are looked for although the headers say whose the request is")


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("/v1/messages", CLAUDE, claude),
        ("/v1/responses", CODEX, codex),
        ("/v1/responses", {"originator": "codex_vscode"}, codex),
        ("/claude/v1/messages", SDK, claude),
        ("/run/7/claude/v1/messages", SDK, claude),
        ("/codex/responses", CLAUDE, codex),
    ],
)
def test_path_and_headers_identify_an_agent(path: str, headers: Mapping[str, str], expected: Adapter) -> None:
    """A route of its own comes first."""
    assert proxy_clients().adapter(path, headers, no_tools) is expected


@pytest.mark.parametrize("headers", [QWEN, SDK, {}, {"originator": "opencode", "session-id": "s"}])
def test_a_client_that_is_not_known_has_no_adapter(headers: Mapping[str, str]) -> None:
    """A user agent that looks like another's, or a header that several send, is not enough."""
    for path in ("/v1/messages", "/v1/responses", "/claudette/v1/messages"):
        assert proxy_clients().adapter(path, headers, lambda: frozenset({"Bash"})) not in (claude, codex)


def test_tools_identify_an_agent_that_sends_no_header_of_its_own() -> None:
    """All of them, if no header identifies another agent; what fits two agents is neither's."""
    one = Client(name="one", adapter=claude, signs=Signs(tools=frozenset({"terminal", "think"})))
    two = Client(name="two", adapter=codex, signs=Signs(headers={"x-two": "yes"}, tools=frozenset({"think"})))
    clients = Clients((one, two))

    def chosen(headers: Mapping[str, str], *tools: str) -> Adapter | None:
        return clients.adapter("/v1/x", headers, lambda: frozenset(tools))

    assert chosen(SDK, "think", "other") is codex
    assert chosen({"x-two": "yes"}, "terminal", "think") is codex
    assert chosen({"x-two": "no"}, "terminal") is None
    assert chosen(SDK, "terminal", "think") is None
    assert chosen(SDK) is None


@pytest.mark.parametrize("name", SAMPLES)
def test_the_names_of_tools_are_read_in_every_dialect(name: str) -> None:
    """As the API defines them; what is no name is none."""
    sample = SAMPLES[name]
    tools: dict[str, Any] = {
        "messages": [{"name": "a"}, {"name": "b", "input_schema": {"name": "x"}}, {"name": 7}, "odd", {}],
        "chat": [{"type": "function", "function": {"name": "a"}}, {"function": {"name": "b"}}, {"function": "c"}, None],
        "responses": [{"type": "function", "name": "a"}, {"type": "custom", "name": "b"}, {"type": "web_search"}],
        "gemini": [{"functionDeclarations": [{"name": "a"}]}, {"functionDeclarations": [{"name": "b"}, 3]}],
    }
    dialect = name.partition(",")[0]
    for given, expected in ((tools[dialect], {"a", "b"}), ({"no": "list"}, set()), (None, set())):
        frame = sample.request(1)
        inner = frame.get("request", frame)
        inner["tools"] = given
        body = json.dumps(frame).encode()
        request = run_to_end(sample.dialect.split(sample.path, body))
        assert request is not None and request.tool_names == expected


def test_what_identifies_an_agent_is_its_own() -> None:
    """No two have the same; one that sends nothing of its own has its route, or ``--agent``."""
    signs = [one.signs for one in proxied() if one.signs.headers or one.signs.tools]
    assert len(signs) > 2
    assert len({json.dumps([dict(one.headers), sorted(one.tools)]) for one in signs}) == len(signs)


def test_each_route_has_its_upstream_and_each_request_its_adapter() -> None:
    """Two agents and a client that nobody knows through one proxy, to three servers."""
    received: list[tuple[str, str, bytes]] = []

    def upstream(name: str) -> web.Application:
        async def answer(request: web.Request) -> web.Response:
            received.append((name, request.raw_path, await request.read()))
            return web.Response(body=b"{}", content_type="application/json")

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        return app

    async def run() -> dict[str, Any]:
        runners = {name: web.AppRunner(upstream(name)) for name in ("plain", "claude", "codex")}
        addresses = {}
        for name, runner in runners.items():
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            addresses[name] = f"http://127.0.0.1:{runner.addresses[0][1]}/base"
        settings = ProxySettings(
            adapter=proxy_clients(),
            upstream=addresses["plain"],
            routes={f"/{name}": addresses[name] for name in ("claude", "codex")},
        )
        try:
            with Proxy(settings) as proxy:
                async with ClientSession() as client:
                    root = proxy.base("")
                    for path, body, headers in (
                        ("/claude/v1/messages?beta=true", MESSAGES, CLAUDE),
                        ("/codex/responses", RESPONSES, CODEX),
                        ("/v1/messages", MESSAGES, {**CLAUDE, "x-claude-code-session-id": "c-2"}),
                        ("/v1/messages", MESSAGES, QWEN),
                        ("/v1/responses", RESPONSES, SDK),
                    ):
                        await (await client.post(root + path, json=body, headers=headers)).read()
                    await (await client.head(f"{root}/claude/api/hello")).read()
                    assert (await client.get(f"{root}/elsewhere")).status == 404
                    told: dict[str, Any] = await (await client.get(f"{root}/healthz")).json()
                    return told
        finally:
            for runner in runners.values():
                await runner.cleanup()

    told = asyncio.run(run())
    assert (told["sessions"], told["requests"], told["faults"]) == (3, 6, 0)
    assert [(name, path) for name, path, _ in received] == [
        ("claude", "/base/v1/messages?beta=true"),
        ("codex", "/base/responses"),
        ("plain", "/base/messages"),
        ("plain", "/base/messages"),
        ("plain", "/base/responses"),
        ("claude", "/base/api/hello"),
    ]
    assert [json.loads(body) for _, _, body in received[3:5]] == [MESSAGES, RESPONSES]


def test_upstreams_are_of_all_agents_or_of_one() -> None:
    """An address may hold any sign; only the name of an agent before one makes a route."""
    assert divided(["https://x/v1?a=b"]) == ("https://x/v1?a=b", {})
    assert divided(["claude=https://a", "https://x", "codex=https://b/v1"]) == (
        "https://x",
        {"/claude": "https://a", "/codex": "https://b/v1"},
    )
    assert divided(["claude=https://a"]) == ("", {"/claude": "https://a"})
    with pytest.raises(LedgerError, match="found a second address for all agents"):
        divided(["https://x", "https://y"])
