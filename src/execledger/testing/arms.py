"""The same scripted agent, without and with Ledger: the real mini-swe-agent on a real repository with a real bug.

The model is a script, so it does not react to what it is shown: arms differ in what is executed and what the model
would have to read, not in what it does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from execledger.testing.mini_harness import SUBMIT, run_mini
from execledger.testing.model_server import ModelServer
from execledger.testing.workshop import COMMANDS, TASK, make_repository

ARMS: dict[str, tuple[str, ...] | None] = {
    "without Ledger": None,
    "verified": ("--preset", "verified"),
    "paper": ("--preset", "paper"),
}
"""The arms: the agent alone, and the options of ``execledger run``."""


class Arm(Struct, frozen=True):
    """What came of one arm."""

    name: str
    """What it is called."""
    proposed: int
    """Commands that the script proposes."""
    executed: int
    """Those that ran."""
    elided: int
    """Outputs replaced by a reference after running."""
    remarked: int
    """Outputs with a remark."""
    input_tokens: int
    """Tokens of input over all model calls, as the scripted server estimates them."""
    cached_tokens: int
    """Those that a prefix cache would have held."""
    messages: list[Any]
    """The saved messages."""
    journal: str | None
    """The journal's file."""


def run_arm(name: str, folder: Path) -> Arm:
    """Run one arm in a folder of its own."""
    options = ARMS[name]
    repository = folder / "repository"
    repository.mkdir(parents=True)
    make_repository(repository)
    script = [*([command] for command in COMMANDS), [SUBMIT]]
    with ModelServer(script) as server:
        prefix = () if options is None else (sys.executable, "-m", "execledger", "run", *options, "--")
        done = run_mini(server, TASK, repository, folder / "home", prefix=prefix)
    assert done.status == 0 and not server.faults, f"{name}: {done.output[-2000:]} {server.faults}"
    saved = done.trajectories["mini"]
    ledger = saved["info"].get("ledger") or {}
    counts = ledger.get("counts") or {}
    return Arm(
        name=name,
        proposed=len(script),
        executed=len(script) - counts.get("suppressed", 0),
        elided=counts.get("elided", 0),
        remarked=counts.get("nudged", 0),
        input_tokens=sum(request.usage.prompt for request in done.requests),
        cached_tokens=sum(request.usage.cached for request in done.requests),
        messages=saved["messages"],
        journal=ledger.get("journal"),
    )
