"""Whether journals in a folder are being written, told to other processes by a lock file.

A process that writes journals holds a shared ``flock`` on one file in their folder until it has closed the last of
them, also while the journals themselves are closed to save descriptors. The system releases the lock of a process that
ends, however it ends. The modification time of the lock file is the time since when it has been held without a break:
a journal that is older than that belongs to no writer. The last process to release the lock deletes the file.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from execledger.journal.open_files import FILES, exhausted

LOCK_FILE = ".journals.lock"
"""The lock file of a folder; it is empty."""
CLOCK_SECONDS = 2.0
"""How far two times of one file system may be apart though they mean the same moment: some keep whole seconds."""
_TRIES = 200
_PAUSE = 0.001


def lock_soon(lock: Callable[[], object]) -> bool:
    """Take a lock that others hold only for moments; False if it stays taken, or if the file system has no locks."""
    for _ in range(_TRIES):
        try:
            lock()
            return True
        except (BlockingIOError, PermissionError):
            time.sleep(_PAUSE)
        except OSError:
            return False
    return False


class FolderLocks:
    """The locks that this process holds, one for each folder that it writes journals in; callable on any thread."""

    def __init__(self) -> None:
        """No lock is held yet."""
        self._journals: Counter[str] = Counter()
        """How many journals are being written, by folder."""
        self._descriptors: dict[str, int] = {}
        """The open lock files, by folder."""
        self._mutex = threading.RLock()
        """Protects both. A finalizer may release a lock in the middle of anything, also on the thread that holds it."""
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Close what a forked child inherits: the journals, and so the locks, are its parent's."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._journals, self._descriptors, self._mutex = Counter(), {}, threading.RLock()

    def hold(self, folder: str) -> None:
        """Hold the lock of a folder for one journal more; without a lock, silently, where none can be had."""
        with self._mutex:
            self._journals[folder] += 1
        # Others are closed outside of the mutex: closing them takes other locks.
        while exhausted(self._locked(folder)) and FILES.close_one():
            pass

    def release(self, folder: str) -> None:
        """Release what ``hold`` took; the lock file is deleted if no other process holds it."""
        with self._mutex:
            self._journals[folder] -= 1
            if self._journals[folder]:
                return
            del self._journals[folder]
            descriptor = self._descriptors.pop(folder, None)
            if descriptor is not None:
                _delete_unheld(descriptor, folder)
                os.close(descriptor)

    def _locked(self, folder: str) -> OSError | None:
        """Lock the file of a folder unless that was done already; the error if it can't be opened."""
        with self._mutex:
            held = self._descriptors.get(folder)
            # Somebody may have deleted the folder, and the lock file with it.
            while held is None or not os.fstat(held).st_nlink:
                try:
                    opened = os.open(
                        Path(folder, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
                    )
                except OSError as error:
                    return error
                if held is not None:
                    os.close(held)
                held = self._descriptors[folder] = opened
                _share(held)
        return None


def _share(descriptor: int) -> None:
    """Hold the lock with others; the first one sets the time since when it is held."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.utime(descriptor)
    lock_soon(partial(fcntl.flock, descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB))


def _delete_unheld(descriptor: int, folder: str) -> None:
    """Delete the lock file unless another process holds it."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            os.unlink(Path(folder, LOCK_FILE))


def may_be_written(journal: Path) -> bool:
    """Whether a process may be writing a journal without an end; raises ``OSError`` if that can't be found out.

    It is taken for written if the lock of its folder is held, unless its file was last touched before that.
    """
    folder = lock_folder(journal)
    try:
        descriptor = os.open(Path(folder, LOCK_FILE), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(descriptor).st_nlink:
            # It was released and deleted after it was opened; there may be another one by now.
            return may_be_written(journal)
        # The process that held it was killed.
        _delete_unheld(descriptor, folder)
        return False
    except BlockingIOError:
        return os.stat(journal).st_ctime > os.fstat(descriptor).st_mtime - CLOCK_SECONDS
    finally:
        os.close(descriptor)


def lock_folder(journal: Path) -> str:
    """The real path of the folder that a journal is in."""
    return os.path.dirname(os.path.realpath(journal))


LOCKS = FolderLocks()
"""The locks of this process."""
