"""What is said of repeated commands under the real mini-swe-agent, where its working tree can be looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from execledger.agents.formats import read_run
from execledger.cli.main import group
from execledger.journal.reader import read_journal, rebuild
from execledger.runs.replay import replay
from execledger.session import probe
from tests.session.test_working_tree import REMARK, needs_find

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment

from execledger.agents.mini import witness as mini_witness
from execledger.agents.mini.messages import text_of
from execledger.agents.mini.model import LedgerModel
from tests.agents.mini.test_model import SUBMIT, Recording, turn

SETTINGS = {"system_template": "s", "instance_template": "{{task}}", "step_limit": 60, "cost_limit": 100.0}
QUIET, WRITING = "python3 quiet.py", "python3 writes.py"
TESTS, SCRIPT = "make -s test", "python3 repro.py"


@pytest.fixture(autouse=True)
def journals(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for journals."""
    folder = tmp_path_factory.mktemp("journals")
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(folder))
    # A busy machine takes longer.
    monkeypatch.setattr(mini_witness, "PROBE_SECONDS", 60)
    monkeypatch.setattr(probe, "TREE_PROBE_SECONDS", 60)
    return folder


class Container(LocalEnvironment):  # type: ignore[misc]
    """Stands for an environment whose files only its own commands reach, and counts them."""

    executed: list[str]

    def execute(self, action: Any, *arguments: Any, **options: Any) -> Any:
        self.executed.append(action["command"])
        return super().execute(action, *arguments, **options)


def run(folder: Path, *commands: str, contained: bool = False, **options: Any) -> tuple[list[str], Any, Any]:
    """The remark behind each command, "" where there is none; the agent; its environment."""
    (folder / "repro.py").write_text("import it\nit.go()\n")
    (folder / "it.py").write_text("def go():\n    raise ValueError('boom')\n")
    (folder / "Makefile").write_text("test:\n\t@python3 -c 'import it; it.go()'\n")
    (folder / "quiet.py").write_text("print('nothing to do')\n")
    (folder / "writes.py").write_text("open('made.txt', 'a').write('x')\n")
    inner = Recording(outputs=[turn(number, command) for number, command in enumerate([*commands, SUBMIT])])
    environment = (Container if contained else LocalEnvironment)(cwd=str(folder))
    environment.executed = []
    model = LedgerModel.wrap(inner, env=environment, **options)
    agent = DefaultAgent(model, environment, **SETTINGS)
    agent.run("Mend it.")
    results = [text_of(one) for one in inner.requests[-1] if one["role"] == "tool"]
    assert len(results) == len(commands)
    return [one[one.index("[Ledger: ") :] if "[Ledger: " in one else "" for one in results], agent, environment


@pytest.mark.guarantee("working-tree")
@pytest.mark.parametrize("contained", [False, pytest.param(True, marks=needs_find)])
def test_a_failure_that_is_repeated_in_an_unchanged_tree(tmp_path: Path, contained: bool) -> None:
    """There is one remark although programs of unknown effects ran in between, and none if one of them wrote."""
    others = [f"echo {number}" for number in range(5)]
    said, *_ = run(tmp_path, SCRIPT, QUIET, SCRIPT, QUIET, *others, TESTS, QUIET, TESTS, contained=contained)
    assert said == [
        *("", "", REMARK.format("command", "2 commands"), "", "", "", "", "", "", "", ""),
        REMARK.format("test", "2 commands"),
    ]
    said, *_ = run(tmp_path, SCRIPT, WRITING, SCRIPT, TESTS, WRITING, TESTS, contained=contained)
    assert said == [""] * 6


@pytest.mark.parametrize("contained", [False, pytest.param(True, marks=needs_find)])
def test_edit_test_edit_test_is_work(tmp_path: Path, contained: bool) -> None:
    """Edits with and without an effect, by the model itself."""
    edits = ("sed -i 's/boom/bang/' it.py", "sed -i 's/bang/boom/' it.py", "sed -i 's/no such/x/' it.py")
    commands = [command for edit in edits for command in (TESTS, SCRIPT, edit)]
    said, *_ = run(tmp_path, *commands, TESTS, SCRIPT, contained=contained)
    assert set(said) == {""}


@pytest.mark.parametrize("options", [{"witness": "off"}, {"preset": "paper"}, {"shadow": True}])
def test_without_a_witness_nothing_is_said(tmp_path: Path, options: dict[str, Any]) -> None:
    """Switched off, in the preset that has none, and in shadow mode."""
    said, *_ = run(tmp_path, SCRIPT, QUIET, SCRIPT, **options)
    assert said == [""] * 3


@needs_find
def test_a_probe_is_at_most_one_execution_for_a_call_and_leaves_no_trace(tmp_path: Path) -> None:
    """The agent's own commands are what it proposed; nothing of a probe is in its messages."""
    commands = [SCRIPT, "cat it.py", QUIET, SCRIPT, "cat it.py", TESTS, TESTS]
    said, agent, environment = run(tmp_path, *commands, contained=True)
    assert sum(map(bool, said)) == 1
    order = [1 if "execledger-probe" in one else 0 for one in environment.executed]
    assert "11" not in "".join(map(str, order))
    assert [one for one in environment.executed if "execledger-probe" not in one] == [*commands, SUBMIT]
    assert "execledger-probe" not in json.dumps(agent.serialize())


def test_the_journal_rebuilds_the_state_and_explains_the_rule(tmp_path: Path, journals: Path) -> None:
    """It has digests of the tree and no name of a file; a replay of it decides the same; ``why`` says how."""
    said, *_ = run(tmp_path, SCRIPT, QUIET, SCRIPT)
    (path,) = journals.glob("*.jsonl")
    data = path.read_bytes()
    journal = read_journal(path.name, data)
    trees = [look.sighting.tree for look in journal.sightings if look.sighting.tree is not None]
    assert [tree.step for tree in trees] == [0, 1, 2] and len({tree.digest for tree in trees}) == 1
    assert "quiet.py" not in repr(trees)
    rebuilt = rebuild(journal)
    assert rebuilt.mismatch is None and rebuilt.ledger.tree.known
    calls = list(replay(read_run(str(path), data)))
    assert [call.shown.text for call in calls] == said
    done = CliRunner().invoke(group, ["why", str(path), "2"])
    assert done.exit_code == 0
    assert "nudge, by the rule `unchanged-tree`" in done.output
    assert "every look at the working tree since has found the same files" in done.output
    assert "today:     the same\n" in done.output and f"tree:      {trees[2].digest}" in done.output
