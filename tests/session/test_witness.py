"""The witness of this machine's files: what it opens, what it refuses, and that it waits for nothing."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from execledger.core.witness import ShownRange
from execledger.core.witness_limits import LookLimits
from execledger.session.witness import BEYOND, STUCK, LocalWitness

TEXT = "one\ntwo\nthree\n"
SHOWN = (ShownRange(0, 1, ("one", "two", "three")),)


def verdicts(witness: LocalWitness, *paths: str | Path) -> list[tuple[list[str], str]]:
    found = witness.look({str(path): SHOWN for path in paths}).files or []
    return [([p.verdict.value for result in one.results for p in result.pieces], one.reason) for one in found]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    return path


def test_it_looks_at_regular_files_and_through_links(file: Path, tmp_path: Path) -> None:
    """A file and a link to it are read; an edit through either is seen through both."""
    link = tmp_path / "link"
    link.symlink_to(file)
    witness = LocalWitness([str(tmp_path)])
    assert verdicts(witness, file, link) == [(["same"], ""), (["same"], "")]
    link.write_text("zero\n" + TEXT)
    assert verdicts(witness, file, link) == [(["moved"], ""), (["moved"], "")]
    file.unlink()
    assert verdicts(witness, file, link) == [(["gone"], ""), (["gone"], "")]


@pytest.mark.guarantee("witness")
def test_it_opens_nothing_but_regular_files(tmp_path: Path) -> None:
    """A pipe, a socket, a folder, a device, a file of the system and a loop of links are unknown, and it returns."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        paths: list[str | Path] = [
            *(tmp_path / name for name in ("pipe", "socket", "loop")),
            tmp_path,
            "/dev/zero",
            "/proc/self/status",
        ]
        found = verdicts(LocalWitness(), *paths)
    assert [verdict for verdict, _ in found] == [["unknown"]] * len(paths)
    reasons = {reason for _, reason in found}
    assert "not a regular file" in reasons and "" not in reasons


@pytest.mark.guarantee("witness")
def test_it_stays_below_its_folders(file: Path, tmp_path: Path) -> None:
    """A file elsewhere is not read, nor is one that a link below the folder leads to."""
    below = tmp_path / "below"
    below.mkdir()
    (below / "out").symlink_to(file)
    outside = "outside the folders that may be looked at"
    found = verdicts(LocalWitness([str(below)]), file, below / "out", str(below) + "/../a.txt")
    assert found == [(["unknown"], outside)] * 3


@pytest.mark.guarantee("witness")
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (LookLimits(file_bytes=5, seconds=60), "too large for a look"),
        (LookLimits(bytes=5, seconds=60), "too large for a look"),
        (LookLimits(files=0, seconds=60), "beyond the limits of a look"),
    ],
)
def test_beyond_a_bound_a_file_is_unknown(file: Path, limits: LookLimits, reason: str) -> None:
    """Each bound has its reason."""
    assert verdicts(LocalWitness(limits=limits), file) == [(["unknown"], reason)]


@pytest.mark.parametrize("reading", [True, False])
def test_when_the_time_is_over_no_further_file_is_read_or_compared(file: Path, reading: bool) -> None:
    """A clock that jumps while files are read, or behind that."""
    times = [0.0, 100.0, 100.0, 100.0] if reading else [0.0, 0.0, 0.0, 100.0]
    clock = iter([*times, *[200.0] * 9])
    witness = LocalWitness(limits=LookLimits(seconds=60), clock=clock.__next__)
    assert verdicts(witness, file) == [(["unknown"], BEYOND)]


def test_a_file_that_may_not_be_read_is_unknown(file: Path) -> None:
    """The reason is the system's own; whoever may read everything is shown the file."""
    file.chmod(0)
    assert verdicts(LocalWitness(), file) in ([(["unknown"], "Permission denied")], [(["same"], "")])


def test_bytes_that_are_no_text_are_compared_as_they_were_shown(tmp_path: Path) -> None:
    """What an agent shows of a byte that is no UTF-8 is a replacement character, on both sides."""
    path = tmp_path / "b"
    path.write_bytes(b"one\n\xff\nthree\n")
    shown = (ShownRange(0, 1, ("one", "\ufffd", "three")),)
    assert [
        p.verdict for one in LocalWitness().look({str(path): shown}).files or [] for p in one.results[0].pieces
    ] == ["same"]


class Mount:
    """A file system that does not answer until it is let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.gone_on = threading.Event()

    def read(self, path: str, most: int) -> bytes:
        self.asked.append(path)
        if "dead" in path:
            self.gone_on.wait()
        return TEXT.encode()


def test_a_file_system_that_does_not_answer_is_not_waited_for() -> None:
    """What was read before is known; later looks are unknown at once, until the read has returned."""
    mount = Mount()
    witness = LocalWitness(limits=LookLimits(seconds=2), read=mount.read)
    assert verdicts(witness, "/a", "/dead/b", "/c") == [(["same"], ""), (["unknown"], STUCK), (["unknown"], STUCK)]
    assert verdicts(witness, "/a") == [(["unknown"], STUCK)]
    assert mount.asked == ["/a", "/dead/b"]
    mount.gone_on.set()
    witness = patient(witness)
    assert verdicts(witness, "/a", "/dead/b") == [(["same"], ""), (["same"], "")]


def patient(witness: LocalWitness) -> LocalWitness:
    """The same witness, when its reader has returned."""
    with witness._reading._unfinished:
        pass
    witness._limits = LookLimits(seconds=60)
    return witness


def test_a_process_ends_although_a_read_does_not() -> None:
    """Nothing waits for it, at the look and at the end."""
    script = (
        "import threading\nfrom execledger.core.witness import ShownRange\n"
        "from execledger.session.witness import LocalWitness\n"
        "witness = LocalWitness(read=lambda path, most: threading.Event().wait())\n"
        "(found,) = witness.look({'/a': (ShownRange(0, 1, ('one',)),)}).files\nprint(found.reason)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == f"{STUCK}\n"


def test_a_file_that_another_program_has_reserved_is_not_waited_for(file: Path) -> None:
    """With a lease on it, opening a file takes until its holder gives it up, unless one asks not to wait."""
    with file.open("r+b") as held:
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        try:
            fcntl.fcntl(held.fileno(), fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except (AttributeError, OSError):
            pytest.skip("no leases on this file system")
        ((found, reason),) = verdicts(LocalWitness(limits=LookLimits(seconds=60)), file)
        assert (found, bool(reason)) == (["unknown"], True)
