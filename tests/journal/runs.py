"""Journals of simulated sessions, written the way an adapter writes them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import take
from execledger.journal import Ended, Event, Journal, Started, StepRecorded, ViewRendered, recorded
from execledger.journal.events import policy_fields
from execledger.runs.account import Account
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Shown, Step
from tests.support.simulation.sessions import Session

TASK = "<issue>Mend it.</issue>"


def start(policy: Policy | None = None, **fields: str | bool | float) -> Started:
    """The start of a run."""
    known = {"run": "one", "agent": "an agent 2", "model": "some/model", "task": TASK, "sealed": True} | fields
    return Started(software="0.1.0", policy=policy_fields(policy or Policy()), **known)  # type: ignore[arg-type]


def plain_step(index: int, command: str = "true", output: str = "", turn: int | None = None) -> StepRecorded:
    """A step that was allowed and shown in full, without a ledger behind it."""
    step = Step(Action(command, "/repo"), Allow("new"), Observation(output, exit_status=0), Shown("full"))
    number = index if turn is None else turn
    return StepRecorded(index=index, turn=number, step=step, sealed=True, since=0, digest="")


def returning(observation: Observation) -> Callable[[Action], Observation]:
    """A way to run an action that returns just this."""
    return lambda _: observation


def retold(session: Session, policy: Policy) -> Session:
    """The same commands and results under another policy."""
    told = Session(Ledger(TASK, policy), [], session.outputs)
    for step, truth in zip(session.steps, session.outputs, strict=True):
        told.steps.append(take(told.ledger, step.action, returning(truth), sealed=True))
    return told


def events_of(session: Session, sealed: bool = True) -> list[Event]:
    """The events that an adapter would have written for a session."""
    ledger = Ledger(TASK, session.ledger.policy)
    events: list[Event] = [start(session.ledger.policy, sealed=sealed)]
    for index, step in enumerate(session.steps):
        events.append(ViewRendered(index=index, text=ledger.inform(range(index), sealed).text))
        ledger.record(step)
        events.append(recorded(ledger, step, turn=index, sealed=sealed))
    summary = summed(events)
    return [*events, Ended(reason="Submitted", counts=summary.counts, model_calls=len(session.steps) + 1)]


def summed(events: list[Event]) -> Account:
    """The summary of these events."""
    summary = Account()
    for event in events:
        summary.add(event)
    return summary


def written(folder: Path, events: list[Event], name: str = "one") -> Path:
    """A journal with these events."""
    journal = Journal.create(folder, name)
    for event in events:
        journal.append(event)
    journal.close()
    return journal.path


def execledger(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return subprocess.run(
        [sys.executable, "-m", "execledger", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def digits(text: str) -> list[int]:
    """The numbers in a text."""
    return [int(number) for number in re.findall(r"\d+", text)]
