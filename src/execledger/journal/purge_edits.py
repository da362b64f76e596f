"""The stored edits of conversations, taken away: only where no proxy has them open, and only if the file is ours."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from urllib.parse import quote

from execledger.journal.purge import Left

_TABLES = [("edits", "key"), ("edits", "edit")]


def count_edits(path: Path, left: list[Left]) -> int | None:
    """How many edits a store holds; None if there is none, or if the file is something else, noted in ``left``."""
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        left.append(Left(str(path), f"can't be read: {error.strerror or error}"))
        return None
    if not stat.S_ISREG(state.st_mode):
        left.append(Left(str(path), "is no plain file"))
        return None
    try:
        file = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1)
        try:
            return _count(file)
        finally:
            file.close()
    except sqlite3.Error as error:
        left.append(Left(str(path), f"holds no edits: {error}"))
        return None


def delete_edits(path: Path, left: list[Left]) -> int:
    """Take the store away; how many edits it held."""
    held = count_edits(path, left)
    if held is None:
        return 0
    try:
        file = sqlite3.connect(path, timeout=1, isolation_level=None)
        try:
            # This can only be done by the one connection that there is; what it leaves is one plain file.
            file.execute("PRAGMA journal_mode=DELETE")
        finally:
            file.close()
        os.unlink(path)
    except sqlite3.Error:
        left.append(Left(str(path), "is in use by a proxy"))
        return 0
    except OSError as error:
        left.append(Left(str(path), f"can't be deleted: {error.strerror or error}"))
        return 0
    return held


def _count(file: sqlite3.Connection) -> int:
    tables = [str(row[0]) for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = [(table, str(row[1])) for table in tables for row in file.execute(f"PRAGMA table_info({table!r})")]
    if columns != _TABLES:
        raise sqlite3.DatabaseError("its tables are others'")
    return int(file.execute("SELECT count(*) FROM edits").fetchone()[0])
