"""``execledger run`` around the real programs of mini-swe-agent: options, signals, exit statuses, sudden death."""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import execledger
from execledger.demo.mini import SUBMIT, config_options, console_script, environment
from execledger.demo.repository import TASK, make_repository
from execledger.extras import requirement
from execledger.journal.reader import JournalRun, read_journal, rebuild
from execledger.session.probe import BEGIN as PROBE
from execledger.testing.scripted_model import ModelServer, Script
from tests.support.agents.fake_docker import FakeDocker
from tests.support.agents.mini import installed, model_options, quick_start, read_json
from tests.support.agents.swebench import SPLIT, make_instances, write_dataset

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'"),
]

LAUNCHER = (sys.executable, "-m", "execledger", "run", "--cadence", "every")
READ = "cat warehouse/inventory.py"
PART = "sed -n '5,20p' warehouse/inventory.py"
SCRIPT: Script = ([READ], [PART, "ls tests"], ["git diff > patch.txt"], [f"{SUBMIT} && cat patch.txt"])
PATIENCE = 60.0
"""Seconds after which something that must happen is given up."""


class Ended(NamedTuple):
    """What a process left."""

    status: int
    out: str
    err: str


class Started:
    """A process of the test's own group, so that whatever it leaves behind is found."""

    def __init__(self, command: Sequence[str], folder: Path, home: Path, **extra: str) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(home, extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self) -> Ended:
        """Wait for the end of the process, and of whatever shares its output."""
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        finally:
            self.process.kill()
        return Ended(self.process.returncode, out, err)

    def left(self) -> bool:
        """Something of its group stays; what has just been killed may take a moment to be gone."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return False
            time.sleep(0.01)
        return True


class Bell:
    """A pipe at which the agent's commands ring, each with a line."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        # Open at both ends, so that neither side waits for the other to come or to go.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._heard = b""

    def wait(self) -> str:
        """The next line."""
        while b"\n" not in self._heard:
            ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
            assert ready, f"no command rang at {self.path.name}"
            self._heard += os.read(self._descriptor, 4096)
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        """Listen no more."""
        os.close(self._descriptor)


def scripted(folder: Path, *turns: Sequence[str]) -> list[str]:
    """The options that make a run use a model in its own process, which is quick to start and says these turns."""
    outputs = []
    for number, commands in enumerate(turns):
        actions = [{"command": one, "tool_call_id": f"{number}.{at}"} for at, one in enumerate(commands)]
        outputs.append({"role": "assistant", "content": "", "extra": {"actions": actions, "cost": 0.0}})
    model = {"model_class": DETERMINISTIC, "model_name": "scripted", "outputs": outputs}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "script.yaml").write_text(json.dumps({"model": model}))
    return config_options([str(folder / "script.yaml")])


DETERMINISTIC = "minisweagent.models.test_models.DeterministicToolcallModel"


def mini(home: Path, *options: str) -> list[str]:
    """The command line of ``mini`` without a person."""
    words = [console_script("mini"), "-t", TASK, "-o", str(home / "mini.traj.json"), "-y", "--exit-immediately"]
    return [*words, "-c", "mini.yaml", *options]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder to work in."""
    folder = tmp_path / "repository"
    folder.mkdir()
    make_repository(folder)
    return folder


def journal_of(info: dict[str, Any]) -> JournalRun:
    """The journal that a saved run names."""
    path = Path(info["ledger"]["journal"])
    return read_journal(path.name, path.read_bytes())


# The benchmark's runners, with the scripted server and the fake docker


class Bench(NamedTuple):
    """Three instances, and a docker to run them in."""

    home: Path
    docker: FakeDocker
    dataset: Path

    @property
    def output(self) -> Path:
        """Where a batch writes to."""
        return self.home / "output"

    def batch(self, script: Sequence[str], *options: str) -> list[str]:
        """The command line of ``mini-extra swebench``."""
        words = [console_script("mini-extra"), "swebench", "--subset", str(self.dataset), "--split", SPLIT]
        words += ["-o", str(self.output), "-c", "swebench.yaml", *script]
        return [*words, *config_options([f"environment.executable={self.docker.executable}"]), *options]

    def ran(self) -> list[str]:
        """The instances that a container was started for, by number."""
        return sorted({one.image.partition("warehouse-")[2].partition(":")[0] for one in self.docker.executed()})


def bench(home: Path) -> Bench:
    """Make ready in ``home``."""
    docker = FakeDocker.install(home / "docker")
    make_repository(docker.image / "testbed")
    return Bench(home, docker, write_dataset(home / "dataset", make_instances(3)))


def test_a_single_instance_of_the_benchmark_runs_under_ledger(tmp_path: Path) -> None:
    """``mini-extra swebench-single``: the instance that was asked for, in its container, informed and governed."""
    made = bench(tmp_path)
    words = [console_script("mini-extra"), "swebench-single", "--subset", str(made.dataset), "--split", SPLIT]
    words += ["-i", "ledger__warehouse-2", "-o", str(tmp_path / "single.json"), "-y", "--exit-immediately"]
    with ModelServer(SCRIPT) as server:
        words += model_options(server, "openrouter", "swebench.yaml")
        words += config_options([f"environment.executable={made.docker.executable}"])
        ended = Started([*LAUNCHER, "--", *words], tmp_path, tmp_path, **quick_start()).end()
    assert (ended.status, server.faults) == (0, []), ended.err
    ran = [one.command for one in made.docker.executed("warehouse-2:") if PROBE not in one.command]
    assert ran == [READ, "ls tests", *SCRIPT[2], *SCRIPT[3]]
    assert made.ran() == ["2"]
    assert all("<execution_state>" in request.items[-1].text for request in server.requests)
    assert f"Ledger: {PART}: reused before running, its output is shown above" in ended.err.splitlines()
    info = read_json(tmp_path / "single.json")["info"]
    rebuilt = rebuild(journal_of(info))
    assert (info["exit_status"], rebuilt.mismatch, rebuilt.ledger.digest) == (
        "Submitted",
        None,
        info["ledger"]["state"],
    )


@pytest.mark.parametrize(
    ("options", "ran", "predicted"),
    [
        (["--slice", "1:3"], ["2", "3"], ["1", "2", "3"]),
        (["--filter", ".*-[13]$", "--redo-existing"], ["1", "3"], ["1", "3"]),
    ],
    ids=["slice", "filter and redo"],
)
def test_a_batch_takes_the_runners_own_options(
    tmp_path: Path, options: list[str], ran: list[str], predicted: list[str]
) -> None:
    """The same instances run as without Ledger, with two workers, and the predictions are the same."""
    ends = []
    for name, prefix in (("plain", ()), ("ledger", (*LAUNCHER, "--"))):
        made = bench(tmp_path / name)
        made.output.mkdir()
        earlier = {"ledger__warehouse-1": {"model_name_or_path": "earlier", "model_patch": "earlier"}}
        (made.output / "preds.json").write_text(json.dumps(earlier))
        words = made.batch(scripted(made.home, [READ], [READ], [f"{SUBMIT}; echo repaired"]), "-w", "2", *options)
        ended = Started([*prefix, *words], tmp_path, made.home, **quick_start()).end()
        assert ended.status == 0, ended.err
        ends.append((made.ran(), read_json(made.output / "preds.json")))
    assert ends[1] == ends[0]
    assert (ends[1][0], sorted(name[-1] for name in ends[1][1])) == (ran, predicted)


# The end of a run, from outside


HOLD = "echo $$ > {bell}; exec sleep 600"
"""A command that rings with its own number, and then goes on for longer than anybody waits."""


@pytest.fixture
def bell(tmp_path: Path) -> Iterator[Bell]:
    """Where commands ring."""
    made = Bell(tmp_path / "bell")
    yield made
    made.close()


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_has_the_effect_that_it_has_without_ledger(
    repository: Path, tmp_path: Path, bell: Bell, number: signal.Signals
) -> None:
    """The same exit status, the same end of the trajectory, and no process of ours is left."""
    ends = []
    for name, prefix in (("plain", ()), ("ledger", (*LAUNCHER, "--"))):
        home = tmp_path / name
        script = scripted(home, [READ], [HOLD.format(bell=bell.path)], [SUBMIT])
        started = Started([*prefix, *mini(home, *script)], repository, home)
        held = int(bell.wait())
        started.process.send_signal(number)
        ended = started.end()
        # The agent starts its commands in sessions of their own, and may leave this one behind.
        with suppress(ProcessLookupError):
            os.kill(held, signal.SIGKILL)
        saved = read_json(home / "mini.traj.json")
        texts = [message.get("content") for message in saved["messages"][:-1]]
        ends.append((ended.status, saved["info"]["exit_status"], texts, started.left()))
    assert ends[1] == ends[0]
    assert ends[1][0] != 0 and not ends[1][3]


@pytest.mark.usefixtures("heeded")
def test_an_interrupted_batch_ends_as_without_ledger(tmp_path: Path, bell: Bell) -> None:
    """What runs is finished, what waits is cancelled, and the predictions are of the former."""
    ends = []
    for name, prefix in (("plain", ()), ("ledger", (*LAUNCHER, "--"))):
        made = bench(tmp_path / name)
        gate = Bell(made.home / "gate")
        hold = f"echo > {bell.path}; read line < {gate.path}"
        words = made.batch(scripted(made.home, [hold], [READ], [SUBMIT]), "-w", "1")
        started = Started([*prefix, *words], tmp_path, made.home, **quick_start())
        bell.wait()
        started.process.send_signal(signal.SIGINT)
        gate.path.write_text("go on\n")
        ended = started.end()
        gate.close()
        ends.append((ended.status, made.ran(), read_json(made.output / "preds.json"), "Cancelling" in ended.out))
    assert ends[1] == ends[0]
    assert ends[1][1] == ["1"]


@pytest.mark.parametrize(
    "words",
    [
        ["mini", "--no-such-option"],
        pytest.param(["mini", "-t"], marks=pytest.mark.long),
        ["mini", "-t", "x", "-c", "no-such-file.yaml"],
        ["mini", "-t", "x", "-c", "mini.yaml", "-c", "model.model_class=no.such.Model", "-m", "x"],
        pytest.param(["mini", "--help"], marks=pytest.mark.long),
        pytest.param(["mini-extra", "no-such-command"], marks=pytest.mark.long),
        ["mini-extra", "swebench", "--workers", "many"],
    ],
    ids=" ".join,
)
def test_a_start_that_fails_is_the_agents_own(tmp_path: Path, words: list[str]) -> None:
    """Whatever is wrong with the command line, the agent says so itself, and its status is its own."""
    ends = []
    for prefix in ((), (*LAUNCHER, "--")):
        started = Started([*prefix, console_script(words[0]), *words[1:]], tmp_path, tmp_path)
        ended = started.end()
        # Where it gets so far, the agent prints which configuration it was given.
        shown = "" if "Building agent config" in ended.out else ended.out
        ends.append((ended.status, shown, ended.err.splitlines()[-1:], started.left()))
    assert ends[1] == ends[0]
    assert "adds them up" not in ended.err


# Sudden death


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))])
def test_a_killed_run_loses_at_most_the_step_in_flight(repository: Path, tmp_path: Path, bell: Bell, seed: int) -> None:
    """Killed at any moment, the journal reads back: every step but perhaps the last, in order, with its digest."""
    chance = random.Random(seed)
    # Opened for both directions, the pipe keeps no command waiting that outlives the agent and this test.
    commands = [f"echo {number} | tee -a ran.txt 1<> {bell.path}" for number in range(200)]
    script = scripted(tmp_path, *([command] for command in commands))
    started = Started([*LAUNCHER, "--journal", str(tmp_path), "--", *mini(tmp_path, *script)], repository, tmp_path)
    for _ in range(chance.randrange(2, 40)):
        bell.wait()
    # The moment is the subject of this test: anywhere between one command and the next.
    time.sleep(chance.random() * 0.02)
    started.process.kill()
    assert started.end().status == -signal.SIGKILL
    assert not started.left()
    ran = (repository / "ran.txt").read_text().splitlines()
    (path,) = tmp_path.glob("*.ledger.jsonl")
    whole = path.read_bytes()
    torn = whole[: chance.randrange(whole.rindex(b"\n", 0, -1) + 2, len(whole) - 1)]
    for data, missing in ((whole, 1), (torn, 2)):
        journal = read_journal(path.name, data)
        assert [step.step.action.command for step in journal.steps] == commands[: len(journal.steps)]
        assert 0 <= len(ran) - len(journal.steps) <= missing
        assert (journal.trouble.damaged, journal.trouble.lost, journal.ended) == (0, 0, None)
        assert rebuild(journal).mismatch is None
    assert journal.trouble.torn


# Where the agent lives in an environment of its own


def separate(folder: Path, *, with_ledger: bool) -> Path:
    """An environment as a tool installer makes it, with the agent in it; its ``mini``."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for place in dict.fromkeys(Path(one) for one in sys.path if one.endswith(("site-packages", "dist-packages"))):
        for one in place.iterdir():
            if "execledger" not in one.name and not (packages / one.name).exists():
                (packages / one.name).symlink_to(one)
    # Whatever runs in this environment can say so.
    (packages / "here.pth").write_text("import os; os.environ['RUNS_IN'] = 'the tool'\n")
    if with_ledger:
        (packages / "ledger.pth").write_text(f"{Path(execledger.__file__).parents[1]}\n")
    script = folder / "bin" / "mini"
    script.write_text(f"#!{folder}/bin/python\nimport sys\nfrom minisweagent.run.mini import app\nsys.exit(app())\n")
    script.chmod(0o755)
    return script


def test_where_ledger_cannot_be_imported_one_line_says_what_to_do(tmp_path: Path) -> None:
    """And nothing is run, also where a folder here happens to have our name."""
    script = separate(tmp_path / "pipx" / "venvs" / "mini-swe-agent", with_ledger=False)
    (tmp_path / "execledger").mkdir()
    options = mini(tmp_path, *scripted(tmp_path, [SUBMIT]))[1:]
    ended = Started([*LAUNCHER, "--", str(script), *options], tmp_path, tmp_path, PYTHONPATH="").end()
    python = script.with_name("python")
    assert ended == Ended(
        2,
        "",
        f"execledger: {python} runs mini, but can't import execledger\n"
        f"hint: pipx inject mini-swe-agent {requirement()}\n",
    )
    assert not (tmp_path / "mini.traj.json").exists()


def test_where_it_can_be_imported_the_agents_own_python_runs_it(repository: Path, tmp_path: Path) -> None:
    """The agent runs where it lives, with Ledger around it."""
    script = separate(tmp_path / "uv" / "tools" / "mini-swe-agent", with_ledger=True)
    options = mini(tmp_path, *scripted(tmp_path, ["echo $RUNS_IN"], [SUBMIT]))[1:]
    ended = Started([*LAUNCHER, "--", str(script), *options], repository, tmp_path, PYTHONPATH="").end()
    assert ended.status == 0, ended.err
    saved = read_json(tmp_path / "mini.traj.json")
    assert saved["messages"][3]["extra"]["raw_output"] == "the tool\n"
    assert len(journal_of(saved["info"]).steps) == 1


# Without the launcher, and with a configuration of the user's


def configured(folder: Path, **ledger: object) -> list[str]:
    """The options that name Ledger and a scripted model inside it, as the documents say."""
    options = scripted(folder, [READ], [READ], [SUBMIT])
    names = {"model_class": "execledger.agents.mini_swe_agent.LedgerModel"}
    settings = {"inner_model_class": DETERMINISTIC, "journal": str(folder / "kept"), **ledger}
    (folder / "ledger.yaml").write_text(json.dumps({"model": {**names, "ledger": settings}}))
    return [*options, "-c", str(folder / "ledger.yaml")]


@pytest.mark.parametrize(("kept", "told"), [("off", ""), ("journals", "execledger stats {}")])
def test_the_end_of_a_run_says_where_its_journal_is(repository: Path, tmp_path: Path, kept: str, told: str) -> None:
    """One line says what Ledger did, and another how to add it up; the latter only if there is a journal."""
    words = mini(tmp_path, *scripted(tmp_path, [READ], [READ], [SUBMIT]))
    ended = Started([*LAUNCHER, "--journal", kept, "--", *words], repository, tmp_path).end()
    folder = repository / kept
    lines = [line for line in ended.err.splitlines() if re.match("Ledger: (?!References )", line)]
    expected = [
        f"Ledger: {READ}: reused after running, its output is shown above",
        "Ledger: 2 commands, 0 reused before running, 1 after, 0 nudged",
    ]
    assert lines == [
        *expected,
        *([f"Ledger: journals are in {folder}; `{told.format(folder)}` adds them up"] if told else []),
    ]
    assert len([*folder.glob("*.ledger.jsonl")]) == bool(told)


@pytest.mark.parametrize(
    ("prefix", "preset", "suppressed"),
    [
        pytest.param((), "paper", 1, id="plain-paper"),
        pytest.param((*LAUNCHER, "--"), "verified", 0, id="launcher-verified"),
        pytest.param((), "verified", 0, id="plain-verified", marks=pytest.mark.long),
        pytest.param((*LAUNCHER, "--"), "paper", 1, id="launcher-paper", marks=pytest.mark.long),
    ],
)
def test_a_configuration_of_the_users_is_followed(
    repository: Path, tmp_path: Path, prefix: tuple[str, ...], preset: str, suppressed: int
) -> None:
    """Naming the model class and its options with ``-c`` is all that it takes, and the launcher leaves it as it is."""
    words = mini(tmp_path, *configured(tmp_path, preset="paper"), "-c", f"model.ledger.preset={preset}")
    ended = Started([*prefix, *words], repository, tmp_path).end()
    assert ended.status == 0, ended.err
    info = read_json(tmp_path / "mini.traj.json")["info"]
    counts = info["ledger"]["counts"]
    assert (info["exit_status"], info["ledger"]["preset"]) == ("Submitted", preset)
    assert (counts["suppressed"], counts["elided"], counts["faults"]) == (suppressed, 1 - suppressed, 0)
    assert Path(info["ledger"]["journal"]).parent == tmp_path / "kept"
