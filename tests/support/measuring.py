"""Work and memory, measured so that a busy machine changes nothing: calls are counted, and pages are asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import FrameType

from execledger.journal import Journal, StepRecorded
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Shown, Step


class Counted:
    """Counts the calls of Python functions while it is entered."""

    calls = 0
    """How many there were."""

    def __enter__(self) -> Counted:
        self.calls = 0
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, _: FrameType, event: str, __: object) -> None:
        self.calls += event == "call"


def resident(pid: int | None = None) -> int:
    """Kilobytes of memory that a process holds; this one if none is named."""
    number = os.getpid() if pid is None else pid
    status = Path(f"/proc/{number}/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    asked = ["ps", "-o", "rss=", "-p", str(number)]
    return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)


def append_many(path: Path, writer: int, events: int) -> None:
    """Write so many steps to a journal, as one of several processes that do."""
    journal = Journal.resume(path)
    for index in range(events):
        text = f"{writer} {index} " + "x" * (index * 37 % 5_000)
        step = Step(Action(f"echo {writer}"), Allow("new"), Observation(text, exit_status=0), Shown("full"))
        journal.append(StepRecorded(index=index, turn=writer, step=step, sealed=False, since=0, digest=""))
    journal.close()
