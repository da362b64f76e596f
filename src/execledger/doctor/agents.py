"""The agents on this machine: where they are, in which version, and what Ledger can do with each."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from execledger.agents.programs import interpreter_of
from execledger.agents.registry import Agent, Problems, agents, parsed
from execledger.doctor.findings import Finding
from execledger.errors import LedgerError
from execledger.extras import install_command, missing

ASK_SECONDS = 60.0
"""How long a program may take to say its version."""
SAID = 20_000
"""Bytes of an answer that are looked at."""
NUMBER = re.compile(r"\d+\.\d+(?:\.\d+)?(?:[\w.+-]*\w)?")
"""A version in an answer; a period behind it ends a sentence."""
FOLDERS = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""The variables with the folders in which programs leave files."""


class Said(Struct, frozen=True):
    """What a program answered."""

    text: str
    """What it printed; where it printed nothing, its errors."""
    status: int | None
    """Its exit status; None if it was ended, or could not be started."""
    trouble: str = ""
    """Why there is no answer; "" if there is one."""


def ask(command: Sequence[str], seconds: float = ASK_SECONDS, environment: Mapping[str, str] | None = None) -> Said:
    """Run a program that is to say something and end, in this environment or in that of this process."""
    # Files, not pipes: a process that outlives the program would keep a pipe open, and us waiting.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            program = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Said("", None, f"can't be started: {getattr(error, 'strerror', None) or error}")
        try:
            status = program.wait(seconds)
        except subprocess.TimeoutExpired:
            return Said("", None, f"did not answer within {seconds:g} seconds")
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read(SAID).decode("utf-8", "replace").strip())
    return Said(texts[0] or texts[1], status, "" if status == 0 else f"ended with status {status}")


VERSION = """
import sys
from importlib.metadata import version
try:
    print(version(sys.argv[1]))
except Exception:
    print("?")
"""
"""A program for another Python, which prints the version of a package."""


def agent(one: Agent) -> Iterator[Finding]:
    """Every copy of an agent."""
    places = programs(one)
    if not places:
        yield Finding(one.name, "none", "not found here")
    for place in places:
        yield from _packaged(one, place) if one.package else _program(one, place)


def nothing_to_run() -> Iterator[Finding]:
    """No agent that Ledger can be around."""
    runnable = [one for one in agents() if one.use == "run"]
    if not any(map(programs, runnable)):
        fix = ", or ".join(one.how_to_install() for one in runnable)
        yield Finding("agents", "note", "none that Ledger can run", fix)


def programs(one: Agent) -> list[str]:
    """Where the programs of an agent are, each once: on the path, beside our Python, in environments of their own."""
    found: dict[str, str] = {}
    for folder in _folders(one):
        for name in one.programs:
            place = shutil.which(name, path=folder)
            if place is not None:
                # The programs of one installation lie side by side, and links lead to it.
                found.setdefault(os.path.dirname(os.path.realpath(place)), place)
                break
    return list(found.values())


def _folders(one: Agent) -> Iterator[str]:
    yield from os.environ.get("PATH", os.defpath).split(os.pathsep)
    yield str(Path(sys.executable).parent)
    home = Path.home()
    pipx = [os.environ.get("PIPX_HOME"), home / ".local/share/pipx", home / ".local/pipx"]
    tools = [os.environ.get("UV_TOOL_DIR"), home / ".local/share/uv/tools"]
    name = one.package or one.programs[0]
    for above in [*(Path(place, "venvs") for place in pipx if place), *(Path(place) for place in tools if place)]:
        yield str(above / name / "bin")


def _packaged(one: Agent, place: str) -> Iterator[Finding]:
    """An agent that is a Python package, perhaps in an environment of its own."""
    try:
        python = interpreter_of(place)
    except (LedgerError, OSError) as error:
        yield Finding(one.name, "note", f"{place}: {getattr(error, 'message', error)}")
        return
    said = ask([python, "-c", VERSION, one.package])
    if said.trouble or said.text == "?":
        found = f"{place}: {python} {said.trouble or f'does not know the package {one.package}'}"
        yield Finding(one.name, "fix" if one.use == "run" else "note", found, f"install {one.name} anew")
        return
    yield _judged(one, said.text, place)
    if one.problems:
        problems: Problems = one.part("problems")
        for found, fix in problems(python, _asked):
            yield Finding(one.name, "fix", found, fix)


def _asked(command: list[str]) -> tuple[str, int | None]:
    """The output of a command and its exit status; None if it did not end by itself."""
    said = ask(command)
    return said.text, said.status


def _program(one: Agent, place: str) -> Iterator[Finding]:
    """An agent that says its version itself."""
    said = _version(one, place)
    number = NUMBER.search(said.text)
    if said.trouble or number is None:
        found = f"{place} --version {said.trouble or 'names no version'}"
        yield Finding(
            one.name, "fix" if one.use == "run" else "note", found, f"see whether `{place} --version` works for you"
        )
        return
    yield _judged(one, number[0], place)
    if one.extra and (lacks := missing(one.extra, one.modules)):
        yield Finding(one.name, "fix", f"needs {' and '.join(lacks)}", install_command(one.extra))


def _version(one: Agent, place: str) -> Said:
    """What a program answers to ``--version``; what it writes meanwhile is removed.

    Some unpack themselves into a cache, or make folders for their settings. A program that fails without the user's
    own home, such as one that a version manager starts, is asked again with it.
    """
    command = [place, "--version"]
    own = {name for kept in one.places for name, _ in kept.variables}
    kept = {name: value for name, value in os.environ.items() if name not in own}
    with tempfile.TemporaryDirectory(prefix="execledger-", ignore_cleanup_errors=True) as folder:
        said = ask(command, environment={**kept, **dict.fromkeys(FOLDERS, folder)})
    answered = said.status is None or (said.status == 0 and NUMBER.search(said.text))
    return said if answered else ask(command)


def _judged(one: Agent, version: str, place: str) -> Finding:
    """What a version is good for."""
    at = f"{version} at {place}"
    if one.use == "read":
        return Finding(
            one.name, "ok", f"{at}: its recorded runs can be read (`execledger replay`), not run under Ledger"
        )
    tested = f"tested {', '.join(one.tested)}"
    if parsed(version) < one.oldest:
        oldest = ".".join(map(str, one.oldest))
        fix = f"update {one.name}{f' ({one.newer_need})' if one.newer_need else ''}"
        return Finding(one.name, "fix", f"{at}: too old, {oldest} and newer work; {tested}", fix)
    how = "EXECLEDGER=on" if one.use == "load" else "execledger run --"
    works = f"`{how} {one.programs[0]} ...` works"
    if parsed(version) > parsed(one.tested[-1]):
        return Finding(one.name, "note", f"{at}: newer than what was {tested}; {works} as far as is known")
    return Finding(one.name, "ok", f"{at}: {works}; {tested}")
