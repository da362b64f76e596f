"""A run that grows while it is looked at: nothing is lost, nothing comes twice, and its end is told."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from execledger.journal.events import Counts, Ended
from execledger.viewer.live import Pace
from tests.support.long_journal import write_long_run
from tests.viewer.stage import DEMO, api, journal_bytes, read_journal, served, shown, told

EVENTS = told([shown(f"cat {name}.py", f"{name}\n" * 9) for name in "abcdef"])
END = Ended(reason="Submitted", counts=Counts())


class StepDetail(NamedTuple):
    """One event."""

    kind: str
    number: int
    data: dict[str, Any]


def heard(answer: HTTPResponse) -> Iterator[StepDetail]:
    """The events that a page hears, each when it has come."""
    fields: dict[str, str] = {}
    while line := answer.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if line != "\n":
            fields[name] = value
            continue
        if "event" in fields:
            yield StepDetail(fields["event"], int(fields["id"]), json.loads(fields["data"]))
        fields = {}


def append(path: Path, data: bytes) -> None:
    """Write on, as the agent's process does."""
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal with two of its steps."""
    path = tmp_path / "run.ledger.jsonl"
    path.write_bytes(journal_bytes(EVENTS[:3]))
    return path


def test_new_steps_come_as_they_are_written(journal: Path) -> None:
    """With the same columns and events that the whole run has, and the end when it is written."""
    with served(journal) as page, page.open(f"{api(journal)}/events") as answer:
        events = heard(answer)
        parts = [next(events)]
        for event in EVENTS[3:]:
            append(journal, journal_bytes([event]))
            parts.append(next(events))
        assert [(part.kind, part.number, part.data["first"], part.data["line"]["live"]) for part in parts] == [
            ("steps", 2, 0, True),
            ("steps", 3, 2, True),
            ("steps", 4, 3, True),
            ("steps", 5, 4, True),
            ("steps", 6, 5, True),
        ]
        append(journal, journal_bytes([END]))
        (end,) = events
        assert (end.kind, end.number, end.data["line"]["ended"]) == ("end", 6, "Submitted")
        assert end.data["reason"] == "finished"
        whole = page.get(api(journal))
        for name, column in whole["steps"].items():
            assert [entry for part in parts for entry in part.data["steps"][name]] == column
        grown = {file["path"]: file for part in parts for file in part.data["files"]}
        assert [file["path"] for file in whole["files"]] == list(grown)


def test_a_torn_line_waits_until_it_is_whole(journal: Path) -> None:
    """Half a line is no step, and no damage either."""
    line = journal_bytes([EVENTS[3]])
    with served(journal) as page, page.open(f"{api(journal)}/events") as answer:
        events = heard(answer)
        next(events)
        append(journal, line[:50])
        assert len(page.get(api(journal))["steps"]["label"]) == 2
        append(journal, line[50:])
        assert next(events).data["steps"]["label"] == ["cat c.py"]
        assert page.get(api(journal))["trouble"] == []


@pytest.mark.parametrize(
    ("query", "headers"), [("?after=1", {}), ("", {"Last_Event_ID": "1"}), ("?after=0", {"Last_Event_ID": "1"})]
)
def test_a_viewer_that_comes_back_gets_what_it_has_missed(journal: Path, query: str, headers: dict[str, str]) -> None:
    """Behind the last step that it has seen, by its own word or by the browser's, which is newer."""
    with served(journal) as page, page.open(f"{api(journal)}/events{query}", **headers) as answer:
        part = next(heard(answer))
    assert (part.number, part.data["first"], part.data["steps"]["label"]) == (2, 1, ["cat b.py"])
    assert [file["name"] for file in part.data["files"]] == ["b.py"]


def test_nothing_is_lost_when_the_server_restarts(journal: Path) -> None:
    """The new server has the same addresses, and goes on where the old one stopped."""
    with served(journal) as page, page.open(f"{api(journal)}/events") as answer:
        first = next(heard(answer))
        port = page.port
    append(journal, journal_bytes(EVENTS[3:5]))
    seen = str(first.number)
    with served(journal, port=port) as page, page.open(f"{api(journal)}/events", Last_Event_ID=seen) as answer:
        events = heard(answer)
        second = next(events)
        append(journal, journal_bytes([*EVENTS[5:], END]))
        # What is written at once may be read in several parts.
        *rest, end = events
    labels = [label for part in (first, second, *rest) for label in part.data["steps"]["label"]]
    assert (labels, end.kind) == ([f"cat {name}.py" for name in "abcdef"], "end")


def test_a_run_that_was_replaced_begins_anew(journal: Path) -> None:
    """A viewer that has seen more steps than there are is told the new run from its beginning."""
    with served(journal) as page, page.open(f"{api(journal)}/events") as answer:
        events = heard(answer)
        assert next(events).number == 2
        new = journal.with_name("new")
        new.write_bytes(journal_bytes([*EVENTS[:2], END]))
        new.replace(journal)
        part, end = events
    assert (part.number, part.data["first"], end.kind) == (1, 0, "end")


def test_somebody_who_hears_nothing_knows_that_the_server_is_there(journal: Path) -> None:
    """Comments are sent while nothing happens."""
    pace = Pace(poll=0.01, heartbeat=0.02)
    with served(journal, pace=pace) as page, page.open(f"{api(journal)}/events?after=2") as answer:
        assert [answer.readline() for _ in range(3)] == [b"retry: 1000\n", b"\n", b": still here\n"]


def test_a_recorded_run_is_told_to_its_end(tmp_path: Path) -> None:
    """A replay, and a journal that takes several parts; whatever the parts are, together they are the run."""
    path = tmp_path / "long.ledger.jsonl"
    write_long_run(path, steps=80, size=80_000)
    with served(path, DEMO, pace=Pace(first=60.0, chunk=0.001)) as page:
        for run, steps in ((path, 80), (DEMO, 14)):
            with page.open(f"{api(run)}/events") as answer:
                *parts, end = heard(answer)
            whole = page.get(api(run))
            assert [label for part in parts for label in part.data["steps"]["label"]] == whole["steps"]["label"]
            assert (end.kind, end.number, end.data["line"]) == ("end", steps, whole["line"])
            assert tracks(part.data["files"] for part in parts) == tracks([whole["files"]])


def tracks(parts: Any) -> dict[str, list[Any]]:
    """The events of each file, part behind part."""
    events: dict[str, list[Any]] = {}
    for files in parts:
        for file in files:
            events.setdefault(file["path"], []).extend(file["events"])
    return events


def test_a_run_without_an_end_that_nobody_writes_has_an_end(tmp_path: Path) -> None:
    """A journal in an archive can't grow, and one that was left long ago does not."""
    path = tmp_path / "left.ledger.jsonl"
    path.write_bytes(journal_bytes(EVENTS[:3]))
    with tarfile.open(tmp_path / "runs.tar", "w") as archive:
        archive.add(path, "left.ledger.jsonl")
    os.utime(path, (1000, 1000))
    os.utime(tmp_path / "runs.tar", (1000, 1000))
    with served(tmp_path) as page:
        for run in (path, f"{tmp_path / 'runs.tar'}!left.ledger.jsonl"):
            with page.open(f"{api(run)}/events") as answer:
                assert [event.kind for event in heard(answer)] == ["steps", "end"]


def test_a_journal_that_is_deleted_has_an_end(journal: Path) -> None:
    """Whoever watches is told that it is gone, with what it came to so far; whoever comes later is told no."""
    with served(journal.parent) as page, page.open(f"{api(journal)}/events") as answer:
        events = heard(answer)
        assert next(events).number == 2
        journal.unlink()
        (end,) = events
        assert (end.kind, end.data["reason"], end.data["line"]["steps"]) == ("end", "gone", 2)
        assert page.error(f"{api(journal)}/events")[0] == 404


def test_the_end_says_why(tmp_path: Path) -> None:
    """A run that is over, one that nobody writes any more, and one whose file is no journal any more."""
    for name, events, old in (("over", [*EVENTS, END], False), ("left", EVENTS, True), ("broken", EVENTS, False)):
        path = tmp_path / f"{name}.ledger.jsonl"
        path.write_bytes(journal_bytes(events))
        if old:
            os.utime(path, (1000, 1000))
    reasons = {}
    with served(tmp_path) as page:
        for name in ("over", "left", "broken"):
            path = tmp_path / f"{name}.ledger.jsonl"
            with page.open(f"{api(path)}/events") as answer:
                heard_events = heard(answer)
                next(heard_events)
                if name == "broken":
                    path.write_bytes(b"nothing\n")
                (end,) = heard_events
                reasons[name] = end.data["reason"]
    assert reasons == {"over": "finished", "left": "left", "broken": "trouble"}


def test_a_finished_run_that_is_still_being_read_is_not_live(tmp_path: Path) -> None:
    """Its end is found at the end of its file before the rest is read; one without an end is live all the while."""
    ended, grows = tmp_path / "ended.ledger.jsonl", tmp_path / "grows.ledger.jsonl"
    ended.write_bytes(journal_bytes([*EVENTS, END]))
    grows.write_bytes(journal_bytes(EVENTS))
    with served(tmp_path, pace=Pace(first=0.0, chunk=0.0)) as page:
        for path, live in ((ended, False), (grows, True)):
            first = page.get(api(path))
            assert (len(first["steps"]["label"]), first["more"], first["line"]["live"]) == (1, True, live)
            with page.open(f"{api(path)}/events?after=1") as answer:
                part = next(heard(answer)).data
                assert (part["first"], part["line"]["live"], part["more"]) == (1, live, True)


def test_an_unknown_run_has_no_events(journal: Path) -> None:
    """The answer is the same as to any other question about it."""
    with served(journal) as page:
        assert page.error("/api/runs/0123456789abcdef/events") == (404, "there is no such run here")


def test_a_viewer_that_leaves_takes_nothing_with_it(journal: Path) -> None:
    """Others are told on."""
    with served(journal) as page, page.open(f"{api(journal)}/events") as stays:
        events = heard(stays)
        next(events)
        with page.open(f"{api(journal)}/events") as leaves:
            next(heard(leaves))
        append(journal, journal_bytes([EVENTS[3]]))
        assert next(events).number == 3


def test_reading_on_costs_the_new_lines_and_no_more(journal: Path) -> None:
    """What was read is not read again: the offset is where the last whole line ends."""
    reading = read_journal(journal.read_bytes())
    assert (reading.offset, len(reading.model)) == (journal.stat().st_size, 2)
