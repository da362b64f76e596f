"""What ends the seal: from then on something may write that the ledger does not see.

A sealed environment has no writers but the agent's own commands, so the clock counts them all. That holds only as long
as each of them is done when it ends. A program whose effects are not known may leave a job behind that writes later,
whatever its text says, and so may one that was stopped halfway. A second name for a file, or a file that steers other
programs, makes commands mean something else than their words say.
"""

from __future__ import annotations

import re

from execledger.shell.environment import steers
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.records import CommandRecord, Effects

STOPPED, LEFT, UNKNOWN, LINKED, STEERED = (
    "a command timed out or was interrupted",
    "a job was left in the background",
    "a command of unknown effects ran",
    "a file was given another name",
    "a file was written that steers other programs",
)
"""Why nothing is sealed any more."""

TIMED_OUT, BROKEN_PIPE = 124, 141
"""Exit statuses: of ``timeout``, and of a program whose reader went away, as ``head`` does by design."""
NOT_FOUND = (126, 127)
"""Exit statuses of a program that is not there or may not run."""
LINKS = re.compile(
    r"(?<![\w.-])(?:(?:ln|link)(?![\w.-])|cp(?=\s)(?=(?:(?!(?<![\w.-])cp\s)[^\n;|&])*\s-(?:\w*[ls]|-link|-symbolic)))"
)
"""Words by which a file gets a second name."""


def stopped(exit_status: int | None) -> bool:
    """A command with this exit status was stopped from outside: its result says nothing about the next run."""
    return exit_status is not None and (exit_status < 0 or exit_status == TIMED_OUT or exit_status > 128)


def unsealing(command: str, record: CommandRecord, observation: Observation, home: str | None) -> str:
    """Why the seal ends with a command that ran; "" if it holds. ``home`` is where the work is."""
    status = observation.exit_status
    if observation.timed_out or (stopped(status) and status != BROKEN_PIPE):
        return STOPPED
    if record.background:
        return LEFT
    if record.effects is Effects.UNKNOWN or record.foreign:
        return UNKNOWN
    if record.effects is Effects.LISTED and LINKS.search(command):
        return LINKED
    return STEERED if any(steers(path, home) for path in record.writes) else ""
