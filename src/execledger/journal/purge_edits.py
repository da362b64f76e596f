"""Deleting the stored edits of conversations, unless a proxy has them open or the file is not ours."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from urllib.parse import quote

from execledger.journal.purge import Skipped

_TABLES = [("edits", "key"), ("edits", "edit")]


def count_edits(path: Path, left: list[Skipped]) -> int | None:
    """How many edits a store has; None if there is none, or if it is another file, which is added to ``left``."""
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        left.append(Skipped(str(path), f"can't be read: {error.strerror or error}"))
        return None
    if not stat.S_ISREG(state.st_mode):
        left.append(Skipped(str(path), "is no plain file"))
        return None
    try:
        file = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1)
        try:
            return _count(file)
        finally:
            file.close()
    except sqlite3.Error as error:
        left.append(Skipped(str(path), f"holds no edits: {error}"))
        return None


def delete_edits(path: Path, left: list[Skipped]) -> int:
    """Delete the store; how many edits it had."""
    held = count_edits(path, left)
    if held is None:
        return 0
    try:
        file = sqlite3.connect(path, timeout=1, isolation_level=None)
        try:
            # This fails unless ours is the only connection, and leaves one plain file.
            file.execute("PRAGMA journal_mode=DELETE")
        finally:
            file.close()
        os.unlink(path)
    except sqlite3.Error:
        left.append(Skipped(str(path), "is in use by a proxy"))
        return 0
    except OSError as error:
        left.append(Skipped(str(path), f"can't be deleted: {error.strerror or error}"))
        return 0
    return held


def _count(file: sqlite3.Connection) -> int:
    tables = [str(row[0]) for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = [(table, str(row[1])) for table in tables for row in file.execute(f"PRAGMA table_info({table!r})")]
    if columns != _TABLES:
        raise sqlite3.DatabaseError("its tables are others'")
    return int(file.execute("SELECT count(*) FROM edits").fetchone()[0])
