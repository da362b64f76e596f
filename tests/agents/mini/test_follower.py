"""Agents that change their own history: what the model can no longer see is neither referred to nor reused."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.mini.messages import Message, text_of
from execledger.core.references import NOT_ANSWERED
from execledger.demo.repository import TASK, make_repository
from execledger.journal.reader import read_journal, rebuild

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.default import DefaultAgent

from execledger.agents.mini.model import RUNS, LedgerModel
from tests.agents.mini.test_model import SUBMIT, Contained, Recording, observations, turn
from tests.clients.test_mini_interactive import MODELS

READ = "cat warehouse/inventory.py"
PART = "sed -n '5,20p' warehouse/inventory.py"
TESTS = "cat tests/test_inventory.py"
LIST = "ls -R warehouse"
EDIT = "sed -i '24s/<=/</' warehouse/inventory.py"
UNKNOWN = "python3 -c 'print(1)'"
STORY = (READ, LIST, PART, READ, SUBMIT)
BLANK = "[old output left out]"
SETTINGS = {"system_template": "s", "instance_template": "{{task}}", "step_limit": 40, "cost_limit": 100.0}

Change = Callable[[list[Message]], list[Message]]


@pytest.fixture(autouse=True)
def journals(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for journals."""
    folder = tmp_path_factory.mktemp("journals")
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(folder))
    return folder


class Forgetful(DefaultAgent):  # type: ignore[misc]
    """An agent that may change its messages before each call of the model; what it makes of them is sent."""

    change: Change = staticmethod(lambda messages: messages)

    def query(self) -> Message:
        self.n_calls += 1
        message: Message = self.model.query(self.change(self.messages))
        self.add_messages(message)
        return message


class Place:
    """One repository in a container, for any number of runs."""

    def __init__(self, folder: Path) -> None:
        make_repository(folder)
        self.environment = Contained(cwd=str(folder))
        self.inner = Recording(outputs=[])

    def run(self, change: Change, *turns: tuple[str, ...], **options: Any) -> list[str]:
        """The observations of a run whose agent changes its messages."""
        self.inner = Recording(outputs=[turn(at, *commands) for at, commands in enumerate([*turns, (SUBMIT,)])])
        agent = Forgetful(LedgerModel.wrap(self.inner, **options), self.environment, **SETTINGS)
        agent.change = change
        RUNS.clear()
        agent.run(TASK)
        assert [run.counts.faults for run in RUNS] == [0] * len(RUNS)
        return [text_of(message) for message in observations(agent)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "repository")


def results(messages: list[Message]) -> list[int]:
    """Where the results stand."""
    return [at for at, message in enumerate(messages) if message.get("role") == "tool"]


def blanked_in_place(messages: list[Message]) -> list[Message]:
    """All results but the last say nothing any more."""
    for at in results(messages)[:-1]:
        messages[at]["content"] = BLANK
    return messages


def blanked_copies(messages: list[Message]) -> list[Message]:
    """The same, in a list that is made for this call alone."""
    old = results(messages)[:-1]
    return [{**message, "content": BLANK} if at in old else message for at, message in enumerate(messages)]


def shortened(messages: list[Message]) -> list[Message]:
    """Results are cut before they are shown at all."""
    for at in results(messages):
        messages[at]["content"] = messages[at]["content"][:200]
    return messages


def dropped(messages: list[Message]) -> list[Message]:
    """Only the task and the last turn with its results are left, in the agent's own list."""
    last = max((at for at, one in enumerate(messages) if one.get("role") == "assistant"), default=2)
    messages[:] = [*messages[:2], *messages[last:]]
    return messages


def dropped_from_copies(messages: list[Message]) -> list[Message]:
    """The same, in copies through and through."""
    return dropped(copy.deepcopy(messages))


CHANGES = [blanked_in_place, blanked_copies, shortened, dropped, dropped_from_copies]


@pytest.mark.guarantee("visibility")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_what_is_gone_from_the_history_is_not_referred_to(place: Place, change: Change, preset: str) -> None:
    """Neither before running nor after it, whichever way the earlier result went."""
    shown = place.run(change, (READ,), (LIST,), (PART,), (UNKNOWN,), (READ,), preset=preset)
    assert place.environment.ran == [READ, LIST, PART, UNKNOWN, READ, SUBMIT]
    assert not any("as shown by" in text or "same as that of" in text for text in shown)
    view = text_of(place.inner.requests[4][-1])
    assert "no longer in context" in view and ", in context" not in view


@pytest.mark.guarantee("visibility")
@pytest.mark.parametrize("model", MODELS)
def test_in_every_format_a_result_that_was_blanked_is_gone(place: Place, model: str) -> None:
    """Also where results have no call ids, or stand in another field."""

    def blanked(messages: list[Message]) -> list[Message]:
        for message in [one for one in messages if "returncode" in one.get("extra", {})][:-1]:
            message["output" if "output" in message else "content"] = BLANK
        return messages

    agent = Forgetful(LedgerModel.wrap(MODELS[model]([[one] for one in STORY])), place.environment, **SETTINGS)
    agent.change = blanked
    agent.run(TASK)
    assert place.environment.ran == [*STORY]
    assert "Ledger" not in str([text_of(message) for message in agent.messages])
    untouched = DefaultAgent(LedgerModel.wrap(MODELS[model]([[one] for one in STORY])), place.environment, **SETTINGS)
    untouched.run(TASK)
    assert "Ledger" in str([text_of(message) for message in untouched.messages])


@pytest.mark.guarantee("visibility")
@pytest.mark.parametrize("change", [blanked_in_place, blanked_copies])
def test_a_reference_whose_target_goes_is_taken_back(place: Place, change: Change) -> None:
    """What was suppressed is asked for again, what was elided is shown whole, before the model has read a reference."""
    place.run(lambda messages: messages if len(messages) < 5 else change(messages), (READ,), (PART,), (LIST,))
    requests = [[text_of(one) for one in request] for request in place.inner.requests]
    assert any(NOT_ANSWERED in text for text in requests[2])
    assert not any("stands above" in text for request in requests for text in request)
    place.run(lambda messages: messages if len(messages) < 7 else change(messages), (READ,), (UNKNOWN,), (READ,))
    shown = text_of(place.inner.requests[3][7])
    assert "class" in shown and "same as that of" not in shown


JSON_TEMPLATE = '{"returncode": {{ output.returncode }}, "output": {{ output.output | tojson }}}'
"""How the agent's configuration for people renders results."""


@pytest.mark.guarantee("visibility")
@pytest.mark.parametrize("again", [READ, "cat warehouse/inventory.py | cat"], ids=["whole", "in part"])
@pytest.mark.parametrize(("model", "template"), [*((one, "") for one in MODELS), ("chat", JSON_TEMPLATE)])
def test_a_resumed_run_takes_back_references_as_the_run_itself_does(
    place: Place, model: str, again: str, template: str
) -> None:
    """The message is what it would have been without Ledger, whoever takes the reference back, copies or not."""
    first = READ if again == READ else "head -n 24 warehouse/inventory.py"
    commands = [[UNKNOWN], [first], [UNKNOWN], [again], [LIST]]

    def agent(wrapped: bool) -> Any:
        inner = MODELS[model](commands)
        if template:
            inner.config.observation_template = template
        return DefaultAgent(LedgerModel.wrap(inner) if wrapped else inner, place.environment, **SETTINGS)

    def told(messages: list[Message]) -> list[str]:
        return [text_of(one) for one in messages if "returncode" in (one.get("extra") or {})]

    plain, governed = agent(wrapped=False), agent(wrapped=True)
    for one in (plain, governed):
        with contextlib.suppress(IndexError):
            one.run(TASK)
    expected, referred = told(plain.messages), told(governed.messages)
    assert "[Ledger: " in referred[3] and referred[:3] == expected[:3]
    target = [at for at, one in enumerate(governed.messages) if "returncode" in (one.get("extra") or {})][1]
    dropped, blanked = (json.loads(json.dumps(governed.messages)) for _ in range(2))
    dropped[target - 1 : target + 1] = []
    blanked[target]["output" if "output" in blanked[target] else "content"] = BLANK
    for saved in (dropped, blanked):
        resumed = LedgerModel.wrap(MODELS[model]([[LIST], [LIST]]))
        for messages in (copy.deepcopy(saved), copy.deepcopy(saved)):
            resumed.query(messages)
            assert told(messages)[-2] == expected[3]
            assert resumed.serialize()["info"]["ledger"]["counts"]["faults"] == 0


@pytest.mark.guarantee("append-only")
def test_copies_of_an_untouched_history_are_the_history(place: Place, journals: Path) -> None:
    """An agent that sends copies is followed as any other: one journal, the same references, each step once."""
    turns = ((READ,), (PART,), (TESTS,), (UNKNOWN,), (TESTS,))
    plain = place.run(lambda messages: messages, *turns)
    copied = place.run(copy.deepcopy, *turns)
    assert copied == plain
    assert ["Ledger" in text for text in copied] == [False, True, False, False, True]
    kept = [read_journal(path.name, path.read_bytes()) for path in journals.glob("*.jsonl")]
    assert [len(run.steps) for run in kept] == [5, 5]


@pytest.mark.guarantee("false-reuse", "visibility")
@pytest.mark.parametrize("change", [dropped, dropped_from_copies])
def test_a_write_that_was_dropped_from_the_history_still_counts(place: Place, change: Change) -> None:
    """The ledger remembers what the messages no longer tell."""

    def without_edit(messages: list[Message]) -> list[Message]:
        if len(messages) < 7:
            return messages
        del messages[4:6]
        return messages if change is dropped else copy.deepcopy(messages)

    shown = place.run(without_edit, (READ,), (EDIT,), (LIST,), (READ,))
    assert place.environment.ran == [READ, EDIT, LIST, READ, SUBMIT]
    assert "< count" in shown[-1]


@pytest.mark.guarantee("false-reuse")
def test_a_resumed_history_proves_nothing(place: Place, tmp_path: Path) -> None:
    """Messages of another process, some of them missing: they are read, and nothing is reused before running."""
    first = Forgetful(
        LedgerModel.wrap(Recording(outputs=[turn(0, READ), turn(1, PART), turn(2, SUBMIT)])),
        place.environment,
        **SETTINGS,
    )
    first.run(TASK)
    saved = json.loads(json.dumps(first.messages[:-2]))
    place.environment.execute({"command": EDIT})
    place.environment.ran.clear()
    RUNS.clear()
    for kept in (saved, [*saved[:2], *saved[4:]]):
        inner = Recording(outputs=[turn(5, READ), turn(6, PART), turn(7, SUBMIT)])
        model = LedgerModel.wrap(inner)
        messages = copy.deepcopy(kept)
        for _ in range(2):
            message = model.query(messages)
            outputs = [place.environment.execute(action) for action in message["extra"]["actions"]]
            rendered = model.format_observation_messages(message, outputs, place.environment.get_template_vars())
            messages += [message, *rendered]
            assert "not run" not in text_of(rendered[0])
    assert place.environment.ran == [READ, PART] * 2
    assert [run.counts.faults for run in RUNS] == [0, 0]


@pytest.mark.guarantee("false-reuse")
def test_two_agents_with_one_model_keep_apart(place: Place) -> None:
    """What one proposed is never answered from what the other has seen."""
    model = LedgerModel.wrap(Recording(outputs=[turn(at, READ) for at in range(6)]))
    variables = place.environment.get_template_vars()
    lists: list[list[Message]] = [[{"role": "user", "content": name}] for name in ("one", "two")]
    for _ in range(3):
        asked = [model.query(messages) for messages in lists]
        for messages, message in zip(lists, asked, strict=True):
            outputs = [place.environment.execute(action) for action in message["extra"]["actions"]]
            rendered = model.format_observation_messages(message, outputs, variables)
            assert "Ledger" not in text_of(rendered[0])
            messages += [message, *rendered]
    assert len(place.environment.ran) == 6


@pytest.mark.guarantee("false-reuse")
@pytest.mark.parametrize("last", ["(sleep 0.1; echo x) & " + SUBMIT, "nohup true & " + SUBMIT])
def test_what_an_ended_run_left_running_ends_the_seal_of_the_next(place: Place, last: str) -> None:
    """The second run of one agent is in the same container, and nobody knows what still writes there."""
    inner = Recording(outputs=[turn(0, READ), turn(1, last), turn(2, READ), turn(3, PART), turn(4, SUBMIT)])
    agent = DefaultAgent(LedgerModel.wrap(inner), place.environment, **SETTINGS)
    agent.run(TASK)
    agent.run(TASK)
    assert place.environment.ran[2:] == [READ, PART, SUBMIT]


@pytest.mark.guarantee("append-only")
@pytest.mark.parametrize("change", CHANGES)
def test_the_journal_of_a_changed_history_is_whole(place: Place, journals: Path, change: Change) -> None:
    """However the messages change, every step stands in it once, and it folds into the ledger that there was."""
    place.run(change, (READ,), (LIST,), (PART, LIST), (EDIT,), (READ,))
    kept = [read_journal(path.name, path.read_bytes()) for path in journals.glob("*.jsonl")]
    assert [(len(run.steps), rebuild(run).mismatch) for run in kept] == [(6, None)]
