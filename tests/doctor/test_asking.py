"""Asking other programs, also those that hang, and checks that fail."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from execledger.doctor.asking import Said, ask
from execledger.doctor.findings import Finding, guarded


def test_a_program_says_its_version() -> None:
    """What it prints, or its errors where it prints nothing."""
    assert ask([sys.executable, "-c", "print(' 1.2 ')"]) == Said("1.2", 0)
    script = "import sys; sys.stderr.write('no such option'); sys.exit(3)"
    assert ask([sys.executable, "-c", script]) == Said("no such option", 3, "ended with status 3")


def test_a_program_that_can_t_be_started_is_trouble(tmp_path: Path) -> None:
    """Because it is not there, or no program."""
    (tmp_path / "text").write_text("just a text")
    (tmp_path / "text").chmod(0o755)
    assert ask([str(tmp_path / "nothing")]).trouble == "can't be started: No such file or directory"
    assert ask([str(tmp_path / "text")]).trouble.startswith("can't be started: ")


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """Its child, too, which has its output open."""
    script = f"sleep 600 & echo $! > {tmp_path / 'child'}; sleep 600"
    said = ask(["sh", "-c", f"trap '' TERM; {script}"], seconds=2.0)
    assert said.trouble == "did not answer within 2 seconds"
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 60
    while _lives(child):
        assert time.monotonic() < deadline, "the child outlived its end"
        time.sleep(0.02)


def _lives(process: int) -> bool:
    """A process that nobody has asked after yet is dead all the same."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def test_a_check_that_fails_is_a_finding() -> None:
    """What it found before stands; no key that an error quotes is repeated."""

    def check() -> Iterator[Finding]:
        yield Finding("a", "ok", "fine")
        raise ValueError("password=swordfish\nis wrong")

    assert guarded("a", check) == [
        Finding("a", "ok", "fine"),
        Finding("a", "fix", "the check failed: ValueError: password=[redacted] is wrong", "mend this, or report it"),
    ]


def test_a_check_that_hangs_is_a_finding() -> None:
    """The others go on."""
    release = threading.Event()

    def check() -> Iterator[Finding]:
        release.wait(600)
        yield Finding("a", "ok", "at last")

    try:
        (finding,) = guarded("a", check, seconds=0.1)
    finally:
        release.set()
    assert (finding.status, finding.found) == ("fix", "the check did not end within 0.1 seconds")
