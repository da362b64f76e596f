"""Finding and counting runs in a worker process: the messages of its protocol, and the client that starts it.

The client restarts a worker that dies, without the run that it was counting.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.policy import Policy
from execledger.viewer.counting import RunLine

Stamp: TypeAlias = tuple[int, int, int]
"""What tells one state of a file from another: time of change, size, inode."""


NO_FILE: Stamp = (0, 0, 0)
"""The state of a file that is not there."""


class Errand(Struct, frozen=True, kw_only=True):
    """What is to be looked for."""

    paths: tuple[str, ...]
    """Files, folders and archives."""
    policy: Policy | None = None
    """What runs are replayed under; None is their own, and journals are told as they are."""
    newer: float = 0.0
    """Runs that began before this moment are left out, and files that were last written before it."""
    without: tuple[str, ...] = ()
    """Runs that are named and not counted."""


class Begun(Struct, frozen=True):
    """A new look begins."""


class FoundRun(Struct, frozen=True):
    """A run may be there."""

    name: str
    """Its name."""
    file: str
    """The file, archive or folder that it is in."""
    stamp: Stamp
    """The state of that."""


class Counting(Struct, frozen=True):
    """A run is being counted: if nothing comes after this, it was the last that the process did."""

    name: str
    """Its name."""


class Counted(Struct, frozen=True):
    """A run was counted."""

    name: str
    """Its name."""
    line: RunLine
    """What it came to."""
    over: bool
    """Its end is recorded."""


class Unread(Struct, frozen=True):
    """A run can't be read."""

    name: str
    """Its name."""
    reason: str
    """Why."""


class Listed(Struct, frozen=True):
    """Everything that is there was named."""


class Done(Struct, frozen=True):
    """A look is over."""

    rest: int = 0
    """Runs that are still to be counted: so many that it is better to look for new ones first."""


Note: TypeAlias = Begun | FoundRun | Counting | Counted | Unread | Listed | Done


def stamp_of(file: str) -> Stamp:
    """The state of a file; ``NO_FILE`` if it is gone."""
    try:
        state = os.stat(file)
    except OSError:
        return NO_FILE
    return (state.st_mtime_ns, state.st_size, state.st_ino)


COMMAND = (sys.executable, "-P", "-m", "execledger.viewer.worker")
"""The process."""


class Seeker:
    """Looks for runs again and again, on a thread of its own."""

    def __init__(self, errand: Errand, tell: Callable[[Note], None], command: Sequence[str] = COMMAND) -> None:
        """Looks for what ``errand`` says, and tells what it finds on its thread."""
        self._errand = errand
        self._tell = tell
        self._command = command
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="execledger-seeker", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """Look once more."""
        self._asked.put(True)

    def close(self) -> None:
        """Look no more."""
        self._closed = True
        self._asked.put(False)
        while self._thread.is_alive():
            # Whatever the thread reads from the process ends with it; it may just be starting one.
            if self._process is not None:
                self._process.kill()
            self._thread.join(0.05)

    def _work(self) -> None:
        while self._asked.get() and not self._closed:
            counting = ""
            for note in self._notes():
                counting = note.name if isinstance(note, Counting) else counting
                self._tell(note)
                if isinstance(note, Done):
                    break
            else:
                self._died(counting)
        self._let_go()

    def _let_go(self) -> None:
        """End the process, and let go of its pipes."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:
                return

    def _notes(self) -> Iterator[Note]:
        """What the process finds, until it is done or dies."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):
            pickle.dump(self._errand, process.stdin)
            process.stdin.flush()
            while True:
                yield pickle.load(process.stdout)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._process

    def _died(self, counting: str) -> None:
        """Go on without the run that the process died of; without one there is nothing to go on with."""
        self._let_go()
        if self._closed:
            return
        if counting and counting not in self._errand.without:
            self._tell(Unread(counting, "it can't be counted: the process that read it died"))
            self._errand = replace(self._errand, without=(*self._errand.without, counting))
            self.look()
        else:
            self._tell(Unread(self._command[-1], "runs can't be looked for: the process that does it died"))
            self._tell(Done())
