"""A real inference engine behind the real mini-swe-agent: views and references under a real chat template."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.demo.live import play_session
from execledger.testing.scripted_model import Reply, Request, Usage
from tests.support.servers.engine import CONTEXT, TIMEOUT, Engine, Processed, chat_request

OPENING, SPECIAL = "<execution_state>", 8
"""How a state view begins, and how many tokens a template may put behind the last message."""


@pytest.mark.long
@pytest.mark.clients
def test_the_engine_reads_every_request_and_serves_its_history_from_the_cache(tmp_path: Path) -> None:
    """Views come last, behind results and references; the agent is told the engine's own counts, and so is `stats`."""
    processed: list[Processed] = []
    histories: list[int] = []
    with Engine(tmp_path) as engine:

        def count(request: Request, reply: Reply) -> Usage:
            body = chat_request(request.body)
            processed.append(engine.process(body))
            kept = [message for message in body["messages"] if not message["content"].startswith(OPENING)]
            histories.append(len(engine.tokens({**body, "messages": kept})) - SPECIAL)
            return Usage(processed[-1].tokens, processed[-1].cached, 0, 1)

        requests, saved = play_session(("--cadence", "every"), tmp_path / "session", count, timeout=TIMEOUT * 4)
    texts = [json.dumps(request.body) for request in requests]
    assert sum(OPENING in text for text in texts) > len(texts) / 2
    assert "[Ledger: output omitted." in texts[-1]
    assert all(one.tokens < CONTEXT for one in processed)
    assert [at for at, one in enumerate(processed[1:]) if one.cached < histories[at]] == []
    used = saved["info"]["ledger"]["counts"]
    assert used["proposed"] == len(requests) - 1, "all commands but the submission"
