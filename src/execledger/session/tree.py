"""The digest of a working tree of this machine: equal digests of one run show that no file of it has changed.

Files that were changed since shortly before the first look are known by their contents. All others are known by what
the file system says of them: size, times and inode. That is sound because every later change moves a file's change
time, which no program can set, behind the first look; a program can restore the modification time, and two changes
within one tick of the file system's clock can have the same times, so neither is relied on.

Caches are left out, and nothing else. Links are not followed, and nothing but a regular file is opened. What exceeds a
limit, is not readable, or changes while it is read makes the digest unknown.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from execledger.core.witness_limits import MAX_TREE_FAILURES, TREE_WINDOW, TreeLimits

WINDOW = TREE_WINDOW * 10**9
"""``TREE_WINDOW`` in nanoseconds."""
CACHE_FOLDERS = frozenset("__pycache__ .pytest_cache .mypy_cache .ruff_cache .git".split())
"""Folders that are left out: caches that programs fill while they only read, and git's own files."""
CACHE_EXTENSIONS = (".pyc", ".pyo")
"""What the names of files end in that are left out: Python's caches of compiled sources."""
OFTEN = 256
"""Entries between two looks at the clock."""


class TreeDigest(NamedTuple):
    """What a look at a working tree found."""

    digest: str = ""
    """The digest; "" if it is unknown."""
    reason: str = ""
    """Why it is unknown; "" if it is not."""


class WorkingTree:
    """The looks of one run at its working tree."""

    def __init__(
        self,
        limits: TreeLimits,
        system: Callable[[], frozenset[int]],
        clock: Callable[[], float],
        wall: Callable[[], int],
        key: bytes = b"",
    ) -> None:
        """No look was taken yet; ``system`` names the devices whose files are made while they are read."""
        self._limits, self._system, self._clock, self._wall = limits, system, clock, wall
        self._key = key
        self._base: int | None = None
        self._failures = 0

    def look(self, folders: Sequence[str]) -> TreeDigest:
        """The digest of all files below ``folders``."""
        if self._failures >= MAX_TREE_FAILURES:
            return TreeDigest(reason="earlier looks had no result")
        now = self._wall()
        self._base = now - WINDOW if self._base is None else self._base
        try:
            if not folders:
                raise ValueError("the working tree is not known")
            if now < self._base + WINDOW:
                raise ValueError("the clock was set back")
            made = _Look(self._limits, self._system(), self._clock, self._base).digest(folders)
            found = TreeDigest(keyed(self._key, made))
        except (OSError, ValueError) as error:
            self._failures += 1
            return TreeDigest(reason=_reason(error))
        self._failures = 0
        return found


def keyed(key: bytes, digest: str) -> str:
    """The digest with the key of a run's sightings: a journal must not allow to test guesses about files."""
    return hashlib.sha256(key + digest.encode()).hexdigest()[:32]


class _Look:
    """One walk through a working tree."""

    def __init__(self, limits: TreeLimits, system: frozenset[int], clock: Callable[[], float], base: int) -> None:
        """Files that were changed at ``base`` or later are read."""
        self._system, self._clock, self._base = system, clock, base
        self._entries, self._bytes, self._until = limits.entries, limits.bytes, clock() + limits.seconds

    def digest(self, folders: Sequence[str]) -> str:
        """The digest of all files below ``folders``."""
        made = hashlib.sha256()
        for root in _outermost([os.path.realpath(folder) for folder in folders]):
            if os.path.dirname(root) == root:
                raise ValueError("the working tree is the whole file system")
            made.update(b"%b\0\0" % os.fsencode(root))
            for line in sorted(self._lines(os.fsencode(root))):
                made.update(line + b"\0")
        return made.hexdigest()

    def _lines(self, root: bytes) -> Iterator[bytes]:
        """A line for each file and folder: its path, a NUL, and what it is known by."""
        left = [root]
        while left:
            folder = left.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._count()
                    name = os.fsdecode(entry.name)
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        if name in CACHE_FOLDERS:
                            continue
                        if status.st_dev in self._system:
                            raise ValueError("a file system of the kernel is mounted in the working tree")
                        left.append(entry.path)
                    if not name.endswith(CACHE_EXTENSIONS):
                        yield entry.path[len(root) + 1 :] + b"\0" + self._known_by(entry.path, status)

    def _count(self) -> None:
        self._entries -= 1
        if self._entries < 0:
            raise ValueError("too many files for a look")
        if self._entries % OFTEN == 0 and self._clock() > self._until:
            raise ValueError("a look takes too long")

    def _known_by(self, path: bytes, status: os.stat_result) -> bytes:
        """What makes a file another one: its kind and mode, and its contents or what the file system says of it."""
        kind = b"%o" % status.st_mode
        if stat.S_ISLNK(status.st_mode):
            return kind + b" " + os.readlink(path)
        if not stat.S_ISREG(status.st_mode):
            return kind
        if status.st_ctime_ns >= self._base:
            return kind + b" holds " + self._contents(path, status)
        return b"%b %d %d %d %d %d" % (kind, *_identity(status))

    def _contents(self, path: bytes, status: os.stat_result) -> bytes:
        """The digest of a regular file that is as ``status`` says before and after it is read."""
        self._bytes -= status.st_size
        if self._bytes < 0:
            raise ValueError("too many bytes for a look")
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            before = os.fstat(handle)
            data = os.read(handle, status.st_size + 1) if stat.S_ISREG(before.st_mode) else b""
            after = os.fstat(handle)
        finally:
            os.close(handle)
        if not _identity(status) == _identity(before) == _identity(after) or len(data) != status.st_size:
            raise ValueError("a file was written while it was read")
        return hashlib.sha256(data).hexdigest().encode()


def _identity(status: os.stat_result) -> tuple[int, int, int, int, int]:
    """What the file system says of a file that changes with every change of it."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _outermost(folders: Sequence[str]) -> list[str]:
    """The folders that are below no other."""
    return sorted({one for one in folders if not any(one.startswith(f"{other}/") for other in folders)})


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "not readable") if isinstance(error, OSError) else str(error)
