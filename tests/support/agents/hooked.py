"""A scripted session of shell commands whose exit codes and directories are known, run by the real clients.

The truth is written down here, and not taken from what a client or Ledger says: Claude Code's shell keeps the directory
that a successful command leaves it in, opencode's starts each command in the project.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.agents.sessions import AgentHome, Json, ledger, results, steps
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played

LOG = "".join(f"make: entry {at}: lib_{at}.h: No such file or directory, skipped\n" for at in range(60))
"""A log that reads like the complaints of programs."""
CHECK = "import sys\nprint('checked 3 rules')\nprint('rule 2 is broken')\nsys.exit(3)\n"
"""A program that fails."""


class Ran(NamedTuple):
    """One command, and what is true of it."""

    command: str
    exit_status: int
    cwd: str
    """The directory that it starts in, below the repository."""


def commands(*, keeps_directory: bool) -> list[Ran]:
    """The commands of the session."""
    deep = "deep" if keeps_directory else ""
    up = "../" if keeps_directory else ""
    return [
        Ran("cat notes.log", 0, ""),
        Ran("cat notes.log", 0, ""),
        Ran("python3 -B check.py", 3, ""),
        Ran("python3 -B check.py", 3, ""),
        Ran("python3 -B -m unittest -q 2>&1", 1, ""),
        Ran("cat big.py", 0, ""),
        Ran("mkdir -p deep && cd deep && ls", 0, ""),
        Ran(f"cat {up}big.py", 0, deep),
        Ran("cd .. ; false", 1, deep),
        Ran(f"cat {up}notes.log", 0, deep),
        Ran(f"grep -n nothing_here {up}big.py", 1, deep),
    ]


class Outcome(NamedTuple):
    """What was known of the commands of one run."""

    status: int
    """The exit status of the client."""
    requests: list[Any]
    """What the model was asked."""
    made: list[Json]
    """The recorded steps."""
    errors: str
    """What was said beside."""
    seconds: list[float]
    """From each request to the next: the client's part of a turn, with the command."""

    def exits(self, truth: Sequence[Ran]) -> list[str]:
        """Of each command: whether its exit code was known, and right."""
        found = (step["observation"].get("exit_status") for step in self.made)
        return ["unknown" if one is None else _judged(one == ran.exit_status) for one, ran in _paired(found, truth)]

    def places(self, truth: Sequence[Ran], home: AgentHome) -> list[str]:
        """Of each command: whether the directory that it starts in was known, and right."""
        found = (step["action"].get("cwd") for step in self.made)
        return [
            "unknown" if one is None else _judged(Path(one) == home.repository / ran.cwd)
            for one, ran in _paired(found, truth)
        ]

    def shown(self) -> list[str]:
        """Of each command: how its result was shown."""
        return [step["shown"]["kind"] for step in self.made]


def _judged(right: bool) -> str:
    return "right" if right else "WRONG"


def _paired(found: Any, truth: Sequence[Ran]) -> list[tuple[Any, Ran]]:
    return [*zip(found, truth, strict=True)]


Run = Callable[[str, AgentHome, list[str]], Any]
"""Runs a client: the model's address, its home, and the launcher."""


def prepared(home: AgentHome) -> AgentHome:
    """The files that the commands need."""
    (home.repository / "notes.log").write_text(LOG)
    (home.repository / "check.py").write_text(CHECK)
    return home


def session(run: Run, home: AgentHome, truth: Sequence[Ran], tool: str, *options: str) -> Outcome:
    """Run the session once, with these options of ``execledger run``."""
    turns: list[Turn] = [[(tool, {"command": one.command, "description": "do it"})] for one in truth]
    script = played(turns)
    times: list[float] = []

    def answer(request: Request) -> Turn | int:
        times.extend([time.perf_counter()] if request.is_turn else [])
        return script(request)

    with ScriptedServer(answer) as server:
        done = run(server.url, prepared(home), ledger(home.journals, *options))
    assert len(results(server.turns[-1])) == len(truth), done.errors
    seconds = [after - before for before, after in pairwise(times)]
    return Outcome(done.status, list(server.turns), steps(home.journals), done.errors, seconds)
