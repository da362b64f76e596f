"""The real programs of mini-swe-agent under ``execledger run``, in real containers: batches and interruptions."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor as Pool
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from execledger.demo.mini import SUBMIT, config_options, console_script, environment
from execledger.journal.reader import read_journal
from execledger.session.probe import BEGIN as PROBE
from execledger.testing.scripted_model import ModelServer
from tests.clients.test_mini_launch import PATIENCE, Started, mini, scripted
from tests.clients.test_mini_wrapped import proposed, view_of
from tests.support.agents.mini import MiniRun, installed, quick_start, read_json, run_swebench
from tests.support.agents.swebench import SPLIT, make_instances, write_dataset
from tests.support.agents.terminal import END, ENTER, Terminal
from tests.support.containers.engine import Docker, Engine

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'"),
]

COMMITTED = "cd /testbed && git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm a"
READ, PART, DIFF = "cat a.py", "sed -n '5,20p' a.py", "git diff > patch.txt"
SUBMITTED = f"{SUBMIT} && cat patch.txt"
STOP = "touch /tmp/stop"
"""From then on, probes wait."""
WAITING = "while [ -e /tmp/stop ]; do touch /tmp/waits; sleep 0.05; done"
SED = f"""#!/bin/sh
{WAITING}
exec /usr/bin/sed "$@"
"""
"""Put before the real program, so that a probe takes as long as the test wants."""
LATE = f"{STOP}; {WAITING}; echo late = 1 >> a.py; touch /tmp/done"
"""A command that waits in the same way, writes then, and says when it has."""
DONE = "until [ -e /tmp/done ]; do sleep 0.05; done"
CTRL_C = "\x03"
PATIENT = f"""
import os, sys
from execledger.agents.mini import launch, witness
witness.PROBE_SECONDS = {PATIENCE}
sys.argv[2] = os.path.basename(sys.argv[2])
launch.main()
"""
"""The launcher, with probes that have as much time as a test: on a busy machine, and for what is done during one."""


def patient(command: Sequence[str]) -> list[str]:
    """The command line that starts an agent under that launcher."""
    return [sys.executable, "-P", "-c", PATIENT, '{"cadence": "every"}', *command]


def plain(command: Sequence[str]) -> list[str]:
    """The command line that starts an agent without Ledger."""
    return list(command)


def numbered(name: str) -> str:
    """A file of thirty lines."""
    return "".join(f"{name}_{line} = {line}\n" for line in range(1, 31))


def lines_of(views: Sequence[str]) -> list[str]:
    """The line about the file in each view; "" where there is none."""
    split = [view.split("\n") for view in views]
    return [next((line for line in view if line.startswith("- a.py: ") and ")" in line), "") for view in split]


# The batch runner


EDITS = {"This is task 1.": "sed -i 1d a.py", "This is task 2.": "sed -i '9s/.*/other = 1/' a.py"}
"""What each of two agents does to its file, which has the same name and the same length in both containers."""


BEGIN = f"{STOP}; {WAITING}"
"""The runner's own command in each new container: no agent begins before both containers run."""


def commands(task: str) -> list[str]:
    """What is run in the container of a task."""
    return [BEGIN, PART, "make all", EDITS[task], "make all", DIFF, SUBMITTED]


def batch(containers: Engine, home: Path, prefix: Sequence[str]) -> tuple[MiniRun, Docker]:
    """Run two instances on two workers, which begin at the same time."""
    home.mkdir()
    docker, instances = containers.docker(home), make_instances(2)
    for instance in instances:
        files = {"testbed/a.py": numbered(f"task_{instance.instance_id[-1]}")}
        containers.image(instance.image, files, COMMITTED)

    def begin() -> None:
        for container in eventually(containers, docker, 2, "[ -e /tmp/waits ]"):
            containers.release(container, "rm /tmp/stop")

    options = [f"run.env_startup_command={BEGIN}", "environment.container_timeout=10m"]
    with ModelServer({task: [[one] for one in commands(task)[1:]] for task in EDITS}) as server, Pool(1) as beside:
        begun = beside.submit(begin)
        done = run_swebench(server, instances, docker, home / "run", config=options, prefix=prefix, extra=quick_start())
        begun.result()
    assert (done.status, server.faults) == (0, []), done.output
    return done, docker


def test_each_workers_probe_goes_to_its_own_container(containers: Engine, tmp_path: Path) -> None:
    """Two workers at the same time: their views tell of their own files, and their predictions are as without us."""
    done, docker = batch(containers, tmp_path / "ledger", patient(()))
    views = {task: lines_of([view_of(one) for one in done.requests if task in one.opening]) for task in EDITS}
    known = ["", "- a.py: 5-20 (current)", "- a.py: 5-20 (current)"]
    assert list(views.values()) == [
        [*known, *["- a.py: 5-20 (now at 4-19)"] * 3],
        [*known, *["- a.py: 5-20 (changed)"] * 3],
    ]
    executed = docker.executed()
    seen = {
        container: [one.command for one in executed if one.container == container and PROBE not in one.command]
        for container in dict.fromkeys(one.container for one in executed)
    }
    assert sorted(seen.values()) == sorted(map(commands, EDITS))
    probed = Counter(one.container for one in executed if PROBE in one.command)
    assert probed == dict.fromkeys(seen, 5), "before each request but the first"
    assert docker.gone()
    said = json.dumps([done.predictions, done.trajectories, [one.body for one in done.requests]])
    assert PROBE not in said and not re.search(r"\b[0-9a-f]{32,}\b", said)
    without, _ = batch(containers, tmp_path / "plain", ())
    assert done.predictions == without.predictions
    assert all("a.py" in one["model_patch"] for one in done.predictions.values())


# Interruptions


@pytest.fixture(scope="module")
def image(containers: Engine) -> str:
    """An image in which probes can be made to wait."""
    return containers.image("waiting", {"testbed/a.py": numbered("value"), "usr/local/bin/sed": SED}, COMMITTED)


def eventually(engine: Engine, docker: Docker, count: int, condition: str) -> list[str]:
    """Wait until there are so many containers, and a condition holds in each of them; their ids."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = docker.containers()
        if len(found) == count and all(engine.holds(one, condition) for one in found):
            return found
        time.sleep(0.05)
    raise AssertionError(f"{condition} did not come to hold")


class Talk(NamedTuple):
    """A run at a terminal that was interrupted."""

    status: int
    """The exit status of the agent."""
    saved: dict[str, Any]
    """The trajectory."""
    ran: list[str]
    """The agent's commands that reached the container."""
    probes: int
    """The witness's that did."""
    removed: bool
    """Whether the agent has removed its container."""

    @property
    def texts(self) -> list[str]:
        """What the messages say."""
        return [str(one.get("content")) for one in self.saved["messages"]]

    @property
    def views(self) -> list[str]:
        """The lines about the file in the views of its journal."""
        path = Path(self.saved["info"]["ledger"]["journal"])
        return lines_of([view.text for view in read_journal(path.name, path.read_bytes()).views])


def interrupted(
    engine: Engine,
    home: Path,
    image: str,
    turns: Sequence[str],
    *,
    launcher: Callable[[Sequence[str]], list[str]] = patient,
    behind: str = "rm /tmp/stop",
    keys: str = f"go on{ENTER}",
) -> Talk:
    """Run ``mini`` at a terminal; press Ctrl-C when something waits in the container, do ``behind`` there, type on."""
    home.mkdir()
    docker = engine.docker(home)
    config = ["environment_class=docker", f"image={image}", f"executable={docker.executable}", "cwd=/testbed"]
    words = mini(home, *scripted(home, *([turn] for turn in turns), [SUBMIT]))
    words += config_options([f"environment.{one}" for one in (*config, "container_timeout=10m")])
    with Terminal(launcher(words), home, environment(home, {"EXECLEDGER_JOURNAL": str(home / "journals")})) as terminal:
        (container,) = eventually(engine, docker, 1, "[ -e /tmp/waits ]")
        terminal.send(CTRL_C)
        terminal.wait_for("Interrupted.")
        engine.release(container, behind)
        terminal.send(keys)
        status = terminal.wait()
    removed = docker.gone()
    executed = [one.command for one in docker.executed()]
    probes = sum(PROBE in one for one in executed)
    return Talk(
        status, read_json(home / "mini.traj.json"), [one for one in executed if PROBE not in one], probes, removed
    )


@pytest.mark.usefixtures("heeded")
def test_ctrl_c_during_a_probe_reaches_the_agent(containers: Engine, tmp_path: Path, image: str) -> None:
    """The agent asks its user and goes on; the probe is taken again, and nothing that ran is missing or repeated."""
    turns = [PART, STOP, "sed -i 1d a.py", PART]
    talk = interrupted(containers, tmp_path / "ledger", image, turns)
    assert (talk.status, talk.removed, talk.ran) == (0, True, [*turns, SUBMIT])
    (at,) = [at for at, text in enumerate(talk.texts) if text == "Interrupted by user: go on"]
    assert proposed(talk.saved["messages"][:at]) == turns[:2]
    assert talk.views[-2:] == ["- a.py: 5-20 (now at 4-19)", "- a.py: 5-20 (current)"]
    ledger = talk.saved["info"]["ledger"]
    assert (talk.saved["info"]["exit_status"], ledger["active"], ledger["counts"]["faults"]) == ("Submitted", True, 0)
    assert PROBE not in json.dumps(talk.saved)


@pytest.mark.usefixtures("heeded")
def test_leaving_during_a_probe_leaves_nothing(containers: Engine, tmp_path: Path, image: str) -> None:
    """Whoever ends the agent at its question gets the agent's own end, and its container is removed."""
    talk = interrupted(containers, tmp_path / "ledger", image, [PART, STOP, READ], keys=END)
    assert (talk.ran, talk.probes, talk.removed) == ([PART, STOP], 2, True)
    assert talk.status != 0 and talk.saved["info"]["exit_status"] == "EOFError"


@pytest.mark.usefixtures("heeded")
def test_ctrl_c_during_a_command_reaches_the_agent(containers: Engine, tmp_path: Path, image: str) -> None:
    """The command goes on in the container and writes later; the same messages as without us, and no stale read."""
    turns = [READ, LATE, "tail -n 3 a.py", READ]
    ours, theirs = (
        interrupted(
            containers, tmp_path / launcher.__name__, image, turns, launcher=launcher, behind=f"rm /tmp/stop; {DONE}"
        )
        for launcher in (patient, plain)
    )
    assert ours.ran == theirs.ran == [*turns, SUBMIT]
    assert (ours.status, ours.removed) == (theirs.status, theirs.removed) == (0, True)
    reads = [at for at, text in enumerate(theirs.texts) if "late = 1" in text and "returncode" in text]
    assert ours.texts[: reads[-1]] == theirs.texts[: reads[-1]]
    assert len(reads) == 2 and all("late = 1" in ours.texts[at] for at in reads)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize(
    ("waiting", "launcher"),
    # A command that is interrupted is the agent's own business, as in the test above.
    [(STOP, patient), *(pytest.param(LATE, one, marks=pytest.mark.long) for one in (patient, plain))],
    ids=["probe", "command", "command without Ledger"],
)
def test_ctrl_c_in_a_batch_finishes_what_runs(
    containers: Engine,
    tmp_path: Path,
    image: str,
    waiting: str,
    launcher: Callable[[Sequence[str]], list[str]],
) -> None:
    """In a probe as in a command: both workers finish their instance, the third is cancelled, no container is left."""
    docker, instances = containers.docker(tmp_path), make_instances(3)
    for instance in instances:
        containers.podman("tag", image, instance.image)
    dataset = write_dataset(tmp_path / "dataset", instances)
    script = scripted(tmp_path, [PART], [waiting], [f"{DONE}; echo more = 1 >> a.py"], [DIFF], [SUBMITTED])
    words = [console_script("mini-extra"), "swebench", "--subset", str(dataset), "--split", SPLIT, "-w", "2"]
    words += ["-o", str(tmp_path / "output"), "-c", "swebench.yaml", *script]
    words += config_options([f"environment.executable={docker.executable}", "environment.container_timeout=10m"])
    started = Started(launcher(words), tmp_path, tmp_path, **quick_start())
    running = eventually(containers, docker, 2, "[ -e /tmp/waits ]")
    os.killpg(started.process.pid, signal.SIGINT)
    for container in running:
        containers.release(container, f"rm /tmp/stop; {DONE if waiting is LATE else 'touch /tmp/done'}")
    ended = started.end()
    assert (ended.status, "Cancelling" in ended.out, started.left(), docker.gone()) == (0, True, False, True), ended.err
    predictions = read_json(tmp_path / "output" / "preds.json")
    assert sorted(predictions) == [instance.instance_id for instance in instances[:2]]
    for one in predictions.values():
        added = [line for line in one["model_patch"].split("\n") if line.startswith("+")]
        assert added == ["+++ b/a.py", *(["+late = 1"] if waiting is LATE else []), "+more = 1"]
