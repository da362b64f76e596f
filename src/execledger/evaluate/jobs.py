"""What an engine is given: some tasks of one arm and trial, for one process of the agent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from execledger.evaluate.isolation import Salted
from execledger.evaluate.plan import SWITCHES, ArmName, Plan
from execledger.evaluate.study import Study, Trial

TAIL = 8000
"""How many bytes of a log are looked at for the reason of a failure."""
_LONGEST = 400
"""Characters of it that are reported."""
_DRAWN = re.compile("[\u2500-\u257f]")
"""A character of tables, panels and progress bars."""
_ERROR = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Expired)(?::|$)")
"""The line of a traceback that says what went wrong."""


class Job(Struct, frozen=True, kw_only=True):
    """Tasks for one process of the agent."""

    plan: Plan
    """The plan."""
    program: str
    """The agent's program."""
    root: Path
    """The output folder of the evaluation."""
    cwd: Path
    """Where the evaluation was started: names of files in the plan are meant from there."""
    arm: ArmName
    """The arm."""
    trial: int
    """Which trial."""
    instances: tuple[str, ...]
    """The tasks."""
    salted: Salted | None = None
    """What keeps the prompts of runs apart; None where nothing has to."""

    @property
    def name(self) -> str:
        """What it is called within its arm and trial."""
        return self.instances[0]

    @property
    def place(self) -> Trial:
        """The folder of its arm and trial."""
        return Study(self.root).trial(self.arm, self.trial)

    @property
    def work(self) -> Path:
        """The folder that it works in."""
        return self.place.work(self.name)


class Outcome(Struct, frozen=True, kw_only=True):
    """What is said of a job that has ended; what it finished stands in its folder."""

    job: Job
    """The job."""
    trouble: str = ""
    """Why some of its tasks are not finished, as far as is known."""


def launcher(job: Job, python: str, *options: str) -> list[str]:
    """What stands before the agent's command in an arm: nothing in the arm base, so that the agent is all there is."""
    switches = SWITCHES[job.arm]
    if switches is None:
        return []
    journals = ("--journal", str(job.place.journals))
    return [python, "-P", "-m", "execledger", "run", "--preset", job.plan.preset, *switches, *journals, *options, "--"]


def last_words(log: Path) -> str:
    """The reason of a failure in one line: the last error that a log names, else its last line.

    Tables and progress bars are no reasons, and an error may go on over several lines.
    """
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    said = [line for line in lines if line and not _DRAWN.search(line)]
    last = max((at for at, line in enumerate(said) if _ERROR.match(line)), default=len(said) - 1)
    return " ".join(said[last:])[:_LONGEST] if said else ""


def settings(values: Mapping[str, Any]) -> list[str]:
    """Settings as both agents take them on the command line, each behind its own ``-c``."""
    return [word for name, value in values.items() for word in ("-c", f"{name}={json.dumps(value)}")]
