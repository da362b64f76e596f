"""The real mini-swe-agent, without Ledger: what it and the test devices do before anything is wrapped."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from execledger.demo.mini import SUBMIT
from execledger.demo.repository import TASK, make_repository
from execledger.testing.scripted_model import BLOCK, BYTES_PER_TOKEN, ModelServer, PromptItem, Request, Script
from tests.support.agents.fake_docker import FakeDocker
from tests.support.agents.mini import FORMATS, MiniRun, installed, run_mini, run_swebench
from tests.support.agents.swebench import make_instances

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install mini-swe-agent"),
]

# The second turn is no action, so the agent rejects it and leaves it out of the history.
SCRIPT: Script = (
    ["cat warehouse/inventory.py", "ls tests"],
    "I would rather talk about it first.",
    ["sed -i '24s/<= count/< count/' warehouse/inventory.py"],
    ["git diff > patch.txt"],
    [f"{SUBMIT} && cat patch.txt"],
)
COMMANDS = [command for turn in SCRIPT if not isinstance(turn, str) for command in turn]
REPAIR = "+        if self._counts.get(item, 0) < count:"


def repository(folder: Path) -> Path:
    make_repository(folder)
    return folder


def proposed(trajectory: Any) -> list[str]:
    """The commands that the agent took from the model, in order."""
    actions = (message.get("extra", {}).get("actions", []) for message in trajectory["messages"])
    return [action["command"] for step in actions for action in step]


def said(request: Request) -> list[PromptItem]:
    """A request without its cache markers, which move from one request to the next."""
    return [item._replace(marked=False) for item in request.items]


def outcome(run: MiniRun, name: str) -> tuple[int, str, list[str], bool]:
    """Status, how the agent ended, its commands, and whether the submission holds the repair."""
    trajectory = run.trajectories[name]
    last = trajectory["messages"][-1]["extra"]
    return run.status, last["exit_status"], proposed(trajectory), REPAIR in last["submission"].splitlines()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], MiniRun]:
    """The script in a message format, run once; a process of the agent takes seconds to start."""

    @cache
    def once(message_format: str) -> MiniRun:
        home = tmp_path_factory.mktemp("run")
        with ModelServer(SCRIPT) as server:
            run = run_mini(server, TASK, repository(home / "repo"), home, message_format=message_format)
        assert server.faults == [], run.output
        return run

    return once


# The other formats are run to their end with Ledger, in test_mini_wrapped.
@pytest.mark.parametrize(
    "message_format",
    [pytest.param(one, marks=[] if one == "openrouter" else pytest.mark.long) for one in FORMATS],
)
def test_every_format_runs_to_its_end(message_format: str, runs: Callable[[str], MiniRun]) -> None:
    """In each format the agent runs the commands in order, and each request is a prefix of the next."""
    run = runs(message_format)
    assert outcome(run, "mini") == (0, "Submitted", COMMANDS, True), run.output
    # An agent that takes one command at a time has the first turn's two in two turns.
    assert [request.turn for request in run.requests] == list(range(6 if message_format == "text" else 5))
    for before, after in pairwise(run.requests):
        assert said(after)[: len(before.items)] == said(before)
        assert len(after.items) > len(before.items)
        # Whole blocks are cached.
        assert 0 < before.usage.prompt <= after.usage.cached + BLOCK // BYTES_PER_TOKEN
        assert after.usage.cached < after.usage.prompt


def test_the_agent_is_shown_what_its_commands_printed(runs: Callable[[str], MiniRun]) -> None:
    """The results of several calls of one turn come back as tool results, each to its own call."""
    run = runs("openrouter")
    results = {item.call: item.text for item in run.requests[-1].items if item.speaker == "tool"}
    assert list(results) == ["call_0_0", "call_0_1", "call_2_0", "call_3_0"]
    assert ("class Inventory" in results["call_0_0"], "test_inventory.py" in results["call_0_1"]) == (True, True)


# With Ledger, markers are looked at in every run of CI, in test_mini_wrapped.
@pytest.mark.long
def test_anthropic_marks_the_last_item_only(runs: Callable[[str], MiniRun]) -> None:
    """Unwrapped, the only cache marker sits at the very end, and the saved usage is the server's."""
    run = runs("anthropic")
    assert [[n for n, item in enumerate(request.items) if item.marked] for request in run.requests] == [
        [len(request.items) - 1] for request in run.requests
    ]
    # What became of a rejected answer differs between versions of the agent, so the second turn is left out.
    saved = [
        message["extra"]["response"]["usage"]
        for message in run.trajectories["mini"]["messages"]
        if message["role"] == "assistant"
    ]
    assert [(usage["prompt_tokens"], usage["cache_read_input_tokens"]) for usage in saved] == [
        (request.usage.prompt, request.usage.cached) for request in run.requests if request.turn != 1
    ]


def test_a_script_that_is_too_short_ends_the_run(tmp_path: Path) -> None:
    """A request that the script has no turn for is turned away, and the run ends at once and says why."""
    with ModelServer(SCRIPT[:1]) as server:
        run = run_mini(server, TASK, repository(tmp_path / "repo"), tmp_path)
    assert run.status != 0
    assert server.faults == ["/v1/chat/completions: OffScript: the script has 1 turns, and turn 2 was asked for"]
    assert "turn 2 was asked for" in run.output


def test_the_batch_runner_works_through_a_dataset(tmp_path: Path) -> None:
    """Two workers run three instances in containers of their own, each by its own script, and write each prediction."""
    instances = make_instances(3)
    scripts = {f"This is task {n}.": ([f"cd /testbed && echo {n} && pwd"], *SCRIPT) for n in range(1, 4)}
    docker = FakeDocker.install(tmp_path / "docker")
    make_repository(docker.image / "testbed")
    with ModelServer(scripts) as server:
        run = run_swebench(server, instances, docker, tmp_path, workers=2)
    assert (run.status, server.faults) == (0, []), run.output
    assert sorted(run.predictions) == sorted(run.trajectories) == [one.instance_id for one in instances]
    for number, instance in enumerate(instances, 1):
        name, (start, *_) = instance.instance_id, scripts[f"This is task {number}."]
        assert outcome(run, name) == (0, "Submitted", [*start, *COMMANDS], True)
        assert REPAIR in run.predictions[name]["model_patch"].splitlines()
        executed = docker.executed(f"warehouse-{number}:")
        assert [(one.cwd, one.command) for one in executed] == [("/testbed", one) for one in [*start, *COMMANDS]]
        last = server.conversation(f"This is task {number}.")[-1]
        assert next(item.text for item in last.items if item.speaker == "tool").splitlines()[2:4] == [
            str(number),
            "/testbed",
        ]
    assert len({one.container for one in docker.executed()}) == len(instances)
