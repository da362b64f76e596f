"""Which journal belongs to which recorded run: the two tell of one run, and must not be counted as two."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from execledger.journal.reader import JournalRun, read_journal
from execledger.runs.find import Source

JOURNALS = "journals"
"""The folder for journals beside the runs of an evaluation."""
_ROLLOUT = "rollout-"
_SESSION = 36
"""Characters of the name of one of Codex's sessions."""


class _Ledger(Struct, frozen=True):
    journal: str = ""


class _Info(Struct, frozen=True):
    ledger: _Ledger | None = None


class _Trajectory(Struct, frozen=True):
    info: _Info


class Journals:
    """Finds the journals of runs by name, so that folders may be moved, and keeps which belong to a run."""

    def __init__(self) -> None:
        """None yet."""
        self._taken: set[str] = set()

    def of(self, name: str, data: bytes) -> JournalRun | None:
        """What Ledger recorded of the run in file ``name``; None if nothing is found. Then nothing else counts it."""
        found = self.claim(name, data)
        return read_journal(str(found), found.read_bytes()) if found is not None else None

    def claim(self, name: str, data: bytes) -> Path | None:
        """The journal of the run in file ``name``; None if nothing is found."""
        file = Path(name)
        # Where an instance has a folder of its own, the journals are beside that.
        folders = [parent / place for parent in file.parents[:2] for place in (JOURNALS, "")]
        found = next((path for path in _places(file, data, folders) if path.is_file()), None)
        if found is not None:
            self._taken.add(os.path.realpath(found))
        return found

    def belongs(self, name: str) -> bool:
        """Whether a file is the journal of a run that was there before it."""
        return os.path.realpath(name) in self._taken


def _places(file: Path, data: bytes, folders: list[Path]) -> Iterator[Path]:
    """Where the journal of a run may be."""
    if file.suffix == ".jsonl":
        # Codex's session is a part of either name.
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
    """The same sources; what may be the journal of a run comes after the runs. Of an archive, all is in its order."""
    later: list[Source] = []
    for source in sources:
        file = Path(source.name)
        if file.suffix == ".jsonl" and not file.name.startswith(_ROLLOUT) and file.is_file():
            later.append(source)
        else:
            yield source
    yield from later
