"""Finding recorded runs: files, folders and archives, in a fixed order, one in memory at a time.

A file may hold many runs, one to a line, and a folder may hold one, an event to a file.
"""

from __future__ import annotations

import errno
import io
import lzma
import os
import re
import stat
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO, NoReturn

from msgspec import Raw, Struct

from execledger.errors import LedgerError, UnreadableRun, reason
from execledger.journal.locks import LOCK_FILE
from execledger.runs.decoding import MAX_BYTES, TOO_LARGE, fields_of

_RUNS = (".json", ".jsonl", ".traj")
_ARCHIVES = (".tar", ".tar.xz", ".tar.gz", ".txz", ".tgz")
_NOT_RUNS = frozenset(
    "preds.json all_preds.jsonl predictions.json predictions.jsonl report.json metadata.json base_state.json"
    " sessions-index.json plan.json resolved.json".split()
)
"""What agents and batch runners leave beside their runs."""
_COPIES = "event_cache"
"""A folder that repeats the events beside it."""
_TOOLS = frozenset(
    ".git .hg .svn .venv .tox .nox .cache .mypy_cache .pytest_cache .ruff_cache .npm node_modules __pycache__"
    " site-packages .work .replaced .scratch .catalog".split()
)
"""Folders of other programs, and those in which an evaluation works: large, and without runs that are complete."""
_EVENT = re.compile(r"(?:event-)?(\d+)(?:-[\w-]+)?\.json")
"""The name of a file that holds one event."""

_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
"""What a folder may hold beside files and other folders."""
_FIRST_LINE = 100_000_000
"""Bytes of a file's first line that are examined: a foreign file may be one line of any length."""
HINT = "give files, folders or archives (.tar, .tar.gz, .tar.xz) of recorded runs"
"""What to do where no run was found."""


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
        except MemoryError as error:
            raise UnreadableRun(self.name, TOO_LARGE) from error


def find_runs(
    paths: Iterable[str], wanted: Callable[[str], bool] = lambda _: True, skipped: Counter[str] | None = None
) -> Iterator[Source]:
    """Every source at or under these paths; a path that does not exist is reported before anything is read.

    Of the archives in a folder, those that are not ``wanted`` are passed by. What else is passed by in a folder is
    counted in ``skipped``, by reason.
    """
    given = list(paths)
    counts: Counter[str] = Counter() if skipped is None else skipped
    for path in given:
        if found := absent(path):
            raise LedgerError(f"{path}: found {found}, expected recorded runs", hint=HINT)
    return (source for path in given for source in _sources(path, wanted, counts))


def absent(path: str) -> str:
    """What is found at a path where nothing can be read, in words; "" if there is something."""
    try:
        os.stat(path)
    except OSError as error:
        if os.path.islink(path):
            return _dead_link(error)
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        return "nothing there" if missing else f"no way to it: {error.strerror or error}"
    return ""


def _dead_link(error: OSError) -> str:
    """A symbolic link that can't be followed, in words."""
    if error.errno == errno.ELOOP:
        return "a symbolic link that leads back to itself"
    missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    return "a symbolic link that leads nowhere" if missing else error.strerror or str(error)


def _sources(path: str, wanted: Callable[[str], bool], skipped: Counter[str]) -> Iterator[Source]:
    """The sources of one path. A file that was named is tried, whatever its name."""
    if os.path.isdir(path):
        yield from _in_folder(path, wanted, skipped)
    elif path.endswith(_ARCHIVES):
        yield from _in_archive(path)
    elif not os.path.isfile(path):
        yield _broken(path, OSError("it is neither a file nor a folder"))
    elif path.endswith(".jsonl"):
        yield from _in_lines(path)
    else:
        yield Source(path, partial(_whole, path))


def _whole(path: str) -> bytes:
    """A file's content, unless it is too large for a run."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return file.read() if size <= MAX_BYTES else _refuse(path, size)


def _refuse(name: str, size: int) -> NoReturn:
    """Nothing of it is read: one large foreign file should not stop the others."""
    raise UnreadableRun(name, f"found {size:,} bytes, expected at most {MAX_BYTES:,} in one recorded run")


def _in_lines(path: str) -> Iterator[Source]:
    """The runs in a file of lines: one, or one in every line."""
    one = True
    try:
        with open(path, "rb") as file:
            for name, start, size in instances(file):
                one = False
                yield Source(f"{path}!{name}", partial(_slice, path, start, size))
    except (OSError, MemoryError) as error:
        yield _broken(path, error)
    else:
        if one:
            yield Source(path, partial(_whole, path))


def is_instance(fields: Mapping[str, Raw]) -> bool:
    """Whether these are the fields of one run of OpenHands' evaluation harness, which writes many to a file."""
    return "history" in fields and bool(fields.keys() & {"instance_id", "instruction", "metrics"})


def instances(file: BinaryIO) -> Iterator[tuple[str, int, int]]:
    """Name, start and size of every run in a file with one run per line; nothing if the first line is no such run.

    A line that can't be read is named by its number; a repeated name gets a number appended.
    """
    first = fields_of(file.readline(_FIRST_LINE))
    file.seek(0)
    if not is_instance(first):
        return
    seen: Counter[str] = Counter()
    start = 0
    for number, line in enumerate(file, 1):
        if line.strip():
            name = _instance_id(line) or f"line {number}"
            seen[name] += 1
            yield name if seen[name] == 1 else f"{name}#{seen[name]}", start, len(line)
        start += len(line)


def _instance_id(line: bytes) -> str:
    """The instance that a line is about; "" if it names none."""
    told = bytes(fields_of(line).get("instance_id", b""))
    return told[1:-1].decode("utf-8", "replace") if told.startswith(b'"') and b"\\" not in told else ""


def _in_folder(folder: str, wanted: Callable[[str], bool], skipped: Counter[str]) -> Iterator[Source]:
    """Runs and archives in a folder and the folders in it, by name; hidden folders too, since agents keep runs there.

    Links to folders may go round: not followed.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield _broken(folder, error)
        return
    names = [entry.name for entry in entries if not entry.name.startswith(".")]
    if os.path.basename(os.path.abspath(folder)) == "events" and names and all(map(_EVENT.fullmatch, names)):
        yield Source(folder, partial(_events, folder, names))
        return
    for entry in entries:
        if entry.name in (_COPIES, LOCK_FILE):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name in _TOOLS:
                skipped["folders of other programs, such as .git"] += 1
            else:
                yield from _sources(entry.path, wanted, skipped)
        elif entry.name.startswith("."):
            skipped["hidden files"] += 1
        elif found := _no_file(entry):
            yield _broken(entry.path, OSError(found))
        elif entry.name.endswith(_ARCHIVES) and entry.is_file() and not wanted(entry.path):
            continue
        elif entry.is_file() and _is_wanted(entry.name):
            yield from _sources(entry.path, wanted, skipped)
        else:
            skipped["links to folders" if entry.is_dir() else "files not named like a run"] += 1


def _no_file(entry: os.DirEntry[str]) -> str:
    """Why an entry of a folder can't be read although it may be meant as a run; "" if it can, or is not meant so."""
    try:
        mode = entry.stat().st_mode
    except OSError as error:
        return _dead_link(error) if _is_wanted(entry.name) or not isinstance(error, FileNotFoundError) else ""
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or not _is_wanted(entry.name):
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def _in_archive(path: str) -> Iterator[Source]:
    """The runs in an archive, in its own order. It is read as a stream, so a member must be taken as it comes."""
    try:
        with tarfile.open(path, mode="r|*") as archive:
            for member in archive:
                base = os.path.basename(member.name)
                if not member.isfile() or base.startswith(".") or not _may_be_run(base):
                    continue
                name = f"{path}!{member.name}"
                if member.size > MAX_BYTES:
                    yield Source(name, partial(_refuse, name, member.size))
                    continue
                file = archive.extractfile(member)
                assert file is not None, "a regular member has content"
                yield from _in_member(name, file.read())
    except (OSError, EOFError, MemoryError, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        yield _broken(path, error)


def _in_member(name: str, data: bytes) -> Iterator[Source]:
    """The runs in a member of an archive."""
    found = [*instances(io.BytesIO(data))] if name.endswith(".jsonl") else []
    for inner, start, size in found:
        yield Source(f"{name}!{inner}", _bytes(data[start : start + size]))
    if not found:
        yield Source(name, _bytes(data))


def _slice(path: str, start: int, size: int) -> bytes:
    """One line of a file."""
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(size)


def _events(folder: str, names: list[str]) -> bytes:
    """The events of a folder in their order, one to a line."""
    numbered = sorted((int(found[1]), name) for name in names if (found := _EVENT.fullmatch(name)))
    parts = (Path(folder, name).read_bytes() for _, name in numbered)
    # A line break in JSON stands between two values, or nowhere.
    return b"".join(part.replace(b"\n", b" ") + b"\n" for part in parts)


def _is_wanted(name: str) -> bool:
    """A file of this name may hold a run, or many."""
    return _may_be_run(name) or name.endswith(_ARCHIVES)


def _may_be_run(name: str) -> bool:
    """A file of this name may hold a run."""
    return name.endswith(_RUNS) and not name.endswith(".meta.json") and name not in _NOT_RUNS


def _bytes(data: bytes) -> Callable[[], bytes]:
    return lambda: data


def _broken(path: str, error: Exception) -> Source:
    """A source that gives the error when it is read, so that one broken archive does not hide what comes after it."""

    def load() -> bytes:
        found = TOO_LARGE if isinstance(error, MemoryError) else reason(error)
        raise UnreadableRun(path, f"expected an archive, folder or file that can be read, found: {found}") from error

    return Source(path, load)
