"""The agents on this machine: where they are, in which version, and what Ledger can do with each."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from execledger.agents.mini.launch import PRESENT, TOO_OLD, interpreter_of, remedy
from execledger.agents.registry import AGENTS, BROKEN_LITELLM, CODEX, MINI, Supported, parsed
from execledger.doctor.asking import ask
from execledger.doctor.findings import Finding
from execledger.errors import LedgerError
from execledger.extras import install_command, missing

VERSIONS = """
import sys
from importlib.metadata import version
for name in sys.argv[1:]:
    try:
        print(version(name))
    except Exception:
        print("?")
"""
"""Asks another Python for the versions of packages."""


def agent(one: Supported) -> Iterator[Finding]:
    """Every copy of an agent."""
    places = programs(one)
    if not places:
        yield Finding(one.name, "none", "not found here")
    for place in places:
        yield from _packaged(one, place) if one.package else _program(one, place)


def nothing_to_run() -> Iterator[Finding]:
    """No agent that Ledger can be around."""
    if not any(programs(one) for one in AGENTS if one.use == "run"):
        fix = f"{install_command('mini')}, or npm install -g @openai/codex"
        yield Finding("agents", "note", "none that Ledger can run", fix)


def programs(one: Supported) -> list[str]:
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


def _folders(one: Supported) -> Iterator[str]:
    yield from os.environ.get("PATH", os.defpath).split(os.pathsep)
    yield str(Path(sys.executable).parent)
    home = Path.home()
    pipx = [os.environ.get("PIPX_HOME"), home / ".local/share/pipx", home / ".local/pipx"]
    tools = [os.environ.get("UV_TOOL_DIR"), home / ".local/share/uv/tools"]
    name = one.package or one.programs[0]
    for above in [*(Path(place, "venvs") for place in pipx if place), *(Path(place) for place in tools if place)]:
        yield str(above / name / "bin")


def _packaged(one: Supported, place: str) -> Iterator[Finding]:
    """An agent that is a Python package, perhaps in an environment of its own."""
    try:
        python = interpreter_of(place)
    except (LedgerError, OSError) as error:
        yield Finding(one.name, "note", f"{place}: {getattr(error, 'message', error)}")
        return
    said = ask([python, "-c", VERSIONS, one.package, "litellm"])
    version, litellm = (*said.text.split(), "?", "?")[:2]
    if said.trouble or version == "?":
        found = f"{place}: {python} {said.trouble or f'does not know the package {one.package}'}"
        yield Finding(one.name, "fix" if one.use == "run" else "note", found, f"install {one.name} anew")
        return
    yield _judged(one, version, place)
    if one is not MINI:
        return
    if litellm.startswith(BROKEN_LITELLM):
        fix = f"{python} -m pip install 'litellm!=1.106.*,!=1.108.0,!=1.108.1,!=1.108.2,!=1.108.3'"
        yield Finding(one.name, "fix", f"litellm {litellm} breaks every tool call of it, with and without Ledger", fix)
    present = ask([python, "-c", PRESENT]).status
    if present == TOO_OLD:
        fix = "install mini-swe-agent with Python 3.11 or newer"
        yield Finding(one.name, "fix", f"{python} is too old for execledger", fix)
    elif present != 0:
        yield Finding(one.name, "fix", f"{python} can't import execledger", remedy(python))


def _program(one: Supported, place: str) -> Iterator[Finding]:
    """An agent that says its version itself."""
    said = ask([place, "--version"])
    number = re.search(r"\d+\.\d+(?:\.\d+)?[\w.+-]*", said.text)
    if said.trouble or number is None:
        found = f"{place} --version {said.trouble or 'names no version'}"
        yield Finding(
            one.name, "fix" if one.use == "run" else "note", found, f"see whether `{place} --version` works for you"
        )
        return
    yield _judged(one, number[0], place)
    if one is CODEX and (lacks := missing("codex")):
        yield Finding(one.name, "fix", f"needs {' and '.join(lacks)}", install_command("codex"))


def _judged(one: Supported, version: str, place: str) -> Finding:
    """What a version is good for."""
    at = f"{version} at {place}"
    if one.use == "read":
        return Finding(
            one.name, "ok", f"{at}: its recorded runs can be read (`execledger replay`), not run under Ledger"
        )
    tested = f"tested {', '.join(one.tested)}"
    if parsed(version) < one.oldest:
        oldest = ".".join(map(str, one.oldest))
        return Finding(one.name, "fix", f"{at}: too old, {oldest} and newer work; {tested}", f"update {one.name}")
    works = f"`execledger run -- {one.programs[0]} ...` works"
    if parsed(version) > parsed(one.tested[-1]):
        return Finding(one.name, "note", f"{at}: newer than what was {tested}; {works} as far as is known")
    return Finding(one.name, "ok", f"{at}: {works}; {tested}")
