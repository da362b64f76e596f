"""A fault at every call that a look makes: the real mini-swe-agent's run is what it is without Ledger."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.faults.sabotage import CallSite, Sabotage, call_sites, sabotaged

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.utils import actions_toolcall

from execledger.agents.mini import witness as mini_witness
from execledger.agents.mini.messages import text_of
from execledger.agents.mini.model import RUNS, LedgerModel
from tests.agents.mini.test_model import SUBMIT, Contained, Recording, turn

pytestmark = pytest.mark.faults
TEXT = "".join(f"value_{line} = {line}\n" for line in range(1, 31))
COMMANDS = (
    "sed -n '5,20p' a.py",
    "cat b.py",
    "sed -i 1d a.py; echo edited",
    "python3 -S -c 'print(1)'",
    "sed -i 7d a.py && sed -i '30i more' b.py",
    "rm b.py",
    "grep -c value a.py",
)
"""Work in which lines are current, moved, changed and gone; no output is shown twice, so none is replaced."""
NUMBERS = itertools.count(1)
"""Numbers of plays."""
SAID = ("(current)", "now at", "(changed)", "(gone)")


class Sealed(Contained):
    """A container that takes a time limit, as the agent's own do, and tells probes from the agent's commands."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.probes = 0

    def execute(self, action: Any, cwd: str = "", *, timeout: int | None = None) -> Any:
        if timeout is None:
            return super().execute(action, cwd)
        self.probes += 1
        return LocalEnvironment.execute(self, action, cwd, timeout=timeout)


class Play:
    """One run of the agent, in files of its own."""

    def __init__(self, folder: Path, environment: type[LocalEnvironment], *, wrapped: bool, witness: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in ("a.py", "b.py"):
            (folder / name).write_text(TEXT)
        RUNS.clear()
        # In a folder of an earlier play the name of the journal would be taken, and the lock may still be held.
        os.environ["EXECLEDGER_JOURNAL"] = str(folder.with_name(f"journals-{next(NUMBERS)}"))
        inner = Recording(outputs=[turn(number, command) for number, command in enumerate([*COMMANDS, SUBMIT])])
        place = environment(cwd=str(folder))
        model = LedgerModel.wrap(inner, env=place, witness=witness, cadence="every") if wrapped else inner
        settings = {"system_template": "s", "instance_template": "{{task}}", "step_limit": 40, "cost_limit": 100.0}
        agent = DefaultAgent(model, place, **settings)
        self.end = agent.run("Mend it.")
        self.texts = [(one.get("role"), text_of(one)) for one in agent.messages]
        self.files = {path.name: path.read_text() for path in sorted(folder.iterdir())}
        self.calls = (agent.n_calls, len(inner.requests))
        self.views = [text_of(request[-1]) for request in inner.requests] if wrapped else []
        # The journal ends with the model, which is part of a cycle: not at some time within another run.
        del agent, model, inner
        gc.collect()

    @property
    def outcome(self) -> object:
        """All that must not depend on Ledger."""
        return self.end, self.texts, self.files, self.calls


@pytest.fixture
def journals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals, in a folder for each play; the digests in them have the same key in each play.

    With a random key, a digest sometimes contains a marker of a secret, and the event is redacted, by other calls.
    """
    # Put back at the end: each play sets its own.
    monkeypatch.setenv("EXECLEDGER_JOURNAL", "")
    for module in ("witness", "probe"):
        monkeypatch.setattr(f"execledger.session.{module}.new_key", lambda: bytes(32))


def looking(place: Path, kind: type[LocalEnvironment]) -> dict[CallSite, int]:
    """The call sites that are reached with a witness and not without."""
    for witness in ("auto", "off"):
        Play(place, kind, wrapped=True, witness=witness)
    without = call_sites(lambda: (Play(place, kind, wrapped=True, witness="off"), gc.collect()))
    # A run ends when its model is collected: at no chance moment.
    gc.collect()
    reached = call_sites(lambda: (Play(place, kind, wrapped=True, witness="auto"), gc.collect()))
    return {site: times for site, times in reached.items() if site not in without}


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("kind", [LocalEnvironment, Sealed], ids=["local", "probe"])
def test_a_fault_at_any_call_of_a_look_changes_nothing(
    tmp_path: Path, journals: None, full: bool, figure: Callable[[str], None], kind: Any
) -> None:
    """One in four fails at its first call, or all, also at a middle and the last: messages, files, counts, end stay."""
    place = tmp_path / "work"
    plain = Play(place, kind, wrapped=False, witness="off")
    clean = Play(place, kind, wrapped=True, witness="auto")
    assert clean.outcome == plain.outcome
    assert all(any(words in view for view in clean.views) for words in SAID), "the script meets what it is about"
    sites = looking(place, kind)
    touched = {os.path.basename(site.callee.co_filename) for site in sites}
    assert {"witness.py", "session.py", "ledger.py", "inform.py"} <= touched
    assert ("probe.py" in touched) == (kind is Sealed)
    planted = 0
    for site, times in [*sites.items()][:: 1 if full else SAMPLE]:
        for occurrence in {1, (times + 1) // 2, times} if full else {1}:
            planted += 1
            with sabotaged(site, occurrence) as trap:
                run = Play(place, kind, wrapped=True, witness="auto")
            where = f"{site}, time {occurrence}"
            assert trap.sprung, f"{where}: it was not reached again"
            assert run.outcome == plain.outcome, where
            assert sum(one.counts.faults for one in RUNS) <= 2, where
            assert len(run.views) == len(clean.views) and sum(not one for one in run.views) <= 1, where
    figure(f"{planted} faults in looks ({'a probe' if kind is Sealed else 'local files'}): 0 changed runs")


SAMPLE = 4
"""One call site in so many fails, unless the long form is asked for."""


@pytest.fixture(scope="module", autouse=True)
def _quick_plays() -> Iterator[None]:
    """What is there already is no garbage, and the agent's template for results is compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(actions_toolcall, "Template", functools.cache(actions_toolcall.Template))
        gc.collect()
        gc.freeze()
        yield
        gc.unfreeze()


class Ended(Sabotage):
    """A fault of a kind that the agent itself uses to end a run."""


@pytest.mark.parametrize("kind", [LocalEnvironment, Sealed], ids=["local", "probe"])
@pytest.mark.parametrize("name", ["look", "noted_environment", "witness_of", "__call__"])
def test_a_witness_that_always_fails_changes_nothing(
    tmp_path: Path, journals: None, monkeypatch: pytest.MonkeyPatch, kind: Any, name: str
) -> None:
    """However often: its part of the run is over, and the agent's goes on."""

    def fail(*_: object, **__: object) -> Any:
        raise Ended("planted")

    place = tmp_path / "work"
    plain = Play(place, kind, wrapped=False, witness="off")
    if name == "look":
        monkeypatch.setattr("execledger.session.witness.LocalWitness.look", fail)
        monkeypatch.setattr("execledger.session.probe.ProbeWitness.look", fail)
    elif name == "__call__":
        monkeypatch.setattr(mini_witness._Executing, name, fail)
    else:
        monkeypatch.setattr(f"execledger.agents.mini.model.{name}", fail)
    assert Play(place, kind, wrapped=True, witness="auto").outcome == plain.outcome
