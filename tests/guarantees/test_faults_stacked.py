"""Two Ledgers one behind the other, and a session resumed twice at once: nothing doubled, nothing false, no crash."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.codex import tools as codex
from execledger.core.policy import Policy, Preset
from execledger.demo.mini import SUBMIT
from execledger.demo.repository import TASK, make_repository
from execledger.journal.reader import read_journal, rebuild
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from tests.guarantees.wire import Client, acting, check_growth, claims, command_of, printed, views
from tests.proxy.talk import message
from tests.support.agents.mini import installed
from tests.support.servers.responses import Request, ResponsesServer

MINI = pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")
READ, PART = "cat warehouse/inventory.py", "sed -n '5,20p' warehouse/inventory.py"
TESTS, EDIT = "cat tests/test_inventory.py", "sed -i '1s/.*/# {number}/' warehouse/inventory.py"
STORY = (READ, PART, TESTS, EDIT, READ, "python3 -c 'print(1)'", TESTS, READ, PART, TESTS)
Say = Callable[[str], None]


def rules(folder: Path, preset: str, *, sealed: bool = True, **policy: Any) -> Rules:
    """What a proxy does."""
    return Rules(policy=Policy(preset=Preset(preset), **policy), sealed=sealed, journals=folder)


def told(_: Request, done: int) -> str:
    """The story, over and over."""
    return STORY[done % len(STORY)].format(number=done)


# One behind the other


@pytest.mark.guarantee("fail-open", "append-only", "visibility")
@pytest.mark.parametrize("preset", ["paper", "verified"])
@pytest.mark.parametrize("shared", [True, False], ids=["one store", "two stores"])
def test_a_proxy_behind_a_proxy_says_nothing_twice(tmp_path: Path, preset: str, shared: bool) -> None:
    """One view at most, one reference to a result, the model's own calls, and each command once in a journal."""
    make_repository(tmp_path / "repository")
    with ExitStack() as stack:
        server = stack.enter_context(ResponsesServer(acting(told, len(STORY))))
        url = server.url
        for name in ("inner", "outer"):
            edits = tmp_path / ("edits" if shared else f"edits of {name}")
            settings = ProxySettings(adapter=codex, upstream=url, rules=rules(tmp_path / name, preset), edits=edits)
            url = stack.enter_context(Proxy(settings)).url
        client = Client(url, tmp_path / "repository")
        while client.turn():
            pass
        requests = list(server.requests)
    assert server.faults == []
    check_growth(requests)
    sent = [views(request) for request in requests]
    assert set(sent) <= {0, 1} and 1 in sent
    asked = [json.loads(item["arguments"])["cmd"] for item in requests[-1].input if "arguments" in item]
    assert asked == [told(requests[0], done) for done in range(len(STORY))]
    assert claims(requests[-1]) and all(text.count("[Ledger: ") == 1 for text in claims(requests[-1]))
    steps = {name: journals(tmp_path / name) for name in ("inner", "outer")}
    assert (steps["inner"], steps["outer"]) == ([], [len(STORY)])


@pytest.mark.guarantee("fail-open", "append-only")
def test_two_proxies_that_only_govern_agree(tmp_path: Path) -> None:
    """Without a view the inner one can't know of the outer one: its shims are calls like any other there."""
    make_repository(tmp_path / "repository")
    with ExitStack() as stack:
        server = stack.enter_context(ResponsesServer(acting(told, len(STORY))))
        url = server.url
        for name in ("inner", "outer"):
            settings = ProxySettings(adapter=codex, upstream=url, rules=rules(tmp_path / name, "paper", inform=False))
            url = stack.enter_context(Proxy(settings)).url
        client = Client(url, tmp_path / "repository")
        while client.turn():
            pass
        requests = list(server.requests)
    assert server.faults == []
    check_growth(requests)
    assert all(text.count("[Ledger: ") == 1 for text in claims(requests[-1]))
    assert len(client.ran) == len(STORY)


def journals(folder: Path) -> list[int]:
    """How many steps each journal holds; all of them are whole."""
    runs = [read_journal(path.name, path.read_bytes()) for path in sorted(folder.glob("*.jsonl"))]
    assert [(run.trouble.sentences(), rebuild(run).mismatch) for run in runs] == [((), None)] * len(runs)
    return [len(run.steps) for run in runs]


@MINI
@pytest.mark.guarantee("fail-open", "append-only")
def test_a_model_that_is_wrapped_twice_is_wrapped_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One view, one journal, one reference."""
    from minisweagent.agents.default import DefaultAgent

    from execledger.agents.mini.messages import text_of
    from execledger.agents.mini.model import LedgerModel
    from tests.agents.mini.test_model import Contained, Recording, turn

    make_repository(tmp_path / "repository")
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))
    inner = Recording(outputs=[turn(number, command) for number, command in enumerate([READ, PART, SUBMIT])])
    model = LedgerModel.wrap(LedgerModel.wrap(LedgerModel.wrap(inner)), cadence="every")
    agent = DefaultAgent(
        model, Contained(cwd=str(tmp_path / "repository")), system_template="s", instance_template="{{task}}"
    )
    agent.run(TASK)
    texts = [[text_of(one) for one in request] for request in inner.requests]
    assert [sum("<execution_state>" in text for text in request) for request in texts] == [1, 1, 1]
    assert sum(text.count("[Ledger: ") for text in texts[-1]) == 1
    assert journals(tmp_path / "journals") == [2]


@MINI
@pytest.mark.clients
@pytest.mark.guarantee("fail-open")
def test_a_launcher_under_a_launcher_starts_one_ledger(tmp_path: Path) -> None:
    """``run -- execledger run -- mini`` is what the inner one alone would be."""
    from tests.clients.test_mini_launch import Started, mini, scripted

    make_repository(tmp_path / "repository")
    launcher = tmp_path / "execledger"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m execledger "$@"\n')
    launcher.chmod(0o755)
    home = tmp_path / "home"
    script = scripted(home, [READ], [PART], [READ], [SUBMIT])
    words = ["run", "--journal", str(home), "--", *mini(home, *script)]
    ended = Started([str(launcher), "run", "--", str(launcher), *words], tmp_path / "repository", home).end()
    assert ended.status == 0, ended.err
    assert len(re.findall(r"Ledger: \d+ commands?,", ended.err)) == 1
    assert journals(home) == [3]


# Resumed twice at once


@pytest.mark.guarantee("false-reuse", "append-only", "step-in-flight")
@pytest.mark.parametrize("proxies", [1, 2])
@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_one_session_resumed_twice_at_once(tmp_path: Path, proxies: int, preset: str, full: bool, figure: Say) -> None:
    """Same session, same thread, same journals, one proxy or two: each model sees its own history, and no lie in it."""
    rounds, length = (8, 40) if full else (1, 14)
    seen = Seen()
    for seed in range(rounds):
        place = tmp_path / str(seed)
        make_repository(place / "repository")
        twice(place, proxies, preset, length, random.Random(seed), seen)
    assert seen.claims
    # What the published rules suppress may well be wrong: only its form is looked at.
    found = f"{seen.claims:,} references, 0 false" if preset == "verified" else "0 changed histories (paper)"
    figure(f"{seen.requests:,} requests of sessions resumed twice at once: {found}")


class Seen:
    """What was looked at."""

    requests = claims = 0


START = 2
"""Turns before the session is resumed."""


def twice(place: Path, proxies: int, preset: str, length: int, chance: random.Random, seen: Seen) -> None:
    """One session that goes on in two clients, which take turns as chance has it."""
    repository = place / "repository"
    plans = [[READ] * START + [chance.choice(STORY) for _ in range(length)] for _ in range(2)]

    def planned(request: Request, done: int) -> str:
        # Whose request it is, is told by what its user said last.
        who = int(request.user_texts[-1].split()[-1]) if done >= START else 0
        return plans[who][done].format(number=done * 2 + who)

    with ExitStack() as stack:
        server = stack.enter_context(ResponsesServer(acting(planned, START + length)))
        # Two proxies do not have the machine to themselves.
        kept = ProxySettings(
            adapter=codex,
            upstream=server.url,
            rules=rules(place / "journals", preset, sealed=proxies == 1),
            edits=place / "edits",
        )
        made = [stack.enter_context(Proxy(kept)) for _ in range(proxies)]
        first = Client(made[0].url, repository, "same", "same")
        for _ in range(START):
            first.turn()
        clients = [Client(made[who % proxies].url, repository, "same", "same") for who in range(2)]
        for who, client in enumerate(clients):
            client.items = [*first.items, message("user", f"Go on, {who}")]
        going = [0, 1]
        while going:
            who = chance.choice(going)
            if clients[who].calls:
                clients[who].run()
                continue
            clients[who].ask()
            if not clients[who].calls:
                going.remove(who)
            else:
                judge(server.requests[-1], clients, who, plans[who], repository, preset)
        requests = list(server.requests)
    assert server.faults == []
    for who, client in enumerate(clients):
        check_growth([request for request in requests if request.user_texts[-1] == f"Go on, {who}"])
        hold_true(last(requests, who), client)
    assert all(views(request) <= 1 for request in requests)
    journals(place / "journals")
    seen.requests += len(requests)
    seen.claims += sum(len(claims(last(requests, who))) for who in range(2))


def judge(request: Request, clients: list[Client], who: int, plan: list[str], repository: Path, preset: str) -> None:
    """A command that is not to run: nothing is writing, and what it would print stands in the request."""
    if preset == "paper" or not command_of(clients[who].calls[0]).startswith("echo '[ledger:"):
        return
    done = sum(item.get("type") == "function_call_output" for item in request.input)
    other = [command_of(one) for one in clients[1 - who].calls]
    assert not any(command.startswith("sed -i") for command in other), "something is writing"
    shown = [str(item.get("output", "")) for item in request.input]
    assert any(printed(plan[done], repository) in text for text in shown), "it does not stand there any more"


def last(requests: list[Request], who: int) -> Request:
    """The last request of a client."""
    return [request for request in requests if request.user_texts[-1] == f"Go on, {who}"][-1]


def hold_true(request: Request, client: Client) -> None:
    """Each line of an output that a reference stands for, after running, stands in an earlier result as shown."""
    true = {item["call_id"]: item["output"] for item in client.items if item["type"] == "function_call_output"}
    above: set[str] = set()
    for item in request.input:
        if item.get("type") == "function_call_output":
            text = str(item["output"])
            if "[Ledger: ran" in text:
                lines = true[item["call_id"]].partition("Output:\n")[2].splitlines()
                assert lines and above.issuperset(lines)
            above.update(text.splitlines())
