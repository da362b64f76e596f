"""A full disk, a folder that can't be written, files that vanish, a clock that jumps: the run is what it was."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from execledger.cli.main import group
from execledger.demo.repository import COMMANDS, TASK, make_repository
from execledger.errors import UnreadableRun
from execledger.journal.reader import JournalRun, read_journal, rebuild
from execledger.proxy.edits import EditStore
from tests.proxy.talk import TEXT, Talk, new_passage
from tests.support.agents.mini import installed
from tests.support.faults.machine import MEDDLING, jumping_clock, little_room, torn

MINI = pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")
Meddle = Callable[[Path], None]
Say = Callable[[str], None]


def journals(folder: Path) -> Iterator[JournalRun]:
    """What can be read in a folder; of each journal the steps that are there are in order and fold as they did."""
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        try:
            run = read_journal(path.name, path.read_bytes())
        except UnreadableRun:
            continue
        assert rebuild(run).mismatch is None
        yield run


# The agent in whose process we are


class Stage:
    """The real mini-swe-agent over a small repository, with a scripted model and journals in a folder of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        make_repository(folder / "repository")
        self._folder, self._patch = folder, patch
        self.clean = self.play(folder / "clean")

    def play(
        self, place: Path, fault: AbstractContextManager[None] | None = None, meddle: Meddle | None = None, at: int = 4
    ) -> list[str]:
        """What the model was shown; before command ``at`` the journal is meddled with."""
        from minisweagent.agents.default import DefaultAgent

        from execledger.agents.mini.model import RUNS, LedgerModel
        from tests.agents.mini.test_model import SUBMIT, Contained, Recording, turn

        class Meddling(Contained):
            def execute(self, action: dict[str, Any], cwd: str = "") -> dict[str, Any]:
                if meddle is not None and len(self.ran) == at:
                    (path,) = place.glob("*.jsonl")
                    meddle(path)
                output: dict[str, Any] = super().execute(action, cwd)
                return output

        self._patch.setenv("EXECLEDGER_JOURNAL", str(place))
        inner = Recording(outputs=[turn(number, command) for number, command in enumerate([*COMMANDS[:8], SUBMIT])])
        model = LedgerModel.wrap(inner)
        environment = Meddling(cwd=str(self._folder / "repository"))
        agent = DefaultAgent(model, environment, system_template="s", instance_template="{{task}}")
        RUNS.clear()
        with fault or nullcontext():
            agent.run(TASK)
        assert [run.counts.faults for run in RUNS] == [0]
        return [json.dumps([message.get("content") for message in request]) for request in inner.requests]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A stage, and how its story goes without a fault."""
    return Stage(tmp_path, monkeypatch)


@MINI
@pytest.mark.guarantee("fail-open", "step-in-flight")
def test_a_full_disk_changes_no_run_of_mini(stage: Stage, tmp_path: Path, full: bool, figure: Say) -> None:
    """Wherever the room ends, the model is shown the same, and the journal is whole up to the last line that fitted."""
    rooms = range(0, 16_000, 97 if full else 3_000)
    for room in rooms:
        place = tmp_path / f"room {room}"
        assert stage.play(place, little_room(room)) == stage.clean, room
        for run in journals(place):
            assert run.trouble.sentences() == (), room
    figure(f"0 changed runs on {len(rooms)} full disks")


@MINI
@pytest.mark.guarantee("fail-open")
def test_a_journal_that_cannot_be_written_changes_no_run_of_mini(stage: Stage, tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "blocked").write_text("in the way")
    assert stage.play(tmp_path / "blocked" / "journals") == stage.clean


@MINI
@pytest.mark.guarantee("fail-open", "step-in-flight")
@pytest.mark.parametrize("meddle", MEDDLING)
def test_meddling_with_the_journal_changes_no_run_of_mini(
    stage: Stage, tmp_path: Path, meddle: Meddle, full: bool
) -> None:
    """Deleted, replaced, moved or cut in the middle of the run: what stands there is not written over."""
    for at in range(1, 7) if full else (3,):
        place = tmp_path / str(at)
        assert stage.play(place, meddle=meddle, at=at) == stage.clean
        for path in place.glob("*.jsonl") if place.is_dir() else ():
            assert path.read_text().startswith(("not a journal\n", '{"event":"start"')) or meddle is torn
        for run in journals(place):
            assert run.trouble.damaged <= (meddle is torn)


@MINI
@pytest.mark.guarantee("fail-open", "step-in-flight")
def test_a_clock_that_jumps_changes_no_run_of_mini(stage: Stage, tmp_path: Path, full: bool) -> None:
    """The journal is whole, and whoever sums it up finds no time that runs backwards."""
    for seed in range(40 if full else 3):
        place = tmp_path / str(seed)
        # The agent's own limit of time is not in use; nothing else here looks at the time of day.
        assert stage.play(place, jumping_clock(seed)) == stage.clean
        (run,) = journals(place)
        assert run.trouble.sentences() == ()
        done = CliRunner().invoke(group, ["stats", str(place), "--json"], catch_exceptions=False)
        # Only what Ledger saves may be less than nothing.
        sums = {name: value for name, value in json.loads(done.stdout).items() if name != "net"}
        assert (done.exit_code, "-" in json.dumps(list(numbers(sums)))) == (0, False)


def numbers(value: object) -> Iterator[float]:
    """All numbers in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


# The proxy

CAT = ("cat a.py", "cat b.py", "pytest tests", "sed -n '3,9p' a.py")


def talked(talk: Talk, rounds: int, meddle: Callable[[int], None] = lambda _: None) -> Talk:
    """A conversation in which every other call is a repetition."""
    talk.run = lambda command: "5 passed\n" if "pytest" in command else TEXT
    for number in range(rounds):
        meddle(number)
        talk.turn(CAT[number % len(CAT)])
    return talk


def check(talk: Talk) -> None:
    """Every request held each call once, as the model had made it, with a result; and the history only grew."""
    assert talk.grows()
    for shown in talk.sent:
        calls = [item["call_id"] for item in shown if item["type"] == "function_call"]
        results = [item["call_id"] for item in shown if item["type"] == "function_call_output"]
        assert calls == results == list(dict.fromkeys(calls))
        assert not any("[ledger:" in json.dumps(item) for item in shown)


@pytest.mark.guarantee("fail-open", "append-only", "step-in-flight")
@pytest.mark.parametrize("preset", ["paper", "verified"])
def test_a_full_disk_breaks_no_conversation(tmp_path: Path, preset: str, full: bool, figure: Say) -> None:
    """What can't be kept is not edited; what was edited before stays as it was."""
    rooms = range(0, 60_000, 1_009 if full else 12_000)
    for room in rooms:
        place = tmp_path / str(room)
        passage = new_passage(EditStore(place / "edits"), sealed=True, preset=preset, journals=place / "journals")
        with little_room(room):
            talk = talked(Talk(passage), 16)
            check(talk)
            passage.book.close()
        for run in journals(place / "journals"):
            assert run.trouble.sentences() == (), room
        again = Talk(new_passage(EditStore(place / "edits"), preset=preset), items=talk.items)
        again.request()
        assert again.results(again.sent[0]) == talk.results(talk.sent[-1]), room
    figure(f"0 broken conversations on {len(rooms)} full disks ({preset})")


@pytest.mark.guarantee("fail-open", "append-only")
@pytest.mark.parametrize("preset", ["paper", "verified"])
@pytest.mark.parametrize("meddle", [deleted for deleted in MEDDLING if deleted is not torn])
def test_meddling_with_what_is_kept_breaks_no_conversation(tmp_path: Path, preset: str, meddle: Meddle) -> None:
    """Journals and edits go away in the middle: the conversation goes on as it was."""

    def go_away(number: int) -> None:
        if number == 9:
            for path in (tmp_path / "edits" / "edits", *(tmp_path / "journals").glob("*.jsonl")):
                meddle(path)

    passage = new_passage(
        EditStore(tmp_path / "edits" / "edits"), sealed=True, preset=preset, journals=tmp_path / "journals"
    )
    talk = talked(Talk(passage), 16, go_away)
    check(talk)
    assert any("[Ledger: " in text for text in talk.results(talk.sent[-1]))
    passage.book.close()


@pytest.mark.guarantee("fail-open", "step-in-flight")
def test_a_clock_that_jumps_breaks_no_conversation(tmp_path: Path, full: bool) -> None:
    """Sessions are not taken for ended, and their journals hold every step."""
    for seed in range(40 if full else 4):
        place = tmp_path / str(seed)
        with jumping_clock(seed):
            passage = new_passage(EditStore(place / "edits"), preset="paper", journals=place / "journals")
            talks = [talked(Talk(passage, name, name), 6) for name in ("one", "two")]
            passage.book.close()
        for talk in talks:
            check(talk)
        assert [(len(run.steps), run.trouble.sentences()) for run in journals(place / "journals")] == [(6, ())] * 2


# The writer


@pytest.mark.guarantee("step-in-flight")
def test_a_line_is_whole_or_not_there(tmp_path: Path, full: bool, figure: Say) -> None:
    """Wherever the disk is full, and whatever is written then, no line is torn and none is joined to another."""
    chance = random.Random(5)
    rooms = sorted(chance.randrange(200, 30_000) for _ in range(400 if full else 40))
    lines = 0
    for room in rooms:
        place = tmp_path / f"{room}"
        with little_room(room):
            passage = new_passage(EditStore(None), journals=place)
            talked(Talk(passage), 6)
            passage.book.close()
        for path in place.glob("*.jsonl"):
            data = path.read_bytes()
            assert len(data) <= room and (not data or data.endswith(b"\n")), room
            lines += len([json.loads(line) for line in data.splitlines()])
    assert lines > len(rooms)
    figure(f"0 torn of {lines:,} lines on {len(rooms)} full disks")
