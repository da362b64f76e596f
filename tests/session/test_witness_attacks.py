"""Attacks on both witnesses: what a file may hold, what may take its place, and how it may be called.

The oracle is the table: for each case, which verdicts would be true of the file as it is then.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from execledger.core.witness import PossibleWrites, ShownRange
from execledger.session.probe import ProbeWitness
from execledger.session.witness import LocalWitness, Witness

TEN = [f"line {number}" for number in range(1, 11)]
TEXT = "".join(f"{line}\n" for line in TEN)
LONG = "x" * 900_000


def sh(command: str) -> str:
    return subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout.decode()


@pytest.fixture(params=["local", "probe"])
def witness(request: pytest.FixtureRequest) -> Witness:
    return LocalWitness() if request.param == "local" else ProbeWitness(sh)


def look(witness: Witness, path: Path, shown: ShownRange, clock: int) -> list[str]:
    """The verdicts of a look, with where lines are now."""
    found = witness.look({str(path): (shown,)}, PossibleWrites(clock, False)).files or []
    pieces = [piece for file in found for result in file.results for piece in result.pieces]
    return [f"{one.verdict.value} {one.place or ''}".strip() for one in pieces]


def ranged(text: str, first: int, last: int) -> ShownRange:
    """Lines of a text, as an agent is shown them that decodes with replacement and leaves line ends alone."""
    return ShownRange(0, first, tuple(text.split("\n")[first - 1 : last]))


@pytest.mark.parametrize(
    ("before", "after", "true"),
    [
        # Line ends: a conversion is a change of every line, and only a newline ends one.
        (TEXT, TEXT.replace("\n", "\r\n"), {"changed"}),
        (TEXT.replace("\n", "\r\n"), TEXT, {"changed"}),
        (TEXT.replace("4", "4\r4"), "new\n" + TEXT.replace("4", "4\r4"), {"moved 4"}),
        (TEXT.replace("4", "\f\v\x85\u2028"), "new\n" + TEXT.replace("4", "\f\v\x85\u2028"), {"moved 4"}),
        (TEXT.rstrip("\n"), TEXT, {"same"}),
        # Marks at the start, and characters that look alike.
        ("\ufeff" + TEXT, "\ufeff" + TEXT, {"same"}),
        (TEXT.replace("5", "é"), TEXT.replace("5", "e\u0301"), {"changed", "same changed same"}),
        (TEXT.replace("5", "a\0b"), TEXT.replace("5", "a\0c"), {"changed", "same changed same"}),
        (TEXT, TEXT.replace("5", "5 "), {"changed", "same changed same"}),
        # Very long lines.
        (TEXT.replace("4", LONG), TEXT.replace("4", LONG), {"same"}),
        (TEXT.replace("4", LONG), TEXT.replace("4", LONG[:-1] + "y"), {"changed", "same changed same"}),
        (TEXT, TEXT.replace("9", LONG + LONG), {"unknown"}),
        # Edits above and below: the lines have moved by one of both.
        (TEXT, "new\n" + TEXT + "more\n", {"moved 4", "changed"}),
        (TEXT, "".join(TEXT.splitlines(True)[1:]) + "more\n", {"moved 2", "changed"}),
        # Others of the same text, in the same place and elsewhere.
        ("same\n" * 10, "same\n" * 9, {"same"}),
        ("same\n" * 10, "same\n" * 4, {"changed", "same changed"}),
        (TEXT, TEXT + TEXT, {"same"}),
        (TEXT, "", {"changed"}),
    ],
)
def test_what_a_file_may_hold(witness: Witness, tmp_path: Path, before: str, after: str, true: set[str]) -> None:
    """Lines 3 to 6 were shown and found; whatever is written then, the verdict is one of those that are true."""
    path, shown = tmp_path / "a", ranged(before, 3, 6)
    path.write_bytes(before.encode())
    assert look(witness, path, shown, 0) == ["same"]
    path.write_bytes(after.encode())
    assert " ".join(look(witness, path, shown, 1)) in true


@pytest.mark.parametrize("text", [TEXT.replace("\n", "\r\n"), TEXT.replace("line 4", "line\r4"), "\ufeff" + TEXT])
def test_what_was_altered_on_the_way_is_never_known(witness: Witness, tmp_path: Path, text: str) -> None:
    """The shown text has other line ends or no mark: whatever is found later, nothing is said."""
    path = tmp_path / "a"
    shown = ShownRange(
        0, 1, tuple(text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").split("\n")[:6])
    )
    path.write_bytes(text.encode())
    assert look(witness, path, shown, 0) == ["unknown"]
    path.write_bytes(TEXT.encode())
    assert look(witness, path, shown, 1) == ["unknown"]
    path.unlink()
    assert look(witness, path, shown, 2) == ["unknown"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_other_encodings_are_never_called_changed_while_nothing_changes(
    witness: Witness, tmp_path: Path, encoding: str
) -> None:
    """What is shown of such a file are replacement characters: they are found, or the file is unknown."""
    path, data = tmp_path / "a", TEXT.replace("line", "läne").encode(encoding)
    path.write_bytes(data)
    shown = ranged(data.decode("utf-8", "replace"), 3, 6)
    assert {*look(witness, path, shown, 0), *look(witness, path, shown, 1)} <= {"same", "unknown"}
    path.write_bytes(b"")
    assert look(witness, path, shown, 2) in (["changed"], ["unknown"])


def _other(path: Path) -> None:
    path.with_name("other").write_text(TEXT.replace("5", "x"))
    path.symlink_to("other")


def _equal(path: Path) -> None:
    path.with_name("equal").write_text(TEXT)
    path.symlink_to("equal")


@pytest.mark.parametrize(
    ("replace", "true"),
    [
        (_other, {"changed", "same changed same"}),
        (_equal, {"same"}),
        (lambda path: path.symlink_to("nowhere"), {"gone"}),
        (lambda path: path.symlink_to(path.name), {"unknown", "gone"}),
        (lambda path: path.symlink_to("/dev/zero"), {"unknown"}),
        (lambda path: path.symlink_to("/proc/self/status"), {"unknown", "changed"}),
        (lambda path: path.mkdir(), {"unknown"}),
        (os.mkfifo, {"unknown"}),
    ],
    ids=["other", "equal", "dangling", "loop", "device", "proc", "folder", "pipe"],
)
def test_what_may_take_the_place_of_a_file(
    witness: Witness, tmp_path: Path, replace: Callable[[Path], None], true: set[str]
) -> None:
    """Links are followed, and nothing but a regular file is read: a pipe that nobody writes to holds nothing up."""
    path, shown = tmp_path / "a", ranged(TEXT, 3, 6)
    path.write_text(TEXT)
    assert look(witness, path, shown, 0) == ["same"]
    path.unlink()
    replace(path)
    assert " ".join(look(witness, path, shown, 1)) in true


@pytest.mark.parametrize(
    "name",
    ["$(touch pwned)", "`touch pwned`", "a; touch pwned", "-n", "a\nb", "'", '"', "*", " ", "\\", "&", "ä", "a'b\"c$d"],
)
def test_how_a_file_may_be_called(witness: Witness, tmp_path: Path, name: str) -> None:
    """A name is a name: it is not run, and not expanded."""
    path = tmp_path / name
    path.write_text(TEXT)
    (tmp_path / "abc").write_text("")
    assert look(witness, path, ranged(TEXT, 3, 6), 0) == ["same"]
    path.write_text("new\n" + TEXT)
    assert look(witness, path, ranged(TEXT, 3, 6), 1) == ["moved 4"]
    path.unlink()
    assert look(witness, path, ranged(TEXT, 3, 6), 2) == ["gone"]
    assert not list(tmp_path.rglob("pwned")) and not Path("pwned").exists()


def test_a_folder_that_is_gone_takes_its_files_along(witness: Witness, tmp_path: Path) -> None:
    """Also if folders above it are gone."""
    path = tmp_path / "a" / "b" / "c"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT)
    assert look(witness, path, ranged(TEXT, 3, 6), 0) == ["same"]
    (tmp_path / "a").rename(tmp_path / "z")
    assert look(witness, path, ranged(TEXT, 3, 6), 1) == ["gone"]
