"""Programs of agents: finding one by its name, and the Python that runs a console script."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from execledger.errors import LedgerError

PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?")
"""The file name of a Python interpreter."""


def find_program(name: str, install: str) -> str:
    """The path of a program: on the search path, or beside our own Python; ``install`` is the hint where it is not."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None and os.sep in name:
        raise LedgerError(f"{name}: found no program there, expected one that can be started")
    if found is None:
        raise LedgerError(f"{name}: not found on the path", hint=install)
    return found


def interpreter_of(script: str) -> str:
    """The Python that a console script runs with, from its first lines."""
    head = Path(script).read_bytes()[:2000].decode("utf-8", "replace")
    for line in head.splitlines()[:2]:
        # Where the path is too long for a first line, installers write a line that is shell and Python at once.
        command = re.match(r"(?:#!|'''exec')\s*(.*)", line)
        words = _words(command[1]) if command else []
        words = words[1:] if words and Path(words[0]).name == "env" else words
        if words and PYTHON.fullmatch(Path(words[0]).name):
            return shutil.which(words[0]) or words[0]
    raise LedgerError(f"{script}: found no Python in its first line, expected a console script of mini-swe-agent")


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []
