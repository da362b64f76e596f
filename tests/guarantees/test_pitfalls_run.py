"""Pitfalls 13 to 19: what a layer does to the run as a whole: blocking, caches, prefixes, nudges, costs, secrets."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from execledger.cli.main import group
from execledger.core.ledger import Ledger
from execledger.proxy.edits import EditStore
from execledger.vocabulary.actions import Edit, Observation, Patch, Read, Write
from execledger.vocabulary.decisions import Reuse
from tests.guarantees.drivers import CAT, FILE, NOT_RUN, PRESETS, RAN, REFERENCE, Shop, codex, mini

VIEW = "<execution_state>"
WORK = (
    "ls -1 src",
    CAT,
    CAT,
    f"sed -n '10,40p' {FILE}",
    "grep -rn value_1 docs",
    "python3 -m unittest -q tests.nothing",
    "python3 -m unittest -q tests.nothing",
    f"sed -i 's/value_12/value_99/' {FILE}",
    CAT,
    "cat docs/guide.md",
    "grep -rn value_1 docs",
    "cat missing.txt",
    CAT,
)
"""Work in which most things happen."""


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for journals."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))
    return tmp_path / "journals"


# Nothing is blocked


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("cap", [0, 200])
@pytest.mark.guarantee("pitfall-13", "fail-open")
def test_no_edit_and_no_unseen_read_is_ever_held_back(tmp_path: Path, preset: str, cap: int) -> None:
    """An edit of a file that was never read, a second equal edit, a read beyond what was shown: all of them run."""
    shop = Shop(tmp_path / "shop", max_interventions=cap, **PRESETS[preset])
    patch = f"*** Begin Patch\n*** Update File: {FILE}\n@@\n-value_1 = 1\n+value_1 = 2\n*** End Patch\n"
    done = Observation("done", exit_status=0)
    edits: list[tuple[str, Any]] = [
        (f"sed -i 's/value_50/value_51/' {FILE}", None),
        (f"cat > {FILE} <<'EOF'\nnew\nEOF", None),
        ("edit", Edit(FILE, "value_1", "value_2")),
        ("write", Write(FILE, "new")),
        ("patch", Patch(patch)),
    ]
    for command, call in edits * 3:
        step = shop.do(command, call=call, result=done)
        assert (shop.ran[-1], step.shown.kind, isinstance(step.decision, Reuse)) == (command, "full", False)
    head = "".join(f"line {number}\n" for number in range(1, 301))
    shop.do("read", call=Read(FILE, 1, 300), result=Observation(head))
    rest = shop.do("read on", call=Read(FILE, 301, 600), result=Observation(head.replace("line", "row")))
    assert rest.shown.kind == "full"


# The view


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-14", "append-only")
def test_the_view_stands_behind_the_last_mark_and_nowhere_else(tmp_path: Path, preset: str) -> None:
    """Every request of mini-swe-agent: one mark, on the last message that stays; behind it the view, without one."""
    run = mini(tmp_path / "shop", *WORK, marks="default_end", **PRESETS[preset])
    for request in run.requests:
        marked = [at for at, message in enumerate(request) if "cache_control" in json.dumps(message, default=str)]
        views = [at for at, message in enumerate(request) if VIEW in str(message.get("content"))]
        assert (marked, views) == ([len(request) - 2], [len(request) - 1])
    assert VIEW not in json.dumps(run.agent.messages, default=str)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-14", "append-only")
def test_codex_keeps_no_view_and_finds_it_last(tmp_path: Path, preset: str) -> None:
    """Each request ends with the view of its moment, and its history holds no earlier one."""
    talk = codex(tmp_path / "shop", **PRESETS[preset])
    for command in WORK:
        talk.turn(command)
        assert talk.view
        assert VIEW not in json.dumps(talk.sent[-1][:-1])
    assert talk.grows()


RENDER = """
import sys
from execledger.core.policy import Cadence, Policy
from execledger.vocabulary.actions import Action, Observation
from execledger.core.ledger import Ledger
from execledger.core.step import take
ledger = Ledger("<issue>Mend it.</issue>", Policy(cadence=Cadence.EVERY))
for number in range(40):
    for command in (f"cat src/m{number % 7}.py", f"sed -i s/a/b/ src/m{number % 5}.py src/n{number % 3}.py"):
        result = Observation(f"line {number}\\n" * 30, exit_status=0)
        take(ledger, Action(command, "/repo"), lambda _: result, None, True)
    sys.stdout.write(ledger.inform(None, True).text)
"""


@pytest.mark.guarantee("pitfall-14")
def test_equal_states_render_to_equal_bytes(tmp_path: Path) -> None:
    """Another process, another hash seed, another time zone: the same views, and no clock in them."""
    views = [
        subprocess.run(
            [sys.executable, "-c", RENDER],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("77", "Asia/Tokyo"))
    ]
    assert views[0] == views[1] and views[0].count(VIEW.encode()) == 40
    shop = Shop(tmp_path / "shop")
    steps = [shop.do(command) for command in WORK]
    again = Ledger("<issue>Mend the shop.</issue>", shop.ledger.policy)
    for step in steps:
        again.record(step)
    assert again.inform().text == shop.view() == shop.view()
    assert not re.search(r"\d\d:\d\d|20\d\d-|\d{9}", shop.view())


@pytest.mark.guarantee("pitfall-14")
def test_nothing_of_ours_makes_equal_outputs_differ(tmp_path: Path) -> None:
    """Two equal short outputs stand in the history as two equal texts: a loop detector still sees them."""
    run = mini(tmp_path / "shop", "wc -l docs/stamp", "wc -l docs/other.md", "wc -l docs/stamp")
    assert run.results[0] == run.results[2].partition("\n[Ledger: ")[0] != run.results[1]


# The prefix


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-15", "append-only")
def test_what_was_sent_once_is_sent_the_same_for_ever(tmp_path: Path, preset: str) -> None:
    """Both agents: a request without its view is the beginning of the next; older copies are never shortened."""
    run = mini(tmp_path / "shop", *WORK, **PRESETS[preset])
    bare = [
        [{key: value for key, value in one.items() if key != "extra"} for one in request[:-1]]
        for request in run.requests
    ]
    assert len(bare) == len(WORK) + 1
    assert all(after[: len(before)] == before for before, after in pairwise(bare))
    talk = codex(tmp_path / "shop of codex", **PRESETS[preset])
    for command in WORK:
        talk.turn(command)
    assert talk.grows()
    assert any(REFERENCE in one for one in talk.results(talk.sent[-1]))


# Nudges

TEST = "python3 -m pytest -q tests"
PASSED, FAILED = Observation("5 passed in 0.10s\n", exit_status=0), Observation("1 failed, 4 passed\n", exit_status=1)


@pytest.mark.parametrize(
    "story",
    [
        [(TEST, PASSED), (TEST, FAILED), (TEST, PASSED), (TEST, FAILED)],
        [(TEST, FAILED), (f"sed -i s/a/b/ {FILE}", None), (TEST, FAILED)],
        [(TEST, FAILED), ("./tools/format src", None), (TEST, FAILED)],
        [(TEST, FAILED), (f"sed -i s/a/b/ {FILE}", None), ("git checkout -q -- src", None), (TEST, FAILED)],
        [(TEST, FAILED), ("pip install x", PASSED), (TEST, FAILED)],
        [("./job &", PASSED), *(("cat run.status", Observation(f"step {n}\n", exit_status=0)) for n in range(6))],
        [("curl -s http://localhost/job", Observation("pending\n", exit_status=0))] * 6,
        [("sleep 2; cat run.status", Observation(f"at {number} %\n", exit_status=0)) for number in range(6)],
        [(f"sed -n '{first},{first + 9}p' {FILE}", None) for first in range(1, 60, 10)],
        [(f"grep -rn word{number} src", Observation("", exit_status=1)) for number in range(6)],
        [(TEST, Observation(timed_out=True)), (TEST, Observation(timed_out=True))],
        [("git diff > patch.txt", PASSED), ("git diff > patch.txt", PASSED), ("cat patch.txt", PASSED)],
    ],
    ids="flaky edited formatted reverted installed polling job waiting paging searching timeouts submission".split(),
)
@pytest.mark.parametrize("preset", ["sealed", "verified"])
@pytest.mark.guarantee("pitfall-16")
def test_no_nudge_where_something_is_new(
    tmp_path: Path, preset: str, story: list[tuple[str, Observation | None]]
) -> None:
    """Flaky tests, work between two runs, polling, paging: the agent is told nothing, and everything runs."""
    shop = Shop(tmp_path / "shop", repository=any("git" in command for command, _ in story), **PRESETS[preset])
    steps = [shop.do(command, result=result) for command, result in story]
    assert [step.shown.kind for step in steps] == ["full"] * len(story)
    assert shop.ran == [command for command, _ in story]


@pytest.mark.guarantee("pitfall-16")
def test_a_true_loop_is_told_once_and_never_stopped(tmp_path: Path) -> None:
    """The same test, the same result, nothing in between: one remark, then silence for a while; it always runs."""
    shop = Shop(tmp_path / "shop")
    steps = [shop.do(TEST, result=FAILED) for _ in range(6)]
    kinds = [step.shown.kind for step in steps]
    assert kinds[:2] == ["full", "remark"] and kinds.count("remark") == 1
    assert shop.ran == [TEST] * 6
    assert all(step.observation == FAILED for step in steps)


# What it costs


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-17")
def test_what_the_view_costs_is_told(tmp_path: Path, journals: Path, preset: str) -> None:
    """Calls of the model, and every byte that we added to them, stand beside what was spared."""
    run = mini(tmp_path / "shop", *WORK, **PRESETS[preset])
    sent = [str(request[-1]["content"]) for request in run.requests]
    run.agent.model._end()
    told = CliRunner().invoke(group, ["stats", str(journals), "--json"], catch_exceptions=False).stdout
    found = json.loads(told)
    assert (found["counts"]["views"], found["counts"]["view_bytes"]) == (
        len(sent),
        sum(len(one.encode()) for one in sent),
    )
    assert found["model_calls"] == len(run.requests)
    table = CliRunner().invoke(group, ["stats", str(journals)], catch_exceptions=False).stdout
    assert f"{found['counts']['view_bytes']:,}" in table.replace("_", ",")
    assert found["counts"]["suppressed"] + found["counts"]["elided"] == sum(
        RAN in one or NOT_RUN in one for one in run.results
    )


# Secrets

KEYS = (
    "sk-ant-" + "api03-" + "Ab1" * 20,
    "ghp_" + "a1B2" * 9,
    "AKIA" + "ABCD1234EFGH5678",
    "xoxb-" + "1234567890-" + "abcdefghijklmno",
)
"""Keys as providers give them out; none of them is one."""


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-18", "no-secrets")
def test_no_store_of_ours_keeps_a_secret(
    tmp_path: Path, journals: Path, preset: str, figure: Callable[[str], None]
) -> None:
    """Keys in files, commands and outputs: the journal and the edits hold none, and only their owner may read them."""
    lines = "".join(f"SERVICE_{number}_API_KEY={key}\nname_{number}=shop\n" for number, key in enumerate(KEYS))
    folder = tmp_path / "shop"
    Shop(folder)
    (folder / "keys.env").write_text(lines * 5)
    commands = ("cat keys.env", "cat keys.env", f"grep -rn {KEYS[1]} keys.env", f"export TOKEN={KEYS[0]}", "ls docs")
    run = mini(folder, *commands, **PRESETS[preset])
    run.agent.model._end()
    edits = tmp_path / "kept" / "edits.sqlite3"
    edits.parent.mkdir()
    talk = codex(folder, passage=None, store=EditStore(edits), journals=journals, **PRESETS[preset])
    for command in commands:
        talk.turn(command)
    kept = [path for place in (journals, edits.parent) for path in place.rglob("*") if path.is_file()]
    assert len(kept) >= 2
    for path in kept:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name
        assert [key for key in KEYS if key.encode() in path.read_bytes()] == []
    figure(f"0 of {len(KEYS)} keys found")


# Parallel calls


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-19", "visibility", "false-reuse")
def test_calls_of_one_turn_do_not_answer_each_other(tmp_path: Path, preset: str) -> None:
    """The same read twice in one turn runs twice; what is left out afterwards stands above in the same request."""
    part = f"sed -n '10,40p' {FILE}"
    run = mini(tmp_path / "shop", (CAT, CAT, part), CAT, **PRESETS[preset])
    assert run.ran[:3] == [CAT, CAT, part]
    text = (tmp_path / "shop" / FILE).read_text()
    assert text in run.results[0] and text in run.results[1]
    assert "value_33 = " in run.results[2] and REFERENCE not in run.results[2]
    assert REFERENCE in run.results[3]
    talk = codex(tmp_path / "shop", **PRESETS[preset])
    shown = talk.turn(CAT, CAT, part)
    assert talk.ran == [CAT, CAT, part]
    assert text in shown[0] and not any(NOT_RUN in one for one in shown)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-19", "false-reuse")
def test_a_read_behind_a_write_of_its_turn_is_run(tmp_path: Path, preset: str) -> None:
    """Whether the write is recognised or not, what stands behind it in the turn is not answered from before."""
    for number, write in enumerate((f"sed -i 's/value_12/value_99/' {FILE}", "python3 tools/edit.py")):
        folder = tmp_path / f"shop{number}"
        run = mini(folder, CAT, (write, CAT), **PRESETS[preset])
        assert (folder / FILE).read_text() in run.results[2]
        talk = codex(tmp_path / f"codex{number}", **PRESETS[preset])
        talk.turn(CAT)
        assert (tmp_path / f"codex{number}" / FILE).read_text() != talk.turn(write, CAT)[1]
        assert (tmp_path / f"codex{number}" / FILE).read_text() in talk.results(talk.sent[-1])[-1]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-19", "false-reuse")
def test_while_one_thread_writes_another_is_not_answered_from_before(tmp_path: Path, preset: str) -> None:
    """A sub-agent's command is under way: what its parent reads meanwhile runs."""
    folder = tmp_path / "shop"
    parent = codex(folder, "s", "parent", **PRESETS[preset])
    child = codex(folder, "s", "child", parent.passage)
    parent.turn(CAT)
    child.request()
    calls = child.propose(f"sed -i 's/value_12/value_99/' {FILE}")
    parent.turn("true")
    assert NOT_RUN not in parent.turn(CAT)[0]
    child.answer(calls)
    child.request()
    assert (folder / FILE).read_text() in parent.turn(CAT)[0]
