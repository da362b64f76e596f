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
"""The state of a file: modification time in ns, size, inode; equal stamps mean an unchanged file."""


NO_FILE: Stamp = (0, 0, 0)
"""The stamp of a file that does not exist."""


class ScanRequest(Struct, frozen=True, kw_only=True):
    """What the worker scans for runs, and how it counts them."""

    paths: tuple[str, ...]
    """Files, folders and archives."""
    policy: Policy | None = None
    """The policy that runs are replayed under; None replays each under its own, and takes journals as recorded."""
    newer: float = 0.0
    """Runs that began before this time, and files last written before it, are left out."""
    without: tuple[str, ...] = ()
    """Names of runs that are listed and not counted."""


class ScanStarted(Struct, frozen=True):
    """A scan has started."""


class FoundRun(Struct, frozen=True):
    """A file or archive member that may hold a run."""

    name: str
    """Its name."""
    file: str
    """The file, archive or folder that it is in."""
    stamp: Stamp
    """The state of that file."""


class CountStarted(Struct, frozen=True):
    """The worker starts to count a run: if it dies next, it died of this run."""

    name: str
    """Its name."""


class RunCounted(Struct, frozen=True):
    """A run was counted."""

    name: str
    """Its name."""
    line: RunLine
    """Its line in the list."""
    over: bool
    """Its end is recorded."""


class RunUnreadable(Struct, frozen=True):
    """A run that can't be read."""

    name: str
    """Its name."""
    reason: str
    """Why."""


class ListComplete(Struct, frozen=True):
    """Every run that exists was named."""


class ScanDone(Struct, frozen=True):
    """The scan is over."""

    rest: int = 0
    """How many runs are not counted yet: the next scan looks for new runs first, then counts on."""


ScanEvent: TypeAlias = ScanStarted | FoundRun | CountStarted | RunCounted | RunUnreadable | ListComplete | ScanDone


def stamp_of(file: str) -> Stamp:
    """The state of a file; ``NO_FILE`` if it does not exist."""
    try:
        state = os.stat(file)
    except OSError:
        return NO_FILE
    return (state.st_mtime_ns, state.st_size, state.st_ino)


COMMAND = (sys.executable, "-P", "-m", "execledger.viewer.worker")
"""The command line of the worker process."""


class ScanClient:
    """Runs scans in a worker process, and passes its events on from a thread of its own."""

    def __init__(
        self, request: ScanRequest, tell: Callable[[ScanEvent], None], command: Sequence[str] = COMMAND
    ) -> None:
        """Scan as ``request`` says; ``tell`` is called with each event on the client's thread."""
        self._request = request
        self._tell = tell
        self._command = command
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="execledger-seeker", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """Ask for one scan more."""
        self._asked.put(True)

    def close(self) -> None:
        """Stop the thread and the process."""
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
                counting = note.name if isinstance(note, CountStarted) else counting
                self._tell(note)
                if isinstance(note, ScanDone):
                    break
            else:
                self._died(counting)
        self._stop_process()

    def _stop_process(self) -> None:
        """Kill the process and close its pipes."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:
                return

    def _notes(self) -> Iterator[ScanEvent]:
        """The events of one scan, until it is done or the process dies."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):
            pickle.dump(self._request, process.stdin)
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
        """Scan again without the run that the process died of; give up if it died of none."""
        self._stop_process()
        if self._closed:
            return
        if counting and counting not in self._request.without:
            self._tell(RunUnreadable(counting, "it can't be counted: the process that read it died"))
            self._request = replace(self._request, without=(*self._request.without, counting))
            self.look()
        else:
            self._tell(RunUnreadable(self._command[-1], "runs can't be looked for: the process that does it died"))
            self._tell(ScanDone())
