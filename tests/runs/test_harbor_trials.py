"""Trials of Harbor: one run each, read from the richest of its records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from execledger.agents.formats import find_recorded, read_run, trial_records
from execledger.errors import ReaderFault, UnreadableRun
from execledger.runs.find import FURTHER
from execledger.runs.recording import Run
from tests.runs.samples import encoded
from tests.runs.samples_agents import interchange
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


def test_a_trial_that_was_killed_is_one_run(tmp_path: Path) -> None:
    """Harbor had no time to write its result, nor that of the job."""
    job = write_job(tmp_path / "job")
    trial = with_records(write_trial(job, "a"), journal=True)
    (trial / "config.json").write_text('{"task": {"path": "tasks/fix-add"}, "trial_name": "a"}')
    for folder in (job, trial):
        (folder / "result.json").unlink()
    (journal,) = (trial / "agent" / "execledger").iterdir()
    assert sources(tmp_path)[0] == [str(journal)]
    (trial / "config.json").write_text("{}")
    assert len(sources(tmp_path)[0]) > 1, "it may be anything"


def test_of_several_records_of_one_kind_the_longest_is_read(tmp_path: Path) -> None:
    """Harbor's terminus_2 leaves ATIF of each part of a run; what is not read is told."""
    job = write_job(tmp_path / "job")
    trial = write_trial(job, "a", agent="terminus-2")
    parts = [trial / "agent" / f"trajectory{part}.json" for part in ("", ".cont-1", ".summarization-1-summary")]
    for part in parts:
        part.write_bytes(encoded(interchange()))
    parts[1].write_bytes(parts[1].read_bytes() + b"\n")
    assert sources(job) == ([str(parts[1])], {FURTHER: 2, "files not named like a run": 1})


@pytest.mark.parametrize("place", ["agent", "steps/one/agent"])
def test_the_folder_of_a_trials_records_is_one_run(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the trial itself, however the folder is named; other folders of that name are searched as before."""
    trial = with_records(write_trial(write_job(tmp_path / "job"), "a"), journal=True)
    folder = trial / place
    if not folder.exists():
        folder.parent.mkdir(parents=True)
        (trial / "agent").rename(folder)
    (journal,) = (folder / "execledger").iterdir()
    told = {"other records of trials of which Ledger's journal is read": 2}
    assert sources(folder) == ([str(journal)], told)
    monkeypatch.chdir(folder)
    assert sources(Path()) == ([f"./{journal.relative_to(folder)}"], told)
    (trial / "config.json").unlink()
    assert len(sources(folder)[0]) == 3


def test_of_a_trial_of_several_steps_the_longest_record_is_read(tmp_path: Path) -> None:
    """Harbor moves the logs of a step into a folder of its own."""
    trial = with_records(write_trial(write_job(tmp_path / "job"), "a"))
    for step in ("one", "two"):
        with_records(write_trial(trial / "steps", step))
        for name in ("config.json", "result.json", "lock.json"):
            (trial / "steps" / step / name).unlink()
    for file in (trial / "agent").iterdir():
        file.unlink()
    (trial / "agent").rmdir()
    longer = trial / "steps" / "two" / "agent" / "mini-swe-agent.trajectory.json"
    longer.write_text(longer.read_text() + "\n")
    names, told = sources(tmp_path)
    assert (names, told[FURTHER]) == ([str(longer)], 1)


@pytest.mark.faults
def test_a_fault_of_ours_in_a_record_is_told(tmp_path: Path) -> None:
    """A record that we fail to read is not taken for one that is missing."""
    trial = with_records(write_trial(write_job(tmp_path / "job"), "a"))

    def read(name: str, data: bytes) -> Run:
        raise ReaderFault(name, "a fault")

    records = trial_records(str(trial), read)
    assert records is not None and records.kind == "the agent's own log"


def test_a_trial_without_a_record_is_named(tmp_path: Path) -> None:
    """The agents nop and oracle leave none."""
    trial = write_trial(write_job(tmp_path / "job"), "a", agent="oracle")
    (source,) = find_recorded([str(tmp_path)])
    with pytest.raises(UnreadableRun, match=f"{trial}: found a trial of Harbor whose agent left no record"):
        read_run(source.name, source.read())


def test_a_damaged_record_is_named_with_the_reason(tmp_path: Path) -> None:
    """Be it the only one of a trial or not; a file that is no record is not named."""
    job = write_job(tmp_path / "job")
    alone, beside = write_trial(job, "a"), with_records(write_trial(job, "b"))
    for trial in (alone, beside):
        (trial / "agent" / "settings.json").write_text('{"theme": "dark"}')
        (trial / "agent" / "trajectory.json").write_bytes(encoded(interchange())[:99])
    said = []
    for source in find_recorded([str(job)]):
        try:
            read_run(source.name, source.read())
            said.append(source.name)
        except UnreadableRun as error:
            said.append(str(error))
    torn = "agent/trajectory.json: expected JSON, found: Input data was truncated"
    assert said == [f"{alone}/{torn}", f"{beside}/agent/mini-swe-agent.trajectory.json", f"{beside}/{torn}"]


def test_other_folders_with_such_names_are_searched_as_before(tmp_path: Path) -> None:
    """A configuration and a result make no job: runs in files of these names are read."""
    for name in ("config.json", "result.json"):
        (tmp_path / name).write_text("[]")
    assert sources(tmp_path)[0] == [str(tmp_path / "config.json"), str(tmp_path / "result.json")]
