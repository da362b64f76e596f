"""The probe: what it prints in real shells, what is made of it, and what it does with any other answer."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from execledger.core.witness import PossibleWrites, ShownRange
from execledger.core.witness_limits import MAX_PROBE_FAILURES
from execledger.session.probe import ProbeWitness
from execledger.vocabulary.records import Lines
from execledger.vocabulary.sightings import FileSighting, Verdict

SHELLS = [shell for shell in (["sh"], ["bash", "--posix"], ["busybox", "sh"]) if shutil.which(shell[0])]


class Shell:
    """Runs commands in a real shell, and keeps what they printed."""

    def __init__(self, *words: str) -> None:
        self.words = words or ("sh",)
        self.printed: list[str] = []

    def __call__(self, command: str) -> str:
        done = subprocess.run([*self.words, "-c", command], capture_output=True, text=True, check=False)
        assert done.stderr == ""
        self.printed.append(done.stdout)
        return done.stdout


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def pieces(found: list[FileSighting]) -> list[tuple[int, int, str, int | None]]:
    every = [piece for file in found for result in file.results for piece in result.pieces]
    return [(one.first, one.last, one.verdict.value, one.place) for one in every]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_what_a_probe_finds(shell: list[str], tmp_path: Path) -> None:
    """In every shell: the same, moved, changed, gone; names with blanks and quotes; and no line of a file."""
    path, lines = tmp_path / 'it\'s a "file" $x.py', [f"secret {number}" for number in range(1, 21)]
    shown = (ShownRange(0, 5, tuple(lines[4:12])), ShownRange(1, 19, tuple(lines[18:])))
    run = Shell(*shell)
    witness = ProbeWitness(run)
    found = []
    for clock, now in enumerate((lines, ["new", "new", *lines], [*lines[:6], "other", *lines[7:]], None, lines)):
        path.unlink(missing_ok=True) if now is None else path.write_text(text(now).rstrip("\n"))
        found.append(pieces(witness.look({str(path): shown}, PossibleWrites(clock, False)).files or []))
    assert found == [
        [(5, 12, "same", None), (19, 20, "same", None)],
        [(5, 12, "moved", 7), (19, 20, "moved", 21)],
        [(5, 12, "changed", None), (19, 20, "same", None)],
        [(5, 12, "gone", None), (19, 20, "gone", None)],
        [(5, 12, "same", None), (19, 20, "same", None)],
    ]
    assert "secret" not in "".join(run.printed)


def test_only_the_listed_part_of_a_range_is_judged(tmp_path: Path) -> None:
    """A change below the part that is still listed does not make that part changed; it was found with the rest."""
    path, lines = tmp_path / "a", [f"line {number}" for number in range(1, 21)]
    path.write_text(text(lines))
    witness = ProbeWitness(Shell())
    whole = ShownRange(0, 1, tuple(lines))
    witness.look({str(path): [whole]}, PossibleWrites(0, False))
    path.write_text(text([*lines[:14], "other", *lines[15:]]))
    part = ShownRange(0, 1, tuple(lines), False, (Lines(1, 9), Lines(13, 20)))
    found = pieces(witness.look({str(path): [part]}, PossibleWrites(1, False)).files or [])
    assert found == [(1, 9, "same", None), (13, 20, "changed", None)]


def test_a_name_that_no_command_can_hold_is_left_out(tmp_path: Path) -> None:
    """It costs no probe: the other files are looked at."""
    path = tmp_path / "a"
    path.write_text("one\n")
    shown = (ShownRange(0, 1, ("one",)),)
    asked = {"/w/\udcff.py": shown, "/w/\0.py": shown, str(path): shown}
    assert pieces(ProbeWitness(Shell()).look(asked, PossibleWrites(0, False)).files or []) == [(1, 1, "same", None)]


def test_it_looks_only_where_something_is_new(tmp_path: Path) -> None:
    """A second look is none, unless something may have been written, files change at any time, or lines are new."""
    path = tmp_path / "a"
    path.write_text("one\ntwo\n")
    first, second = ShownRange(0, 1, ("one", "two")), ShownRange(4, 2, ("two",))
    run = Shell()
    witness = ProbeWitness(run)
    calm, busy, later = PossibleWrites(1, False), PossibleWrites(1, True), PossibleWrites(2, False)
    asked = [([first], calm), ([first], calm), ([first], busy), ([first, second], calm), ([first], calm), ([], calm)]
    looks = [witness.look({str(path): shown}, writes).files for shown, writes in [*asked, ([first], later)]]
    assert [look is not None for look in looks] == [True, False, True, True, False, False, True]
    assert len(run.printed) == 4


@pytest.mark.guarantee("witness")
@pytest.mark.parametrize("answer", ["", "bash: sed: not found", "execledger-probe-begin\nlines 3\n", "lines 3"])
def test_after_three_other_answers_it_stops(answer: str) -> None:
    """Missing tools, a cut answer and a time limit say nothing, and are not asked for again and again."""
    ran: list[str] = []

    def execute(command: str) -> str:
        ran.append(command)
        if not answer:
            raise TimeoutError
        return answer

    witness = ProbeWitness(execute)
    asked = {"/a": (ShownRange(0, 1, ("one", "two", "three")),)}
    assert [witness.look(asked, PossibleWrites(clock, False)).files for clock in range(6)] == [[]] * 6
    assert len(ran) == MAX_PROBE_FAILURES


@pytest.mark.guarantee("witness")
def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """A folder is unknown, and files of the system are not asked for."""
    asked = {name: (ShownRange(0, 1, ("one",)),) for name in (str(tmp_path), "/proc/self/status")}
    found = ProbeWitness(Shell()).look(asked, PossibleWrites(0, False)).files or []
    assert [(one.path, one.reason) for one in found] == [(str(tmp_path), "not a readable file")]


@pytest.mark.guarantee("witness")
@pytest.mark.parametrize("seed", range(8))
def test_no_verdict_of_a_probe_is_wrong(seed: int, tmp_path: Path) -> None:
    """Over random edits, what is called the same or moved is in the file, and what is called changed is not."""
    chance, path = random.Random(seed), tmp_path / "a"
    now = [chance.choice(("", f"line {number}")) for number in range(30)]
    path.write_text(text(now))
    shown: list[ShownRange] = []
    witness = ProbeWitness(Shell())
    for step in range(12):
        first = chance.randint(1, len(now))
        last = min(len(now), first + chance.randint(0, 9))
        shown.append(ShownRange(step, first, tuple(now[first - 1 : last])))
        found = witness.look({str(path): tuple(shown)}, PossibleWrites(step, False)).files or []
        texts = {one.step: one.texts for one in shown}
        for result in (result for file in found for result in file.results):
            for piece in result.pieces:
                start = piece.first if piece.place is None else piece.place
                here = tuple(now[start - 1 : start + piece.last - piece.first]) == texts[result.step]
                assert here is (piece.verdict in (Verdict.SAME, Verdict.MOVED))
        at = chance.randrange(len(now))
        now[at : at + chance.randint(0, 2)] = [chance.choice(("", f"new {step}")) for _ in range(chance.randint(0, 3))]
        while now and chance.random() < 0.3 and not now[-1]:
            now.pop()
        now = now or ["x"]
        path.write_text(text(now))
