"""``execledger run --view`` around the real mini-swe-agent: the run is shown while it goes on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from execledger.demo.mini import SUBMIT, environment
from execledger.demo.repository import make_repository
from tests.clients.test_mini_launch import Bell, mini, scripted
from tests.support.agents.mini import installed
from tests.viewer.stage import PATIENCE, Page, eventually, viewers_ended
from tests.viewer.test_live import heard

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'"),
]

LAUNCHER = (sys.executable, "-m", "execledger", "run", "--view", "--no-browser", "--journal")


def test_a_running_agent_is_shown_live(tmp_path: Path) -> None:
    """Its steps come as it makes them, its end is told, and the agent's own end waits for nobody."""
    repository, home = tmp_path / "repository", tmp_path / "home"
    repository.mkdir()
    make_repository(repository)
    rings, waits = Bell(tmp_path / "rings"), tmp_path / "waits"
    os.mkfifo(waits)
    turns = (["ls warehouse"], [f"echo > {rings.path}; cat {waits}"], [SUBMIT])
    agent = subprocess.Popen(
        [*LAUNCHER, str(home / "journals"), "--", *mini(home, *scripted(home, *turns))],
        cwd=repository,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with viewers_ended(home / "journals"), agent:
        assert agent.stderr is not None
        said = re.fullmatch(
            r"Ledger: this run is shown at (http://127\.0\.0\.1:\d+/#/coming)\n", agent.stderr.readline()
        )
        assert said is not None
        page = Page(urlsplit(said[1]).port or 0)
        rings.wait()
        eventually(lambda: (runs := page.get("/api/runs")["runs"]) and runs[0]["steps"] >= 1)
        (line,) = page.get("/api/runs")["runs"]
        assert line["live"]
        with page.open(f"/api/runs/{line['id']}/events") as answer:
            events = heard(answer)
            assert next(events).data["steps"]["label"] == ["ls warehouse"]
            with waits.open("w") as released:
                released.write("done\n")
            *steps, end = events
        _, rest = agent.communicate(timeout=PATIENCE)
        # Whoever looks goes on looking.
        assert page.get(f"/api/runs/{line['id']}")["line"] == end.data["line"]
    rings.close()
    assert (agent.returncode, [event.kind for event in steps], end.kind) == (0, ["steps"] * len(steps), "end")
    assert steps[0].data["steps"]["label"][0].startswith("echo > ")
    assert (end.data["line"]["live"], end.data["reason"], " commands, " in rest) == (False, "finished", True)
