"""Sessions of the real codex behind the proxy: resumed, forked, side by side, and with agents of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import crossed
from tests.clients.stage import (
    INVENTORY,
    NOT_RUN,
    RAN,
    TESTS,
    Stage,
    asked_in,
    calls,
    cat,
    items,
    ran,
    reference,
    results,
    shell,
    view,
)
from tests.support.agents.codex import OLD, CodexHome, run_codex, start_codex
from tests.support.servers.responses import SHARED_IDS, Gate, Request, answer, by_text, call, say, turns

pytestmark = pytest.mark.clients

READ, OTHER = cat(INVENTORY), cat(TESTS)
REUSED = {"paper": NOT_RUN, "verified": RAN}


@crossed("preset", ("verified",), ("paper",))
def test_a_restarted_proxy_goes_on_where_the_first_was(preset: str, binary: Path, home: CodexHome) -> None:
    """A resumed session is shown the history that it was shown before, and what stands in it is known."""
    script = turns(READ, OTHER, READ, say("One."), OTHER, say("Two."))
    with Stage(binary, home, script, preset) as stage:
        first = stage.run("Start.")
        stage.restart()
        second = stage.run("resume", first.thread, "Go on.")
    stage.check()
    reused = REUSED[preset]
    assert (second.answer, second.thread) == ("Two.", first.thread)
    assert [reference(text) for text in results(stage.requests[-1])] == ["", "", reused, reused]
    told = "Instead of " if preset == "paper" else ""
    assert [*ran(first), *ran(second)] == [
        f"cat {INVENTORY}",
        f"cat {TESTS}",
        f"{told}cat {INVENTORY}",
        f"{told}cat {TESTS}",
    ]
    # What was read before the pause may have changed: only the published rules call it current.
    assert view(stage.requests[4]).replace("possibly stale, ", "") == view(stage.requests[3]) != ""
    assert stage.counts[0] == 7, "the three of the first proxy, met again in the history, and one more"


def test_a_result_that_is_shown_in_part_stays_so(binary: Path, home: CodexHome) -> None:
    """In every later request, and in a session that a second proxy resumes: the same bytes, the rest as it came."""
    head = f"head -n 24 {INVENTORY}"
    script = turns(shell(head), READ, OTHER, say("One."), OTHER, say("Two."))
    with Stage(binary, home, script) as stage:
        first = stage.run("Start.")
        stage.restart()
        stage.run("resume", first.thread, "Go on.")
    stage.check()
    lines = (home.repository / INVENTORY).read_text().splitlines(keepends=True)
    told = f"[Ledger: lines 1-21 of {INVENTORY} omitted, as shown by `{head}`, 1 command ago.]\n"
    for request in stage.requests[2:]:
        assert results(request)[:2] == ["".join(lines[:24]), told + "".join(lines[21:])]
    assert ran(first)[:2] == [head, f"cat {INVENTORY}"]


def test_without_ledger_a_session_still_makes_sense(binary: Path, home: CodexHome) -> None:
    """Without Ledger the model is shown the shim, which says what it is; with Ledger again, its own call again."""
    script = turns(READ, READ, say("One."), say("Two."), say("Three."))
    with Stage(binary, home, script, "paper") as stage:
        first = stage.run("Start.")
        alone = run_codex(binary, "resume", first.thread, "Go on.", url=stage.server.url, home=home)
        again = stage.run("resume", first.thread, "And on.")
    assert [run.answer for run in (first, alone, again)] == ["One.", "Two.", "Three."]
    before, without, after = stage.requests[-3:]
    stage.check(without=without)
    words = f"Instead of cat {INVENTORY}. Its output still stands above, unchanged."
    assert asked_in(calls(without)[1]).startswith('{"cmd":"echo \'[ledger:')
    assert (words in asked_in(calls(without)[1]), words in results(without)[1]) == (True, True)
    assert items(after)[: len(items(before))] == items(before)


@crossed("preset", ("verified",), ("paper",))
def test_a_fork_is_shown_what_its_origin_was_shown(preset: str, binary: Path, home: CodexHome) -> None:
    """The fork, under another thread, begins with the same calls and references, and goes on from there."""
    scripts = {
        "Start": turns(READ, OTHER, READ, say("One."), ids=SHARED_IDS),
        "Instead": turns(OTHER, say("Two."), ids="{turn}_{index}_fork"),
    }
    with Stage(binary, home, by_text(scripts), preset) as stage:
        origin = stage.run("Start.")
        words = ("fork", origin.thread, "Instead, this.")
        if OLD in binary.parts:
            with start_codex(binary, *words, url=stage.url, home=home) as screen:
                screen.wait_for("Two.")
        else:
            stage.run(*words)
    stage.check()
    before, after = stage.requests[3], stage.requests[-1]
    assert (before.conversation, after.conversation != origin.thread) == (origin.thread, True)
    # The messages at its beginning have new ids.
    start = next(at for at, item in enumerate(before.input) if item["type"] == "reasoning")
    assert items(after)[start : len(items(before))] == items(before)[start:]
    reused = REUSED[preset]
    assert [reference(text) for text in results(after)] == ["", "", reused, reused]


@crossed("preset", ("verified",), ("paper",))
def test_sessions_side_by_side_keep_apart(preset: str, binary: Path, tmp_path: Path) -> None:
    """Three users at once, with the same call ids and commands, are each shown their own files and references."""
    homes = {}
    for name in ("anna", "ben", "cleo"):
        (tmp_path / name).mkdir()
        homes[name] = CodexHome(tmp_path / name)
        with (homes[name].repository / INVENTORY).open("a") as file:
            file.write(f"# of {name}\n")
    all_began, others_ended = Gate(), Gate()
    twice = turns(READ, answer(READ, gate=all_began), OTHER, READ, say("Done."), ids=SHARED_IDS)
    once = turns(READ, answer(OTHER, gate=others_ended), READ, shell("ls"), say("Done."), ids=SHARED_IDS)
    with (
        Stage(binary, homes["anna"], by_text({"anna": twice, "ben": twice, "cleo": once}), preset) as stage,
        ThreadPoolExecutor(3) as pool,
    ):
        anna, ben, cleo = (pool.submit(stage.run, f"Help {name}.", home=homes[name]) for name in homes)
        # Each has read the file before the first goes on.
        stage.server.wait_for(6)
        all_began.open()
        threads = [anna.result().thread, ben.result().thread]
        others_ended.open()
        threads.append(cleo.result().thread)
    stage.check()
    reused = REUSED[preset]
    for thread, (name, home) in zip(threads, homes.items(), strict=True):
        *_, last = (request for request in stage.requests if request.conversation == thread)
        shown = results(last)
        kinds = ["", "", reused, ""] if name == "cleo" else ["", reused, "", ""]
        assert [reference(text) for text in shown] == kinds
        assert shown[0] == (home.repository / INVENTORY).read_text()
    counts = [summary.counts for summary in stage.summaries]
    assert [(one.proposed, one.suppressed + one.elided) for one in counts] == [(4, 1)] * 3


def test_agents_share_what_was_written_and_not_what_was_seen(binary: Path, home: CodexHome) -> None:
    """What its child writes makes stale what the parent has seen; the child is shown what only its parent had seen."""
    place = "" if OLD in binary.parts else "multi_agent_v1."

    def wait(request: Request) -> dict[str, Any]:
        told = results(request)[-1]
        return call(f"{place}wait_agent", targets=[told.split('"')[3]], timeout_ms=30_000)

    spawn, write = call(f"{place}spawn_agent", message="Child work."), f"sed -i 's/<= count/< count/' {INVENTORY}"
    done = say("Parent done.")
    scripts = {
        # The news that the child is through may come so late that the parent is asked once more.
        "Parent work": turns(READ, spawn, wait, READ, done, done),
        "Child work": turns(READ, shell(write), say("Child done.")),
    }
    before = (home.repository / INVENTORY).read_text()
    with Stage(binary, home, by_text(scripts), "paper") as stage:
        run = stage.run("Parent work.")
    stage.check()
    parent = [request for request in stage.requests if request.conversation == run.thread]
    child = [request for request in stage.requests if request.conversation != run.thread]
    assert results(child[-1])[0] == before
    assert f"- {INVENTORY}: whole, 34 lines (in context)" in view(parent[2])
    assert f"- {INVENTORY}: whole, 34 lines (stale, in context)" in view(parent[3])
    assert results(parent[-1])[3] == (home.repository / INVENTORY).read_text() != before
    assert (len(stage.summaries), stage.counts) == (1, (6, 0, 0, 0))
