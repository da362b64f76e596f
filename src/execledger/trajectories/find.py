"""Finding recorded runs: files, folders and archives, in a fixed order, one in memory at a time."""

from __future__ import annotations

import lzma
import os
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from execledger.errors import LedgerError, UnreadableRun

_RUNS = (".json", ".jsonl", ".traj")
_ARCHIVES = (".tar", ".tar.xz", ".tar.gz", ".txz", ".tgz")
_NOT_RUNS = {"preds.json", "all_preds.jsonl", "predictions.json", "predictions.jsonl", "report.json"}
"""What batch runners leave beside their runs."""

_HINT = "give files, folders or archives (.tar, .tar.gz, .tar.xz) of recorded runs"


class Source(Struct, frozen=True):
    """One file, or one member of an archive, that may hold a recorded run."""

    name: str
    """The path as given, or ``archive!member``."""
    load: Callable[[], bytes]
    """Gives the content."""

    def read(self) -> bytes:
        """The content; raises ``UnreadableRun`` where the file system or the archive does not give it."""
        try:
            return self.load()
        except OSError as error:
            raise UnreadableRun(self.name, f"the file can't be read: {error.strerror or error}") from error


def find_runs(paths: Iterable[str]) -> Iterator[Source]:
    """Every source at or under these paths; a path that does not exist is reported before anything is read."""
    given = list(paths)
    for path in given:
        if not os.path.exists(path):
            raise LedgerError(f"{path}: found nothing there, expected recorded runs", hint=_HINT)
    return (source for path in given for source in _sources(path))


def _sources(path: str) -> Iterator[Source]:
    """The sources of one path. A file that was named is tried, whatever its name."""
    if os.path.isdir(path):
        yield from _in_folder(path)
    elif path.endswith(_ARCHIVES):
        yield from _in_archive(path)
    elif not os.path.isfile(path):
        yield _broken(path, OSError("it is neither a file nor a folder"))
    else:
        yield Source(path, Path(path).read_bytes)


def _in_folder(folder: str) -> Iterator[Source]:
    """Runs and archives in a folder and the folders in it, by name. Links to folders may go round: not followed."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield _broken(folder, error)
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False) or (entry.is_file() and _is_wanted(entry.name)):
            yield from _sources(entry.path)


def _in_archive(path: str) -> Iterator[Source]:
    """The runs in an archive, in its own order. It is read as a stream, so a member must be taken as it comes."""
    try:
        with tarfile.open(path, mode="r|*") as archive:
            for member in archive:
                base = os.path.basename(member.name)
                if member.isfile() and not base.startswith(".") and _may_be_run(base):
                    file = archive.extractfile(member)
                    assert file is not None, "a regular member has content"
                    yield Source(f"{path}!{member.name}", _bytes(file.read()))
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        yield _broken(path, error)


def _is_wanted(name: str) -> bool:
    """A file of this name may hold a run, or many."""
    return _may_be_run(name) or name.endswith(_ARCHIVES)


def _may_be_run(name: str) -> bool:
    """A file of this name may hold a run."""
    return name.endswith(_RUNS) and name not in _NOT_RUNS


def _bytes(data: bytes) -> Callable[[], bytes]:
    return lambda: data


def _broken(path: str, error: Exception) -> Source:
    """A source that gives the error when it is read, so that one broken archive does not hide what comes after it."""

    def load() -> bytes:
        raise UnreadableRun(path, f"expected an archive or folder that can be read, found: {error}") from error

    return Source(path, load)
