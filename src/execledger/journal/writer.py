"""Writing a journal: one locked append per event, in a private file.

A write that has returned survives the death of the process, so ``kill -9`` loses at most the event in flight. Nothing
is forced to the disk: only a crash of the whole machine could lose the last seconds.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from execledger.errors import LedgerError
from execledger.journal.codec import encode
from execledger.journal.events import Event
from execledger.journal.folder import private_folder
from execledger.journal.locks import LOCKS, lock_folder, lock_soon
from execledger.journal.open_files import FILES, exhausted
from execledger.journal.reader import has_end
from execledger.redact import redact

SUFFIX = ".ledger.jsonl"
"""The file name suffix of journals."""
_NAME_LENGTH = 120


class JournalError(LedgerError):
    """A journal can't be written; the agent's run goes on without it."""


class Journal:
    """The journal of one run. The first failure raises ``JournalError``; later events are counted and not written.

    It belongs to the process that opened it: a forked child writes nothing to it. Until it is closed, the lock of its
    folder is held, so that ``purge`` does not delete or replace it, also while its file is closed to save descriptors.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        """Writes at ``descriptor``, which is open for appending at ``path``."""
        self.path = path
        """The file."""
        self.dropped = 0
        """Events that were not written."""
        self._descriptor: int | None = descriptor
        """None while the file is closed to save descriptors."""
        self._closed = False
        self._file = Path(os.path.abspath(path))
        """The absolute path: the process may change its working directory."""
        self._state = os.fstat(descriptor)
        self._folder = lock_folder(path)
        self._process = os.getpid()
        self._writing = False
        """The descriptor is being written to."""
        self._lock = threading.RLock()
        """Protects the descriptor: it is not closed while it is written to, nor reopened after ``close``.

        Reentrant, since a finalizer may close the journal on the thread that is closing its file.
        """
        LOCKS.hold(self._folder)
        FILES.used(self, self._rest)

    @classmethod
    def create(cls, folder: Path, name: str) -> Journal:
        """Create a journal for the run ``name``; a number is added to a name that is taken."""
        stem = re.sub(r"[^\w.+@=-]+", "_", redact(name))[:_NAME_LENGTH].lstrip(".") or "run"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            private_folder(folder)
            for number in itertools.count(1):
                path = folder / f"{stem}{f'-{number}' if number > 1 else ''}{SUFFIX}"
                try:
                    return cls(path, FILES.open(path, flags))
                except FileExistsError:
                    continue
        except OSError as error:
            raise _failure(folder, error) from error
        raise AssertionError("a free name is always found")

    @classmethod
    def resume(cls, path: Path) -> Journal:
        """Write on in the journal at ``path``, which has no end yet; a torn last line is terminated first."""
        try:
            journal = cls(path, FILES.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC))
        except OSError as error:
            raise _failure(path, error) from error
        try:
            with journal._lock:
                journal._end_torn_line()
        except OSError as error:
            journal.close()
            raise _failure(path, error) from error
        return journal

    @property
    def broken(self) -> bool:
        """Whether nothing more is written: it is closed, has failed, or belongs to another process."""
        return self._closed or self._process != os.getpid()

    def append(self, event: Event) -> None:
        """Write one event; raises ``JournalError`` the first time that this fails, and never anything else."""
        if self.broken:
            self.dropped += 1
            return
        try:
            line = encode(event)
            with self._lock:
                if self._closed:
                    self.dropped += 1
                    return
                self._writing = True
                try:
                    _write(self._opened(), line)
                finally:
                    self._writing = False
                FILES.used(self, self._rest)
        # The caller expects this one error, and nothing else may reach the agent.
        except Exception as error:
            self.dropped += 1
            self.close()
            raise _failure(self.path.parent if exhausted(error) else self.path, error) from error

    def close(self) -> None:
        """Close the journal; may be called twice."""
        if self._process != os.getpid():
            # The lock of the folder is the parent's, and so is the thread that may have held this one at the fork.
            self._let_go()
            return
        with self._lock:
            if not self._closed:
                self._closed = True
                FILES.closed(self)
                self._let_go()
                LOCKS.release(self._folder)

    def _end_torn_line(self) -> None:
        """Terminate a torn last line; raises ``OSError`` if the file was replaced or its run has ended."""
        descriptor = self._opened()
        with _locked(descriptor):
            state = os.fstat(descriptor)
            if not os.path.samestat(state, os.stat(self._file)):
                # It was deleted after it was opened, and before the lock was held.
                raise OSError(errno.ENOENT, "the file was replaced while it was opened")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                if has_end(file):
                    raise OSError(errno.EINVAL, "its run has ended")
            # From now on it is newer than the lock of its folder, and counts as being written.
            os.utime(descriptor)
            if state.st_size and os.pread(descriptor, 1, state.st_size - 1) != b"\n":
                os.write(descriptor, b"\n")

    def _opened(self) -> int:
        """The descriptor; a file that was closed to save descriptors is reopened, if it is still the same file."""
        if self._descriptor is None:
            descriptor = FILES.open(self._file, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            if not os.path.samestat(os.fstat(descriptor), self._state):
                os.close(descriptor)
                raise OSError(errno.ENOENT, "the file was replaced while it was written")
            self._descriptor = descriptor
        return self._descriptor

    def _rest(self) -> bool:
        """Close the file until the next event, unless one is being written; whether it was closed."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._writing:
                return False
            self._let_go()
            return True
        finally:
            self._lock.release()

    def _let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            # Network file systems may report errors of earlier writes here.
            with suppress(OSError):
                os.close(descriptor)


def _write(descriptor: int, line: bytes) -> None:
    """Append one line, completely or not at all."""
    with _locked(descriptor) as held:
        if os.fstat(descriptor).st_nlink == 0:
            raise OSError(errno.ENOENT, "the file was deleted while it was written")
        written = os.write(descriptor, line)
        if written != len(line):
            if held:
                # Under the lock, the end of the file is our own piece.
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(errno.ENOSPC, "there was no room for a whole line")


@contextmanager
def _locked(descriptor: int) -> Iterator[bool]:
    """Hold the file's lock, or go on without it after a while: appends are atomic even so."""
    held = lock_soon(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB))
    try:
        yield held
    finally:
        if held:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _failure(path: Path, error: Exception) -> JournalError:
    reason = (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {error}"
    return JournalError(f"{path}: the journal can't be written: {reason}", hint="the run goes on without it")
