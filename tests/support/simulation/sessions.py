"""Seeded random sessions over a real folder with a real shell, and the invariants that must hold after each step.

A failing seed is a complete bug report: ``simulate(folder, seed)`` runs the same session again. ``siege`` has longer
ones, with more writers and everything else that happens to a conversation.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import complete
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Reuse
from tests.support.recorder import LIMIT
from tests.support.simulation.checks import Session, check_decision, check_shown, check_view
from tests.support.simulation.commands import populate, read_command, write_command
from tests.support.simulation.steady_shell import SteadyShell
from tests.support.simulation.writers import hostile_write

__all__ = ["TASK", "Session", "observe", "refold", "simulate"]

TASK = "<issue>Mend it.</issue>"
"""What every session is asked to do."""


def observe(command: str, shell: SteadyShell) -> Observation:
    """Run a command for real."""
    output, status = shell.run(command)
    if len(output) >= LIMIT:
        half = LIMIT // 2
        return Observation(output[:half] + output[-half:], exit_status=status, cut=half, truncated=True)
    return Observation(output, exit_status=status)


def simulate(
    folder: Path, seed: int, length: int = 40, *, hostile: bool = False, policy: Policy | None = None
) -> Session:
    """Run one session; with ``hostile`` somebody else writes between the steps, and the folder is not sealed."""
    random_ = random.Random(seed)
    populate(folder, random_)
    ledger = Ledger(TASK, policy)
    session = Session(ledger)
    recent: list[str] = []
    since = 0
    with SteadyShell(folder) as shell:
        for index in range(length):
            if hostile and random_.random() < 0.3:
                hostile_write(folder, random_)
            if random_.random() < 0.03:
                since = index
            command = _propose(random_, recent)
            action = Action(command, str(folder))
            visible = range(since, index)
            decision = ledger.govern(action, visible, sealed=not hostile)
            truth = observe(command, shell)
            check_decision(session, action, decision, truth, sealed=not hostile)
            step = complete(ledger, action, decision, None if isinstance(decision, Reuse) else truth, visible)
            check_shown(session, step, truth, visible)
            ledger.record(step)
            session.took(step, truth)
            check_view(session, "", range(since, index + 1), folder, sealed=not hostile)
    return session


def _propose(random_: random.Random, recent: list[str]) -> str:
    """A read, a repeat of a recent command, or a write."""
    choice = random_.random()
    if recent and choice < 0.4:
        return random_.choice(recent[-6:])
    make: Callable[[random.Random], str] = write_command if choice > 0.9 else read_command
    command = make(random_)
    if make is read_command:
        recent.append(command)
    return command


def refold(session: Session, task: str = TASK) -> Ledger:
    """The ledger rebuilt from the recorded steps."""
    ledger = Ledger(task, session.ledger.policy)
    for step in session.steps:
        ledger.record(step)
    return ledger
