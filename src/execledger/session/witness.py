"""The port of witnesses, which look at the files that results showed, and the witness for files of this machine.

It reads regular files below given folders, within limits.

Whatever can't be read within them is unknown, with the reason. Nothing but a regular file is opened: opening a pipe or
a device can change what other programs see.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from execledger.core.witness import PossibleWrites, ShownRange, Witnessed, unread
from execledger.core.witness_limits import LookLimits
from execledger.vocabulary.sightings import FileSighting

SYSTEM = ("/proc", "/sys")
"""File systems whose files are made while they are read."""
SYSTEM_FOLDERS = ("/proc/", "/sys/", "/dev/")
"""Where these and others of the kind are mounted."""


class Witness(Protocol):
    """The port that adapters implement where they can reach the agent's files."""

    cheap: bool
    """A look costs so little that one is taken right behind a result, before anybody else can write."""

    def look(self, questions: Mapping[str, Sequence[ShownRange]], writes: PossibleWrites) -> list[FileSighting] | None:
        """What became of lines that results showed, by the absolute path of the file.

        None if no look is due, as nothing can have changed since the last one; [] if it failed.
        """
        ...


class LocalWitness:
    """Looks at files of this machine."""

    cheap = True

    def __init__(
        self,
        folders: Iterable[str] = ("/",),
        limits: LookLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Looks at files below ``folders`` alone."""
        self._folders = tuple(os.path.realpath(folder) for folder in folders)
        self._system = frozenset(os.stat(folder).st_dev for folder in SYSTEM if os.path.isdir(folder))
        self._limits = limits or LookLimits()
        self._clock = clock
        self._witnessed = Witnessed()

    def allow(self, folder: str) -> None:
        """Look at files below ``folder`` too."""
        real = os.path.realpath(folder)
        if real not in self._folders:
            self._folders = (*self._folders, real)

    def look(
        self, questions: Mapping[str, Sequence[ShownRange]], writes: PossibleWrites | None = None
    ) -> list[FileSighting]:
        """The sightings of files by their absolute paths, with the lines that were shown of each."""
        until, left = self._clock() + self._limits.seconds, self._limits.bytes
        found: list[FileSighting] = []
        for count, (path, shown) in enumerate(questions.items()):
            if count >= self._limits.files or self._clock() > until:
                found.append(unread(path, shown, "beyond the limits of a look"))
                continue
            try:
                data = self._read(path, min(left, self._limits.file_bytes))
            except (FileNotFoundError, NotADirectoryError):
                found.append(self._witnessed.gone(path, shown))
                continue
            except (OSError, ValueError) as error:
                found.append(unread(path, shown, _reason(error)))
                continue
            left -= len(data)
            found.append(self._witnessed.read(path, shown, data.decode("utf-8", "replace")))
        return found

    def _read(self, path: str, most: int) -> bytes:
        """The bytes of a regular file, as they were between two equal states of it."""
        if "/" not in self._folders:
            path = os.path.realpath(path, strict=True)
            if not any(path == folder or path.startswith(folder + "/") for folder in self._folders):
                raise ValueError("outside the folders that may be looked at")
        if path.startswith(SYSTEM_FOLDERS):
            raise ValueError("not a regular file")
        self._check(os.stat(path), most)
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            before = os.fstat(handle)
            self._check(before, most)
            data = os.read(handle, before.st_size + 1)
            after = os.fstat(handle)
        finally:
            os.close(handle)
        if len(data) != after.st_size or before.st_mtime_ns != after.st_mtime_ns:
            raise ValueError("written while it was read")
        return data

    def _check(self, found: os.stat_result, most: int) -> None:
        """Refuse what is no regular file, or too large."""
        if not stat.S_ISREG(found.st_mode) or found.st_dev in self._system:
            raise ValueError("not a regular file")
        if found.st_size > most:
            raise ValueError("too large for a look")


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "not readable") if isinstance(error, OSError) else str(error)
