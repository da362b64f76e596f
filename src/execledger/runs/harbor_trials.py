"""Trials of Harbor as recorded runs: a trial's folder is one run, although it holds several records of it.

``agent/`` in such a folder has what the agent left: its own log, ATIF that Harbor made of it, and Ledger's journal if
Ledger took part. Of these the richest is read: a journal, else the agent's own log, else ATIF. The journal of an agent
that sent nothing through Ledger holds no run, and neither does what Harbor keeps for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from execledger.errors import ReaderFault, UnreadableRun
from execledger.journal.reader import is_bypassed, is_journal_file
from execledger.runs.find import Records, Source
from execledger.runs.recording import Run

CONFIG, RESULT, AGENT, STEPS = "config.json", "result.json", "agent", "steps"
"""What a trial's folder holds, with folders of its steps in place of ``agent`` if there are several; that of a job has
the first two."""
JOURNALS = "execledger"
"""The folder for journals in ``agent``."""
METADATA = "execledger"
"""The key of ``agent_result.metadata`` in a result that says whether Ledger was installed, and with which options."""
_BESIDE = frozenset({CONFIG, RESULT, "lock.json"})
"""The files that Harbor keeps for itself in the folder of a job."""
_KINDS = ("Ledger's journal", "the agent's own log", "ATIF")
"""The kinds of records, the richest first."""


def is_trial(folder: Path) -> bool:
    """Whether a folder is a trial."""
    named = (folder / CONFIG).is_file() and (folder / RESULT).is_file()
    return named and ((folder / AGENT).is_dir() or (folder / STEPS).is_dir())


def kept_in_job(folder: str, names: Sequence[str]) -> frozenset[str]:
    """The names of the files in a folder that hold no run, if it is a job; none if it is not."""
    job = {CONFIG, RESULT} <= set(names) and any(is_trial(Path(folder, name)) for name in names)
    return _BESIDE if job else frozenset()


def records_of(
    folder: str, find: Callable[[str], Iterator[Source]], read: Callable[[str, bytes], Run]
) -> Records | None:
    """The records of a trial that are read, those of the richest kind; None if a folder is not a trial.

    There are several if sub-agents have logs of their own, or if the trial has several steps.
    """
    if not is_trial(Path(folder)):
        return None
    chosen: list[Source] = []
    kinds: set[int] = set()
    others = 0
    for place in _places(Path(folder)):
        found: dict[int, list[Source]] = {}
        for source in find(str(place)) if place.is_dir() else ():
            if (rank := _rank(source, read)) is not None:
                found.setdefault(rank, []).append(source)
        if found:
            kinds.add(min(found))
            chosen += found.pop(min(found))
            others += sum(map(len, found.values()))
    if not chosen:
        chosen = [Source(folder, lambda: _nothing(folder))]
    return Records(chosen, " or ".join(_KINDS[kind] for kind in sorted(kinds)), others)


def journals_of(folder: Path) -> list[Path]:
    """The journals of a trial, also those of agents that sent nothing through Ledger."""
    return [file for place in _places(folder) for file in sorted((place / JOURNALS).rglob("*.jsonl"))]


def _places(folder: Path) -> list[Path]:
    """The folders in which the agent of a trial leaves its records."""
    return [folder / AGENT, *sorted((folder / STEPS).glob(f"*/{AGENT}"))]


def _rank(source: Source, read: Callable[[str, bytes], Run]) -> int | None:
    """The place of a record's kind among ``_KINDS``; None if it holds no run."""
    if source.name.endswith(".jsonl") and is_journal_file(source.name):
        return None if is_bypassed(source.name) else 0
    try:
        run = read(source.name, source.read())
    except ReaderFault:
        # It is read once more, and the fault is told.
        return 1
    except UnreadableRun:
        return None
    return 2 if run.format == "atif" else 1


def _nothing(folder: str) -> bytes:
    """Raise the error for a trial without a record."""
    raise UnreadableRun(folder, "found a trial of Harbor whose agent left no record, expected a log, ATIF or a journal")
