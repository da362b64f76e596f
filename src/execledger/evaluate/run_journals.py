"""Finds the journal that belongs to a recorded run, so that the two are counted as one run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from execledger.agents.evaluation import JOURNALS, RECORDED
from execledger.agents.registry import agents
from execledger.errors import UnreadableRun, reason
from execledger.journal.reader import JournalRun, is_journal_file, read_journal
from execledger.runs.find import Source


class Journals:
    """Finds journals by name, so that folders may be moved, and remembers those that belong to a run."""

    def __init__(self) -> None:
        """Start without any."""
        self._taken: set[str] = set()

    def of(self, name: str, data: bytes, unreadable: list[str]) -> JournalRun | None:
        """Read the journal of the run in file ``name``, and mark it as belonging to a run; None if there is none.

        One that can't be read is noted, and counts as lost.
        """
        found = self.claim(name, data)
        try:
            return read_journal(str(found), found.read_bytes()) if found is not None else None
        except (OSError, UnreadableRun) as error:
            said = f"{found}: {reason(error)}" if isinstance(error, OSError) else str(error)
            unreadable += [said] if said not in unreadable else []
        return None

    def claim(self, name: str, data: bytes) -> Path | None:
        """Return the path of the journal of the run in file ``name``, and mark it; None if there is none."""
        file = Path(name)
        if file.parent.name == RECORDED and (own := _own_journal(file.parent.parent / JOURNALS)) is not None:
            self._taken.add(os.path.realpath(own))
            return own
        # If each instance has its own folder, the journals are beside that folder.
        folders = [parent / place for parent in file.parents[:2] for place in (JOURNALS, "")]
        found = next((path for path in _places(file, data, folders) if os.path.isfile(path)), None)
        if found is not None:
            self._taken.add(os.path.realpath(found))
        return found

    def belongs(self, name: str) -> bool:
        """Return whether a file is the journal of a run that was read before."""
        return os.path.realpath(name) in self._taken


def _own_journal(folder: Path) -> Path | None:
    """Return the journal in the folder of one task; if the agent opened several sessions, the longest."""
    files = (path for path in folder.glob("*.jsonl") if os.path.isfile(path))
    return max(files, key=lambda path: path.stat().st_size, default=None)


def _places(file: Path, data: bytes, folders: list[Path]) -> Iterator[Path]:
    """Yield the paths at which the journal of a run may be, as the agents' packages tell."""
    for agent in agents():
        if not agent.journal_names:
            continue
        for found in agent.part("journal_names")(file, data):
            if isinstance(found, Path):
                # The folders may have been moved since the path was noted.
                yield from (folder / found.name for folder in folders)
                yield found
            else:
                named = (path for folder in folders for path in sorted(folder.glob(found)))
                yield from (path for path in named if path.name != file.name)


def runs_first(sources: Iterable[Source]) -> Iterator[Source]:
    """Yield the sources with journals after the runs; members of archives keep their order."""
    later: list[Source] = []
    for source in sources:
        if source.name.endswith(".jsonl") and is_journal_file(source.name):
            later.append(source)
        else:
            yield source
    yield from later
