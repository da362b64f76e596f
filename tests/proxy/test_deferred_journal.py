"""A journal whose events are buffered and written later."""

from __future__ import annotations

from pathlib import Path

from execledger.journal.events import ViewRendered
from execledger.proxy.deferred_journal import DeferredJournal
from execledger.proxy.worker import Work, run_to_end


def written(folder: Path) -> list[str]:
    """The kinds of events in the only journal of a folder."""
    (path,) = folder.glob("*.jsonl")
    return [line.partition('"event":"')[2].partition('"')[0] for line in path.read_text().splitlines()]


def test_events_are_written_when_their_time_comes(tmp_path: Path) -> None:
    """What is noted waits, is asked to be written once, and is written in its order."""
    asked: list[Work[None]] = []
    chronicle = DeferredJournal(tmp_path, "run", print, asked.append)
    chronicle.note(ViewRendered(index=0, text="first"))
    chronicle.fault("somewhere", ValueError("second"))
    assert (written(tmp_path), chronicle.summary.counts.faults, len(asked)) == ([], 0, 1)
    run_to_end(asked.pop())
    assert (written(tmp_path), chronicle.summary.counts.faults) == (["view", "fault"], 1)


def test_the_end_waits_for_nothing(tmp_path: Path) -> None:
    """When a run is closed, everything that was noted stands in its journal, and its end last."""
    chronicle = DeferredJournal(tmp_path, "run", print, lambda _: None)
    chronicle.note(ViewRendered(index=0, text="waiting"))
    chronicle.end("done")
    assert written(tmp_path) == ["view", "end"]
