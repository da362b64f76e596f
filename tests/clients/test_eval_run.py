"""Whole evaluations with the real agents and no model: killed at any moment, on a cluster, and by hand."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from execledger.demo.mini import SUBMIT, environment
from execledger.demo.repository import make_repository
from execledger.evaluate.collect import collect
from execledger.evaluate.plan import ArmName
from execledger.evaluate.records import RunRow
from execledger.evaluate.study import Study, Trial
from execledger.runs.prices import load_prices
from tests.support.agents.codex import CodexHome, run_codex
from tests.support.agents.fake_docker import FakeDocker
from tests.support.agents.mini import installed, quick_start
from tests.support.agents.swebench import make_instances, write_dataset
from tests.support.servers.responses import Request, ResponsesServer, call, say, turns

needs_mini = pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed")
pytestmark = pytest.mark.clients

EVAL = (sys.executable, "-m", "execledger", "eval")
READ = "cat warehouse/inventory.py"
UNIQUE = "cat /proc/sys/kernel/random/uuid || date +%s.%N"
"""Prints what no other run prints."""
PATIENCE = 300.0
"""Seconds after which something that must happen is given up."""
MODEL = "minisweagent.models.test_models.DeterministicToolcallModel"


class Ended(NamedTuple):
    """What a process left."""

    status: int
    out: str
    err: str


class Bell:
    """A pipe at which the agent's commands ring."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def wait(self) -> None:
        """Wait for one ring."""
        ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
        assert ready, "nothing rang"
        os.read(self._descriptor, 1)

    def close(self) -> None:
        """Listen no more."""
        os.close(self._descriptor)


class Bench:
    """A folder to evaluate in: tasks, a docker, a script for the model, and a plan."""

    def __init__(self, home: Path, *, instances: int, plan: str, script: list[str]) -> None:
        self.home, self.study = home, Study(home / "out")
        self.docker = FakeDocker.install(home / "docker")
        make_repository(self.docker.image / "testbed")
        write_dataset(home / "dataset", make_instances(instances))
        outputs = [
            {
                "role": "assistant",
                "content": "",
                "extra": {"actions": [{"command": one, "tool_call_id": one}], "cost": 0.25},
            }
            for one in script
        ]
        model = {"model_class": MODEL, "model_name": "scripted", "outputs": outputs}
        (home / "script.yaml").write_text(json.dumps({"model": model}))
        settings = f'[settings.environment]\nexecutable = "{self.docker.executable}"\n'
        config = 'config = ["swebench.yaml", "script.yaml"]\nsubset = "dataset"\n'
        (home / "plan.toml").write_text(f"{config}{plan}\n{settings}")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start ``execledger eval``."""
        return subprocess.Popen(
            [*EVAL, *words],
            cwd=self.home,
            env=environment(self.home, quick_start()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def call(self, *words: str) -> Ended:
        """Run ``execledger eval`` to its end."""
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return Ended(process.returncode, out, err)

    @property
    def trials(self) -> list[Trial]:
        """Every arm and trial that has a folder."""
        found = sorted(self.study.root.glob("*/[0-9]*"))
        return [self.study.trial(ArmName(folder.parent.name), int(folder.name)) for folder in found]

    def settle(self) -> None:
        """Wait until whatever worked in the folder has ended."""
        for lock in self.study.root.glob("*/*/.work/*/lock"):
            with lock.open() as file:
                fcntl.flock(file, fcntl.LOCK_EX)

    def finished(self) -> dict[str, str]:
        """What is finished, adopted or not, and what its trajectory holds."""
        found = [*self.study.root.glob("*/*/*/*.traj.json"), *self.study.root.glob("*/*/.work/*/*/*.traj.json")]
        whole = {}
        for path in found:
            arm, trial = path.relative_to(self.study.root).parts[:2]
            try:
                json.loads(text := path.read_text())
            except ValueError:
                continue
            whole[f"{arm}-{trial} {path.parent.name}"] = text
        return whole

    def grade(self, resolved: Callable[[Trial, int], bool]) -> None:
        """Import reports that say of each task whether it is resolved."""
        for trial in self.trials:
            ids: dict[bool, list[str]] = {True: [], False: []}
            for number, name in enumerate(trial.results(), 1):
                ids[resolved(trial, number)].append(name)
            report = {"resolved_ids": ids[True], "unresolved_ids": ids[False]}
            path = self.home / "reports" / f"scripted.{trial.name}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(report))
        graded = self.call("grade", "out", "--reports", "reports")
        assert (graded.status, graded.err) == (0, ""), graded


def wait_for(words: str, running: subprocess.Popen[str]) -> None:
    """Wait until a process says this on standard error."""
    assert running.stderr is not None
    assert any(words in line for line in running.stderr), "it ended without a word of it"


def numbers(row: RunRow, *names: str) -> tuple[int | None, ...]:
    """Counts of a row."""
    return tuple(row.count(name) for name in names)


def rows_of(folder: Path) -> list[RunRow]:
    """The rows of a folder, all of which can be read."""
    unreadable: list[str] = []
    rows = [row for _, row in collect([str(folder)], load_prices(), unreadable)]
    assert unreadable == []
    return rows


WHOLE = """
trials = 2
batch = 6
threads = 3
workers = 2
"""
ARMS = ("base", "inform", "govern", "both")
SMALL = 'arms = ["base", "both"]\nbatch = 2\nthreads = 3\nworkers = 2\n'


def check_whole(
    bench: Bench, interruptions: int, *, tasks: int = 6, arms: Sequence[str] = ARMS, trials: int = 2
) -> None:
    """Every task was run to its end once per arm and trial, and the report knows it all."""
    assert {trial.name: sorted(trial.results()) for trial in bench.trials} == {
        f"{arm}-{number + 1}": [f"ledger__warehouse-{one}" for one in range(1, tasks + 1)]
        for arm in arms
        for number in range(trials)
    }
    assert all(len(json.loads((trial.folder / "preds.json").read_text())) == tasks for trial in bench.trials)
    assert not [*bench.study.root.glob("*/*/.work/*")]
    # Besides these, only what was under way when something was killed was begun: two processes of three threads.
    begun = len([*bench.docker.containers.iterdir()])
    runs = tasks * len(arms) * trials
    assert runs <= begun <= runs + interruptions * 6
    bench.grade(lambda trial, number: trial.arm is ArmName.BOTH or number > 3)
    report = bench.call("report", "out", "-o", "report", "--format", "json", "--format", "md")
    assert report.status == 0, report.err
    assert "inform + govern" in (bench.home / "report" / "report.md").read_text()


@needs_mini
@pytest.mark.parametrize(
    ("plan", "tasks", "arms", "trials", "kills"),
    [(SMALL, 4, ("base", "both"), 1, 1), pytest.param(WHOLE, 6, ARMS, 2, 3, marks=pytest.mark.long)],
    ids=["small", "whole"],
)
def test_a_killed_evaluation_goes_on_and_runs_everything_once(
    tmp_path: Path, plan: str, tasks: int, arms: Sequence[str], trials: int, kills: int
) -> None:
    """Killed at a random moment, or three times: nothing that is finished is lost."""
    bell = Bell(tmp_path / "bell")
    ring = f"echo >> {bell.path}"
    bench = Bench(tmp_path, instances=tasks, plan=plan, script=[f"{ring}; {READ}", UNIQUE, READ, f"{ring}; {SUBMIT}"])
    chance = random.Random(20261)
    kept: dict[str, str] = {}
    for _ in range(kills):
        running = bench.start("run", "plan.toml", "-o", "out")
        for _ in range(chance.randrange(8, 14)):
            bell.wait()
        # The moment is the subject of this test: anywhere between one command and the next.
        time.sleep(chance.random() * 0.3)
        running.kill()
        running.communicate()
        bench.settle()
        now = bench.finished()
        assert kept.items() <= now.items()
        kept = now
    ended = bench.call("run", "plan.toml", "-o", "out")
    bell.close()
    assert ended.status == 0, ended.err
    runs = tasks * len(arms) * trials
    assert ended.err.splitlines()[-1] == (
        f"execledger: {runs} of {runs} runs finished, ${runs}.00; ended: Submitted {runs}"
    )
    assert kept and kept.items() <= bench.finished().items()
    check_whole(bench, interruptions=kills, tasks=tasks, arms=arms, trials=trials)
    begun = len([*bench.docker.containers.iterdir()])
    again = bench.call("run", "-o", "out")
    assert (again.status, len([*bench.docker.containers.iterdir()])) == (0, begun)


@needs_mini
def test_the_rows_of_a_report_know_arm_trial_and_grade(tmp_path: Path) -> None:
    """Two arms of one task: what ran, what did not, what it cost, and who has graded it."""
    plan = 'arms = ["base", "both"]\npreset = "paper"\nworkers = 2\n'
    bench = Bench(tmp_path, instances=1, plan=plan, script=[READ, READ, f"{SUBMIT}; echo repaired"])
    assert bench.call("run", "plan.toml", "-o", "out").status == 0
    unknown = bench.call("grade", "out")
    if importlib.util.find_spec("swebench") is None:
        assert (unknown.status, "which instances are resolved stays unknown" in unknown.err) == (2, True)
    bench.grade(lambda trial, number: trial.arm is ArmName.BOTH)
    rows = rows_of(bench.study.root)
    told = [(row.arm, row.preset, row.trial, row.instance, row.ended, row.resolved) for row in rows]
    name = "ledger__warehouse-1"
    assert told == [
        ("base", "", 1, name, "Submitted", False),
        ("both", "paper", 1, name, "Submitted", True),
    ]
    # The command that submits has no result in either arm.
    assert [numbers(row, "proposed", "ran", "suppressed", "rereads") for row in rows] == [(2, 2, 0, 1), (2, 1, 1, 1)]
    assert [row.reported_cost for row in rows] == [0.75, 0.75]
    assert rows_of(bench.study.root / "both" / "1") == rows[1:]


@needs_mini
def test_ctrl_c_leaves_what_can_be_gone_on_with(tmp_path: Path) -> None:
    """Twice, and what runs is ended at once; once, and it is finished first; the same command then does the rest."""
    bell = Bell(tmp_path / "bell")
    gate = tmp_path / "gate"
    hold = f"echo >> {bell.path}; until test -e {gate}; do sleep 0.05; done"
    plan = 'arms = ["govern"]\nbatch = 3\nworkers = 1\n'
    bench = Bench(tmp_path, instances=3, plan=plan, script=[hold, SUBMIT])
    ends = []
    for times in (2, 1):
        running = bench.start("run", "plan.toml", "-o", "out")
        bell.wait()
        running.send_signal(signal.SIGINT)
        wait_for("stopping: what runs is finished first", running)
        if times == 2:
            running.send_signal(signal.SIGINT)
        else:
            gate.touch()
        running.communicate(timeout=PATIENCE)
        ends.append((running.returncode, len(bench.finished())))
    assert ends == [(130, 0), (1, 1)]
    ended = bench.call("run", "-o", "out")
    bell.close()
    assert (ended.status, len(bench.finished()), len([*bench.docker.containers.iterdir()])) == (0, 3, 4), ended.err


@pytest.mark.long
@needs_mini
@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install 'execledger[ray]'"
)
def test_a_cluster_whose_worker_dies_runs_everything_once(tmp_path: Path) -> None:
    """The same plan on a Ray cluster of two workers, one of them killed: its job is given to another."""
    bell = Bell(tmp_path / "bell")
    script = [f"echo >> {bell.path}; {READ}", UNIQUE, READ, SUBMIT]
    bench = Bench(tmp_path, instances=6, plan=f'engine = "ray"{WHOLE}', script=script)
    running = bench.start("run", "plan.toml", "-o", "out")
    bell.wait()
    (lock, *_) = bench.study.root.glob("*/*/.work/*/lock")
    os.kill(int(lock.read_text().split()[0]), signal.SIGKILL)
    out, err = running.communicate(timeout=PATIENCE)
    bell.close()
    assert running.returncode == 0, out + err
    assert err.splitlines()[-1] == "execledger: 48 of 48 runs finished, $48.00; ended: Submitted 48"
    check_whole(bench, interruptions=1)


CODEX_PLAN = """
agent = "codex"
program = "{program}"
model = "gpt-5.5"
reasoning_effort = "low"
subset = "dataset"
direct_tools = true
workers = 2
{where}

[settings]
model_provider = "scripted"
sandbox_mode = "danger-full-access"

[settings.model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
"""
AS_SOMEBODY = "git config user.name A && git config user.email a@localhost"
COMMIT = f"{AS_SOMEBODY} && echo done > note.txt && git add . && git commit -qm mine && echo new > new.txt"
CODEX_SCRIPT = (
    call("exec_command", cmd=READ),
    call("exec_command", cmd=READ),
    call("exec_command", cmd=f"sed -i 's/<= count/< count/' warehouse/inventory.py && {COMMIT}"),
    say("Repaired."),
)
CHANGED = ["new.txt", "note.txt", "warehouse/inventory.py"]


def run_codex_plan(folder: Path, program: Path, tasks: int, where: str) -> tuple[Study, tuple[Request, ...]]:
    """Carry a plan out; what came of it, and what the model was asked."""
    home = CodexHome(folder)
    write_dataset(folder / "dataset", make_instances(tasks))
    # As a user's home, it has been used before: of two sessions that make its databases at the same time, one lacks
    # the tools that need them.
    with ResponsesServer(turns(say("Hello."))) as server:
        assert run_codex(program, "Say hello.", url=server.url, home=home).answer == "Hello."
    with ResponsesServer(turns(*CODEX_SCRIPT)) as server:
        (folder / "plan.toml").write_text(CODEX_PLAN.format(program=program, url=server.url, where=where))
        words = [*EVAL, "run", "plan.toml", "-o", "out"]
        done = subprocess.run(
            words, cwd=folder, env=home.environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert (done.returncode, server.faults) == (0, []), done.stderr
    return Study(folder / "out"), server.requests


def repaired(trial: Trial) -> dict[str, tuple[str, list[str], list[str]]]:
    """By task: how it ended, the files that were changed, and what was kept."""
    found = {}
    for name, result in trial.results().items():
        files = [line[6:] for line in result.model_patch.splitlines() if line.startswith("+++ b/")]
        kept = sorted(path.name.partition("-")[0] for path in (trial.folder / name).iterdir())
        found[name[-1]] = (result.ended, files, kept)
    return found


def test_codex_runs_over_prepared_repositories(tmp_path: Path, current: Path) -> None:
    """Two arms of two tasks: the repair is what was changed, committed or not; the session and events are kept."""
    for number in (1, 2):
        make_repository(tmp_path / "repos" / f"ledger__warehouse-{number}")
    study, requests = run_codex_plan(tmp_path, current, 2, 'repos = "repos"\narms = ["base", "both"]')
    for arm, journals in ((ArmName.BASE, []), (ArmName.BOTH, ["journals"])):
        ended = ("turn.completed", CHANGED, [".result.json", "events.ndjson", *journals, "recorded"])
        assert repaired(study.trial(arm, 1)) == {"1": ended, "2": ended}
    # Neither the tools nor a path tells which arm it is.
    assert len({json.dumps(request.body["tools"]) for request in requests}) == 1
    assert not any(b"/both" in request.plain or b"/base" in request.plain for request in requests)
    assert [(row.arm, *numbers(row, "proposed", "ran", "elided", "rereads")) for row in rows_of(study.root)] == [
        *[("base", 3, 3, 0, 1)] * 2,
        *[("both", 3, 3, 1, 1)] * 2,
    ]
    assert not study.scratch.exists()


def test_codex_runs_in_the_tasks_own_container(tmp_path: Path, current: Path) -> None:
    """There nothing else writes, so a repeated read is not even run."""
    docker = FakeDocker.install(tmp_path / "docker")
    make_repository(docker.image / "testbed")
    study, _ = run_codex_plan(tmp_path, current, 1, f'docker = "{docker.executable}"\narms = ["govern"]')
    ended = ("turn.completed", CHANGED, [".result.json", "events.ndjson", "journals", "recorded"])
    assert repaired(study.trial(ArmName.GOVERN, 1)) == {"1": ended}
    (row,) = rows_of(study.root)
    assert (row.arm, *numbers(row, "ran", "suppressed")) == ("govern", 2, 1)
    assert [(container / "stopped").exists() for container in docker.containers.iterdir()] == [True]
