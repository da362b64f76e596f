"""Runs generated commands in a real bash, in a scratch folder, and says which files changed and what was printed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from msgspec import Struct

from tests.support.shell_grammar import VARIABLES

CONTENTS = {
    "a.py": b"".join(b"def f%d(): return [%d]\n" % (n, n) for n in range(8)),
    "b.txt": b"b one\na two\n\n\nthree a\nx[y] /z\n",
    "d/c.txt": b"c\na\n",
    "nul.bin": b"one\0two\nthree\nfour\0\nfive\n",
    "marks.txt": b"one\n\\:\\:\\:\ntwo\n\\:\\:\nthree\n\\:\nfour\n",
    "bare.txt": b"one\ntwo\nthree",
}
"""The files that a command starts with: plain ones, NUL bytes, marks that ``nl`` acts upon, no final newline."""
TIMEOUT = 10
"""Seconds after which a command is ended; what it changed until then counts."""


ENDED = -1000
"""The status of a command that took too long."""
LIMITED = 'ulimit -f 2048 -t 5; exec bash -c "$1"'
"""Bounds the size of files, for a command may append to what it reads, and the time that it computes."""


class Ran(Struct, frozen=True):
    """What one command did."""

    changed: frozenset[str]
    """Paths beneath the scratch folder that are new, different or gone."""
    output: bytes
    """What it printed."""
    status: int
    """Its exit status, or ``ENDED``."""


class RealShell:
    """A bash in a scratch folder that is as new for every command."""

    def __init__(self, folder: Path) -> None:
        """Use ``folder``, which must be empty."""
        self.root = folder / "work"
        self._home = folder / "home"
        self._home.mkdir()
        self._fill()

    def run(self, command: str) -> Ran:
        """Run a command, see what changed, and put everything back."""
        environment = {**VARIABLES, "PATH": "/usr/bin:/bin", "HOME": str(self._home), "LC_ALL": "C.UTF-8"}
        with subprocess.Popen(
            ("bash", "-c", LIMITED, "bash", command), cwd=self.root, env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=TIMEOUT)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, status = b"", ENDED
        after = self._snapshot()
        changed = frozenset(path for path in {*self._before, *after} if self._before.get(path) != after.get(path))
        if changed:
            self._fill()
        return Ran(changed, output, status)

    def _fill(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        for name, content in CONTENTS.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._before = self._snapshot()

    def _snapshot(self) -> dict[str, tuple[int, ...]]:
        """Everything beneath the folder, by what a change would change; a folder only by its mode."""
        found: dict[str, tuple[int, ...]] = {}
        folders = [str(self.root)]
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        found[entry.path] = (status.st_mode,)
                    else:
                        found[entry.path] = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns)
        return found
