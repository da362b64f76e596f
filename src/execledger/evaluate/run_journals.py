"""Finds the journal that belongs to a recorded run, so that the two are counted as one run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from execledger.journal.reader import JournalRun, read_journal
from execledger.runs.find import Source

JOURNALS = "journals"
"""Name of the folder for journals beside the runs of an evaluation."""
_ROLLOUT = "rollout-"
_SESSION = 36
"""Length of the identifier of a Codex session."""


class _Ledger(Struct, frozen=True):
    journal: str = ""


class _Info(Struct, frozen=True):
    ledger: _Ledger | None = None


class _Trajectory(Struct, frozen=True):
    info: _Info


class Journals:
    """Finds journals by name, so that folders may be moved, and remembers those that belong to a run."""

    def __init__(self) -> None:
        """Start without any."""
        self._taken: set[str] = set()

    def of(self, name: str, data: bytes) -> JournalRun | None:
        """Read the journal of the run in file ``name``, and mark it as belonging to a run; None if there is none."""
        found = self.claim(name, data)
        return read_journal(str(found), found.read_bytes()) if found is not None else None

    def claim(self, name: str, data: bytes) -> Path | None:
        """Return the path of the journal of the run in file ``name``, and mark it; None if there is none."""
        file = Path(name)
        # If each instance has its own folder, the journals are beside that folder.
        folders = [parent / place for parent in file.parents[:2] for place in (JOURNALS, "")]
        found = next((path for path in _places(file, data, folders) if path.is_file()), None)
        if found is not None:
            self._taken.add(os.path.realpath(found))
        return found

    def belongs(self, name: str) -> bool:
        """Return whether a file is the journal of a run that was read before."""
        return os.path.realpath(name) in self._taken


def _places(file: Path, data: bytes, folders: list[Path]) -> Iterator[Path]:
    """Yield the paths at which the journal of a run may be."""
    if file.suffix == ".jsonl":
        # The names of both files contain the identifier of the Codex session.
        session = file.stem[-_SESSION:] if file.name.startswith(_ROLLOUT) else ""
        for folder in folders if session else ():
            yield from (path for path in sorted(folder.glob(f"*{session}*")) if path.name != file.name)
        return
    try:
        ledger = msgspec.json.decode(data, type=_Trajectory).info.ledger
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    if ledger is not None and ledger.journal:
        yield from (folder / Path(ledger.journal).name for folder in folders)
        yield Path(ledger.journal)


def runs_first(sources: Iterable[Source]) -> Iterator[Source]:
    """Yield the sources with files that may be journals after the runs; members of archives keep their order."""
    later: list[Source] = []
    for source in sources:
        file = Path(source.name)
        if file.suffix == ".jsonl" and not file.name.startswith(_ROLLOUT) and file.is_file():
            later.append(source)
        else:
            yield source
    yield from later
