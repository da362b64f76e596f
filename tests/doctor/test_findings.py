"""Asking other programs, also those that hang, and checks that fail."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from execledger.doctor.agents import Said, ask
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


def test_a_program_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its child, too, which has its output open."""
    ready, alive = tmp_path / "ready", tmp_path / "alive"
    os.mkfifo(ready)
    os.mkfifo(alive)
    # Both have one end of a pipe open for as long as they live; the program says when its child was started.
    script = f"trap '' TERM; exec 3>{alive}; sleep 600 & echo started > {ready}; sleep 600"
    reading = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)

    class Patient(subprocess.Popen[bytes]):
        """Its time is over once the child was started, however long that takes."""

        def wait(self, timeout: float | None = None) -> int:
            if timeout is not None:
                assert ready.read_text() == "started\n"
                raise subprocess.TimeoutExpired(self.args, timeout)
            return super().wait()

    monkeypatch.setattr(subprocess, "Popen", Patient)
    said = ask(["sh", "-c", script], seconds=2.0)
    assert said.trouble == "did not answer within 2 seconds"
    os.set_blocking(reading, True)
    assert os.read(reading, 1) == b"", "reading ends when nobody has the other end open any more"
    os.close(reading)


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
