"""The real Claude Code with Ledger around it: what is sent, what the model is shown, and what the client still does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.claude import adapter
from execledger.core.policy import Policy
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from tests.support.agents.claude import CURRENT, OLD, ClaudeHome, claude, run_claude
from tests.support.agents.npm import NotInstalled, required
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played
from tests.support.servers.tap import Tap

Json = dict[str, Any]
VIEW = "<execution_state>"
OMITTED = "[Ledger: output omitted."
INVENTORY = "warehouse/inventory.py"


@pytest.fixture(params=[CURRENT, pytest.param(OLD, marks=pytest.mark.long)])
def binary(request: pytest.FixtureRequest) -> Path:
    """Each of the versions that are tested; the older one in the long form."""
    return installed(request.param)


@pytest.fixture
def current() -> Path:
    """The version that users have."""
    return installed(CURRENT)


def installed(version: str) -> Path:
    try:
        return claude(version)
    except NotInstalled as error:
        if required():
            raise
        pytest.skip(str(error))


@pytest.fixture
def place(tmp_path: Path) -> ClaudeHome:
    """Folders of a new user, and a file that is long enough to be worth a reference."""
    home = ClaudeHome(tmp_path)
    text = "".join(f"value_{number} = {number}  # a line of some length, as files have them\n" for number in range(120))
    (home.repository / "big.py").write_text(text)
    return home


def story(home: ClaudeHome) -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, a failing and a passing test."""
    path = str(home.repository / "big.py")
    return [
        [("Read", {"file_path": path})],
        [("Read", {"file_path": path})],
        [("Bash", {"command": "ls"}), ("Read", {"file_path": path, "offset": 20, "limit": 60})],
        [("Bash", {"command": "cat big.py"})],
        [("Bash", {"command": "cat big.py"})],
        [("Bash", {"command": "mkdir -p deep && cd deep && pwd"})],
        [("Edit", {"file_path": path, "old_string": "value_7 = 7 ", "new_string": "value_7 = 8 "})],
        [("Read", {"file_path": path, "offset": 1, "limit": 12})],
        [("Bash", {"command": "python3 -c 'raise SystemExit(3)'"})],
        [("Bash", {"command": "python3 -c 'print(1)'"})],
    ]


def ledger(home: ClaudeHome, *options: str) -> list[str]:
    """The launcher, as a user types it."""
    return [sys.executable, "-m", "execledger", "run", "--journal", str(home.journals), *options, "--"]


def blocks(request: Request) -> list[Json]:
    """The content blocks of a request without the view, in order, each with its role."""
    found = []
    for message in request.body["messages"]:
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [{"role": message["role"], **block} for block in listed]
    return found[:-1] if found[-1].get("text", "").startswith(VIEW) else found


def unmarked(request: Request) -> list[Json]:
    """The same without cache breakpoints, which move."""
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks(request)]


def results(request: Request) -> dict[str, str]:
    """The text of each result, by the id of its call."""
    found = {}
    for block in blocks(request):
        if block["type"] == "tool_result":
            content = block["content"]
            parts = [content] if isinstance(content, str) else [part["text"] for part in content]
            found[block["tool_use_id"]] = "\n".join(parts)
    return found


def check_prefixes(requests: list[Request]) -> None:
    """What the model was shown once stays, and the view is the last block, behind the breakpoint."""
    for before, after in pairwise(requests):
        earlier, later = unmarked(before), unmarked(after)
        assert later[: len(earlier)] == earlier
    for request in requests:
        texts = [block.get("text", "") for block in blocks(request)]
        assert not any(text.startswith(VIEW) for text in texts)
        assert "cache_control" in blocks(request)[-1]


def test_a_session_with_everything_in_it(binary: Path, place: ClaudeHome) -> None:
    """Repeated reads become references with the client's reminders behind them, and its edits still work."""
    with ScriptedServer(played(story(place))) as server:
        run = run_claude(binary, "Mend it.", url=server.url, home=place, prefix=ledger(place))
    assert run.status == 0, run.errors
    assert "fault" not in run.errors
    requests = server.turns
    assert len(requests) == len(story(place)) + 1
    check_prefixes(requests)
    shown = results(requests[-1])
    assert "value_7 = 8" in (place.repository / "big.py").read_text()
    assert shown["toolu_007_0"].startswith("1\tvalue_0 = 0") and "8\tvalue_7 = 8" in shown["toolu_007_0"]
    omitted = [name for name, text in shown.items() if text.startswith(OMITTED)]
    assert omitted, shown
    for name in omitted:
        assert ("<system-reminder>" in shown[name]) == ("<system-reminder>" in shown["toolu_000_0"])
    assert shown["toolu_008_0"].startswith("Exit code 3")
    views = [block["text"] for block in requests[-1].body["messages"][-1]["content"] if block["type"] == "text"]
    assert all(view.count(VIEW) <= 1 for view in views)
    journals = list(place.journals.glob("*.jsonl"))
    assert len(journals) == 1
    events = [json.loads(line) for line in journals[0].read_text().splitlines()]
    assert sum(event["event"] == "step" for event in events) == 11
    cwds = [event["step"]["action"]["cwd"] for event in events if event["event"] == "step"]
    assert cwds[:6] == [str(place.repository)] * 6 and cwds[-1] == str(place.repository / "deep")


def test_shadow_changes_no_byte(current: Path, place: ClaudeHome) -> None:
    """What the client sent is what the server received, side calls included."""
    rules = Rules(policy=Policy(shadow=True), journals=place.journals)
    with ExitStack() as stack:
        server = stack.enter_context(ScriptedServer(played(story(place))))
        settings = ProxySettings(adapter=adapter, upstream=server.url, prefix="", rules=rules)
        proxy = stack.enter_context(Proxy(settings))
        tap = stack.enter_context(Tap(proxy.url))
        run = run_claude(current, "Mend it.", url=tap.url, home=place)
    assert run.status == 0, run.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    events = [json.loads(line) for path in place.journals.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert sum(event["event"] == "step" for event in events) == 11


def test_a_resumed_session_is_shown_what_it_was_shown(binary: Path, place: ClaudeHome) -> None:
    """Also when forked: references made before are there again, byte for byte."""
    turns = story(place)[:5]
    with ScriptedServer(played([*turns, "Done.", [("Bash", {"command": "ls"})], "Done.", "Done."])) as server:
        first = run_claude(binary, "Mend it.", url=server.url, home=place, prefix=ledger(place))
        for more in ((), ("--fork-session",)):
            again = ("--resume", first.session, *more, "Go on.")
            run = run_claude(binary, *again, url=server.url, home=place, prefix=ledger(place))
            assert run.status == 0, run.errors
    assert any(text.startswith(OMITTED) for text in results(server.turns[-1]).values())
    before = unmarked(server.turns[len(turns)])
    for request in server.turns[len(turns) + 1 :]:
        assert unmarked(request)[: len(before)] == before


def test_a_suppressed_command_is_shown_as_the_model_made_it(current: Path, place: ClaudeHome) -> None:
    """Sealed, a repeated command is replaced by a shim; the model sees its own call, answered by a reference."""
    turns: list[Turn] = [[("Bash", {"command": "cat big.py"})], [("Bash", {"command": "cat big.py"})]]
    with ScriptedServer(played(turns)) as server:
        run = run_claude(current, "Mend it.", url=server.url, home=place, prefix=ledger(place, "--sealed"))
    assert run.status == 0, run.errors
    last = server.turns[-1]
    calls = [block["input"] for block in blocks(last) if block["type"] == "tool_use"]
    assert calls == [{"command": "cat big.py"}] * 2
    assert results(last)["toolu_001_0"].startswith("[Ledger: not run, ")
    assert "reused before running" in run.errors


def test_subagents_are_conversations_of_their_own(current: Path, place: ClaudeHome) -> None:
    """They run in the background, beside the main one: each is shown its own results, and one session has all."""
    path = str(place.repository / "big.py")

    def script(request: Request) -> Turn:
        if "x-claude-code-agent-id" in request.headers:
            return [("Read", {"file_path": path})] if request.turns == 0 else "Read."
        given = {"description": "read", "prompt": "Read big.py", "subagent_type": "general-purpose"}
        main: list[Turn] = [[("Read", {"file_path": path})], [("Agent", given)], [("Read", {"file_path": path})]]
        return main[request.turns] if request.turns < len(main) else "Done."

    with ScriptedServer(script) as server:
        run = run_claude(current, "Mend it.", url=server.url, home=place, prefix=ledger(place))
    assert run.status == 0, run.errors
    beside = [request for request in server.turns if "x-claude-code-agent-id" in request.headers]
    assert beside and len(list(place.journals.glob("*.jsonl"))) == 1
    for request in beside:
        assert not any(text.startswith("[Ledger:") for text in results(request).values())
    check_prefixes([request for request in server.turns if request not in beside])


def test_compaction_forgets_what_the_model_no_longer_sees(current: Path, place: ClaudeHome) -> None:
    """The request for a summary has no view, and nothing is referred to that it removed."""
    path = str(place.repository / "big.py")

    def script(request: Request) -> Turn:
        if b"CRITICAL: Respond with TEXT ONLY" in request.raw:
            return "<summary>It was read.</summary>"
        made = sum(other.is_turn and b"TEXT ONLY" not in other.raw for other in server.requests)
        calls: list[Turn] = [[("Read", {"file_path": path})], [("Bash", {"command": "ls"})]]
        return calls[made - 1] if made <= 2 else [("Read", {"file_path": path})] if made == 3 else "Done."

    def usage(request: Request) -> int:
        return 190_000 if request.turns == 1 and not compacted(request) else 1000

    def compacted(request: Request) -> bool:
        return b"This session is being continued" in request.raw

    with ScriptedServer(script, usage) as server:
        extra = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
        run = run_claude(current, "Mend it.", url=server.url, home=place, prefix=ledger(place), extra=extra)
    assert run.status == 0, run.errors
    summaries = [request for request in server.requests if b"CRITICAL: Respond with TEXT ONLY" in request.raw]
    assert summaries
    assert not any(VIEW.encode() in request.raw for request in summaries)
    after = [request for request in server.turns if compacted(request) and request not in summaries]
    assert after
    assert not any(text.startswith(OMITTED) for request in after for text in results(request).values())


@pytest.fixture
def bypassing(place: ClaudeHome) -> Iterator[ScriptedServer]:
    """A server that the user's own settings lead to."""
    with ScriptedServer(played([])) as server:
        folder = place.user / ".claude"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": server.url}}))
        yield server


def test_the_users_own_address_is_the_upstream(current: Path, place: ClaudeHome, bypassing: ScriptedServer) -> None:
    """The address in the user's file is asked, through Ledger, with the user's other settings in place."""
    mine = ("--settings", json.dumps({"env": {"MINE": "1"}}), "Mend it.")
    run = run_claude(current, *mine, url="http://127.0.0.1:9", home=place, prefix=ledger(place))
    assert run.status == 0, run.errors
    assert len(bypassing.turns) == 1
    assert "saw no request" not in run.errors
    assert list(place.journals.glob("*.jsonl"))


def test_a_run_without_a_request_is_told(current: Path, place: ClaudeHome) -> None:
    """Whoever expects Ledger to be there learns that it was not."""
    run = run_claude(current, "--help", url="http://127.0.0.1:9", home=place, prefix=ledger(place))
    assert run.status == 0
    assert "Ledger saw no request of claude" in run.errors
