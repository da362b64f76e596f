"""One shell for many commands: each runs in a fresh subshell of it, which is much cheaper than a new shell.

A command leaves nothing behind but its files and the jobs that it starts: variables, functions and the working folder
end with its subshell.
"""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

DEADLINE = 120.0
"""Seconds that a command may take; a slow machine needs some."""


class SteadyShell:
    """A bash that takes one command after the other; use it in a ``with`` block."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        """A shell that works in ``folder``, with more variables from ``environment``."""
        self._mark = f"--end of command {os.getpid()}--"
        self._process = subprocess.Popen(
            ("bash", "--noprofile", "--norc"),
            cwd=folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        )

    def __enter__(self) -> SteadyShell:
        """The shell itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the shell; jobs that its commands left behind go on."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def run(self, command: str) -> tuple[str, int]:
        """The output and error output of ``command``, together, and its exit status."""
        assert self._process.stdin is not None
        ended = f"printf '\\n%s%d\\n' {shlex.quote(self._mark)} \"$?\""
        self._process.stdin.write(f"( eval {shlex.quote(command)}\n) </dev/null 2>&1; {ended}\n".encode())
        output, _, status = self._answer().rpartition(f"\n{self._mark}".encode())
        return output.decode("utf-8", "replace"), int(status)

    def _answer(self) -> bytes:
        """Everything up to and with the mark behind a command's output."""
        assert self._process.stdout is not None
        stream, mark = self._process.stdout.fileno(), self._mark.encode()
        until = time.monotonic() + DEADLINE
        pieces = b""
        while not (pieces.endswith(b"\n") and mark in pieces[-len(mark) - 16 :]):
            if not select.select([stream], [], [], max(until - time.monotonic(), 0))[0]:
                raise TimeoutError(f"no answer within {DEADLINE:.0f} seconds, so far: {pieces[-200:]!r}")
            piece = os.read(stream, 1 << 16)
            if not piece:
                raise EOFError(f"the shell has ended, with: {pieces[-200:]!r}")
            pieces += piece
        return pieces
