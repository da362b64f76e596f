"""The real mini-swe-agent under ``execledger run``: what goes over the wire, what is executed, what is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from execledger.demo.mini import SUBMIT
from execledger.demo.repository import TASK, make_repository
from execledger.journal.reader import read_journal, rebuild
from execledger.session.probe import BEGIN as PROBE
from execledger.testing.scripted_model import (
    BLOCK,
    BYTES_PER_TOKEN,
    ModelServer,
    PromptItem,
    Request,
    Script,
    prompt_parts,
)
from tests.support.agents.fake_docker import FakeDocker
from tests.support.agents.mini import FORMATS, MiniRun, installed, run_mini, run_swebench
from tests.support.agents.swebench import make_instances

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'"),
]

READ = "cat warehouse/inventory.py"
SCRIPT: Script = (
    [READ],
    [READ, "ls tests"],
    ["sed -i '24s/<= count/< count/' warehouse/inventory.py"],
    [READ],
    [READ, "echo x > note.txt", "ls tests"],
    [f"{SUBMIT}"],
)
COMMANDS = [command for turn in SCRIPT for command in turn]
LAUNCHER = (sys.executable, "-m", "execledger", "run", "--cadence", "every")
SLOW = ("chat", "text")
"""Formats of the long form: what is sent in the first is what OpenRouter is sent, also in a test below, and messages
of the second are those of test_mini_interactive; each imports litellm, which takes seconds."""


def view_of(request: Request) -> str:
    """The state view at the very end of a request; empty if there is none."""
    last = request.items[-1].text
    return last[last.rindex("<execution_state>") :] if last.endswith("</execution_state>") else ""


def proposed(messages: list[Any]) -> list[str]:
    """The commands that the agent took from the model, in order."""
    return [action["command"] for message in messages for action in message.get("extra", {}).get("actions", [])]


def without_view(request: Request) -> list[PromptItem]:
    """What a request says, without its view, and without its cache markers, which move from one to the next."""
    view = view_of(request)
    items = [item._replace(marked=False) for item in request.items]
    if not view:
        return items
    rest = items[-1].text.removesuffix(view).removesuffix("\n\n")
    return [*items[:-1], items[-1]._replace(text=rest)] if rest else items[:-1]


def check_wire(requests: list[Request]) -> None:
    """The view is last in every request, and each request without it is a prefix of the next, also for the cache."""
    assert all(view_of(request) for request in requests)
    for one, following in pairwise(requests):
        before, after = without_view(one), without_view(following)
        assert after[: len(before)] == before
        size = sum(map(len, prompt_parts(one.body, before)))
        # Whole blocks are cached; a view inside the last item precedes the end of its JSON.
        assert size - len('"]') <= following.usage.cached * BYTES_PER_TOKEN + BLOCK


def run(tmp_path: Path, message_format: str, *options: str, wrapped: bool = True) -> MiniRun:
    """Run ``mini`` over the script, in a folder of its own."""
    repository = tmp_path / "repository"
    repository.mkdir(parents=True)
    make_repository(repository)
    with ModelServer(SCRIPT) as server:
        prefix = (*LAUNCHER, *options, "--") if wrapped else ()
        done = run_mini(server, TASK, repository, tmp_path / "home", message_format=message_format, prefix=prefix)
        assert (done.status, server.faults) == (0, []), done.output
        return done


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., MiniRun]:
    """``run``, which runs the same but once; a process of the agent takes seconds to start."""

    @cache
    def once(message_format: str, *options: str, wrapped: bool = True) -> MiniRun:
        return run(tmp_path_factory.mktemp("run") / "same", message_format, *options, wrapped=wrapped)

    return once


@pytest.mark.parametrize(
    "message_format", [pytest.param(one, marks=pytest.mark.long if one in SLOW else []) for one in FORMATS]
)
def test_the_view_is_last_and_the_prefix_is_append_only(runs: Callable[..., MiniRun], message_format: str) -> None:
    """In every message format."""
    done = runs(message_format)
    check_wire(done.requests)
    saved = done.trajectories["mini"]["messages"]
    assert (saved[-1]["extra"]["exit_status"], proposed(saved)) == ("Submitted", COMMANDS)
    assert "<execution_state>" not in json.dumps(saved)
    assert f"Ledger: {READ}: reused after running, its output is shown above" in done.output


def test_the_view_says_what_the_files_hold(runs: Callable[..., MiniRun]) -> None:
    """The launcher notes the agent's environment: what was read is known to be current, and nothing is stale."""
    views = [view_of(request) for request in runs("openrouter").requests]
    assert "(current)" in views[-1] and not any("stale" in view for view in views)


def test_cache_markers_sit_where_they_sit_without_us(runs: Callable[..., MiniRun]) -> None:
    """On the wire of an Anthropic model, at the end of the history and nowhere else; the view is behind it."""
    done = runs("anthropic")
    assert [[at for at, item in enumerate(one.items) if item.marked] for one in done.requests] == [
        [len(without_view(one)) - 1] for one in done.requests
    ]


@pytest.mark.guarantee("witness-apart")
@pytest.mark.parametrize("switch", ["--shadow", "--no-govern"])
def test_without_govern_the_trajectory_is_the_agents_own(runs: Callable[..., MiniRun], switch: str) -> None:
    """Shadow and inform-only change no message; no folder is named in them."""
    texts = [
        [str(message.get("content")) for message in done.trajectories["mini"]["messages"]]
        for done in (runs("openrouter", switch), runs("openrouter", wrapped=False))
    ]
    assert texts[0] == texts[1]


def test_a_batch_runs_with_suppressed_commands_not_executed(tmp_path: Path) -> None:
    """Three instances on two workers, through the real DockerEnvironment on a fake docker."""
    docker = FakeDocker.install(tmp_path / "docker")
    (docker.image / "testbed").mkdir(parents=True)
    make_repository(docker.image / "testbed")
    instances = make_instances(3)
    with ModelServer(SCRIPT) as server:
        prefix = (*LAUNCHER, "--")
        done = run_swebench(server, instances, docker, tmp_path / "home", prefix=prefix)
        assert (done.status, server.faults) == (0, []), done.output
        for instance in instances:
            requests = server.conversation(instance.problem_statement)
            check_wire(requests)
            # What was read is looked up in the container, and nothing of that is said to the model or kept.
            assert any("(current)" in view_of(request) for request in requests)
            assert PROBE not in json.dumps([request.body for request in requests])
    assert PROBE not in json.dumps([done.predictions, done.trajectories])
    assert sorted(done.predictions) == sorted(instance.instance_id for instance in instances)
    for instance in instances:
        ran = [
            one.command for one in docker.executed(instance.instance_id.split("__")[-1]) if "warehouse" in one.command
        ]
        probes = [one for one in docker.executed(instance.instance_id.split("__")[-1]) if PROBE in one.command]
        assert 0 < len(probes) < len(COMMANDS)
        assert ran.count(READ) == 2, "once before the edit and once behind it"
        ledger = done.trajectories[instance.instance_id]["info"]["ledger"]
        assert (ledger["counts"]["suppressed"], ledger["counts"]["faults"]) == (2, 0)
        journal = Path(ledger["journal"])
        rebuilt = rebuild(read_journal(journal.name, journal.read_bytes()))
        assert (rebuilt.mismatch, rebuilt.ledger.digest) == (None, ledger["state"])


def test_plain_configuration_works_without_the_launcher(tmp_path: Path) -> None:
    """Naming the model class with ``-c`` is all that it takes."""
    repository = tmp_path / "repository"
    repository.mkdir()
    make_repository(repository)
    config = ["model.model_class=execledger.agents.mini_swe_agent.LedgerModel", "model.ledger.cadence=every"]
    with ModelServer(SCRIPT) as server:
        done = run_mini(server, TASK, repository, tmp_path / "home", message_format="chat", config=config)
        assert (done.status, server.faults) == (0, []), done.output
    check_wire(done.requests)


def test_off_is_off(tmp_path: Path) -> None:
    """With ``EXECLEDGER=off`` the launcher starts the agent and nothing else."""
    repository = tmp_path / "repository"
    repository.mkdir()
    make_repository(repository)
    with ModelServer(SCRIPT) as server:
        extra = {"EXECLEDGER": "off"}
        done = run_mini(server, TASK, repository, tmp_path / "home", prefix=(*LAUNCHER, "--"), extra=extra)
        assert done.status == 0, done.output
    assert not any(view_of(request) for request in done.requests)
    assert "Ledger" not in done.output
