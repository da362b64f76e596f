"""Finds the Python that mini-swe-agent lives in, and starts it there with Ledger named in its configuration."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from execledger.agents.programs import interpreter_of
from execledger.agents.registry import Launch
from execledger.errors import LedgerError
from execledger.extras import requirement

PRESENT = """
import importlib.util, sys
sys.path = [folder for folder in sys.path if folder]
try:
    from importlib.metadata import version
    print(version("litellm"))
except Exception:
    print("?")
sys.exit(3 if sys.version_info < (3, 11) else importlib.util.find_spec("execledger") is None)
"""
"""A program for the agent's Python: prints litellm's version, and exits with 0 if it can import our package.

The current directory does not count."""
TOO_OLD = 3
"""Its exit status in a Python that is too old for our package."""
BROKEN_LITELLM = ("1.106.", "1.108.0", "1.108.1", "1.108.2", "1.108.3")
"""Versions of litellm that break every tool call of an unmodified mini-swe-agent: how their numbers begin."""


def start(script: str, arguments: list[str], launch: Launch) -> int:
    """Replace this process by the agent whose console script is ``script``, with Ledger in its configuration."""
    program = Path(script).name
    interpreter = interpreter_of(script)
    check(interpreter, program)
    placement = launch.options.get("--placement")
    given = json.dumps({**launch.asked, **({"placement": placement} if placement else {})})
    os.execv(interpreter, [interpreter, "-P", "-m", "execledger.agents.mini.start", given, program, *arguments])


def check(interpreter: str, program: str) -> None:
    """See that a Python can import our package; the error says what to do."""
    try:
        status = subprocess.run([interpreter, "-c", PRESENT], stdout=subprocess.DEVNULL, check=False).returncode
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


def problems(python: str, ask: Callable[[list[str]], tuple[str, int | None]]) -> Iterator[tuple[str, str]]:
    """What keeps mini-swe-agent in this Python from working with Ledger, each with its repair."""
    litellm, status = ask([python, "-c", PRESENT])
    if litellm.startswith(BROKEN_LITELLM):
        fix = f"{python} -m pip install 'litellm!=1.106.*,!=1.108.0,!=1.108.1,!=1.108.2,!=1.108.3'"
        yield f"litellm {litellm} breaks every tool call of it, with and without Ledger", fix
    if status == TOO_OLD:
        yield f"{python} is too old for execledger", "install mini-swe-agent with Python 3.11 or newer"
    elif status != 0:
        yield f"{python} can't import execledger", remedy(python)
