"""Ledger around the real mini-swe-agent, in one process, with a scripted model and a real shell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from execledger.agents.formats import read_run
from execledger.agents.mini.follower import Follower
from execledger.agents.mini.messages import Message, text_of
from execledger.cli.main import group
from execledger.core.policy import Policy
from execledger.core.references import NOT_ANSWERED
from execledger.demo.repository import COMMANDS, TASK, make_repository
from execledger.errors import LedgerError
from execledger.journal.reader import read_journal, rebuild
from execledger.runs.account import sentences
from execledger.runs.replay import replay
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.docker import DockerEnvironmentConfig
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.test_models import DeterministicToolcallModel, make_toolcall_output

from execledger.agents.mini.model import RUNS, LedgerModel


@pytest.fixture(autouse=True)
def journals(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for journals."""
    folder = tmp_path_factory.mktemp("journals")
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(folder))
    return folder


SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class Recording(DeterministicToolcallModel):  # type: ignore[misc]
    """A scripted model that keeps every request."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.requests: list[list[Message]] = []

    def query(self, messages: list[Message], **kwargs: Any) -> Message:
        self.requests.append([dict(message) for message in messages])
        message: Message = super().query(messages, **kwargs)
        return message


class Contained(LocalEnvironment):  # type: ignore[misc]
    """A local environment that has the configuration of a container and keeps what it ran."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ran: list[str] = []

    def execute(self, action: Message, cwd: str = "") -> Message:
        self.ran.append(action["command"])
        output: Message = super().execute(action, cwd)
        return output

    def get_template_vars(self, **kwargs: Any) -> Message:
        container = DockerEnvironmentConfig(image="the test's own", executable="docker", cwd=self.config.cwd)
        return {**container.model_dump(), **kwargs}


def turn(number: int, *commands: str) -> Message:
    """One turn of the model, with a tool call per command."""
    actions = [{"command": command, "tool_call_id": f"{number}.{at}"} for at, command in enumerate(commands)]
    calls = [
        {
            "id": action["tool_call_id"],
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"command": action["command"]})},
        }
        for action in actions
    ]
    message: Message = make_toolcall_output("", calls, actions)
    return message


def run(
    folder: Path, *turns: tuple[str, ...], wrapped: bool = True, **options: Any
) -> tuple[Any, Recording, Contained]:
    """Run the real agent over scripted turns."""
    make_repository(folder)
    inner = Recording(outputs=[turn(number, *commands) for number, commands in enumerate([*turns, (SUBMIT,)])])
    environment = Contained(cwd=str(folder))
    model = LedgerModel.wrap(inner, **options) if wrapped else inner
    settings = {"system_template": "s", "instance_template": "{{task}}", "step_limit": 40, "cost_limit": 100.0}
    agent = DefaultAgent(model, environment, **settings)
    agent.run(TASK)
    return agent, inner, environment


def observations(agent: Any) -> list[Message]:
    return [message for message in agent.messages if message.get("role") == "tool"]


def test_suppressed_commands_never_reach_the_environment(tmp_path: Path) -> None:
    """The reference stands in the history, the proposal in the trajectory, and the shell never saw it."""
    agent, _, environment = run(tmp_path, ("cat warehouse/inventory.py",), ("sed -n '5,20p' warehouse/inventory.py",))
    assert environment.ran == ["cat warehouse/inventory.py", SUBMIT]
    answer = observations(agent)[1]
    assert "[Ledger: not run, " in answer["content"]
    assert answer["extra"]["ledger"]["decision"]["rule"] == "covered-read"
    proposals = [
        message["extra"]["actions"][0]["command"] for message in agent.messages if "actions" in message.get("extra", {})
    ]
    assert proposals[1] == "sed -n '5,20p' warehouse/inventory.py"


def test_the_view_is_last_and_never_stored(tmp_path: Path) -> None:
    """Each request without its view is a prefix of the next, and the trajectory holds no view."""
    agent, inner, _ = run(tmp_path, *((command,) for command in COMMANDS), cadence="every")
    for request, following in zip(inner.requests, inner.requests[1:], strict=False):
        assert text_of(request[-1]).startswith("<execution_state>")
        assert [text_of(one) for one in request[:-1]] == [text_of(one) for one in following[: len(request) - 1]]
    assert not any("<execution_state>" in text_of(message) for message in agent.messages)


def test_an_elided_output_keeps_its_raw_record(tmp_path: Path) -> None:
    """What the model sees is a reference; what the trajectory records is the true output."""
    agent, _, environment = run(
        tmp_path, ("cat tests/test_inventory.py",), ("python3 -c 'print(1)'",), ("cat tests/test_inventory.py",)
    )
    assert len(environment.ran) == 4
    first, _, again = observations(agent)
    assert "[Ledger: output omitted. It is the same as that of" in again["content"]
    assert again["extra"]["raw_output"] == first["extra"]["raw_output"]


def test_lines_that_stand_above_are_omitted_from_a_read_that_shows_others(tmp_path: Path) -> None:
    """The model reads the rest as it came, the whole is kept beside it, and a trajectory rebuilds the same state."""
    whole, read = "cat warehouse/inventory.py", "cat warehouse/inventory.py | head -n 40"
    agent, inner, _ = run(tmp_path, ("head -n 24 warehouse/inventory.py",), (whole,), (read,))
    _, partly, again = observations(agent)
    reference, *rest = partly["content"].removeprefix("<returncode>0</returncode>\n<output>\n").split("\n")
    assert reference == (
        "[Ledger: lines 1-21 of warehouse/inventory.py omitted, as shown by `head -n 24 warehouse/inventory.py`, "
        "1 command ago.]"
    )
    lines = partly["extra"]["raw_output"].split("\n")
    assert rest == [*lines[21:-1], "</output>"] and "class Inventory" in partly["extra"]["raw_output"]
    assert partly["extra"]["ledger"]["shown"]["kind"] == "partial"
    # The next attempt at these lines is shown in full.
    assert "[Ledger: " not in again["content"]
    asked = [message["content"] for message in inner.requests[-1] if message.get("role") == "tool"]
    assert asked[1] == partly["content"]
    session = Session(Policy(), TASK, Chronicle(None, "", print))
    saved = json.loads(json.dumps(agent.messages))
    Follower(session.record, lambda: len(session.ledger), lambda: None).follow(saved)
    assert session.ledger.digest == agent.model.serialize()["info"]["ledger"]["state"]
    assert session.ledger.results[1].kind == "partial"


def test_lines_that_were_omitted_from_another_text_are_not_looked_for(tmp_path: Path) -> None:
    """Somebody changed the output that is kept beside a partial one: the note about it holds no longer."""
    agent, _, _ = run(tmp_path, ("head -n 24 warehouse/inventory.py",), ("cat warehouse/inventory.py",))
    saved = json.loads(json.dumps(agent.messages))
    partly = observations(agent)[1]
    message = next(one for one in saved if one.get("content") == partly["content"])
    # The same lines, each at another place: what stands between the references still reads as it was rendered.
    first, rest = message["extra"]["raw_output"].split("\n", 1)
    message["extra"]["raw_output"] = f"{first.upper()}\n{rest}"
    session = Session(Policy(), TASK, Chronicle(None, "", print))
    Follower(session.record, lambda: len(session.ledger), lambda: None).follow(saved)
    assert [session.ledger.results[step].kind for step in (0, 1)] == ["full", "full"]


def test_an_output_is_whole_again_when_what_it_refers_to_is_gone(tmp_path: Path) -> None:
    """An agent of a user's own drops the first result: what was omitted stood only there."""
    agent, _, _ = run(tmp_path, ("head -n 24 warehouse/inventory.py",), ("cat warehouse/inventory.py",))
    first, partly = observations(agent)
    kept = [message for message in agent.messages if message is not first]
    assert "omitted" in partly["content"]
    standing = agent.model._follower.standing
    standing.visible(kept)
    assert partly["content"] == f"<returncode>0</returncode>\n<output>\n{partly['extra']['raw_output']}</output>"


def test_the_trajectory_alone_rebuilds_the_state(tmp_path: Path) -> None:
    """Following the saved messages with a fresh ledger gives the digest that the run ended with."""
    agent, _, _ = run(tmp_path, *((command,) for command in COMMANDS))
    saved = json.loads(json.dumps(agent.messages))
    session = Session(Policy(), TASK, Chronicle(None, "", print))
    Follower(session.record, lambda: len(session.ledger), lambda: None).follow(saved)
    assert session.ledger.digest == agent.model.serialize()["info"]["ledger"]["state"]


def test_what_stands_behind_a_write_in_the_same_step_is_run(tmp_path: Path) -> None:
    """Earlier actions of a step count as pending writes."""
    read = "sed -n '18,30p' warehouse/inventory.py"
    agent, _, environment = run(tmp_path, (read,), ("sed -i '24s/<=/</' warehouse/inventory.py", read), (read, "ls"))
    assert environment.ran == [read, "sed -i '24s/<=/</' warehouse/inventory.py", read, "ls", SUBMIT]
    assert "< count" in observations(agent)[2]["content"]
    assert "not run" in observations(agent)[3]["content"]


@pytest.mark.parametrize("switches", [{"shadow": True}, {"govern": False}, {"inform": False}, {}])
def test_switches_change_only_what_they_name(tmp_path: Path, switches: dict[str, bool]) -> None:
    """Shadow and inform-only leave the messages as they are; inform off sends no view."""
    for name in ("plain", "ledger"):
        (tmp_path / name).mkdir()
    turns = [(command,) for command in COMMANDS]
    plain, _, _ = run(tmp_path / "plain", *turns, wrapped=False)
    agent, inner, _ = run(tmp_path / "ledger", *turns, **switches)
    same = [steady(text_of(m)) for m in agent.messages] == [steady(text_of(m)) for m in plain.messages]
    assert same == bool(switches.get("shadow") or switches.get("govern") is False)
    viewed = any("<execution_state>" in text_of(request[-1]) for request in inner.requests)
    assert viewed == (not switches.get("shadow") and switches.get("inform", True))


def steady(text: str) -> str:
    """A text without durations, blob names and the folder that it was made in."""
    return re.sub(r"in \d+\.\d+s|index [0-9a-f.]+|/\S+/(?:plain|ledger)/", "", text)


def test_a_suppressed_call_that_cannot_be_answered_asks_to_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault between suppressing and answering leaves a fixed text, and Ledger off."""
    calls = iter(range(10))
    answered = LedgerModel._answered

    def fail_second(self: LedgerModel, *args: Any) -> list[Message]:
        if next(calls) == 1:
            raise RuntimeError("planted")
        return answered(self, *args)

    monkeypatch.setattr(LedgerModel, "_answered", fail_second)
    read = "cat warehouse/inventory.py"
    agent, inner, environment = run(tmp_path, (read,), (read,), (read,))
    assert environment.ran == [read, read, SUBMIT]
    assert NOT_ANSWERED in observations(agent)[1]["content"]
    assert "<execution_state>" not in text_of(inner.requests[-1][-1])


def test_off_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``EXECLEDGER=off`` leaves nothing but the inner model."""
    monkeypatch.setenv("EXECLEDGER", "off")
    read = "cat warehouse/inventory.py"
    agent, inner, environment = run(tmp_path, (read,), (read,))
    assert environment.ran == [read, read, SUBMIT]
    assert "ledger" not in agent.model.serialize()["info"]
    assert not any("<execution_state>" in text_of(request[-1]) for request in inner.requests)


@pytest.mark.faults
@pytest.mark.parametrize("on", [True, False])
def test_an_interruption_while_it_saves_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: bool) -> None:
    """Whether Ledger is on or off: the user wants the agent to stop."""
    agent, _, _ = run(tmp_path, ("cat warehouse/inventory.py",))

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LedgerModel, "_told", interrupted)
    monkeypatch.setattr(agent.model, "_on", on)
    with pytest.raises(KeyboardInterrupt):
        agent.model.serialize()


def test_one_model_serves_two_runs(tmp_path: Path) -> None:
    """A new list of messages starts a new ledger."""
    agent, _, _ = run(tmp_path, ("cat warehouse/inventory.py",))
    before = agent.model.serialize()["info"]["ledger"]
    agent.model.inner.current_index = -1
    agent.run(TASK)
    after = agent.model.serialize()["info"]["ledger"]
    assert (after["state"], after["counts"]) == (before["state"], before["counts"])
    assert after["journal"] != before["journal"]


def test_the_journal_has_the_digest_of_the_live_ledger(tmp_path: Path, journals: Path) -> None:
    """Rebuilding from the journal gives the state that the run ended with."""
    agent, _, _ = run(tmp_path, *((command,) for command in COMMANDS))
    (path,) = journals.glob("*.ledger.jsonl")
    rebuilt = rebuild(read_journal(path.name, path.read_bytes()))
    assert rebuilt.mismatch is None
    assert rebuilt.ledger.digest == agent.model.serialize()["info"]["ledger"]["state"]


def test_a_journal_that_cannot_be_written_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on, governed as before, and no fault is counted."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", "/dev/null/journals")
    agent, _, _ = run(tmp_path, *((command,) for command in COMMANDS))
    ledger = agent.model.serialize()["info"]["ledger"]
    assert (ledger["journal"], ledger["counts"]["faults"], ledger["counts"]["elided"]) == (None, 0, 2)
    assert sentences(RUNS[-1:])[-1] == (
        "Ledger: 1 run without a complete journal: "
        "/dev/null/journals: the journal can't be written: /dev/null is no folder"
    )


def test_the_agents_variables_do_not_make_a_container(tmp_path: Path) -> None:
    """What is handed to the agent stands beside its environment's own settings, and seals nothing."""
    make_repository(tmp_path)
    read = "cat warehouse/inventory.py"
    inner = Recording(outputs=[turn(number, command) for number, command in enumerate([read, read, SUBMIT])])
    settings = {"system_template": "s", "instance_template": "{{task}}"}
    agent = DefaultAgent(LedgerModel.wrap(inner), LocalEnvironment(cwd=str(tmp_path)), **settings)
    agent.run(TASK, image="the user's own word")
    answer = observations(agent)[1]["extra"]["ledger"]
    assert (answer["decision"]["type"], answer["shown"]["kind"], answer["sealed"]) == ("nudge", "reference", False)


def test_a_promise_seals_the_local_environment(tmp_path: Path) -> None:
    """Where the user promises that nothing else writes, a proven repetition is not run."""
    make_repository(tmp_path)
    read = "cat warehouse/inventory.py"
    inner = Recording(outputs=[turn(number, command) for number, command in enumerate([read, read, SUBMIT])])
    settings = {"system_template": "s", "instance_template": "{{task}}"}
    agent = DefaultAgent(LedgerModel.wrap(inner, sealed=True), LocalEnvironment(cwd=str(tmp_path)), **settings)
    agent.run(TASK)
    answer = observations(agent)[1]["extra"]["ledger"]
    assert (answer["decision"]["type"], answer["shown"]["kind"], answer["sealed"]) == ("reuse", "reference", True)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"preset": "foo"}, "model.ledger.preset: found 'foo', expected paper or verified"),
        ({"placement": "above"}, "model.ledger.placement: found 'above', expected auto, message or inside"),
        ({"inform": True, "shadow": "maybe"}, "model.ledger.shadow: found 'maybe', expected true or false"),
        ({"journal": 7}, "model.ledger.journal: found 7, expected a text"),
        ({"view_budget": 5}, "model.ledger.view_budget: no such option, found with the value 5\nhint: known: inner_"),
        (
            "off",
            "model.ledger: found 'off', expected a block of options\nhint: its keys are: inner_",
        ),
        (False, "model.ledger: found False, expected a block of options"),
    ],
)
def test_a_bad_option_is_named(block: Any, said: str) -> None:
    """The key, its value, and what is allowed."""
    with pytest.raises(LedgerError) as caught:
        LedgerModel(ledger=block, model_name="scripted", outputs=[])
    assert str(caught.value).startswith(said)


def why(path: Path, index: int) -> dict[str, list[str]]:
    """What is said about a call, by the word that each line begins with, but for the name of the file."""
    said: dict[str, list[str]] = {}
    shown = CliRunner().invoke(group, ["why", str(path), str(index)], catch_exceptions=False).output
    for line in shown.splitlines()[1:]:
        said.setdefault(line.partition(":")[0], []).append(line)
    return said


@pytest.mark.parametrize("options", [{}, {"preset": "paper"}, {"shadow": True}, {"govern": False}])
def test_a_trajectory_tells_what_the_journal_tells(tmp_path: Path, journals: Path, options: dict[str, Any]) -> None:
    """Every decision with its proof, the view before it, and the policy; this version decides and shows the same."""
    agent, _, _ = run(tmp_path, *((command,) for command in COMMANDS), **options)
    saved = tmp_path / "mini.traj.json"
    agent.save(saved)
    (kept,) = journals.glob("*.ledger.jsonl")
    ours, theirs = ([why(path, index) for index in range(len(COMMANDS))] for path in (saved, kept))
    assert {line for told in ours for line in told.pop("today")} == {"today:     the same"}
    assert ours == [{name: lines for name, lines in told.items() if name != "today"} for told in theirs]
    assert read_run("run", saved.read_bytes()).policy == read_run("run", kept.read_bytes()).policy


@pytest.mark.parametrize("options", [{}, {"preset": "paper"}])
def test_a_run_of_ones_own_replays_to_the_same_decisions(tmp_path: Path, options: dict[str, Any]) -> None:
    """Each result is known as it was, or not at all: no reuse is called false, and what was shown is shown again."""
    agent, _, _ = run(tmp_path, *((command,) for command in COMMANDS), **options)
    recorded = read_run("run", json.dumps(agent.serialize()).encode())
    steps = [one.governed.step for one in recorded.steps if one.governed is not None]
    calls = list(replay(recorded))
    assert [(one.decision, one.shown.text) for one in calls] == [(one.decision, one.shown.text) for one in steps]
    assert (len(calls), [one.index for one in calls if one.false]) == (len(COMMANDS), [])
    assert "reference" in {one.shown.kind for one in steps}
