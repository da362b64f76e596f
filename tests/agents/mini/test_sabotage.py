"""Every call of our own code fails in turn, while the real mini-swe-agent works under Ledger, and ends as ever.

After a fault Ledger goes on or is off; either way the model is shown what is true: outputs as they came, or references
to such outputs above.
"""

from __future__ import annotations

import functools
import gc
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from execledger.agents.mini.messages import Message, text_of
from execledger.core import compare, govern, inform
from execledger.core.faults import MAX_FAULTS
from execledger.core.ledger import Ledger
from execledger.core.references import NOT_ANSWERED
from execledger.demo.repository import TASK, make_repository
from tests.support.faults.sabotage import CallSite, call_sites, sabotaged

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.default import DefaultAgent
from minisweagent.exceptions import Submitted
from minisweagent.models import test_models
from minisweagent.models.utils import actions_toolcall
from minisweagent.models.utils.cache_control import set_cache_control

from execledger.agents.mini.model import RUNS, LedgerModel
from tests.agents.mini.test_model import Contained, turn

pytestmark = pytest.mark.faults
TEST = "python3 -m unittest -q 2>&1 | tail -1"
"""Its last line, which says nothing of the time it took."""
SUBMIT = ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat patch.txt",)
WORK = (
    ("ls -R warehouse tests", "cat warehouse/inventory.py"),
    ("sed -n '5,20p' warehouse/inventory.py", "grep -n OutOfStock -r warehouse tests"),
    ("cat nowhere.py",),
    ("cat tests/test_inventory.py",),
    (TEST,),
    (TEST,),
    ("nl -ba warehouse/inventory.py | sed -n '1,28p'",),
    ("cat > warehouse/taking.py <<'PY'\nclass Taking:\n    def take(self):\n        return 1\nPY\n",),
    ("sed -i '24s/<= count/< count/' warehouse/inventory.py", "cat tests/test_inventory.py"),
    ("git diff > patch.txt && cat patch.txt",),
    ("sed -n '22,28p' warehouse/inventory.py", "cat warehouse/inventory.py"),
    ("cat warehouse/inventory.py", "cat warehouse/taking.py", "cat warehouse/inventory.py"),
)
"""Work in which everything happens: references before and after running, a remark, writes, a failure, batches."""
TURNS = (("touch patch.txt",), SUBMIT, *WORK, SUBMIT)
"""Two runs: one that has hardly begun when it ends, and one with all the work, so that faults come early and late."""
SETTINGS: tuple[dict[str, Any], ...] = ({}, {"placement": "inside"}, {"preset": "paper"}, {"shadow": True})
"""Further settings are played for the call sites that only they reach."""
VIEW = "<execution_state>"
NOT_RUN = ("[Ledger: not run", NOT_ANSWERED)
SAMPLE = 48
"""Outside the adapter, one call site in so many fails, unless everything is asked for."""
LAST_RESORTS = ("_fault", "_unanswered")
"""What an entry point calls once something has failed already: above these there is nothing."""


class Marking(test_models.DeterministicToolcallModel):  # type: ignore[misc]
    """A scripted model that marks requests for a prompt cache, as the agent's real models do, and keeps them."""

    class Config(test_models.DeterministicToolcallModelConfig):  # type: ignore[misc]
        set_cache_control: str | None = "default_end"

    def __init__(self, **kwargs: Any) -> None:
        self.config = self.Config(**kwargs)
        self.current_index = -1
        self.requests: list[list[Message]] = []

    def query(self, messages: list[Message], **kwargs: Any) -> Message:
        bare = [{key: value for key, value in message.items() if key != "extra"} for message in messages]
        self.requests.append(set_cache_control(bare, mode=self.config.set_cache_control))
        message: Message = super().query(messages, **kwargs)
        return message


class Played(Contained):
    """A container in which each call of the script runs once, and is played back from then on."""

    def __init__(self, played: dict[str, Message | Submitted], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.played = played

    def execute(self, action: Message, cwd: str = "") -> Message:
        call = action["tool_call_id"]
        if call in self.played:
            self.ran.append(action["command"])
        else:
            try:
                self.played[call] = super().execute(action, cwd)
            except Submitted as end:
                self.played[call] = end
        result = self.played[call]
        if isinstance(result, Submitted):
            raise Submitted(*result.messages)
        return dict(result)

    def get_template_vars(self, **kwargs: Any) -> Message:
        return super().get_template_vars(mode="yolo")


class Outcome(NamedTuple):
    """What came of both runs."""

    ends: list[Message]
    histories: list[list[Message]]
    ran: list[str]
    requests: list[list[Message]]
    told: list[Message]
    faults: int

    @property
    def texts(self) -> list[str]:
        """What each message says."""
        return [text_of(message) for history in self.histories for message in history]

    @property
    def viewed(self) -> list[bool]:
        """Which requests had a view."""
        return [VIEW in text_of(request[-1]) for request in self.requests]

    def strays(self, clean: Outcome) -> bool:
        """The model was shown something else than in the clean runs."""
        return (self.texts, self.viewed) != (clean.texts, clean.viewed)


class Stage:
    """Where the same script is played again and again."""

    def __init__(self, folder: Path, journals: Path) -> None:
        make_repository(folder)
        self._folder = folder
        self._journals = journals
        self._plays = 0
        self._played: dict[str, Message | Submitted] = {}
        self.plain = self.play(wrapped=False)

    def play(self, wrapped: bool = True, **options: Any) -> Outcome:
        """Both runs, with one model.

        Their journals have a folder of their own: what a fault left locked in an earlier one changes no call in this.
        """
        RUNS.clear()
        self._plays += 1
        os.environ["EXECLEDGER_JOURNAL"] = str(self._journals / str(self._plays))
        inner = Marking(outputs=[turn(number, *commands) for number, commands in enumerate(TURNS)])
        environment = Played(self._played, cwd=str(self._folder))
        model = LedgerModel.wrap(inner, **{"cadence": "every"} | options) if wrapped else inner
        settings = {"system_template": "s", "instance_template": "{{task}}", "step_limit": 40, "cost_limit": 100.0}
        agent = DefaultAgent(model, environment, **settings)
        ends, histories, told = [], [], []
        for _ in range(2):
            ends.append(agent.run(TASK))
            histories.append(agent.messages)
            told.append(agent.serialize()["info"].get("ledger", {}))
        # The journal ends with the model, and the model when the collector comes by.
        del agent, model
        gc.collect()
        faults = sum(run.counts.faults for run in RUNS)
        return Outcome(ends, histories, environment.ran, inner.requests, told, faults)

    def complaints(self, sites: dict[CallSite, list[int]], **options: Any) -> Iterator[str]:
        """What goes wrong when these calls fail, one at a time."""
        clean = self.play(**options)
        yield from (f"clean: {wrong}" for wrong in self.changed(clean, clean))
        for site, occurrence in ((site, occurrence) for site, times in sites.items() for occurrence in times):
            try:
                with sabotaged(site, occurrence) as trap:
                    run = self.play(**options)
            except Exception as error:
                yield f"{site}, time {occurrence}: the run ends with {error!r}"
                continue
            if not trap.sprung:
                yield f"{site}, time {occurrence}: it was not reached again"
            yield from (f"{site}, time {occurrence}: {wrong}" for wrong in self.changed(run, clean))

    def changed(self, run: Outcome, clean: Outcome) -> Iterator[str]:
        """What a fault of ours changed that it must not change."""
        if run.ends != self.plain.ends:
            yield f"the run ends otherwise: {run.ends}"
        if [len(history) for history in run.histories] != [len(history) for history in self.plain.histories]:
            yield "there are more or fewer messages"
            return
        if run.ran != executed(run):
            yield f"these commands ran: {run.ran}"
        yield from self.misleading(run)
        active, missing = run.told[-1].get("active"), run.viewed.count(False) - clean.viewed.count(False)
        if missing > 1 if active else run.viewed != sorted(run.viewed, reverse=True):
            yield f"views are missing, or came back: {run.viewed}"
        if run.faults > clean.faults + 1 or (run.strays(clean) and not run.faults):
            yield f"{run.faults} faults are counted, and the trajectory says {run.told[-1]}"
        yield from misplaced(run)

    def misleading(self, run: Outcome) -> Iterator[str]:
        """What the model was shown in place of an output, or of a part of it, and can't find above."""
        for history, plain in zip(run.histories, self.plain.histories, strict=True):
            above: dict[str, set[str]] = {}
            for message, unharmed in zip(history, plain, strict=True):
                text, true = text_of(message), text_of(unharmed)
                call = message.get("tool_call_id")
                if text == true or text.startswith(f"{true}\n[Ledger: "):
                    above |= {call: set(self._lines(call))} if call else {}
                elif NOT_ANSWERED not in text and (call is None or not self._above(call, text, above)):
                    yield f"the model is shown {text!r}"

    def _above(self, call: str, text: str, above: dict[str, set[str]]) -> bool:
        """The lines of an output are among those that its references name, or shown beside these."""
        named = re.findall(r"`([^`]+)`, \d+ commands? ago", text)
        own = {line for line in self._lines(call) if line in text.splitlines()}
        shown = {line for other, lines in above.items() if command_of(other) in named for line in lines}
        above[call] = own
        return bool(named) and (shown | own).issuperset(self._lines(call))

    def _lines(self, call: str) -> list[str]:
        result = self._played[call]
        assert not isinstance(result, Submitted), "what ends a run has no result"
        return [re.sub(r"^ *\d+\t", "", line) for line in result["output"].splitlines()]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage with journals of its own, where garbage is collected at the end of a run and at no other time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXECLEDGER_JOURNAL", "")
        # The agent compiles its template for every result anew, which takes half of the time of a run.
        patch.setattr(actions_toolcall, "Template", functools.cache(actions_toolcall.Template))
        gc.collect()
        gc.freeze()
        gc.disable()
        yield Stage(tmp_path_factory.mktemp("stage"), tmp_path_factory.mktemp("journals"))
        gc.enable()
        gc.unfreeze()


def command_of(call: str) -> str:
    """The command of a call."""
    turn, at = map(int, call.split("."))
    return TURNS[turn][at]


def executed(run: Outcome) -> list[str]:
    """The commands of the script, without those that a reference or the fixed text answered."""
    tools = [message for history in run.histories for message in history if message["role"] == "tool"]
    spared = {tool["tool_call_id"] for tool in tools if any(mark in text_of(tool) for mark in NOT_RUN)}
    return [
        command
        for number, commands in enumerate(TURNS)
        for at, command in enumerate(commands)
        if f"{number}.{at}" not in spared
    ]


def misplaced(run: Outcome) -> Iterator[str]:
    """Requests that are not the history so far with at most a view behind it, or not marked where that history ends."""
    histories = [
        history[:at] for history in run.histories for at, one in enumerate(history) if one["role"] == "assistant"
    ]
    for request, history in zip(run.requests, histories, strict=True):
        bare = [text_of(message).partition(VIEW)[0].removesuffix("\n\n") for message in request]
        if bare[: len(history)] != [text_of(message) for message in history] or any(bare[len(history) :]):
            yield f"request {len(history)} is not the history"
        last = request[len(history) - 1]
        # A tool's message is marked as a whole: with a view in it, the one before it is the last that stays.
        end = len(history) - (2 if VIEW in text_of(last) and last["role"] == "tool" else 1)
        marked = [at for at, message in enumerate(request) if "cache_control" in str(message)]
        if marked != [end]:
            yield f"request {len(history)} is marked elsewhere: {marked}"


def sample(sites: Iterable[CallSite]) -> list[CallSite]:
    """The call sites of the adapter, and some of the others."""
    adapter = {site: None for site in sites if "agents" in Path(site.caller.co_filename).parts}
    return [*adapter, *[site for site in sites if site not in adapter][::SAMPLE]]


def none_of(complaints: Iterable[str]) -> None:
    """Fail with all complaints, one to a line."""
    if found := list(complaints):
        pytest.fail("\n".join(found), pytrace=False)


def test_everything_happens_in_the_clean_run(stage: Stage) -> None:
    """The script leads to references before and after running, to a remark, and to a view in every request."""
    clean = stage.play()
    assert (all(clean.viewed), clean.faults, len(RUNS)) == (True, 0, 2)
    counts = RUNS[-1].counts
    assert (counts.proposed, min(counts.suppressed, counts.elided, counts.nudged) > 0) == (sum(map(len, WORK)), True)


@pytest.mark.guarantee("fail-open", "append-only")
@pytest.mark.parametrize("everything", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_fault_of_ours_never_ends_or_changes_the_run(stage: Stage, everything: bool) -> None:
    """Each call site fails at its first and last call, or also in the middle: the fault is counted, the run goes on."""
    known: set[CallSite] = set()
    for options in SETTINGS:
        stage.play(**options)
        reached = call_sites(lambda options=options: stage.play(**options))  # type: ignore[misc]
        new = [site for site in reached if site not in known]
        known.update(new)
        times = {site: {1, reached[site], (1 + reached[site]) // 2 if everything else 1} for site in new}
        none_of(
            stage.complaints({site: sorted(times[site]) for site in (new if everything else sample(new))}, **options)
        )


@pytest.mark.parametrize("place", ["_followed", "_informed", "_governed", "_answered", "_told"])
def test_a_second_fault_while_the_first_is_dealt_with_changes_nothing_either(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Whatever is called only because something has failed may fail as well."""
    ordinary = call_sites(stage.play)
    whole = getattr(LedgerModel, place)

    def fail_late(self: LedgerModel, *args: Any) -> Any:
        if len(self.inner.requests) == len(TURNS) - 1:
            raise RuntimeError("planted")
        return whole(self, *args)

    monkeypatch.setattr(LedgerModel, place, fail_late)
    rescue = [site for site in call_sites(stage.play) if site not in ordinary]
    assert rescue
    none_of(stage.complaints({site: [1] for site in rescue if site.callee.co_name not in LAST_RESORTS}))


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize(("module", "name"), [(govern, "decide"), (compare, "judge"), (inform, "render")])
@pytest.mark.parametrize("times", [1, MAX_FAULTS])
def test_a_fault_costs_one_decision_and_many_end_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, times: int
) -> None:
    """The first decisions of the second run fail: Ledger intervenes and informs behind them, unless they were many."""
    whole, failed = getattr(module, name), list[object]()

    def fail(ledger: Ledger, *args: Any) -> Any:
        if len(ledger) > 0 and len(RUNS) > 1 and len(failed) < times:
            failed.append(args)
            raise RuntimeError("planted")
        return whole(ledger, *args)

    clean = stage.play()
    monkeypatch.setattr(module, name, fail)
    run = stage.play()
    assert list(stage.misleading(run)) == []
    active = times < MAX_FAULTS
    assert (run.faults, run.told[-1]["active"], run.viewed[-1]) == (times, active, active)
    assert any("[Ledger: " in text for text in run.texts[-8:]) == active
    assert run.texts != clean.texts or (name == "render" and active)


def test_a_fault_changes_nothing_where_ledger_is_off(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The little that is called at all with ``EXECLEDGER=off`` may fail."""
    monkeypatch.setenv("EXECLEDGER", "off")
    reached = call_sites(stage.play)
    assert {site.callee.co_name for site in reached} == {"_followed", "is_off", "unknown_word", "_word"}
    none_of(stage.complaints({site: [1] for site in reached}))


def test_nothing_of_ours_is_called_before_the_first_request() -> None:
    """A model can be made, and a message formatted, with nothing that could fail."""

    def make() -> None:
        inner = {"inner_model_class": "minisweagent.models.test_models.DeterministicToolcallModel"}
        LedgerModel(ledger=inner, model_name="scripted", outputs=[]).format_message(role="user", content="")

    assert call_sites(make) == {}


def test_the_cache_marker_stays_in_the_models_own_configuration(tmp_path: Path) -> None:
    """It is ours to set while the model is asked; in the trajectory and behind the run it is the user's."""
    inner = Marking(outputs=[turn(0, "ls"), turn(1, "touch patch.txt"), turn(2, *SUBMIT)])
    environment = Contained(cwd=str(tmp_path))
    model = LedgerModel.wrap(inner, cadence="every")
    agent = DefaultAgent(model, environment, system_template="s", instance_template="t")
    agent.run(TASK)
    config = agent.serialize()["info"]["config"]["model"]
    assert (config["set_cache_control"], inner.config.set_cache_control) == ("default_end", "default_end")
    assert [VIEW in text_of(request[-1]) for request in inner.requests] == [True] * 3
