"""A model that is copied, pickled or forked in the middle of a run: each goes on as a run of its own."""

from __future__ import annotations

import copy
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.mini.messages import Message
from execledger.core.references import NOT_ANSWERED
from execledger.demo.repository import TASK, make_repository
from execledger.journal.reader import JournalRun, read_journal, rebuild

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.default import DefaultAgent

from execledger.agents.mini.model import LedgerModel
from tests.agents.mini.test_model import SUBMIT, Contained, Recording, turn

READ, PART = "cat warehouse/inventory.py", "sed -n '5,20p' warehouse/inventory.py"
COPIES: dict[str, Callable[[Any], Any]] = {
    "copied": copy.copy,
    "deeply copied": copy.deepcopy,
    "unpickled": lambda model: pickle.loads(pickle.dumps(model)),
}


@pytest.fixture(autouse=True)
def journals(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for journals."""
    folder = tmp_path_factory.mktemp("journals")
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(folder))
    return folder


def begun(folder: Path, *commands: str, wrapped: bool = True) -> Any:
    """An agent that has taken its first step of these."""
    make_repository(folder)
    inner = Recording(outputs=[turn(number, command) for number, command in enumerate([*commands, SUBMIT])])
    model = LedgerModel.wrap(inner) if wrapped else inner
    agent = DefaultAgent(model, Contained(cwd=str(folder)), system_template="s", instance_template="{{task}}")
    agent.extra_template_vars |= {"task": TASK}
    agent.add_messages(
        model.format_message(role="system", content="s"), model.format_message(role="user", content=TASK)
    )
    agent.step()
    return agent


def with_model(agent: Any, model: Any) -> Any:
    """An agent like this one, with another model, and messages and an environment of its own."""
    other = copy.copy(agent)
    other.model, other.messages, other.env = model, copy.deepcopy(agent.messages), copy.deepcopy(agent.env)
    return other


def finish(agent: Any) -> list[Message]:
    """Take the steps that are left; the results that the model was shown in all."""
    while agent.messages[-1].get("role") != "exit":
        agent.add_messages(*stepped(agent))
    return [message for message in agent.messages if message.get("role") == "tool"]


def stepped(agent: Any) -> list[Message]:
    """Take one step; the messages that end the run, if it does."""
    from minisweagent.exceptions import InterruptAgentFlow

    try:
        agent.step()
    except InterruptAgentFlow as flow:
        return list(flow.messages)
    return []


def read(folder: Path) -> dict[str, JournalRun]:
    """The journals of a folder by name; each rebuilds as it was recorded."""
    runs = {path.name: read_journal(path.name, path.read_bytes()) for path in sorted(folder.glob("*.jsonl"))}
    assert all(rebuild(run).mismatch is None and not run.trouble.sentences() for run in runs.values())
    return runs


def commands_of(run: JournalRun) -> list[str]:
    return [step.step.action.command for step in run.steps]


@pytest.mark.parametrize("made", COPIES)
def test_a_copy_goes_on_as_a_run_of_its_own(made: str, tmp_path: Path, journals: Path) -> None:
    """Both come to their end, each with a journal that tells of itself alone, and the copy knows the history."""
    agent = begun(tmp_path / "place", READ, PART)
    (own,) = read(journals)
    other = with_model(agent, COPIES[made](agent.model))
    assert isinstance(other.model, LedgerModel) and other.model.inner is not agent.model.inner
    assert len(read(journals)) == 1
    shown = finish(other)
    before = (journals / own).read_bytes()
    assert commands_of(read(journals)[own]) == [READ]
    assert finish(agent)[0]["content"] == shown[0]["content"]
    assert (journals / own).read_bytes().startswith(before)
    assert [commands_of(run)[:2] for run in read(journals).values()] == [[READ, PART]] * 2
    # Either may write to the other's files: nothing is answered without being run, and both outputs stand above.
    assert all(PART in one.env.ran for one in (agent, other))
    assert all(finish(one)[1]["content"].count("[Ledger: ") == 1 for one in (agent, other))


def test_a_model_can_be_pickled_whenever_it_can_without_ledger(tmp_path: Path, journals: Path) -> None:
    """Before a run, in the middle of one, with a command proposed, and after its end."""
    assert pickle.loads(pickle.dumps(LedgerModel.wrap(Recording(outputs=[])))).inner.requests == []
    bare = begun(tmp_path / "bare", READ, PART, wrapped=False)
    agent = begun(tmp_path / "place", READ, PART)
    message = agent.model.query(agent.messages)
    copied = pickle.loads(pickle.dumps(agent.model))
    asked = len(pickle.loads(pickle.dumps(bare.model)).requests)
    assert len(copied.inner.requests) == asked + 1
    # The command was kept from running for the sake of a run that the copy has no part in.
    (answer,) = copied.format_observation_messages(copy.deepcopy(message), [])
    assert NOT_ANSWERED in answer["content"]
    agent.add_messages(message)
    agent.execute_actions(message)
    finish(agent)
    assert isinstance(pickle.loads(pickle.dumps(agent.model)), LedgerModel)
    assert len(read(journals)) == 1


def test_a_forked_child_leaves_the_run_of_its_parent_alone(tmp_path: Path, journals: Path) -> None:
    """Parent and child take the same steps at their own times, and neither writes to the other's journal."""
    agent = begun(tmp_path / "place", READ, PART)
    (own,) = read(journals)
    inbox, outbox = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            told = agent.model.serialize().get("info", {}).get("ledger", {})
            shown = [message["content"] for message in finish(agent)]
            agent.model._end()
            os.write(outbox, json.dumps([told, shown]).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(outbox)
    with os.fdopen(inbox, "rb") as answer:
        told, shown = json.loads(answer.read())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert told == {}
    assert commands_of(read(journals)[own]) == [READ]
    assert [message["content"] for message in finish(agent)] == shown
    agent.model._end()
    runs = read(journals)
    assert [commands_of(run)[:2] for run in runs.values()] == [[READ, PART]] * 2
    assert all(run.ended is not None for run in runs.values())


def test_what_python_asks_of_an_object_is_not_asked_of_the_inner_model() -> None:
    """An inner model with copying of its own does not make copies of itself in our place."""

    class Own(Recording):
        def __deepcopy__(self, memo: dict[int, Any]) -> str:
            return "a copy of the inner model"

    copied = copy.deepcopy(LedgerModel.wrap(Own(outputs=[])))
    assert isinstance(copied, LedgerModel)
    assert copied.inner == "a copy of the inner model"
