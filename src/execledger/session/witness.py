"""The port of witnesses, which look at the files that results showed and at the working tree, and the witness for
files of this machine.

It reads regular files below given folders, within limits.

Whatever can't be read within them is unknown, with the reason. Nothing but a regular file is opened: opening a pipe or
a device can change what other programs see.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import NamedTuple, Protocol

from execledger.core.witness import PossibleWrites, ShownRange, Witnessed, unread
from execledger.core.witness_limits import LookLimits
from execledger.session.abandonable import AbandonableWork
from execledger.session.tree import TreeDigest, WorkingTree
from execledger.vocabulary.sightings import FileSighting

SYSTEM = ("/proc", "/sys")
"""File systems whose files are made while they are read."""
SYSTEM_FOLDERS = ("/proc/", "/sys/", "/dev/")
"""Where these and others of the kind are mounted."""
BEYOND = "beyond the limits of a look"
"""Why a file is unknown that was not reached within the limits."""
STUCK = "the file system did not answer in time"
"""Why a file is unknown while a read has not returned."""


def new_key() -> bytes:
    """A key for the digests of one run's sightings. It is never stored.

    A digest covers lines that no result has shown, so a journal must not allow to test guesses about them; that two
    looks of a run found the same text is all that it says.
    """
    return os.urandom(32)


class LookResult(NamedTuple):
    """What one look found."""

    files: list[FileSighting] | None
    """The files; None if no look at them is due, as nothing can have changed since the last one, [] if it failed."""
    tree: TreeDigest | None = None
    """The working tree, if that was asked for."""


class Witness(Protocol):
    """The port that adapters implement where they can reach the agent's files."""

    cheap: bool
    """A look costs so little that one is taken right behind a result, before anybody else can write."""

    def look(
        self, questions: Mapping[str, Sequence[ShownRange]], writes: PossibleWrites, folders: Sequence[str] = ()
    ) -> LookResult:
        """What became of lines that results showed, by the absolute path of the file; and of the tree of ``folders``.

        The tree is looked at in the same execution, if looks are executed.
        """
        ...

    def tree(self, folders: Sequence[str]) -> TreeDigest:
        """What the working tree of ``folders`` is at this moment.

        Where looks are executed, it takes the place of the next look at files.
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
        read: Callable[[str, int], bytes] | None = None,
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        """Looks at files below ``folders`` alone; ``read`` returns the bytes of one, of at most so many.

        ``wall`` is the clock of the file system, in nanoseconds.
        """
        # Resolved when they are first needed: a file system may not answer.
        self._folders: dict[str, str] = dict.fromkeys(folders, "")
        self._limits = limits or LookLimits()
        self._clock = clock
        self._read = read or read_regular
        self._reading = AbandonableWork()
        key = new_key()
        self._witnessed = Witnessed(key)
        self._walking = AbandonableWork()
        self._tree = WorkingTree(self._limits.tree, _system_devices, clock, wall, key)

    def allow(self, folder: str) -> None:
        """Look at files below ``folder`` too."""
        self._folders.setdefault(folder, "")

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders below which files are looked at."""
        return tuple(self._folders)

    def tree(self, folders: Sequence[str]) -> TreeDigest:
        """What the working tree of ``folders`` is at this moment."""
        found: list[TreeDigest] = []
        # Apart from the files: a large tree must not keep these waiting.
        self._walking.run(lambda: found.append(self._tree.look(folders)), 2 * self._limits.tree.seconds)
        return found[0] if found else TreeDigest(reason=STUCK)

    def look(
        self,
        questions: Mapping[str, Sequence[ShownRange]],
        writes: PossibleWrites | None = None,
        folders: Sequence[str] = (),
    ) -> LookResult:
        """The sightings of files by their absolute paths, with the lines that were shown of each; and the tree."""
        return LookResult(self._look_at_files(questions), self.tree(folders) if folders else None)

    def _look_at_files(self, questions: Mapping[str, Sequence[ShownRange]]) -> list[FileSighting]:
        until = self._clock() + self._limits.seconds
        read: list[bytes | OSError | ValueError] = []
        paths = list(islice(questions, self._limits.files))
        stuck = self._reading.stuck
        self._reading.run(partial(self._read_files, paths, until, read), self._limits.seconds)
        contents = dict(zip(paths, read[:], strict=False))
        late = STUCK if stuck or self._reading.stuck else BEYOND
        # What was read is worth comparing, however long the reading took.
        until = self._clock() + self._limits.seconds
        found: list[FileSighting] = []
        for path, shown in questions.items():
            beyond = path not in contents or self._clock() > until
            found.append(unread(path, shown, late) if beyond else self._sighting(path, shown, contents[path]))
        return found

    def _sighting(self, path: str, shown: Sequence[ShownRange], content: bytes | OSError | ValueError) -> FileSighting:
        """What a file that holds ``content`` says of the lines that were shown, or why it was not read."""
        if isinstance(content, bytes):
            return self._witnessed.read(path, shown, content.decode("utf-8", "replace"))
        if isinstance(content, FileNotFoundError | NotADirectoryError):
            return self._witnessed.gone(path, shown)
        return unread(path, shown, _reason(content))

    def _read_files(self, paths: Sequence[str], until: float, read: list[bytes | OSError | ValueError]) -> None:
        """Append what each file holds, or why it can't be read, until the time is over."""
        left = self._limits.bytes
        for path in paths:
            if self._clock() > until:
                return
            try:
                data = self._read(self._below(path), min(left, self._limits.file_bytes))
            except (OSError, ValueError) as error:
                read.append(error)
                continue
            left -= len(data)
            read.append(data)

    def _below(self, path: str) -> str:
        """The file itself, if it is below a folder that may be looked at."""
        if "/" in self._folders:
            return path
        path = os.path.realpath(path, strict=True)
        for folder, known in list(self._folders.items()):
            self._folders[folder] = real = known or os.path.realpath(folder)
            if path == real or path.startswith(real + "/"):
                return path
        raise ValueError("outside the folders that may be looked at")


def read_regular(path: str, most: int) -> bytes:
    """The bytes of a regular file, as they were between two equal states of it; of at most so many."""
    if path.startswith(SYSTEM_FOLDERS):
        raise ValueError("not a regular file")
    _check(os.stat(path), most)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        before = os.fstat(handle)
        _check(before, most)
        data = os.read(handle, before.st_size + 1)
        after = os.fstat(handle)
    finally:
        os.close(handle)
    if len(data) != after.st_size or before.st_mtime_ns != after.st_mtime_ns:
        raise ValueError("written while it was read")
    return data


def _check(found: os.stat_result, most: int) -> None:
    """Refuse what is no regular file, or too large."""
    if not stat.S_ISREG(found.st_mode) or found.st_dev in _system_devices():
        raise ValueError("not a regular file")
    if found.st_size > most:
        raise ValueError("too large for a look")


@cache
def _system_devices() -> frozenset[int]:
    return frozenset(os.stat(folder).st_dev for folder in SYSTEM if os.path.isdir(folder))


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "not readable") if isinstance(error, OSError) else str(error)
