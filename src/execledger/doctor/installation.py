"""The installation: Python, our package, its extras, and the folder that journals go to."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from execledger.agents.registry import agents
from execledger.doctor.findings import Finding
from execledger.extras import EXTRAS, install_command, missing
from execledger.journal.folder import edits_file, journal_folder, require_readable, state_folder
from execledger.version import __version__

OLDEST_PYTHON = (3, 11)
ROOM = 100_000_000
"""Bytes that should be free: many long runs."""


def package() -> Iterator[Finding]:
    """Python and ourselves."""
    python = ".".join(map(str, sys.version_info[:3]))
    old = sys.version_info < OLDEST_PYTHON
    yield Finding("python", "fix" if old else "ok", python, "install Python 3.11 or newer" if old else "")
    yield Finding("execledger", "ok", f"{__version__} in {Path(__file__).parents[1]}")


def extras() -> Iterator[Finding]:
    """Which extras are installed; none of them is needed by itself."""
    modules = {**EXTRAS, **{one.extra: one.modules for one in agents() if one.modules}}
    lacking = {name: missing(name, modules[name]) for name in sorted(modules)}
    here = [name for name, lacks in lacking.items() if not lacks]
    yield Finding("extras", "ok", f"installed: {', '.join(here) or 'none'}")
    for name, lacks in lacking.items():
        if lacks and len(lacks) < len(modules[name]):
            found = f"{name} is half installed, without {', '.join(lacks)}"
            yield Finding("extras", "note", found, install_command(name))


def folders() -> Iterator[Finding]:
    """Where journals and edits go: whether they can be written, are private, and have room."""
    folder = journal_folder()
    for one in (folder, state_folder()):
        try:
            require_readable(one)
        except OSError as error:
            mend = "chown or chmod it" if isinstance(error, PermissionError) else "move it away"
            other = ", or set EXECLEDGER_JOURNAL" if one == folder else ""
            yield Finding("state folder", "fix", f"{error.filename}: {error.strerror}", mend + other)
            return
    if not folder.exists():
        above = next(one for one in folder.parents if one.exists())
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            found = f"{folder} is not there, and {above} can't be written to"
            yield Finding("state folder", "fix", found, f"chown or chmod {above}, or set EXECLEDGER_JOURNAL")
            return
        yield Finding("state folder", "ok", f"{folder}, made by the first run")
        yield from _room(above)
        return
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-"):
            yield Finding("state folder", "ok", f"{folder} can be written to")
    except OSError as error:
        found = f"{folder} can't be written to: {error.strerror or error}"
        yield Finding("state folder", "fix", found, f"chown or chmod {folder}, or set EXECLEDGER_JOURNAL")
    yield from _private(folder)
    yield from _room(folder)


def _private(folder: Path) -> Iterator[Finding]:
    edits = edits_file()
    for path in (folder, *([edits] if edits.exists() else [])):
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            mode = "700" if path.is_dir() else "600"
            yield Finding("privacy", "fix", f"{path} is open to other users", f"chmod {mode} {path}")
            return
    journals = [path for path in sorted(folder.glob("*.ledger.jsonl")) if path.lstat().st_mode & 0o077]
    if journals:
        found = f"{len(journals)} journals in {folder} are open to other users"
        yield Finding("privacy", "fix", found, f"chmod 600 {folder}/*.ledger.jsonl")
    else:
        yield Finding("privacy", "ok", "journals and edits are for your eyes only")


def _room(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:,.1f} GB free"
    if free < ROOM:
        yield Finding("free space", "fix", found, "make room, or `execledger purge --older-than 30d`")
    else:
        yield Finding("free space", "ok", found)
