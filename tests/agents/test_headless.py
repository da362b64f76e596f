"""Agents without a batch runner over tasks: what is refused, what counts as finished, and what is kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from execledger.agents.evaluation import Batch, Instance, nested_settings, stored
from execledger.agents.registry import agents, evaluated
from execledger.demo.repository import make_repository
from execledger.errors import LedgerError
from execledger.evaluate.experiment import runner_of, setup_of
from execledger.evaluate.plan import Plan

TASK = Instance(instance_id="ledger__warehouse-1", problem_statement="Repair it.")
CLIENT = f"""#!{sys.executable}
import json, os, pathlib, sys
if "--version" in sys.argv:
    print("2.1.325 (Claude Code)")
    sys.exit()
session = sys.argv[sys.argv.index("--session-id") + 1]
folder = pathlib.Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "here")
folder.mkdir(parents=True, exist_ok=True)
answers = {{answers}}
lines = [{{{{"type": "user", "uuid": "a", "sessionId": session, "version": "2.1.325", "cwd": os.getcwd(),
          "message": {{{{"role": "user", "content": sys.argv[-1]}}}}}}}}]
for number in range(answers):
    usage = {{{{"input_tokens": 1000000, "output_tokens": 100000}}}}
    content = [{{{{"type": "text", "text": "Done."}}}}]
    message = {{{{"role": "assistant", "id": f"m{{{{number}}}}", "model": "claude-sonnet-4-5", "content": content,
               "usage": usage, "stop_reason": "end_turn"}}}}
    lines.append({{{{"type": "assistant", "uuid": f"b{{{{number}}}}", "sessionId": session, "message": message}}}})
    inner = folder / session / "subagents"
    inner.mkdir(parents=True, exist_ok=True)
    line = {{{{**lines[-1], "isSidechain": True, "agentId": "x"}}}}
    (inner / "agent-x.jsonl").write_text("".join(json.dumps(one) + "\\n" for one in [lines[0], line]))
(folder / f"{{{{session}}}}.jsonl").write_text("".join(json.dumps(line) + "\\n" for line in lines))
pathlib.Path("new.txt").write_text("new")
print(json.dumps({{{{"type": "result", "subtype": "success", "is_error": not answers, "result": "no model here"}}}}))
"""
"""A client that records what Claude Code records, and asks no model."""


class Bench:
    """A batch of one task for that client."""

    def __init__(self, folder: Path, *, answers: int = 1, ledger: tuple[str, ...] = (), **keys: Any) -> None:
        self.folder = folder
        make_repository(folder / "repos" / TASK.instance_id)
        self.program = folder / "claude"
        self.program.write_text(CLIENT.format(answers=answers))
        self.program.chmod(0o755)
        self.plan = Plan.from_values({"agent": "claude", "repos": "repos", **keys})
        self.batch = Batch(
            setup=setup_of(self.plan, str(self.program), folder),
            tasks=(TASK,),
            folder=folder / "work",
            log=folder / "log",
            scratch=folder / "scratch",
            shared=folder,
            dataset=folder,
            split="test",
            ledger=ledger,
            salts={TASK.instance_id: "1" * 18},
        )

    def work(self) -> str:
        """Run the task; why it is not finished."""
        return runner_of(self.plan).work(self.batch).get(TASK.instance_id, "")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of a user of their own."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude home"))
    monkeypatch.setenv("HOME", str(tmp_path))


def test_a_run_is_kept_with_its_subagents(tmp_path: Path) -> None:
    """One file for the session and one for each sub-agent; the cost is that of all, by the price table."""
    bench = Bench(tmp_path)
    assert bench.work() == ""
    folder = bench.batch.folder / TASK.instance_id
    result = stored(folder)
    assert result is not None
    kept = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    session = Path(kept[2]).stem
    assert kept == [".result.json", "events.ndjson", f"recorded/{session}.jsonl", "subagents/agent-x.jsonl"]
    # Three dollars for input and one and a half for output, twice.
    assert (result.ended, result.model_name_or_path, result.cost) == ("success", "claude-sonnet-4-5", 9.0)
    assert "+++ b/new.txt" in result.model_patch
    first = json.loads((folder / f"recorded/{session}.jsonl").read_text().splitlines()[0])
    assert first["message"]["content"].startswith(f"Run {'1' * 18}. The working directory is")
    assert not [*(tmp_path / "scratch").iterdir()]


def test_a_run_that_no_model_answered_is_not_finished(tmp_path: Path) -> None:
    """The reason is the client's own."""
    bench = Bench(tmp_path, answers=0)
    log = tmp_path / "log"
    assert bench.work() == f"the agent ended with status 0: no model here ({log})"
    assert stored(bench.batch.folder / TASK.instance_id) is None


def test_each_run_of_a_batch_has_its_reason(tmp_path: Path) -> None:
    """One was answered by no model, the other one has no repository."""
    bench = Bench(tmp_path, answers=0)
    other = Instance(instance_id="ledger__warehouse-2", problem_statement="Repair it.")
    salts = {**bench.batch.salts, other.instance_id: "2" * 18}
    told = runner_of(bench.plan).work(replace(bench.batch, tasks=(TASK, other), salts=salts))
    assert list(told) == [TASK.instance_id, other.instance_id]
    assert "no model here" in told[TASK.instance_id] and other.instance_id in told[other.instance_id]


def test_a_run_that_went_past_ledger_is_not_finished(tmp_path: Path) -> None:
    """In an arm with Ledger a session that its proxy saw nothing of is no run of that arm."""
    bench = Bench(tmp_path, ledger=(sys.executable, "-m", "execledger", "run", "--no-settings"))
    log = tmp_path / "log"
    reason = "no request of the agent reached Ledger, though its model has answered"
    assert bench.work() == f"{reason} ({log})"
    assert "Ledger saw no request of claude" in log.read_text()


def test_a_script_is_refused_for_containers(tmp_path: Path) -> None:
    """Before anything is run: a container gets the program alone."""
    bench = Bench(tmp_path, repos="")
    with pytest.raises(LedgerError, match="claude: found a script, expected a program that needs nothing else"):
        runner_of(bench.plan).versions(bench.batch.setup)


def test_an_agent_that_does_not_tell_its_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the time in which a container program must answer as well."""
    monkeypatch.setattr("execledger.agents.evaluation.ANSWER_SECONDS", 0.5)
    bench = Bench(tmp_path)
    bench.program.write_text("#!/bin/sh\nexec sleep 600\n")
    with pytest.raises(LedgerError) as caught:
        runner_of(bench.plan).versions(bench.batch.setup)
    assert str(caught.value) == f"{bench.program}: can't be asked for its version: no answer within 0.5 seconds"


NOT_CONTAINED = [one.key for one in evaluated() if "docker" not in [key.name for key in one.plan_keys]]


def test_agents_of_many_files_are_refused_for_containers(tmp_path: Path) -> None:
    """With the reason, and the alternative; mini-swe-agent runs its containers itself."""
    assert NOT_CONTAINED == ["mini", "copilot", "pi", "gemini", "qwen", "openhands"]
    for key in NOT_CONTAINED[1:]:
        plan = Plan(agent=key)
        with pytest.raises(LedgerError, match=f"{key} can't be run in containers") as caught:
            runner_of(plan).versions(setup_of(plan, f"/usr/bin/{key}", tmp_path))
        assert caught.value.hint == "give prepared repositories: --repos DIR"


@pytest.mark.parametrize("key", ["settings", "reasoning_effort"])
def test_what_a_command_line_does_not_take_is_refused(key: str, tmp_path: Path) -> None:
    """Instead of being left out without a word."""
    plan = Plan.from_values({"agent": "qwen", "repos": "repos", key: {"a": 1} if key == "settings" else "high"})
    with pytest.raises(LedgerError, match=f"`{key}` can't be given to qwen on its command line"):
        runner_of(plan).versions(setup_of(plan, "/usr/bin/qwen", tmp_path))


def test_dotted_names_become_tables() -> None:
    """As the files of agents have them."""
    assert nested_settings({"a.b": 1, "a.c.d": 2, "e": 3}) == {"a": {"b": 1, "c": {"d": 2}}, "e": 3}


def test_every_agent_that_can_be_run_can_be_evaluated() -> None:
    """An arm can run any of them."""
    assert [one.key for one in agents() if one.use == "run" and not one.batch] == []
