"""A bounded number of open files: the least recently used are closed, and reopened when they are needed."""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

MAX_OPEN = 64
"""How many files are kept open; a process may be limited to 256 descriptors, connections included."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE)


def exhausted(error: BaseException | None) -> bool:
    """Whether an error says that no more files can be opened, by this process or on this machine."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTED


class OpenFiles:
    """The open files in order of use, the latest at the end; its methods may be called on any thread."""

    def __init__(self, most: int = MAX_OPEN) -> None:
        """At most about ``most`` files are kept open, more only while as many are being written to."""
        self._most = most
        self._closers: OrderedDict[object, Callable[[], bool]] = OrderedDict()
        self._lock = threading.RLock()
        """Protects the order; reentrant, since a finalizer may run in the middle of anything on the same thread."""
        # A forked child starts anew: the thread that held the lock does not exist in it.
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        self._closers, self._lock = OrderedDict(), threading.RLock()

    def __len__(self) -> int:
        """How many files are open."""
        return len(self._closers)

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        """Open a file; if the process has too many, close others first. Raises ``OSError``."""
        while True:
            try:
                return os.open(path, flags, mode)
            except OSError as error:
                if not exhausted(error) or not self.close_one():
                    raise

    def used(self, owner: object, close: Callable[[], bool]) -> None:
        """Record a use of the file of ``owner``; ``close`` closes it unless it is in use, and says whether it did."""
        with self._lock:
            self._closers.pop(owner, None)
            self._closers[owner] = close
        while self.close_one(self._most):
            pass

    def closed(self, owner: object) -> None:
        """Forget the file of ``owner``, which is closed."""
        with self._lock:
            self._closers.pop(owner, None)

    def close_one(self, kept: int = 0) -> bool:
        """Close the least recently used file if more than ``kept`` are open; whether one was closed."""
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
