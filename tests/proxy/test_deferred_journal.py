"""A journal whose events are buffered and written later."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from execledger.core.policy import Policy
from execledger.core.rereads import Rereads
from execledger.journal import events
from execledger.journal.events import StepRecorded, ViewRendered
from execledger.journal.reader import read_journal, rebuild
from execledger.proxy.deferred_journal import DeferredJournal
from execledger.proxy.worker import Work, run_to_end
from execledger.session.session import Session
from execledger.vocabulary.actions import Action, Observation
from tests.journal.runs import start

PATIENCE = 60.0
"""Seconds after which a thread is considered to be blocked for good."""
# It is put together here, so that no scanner of repositories takes this file for a leak.
SECRET = "ghp" + "_" + "0123456789abcdefABCDEF"


def written(folder: Path) -> list[str]:
    """The kinds of events in the only journal of a folder."""
    (path,) = folder.glob("*.jsonl")
    return [line.partition('"event":"')[2].partition('"')[0] for line in path.read_text().splitlines()]


def test_events_are_written_when_their_time_comes(tmp_path: Path) -> None:
    """What is noted waits, is asked to be written once, and is written in its order to a file that is created then."""
    asked: list[Work[None]] = []
    chronicle = DeferredJournal(tmp_path, "run", print, asked.append)
    chronicle.note(ViewRendered(index=0, text="first"))
    chronicle.fault("somewhere", ValueError("second"))
    assert ([*tmp_path.iterdir()], chronicle.journal, chronicle.summary.counts.faults, len(asked)) == ([], None, 0, 1)
    run_to_end(asked.pop())
    assert (written(tmp_path), chronicle.summary.counts.faults) == (["view", "fault"], 1)


def test_the_end_waits_for_nothing(tmp_path: Path) -> None:
    """When a run is closed, everything that was noted stands in its journal, and its end last."""
    chronicle = DeferredJournal(tmp_path, "run", print, lambda _: None)
    chronicle.note(ViewRendered(index=0, text="waiting"))
    chronicle.end("done")
    assert written(tmp_path) == ["view", "end"]


def recorded(folder: Path, *commands: str) -> tuple[Session, DeferredJournal]:
    """A session in which these reads of a file with a secret were recorded; nothing is written before its end."""
    chronicle = DeferredJournal(folder, "run", print, lambda _: None)
    chronicle.note(start())
    session = Session(Policy(), "Mend it.", chronicle)
    for command in commands:
        (proposal,) = session.propose([Action(command, "/repo")], sealed=False)
        observation = Observation(f"first\nTOKEN={SECRET}\nlast\n", exit_status=0)
        session.record(session.complete(proposal.action, proposal.decision, observation, ()))
    return session, chronicle


def steps_of(folder: Path) -> list[StepRecorded]:
    """The steps in the only journal of a folder, which is the state that was live."""
    (path,) = folder.glob("*.jsonl")
    run = read_journal("run", path.read_bytes())
    assert rebuild(run).mismatch is None
    return list(run.steps)


@pytest.mark.faults
@pytest.mark.parametrize(
    ("place", "name", "where"), [(Rereads, "take", "measure"), (events, "withheld_lines", "journal")]
)
def test_a_fault_while_the_last_events_are_written_does_not_block_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, where: str
) -> None:
    """It is written behind the event that was being completed and those that were buffered, and before the end."""

    def fail(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(place, name, fail)
    session, chronicle = recorded(tmp_path, "cat a.env")
    chronicle.note(ViewRendered(index=1, text="buffered"))
    ending = threading.Thread(target=chronicle.end, daemon=True)
    ending.start()
    ending.join(PATIENCE)
    assert not ending.is_alive()
    assert [(fault.where, fault.error) for fault in session.faults.first] == [(where, "RuntimeError")]
    assert written(tmp_path) == ["start", "step", "view", "fault", "end"]


@pytest.mark.faults
def test_buffered_steps_are_complete_although_ledger_is_off_when_they_are_written(tmp_path: Path) -> None:
    """They were recorded while it was on: the digests of their lines with secrets are there, and their re-reads."""
    commands = ("cat a.env", "cat a.env")
    for folder, off in ((tmp_path / "on", False), (tmp_path / "off", True)):
        session, chronicle = recorded(folder, *commands)
        if off:
            session.faults.end("record", RuntimeError("planted"))
        chronicle.end()
    on, after = (steps_of(tmp_path / name) for name in ("on", "off"))
    told = [(one.snippet, [number for number, _ in one.step.withheld]) for one in after]
    assert told == [("none", [1]), ("same-range", [1])]
    assert [(one.snippet, one.step.withheld) for one in on] == [(one.snippet, one.step.withheld) for one in after]


@pytest.mark.faults
def test_a_flush_that_fails_does_not_hold_up_the_next_one(tmp_path: Path) -> None:
    """The event that failed is lost, and no other."""
    asked: list[Work[None]] = []
    chronicle = DeferredJournal(tmp_path, "run", print, asked.append)

    def fail() -> ViewRendered:
        raise RuntimeError("planted")

    chronicle.note(ViewRendered(index=0, text="lost"), fail)
    with pytest.raises(RuntimeError, match="planted"):
        run_to_end(asked.pop())
    chronicle.note(ViewRendered(index=1, text="kept"))
    run_to_end(asked.pop())
    assert written(tmp_path) == ["view"]


def test_the_end_is_written_although_another_thread_is_about_to_flush(tmp_path: Path) -> None:
    """That thread finds nothing left."""
    asked: list[Work[None]] = []
    chronicle = DeferredJournal(tmp_path, "run", print, asked.append)
    chronicle.note(ViewRendered(index=0, text="waiting"))
    other = asked.pop()
    next(other)
    chronicle.end("done")
    assert written(tmp_path) == ["view", "end"]
    run_to_end(other)
    assert written(tmp_path) == ["view", "end"]
