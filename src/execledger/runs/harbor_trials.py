"""Trials of Harbor as recorded runs: a trial's folder is one run, although it holds several records of it.

``agent/`` in such a folder has what the agent left: its own log, ATIF that Harbor made of it, and Ledger's journal if
Ledger took part. Of these the richest is read: a journal, else the agent's own log, else ATIF; of several of one kind,
as those of sub-agents, of steps and of parts of a run, the longest. The journal of an agent that sent nothing through
Ledger holds no run, and neither does what Harbor keeps for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os.path import abspath, isdir, isfile
from pathlib import Path

from execledger.errors import ReaderFault, UnreadableRun
from execledger.journal.reader import is_bypassed, is_journal_file
from execledger.runs.decoding import Undecodable, fields_of
from execledger.runs.find import Records, Source, failing
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
_NOTHING = "found a trial of Harbor whose agent left no record, expected a log, ATIF or a journal"
"""What is said of a trial whose agent left no record, not even a damaged one."""
_KINDS = ("Ledger's journal", "the agent's own log", "ATIF")
"""The kinds of records, the richest first."""


def is_trial(folder: Path) -> bool:
    """Whether a folder is a trial. One that was killed has no result, but its configuration names it."""
    config = folder / CONFIG
    # In a folder without rights these functions find nothing, where those of ``Path`` raise.
    if not isfile(config):
        return False
    # Empty folders are lost in some copies of a job.
    left = isdir(folder / AGENT) or isdir(folder / STEPS)
    return (isfile(folder / RESULT) and left) or _names_trial(config)


def _names_trial(config: Path) -> bool:
    """Whether a file is the configuration of a trial."""
    try:
        return {"trial_name", "task"} <= fields_of(config.read_bytes()).keys()
    except OSError:
        return False


def kept_in_job(folder: str, names: Sequence[str]) -> frozenset[str]:
    """The names of the files in a folder that hold no run, if it is a job; none if it is not."""
    job = CONFIG in names and any(is_trial(Path(folder, name)) for name in names)
    return _BESIDE if job else frozenset()


def records_of(
    folder: str, find: Callable[[str], Iterator[Source]], read: Callable[[str, bytes], Run]
) -> Records | None:
    """The records of a trial; None if a folder is none, nor the one in which the agent of a trial leaves its records.

    ``find`` gives the sources in a folder, as if it were not that of a trial.
    """
    places = _places(Path(folder))
    if not places:
        return None
    chosen: list[tuple[int, Source]] = []
    others = 0
    damaged: list[UnreadableRun] = []
    for place in places:
        found: dict[int, list[Source]] = {}
        for source in find(str(place)) if place.is_dir() else ():
            if (rank := _rank(source, read, damaged)) is not None:
                found.setdefault(rank, []).append(source)
        if found:
            best = min(found)
            chosen += ((best, source) for source in found.pop(best))
            others += sum(map(len, found.values()))
    if not chosen:
        unread = damaged.pop(0) if damaged else UnreadableRun(folder, _NOTHING)
        return Records(failing(unread), "", others, 0, damaged)
    kind, longest = max(chosen, key=lambda one: _length(one[1])) if len(chosen) > 1 else chosen[0]
    return Records(longest, _KINDS[kind], others, len(chosen) - 1, damaged)


def journals_of(folder: Path) -> list[Path]:
    """The journals of a trial, also those of agents that sent nothing through Ledger."""
    return [file for place in _places(folder) for file in sorted((place / JOURNALS).rglob("*.jsonl"))]


def _places(folder: Path) -> list[Path]:
    """The folders in which the agent of a trial leaves its records, or the folder itself if it is one of them; else
    none."""
    if is_trial(folder):
        return [folder / AGENT, *sorted((folder / STEPS).glob(f"*/{AGENT}"))]
    own = Path(abspath(folder))
    step = own.parent
    inside = own.name == AGENT and (is_trial(step) or (step.parent.name == STEPS and is_trial(step.parent.parent)))
    return [folder] if inside else []


def _rank(source: Source, read: Callable[[str, bytes], Run], damaged: list[UnreadableRun]) -> int | None:
    """The place of a record's kind among ``_KINDS``; None if it holds no run, or is ``damaged``, which is noted."""
    if source.name.endswith(".jsonl") and is_journal_file(source.name):
        return None if is_bypassed(source.name) else 0
    try:
        data = source.read()
    except UnreadableRun as error:
        damaged.append(error)
        return None
    try:
        run = read(source.name, data)
    except ReaderFault:
        # It is read once more, and the fault is told.
        return 1
    except Undecodable as error:
        damaged.append(error)
        return None
    except UnreadableRun:
        return None
    return 2 if run.format == "atif" else 1


def _length(source: Source) -> int:
    """The length of a record; 0 if it can't be read."""
    try:
        return len(source.read())
    except UnreadableRun:
        return 0
