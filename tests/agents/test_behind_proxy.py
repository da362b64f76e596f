"""Agents behind the proxy: whether a run reached a model through Ledger, or past it."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.registry import proxied, proxy_adapter
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage

PROGRAM = f"""#!{sys.executable}
import os, urllib.error, urllib.request
for method, path, *body in {{requests}}:
    address = os.environ["GOOGLE_GEMINI_BASE_URL"] + path
    try:
        data = body[0].encode() if body else b"{{{{}}}}" if method == "POST" else None
        urllib.request.urlopen(urllib.request.Request(address, data, method=method))
    except urllib.error.HTTPError as error:
        assert error.code == 502, error
"""
TEXT = "Find a title for this: mend it."
ASKED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "messages": (
        "/v1/messages",
        {"model": "m", "messages": [{"role": "user", "content": TEXT}]},
        {"tools": [{"name": "Bash", "input_schema": {"type": "object"}}]},
    ),
    "chat": (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": TEXT}]},
        {"tools": [{"type": "function", "function": {"name": "bash", "parameters": {}}}]},
    ),
    "responses": (
        "/v1/responses",
        {"model": "m", "input": [{"type": "message", "role": "user", "content": TEXT}]},
        {"tools": [{"type": "function", "name": "bash", "parameters": {}}]},
    ),
    "gemini": (
        "/v1beta/models/m:streamGenerateContent",
        {"contents": [{"role": "user", "parts": [{"text": TEXT}]}]},
        {"tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}]},
    ),
}
"""By dialect: a path, a request for a title as clients send it, and the field that makes it a turn."""
GEMINI_PATH, TITLE, TOOLS = ASKED["gemini"]
SIDE_CALLS = [
    ("HEAD", "/api/hello"),
    ("POST", "/v1internal:retrieveUserQuota"),
    ("POST", "/v1/messages/count_tokens"),
    ("GET", "/v1/responses"),
    ("POST", GEMINI_PATH, json.dumps(TITLE)),
]
TURN = ("POST", GEMINI_PATH, json.dumps(TITLE | TOOLS))


@pytest.mark.parametrize("options", [(), ("--pass-through",)])
@pytest.mark.parametrize(("requests", "bypassed"), [(SIDE_CALLS, True), ([*SIDE_CALLS, TURN], False)])
def test_side_calls_do_not_hide_a_bypass(
    tmp_path: Path, requests: list[tuple[str, ...]], bypassed: bool, options: tuple[str, ...]
) -> None:
    """Only a request that asks a model to act shows that the models are asked through Ledger."""
    program = tmp_path / "gemini"
    program.write_text(PROGRAM.format(requests=requests))
    program.chmod(0o755)
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    done = subprocess.run(
        [sys.executable, "-m", "execledger", "run", *options, "--upstream", "http://127.0.0.1:9", "--", str(program)],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ("Ledger saw no request of gemini" in done.stderr) is bypassed


@pytest.mark.parametrize("through", [False, True], ids=["edited", "pass-through"])
@pytest.mark.parametrize(
    ("agent", "dialect"), [(agent.key, dialect) for agent in proxied() for dialect in agent.dialects]
)
def test_a_title_is_no_turn(agent: str, dialect: str, through: bool) -> None:
    """Of no agent, in no dialect: a title offers no tools; the same request with tools is a turn."""
    with closing(EditStore(None)) as store:
        passage = Passage(Book(Rules(), proxy_adapter(agent, dialect), store), pass_through=through)
        path, title, tools = ASKED[dialect]
        seen = []
        for body in (title, title | tools):
            passage.request("POST", path, {}, json.dumps(body).encode())
            seen.append(passage.asked_to_act)
    assert (seen, passage.faults) == ([False, True], 0)


def test_the_title_of_a_thread_is_no_turn_of_codex() -> None:
    """Codex asks for it with its tools, and says so beside."""
    path, title, tools = ASKED["responses"]
    body = json.dumps(title | tools).encode()
    with closing(EditStore(None)) as store:
        passage = Passage(Book(Rules(), proxy_adapter("codex"), store))
        seen = []
        for source in ("thread_title", "user"):
            told = {"x-codex-turn-metadata": json.dumps({"request_kind": "turn", "thread_source": source})}
            passage.request("POST", path, told, body)
            seen.append(passage.asked_to_act)
    assert seen == [False, True]
