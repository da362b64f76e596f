"""Every call of the launchers broken in turn: the agent runs to its end, with its own arguments and exit status."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from execledger.agents import behind_proxy
from execledger.agents.behind_proxy import OF_THE_TERMINAL, PASSED_ON
from execledger.cli.run import command
from execledger.errors import LedgerError
from tests.support.faults.sabotage import CallSite, call_sites, sabotaged

pytestmark = pytest.mark.faults
PROGRAM = """#!/bin/sh
[ "$1" = --version ] && echo 0.166.0 && exit
for word; do before=$last last=$word; done
echo "$before|$last" >> {ran}
exit 7
"""
LAUNCHING = re.compile(r"/agents/(\w+/|behind_proxy)|/proxy/(serve|relay|clients)|/journal/pause|/local_server/")
"""The files whose calls are broken: launchers, and the proxy as they start and end it."""


@pytest.fixture(autouse=True)
def _own_process() -> Iterator[None]:
    """What a proxy changes in its process comes back, also where a broken call has left one running."""
    threshold, switches, callbacks = gc.get_threshold(), sys.getswitchinterval(), list(gc.callbacks)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(switches)
    gc.callbacks[:] = callbacks
    gc.unfreeze()


class Executed(BaseException):
    """The process would have become another program."""


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], list[str]]]:
    """Run an agent of some name with Ledger, in this process; the lines that its runs wrote."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.chdir(tmp_path)
    ran = tmp_path / "ran"

    def execv(program: str, words: list[str]) -> None:
        raise Executed(subprocess.run([program, *words[1:]], check=False).returncode)

    monkeypatch.setattr(os, "execv", execv)
    handlers = {number: signal.getsignal(number) for number in (*PASSED_ON, *OF_THE_TERMINAL)}

    def run(name: str) -> list[str]:
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(PROGRAM.format(ran=ran))
        program.chmod(0o755)
        ran.unlink(missing_ok=True)
        words = ["--journal", "off", "--", str(program), *(["exec"] if name == "codex" else []), "-p", "Mend it."]
        try:
            status = command.main(words, standalone_mode=False)
        except Executed as end:
            status = end.args[0]
        lines = ran.read_text().splitlines() if ran.exists() else []
        return [*lines, str(status)]

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


EXPECTED = ["-p|Mend it.", "7"]
AGENTS = ("claude", "codex", "opencode")


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("name", AGENTS)
def test_a_fault_in_a_launcher_does_not_keep_an_agent_from_its_work(
    agent: Callable[[str], list[str]], name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """At whatever call: it has worked once to its end, or was ended before it did and started again."""
    assert agent(name) == EXPECTED
    reached: dict[CallSite, int] = call_sites(lambda: agent(name))
    sites = [site for site in reached if LAUNCHING.search(site.caller.co_filename)]
    assert len(sites) > 20
    for site in sites:
        with sabotaged(site) as trap:
            came = agent(name)
        assert trap.sprung, str(site)
        assert came[-2:] == EXPECTED, f"{site}: {came}\n{capfd.readouterr().err[-2000:]}"


def test_a_refusal_is_no_fault(
    agent: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What Ledger refuses to do is not done without it either: the user decides."""
    folder = tmp_path / ".claude"
    folder.mkdir()
    (folder / "settings.local.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": "https://elsewhere"}}))
    with pytest.raises(LedgerError, match="your key, to https://elsewhere"):
        agent("claude")


def test_a_fault_behind_the_end_keeps_the_exit_status(
    agent: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is not started a second time."""

    def fail(_: Any) -> Any:
        raise RuntimeError("planted")

    monkeypatch.setattr(behind_proxy, "sentences", fail)
    assert agent("claude") == EXPECTED
