"""Finds the Python that mini-swe-agent lives in, and starts it there with Ledger named in its configuration."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from execledger.errors import LedgerError
from execledger.extras import requirement

PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?")
"""How an interpreter is called."""
PRESENT = """
import importlib.util, sys
sys.path = [folder for folder in sys.path if folder]
sys.exit(3 if sys.version_info < (3, 11) else importlib.util.find_spec("execledger") is None)
"""
"""Whether our package can be imported, asked of another Python; the folder that we are in does not count."""
TOO_OLD = 3
"""Its answer where our package could not even be installed."""


def start(script: str, arguments: list[str], options: Mapping[str, object]) -> None:
    """Become the agent whose console script is ``script``, with Ledger in it."""
    program = Path(script).name
    interpreter = interpreter_of(script)
    check(interpreter, program)
    given = json.dumps(dict(options))
    os.execv(interpreter, [interpreter, "-P", "-m", "execledger.agents.mini.start", given, program, *arguments])


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


def check(interpreter: str, program: str) -> None:
    """See that a Python can import our package; the error says what to do."""
    try:
        status = subprocess.run([interpreter, "-c", PRESENT], check=False).returncode
    except OSError as error:
        raise LedgerError(
            f"{interpreter} runs {program}, but can't be started: {error.strerror}", hint="install mini-swe-agent anew"
        ) from error
    if status == TOO_OLD:
        raise LedgerError(
            f"{interpreter} runs {program}, and is too old for execledger",
            hint="install mini-swe-agent with Python 3.11 or newer",
        )
    if status:
        raise LedgerError(f"{interpreter} runs {program}, but can't import execledger", hint=remedy(interpreter))


def remedy(interpreter: str) -> str:
    """The one line that makes our package importable for another Python."""
    tool = re.search(r"/(pipx/venvs|uv/tools)/([^/]+)/", interpreter)
    if tool and tool[1] == "pipx/venvs":
        return f"pipx inject {tool[2]} {requirement()}"
    if tool:
        return f"uv tool install {tool[2]} --with {requirement()}"
    return f"{shlex.quote(interpreter)} -m pip install {requirement()}"
