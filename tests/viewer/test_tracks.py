"""The file map: what the page draws from a file's events is what the ledger itself says, at every step."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from execledger.agents.formats import read_run
from execledger.core.inform import status
from execledger.core.ledger import Ledger
from execledger.core.observations import ObservationRecord, absolute
from execledger.core.policy import Policy, Preset
from execledger.journal.events import StepRecorded
from execledger.journal.reader import Trouble, read_events
from execledger.runs.replay import replay
from execledger.viewer.model import StepAnswer
from execledger.viewer.reading import Reading, ReplayReading
from execledger.viewer.tracks import FileTrack
from execledger.vocabulary.decisions import Step
from tests.support.knowing import Folder, Kind, Shape
from tests.support.looking import LookingSession
from tests.viewer.stage import DEMO, journal_bytes, read_journal, shown, simulated, told

LineMap = dict[str, dict[int, tuple[str, int]]]
"""The state of each line of each file, and the step that showed it."""
TURNS = {
    "suspect": {"current": "possibly stale", "no claim": "possibly stale"},
    "untold": {"current": "no claim"},
}
"""What becomes of the states of lines when something happens."""
FILE = "/repo/a.py"


def by_line(spans: dict[str, list[Any]]) -> LineMap:
    """The server's map, line by line; no line stands in two runs."""
    lines: LineMap = {}
    for path, runs in spans.items():
        for first, last, state, step in runs:
            for line in range(first, last + 1):
                assert lines.setdefault(path, {}).setdefault(line, (state, step)) == (state, step)
    return lines


def by_events(files: list[FileTrack], at: int) -> LineMap:
    """What the page makes of the events, one after the other."""
    lines: LineMap = {}
    for track in files:
        known: dict[int, tuple[str, int]] = {}
        looked: dict[tuple[int, int], str] = {}
        happened: list[Any] = [event for event in track.events if event[0] <= at]
        for step, kind, *rest in happened:
            if kind in ("looked", "unlooked", "changed", "suspect"):
                spans = rest[0] if kind == "looked" else ()
                looked = {(line, by): word for first, last, word, by in spans for line in range(first, last + 1)}
            if kind == "seen":
                for first, last in rest[0]:
                    known |= dict.fromkeys(range(first, last + 1), ("current", step))
            elif kind == "changed":
                known = {line: ("stale", seen) for line, (_, seen) in known.items()}
            elif kind in TURNS:
                turns = TURNS[kind]
                known = {line: (turns.get(state, state), seen) for line, (state, seen) in known.items()}
        if known:
            lines[track.path] = {line: (looked.get((line, by), word), by) for line, (word, by) in known.items()}
    return lines


def by_ledger(ledger: Ledger, threads: tuple[str, ...] = ("",)) -> LineMap:
    """What the ledger's own records say, in its own words; tails are counted where it knows the file's end."""
    lines: LineMap = {}
    for thread in threads:
        for path, seen in ledger.files(thread).items():
            counters, calm = ledger.modifications.counters(path), not ledger.unsealed
            for record in seen.records:
                word = status(ledger, record, counters, sealed=calm).value
                for run in record.ranges:
                    whole = absolute(run, end_of(seen.records, record))
                    for line in range(whole.first, (whole.last or 0) + 1) if whole else ():
                        lines.setdefault(path, {})[line] = (word, record.step)
    return lines


def end_of(records: list[ObservationRecord], asked: ObservationRecord) -> int | None:
    """The file's end as it was known when a record was made."""
    ends = [one.end for one in records if one.local == asked.local and one.step <= asked.step and one.end is not None]
    return asked.end if asked.end is not None else ends[-1] if ends else None


def check(reading: Reading, ledger: Ledger, steps: list[Step]) -> int:
    """Compare the three at every step; how many lines were compared."""
    files, compared = reading.answer().files, 0
    for at, step in enumerate(steps):
        ledger.record(step)
        own = by_ledger(ledger)
        assert by_line(reading.map_at(at)) == own, f"the map differs at step {at}: {step.action.command}"
        assert by_events(files, at) == own, f"the events differ at step {at}: {step.action.command}"
        compared += sum(map(len, own.values()))
    return compared


@pytest.mark.parametrize("preset", list(Preset))
@pytest.mark.parametrize(("seed", "hostile"), [(1, False), (2, True), (3, False), (7, True)])
def test_the_map_is_the_ledgers_own(tmp_path: Path, seed: int, hostile: bool, preset: Preset) -> None:
    """In sessions with real commands, under both presets, with and without somebody else who writes."""
    policy = Policy(preset=preset)
    # Under the published rules a reuse can be wrong, and the simulator would say so: the same steps are told again.
    events = simulated(tmp_path / "work", seed, hostile=hostile)
    steps = [event.step for event in events if isinstance(event, StepRecorded)]
    reading = read_journal(journal_bytes(told(steps, policy)))
    assert check(reading, Ledger(policy=policy), steps) > 200


def test_the_map_of_a_replay_is_the_ledgers_own() -> None:
    """Of a recorded run that Ledger took no part in, it is the map of the replay."""
    run = read_run("demo", DEMO.read_bytes())
    reading = ReplayReading(run, None)
    reading.read()
    ledger = Ledger(run.task)
    for call in replay(run, ledger=ledger):
        assert by_line(reading.map_at(call.index)) == by_ledger(ledger) == by_events(reading.answer().files, call.index)


WORDS = {"same": "current", "moved": "moved", "changed": "changed", "gone": "gone"}


def by_looks(ledger: Ledger, detail: StepAnswer, before: int) -> LineMap:
    """What the ledger says behind a step, and what was found before it, unless the step may have written."""
    lines = by_ledger(ledger)
    for file in detail.looks.files if ledger.clock == before else ():
        for result in file.results:
            for piece in result.lines:
                for line in range(piece.first, piece.last + 1):
                    if lines[file.path].get(line, ("", -1))[1] == result.step and piece.verdict.value in WORDS:
                        lines[file.path][line] = (WORDS[piece.verdict.value], result.step)
    return lines


def test_the_map_has_what_looks_found(tmp_path: Path) -> None:
    """Before each step, for each line that is on the map by the result that was looked up; until a step may write."""
    root = tmp_path / "work"
    root.mkdir()
    session, folder, chance = LookingSession(root, tmp_path), Folder(root, Random(5)), Random(5)
    for _ in range(60):
        kind: Kind = chance.choice(("read", "read", "edit", "test", "search", "other"))
        session.run(folder.run(Shape(kind, chance.randrange(5), 3, 20)).command)
        if chance.random() < 0.2:
            folder.interfere()
    data = session.end().read_bytes()
    reading, steps = (
        read_journal(data),
        [one for one in read_events("", data, Trouble()) if isinstance(one, StepRecorded)],
    )
    ledger, words, files = Ledger("Mend the parser."), set(), reading.answer().files
    for at, event in enumerate(steps):
        before = ledger.clock
        ledger.record(event.step)
        expected = by_looks(ledger, reading.step(at), before)
        assert by_line(reading.map_at(at)) == expected == by_events(files, at), f"step {at}"
        words |= {word for known in expected.values() for word, _ in known.values()}
    assert words >= {"current", "moved", "changed", "possibly stale"}


def read_file(first: int, last: int, thread: str = "", **fields: Any) -> Step:
    """A read of a few lines of a file."""
    lines = "".join(f"line {line}\n" for line in range(first, last + 1))
    return shown(f"sed -n '{first},{last}p' a.py", lines, thread, **fields)


def track(*steps: Step, policy: Policy | None = None) -> list[Any]:
    """The events of the one file that these steps are about."""
    (file,) = [one for one in read_journal(journal_bytes(told(list(steps), policy))).answer().files if one.path == FILE]
    return file.events


EDIT = shown("sed -i 1d a.py")


def test_knowledge_is_gained_and_goes_stale() -> None:
    """A read is seen, an edit of another file makes it suspect once, one of the file itself changes it."""
    other = shown("sed -i 1d b.py")
    events = track(read_file(1, 9), other, other, EDIT, read_file(3, 5))
    assert events == [(0, "seen", ((1, 9),)), (1, "suspect"), (3, "changed", ()), (4, "seen", ((3, 5),))]


def test_under_the_published_rules_only_recognised_writes_count() -> None:
    """A script of unknown effects makes nothing suspect there: it takes back the claim, once."""
    unknown, test = shown("./build.sh"), shown("pytest")
    paper = Policy(preset=Preset.PAPER)
    assert track(read_file(1, 2), unknown) == [(0, "seen", ((1, 2),)), (1, "suspect")]
    assert track(read_file(1, 2), test, unknown, unknown, policy=paper) == [(0, "seen", ((1, 2),)), (2, "untold")]


def test_a_read_beside_a_write_is_suspect_from_the_start() -> None:
    """Nobody knows which of the two came first."""
    assert track(read_file(1, 2, concurrent=True)) == [(0, "seen", ((1, 2),)), (0, "suspect")]


def test_what_a_job_in_the_background_may_write_is_untold() -> None:
    """What was read before it is suspect; of what is read later nothing is claimed, until something else may write."""
    steps = [read_file(1, 2), shown("sleep 100 &"), read_file(1, 2), shown("./build.sh")]
    assert track(*steps) == [
        (0, "seen", ((1, 2),)),
        (1, "suspect"),
        (2, "seen", ((1, 2),)),
        (2, "untold"),
        (3, "suspect"),
    ]
    states = [read_journal(journal_bytes(told(steps))).map_at(at)[FILE][0][2] for at in range(4)]
    assert states == ["current", "possibly stale", "no claim", "possibly stale"]


def test_what_a_conversation_was_born_with_is_no_new_sight() -> None:
    """It was seen once, when the other conversation saw it, and knowledge of all conversations counts."""
    events = track(read_file(1, 2), EDIT, read_file(1, 2, "child", inherits=0), read_file(2, 3, "child"))
    assert events == [(0, "seen", ((1, 2),)), (1, "changed", ()), (3, "seen", ((2, 3),))]


def test_the_end_of_a_file_is_counted_where_its_length_is_known() -> None:
    """The last lines have numbers only if the whole was seen before, and nothing changed since."""
    tail = shown("tail -n 2 a.py", "line 8\nline 9\n")
    whole = shown("cat a.py", "".join(f"line {line}\n" for line in range(1, 10)))
    assert track(whole, tail, EDIT, tail) == [
        (0, "seen", ((1, 9),)),
        (1, "seen", ((8, 9),)),
        (2, "changed", ()),
        (3, "apart", ((-2, -1),)),
    ]


def test_a_file_that_is_written_and_never_read_has_a_track() -> None:
    """With the symbols that the edit names."""
    write = shown("cat > a.py <<'EOF'\ndef mend():\n    pass\nEOF")
    assert track(write) == [(0, "changed", ("mend",))]


def test_what_is_new_can_be_asked_for() -> None:
    """From a step on, only the files to which something happened, with just that."""
    steps = [read_file(1, 2), shown("cat b.py", "b\n"), EDIT, read_file(4, 5)]
    model = read_journal(journal_bytes(told(steps))).model
    assert model.tracks.since(3) == [FileTrack(FILE, "a.py", 5, [(3, "seen", ((4, 5),))])]
    assert [file.name for file in model.tracks.since(2)] == ["a.py", "b.py"]
    assert model.tracks.since(4) == []
