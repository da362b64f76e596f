"""The real codex, without Ledger: what it and the test devices do before anything stands between them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from execledger.testing.scripted_model import Usage
from tests.support.agents.codex import OLD, CodexHome, Provider, run_codex, start_codex
from tests.support.agents.terminal import END, ENTER
from tests.support.servers.responses import (
    SHARED_IDS,
    Request,
    ResponsesServer,
    answer,
    by_text,
    call,
    custom,
    refuse,
    say,
    tries,
    turns,
)

pytestmark = pytest.mark.clients

PATCH = """*** Begin Patch
*** Update File: warehouse/inventory.py
@@
-        if self._counts.get(item, 0) <= count:
+        if self._counts.get(item, 0) < count:
*** End Patch
"""
README = call("exec_command", cmd="cat README.md")
KEY = {"CODEX_API_KEY": "dummy"}
LIMIT = {"model_auto_compact_token_limit": 100_000}
TOO_MUCH = Usage(150_000, 0, 0, 10)


def steady(request: Request) -> dict[str, Any]:
    """All of a request that must not change from one to the next."""
    return {key: value for key, value in request.body.items() if key not in ("input", "client_metadata")}


def assert_append_only(requests: Iterable[Request]) -> None:
    """Each request is the one before, with more behind it."""
    for before, after in pairwise(requests):
        assert after.input[: len(before.input)] == before.input
        assert len(after.input) > len(before.input)
        assert steady(after) == steady(before)


def results(request: Request) -> list[str]:
    """The last line of each result in a request."""
    outputs = (item["output"] for item in request.input if item["type"].endswith("_output"))
    return [output.rstrip().splitlines()[-1] for output in outputs]


def test_a_run_with_reads_and_a_patch(binary: Path, home: CodexHome) -> None:
    """Parallel calls and a patch are carried out, and every request is an exact prefix of the next."""
    reads = [README, call("exec_command", cmd="tail -n 1 inventory.py", workdir="warehouse")]
    script = turns(reads, [custom("apply_patch", PATCH)], [say("All done.")])
    with ResponsesServer(script) as server:
        run = run_codex(binary, "Fix the bug.", url=server.url, home=home)
    assert (run.status, run.answer, server.faults) == (0, "All done.", []), run.errors
    assert "(item, 0) < count:" in (home.repository / "warehouse" / "inventory.py").read_text()
    assert_append_only(server.requests)
    assert [(request.authorized, request.kind, request.conversation) for request in server.requests] == [
        (True, "turn", run.thread)
    ] * 3
    assert results(server.requests[-1]) == [
        "Run its tests with `python3 -m unittest`.",
        '        return "\\n".join(f"{item}: {count}" for item, count in sorted(self._counts.items()))',
        "M warehouse/inventory.py",
    ]
    assert [path.name.endswith(f"-{run.thread}.jsonl") for path in home.rollouts()] == [True]


@pytest.mark.parametrize("provider", ["custom", "openai"])
def test_compaction_by_what_was_used(provider: Provider, binary: Path, home: CodexHome) -> None:
    """Too many tokens used make codex ask for a summary, in three ways; afterwards, the results are gone."""
    script = turns([README], answer(README, usage=TOO_MUCH), [README], [say("All done.")], summary="In short.")
    with ResponsesServer(script) as server:
        run = run_codex(binary, "Fix it.", url=server.url, home=home, provider=provider, config=LIMIT, extra=KEY)
    assert (run.status, run.answer, server.faults) == (0, "All done.", []), run.errors
    assert [request.kind for request in server.requests] == ["turn", "turn", "compaction", "turn", "turn"]
    assert [len(results(request)) for request in server.requests] == [0, 1, 2, 0, 1]
    assert_append_only(server.requests[:2])
    assert_append_only(server.requests[3:])
    before, compaction, after = server.requests[1:4]
    assert compaction.input[: len(before.input)] == before.input
    assert "In short." in str(after.input[-1])


def test_a_resumed_session_goes_on(binary: Path, home: CodexHome) -> None:
    """A session that is resumed has the same thread, and its history begins exactly as it was sent before."""
    with ResponsesServer(turns([README], [say("One.")], [README], [say("Two.")])) as server:
        first = run_codex(binary, "Start.", url=server.url, home=home)
        second = run_codex(binary, "resume", first.thread, "Go on.", url=server.url, home=home)
    assert (second.status, second.answer, second.thread) == (0, "Two.", first.thread), second.errors
    assert_append_only(server.requests)
    assert [len(results(request)) for request in server.requests] == [0, 1, 1, 2]


def test_a_session_belongs_to_its_provider(current: Path, home: CodexHome) -> None:
    """Today's codex refuses to resume a session under another provider's name, so a launcher must keep the name."""
    with ResponsesServer(turns([say("One.")])) as server:
        first = run_codex(current, "Start.", url=server.url, home=home, provider="openai", extra=KEY)
        second = run_codex(current, "resume", first.thread, "Go on.", url=server.url, home=home)
    assert (first.status, second.status, "modelProviderMismatch" in second.errors) == (0, 1, True)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_fork_has_the_history_and_its_own_thread(terminal: bool, current: Path, home: CodexHome) -> None:
    """A fork begins with the items of its origin, the ids of its first messages aside, under a new thread."""
    scripts = {"Start": turns([README], [say("One.")], ids=SHARED_IDS), "Instead": turns([say("Two.")])}
    with ResponsesServer(by_text(scripts)) as server:
        origin = run_codex(current, "Start.", url=server.url, home=home)
        words = ("fork", origin.thread, "Instead, this.")
        if terminal:
            with start_codex(current, *words, url=server.url, home=home) as screen:
                screen.wait_for("Two.")
        else:
            assert run_codex(current, *words, url=server.url, home=home).answer == "Two."
    before, after = [request for request in server.requests if request.kind == "turn"][1:3]
    assert (before.conversation, after.conversation != origin.thread) == (origin.thread, True)
    assert [item["content"] for item in after.input[:2]] == [item["content"] for item in before.input[:2]]
    assert after.input[2 : len(before.input)] == before.input[2:]


def test_an_old_fork_is_made_on_the_terminal(old: Path, home: CodexHome) -> None:
    """The older version forks on the terminal alone, and the whole history is as it was."""
    scripts = {"Start": turns([README], [say("One.")], ids=SHARED_IDS), "Instead": turns([say("Two.")])}
    with ResponsesServer(by_text(scripts)) as server:
        origin = run_codex(old, "Start.", url=server.url, home=home)
        with start_codex(old, "fork", origin.thread, "Instead, this.", url=server.url, home=home) as screen:
            screen.wait_for("Two.")
    assert server.requests[2].conversation != origin.thread
    assert server.requests[2].input[: len(server.requests[1].input)] == server.requests[1].input


def test_failures_on_the_way_are_tried_again(binary: Path, home: CodexHome) -> None:
    """Failures and a cut connection are overcome; the same history comes again, and nothing runs twice."""
    append = call("exec_command", cmd="echo once >> made.txt")
    first = tries(refuse(500), answer(append, cut_after=5), append)
    with ResponsesServer(turns(first, [say("All done.")])) as server:
        run = run_codex(binary, "Fix it.", url=server.url, home=home)
    assert (run.status, run.answer, server.faults) == (0, "All done.", []), run.errors
    assert (home.repository / "made.txt").read_text() == "once\n"
    once, again, third, last = server.requests
    assert (once.input, again.plain) == (third.input, once.plain)
    assert_append_only([third, last])


def test_an_answer_from_tomorrow_is_understood(binary: Path, home: CodexHome) -> None:
    """Events, fields and comments that codex doesn't know don't disturb it."""
    with ResponsesServer(turns(answer(README, strange=True), answer(say("All done."), strange=True))) as server:
        run = run_codex(binary, "Fix it.", url=server.url, home=home)
    assert (run.status, run.answer, len(server.requests)) == (0, "All done.", 2), run.errors


def test_the_address_alone_can_be_changed(binary: Path, home: CodexHome) -> None:
    """Of a provider in the user's settings, the address alone is replaced on the command line; the file stays."""
    table = '[model_providers.mine]\nname = "mine"\nbase_url = "http://127.0.0.1:9/v1"\nwire_api = "responses"\n'
    table += 'env_key = "SCRIPTED_KEY"\nhttp_headers = { "x-mine" = "kept" }\n'
    home.settings.write_text(f'model_provider = "mine"\n{home.settings.read_text()}\n{table}')
    before = home.settings.read_text()
    with ResponsesServer(turns([say("Hi.")])) as server:
        run = run_codex(binary, "Go.", url=None, home=home, config={"model_providers.mine.base_url": server.url})
    assert (run.status, run.answer, home.settings.read_text()) == (0, "Hi.", before), run.errors
    assert [(request.authorized, request.headers.get("x-mine")) for request in server.requests] == [(True, "kept")]


def test_the_terminal(binary: Path, home: CodexHome) -> None:
    """On the terminal, prompts are answered one after the other in one conversation, and the end is a clean one."""
    script = turns([README], [say("Answer-one.")], [say("Answer-two.")])
    with ResponsesServer(script) as server, start_codex(binary, "Start.", url=server.url, home=home) as screen:
        screen.wait_for("Answer-one.")
        screen.paste("Go on.")
        screen.wait_for("Go on.")
        screen.send(ENTER)
        screen.wait_for("Answer-two.")
        screen.send(END)
        status = screen.wait()
    assert (status, server.faults) == (0, [])
    assert_append_only(request for request in server.requests if request.kind == "turn")


def test_approval_is_asked_for_on_the_terminal(binary: Path, home: CodexHome) -> None:
    """In a sandbox, what stays inside runs at once, and what is to go beyond runs when the user agrees."""
    beyond = call("exec_command", cmd="touch made", sandbox_permissions="require_escalated", justification="May I?")
    guard = ("-s", "workspace-write", "-a", "on-request")
    with (
        ResponsesServer(turns([README], [beyond], [say("Answer-one.")])) as server,
        start_codex(binary, "Start.", url=server.url, home=home, guard=guard) as screen,
    ):
        screen.wait_for("Would you like to run")
        asked = (home.repository / "made").exists()
        screen.press_until("y", "Answer-one.")
    assert (asked, (home.repository / "made").exists(), server.faults) == (False, True, [])


def test_a_spawned_agent_is_its_own_conversation(binary: Path, home: CodexHome) -> None:
    """A scripted model starts an agent, which has its own thread, and names its parent."""
    place = "" if OLD in binary.parts else "multi_agent_v1."

    def wait(request: Request) -> dict[str, Any]:
        told = next(item["output"] for item in reversed(request.input) if item["type"] == "function_call_output")
        return call(f"{place}wait_agent", targets=[told.split('"')[3]], timeout_ms=30_000)

    # The news that the child is through may come so late that the parent is asked once more.
    done = [say("Parent done.")]
    parent = turns([call(f"{place}spawn_agent", message="Child work.")], wait, done, done)
    with ResponsesServer(
        by_text({"Parent work": parent, "Child work": turns([README], [say("Child done.")])})
    ) as server:
        run = run_codex(binary, "Parent work.", url=server.url, home=home)
    assert (run.status, run.answer, server.faults) == (0, "Parent done.", []), run.errors
    children = [request for request in server.requests if request.conversation != run.thread]
    assert [request.headers["x-codex-parent-thread-id"] for request in children] == [run.thread] * 2
    assert_append_only(children)
    assert_append_only(request for request in server.requests if request.conversation == run.thread)
