"""Which journals are being written, visible to every process on the machine, whether their files are open or not.

A folder of journals has one lock file. A process that writes a journal holds a shared record lock (``fcntl``) on one
byte of that file, whose offset is the journal's inode number, until it closes the journal; whoever deletes or replaces
a journal holds that byte exclusively. The system releases the locks of a process that ends, however it ends, and one
descriptor per folder is enough for any number of journals. The lock file is deleted with the last claim in its folder:
after it has locked a byte, a process checks that the folder's lock file is still the one that it has open.

A process loses its record locks on a file when it closes any descriptor of that file: nothing else may open it.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from execledger.journal.open_files import FILES

LOCK_FILE = ".journals.lock"
"""The lock file of a folder; it is empty."""
_TRIES = 200
_PAUSE = 0.001


def lock_soon(lock: Callable[[], object]) -> bool:
    """Take a lock that others hold only for moments; False if it is not to be had, or if the file system has none."""
    for _ in range(_TRIES):
        try:
            lock()
            return True
        except (BlockingIOError, PermissionError):
            time.sleep(_PAUSE)
        except OSError:
            return False
    return False


class Claim(NamedTuple):
    """One journal, as other processes find it claimed."""

    folder: str
    """The real path of its folder."""
    byte: int
    """The byte of the folder's lock file that is locked."""

    @classmethod
    def of(cls, path: Path, inode: int) -> Claim:
        """The claim to the journal at ``path``, whose file has that number; an offset has 63 bits."""
        return cls(os.path.dirname(os.path.realpath(path)), inode & (2**63 - 1))


class Claims:
    """The journals that this process writes; may be called on any thread."""

    def __init__(self) -> None:
        """No journal yet."""
        self._files: dict[str, _LockFile] = {}
        """The lock files in use, by folder."""
        self._given_up: deque[Claim] = deque()
        """Claims to be released by the thread that holds the mutex."""
        self._mutex = threading.Lock()
        """Protects the lock files, and keeps one of them from being opened twice at once."""
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        """Record locks stay with the parent; the thread that held the mutex does not exist in the child."""
        for file in self._files.values():
            file.close()
        self._files, self._given_up, self._mutex = {}, deque(), threading.Lock()

    def hold(self, claim: Claim) -> None:
        """Claim a journal until ``release``; several writers of one journal may each hold it.

        Never fails: a folder that takes no lock file, a file system without locks, or a byte that another process
        holds exclusively for longer than ``lock_soon`` tries leaves the journal unclaimed, and nothing says so.
        """
        with self._mutex:
            self._files.setdefault(claim.folder, _LockFile(claim.folder)).hold(claim.byte)
        self._settle()

    def release(self, claim: Claim) -> None:
        """Give up what ``hold`` took; never waits, since a finalizer may call it in the middle of anything."""
        self._given_up.append(claim)
        self._settle()

    def _settle(self) -> None:
        """Release what was given up; if the mutex is held, the holding thread does so afterwards."""
        while self._given_up and self._mutex.acquire(blocking=False):
            try:
                while self._given_up:
                    self._release(self._given_up.popleft())
            finally:
                self._mutex.release()

    def _release(self, claim: Claim) -> None:
        file = self._files[claim.folder]
        file.release(claim.byte)
        if not file.held:
            del self._files[claim.folder]
            file.leave()

    @contextmanager
    def excluding(self, claim: Claim) -> Iterator[bool | None]:
        """Keep new writers from a journal; yields whether there is one already, None if that can't be found out."""
        try:
            with self._mutex:
                own = self._files.get(claim.folder)
                file = own or _LockFile(claim.folder)
                # The locks of one process don't exclude each other.
                claimed = claim.byte in file.held
                try:
                    yield claimed or file.exclude(claim.byte)
                finally:
                    if not claimed:
                        file.unlock(claim.byte)
                    if own is None:
                        file.close()
        finally:
            self._settle()


class _LockFile:
    """The lock file of one folder, and what this process holds in it."""

    def __init__(self, folder: str) -> None:
        self.held: Counter[int] = Counter()
        """How many writers of this process hold each byte."""
        self._path = Path(folder, LOCK_FILE)
        self._descriptor: int | None = None

    def hold(self, byte: int) -> None:
        self.held[byte] += 1
        with suppress(OSError):
            self._open(os.O_CREAT)
            while lock_soon(partial(self._lock, fcntl.LOCK_SH, byte)) and not self._stands():
                self._open(os.O_CREAT)

    def release(self, byte: int) -> None:
        self.held[byte] -= 1
        if not self.held[byte]:
            del self.held[byte]
            self.unlock(byte)

    def exclude(self, byte: int) -> bool | None:
        """Hold a byte alone; whether another process holds it, None if that can't be found out."""
        try:
            self._open()
            self._lock(fcntl.LOCK_EX, byte)
            while not self._stands():
                self._open()
                self._lock(fcntl.LOCK_EX, byte)
        except FileNotFoundError:
            # Nothing is claimed in this folder.
            return False
        except BlockingIOError:
            return True
        except OSError:
            return None
        return False

    def unlock(self, byte: int) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, byte)

    def leave(self) -> None:
        """Close the file, and delete it if no other process has locked a byte of it."""
        with suppress(OSError):
            if self._descriptor is not None:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._stands():
                    os.unlink(self._path)
        self.close()

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _open(self, create: int = 0) -> None:
        """Open the file; if the folder has another lock file by now, what is held is locked in that one.

        Each byte is tried once: the mutex is held, and there may be many.
        """
        if self._descriptor is None or not self._stands():
            descriptor = FILES.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | create)
            self.close()
            self._descriptor = descriptor
            for byte in self.held:
                with suppress(OSError):
                    self._lock(fcntl.LOCK_SH, byte)

    def _lock(self, kind: int, byte: int) -> None:
        assert self._descriptor is not None, "the file is open"
        fcntl.lockf(self._descriptor, kind | fcntl.LOCK_NB, 1, byte)

    def _stands(self) -> bool:
        """Whether the open file is the one that others find in the folder."""
        assert self._descriptor is not None, "the file is open"
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.lstat(self._path))
        except OSError:
            return False


CLAIMS = Claims()
"""The claims of this process."""
