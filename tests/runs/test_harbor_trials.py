"""Trials of Harbor: one run each, read from the richest of its records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from execledger.agents.formats import find_recorded, read_run
from execledger.errors import ReaderFault, UnreadableRun
from execledger.runs.harbor_trials import records_of
from execledger.runs.recording import Run
from tests.support.harbor.job import with_bypass, with_records, write_job, write_trial


def sources(*paths: Path) -> tuple[list[str], dict[str, int]]:
    """The names of the sources below paths, and what was passed over."""
    skipped: Counter[str] = Counter()
    return [source.name for source in find_recorded(map(str, paths), skipped=skipped)], dict(skipped)


def test_a_trial_is_one_run(tmp_path: Path) -> None:
    """Of a journal, the agent's own log and ATIF, the first that is there is read; bookkeeping is passed over."""
    job = write_job(tmp_path / "jobs" / "with")
    governed = with_records(write_trial(job, "a"), journal=True)
    plain = with_records(write_trial(job, "b"))
    converted = with_records(write_trial(job, "c"))
    (converted / "agent" / "mini-swe-agent.trajectory.json").unlink()
    (journal,) = (governed / "agent" / "execledger").iterdir()
    own, atif = plain / "agent" / "mini-swe-agent.trajectory.json", converted / "agent" / "trajectory.json"
    assert sources(tmp_path / "jobs") == (
        [str(journal), str(own), str(atif)],
        {
            "other records of trials of which Ledger's journal is read": 2,
            "other records of trials of which the agent's own log is read": 1,
            "files not named like a run": 1,
        },
    )
    assert sources(plain)[0] == [str(own)]


def test_a_journal_of_a_bypass_replaces_no_log(tmp_path: Path) -> None:
    """The agent sent nothing through Ledger, so that its own log is the richest record."""
    trial = with_bypass(with_records(write_trial(write_job(tmp_path / "job"), "a")))
    assert sources(tmp_path)[0] == [str(trial / "agent" / "mini-swe-agent.trajectory.json")]


def test_a_trial_of_several_steps_has_a_record_for_each(tmp_path: Path) -> None:
    """Harbor moves the logs of a step into a folder of its own."""
    trial = with_records(write_trial(write_job(tmp_path / "job"), "a"))
    for step in ("one", "two"):
        with_records(write_trial(trial / "steps", step))
        for name in ("config.json", "result.json", "lock.json"):
            (trial / "steps" / step / name).unlink()
    for file in (trial / "agent").iterdir():
        file.unlink()
    (trial / "agent").rmdir()
    found = [trial / "steps" / step / "agent" / "mini-swe-agent.trajectory.json" for step in ("one", "two")]
    assert sources(tmp_path)[0] == [str(file) for file in found]


@pytest.mark.faults
def test_a_fault_of_ours_in_a_record_is_told(tmp_path: Path) -> None:
    """A record that we fail to read is not taken for one that is missing."""
    trial = with_records(write_trial(write_job(tmp_path / "job"), "a"))

    def read(name: str, data: bytes) -> Run:
        raise ReaderFault(name, "a fault")

    records = records_of(str(trial), lambda path: find_recorded([path]), read)
    assert records is not None
    own = trial / "agent" / "mini-swe-agent.trajectory.json"
    assert str(own) in [source.name for source in records.read]


def test_a_trial_without_a_record_is_named(tmp_path: Path) -> None:
    """The agents nop and oracle leave none."""
    trial = write_trial(write_job(tmp_path / "job"), "a", agent="oracle")
    (source,) = find_recorded([str(tmp_path)])
    with pytest.raises(UnreadableRun, match=f"{trial}: found a trial of Harbor whose agent left no record"):
        read_run(source.name, source.read())


def test_other_folders_with_such_names_are_searched_as_before(tmp_path: Path) -> None:
    """A configuration and a result make no job: runs in files of these names are read."""
    for name in ("config.json", "result.json"):
        (tmp_path / name).write_text("[]")
    assert sources(tmp_path)[0] == [str(tmp_path / "config.json"), str(tmp_path / "result.json")]
