"""A program on a terminal, as a test drives it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.agents.terminal import END, ENTER, Terminal

# Asks where the cursor is, as terminal programs do, then repeats each line that is typed.
PROGRAM = r"""
import os, sys, termios, tty
kept = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"\x1b[6n")
answer = os.read(0, 64)
termios.tcsetattr(0, termios.TCSANOW, kept)
print("\x1b[1mcursor\x1b[0m", answer[2:-1].decode(), open("/dev/tty").isatty(), flush=True)
for line in sys.stdin:
    print("got", line.strip(), len(line), flush=True)
print("bye", flush=True)
sys.exit(3)
"""


def test_a_program_is_driven(tmp_path: Path) -> None:
    """Its question is answered, what it writes is seen without control sequences, and keys reach it until the end."""
    with Terminal([sys.executable, "-c", PROGRAM], tmp_path, os.environ) as terminal:
        terminal.wait_for("cursor 1;1 True")
        terminal.send(f"hello{ENTER}")
        terminal.wait_for("got hello 6")
        terminal.press_until(f"x{ENTER}", "got x 2")
        terminal.send(END)
        terminal.wait_for("bye")
        assert terminal.wait() == 3


def test_no_process_is_left(tmp_path: Path) -> None:
    """A program that still runs when a test is through is ended."""
    with Terminal([sys.executable, "-c", PROGRAM], tmp_path, os.environ) as terminal:
        terminal.wait_for("cursor")
    assert terminal.process.returncode == -9
