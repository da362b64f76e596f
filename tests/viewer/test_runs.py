"""The list of runs: found and counted by another process, asked for at any time."""

from __future__ import annotations

import os
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from execledger.journal.events import Counts, Ended, Event, FaultCaught
from execledger.journal.reader import LIVE_SECONDS
from execledger.viewer.counting import RunLine, run_id
from execledger.viewer.runs import MAX_OPEN, Filter, NoSuchRun, OpenRuns, RunList
from execledger.viewer.scan import (
    CountStarted,
    FoundRun,
    ListComplete,
    RunCounted,
    RunUnreadable,
    ScanClient,
    ScanDone,
    ScanEvent,
    ScanRequest,
    ScanStarted,
    stamp_of,
)
from execledger.viewer.worker import RunSearch
from tests.journal.runs import plain_step, start
from tests.viewer.stage import DEMO, PATIENCE, journal_bytes, shown, told


def journal(path: Path, model: str = "some/model", steps: int = 2, *, ended: bool = True) -> Path:
    """A small journal at ``path``."""
    events: list[Event] = [start(model=model), *map(plain_step, range(steps))]
    path.write_bytes(journal_bytes([*events, *([Ended(reason="Submitted", counts=Counts())] if ended else [])]))
    return path


@contextmanager
def shelf_of(*paths: Path, **errand: float) -> Iterator[RunList]:
    """A shelf whose runs are counted."""
    shelf = RunList(ScanRequest(paths=tuple(map(str, paths)), **errand))  # type: ignore[arg-type]
    try:
        assert shelf.wait(PATIENCE, counted=True)
        yield shelf
    finally:
        shelf.close()


def looked(shelf: RunList) -> RunList:
    """The shelf after another look, however short ago the last one was."""
    shelf._looked = -1e9
    shelf.look()
    assert shelf.wait(PATIENCE, counted=True)
    return shelf


def test_a_thousand_runs_are_listed_filtered_sorted_and_paged(tmp_path: Path) -> None:
    """Each of them counted once, whatever the list is asked for."""
    for number in range(1000):
        journal(tmp_path / f"run-{number:03}.ledger.jsonl", f"model {number % 10}", steps=number % 7)
    with shelf_of(tmp_path) as shelf:
        assert (shelf.listing().total, shelf.listing().pending, len(shelf.listing(limit=50).runs)) == (1000, 0, 50)
        found = shelf.listing(Filter(q="MODEL run-01", model="model 3"), sort="steps", desc=True)
        assert [(Path(line.name).name, line.model, line.steps) for line in found.runs] == [
            ("run-013.ledger.jsonl", "model 3", 6)
        ]
        most = shelf.listing(Filter(q="run-01"), sort="steps", desc=True)
        assert [line.steps for line in most.runs] == sorted((number % 7 for number in range(10, 20)), reverse=True)
        pages = [shelf.listing(sort="name", offset=offset, limit=400).runs for offset in (0, 400, 800)]
        names = [line.name for page in pages for line in page]
        assert names == sorted(names) and len(set(names)) == 1000


def test_the_newest_come_first_unless_told_otherwise(tmp_path: Path) -> None:
    """And by name where they are of the same time."""
    for name, time in (("b", 2), ("c", 1), ("a", 1)):
        os.utime(journal(tmp_path / f"{name}.ledger.jsonl"), (time, time))
    with shelf_of(tmp_path) as shelf:
        assert [Path(line.name).name[0] for line in shelf.listing().runs] == ["b", "a", "c"]


def test_what_is_not_known_is_sorted_before_what_is(tmp_path: Path) -> None:
    """Tokens of input, say."""
    told_tokens = Ended(reason="", counts=Counts(), input_tokens=5)
    (tmp_path / "a.jsonl").write_bytes(journal_bytes([start(), told_tokens]))
    journal(tmp_path / "b.jsonl")
    with shelf_of(tmp_path) as shelf:
        assert [line.input_tokens for line in shelf.listing(sort="input_tokens").runs] == [None, 5]


def test_files_that_are_no_runs_are_named(tmp_path: Path) -> None:
    """With the reason, and the others are listed all the same."""
    (tmp_path / "bad.json").write_text('{"a": 1}')
    (tmp_path / "worse.jsonl").write_bytes(b"\xff\xfe")
    (tmp_path / "broken.tar").write_bytes(b"no archive")
    journal(tmp_path / "good.ledger.jsonl")
    with shelf_of(tmp_path) as shelf:
        listing = shelf.listing()
    assert [Path(line.name).name for line in listing.runs] == ["good.ledger.jsonl"]
    reasons = {Path(one["name"]).name: one["reason"] for one in listing.unreadable}
    assert sorted(reasons) == ["bad.json", "broken.tar", "worse.jsonl"]
    assert reasons["bad.json"].startswith("found an object with the keys a, expected")


def test_runs_in_archives_are_listed_and_opened(tmp_path: Path) -> None:
    """By the name of the archive and of the member."""
    archive = tmp_path / "runs.tar.xz"
    with tarfile.open(archive, "w:xz") as file:
        file.add(DEMO, "inner/demo.traj.json")
        file.add(journal(tmp_path / "one.jsonl"), "inner/one.jsonl")
    (tmp_path / "one.jsonl").unlink()
    with shelf_of(archive) as shelf:
        steps = {line.name: line.steps for line in shelf.listing().runs}
        assert steps == {f"{archive}!inner/demo.traj.json": 14, f"{archive}!inner/one.jsonl": 2}
        runs = OpenRuns(shelf)
        for name, count in steps.items():
            reading = runs.get(run_id(name)).reading
            reading.read()
            assert (len(reading.model), reading.over) == (count, True)
            assert reading.step(1).index == 1


def test_what_comes_goes_and_grows_is_noticed(tmp_path: Path) -> None:
    """At the next look; what is as it was is not counted again."""
    gone, grown = journal(tmp_path / "gone.ledger.jsonl"), journal(tmp_path / "grown.ledger.jsonl", ended=False)
    with shelf_of(tmp_path) as shelf:
        gone.unlink()
        journal(tmp_path / "new.ledger.jsonl", steps=3)
        with grown.open("ab") as file:
            file.write(journal_bytes([plain_step(2)]))
        lines = {Path(line.name).name: line for line in looked(shelf).listing().runs}
        assert {name: (line.steps, line.live) for name, line in lines.items()} == {
            "grown.ledger.jsonl": (3, True),
            "new.ledger.jsonl": (3, False),
        }


def test_a_journal_that_grows_is_counted_on(tmp_path: Path) -> None:
    """What was counted is not read again: it could stand there no more, and the sum would still be right."""
    path = journal(tmp_path / "one.ledger.jsonl", steps=3, ended=False)
    with shelf_of(tmp_path) as shelf:
        size = path.stat().st_size
        with path.open("r+b") as file:
            first = len(file.readline())
            file.write(b"x" * (size - first - 1) + b"\n")
            file.write(journal_bytes([plain_step(3)]))
        (line,) = looked(shelf).listing().runs
        assert line.steps == 4
        # Another file under the same name is another run.
        path.unlink()
        journal(path, steps=2)
        (line,) = looked(shelf).listing().runs
        assert line.steps == 2


def test_runs_are_chosen_by_their_fields(tmp_path: Path) -> None:
    """By one agent, model or task, by faults and by words, all at once; what can be chosen is told with its number."""
    for number in range(6):
        fault = FaultCaught(where="govern", error="KeyError")
        task = f"<issue>task {number // 3}</issue>"
        begun = start(agent=f"agent {number % 2}", model=f"model {number % 3}", task=task)
        events: list[Event] = [begun, plain_step(0), *([fault] if number > 3 else [])]
        (tmp_path / f"{number}.ledger.jsonl").write_bytes(journal_bytes(events))
    with shelf_of(tmp_path) as shelf:

        def names(**fields: Any) -> list[str]:
            return sorted(Path(line.name).name[0] for line in shelf.listing(Filter(**fields)).runs)

        assert names(agent="agent 1") == ["1", "3", "5"]
        assert names(agent="agent 1", model="model 0") == ["3"]
        assert names(task="task 1", faults=True, q="AGENT") == ["4", "5"]
        assert names(agent="agent") == []
        choices = shelf.listing(Filter(q="nothing like it")).choices
    assert choices == {
        "agent": [("agent 0", 3), ("agent 1", 3)],
        "model": [("model 0", 2), ("model 1", 2), ("model 2", 2)],
        "task": [("task 0", 3), ("task 1", 3)],
    }


def test_a_journal_that_has_not_grown_for_long_is_dead(tmp_path: Path) -> None:
    """Its end will never come."""
    path = journal(tmp_path / "dead.ledger.jsonl", ended=False)
    long_ago = os.stat(path).st_mtime - LIVE_SECONDS - 1
    os.utime(path, (long_ago, long_ago))
    with shelf_of(tmp_path) as shelf:
        assert [line.live for line in shelf.listing().runs] == [False]


def test_only_files_of_a_run_that_began_are_looked_at(tmp_path: Path) -> None:
    """Beside an agent, journals of earlier runs are of no interest."""
    os.utime(journal(tmp_path / "old.ledger.jsonl"), (1000, 1000))
    os.utime(journal(tmp_path / "new.ledger.jsonl"), (3000, 3000))
    with shelf_of(tmp_path, newer=2000.0) as shelf:
        assert [Path(line.name).name for line in shelf.listing().runs] == ["new.ledger.jsonl"]


def test_a_search_counts_nothing_twice(tmp_path: Path) -> None:
    """The second look names what is there, and that is all."""
    path = journal(tmp_path / "one.ledger.jsonl")
    search, errand = RunSearch(), ScanRequest(paths=(str(tmp_path),))
    found = FoundRun(str(path), str(path), stamp_of(str(path)))
    first = list(search.notes(errand))
    assert [type(note) for note in first] == [ScanStarted, FoundRun, ListComplete, CountStarted, RunCounted, ScanDone]
    assert list(search.notes(errand)) == [ScanStarted(), found, ListComplete(), ScanDone()]


def test_counting_much_hides_nothing_new(tmp_path: Path) -> None:
    """When the time of a look is over, the next one finds what has come and counts it before the rest."""
    for number in range(3):
        os.utime(journal(tmp_path / f"{number}.ledger.jsonl"), (1000 + number, 1000 + number))
    search, errand = RunSearch(budget=0.0), ScanRequest(paths=(str(tmp_path),))

    def looked_at() -> tuple[list[str], ScanEvent]:
        *notes, done = search.notes(errand)
        return [Path(note.name).name[:1] for note in notes if isinstance(note, RunCounted)], done

    assert looked_at() == (["2"], ScanDone(2))
    journal(tmp_path / "9.ledger.jsonl")
    assert [looked_at() for _ in range(4)] == [
        (["9"], ScanDone(2)),
        (["1"], ScanDone(1)),
        (["0"], ScanDone()),
        ([], ScanDone()),
    ]


def test_an_archive_is_read_once(tmp_path: Path) -> None:
    """What is in it is known until it is another file, whatever else comes into its folder."""
    inner, archive = journal(tmp_path / "one.jsonl"), tmp_path / "runs.tar"
    with tarfile.open(archive, "w") as file:
        file.add(inner, "one.jsonl")
    inner.unlink()
    search, errand = RunSearch(), ScanRequest(paths=(str(tmp_path),))
    first = {note.name for note in search.notes(errand) if isinstance(note, FoundRun)}
    state = archive.stat()
    with archive.open("r+b") as broken:
        broken.write(bytes(state.st_size))
    os.utime(archive, ns=(state.st_atime_ns, state.st_mtime_ns))
    for name in ("two", "three"):
        new = journal(tmp_path / f"{name}.ledger.jsonl")
        notes = list(search.notes(errand))
        assert not any(isinstance(note, RunUnreadable) for note in notes)
        first.add(str(new))
        assert {note.name for note in notes if isinstance(note, FoundRun)} == first
    os.utime(archive)
    assert f"{archive}!one.jsonl" not in {note.name for note in search.notes(errand) if isinstance(note, FoundRun)}


def test_a_path_that_is_gone_is_named(tmp_path: Path) -> None:
    """It may have been there when the viewer was started."""
    notes = list(RunSearch().notes(ScanRequest(paths=(str(tmp_path / "gone"),))))
    assert [type(note) for note in notes] == [ScanStarted, RunUnreadable, ListComplete, ScanDone]


DYING = """
import pickle, sys
from execledger.viewer.scan import *
errand = pickle.load(sys.stdin.buffer)
for note in (ScanStarted(), CountStarted("evil"))[: None if "evil" not in errand.without else 1]:
    pickle.dump(note, sys.stdout.buffer)
if "evil" in errand.without:
    pickle.dump(ScanDone(), sys.stdout.buffer)
"""


@pytest.mark.parametrize(
    ("script", "told_notes"),
    [
        (
            DYING,
            [
                ScanStarted(),
                CountStarted("evil"),
                RunUnreadable("evil", "it can't be counted: the process that read it died"),
            ],
        ),
        ("", []),
    ],
)
def test_a_process_that_dies_is_replaced(script: str, told_notes: list[ScanEvent]) -> None:
    """It goes on without the run that it died of; if there is none to blame, that is said, and nobody waits."""
    notes: list[ScanEvent] = []
    done = threading.Event()

    def tell(note: ScanEvent) -> None:
        notes.append(note)
        if isinstance(note, ScanDone):
            done.set()

    seeker = ScanClient(ScanRequest(paths=()), tell, (sys.executable, "-c", script))
    seeker.look()
    assert done.wait(PATIENCE)
    seeker.close()
    last = (
        [ScanStarted(), ScanDone()]
        if script
        else [RunUnreadable("", "runs can't be looked for: the process that does it died"), ScanDone()]
    )
    assert notes == [*told_notes, *last]


def test_what_is_open_is_bounded_and_stands_while_its_file_does(tmp_path: Path) -> None:
    """The same reading is given until the file is another one; those used least are let go."""
    paths = [journal(tmp_path / f"{number}.ledger.jsonl") for number in range(MAX_OPEN + 1)]
    with shelf_of(tmp_path) as shelf:
        runs = OpenRuns(shelf)
        opened = {path: runs.get(run_id(str(path))) for path in paths}
        assert runs.get(run_id(str(paths[1]))) is opened[paths[1]]
        assert runs.get(run_id(str(paths[0]))) is not opened[paths[0]]
        journal(paths[1], steps=4)
        again = runs.get(run_id(str(paths[1])))
        again.reading.read()
        assert len(again.reading.model) == 4


def test_a_growing_journal_is_read_on_and_a_replaced_one_anew(tmp_path: Path) -> None:
    """By its inode and its size."""
    path = tmp_path / "one.ledger.jsonl"
    events = told([shown("ls"), shown("pwd")])
    path.write_bytes(journal_bytes(events[:2]))
    with shelf_of(tmp_path) as shelf:
        runs = OpenRuns(shelf)
        opened = runs.get(run_id(str(path)))
        opened.reading.read()
        with path.open("ab") as file:
            file.write(journal_bytes(events[2:]))
        assert runs.get(run_id(str(path))) is opened
        path.unlink()
        path.write_bytes(journal_bytes(events[:1]))
        assert runs.get(run_id(str(path))) is not opened


def test_an_unknown_id_opens_nothing(tmp_path: Path) -> None:
    """However it is made up."""
    secret = journal(tmp_path / "secret.ledger.jsonl")
    (tmp_path / "given").mkdir()
    with shelf_of(tmp_path / "given") as shelf:
        for asked in ("", "0" * 16, run_id(str(secret)), str(secret)):
            with pytest.raises(NoSuchRun):
                OpenRuns(shelf).get(asked)


def test_a_run_that_is_not_counted_yet_is_listed(tmp_path: Path) -> None:
    """With its name, and the word that it is pending."""
    shelf = RunList(ScanRequest(paths=(str(tmp_path),)))
    shelf._take(FoundRun("one", "one", (1, 2, 3)))
    line = RunLine(id=run_id("one"), name="one", pending=True)
    assert (shelf.listing().runs, shelf.listing().pending) == ([line], 1)
    shelf.close()
