"""The real interactive agent under Ledger: what a person at the screen is asked, shown, and may interrupt."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from execledger.agents.formats import read_run
from execledger.agents.mini.follower import Follower
from execledger.agents.mini.messages import Message, text_of
from execledger.core.policy import Policy
from execledger.demo.repository import TASK, make_repository
from execledger.journal.reader import read_journal, rebuild
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.interactive import InteractiveAgent, prompt_session
from minisweagent.models import test_models

from execledger.agents.mini.model import LedgerModel
from tests.agents.mini.test_model import SUBMIT, Contained, turn
from tests.support.partial_references import expanded

pytestmark = pytest.mark.clients

READ = "cat warehouse/inventory.py"
PART = "sed -n '5,20p' warehouse/inventory.py"
LIST = "ls tests"
EDIT = "sed -i '24s/<= count/< count/' warehouse/inventory.py"
ASKED = "Execute {} action(s)?"
STOP = KeyboardInterrupt


class Interruptible(Contained):
    """A container in which a command may be stopped by the person: before it does anything, or behind what it did."""

    def __init__(self, before: Sequence[str] = (), behind: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.before, self.behind = list(before), list(behind)

    def execute(self, action: Message, cwd: str = "") -> Message:
        command = action["command"]
        if command in self.before:
            self.before.remove(command)
            raise STOP
        output = super().execute(action, cwd)
        if command in self.behind:
            self.behind.remove(command)
            raise STOP
        return output


def chat(turns: Sequence[Sequence[str]]) -> Any:
    """A scripted model with tool calls."""
    return test_models.DeterministicToolcallModel(outputs=[turn(at, *one) for at, one in enumerate(turns)])


def responses(turns: Sequence[Sequence[str]]) -> Any:
    """A scripted model of the Responses API."""
    calls = [[{"command": one, "tool_call_id": f"{at}.{n}"} for n, one in enumerate(t)] for at, t in enumerate(turns)]
    made = [test_models.make_response_api_output("", actions) for actions in calls]
    return test_models.DeterministicResponseAPIToolcallModel(outputs=made)


def text(turns: Sequence[Sequence[str]]) -> Any:
    """A scripted model that writes one command into its text."""
    made = [test_models.make_output("", [{"command": command}]) for one in turns for command in one]
    return test_models.DeterministicModel(outputs=made)


MODELS: dict[str, Callable[[Sequence[Sequence[str]]], Any]] = {"chat": chat, "responses": responses, "text": text}


class Talk(NamedTuple):
    """A run with a person at the screen."""

    agent: Any
    ran: list[str]
    unused: list[str]
    screen: str
    notes: str

    @property
    def texts(self) -> list[tuple[str | None, str]]:
        """What each message says."""
        return [(one.get("role") or one.get("type"), text_of(one)) for one in self.agent.messages]

    @property
    def ledger(self) -> dict[str, Any]:
        """What the trajectory says that Ledger did."""
        found: dict[str, Any] = self.agent.model.serialize()["info"]["ledger"]
        return found

    @property
    def calls(self) -> int:
        """How many calls the trajectory has, as `replay` and `eval report` read it."""
        return len(read_run("a.traj.json", json.dumps(self.agent.serialize()).encode()).steps)

    @property
    def results(self) -> list[str]:
        """What the model was shown for each action."""
        return [text_of(one) for one in self.agent.messages if "returncode" in one.get("extra", {})]

    def asked(self, count: int) -> int:
        """How often the person was asked about so many actions."""
        return self.screen.count(ASKED.format(count))


class Desk:
    """Where runs are started, with what the person will type."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys

    def run(
        self,
        *turns: Sequence[str],
        typed: Sequence[str] = (),
        wrapped: bool = True,
        mode: str = "confirm",
        model: str = "chat",
        asking: Callable[[Any], None] = lambda _: None,
        confirm_exit: bool = False,
        **stops: Sequence[str],
    ) -> Talk:
        """Run the real interactive agent over scripted turns; ``asking`` may change its model before it starts."""
        repository = self._folder / ("ledger" if wrapped else "plain")
        make_repository(repository)
        answers = list(typed)
        self._monkeypatch.setattr(prompt_session, "prompt", lambda *_, **__: answers.pop(0))
        inner = MODELS[model]([*turns, (SUBMIT,)])
        asking(inner)
        environment = Interruptible(cwd=str(repository), **stops)
        used = LedgerModel.wrap(inner, journal=str(self._folder / "journals")) if wrapped else inner
        settings = {"system_template": "s", "instance_template": "{{task}}", "cost_limit": 0.0}
        agent = InteractiveAgent(used, environment, mode=mode, confirm_exit=confirm_exit, **settings)
        self._capsys.readouterr()
        agent.run(TASK)
        return Talk(agent, environment.ran, answers, *self._capsys.readouterr())


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A place to start runs."""
    return Desk(tmp_path, monkeypatch, capsys)


def kind(text: str) -> str:
    """What a result is: the output of a command, a reference that stands for one, or that there is none."""
    if "action was not executed" in text:
        return "not run"
    return "reused" if "[Ledger: not run, " in text else "result"


def check_in_step(talk: Talk) -> None:
    """The saved messages alone, and the journal alone, rebuild the state that the run ended with, without a fault."""
    assert talk.ledger["counts"]["faults"] == 0
    session = Session(Policy(), TASK, Chronicle(None, "", print))
    saved = json.loads(json.dumps(talk.agent.messages))
    Follower(session.record, lambda: len(session.ledger), lambda: None).follow(saved)
    journal = Path(talk.ledger["journal"])
    rebuilt = rebuild(read_journal(journal.name, journal.read_bytes()))
    assert rebuilt.mismatch is None
    assert (session.ledger.digest, rebuilt.ledger.digest) == (talk.ledger["state"], talk.ledger["state"])
    # A text-based model keeps no line for an action that was interrupted, which the journal has.
    if any(one.get("role") == "tool" or one.get("type") == "function_call_output" for one in saved):
        assert talk.calls == len(rebuilt.ledger)


def test_a_suppressed_action_costs_no_prompt(desk: Desk) -> None:
    """In confirm mode it is neither asked about nor run, and one line on the screen says that it was reused."""
    talk = desk.run((READ,), (PART,), typed=["", ""])
    assert (talk.ran, talk.unused, talk.asked(1)) == ([READ, SUBMIT], [], 2)
    assert talk.notes.splitlines() == [f"Ledger: {PART}: reused before running, its output is shown above"]
    check_in_step(talk)


def test_only_the_other_action_of_a_step_is_asked_about(desk: Desk) -> None:
    """Of two actions of which one is suppressed, the person sees a question about one."""
    talk = desk.run((READ,), (PART, LIST), typed=["", "", ""])
    assert (talk.ran, talk.unused, talk.asked(1), talk.asked(2)) == ([READ, LIST, SUBMIT], [], 3, 0)
    assert [kind(text) for text in talk.results] == ["result", "reused", "result", "not run"]
    assert "test_inventory.py" in talk.results[2]
    check_in_step(talk)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("typed", [["", "not that", "", ""], ["", "/u", "/c", "", ""]], ids=["comment", "human mode"])
def test_rejecting_works_as_without_ledger(desk: Desk, model: str, typed: list[str]) -> None:
    """The same messages, commands and prompts, and as many calls; nothing is taken for done."""
    turns = ((READ,), (EDIT,), (LIST,))
    plain = desk.run(*turns, typed=typed, model=model, wrapped=False)
    talk = desk.run(*turns, typed=typed, model=model)
    assert (talk.texts, talk.ran, talk.unused) == (plain.texts, plain.ran, plain.unused)
    assert (talk.ran, talk.ledger["counts"]["proposed"]) == ([READ, LIST, SUBMIT], 2)
    assert (plain.calls, talk.calls) == (2, 2)
    check_in_step(talk)


@pytest.mark.parametrize("typed", [["a comment", "", ""], ["/u", "/y"]], ids=["comment", "human mode"])
def test_rejecting_the_rest_of_a_step_leaves_its_reference(desk: Desk, typed: list[str]) -> None:
    """The suppressed action of a rejected step keeps its answer, and every call is answered."""
    talk = desk.run((READ,), (PART, EDIT, LIST), (PART,), typed=["", *typed])
    assert (talk.ran, talk.unused) == ([READ, PART, SUBMIT], [])
    assert [kind(text) for text in talk.results] == ["result", "reused", "not run", "not run", "result", "not run"]
    check_in_step(talk)


@pytest.mark.parametrize("model", MODELS)
def test_yolo_asks_nothing(desk: Desk, model: str) -> None:
    """Commands run or are suppressed without a question, and what was reused is said on the screen."""
    talk = desk.run((READ,), (PART,), (LIST,), mode="yolo", model=model)
    assert (talk.ran, talk.asked(1)) == ([READ, LIST, SUBMIT], 0)
    assert talk.notes.splitlines() == [f"Ledger: {PART}: reused before running, its output is shown above"]
    check_in_step(talk)


@pytest.mark.parametrize("model", MODELS)
def test_a_persons_own_commands_run_and_count(desk: Desk, model: str) -> None:
    """They are never governed, what they change is known, and what they showed may be referred to."""
    talk = desk.run((PART,), (LIST,), typed=[READ, EDIT, READ, "/y"], mode="human", model=model)
    assert (talk.ran, talk.unused) == ([READ, EDIT, READ, LIST, SUBMIT], [])
    assert [kind(text) for text in talk.results][:5] == ["result", "result", "result", "reused", "result"]
    assert "< count" in talk.results[2]
    check_in_step(talk)


def test_the_last_command_of_a_run_may_be_a_persons(desk: Desk) -> None:
    """It is in the ledger, although the model was never asked again."""
    talk = desk.run((READ,), (EDIT,), typed=["", "/u", LIST, SUBMIT])
    assert (talk.ran, talk.unused) == ([READ, LIST, SUBMIT], [])
    assert talk.ledger["counts"]["proposed"] == 2
    check_in_step(talk)


@pytest.mark.parametrize("model", MODELS)
def test_a_new_task_goes_on_with_the_same_ledger(desk: Desk, model: str) -> None:
    """What was seen before the submission is still known behind it."""
    typed = ["And now the rest", ""]
    talk = desk.run((READ,), (SUBMIT,), (PART,), typed=typed, mode="yolo", model=model, confirm_exit=True)
    assert (talk.ran, talk.unused) == ([READ, SUBMIT, SUBMIT], [])
    check_in_step(talk)


@pytest.mark.parametrize("model", MODELS)
def test_an_action_that_was_interrupted_may_have_done_anything(desk: Desk, model: str) -> None:
    """An edit took place, but its result was never seen: what was read before is read again, and its change shown."""
    turns, stops = ((READ,), (EDIT,), (READ,)), [EDIT]
    plain = desk.run(*turns, typed=["wait"], mode="yolo", model=model, behind=stops, wrapped=False)
    talk = desk.run(*turns, typed=["wait"], mode="yolo", model=model, behind=stops)
    before = next(text for _, text in plain.texts if "<output>" in text).partition("<output>\n")[2]
    seen = [(role, expanded(text, before)) for role, text in talk.texts]
    assert (seen, talk.ran) == (plain.texts, [READ, EDIT, READ, SUBMIT])
    assert [("< count" in text) for text in talk.results if kind(text) == "result"] == [False, True]
    assert talk.ledger["counts"]["proposed"] == 3
    check_in_step(talk)


@pytest.mark.parametrize("model", MODELS)
def test_an_interruption_between_two_actions_keeps_the_first(desk: Desk, model: str) -> None:
    """The first result stands and may be referred to; nothing claims a result for the second, or that it is over."""
    turns, stops = ((READ, LIST), (LIST,), (PART,)), [LIST]
    plain = desk.run(*turns, typed=["wait"], mode="yolo", model=model, before=stops, wrapped=False)
    talk = desk.run(*turns, typed=["wait"], mode="yolo", model=model, before=stops)
    assert talk.ran == plain.ran == [READ, LIST, PART, SUBMIT][-len(talk.ran) :]
    (elided,) = [at for at, (ours, theirs) in enumerate(zip(talk.texts, plain.texts, strict=True)) if ours != theirs]
    assert "[Ledger: output omitted. " in talk.texts[elided][1]
    check_in_step(talk)


def test_an_interrupted_step_still_answers_what_was_suppressed(desk: Desk) -> None:
    """References and results keep their places among calls that did not run."""
    talk = desk.run((READ,), (LIST, PART, "pwd", "ls"), typed=["wait"], mode="yolo", before=[LIST])
    expected = ["result", "not run", "reused", "not run", "not run", "not run"]
    assert [kind(text) for text in talk.results] == expected
    check_in_step(talk)


@pytest.mark.parametrize("model", MODELS)
def test_an_interrupted_call_of_the_model_is_asked_again(desk: Desk, model: str) -> None:
    """It proposed nothing, so nothing is missing behind it."""
    turns = ((READ,), (PART,), (LIST,))
    plain = desk.run(*turns, typed=["wait"], mode="yolo", model=model, wrapped=False, asking=interrupt_once)
    talk = desk.run(*turns, typed=["wait"], mode="yolo", model=model, asking=interrupt_once)
    assert (len(talk.texts), talk.ran) == (len(plain.texts), [READ, LIST, SUBMIT])
    assert talk.texts[4] == plain.texts[4] == ("user", "Interrupted by user: wait")
    check_in_step(talk)


def interrupt_once(model: Any) -> None:
    """The person stops a model's second call while it waits."""
    answer, calls = model.query, iter((False, True))

    def query(*args: Any, **kwargs: Any) -> Message:
        if next(calls, False):
            raise STOP
        message: Message = answer(*args, **kwargs)
        return message

    model.query = query


@pytest.mark.faults
@pytest.mark.parametrize("place", ["_informed", "_governed", "_followed", "_answered", "_recorded"])
def test_an_interruption_of_our_own_work_is_the_agents(desk: Desk, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """It reaches the agent as it would without us; where steps were being taken in, nothing is claimed any more."""
    calls, work = iter((False, True)), getattr(LedgerModel, place)

    def stopped(self: LedgerModel, *args: Any) -> Any:
        if next(calls, False):
            raise STOP
        return work(self, *args)

    monkeypatch.setattr(LedgerModel, place, stopped)
    talk = desk.run((READ,), (LIST,), (READ,), (READ,), typed=["wait"], mode="yolo")
    assert talk.agent.messages[-1]["extra"]["exit_status"] == "Submitted"
    assert ("user", "Interrupted by user: wait") in talk.texts
    decides = place in ("_informed", "_governed")
    assert (talk.ledger["active"], "reused" in map(kind, talk.results)) == (decides, decides)
    assert talk.ran.count(READ) >= 2
