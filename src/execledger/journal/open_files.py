"""A bounded number of open files: those that were not used for longest are closed, and opened again when needed."""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

MAX_OPEN = 64
"""Files that are kept open at once; a process may have as few as 256 for everything, connections included."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE)


def exhausted(error: BaseException | None) -> bool:
    """Whether an error says that no more files can be opened, by this process or on this machine."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTED


class OpenFiles:
    """Which files are open, the one used last at the end; may be called on any thread."""

    def __init__(self, most: int = MAX_OPEN) -> None:
        """No file yet; at most about ``most`` are kept open, more only while as many are being written to."""
        self._most = most
        self._closers: OrderedDict[object, Callable[[], bool]] = OrderedDict()
        self._lock = threading.RLock()
        """Protects the order; a finalizer may come in the middle of anything, so the same thread may take it again."""
        # A forked child has its own; whoever held the lock at that moment is not there to release it.
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        self._closers, self._lock = OrderedDict(), threading.RLock()

    def __len__(self) -> int:
        """How many files are open."""
        return len(self._closers)

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        """Open a file; where there are too many, close others first. Raises ``OSError``."""
        while True:
            try:
                return os.open(path, flags, mode)
            except OSError as error:
                if not exhausted(error) or not self.close_one():
                    raise

    def used(self, owner: object, close: Callable[[], bool]) -> None:
        """The file of ``owner`` was used; ``close`` closes it unless it is in use, and says whether it did."""
        with self._lock:
            self._closers.pop(owner, None)
            self._closers[owner] = close
        while self.close_one(self._most):
            pass

    def closed(self, owner: object) -> None:
        """The file of ``owner`` is closed."""
        with self._lock:
            self._closers.pop(owner, None)

    def close_one(self, kept: int = 0) -> bool:
        """Close the file that was not used for longest, if more than ``kept`` are open; whether one was closed."""
        with self._lock:
            if len(self._closers) <= kept:
                return False
            for owner, close in list(self._closers.items()):
                if close():
                    self._closers.pop(owner, None)
                    return True
        return False


FILES = OpenFiles()
"""The open journals of this process."""
