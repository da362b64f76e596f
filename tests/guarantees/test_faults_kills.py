"""``kill -9`` of agent, proxy and launcher at random moments: nothing recorded is lost, and nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from execledger.demo.repository import TASK, make_repository
from execledger.journal.reader import JournalRun, read_journal, rebuild
from execledger.testing.scripted_model import ModelServer
from tests.clients.stage import INVENTORY, cat, shell
from tests.clients.test_codex_launch import DONE, plain
from tests.clients.test_codex_launch import Started as StartedCodex
from tests.clients.test_mini_launch import Bell, Started, mini, scripted
from tests.guarantees.wire import PATIENCE, Client, acting, check_growth
from tests.support.agents.codex import CURRENT, CodexHome, codex
from tests.support.agents.mini import installed, mini_command
from tests.support.agents.npm import cache_folder, required
from tests.support.servers.responses import ResponsesServer, Script, turns

EXECLEDGER = (sys.executable, "-m", "execledger")
Say = Callable[[str], None]


@contextmanager
def ringing(path: Path) -> Iterator[Bell]:
    """A bell at which the agent's commands ring."""
    bell = Bell(path)
    try:
        yield bell
    finally:
        bell.close()


def read(path: Path) -> JournalRun:
    """A journal whose writer was killed: at most its last line is torn, and the rest folds as it did."""
    data = path.read_bytes()
    run = read_journal(path.name, data)
    assert (run.trouble.damaged, run.trouble.lost, rebuild(run).mismatch) == (0, 0, None)
    assert not run.trouble.torn or not data.endswith(b"\n")
    return run


def moment(chance: random.Random, longest: float) -> None:
    """Any moment: when somebody is killed is the subject of these tests."""
    time.sleep(chance.random() * longest)


@pytest.mark.clients
@pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")
@pytest.mark.guarantee("step-in-flight", "fail-open")
@pytest.mark.parametrize("wire", [False, True], ids=["model in its process", "model on the wire"])
def test_the_real_mini_swe_agent_is_killed(tmp_path: Path, wire: bool, full: bool, figure: Say) -> None:
    """At most the step in flight is missing from its journal, no process of its group is left, and no request hangs."""
    rounds, lost = 20 if full else 1, 0
    for seed in range(rounds):
        chance, home, repository = random.Random(seed), tmp_path / str(seed), tmp_path / f"repository {seed}"
        make_repository(repository)
        with ringing(tmp_path / f"bell {seed}") as bell, ExitStack() as stack:
            # Opened for both directions, the pipe keeps no command waiting that outlives the agent and this test.
            commands = [f"echo {number} | tee -a ran.txt 1<> '{bell.path}'" for number in range(200)]
            command = mini(home, *scripted(home, *([command] for command in commands)))
            if wire:
                server = stack.enter_context(ModelServer([[command] for command in commands]))
                command = mini_command(server, TASK, home / "mini.traj.json")
            started = Started((*EXECLEDGER, "run", "--journal", str(home), "--", *command), repository, home)
            for _ in range(chance.randrange(1, 12)):
                bell.wait()
            moment(chance, 0.05)
            started.process.kill()
            assert (started.end().status, started.left()) == (-signal.SIGKILL, False)
        ran = (repository / "ran.txt").read_text().splitlines()
        (path,) = home.glob("*.ledger.jsonl")
        kept = [step.step.action.command for step in read(path).steps]
        assert kept == commands[: len(kept)] and 0 <= len(ran) - len(kept) <= 1
        lost += len(ran) - len(kept)
    figure(f"mini killed {rounds} times: {lost} steps in flight lost, 0 others")


class Standing:
    """A proxy of the command line that is killed and comes back at the same address."""

    def __init__(self, upstream: str, home: Path) -> None:
        self._words = (*EXECLEDGER, "proxy", "--upstream", upstream, "--sealed", "--journal", str(home / "journals"))
        self._environment = {
            **os.environ,
            **{"XDG_STATE_HOME": str(home / "state"), "HOME": str(home), "EXECLEDGER": "", "no_proxy": "*"},
        }
        self._port = "0"
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        until = time.monotonic() + PATIENCE
        while True:
            process = subprocess.Popen(
                (*self._words, "--port", self._port),
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert process.stdout is not None
            if url := process.stdout.readline().strip():
                self.url, self._port = url, url.rpartition(":")[2].partition("/")[0]
                return process
            # The port may be somebody else's for a moment.
            process.communicate(timeout=PATIENCE)
            assert time.monotonic() < until, "the proxy does not start"

    def end(self, number: signal.Signals) -> None:
        """End it by a signal."""
        self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE)

    def again(self) -> None:
        """Kill it, and start another."""
        self.end(signal.SIGKILL)
        self.process = self._start()


@pytest.mark.guarantee("step-in-flight", "append-only", "fail-open")
def test_the_proxy_is_killed_and_comes_back(tmp_path: Path, full: bool, figure: Say) -> None:
    """The client asks again; the model sees one history that only grows, and each journal is a beginning of it."""
    kills, number = 20 if full else 2, 30 if full else 8
    make_repository(tmp_path / "repository")
    reads = ("cat warehouse/inventory.py", "cat tests/test_inventory.py", "sed -n '5,20p' warehouse/inventory.py", "ls")
    chance = random.Random(7)
    with ResponsesServer(acting(lambda _, done: reads[done % 4], number)) as server:
        proxy = Standing(server.url, tmp_path)
        client = Client(proxy.url, tmp_path / "repository")
        working = threading.Thread(target=lambda: [None for _ in iter(client.turn, False)])
        working.start()
        for _ in range(kills):
            moment(chance, 0.2)
            proxy.again()
        working.join(PATIENCE)
        proxy.end(signal.SIGTERM)
        assert not working.is_alive() and server.faults == []
        check_growth(list(server.requests))
    # What the client was told to run instead stands in its own history as what the model had asked for.
    asked = [json.loads(item["arguments"])["cmd"] for item in server.requests[-1].input if "arguments" in item]
    assert asked == [reads[done % 4] for done in range(number)]
    longest = 0
    # Of one that was killed before it had recorded anything, an empty file is left.
    for path in (path for path in (tmp_path / "journals").glob("*.jsonl") if path.stat().st_size):
        kept = [step.step.action.command for step in read(path).steps]
        assert kept == asked[: len(kept)]
        longest = max(longest, len(kept))
    assert longest == number
    figure(f"proxy killed {kills} times: 0 changed histories, 0 lost steps")


@pytest.mark.clients
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a process of its parent's death")
@pytest.mark.guarantee("step-in-flight", "fail-open")
def test_the_real_codex_or_its_launcher_is_killed(tmp_path: Path, full: bool, figure: Say) -> None:
    """Whoever of the two dies, the other ends as well, nothing of them is left, and the journal reads."""
    if not (cache_folder() / "openai-codex" / CURRENT).is_dir() and not required():
        pytest.skip("codex is not installed; the tests in tests/clients install it")
    rounds = 6 if full else 1
    for seed in range(rounds):
        chance, place = random.Random(seed), tmp_path / str(seed)
        place.mkdir()
        home = CodexHome(place)
        with ringing(place / "bell") as bell:
            hold = shell(f"echo $$ > {bell.path}; exec sleep 600")
            _killed(turns(cat(INVENTORY), cat(INVENTORY), hold, DONE), home, bell, chance)
        (path,) = (place / "journals").glob("*.jsonl")
        assert len(read(path).steps) == 2
    figure(f"codex or its launcher killed {rounds} times: 0 left behind")


def _killed(script: Script, home: CodexHome, bell: Bell, chance: random.Random) -> None:
    """Run codex under Ledger, kill one of the two while a command of codex runs, and see that nothing is left."""
    with ResponsesServer(script) as server:
        kept = str(home.repository.parent / "journals")
        run = (*EXECLEDGER, "run", "--journal", kept, "--", *plain(codex(CURRENT), server.url))
        started = StartedCodex(run, home)
        held = int(bell.wait())
        moment(chance, 0.2)
        launcher = started.process.pid
        shown = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        (child,) = (int(row.split()[0]) for row in shown.splitlines() if int(row.split()[1]) == launcher)
        os.kill(chance.choice((launcher, child)), signal.SIGKILL)
        assert started.end().status == -signal.SIGKILL
    until = time.monotonic() + PATIENCE
    while started.alive(held) and time.monotonic() < until:
        time.sleep(0.01)
    assert started.alive(held) == []
