"""Transient files: scratch files, backups and logs, left out by name and extension.

A change of one of them is left out of the current focus and of the global change counter; its own local counter still
advances, and it is never reused before running. This is the one list of what counts.
"""

from __future__ import annotations

import posixpath
import re

EXTENSIONS = frozenset(
    ".bak .backup .orig .rej .swp .swo .tmp .temp .log .out .pyc .pyo .o .patch .diff .pid .lock~ .old .save".split()
)
"""Backups, logs, compiled files and patches."""

FOLDERS = frozenset("tmp __pycache__ .pytest_cache .mypy_cache .ruff_cache .git .tox .nox .cache node_modules".split())
"""Folders whose content is scratch, wherever they stand."""

NAMES = re.compile(
    r"(?:repro|reproduce|reproduction|reproducer|scratch|debug|demo|tmp|temp|check|verify|playground)"
    r"(?:[-_.\d].*)?|(?:test|check|verify|debug)[-_](?:repro|reproduce|reproduction|fix|issue|bug|patch|script)\w*(?:\..*)?"
    r"|.*[-_](?:repro|reproduce|reproduction|backup|bak)\.\w+|patch\.txt|nohup\.out|.*~|\#.*\#|output\.txt|log\.txt",
    re.IGNORECASE,
)
"""File names that agents give to reproductions, scratch work and submissions."""


def transient(path: str, home: str | None = None) -> bool:
    """``path`` is a scratch file, backup or log by its name; folders above ``home``, where the work is, don't count."""
    if path == home:
        return False
    folder, name = posixpath.split(path.removeprefix(home + "/") if home else path)
    if posixpath.splitext(name)[1].lower() in EXTENSIONS or NAMES.fullmatch(name):
        return True
    return not FOLDERS.isdisjoint(folder.split("/"))
