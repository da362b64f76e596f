"""A real inference engine as the upstream of the real mini-swe-agent: views and references under a real template."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from execledger.cli.stats import command as stats
from execledger.demo.mini import SUBMIT
from execledger.demo.repository import TASK, make_repository
from execledger.testing.scripted_model import Script
from tests.support.agents.mini import run_mini
from tests.support.agents.npm import NotInstalled, required
from tests.support.servers.engine import CHAT, CONTEXT, TIMEOUT, VIEW, ChatUpstream, Engine

READ = "cat warehouse/inventory.py"
SCRIPT: Script = (
    [READ],
    [READ, "ls tests"],
    ["sed -i '24s/<= count/< count/' warehouse/inventory.py"],
    [READ],
    [READ, "echo x > note.txt", "ls tests"],
    [SUBMIT],
)
LAUNCHER = (sys.executable, "-m", "execledger", "run", "--cadence", "every", "--")

pytestmark = [pytest.mark.long, pytest.mark.clients]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The engine, which has not been asked anything; skipped where it can't be installed unless it is required."""
    with ExitStack() as stack:
        try:
            found = stack.enter_context(Engine(tmp_path_factory.mktemp("engine")))
        except NotInstalled as error:
            if required():
                raise
            pytest.skip(str(error))
        yield found


def test_the_engine_takes_every_request_and_serves_its_history_from_the_cache(engine: Engine, tmp_path: Path) -> None:
    """Also those with views and references; what the agent and ``stats`` account is what the engine counted."""
    repository, home = tmp_path / "repository", tmp_path / "home"
    repository.mkdir()
    make_repository(repository)
    with ChatUpstream(engine, SCRIPT) as upstream:
        done = run_mini(upstream, TASK, repository, home, message_format="chat", prefix=LAUNCHER, timeout=TIMEOUT)
        assert (done.status, upstream.faults) == (0, []), done.output
    taken = engine.processed
    assert [(one.path, one.body) for one in taken] == [(CHAT, request.body) for request in done.requests]
    texts = [json.dumps(one.body["messages"]) for one in taken]
    assert [VIEW in text for text in texts] == [True] * len(SCRIPT)
    assert ["[Ledger: output omitted." in text for text in texts] == [False, False, True, True, True, True]
    assert engine.lost() == [0] * (len(SCRIPT) - 1)
    saved = done.trajectories["mini"]
    answers = [message["extra"]["response"] for message in saved["messages"] if message["role"] == "assistant"]
    told = [(one["usage"]["prompt_tokens"], one["usage"]["prompt_tokens_details"]["cached_tokens"]) for one in answers]
    assert told == [(one.tokens, one.cached) for one in taken]
    printed = CliRunner().invoke(stats, [saved["info"]["ledger"]["journal"], "--json"], catch_exceptions=False)
    account = json.loads(printed.stdout)
    assert [account[name] for name in ("model_calls", "input_tokens", "cached_tokens", "output_tokens")] == [
        len(taken),
        sum(one.tokens for one in taken),
        sum(one.cached for one in taken),
        len(taken),
    ]


def test_what_the_engine_refuses_is_an_error_to_the_client(engine: Engine) -> None:
    """With the engine's own status and message, and as a fault of the upstream."""
    body = json.dumps({"messages": [{"role": "user", "content": "longer " * CONTEXT}]}).encode()
    with ChatUpstream(engine, SCRIPT) as upstream:
        with pytest.raises(HTTPError) as refusal:
            urlopen(Request(upstream.url + CHAT, body))
        assert refusal.value.code == 400
        message = json.load(refusal.value)["error"]["message"]
    assert (upstream.requests, len(upstream.faults)) == ([], 1) and message in upstream.faults[0]
