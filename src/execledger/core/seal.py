"""The seal of an environment, and the commands that end it.

In a sealed environment only the agent's own commands write, so the clock counts all writes. That holds only while every
command has finished when it returns. A program with unknown effects may leave a background job that writes later, and
so may one that was stopped halfway. A second name for a file, or a file that configures other programs, changes what
later commands mean. After any of these nothing is suppressed before running any more.
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
"""The reasons for which the seal ended."""

TIMED_OUT, BROKEN_PIPE = 124, 141
"""Exit statuses of ``timeout``, and of a program whose reader closed the pipe, as ``head`` does."""
NOT_FOUND = (126, 127)
"""Exit statuses of a program that does not exist or is not executable."""
LINKS = re.compile(
    r"(?<![\w.-])(?:(?:ln|link)(?![\w.-])|cp(?=\s)(?=(?:(?!(?<![\w.-])cp\s)[^\n;|&])*\s-(?:\w*[ls]|-link|-symbolic)))"
)
"""Commands that give a file a second name."""


def stopped(exit_status: int | None) -> bool:
    """Whether a command with this exit status was stopped from outside; its result does not predict another run."""
    return exit_status is not None and (exit_status < 0 or exit_status == TIMED_OUT or exit_status > 128)


def unsealing(command: str, record: CommandRecord, observation: Observation, home: str | None) -> str:
    """Return why the seal ends with a command that ran; "" if it does not. ``home`` is the working directory."""
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
