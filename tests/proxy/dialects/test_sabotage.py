"""Every call of the dialects and of an adapter broken in turn: requests and answers arrive as they were made."""

from __future__ import annotations

import json
import re

import pytest

from execledger.agents.claude import adapter as claude
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from tests.proxy.dialects.samples import SAMPLES, Json, Sample
from tests.support.faults.sabotage import call_sites, sabotaged

pytestmark = pytest.mark.faults
HEADERS = {"x-claude-code-session-id": "s"}
BROKEN = re.compile(r"/proxy/(dialects/|json_|sse|whole_answer|clients|response_editor)|/agents/")
"""The files whose calls are broken."""
VIEW = b"<execution_state>"


def passed(sample: Sample, streams: bool) -> list[tuple[bytes, bytes]]:
    """What the model is asked and what the client receives, turn by turn."""
    passage = Passage(Book(Rules(), claude, EditStore(None)))
    body = b"".join(sample.events) if streams else json.dumps(sample.body).encode()
    kind = "text/event-stream" if streams else "application/json"
    found = []
    for turn in range(3):
        sent = passage.request("POST", sample.path, HEADERS, json.dumps(sample.request(turn)).encode())
        editor = passage.answer(sent, 200, {"content-type": kind})
        pieces = [body[at : at + 300] for at in range(0, len(body), 300)]
        received = body if editor is None else b"".join([*map(editor.feed, pieces), editor.end()])
        found.append((sent.body, received))
    passage.book.close()
    return found


def check(sample: Sample, streams: bool, found: list[tuple[bytes, bytes]]) -> None:
    """Requests without their views are the client's own, and answers say what the server said."""
    for turn, (sent, received) in enumerate(found):
        asked: Json = json.loads(sent)
        assert (sample.extra(asked)[0] if VIEW in sent else asked) == sample.request(turn)
        if streams:
            assert sample.read_events(received) == sample.read_events(b"".join(sample.events))
        else:
            assert json.loads(received) == sample.body


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "whole"])
def test_a_fault_anywhere_in_a_dialect_changes_no_request_and_no_answer(name: str, streams: bool, full: bool) -> None:
    """At each call, the first time and the last; or at one call in three."""
    sample = SAMPLES[name]
    check(sample, streams, passed(sample, streams))
    reached = call_sites(lambda: passed(sample, streams))
    # A fault while the proxy is made is the launcher's, which starts the agent without it.
    made = ("Book.__init__", "OnlyClient.__init__")
    served = {site: times for site, times in reached.items() if site.caller.co_qualname not in made}
    sites = {site: times for site, times in served.items() if BROKEN.search(site.callee.co_filename)}
    assert len(sites) > 20
    for site, times in [*sites.items()][:: 1 if full else 3]:
        for occurrence in {1, times}:
            with sabotaged(site, occurrence) as trap:
                found = passed(sample, streams)
            assert trap.sprung, str(site)
            try:
                check(sample, streams, found)
            except Exception as error:
                raise AssertionError(f"{site}, occurrence {occurrence}: {error}") from error
