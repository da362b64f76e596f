"""Processes of agents: each in a session of its own, killed when we die, and all of them stopped by one call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

stopping = threading.Event()
"""Set when no further process is to be started."""
TIED = """
import ctypes, os, signal, sys
parent, *command = sys.argv[1:]
if sys.platform.startswith("linux"):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit(1)
os.execvp(command[0], command)
"""
"""A program that becomes another one, which is killed when the process with the given id dies, by whatever cause.

Only Linux has the means; elsewhere the other program is started as it is. The parent may have died before."""
_running: dict[subprocess.Popen[bytes], bool] = {}
# Guards the table above: jobs run on threads, and signals arrive on the main one.
_lock = threading.RLock()


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    hold: int,
    output: IO[bytes],
    errors: IO[bytes] | None = None,
    variables: Mapping[str, str] | None = None,
    heeds_interrupts: bool = False,
    timeout: float | None = None,
) -> int:
    """Run a command to its end; its exit status.

    It keeps the descriptor ``hold`` open while it lives. ``heeds_interrupts``: told to stop, it finishes what it has
    begun. ``TimeoutExpired`` is raised when it was ended after ``timeout`` seconds.
    """
    tied = [sys.executable, "-I", "-S", "-c", TIED, str(os.getpid()), *command]
    process = subprocess.Popen(
        tied,
        cwd=cwd,
        env=None if variables is None else {**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if errors is None else errors,
        pass_fds=(hold,),
        start_new_session=True,
    )
    with _lock:
        _running[process] = heeds_interrupts
    try:
        return process.wait(timeout)
    finally:
        _end(process)
        with _lock:
            del _running[process]


def interrupt() -> None:
    """Have those that heed it finish what they have begun, and begin nothing else."""
    stopping.set()
    with _lock:
        for process in [one for one, heeds in _running.items() if heeds]:
            process.send_signal(signal.SIGINT)


def kill() -> None:
    """End all of them, at once."""
    stopping.set()
    with _lock:
        for process in _running:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and whatever shares its session: of one that has ended, what cleans up stays."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
