"""A program on a terminal of its own, driven by a test: what it writes is watched, and its questions are answered."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

PATIENCE = 60.0
"""Seconds that a test waits for something on the screen."""
STILL = 1.0
"""Seconds without output after which a client waits for input; while it works, it redraws several times a second."""
SIZE = (50, 160)
"""Rows and columns."""
QUESTIONS = {
    b"\x1b[6n": b"\x1b[1;1R",  # Where is the cursor?
    b"\x1b[c": b"\x1b[?62;22c",  # Which terminal is this?
    b"\x1b[?u": b"\x1b[?0u",  # Which keys does it distinguish?
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",  # Which colour has the text?
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",  # And what is behind it?
}
"""Queries of programs to their terminal, and the answers; some programs do not start without one."""
ENTER = "\r"
"""The key that sends a line."""
END = "\x04"
"""The key that ends the input, with which programs are left."""

_QUESTION = re.compile(b"|".join(map(re.escape, QUESTIONS)))
_CONTROL = re.compile(
    rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[\[(][0-9;:?<=>]*[ -/]*[@-~]|\x1b.|[\x00-\x20\x7f]", re.S
)
# Makes the terminal that the program's standard streams are on the one that its keys come from.
_TRAMPOLINE = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """Runs a command on a terminal; a context manager that leaves no process behind."""

    def __init__(self, command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> None:
        """Start the command, whose first word is a whole path."""
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TRAMPOLINE, *command],
            cwd=cwd,
            env=dict(environment),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        """The process that was started."""
        os.close(theirs)
        self._written = bytearray()
        # Guards the output, and wakes threads that wait for more of it.
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Terminal:
        """Watch the program."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program with its process group."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join(PATIENCE)
        os.close(self._ours)

    @property
    def text(self) -> str:
        """All that was ever written, without blanks and control sequences: a program draws only what has changed."""
        with self._changed:
            return _visible(bytes(self._written))

    def wait_for(self, text: str) -> None:
        """Wait until a text has been written; blanks don't count."""
        came = self._comes(text, PATIENCE)
        assert came, f"{text!r} did not come; the last that was written: {self.text[-2000:]}"

    def wait_until_still(self) -> None:
        """Wait until nothing is written for a while: a client at work keeps drawing, and takes no commands."""
        until = time.monotonic() + PATIENCE
        with self._changed:
            while self._changed.wait(STILL):
                assert time.monotonic() < until, f"it never rests; the last that was written: {self.text[-2000:]}"

    def press_until(self, keys: str, text: str) -> None:
        """Press keys until a text is written: programs ignore keys for a moment after they have asked a question."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self.send(keys)
            if self._comes(text, 0.2):
                return
        self.wait_for(text)

    def _comes(self, text: str, seconds: float) -> bool:
        wanted = "".join(text.split())
        with self._changed:
            return self._changed.wait_for(lambda: wanted in _visible(bytes(self._written)), seconds)

    def send(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def paste(self, text: str) -> None:
        """Paste a text: a program may take keys that come quickly for a paste, and the enter key behind them too."""
        self.send(f"\x1b[200~{text}\x1b[201~")

    def wait(self) -> int:
        """Wait for the end; the exit status."""
        return self.process.wait(PATIENCE)

    def _read(self) -> None:
        """Collect what is written, and answer questions, until all that have the terminal open have gone."""
        answered = 0
        while True:
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:
                chunk = b""
            if not chunk:
                return
            with self._changed:
                self._written += chunk
                self._changed.notify_all()
            for question in _QUESTION.finditer(self._written, answered):
                answered = question.end()
                os.write(self._ours, QUESTIONS[question.group()])


def _visible(written: bytes) -> str:
    """What was written without blanks and control sequences."""
    return _CONTROL.sub(b"", written).decode("utf-8", "replace")
