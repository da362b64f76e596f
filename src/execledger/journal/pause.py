"""A pause of Ledger in the sessions that are running: ``execledger off`` begins one, and ``execledger on`` ends it.

The pause is an empty file in the state folder, whose modification time is its beginning. It applies to whatever was
started before: a run that is started later has Ledger, although the file is still there.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from execledger.journal.folder import open_private, private_folder, state_folder


def pause_file() -> Path:
    """The file that exists while running sessions are paused."""
    return state_folder() / "paused"


def begin_pause() -> None:
    """Pause Ledger in every session of this user that is running now."""
    file = pause_file()
    private_folder(file.parent)
    open_private(file).close()
    # An empty file that is opened again keeps its time on some file systems.
    os.utime(file)


def end_pause() -> bool:
    """End the pause; whether there was one."""
    try:
        pause_file().unlink()
    except FileNotFoundError:
        return False
    return True


class Pause:
    """Whether one process is paused; a call costs one look at a file's status."""

    def __init__(self) -> None:
        """For a process that starts now."""
        self._file = pause_file()
        self._started = time.time()

    def __call__(self) -> bool:
        """Whether a pause has begun since the start of the process, and has not ended."""
        try:
            return os.stat(self._file).st_mtime >= self._started
        except OSError:
            return False
