"""What the state view says under the real mini-swe-agent, where the files of its environment can be looked at."""

from __future__ import annotations

import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest

from execledger.journal.reader import JournalRun, read_journal, rebuild
from execledger.session.probe import ProbeWitness
from execledger.session.witness import LocalWitness

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment

from execledger.agents.mini.messages import text_of
from execledger.agents.mini.model import LedgerModel
from execledger.agents.mini.witness import note_environments, noted_environment, witness_of
from tests.agents.mini.test_model import SUBMIT, Recording, turn

TEXT = "".join(f"value_{line} = {line}\n" for line in range(1, 31))


@pytest.fixture(autouse=True)
def journals(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for journals."""
    folder = tmp_path_factory.mktemp("journals")
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(folder))
    return folder


class Interfering(Recording):
    """A scripted model beside which somebody else writes: what is done before each call is given."""

    meanwhile: dict[int, Any]

    def query(self, messages: Any, **kwargs: Any) -> Any:
        message = super().query(messages, **kwargs)
        self.meanwhile.get(len(self.requests), lambda: None)()
        return message


def run(folder: Path, *commands: str, meanwhile: dict[int, Any] | None = None, **options: Any) -> list[str]:
    """The line about the file in each state view; "" where there is none."""
    (folder / "a.py").write_text(TEXT)
    inner = Interfering(outputs=[turn(number, command) for number, command in enumerate([*commands, SUBMIT])])
    inner.meanwhile = meanwhile or {}
    environment = LocalEnvironment(cwd=str(folder))
    model = LedgerModel.wrap(inner, env=environment, **{"cadence": "every"} | options)
    settings = {"system_template": "s", "instance_template": "{{task}}", "step_limit": 40, "cost_limit": 100.0}
    DefaultAgent(model, environment, **settings).run("Mend it.")
    views = [text_of(request[-1]) for request in inner.requests]
    return [
        next((line for line in view.split("\n") if line.startswith("- a.py: ") and ")" in line), "") for view in views
    ]


def test_the_view_says_what_the_file_holds_now(tmp_path: Path) -> None:
    """Lines are current, have moved or were changed, whatever programs of unknown effects have run."""
    lines = run(
        tmp_path,
        "sed -n '5,20p' a.py",
        "python3 -c 'print(1)'",
        "sed -i 1d a.py",
        "sed -i '9s/.*/other = 1/' a.py",
        "rm a.py",
    )
    assert lines[1:] == [
        "- a.py: 5-20 (current)",
        "- a.py: 5-20 (current)",
        "- a.py: 5-20 (now at 4-19)",
        "- a.py: 5-9 (now at 4-8); 10 (changed); 11-20 (now at 10-19)",
        "- a.py: 5-20 (gone)",
    ]


@pytest.mark.guarantee("witness")
def test_changes_by_others_are_told_apart(tmp_path: Path) -> None:
    """A change between two requests that no command of the agent's explains is marked; behind a program it is not."""

    def change() -> None:
        (tmp_path / "a.py").write_text(TEXT.replace("value_7 ", "theirs "))

    meanwhile = {2: change}
    lines = run(tmp_path, "cat a.py", "ls", "ls", meanwhile=meanwhile)
    assert lines[2] == "- a.py: 1-6, 8-30 (current); 7 (changed, not by you)"
    lines = run(tmp_path, "cat a.py", "python3 -c 'print(1)'", "ls", meanwhile=meanwhile)
    assert lines[2] == "- a.py: 1-6, 8-30 (current); 7 (changed)"


@pytest.mark.parametrize("options", [{"witness": "off"}, {"preset": "paper"}])
def test_without_a_witness_the_words_are_as_before(tmp_path: Path, options: dict[str, Any]) -> None:
    """Switched off, and in the preset that has none, nothing is looked at."""
    lines = run(tmp_path, "cat a.py", "sed -i 1d a.py", **options)
    assert lines[2] == "- a.py: whole, 30 lines (stale, in context)"


@pytest.mark.guarantee("witness-journal")
def test_the_journal_rebuilds_the_views(tmp_path: Path, journals: Path) -> None:
    """A journal holds verdicts and no contents of files, and makes the same views from them."""
    run(tmp_path, "sed -n '5,20p' a.py", "make nothing", "sed -i 1d a.py", "ls")
    (path,) = journals.glob("*.jsonl")
    data = path.read_bytes()
    journal = read_journal(path.name, data)
    assert journal.sightings and "value_" not in repr(journal.sightings)
    for view in journal.views:
        until = JournalRun(
            **{
                **{name: getattr(journal, name) for name in journal.__struct_fields__},
                "steps": journal.steps[: view.index],
                "sightings": tuple(look for look in journal.sightings if look.index <= view.index),
            }
        )
        assert rebuild(until).ledger.inform(range(view.index)).text == view.text


def test_each_thread_has_its_own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher notes an environment for the thread that made it, and does not keep it alive."""
    runner: Any = types.ModuleType("minisweagent.run.a_test")
    runner.get_environment = LocalEnvironment
    monkeypatch.setitem(sys.modules, runner.__name__, runner)
    loaded = [one for name, one in sys.modules.items() if name.startswith("minisweagent.run.")]
    for one in (one for one in loaded if hasattr(one, "get_environment")):
        monkeypatch.setattr(one, "get_environment", one.get_environment)
    note_environments()
    mine = runner.get_environment(cwd=str(tmp_path))
    found: list[Any] = []
    worker = threading.Thread(target=lambda: found.append((noted_environment(), runner.get_environment())))
    worker.start()
    worker.join()
    assert noted_environment() is mine and found[0][0] is None
    assert noted_environment() is None, "it was asked for already"
    mine = runner.get_environment()
    del mine
    assert noted_environment() is None, "nobody has it any more"
    two = (runner.get_environment(), runner.get_environment())
    assert two and noted_environment() is None, "which of them the agent has is not known"


@pytest.mark.parametrize("runner", ["mini", "swebench", "swebench-single"])
def test_every_runner_makes_its_environment_where_it_is_noted(runner: str) -> None:
    """A runner's own module has the function, or the module that it takes its environments from."""
    script = (
        "import sys; from importlib import import_module; from execledger.agents.mini import launch, witness\n"
        f"import_module(launch.RUNNERS[{runner!r}]); witness.note_environments()\n"
        "found = [getattr(one, 'get_environment', None) for one in list(sys.modules.values())]\n"
        "print(sum(hasattr(one, '__wrapped__') for one in found))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) >= 1


def test_only_the_agents_own_local_environment_is_read(tmp_path: Path) -> None:
    """A class of somebody's own may run its commands anywhere."""

    class Elsewhere(LocalEnvironment):  # type: ignore[misc]
        pass

    assert type(witness_of(LocalEnvironment())) is LocalWitness
    assert witness_of(Elsewhere()) is None and witness_of(None) is None
    assert type(witness_of(Elsewhere(), named=True)) is ProbeWitness
