"""Finding recorded runs: files, folders and archives, in a fixed order, one in memory at a time.

A file may hold many runs, and a folder may be one; which do is known to the packages of agents.
"""

from __future__ import annotations

import errno
import io
import lzma
import os
import stat
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import BinaryIO, NoReturn, TypeAlias

import msgspec
from msgspec import Struct

from execledger.errors import LedgerError, UnreadableRun, reason
from execledger.journal.locks import LOCK_FILE
from execledger.runs.decoding import MAX_BYTES, TOO_LARGE, reader_fault

_RUNS = (".json", ".jsonl", ".traj")
_ARCHIVES = (".tar", ".tar.xz", ".tar.gz", ".txz", ".tgz")
_NOT_RUNS = frozenset(
    "preds.json all_preds.jsonl predictions.json predictions.jsonl report.json metadata.json plan.json"
    " resolved.json".split()
)
"""What batch runners leave beside their runs."""
_PLAN, PLAN_KEYS, _TASKS = "plan.json", frozenset(("plan", "digest", "versions")), "dataset"
"""The file by which the output of an evaluation is known, keys in it, and the folder beside it that has the tasks and
no runs."""
_TOOLS = frozenset(
    ".git .hg .svn .venv .tox .nox .cache .mypy_cache .pytest_cache .ruff_cache .npm node_modules __pycache__"
    " site-packages .work .replaced .scratch .catalog".split()
)
"""Folders of other programs, and those in which an evaluation works: large, and without runs that are complete."""
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
"""What a folder may hold beside files and other folders."""
FURTHER = "further records, such as those of sub-agents"
"""What is passed by in the folder of a trial of which a longer record of the same kind is read."""
REPEATED = "runs that a later log of the same task has again"
"""What is passed by where an engine copied them, or ran them again."""
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
        except UnreadableRun:
            raise
        # A fault of ours costs one run: the next ones are read.
        except Exception as error:
            raise reader_fault(self.name, error) from error


Part: TypeAlias = tuple[str, Callable[[], bytes]]
"""One run of a file with many: its name there, and what gives its content."""


class Bundle(Struct, frozen=True, kw_only=True):
    """A kind of file that holds many runs."""

    endings: tuple[str, ...]
    """How the names of such files end."""
    runs: Callable[[BinaryIO], Iterator[Part]]
    """The runs in a file; none if it is not of this kind. The name of a file on disk is its ``name``."""
    repeated: Callable[[str, Sequence[str]], frozenset[str]] = lambda *_: frozenset()
    """Takes a folder and the names in it; gives the names of the sources there that a later file has again."""


class Records(Struct, frozen=True):
    """The records of one trial of an engine that keeps several of them."""

    read: Source
    """The one that is read."""
    kind: str
    """Its kind, in words."""
    others: int
    """How many records of other kinds are not read."""
    further: int
    """How many records of this kind are not read, such as those of sub-agents and of other steps."""
    damaged: list[UnreadableRun]
    """Why further files that may be records of it can't be read."""


class Kept(Struct, frozen=True, kw_only=True):
    """What is known of the files that agents keep, beyond one file for each run."""

    bundles: tuple[Bundle, ...] = ()
    """Files that hold many runs."""
    folders: tuple[Callable[[str, Sequence[str]], Callable[[], bytes] | None], ...] = ()
    """Each takes a folder and the names in it; gives what reads it if the whole folder is one run, else None."""
    beside: frozenset[str] = frozenset()
    """Names of files and folders that lie beside runs and hold none."""
    trial: Callable[[str], Records | None] = lambda _: None
    """Takes a folder; gives the records to read if it is a trial of an engine, else None."""
    in_job: Callable[[str, Sequence[str]], frozenset[str]] = lambda *_: frozenset()
    """Takes a folder and the names in it; gives those of files that hold no run if it is a job of an engine."""

    def may_bundle(self, name: str) -> bool:
        """Whether only a kind of bundle makes a file of this name a run."""
        return not name.endswith(_RUNS) and any(name.endswith(one.endings) for one in self.bundles)

    def repeated(self, folder: str, names: Sequence[str]) -> frozenset[str]:
        """The names of the sources in a folder that a later file there has again."""
        return frozenset().union(*(one.repeated(folder, names) for one in self.bundles))

    def parts(self, file: BinaryIO, name: str) -> Iterator[Part]:
        """The runs in a file that holds many; none if it is not such a file."""
        for one in self.bundles:
            if name.endswith(one.endings):
                file.seek(0)
                yield from one.runs(file)


NOTHING_KEPT = Kept()
"""One run for each file, and nothing else."""


class _Search(Struct, frozen=True):
    """One search for runs."""

    kept: Kept
    wanted: Callable[[str], bool]
    skipped: Counter[str]


def find_runs(
    paths: Iterable[str],
    wanted: Callable[[str], bool] = lambda _: True,
    skipped: Counter[str] | None = None,
    kept: Kept = NOTHING_KEPT,
) -> Iterator[Source]:
    """Every source at or under these paths; a path that does not exist is reported before anything is read.

    Of the archives in a folder, those that are not ``wanted`` are passed by. What else is passed by in a folder is
    counted in ``skipped``, by reason. ``kept`` describes what agents keep (``agents.formats.find_recorded`` gives it).
    """
    given = list(paths)
    search = _Search(kept, wanted, Counter() if skipped is None else skipped)
    for path in given:
        if found := absent(path):
            raise LedgerError(f"{path}: found {found}, expected recorded runs", hint=HINT)
    return (source for path in given for source in _sources(path, search))


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


def _sources(path: str, search: _Search) -> Iterator[Source]:
    """The sources of one path. An error of the search is raised by a source of that name when it is read."""
    return _guarded(path, _found(path, search))


def _guarded(name: str, sources: Iterator[Source]) -> Iterator[Source]:
    """These sources; an error ends them with a source that raises it when it is read, so that others are still read."""
    try:
        yield from sources
    except UnreadableRun as error:
        yield failing(error, name)
    except (OSError, MemoryError) as error:
        yield _broken(name, error)
    except Exception as error:
        yield failing(reader_fault(name, error))


def _found(path: str, search: _Search) -> Iterator[Source]:
    """The sources of one path. A file that was named is tried, whatever its name."""
    if os.path.isdir(path):
        yield from _in_folder(path, search)
    elif path.endswith(_ARCHIVES):
        yield from _in_archive(path, search.kept)
    elif not os.path.isfile(path):
        yield _broken(path, OSError("it is neither a file nor a folder"))
    else:
        yield from _in_file(path, search.kept)


def _whole(path: str) -> bytes:
    """A file's content, unless it is too large for a run."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return file.read() if size <= MAX_BYTES else _refuse(path, size)


def _refuse(name: str, size: int) -> NoReturn:
    """Nothing of it is read: one large foreign file should not stop the others."""
    raise UnreadableRun(name, f"found {size:,} bytes, expected at most {MAX_BYTES:,} in one recorded run")


def _in_file(path: str, kept: Kept) -> Iterator[Source]:
    """The runs in a file: those of a bundle, else one."""
    one = True
    for source in _in_bundle(path, kept):
        one = False
        yield source
    if one:
        yield Source(path, partial(_whole, path))


def _in_bundle(path: str, kept: Kept) -> Iterator[Source]:
    """The runs in a file that holds many, or the reason why it can't be read; none if it is not such a file."""

    def parts() -> Iterator[Source]:
        with open(path, "rb") as file:
            for name, load in kept.parts(file, path):
                yield Source(f"{path}!{name}", load)

    return _guarded(path, parts())


def failing(error: UnreadableRun, name: str = "") -> Source:
    """A source that raises an error when it is read, by default one of the name that the error tells."""
    return Source(name or error.name, partial(_raise, error))


def _raise(error: Exception) -> NoReturn:
    raise error


def _in_folder(folder: str, search: _Search) -> Iterator[Source]:
    """Runs and archives in a folder and the folders in it, by name; hidden folders too, since agents keep runs there.

    Links to folders may go round: not followed.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield _broken(folder, error)
        return
    kept, skipped = search.kept, search.skipped
    names = [entry.name for entry in entries if not entry.name.startswith(".")]
    for whole in kept.folders:
        if (load := whole(folder, names)) is not None:
            yield Source(folder, load)
            return
    if (records := kept.trial(folder)) is not None:
        if records.others:
            skipped[f"other records of trials of which {records.kind} is read"] += records.others
        if records.further:
            skipped[FURTHER] += records.further
        yield records.read
        yield from map(failing, records.damaged)
        return
    aside, repeated = kept.beside | kept.in_job(folder, names), kept.repeated(folder, names)
    with_tasks = _TASKS in names and _PLAN in names and _has_plan(folder)
    for entry in entries:
        if entry.name == LOCK_FILE or entry.name in aside:
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name in _TOOLS:
                skipped["folders of other programs, such as .git"] += 1
            elif entry.name == _TASKS and with_tasks:
                skipped["folders with the tasks of an evaluation"] += 1
            else:
                yield from _sources(entry.path, search)
        elif entry.name.startswith("."):
            skipped["hidden files"] += 1
        elif found := _no_file(entry):
            yield _broken(entry.path, OSError(found))
        elif entry.name.endswith(_ARCHIVES) and entry.is_file() and not search.wanted(entry.path):
            continue
        elif entry.is_file() and _is_wanted(entry.name):
            yield from _once(_sources(entry.path, search), repeated, skipped)
        elif entry.is_file() and kept.may_bundle(entry.name):
            bundled = [*_in_bundle(entry.path, kept)]
            if not bundled:
                skipped["databases of other programs"] += 1
            yield from _once(bundled, repeated, skipped)
        else:
            skipped["links to folders" if entry.is_dir() else "files not named like a run"] += 1


def _has_plan(folder: str) -> bool:
    """Whether a folder has the plan of an evaluation, be it a damaged one; other programs have files of that name."""
    try:
        plan = msgspec.json.decode(_whole(os.path.join(folder, _PLAN)), type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return False
    except (OSError, UnreadableRun, msgspec.DecodeError):
        return True
    return plan.keys() >= PLAN_KEYS


def _once(sources: Iterable[Source], repeated: frozenset[str], skipped: Counter[str]) -> Iterator[Source]:
    """The sources without those that a later file has again, which are counted."""
    for source in sources:
        if source.name in repeated:
            skipped[REPEATED] += 1
        else:
            yield source


def _no_file(entry: os.DirEntry[str]) -> str:
    """Why an entry of a folder can't be read although it may be meant as a run; "" if it can, or is not meant so."""
    try:
        mode = entry.stat().st_mode
    except OSError as error:
        return _dead_link(error) if _is_wanted(entry.name) or not isinstance(error, FileNotFoundError) else ""
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or not _is_wanted(entry.name):
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def _in_archive(path: str, kept: Kept) -> Iterator[Source]:
    """The runs in an archive, in its own order. It is read as a stream, so a member must be taken as it comes."""
    try:
        with tarfile.open(path, mode="r|*") as archive:
            for member in archive:
                base = os.path.basename(member.name)
                if not member.isfile() or base.startswith(".") or base in kept.beside or not _may_be_run(base):
                    continue
                name = f"{path}!{member.name}"
                if member.size > MAX_BYTES:
                    yield Source(name, partial(_refuse, name, member.size))
                    continue
                file = archive.extractfile(member)
                assert file is not None, "a regular member has content"
                yield from _guarded(name, _in_member(name, file.read(), kept))
    except (OSError, EOFError, MemoryError, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        yield _broken(path, error)


def _in_member(name: str, data: bytes, kept: Kept) -> Iterator[Source]:
    """The runs in a member of an archive."""
    one = True
    for inner, load in kept.parts(io.BytesIO(data), name):
        one = False
        yield Source(f"{name}!{inner}", load)
    if one:
        yield Source(name, _bytes(data))


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
