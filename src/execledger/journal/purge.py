"""Deleting journals: finding them, selecting by age and run, and skipping those that may still be written.

A file is a journal by its content, not by its name alone, and symbolic links are never followed. Skipped files are
named with the reason.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.errors import LedgerError
from execledger.journal.locks import may_be_written
from execledger.journal.reader import has_end, may_grow, read_header
from execledger.journal.writer import SUFFIX

FRESH_SECONDS = 3600.0
"""A journal without an end that was written within this time may belong to a run whose lock is not visible here."""
MAX_LISTED = 10
"""How many runs are listed if a name is ambiguous."""
_FIRST_LINE = 1_000_000


class FoundJournal(Struct, frozen=True):
    """One journal."""

    path: Path
    """Its file."""
    run: str
    """The name of its run."""
    size: int
    """Its size in bytes."""
    changed: float
    """When it was last written to, in seconds."""
    identity: tuple[int, int]
    """Device and inode of the file."""
    busy: str = ""
    """Why it is skipped; "" if it is not."""

    @property
    def name(self) -> str:
        """The file's name without the suffix that every journal has."""
        return self.path.name.removesuffix(SUFFIX)


class Skipped(Struct, frozen=True):
    """A file that is not deleted although it is named like a journal."""

    path: str
    """Where it is."""
    reason: str
    """Why."""


def find_journals(paths: Sequence[Path], left: list[Skipped], now: float | None = None) -> Iterator[FoundJournal]:
    """Every journal in and below these folders; files that are only named like one are added to ``left``."""
    now = time.time() if now is None else now
    for path in paths:
        if path.is_symlink() and path.name.endswith(SUFFIX):
            left.append(Skipped(str(path), "is a symbolic link"))
        elif path.exists() and not path.is_dir():
            yield from _looked_at(path, left, now)
        for folder, _, names in os.walk(path, onerror=partial(_unread, left)):
            for name in sorted(names):
                if name.endswith(SUFFIX):
                    yield from _looked_at(Path(folder, name), left, now)


def _unread(left: list[Skipped], error: OSError) -> None:
    """Add an unreadable folder to ``left``; one that does not exist, or is a file, is ignored."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        left.append(Skipped(str(error.filename), f"can't be read: {error.strerror or error}"))


def _looked_at(path: Path, left: list[Skipped], now: float) -> Iterator[FoundJournal]:
    try:
        with open_plain(path) as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                left.append(Skipped(str(path), "is no plain file"))
                return
            header = read_header(file.readline(_FIRST_LINE))
            if header is None:
                left.append(Skipped(str(path), "holds no journal"))
                return
            found = FoundJournal(path, header.run, state.st_size, state.st_mtime, (state.st_dev, state.st_ino))
            ended = has_end(file)
        yield replace(found, busy=_busy(found, ended, now))
    except OSError as error:
        link = path.is_symlink()
        left.append(Skipped(str(path), "is a symbolic link" if link else f"can't be read: {error.strerror or error}"))


def _busy(found: FoundJournal, ended: bool, now: float) -> str:
    """Why a journal is skipped; "" if it is not."""
    if ended:
        return ""
    try:
        if may_be_written(found.path):
            return "is being written"
    except OSError:
        return "has no end, and its file system does not tell whether it is being written"
    if may_grow(found.changed, now, FRESH_SECONDS):
        return "has no end, and was written to within the last hour: its run may go on"
    return ""


def delete(found: FoundJournal) -> str:
    """Delete a journal; why that was not done, or "" if it is gone."""
    try:
        with open_plain(found.path) as file:
            state = os.fstat(file.fileno())
            if (state.st_dev, state.st_ino, state.st_size) != (*found.identity, found.size):
                return "has changed meanwhile"
            if not has_end(file) and may_be_written(found.path):
                return "is being written"
            os.unlink(found.path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"can't be deleted: {error.strerror or error}"
    return ""


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading without following a symbolic link, and without waiting for the writer of a pipe."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


class JournalSelection(Struct, frozen=True):
    """Which journals are to be deleted."""

    older_than: float | None = None
    """Those last written more than this many seconds ago."""
    runs: tuple[str, ...] = ()
    """Those of these runs, by name, path or unambiguous beginning of the name; all if empty."""

    def among(self, journals: Sequence[FoundJournal], now: float) -> list[FoundJournal]:
        """The selected journals; raises ``LedgerError`` if a run is not found or its name is ambiguous."""
        old = [one for one in journals if self.older_than is None or now - one.changed > self.older_than]
        if not self.runs:
            return old
        meant = {one.path for run in self.runs for one in _named(run, old)}
        return [one for one in old if one.path in meant]


def _named(run: str, journals: Sequence[FoundJournal]) -> list[FoundJournal]:
    """The journals of the run named ``run``, with or without the suffix of the file name."""
    if os.sep in run:
        whole = [
            one for one in journals if one.path.absolute() in (Path(run).absolute(), Path(run + SUFFIX).absolute())
        ]
    else:
        whole = [one for one in journals if run.removesuffix(SUFFIX) in (one.run, one.name)]
    found = whole or [one for one in journals if one.run.startswith(run) or one.name.startswith(run)]
    if not found:
        raise LedgerError(f"--run {run}: found no journal of this run")
    if not whole and len(found) > 1:
        listed = ", ".join(one.name for one in found[:MAX_LISTED])
        more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
        raise LedgerError(f"--run {run}: {len(found)} runs begin like this", hint=f"name one of: {listed}{more}")
    return found


class PurgeTotals(Struct):
    """The totals of a purge."""

    deleted: int = 0
    """Journals that were deleted, or would be."""
    bytes: int = 0
    """Their size together."""
    kept: int = 0
    """Journals that were not selected."""
    rewritten: int = 0
    """Journals in which something was redacted, or would be."""
    edits: int = 0
    """Edits that were deleted, or would be."""
    left: list[Skipped] = msgspec.field(default_factory=list)
    """Files that were skipped."""

    def add(self, found: FoundJournal, work: Callable[[FoundJournal], str]) -> None:
        """Apply ``work`` to a journal; it returns why that was not done, or ""."""
        reason = found.busy or work(found)
        if reason:
            self.left.append(Skipped(str(found.path), reason))
        else:
            self.deleted += 1
            self.bytes += found.size
