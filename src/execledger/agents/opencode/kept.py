"""opencode's database, in which it keeps all sessions of a user, taken apart into one document for each session.

A running opencode may write to the database, and much of it may be only in its write-ahead log. So both files are
copied into a private temporary folder and read there: nothing is created or changed beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from execledger.errors import UnreadableRun
from execledger.runs.decoding import MAX_BYTES
from execledger.runs.find import Bundle, Kept, Part

_MAGIC = b"SQLite format 3\0"
_TABLES = frozenset(("session", "message", "part"))
_ATTEMPTS = 5
"""How often a copy is tried that a writer has made useless."""


class Snapshot:
    """A copy of a database, which exists as long as this object."""

    def __init__(self, path: str) -> None:
        """Copy the database at ``path`` with its write-ahead log."""
        folder = tempfile.mkdtemp(prefix="execledger-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._file = Path(folder, "copy.db")
        for _ in range(_ATTEMPTS):
            before = _states(path)
            if (size := sum(state[0] for state in before)) > MAX_BYTES:
                raise UnreadableRun(path, f"found {size:,} bytes, expected at most {MAX_BYTES:,} in one database")
            for suffix in ("", "-wal"):
                Path(f"{self._file}{suffix}").unlink(missing_ok=True)
                if os.path.exists(path + suffix):
                    shutil.copyfile(path + suffix, f"{self._file}{suffix}")
            if _states(path) == before:
                return
        raise UnreadableRun(path, "was written to while it was copied; try again when opencode is idle")

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        # The copy may be written to: its log is merged into it.
        connection = sqlite3.connect(self._file)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()


def _states(path: str) -> list[tuple[int, int]]:
    """Size and time of change of a database and its log."""
    found = [os.stat(path + suffix) for suffix in ("", "-wal") if os.path.exists(path + suffix)]
    return [(state.st_size, state.st_mtime_ns) for state in found]


def _sessions(file: BinaryIO) -> Iterator[Part]:
    """The sessions in a database of opencode; none if the file is another one."""
    path = getattr(file, "name", None)
    if not isinstance(path, str) or file.read(len(_MAGIC)) != _MAGIC:
        return
    ours = os.path.basename(path).startswith("opencode")
    try:
        snapshot = Snapshot(path)
        tables = {name for (name,) in snapshot.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables >= _TABLES:
            return
        found = snapshot.rows("SELECT id FROM session ORDER BY time_created, id")
    except sqlite3.Error as error:
        if ours:
            raise UnreadableRun(path, f"expected a database of opencode, found: {error}") from error
        return
    for (name,) in found:
        yield str(name), partial(_exported, path, snapshot, str(name))


def _exported(path: str, snapshot: Snapshot, session: str) -> bytes:
    """A session in the shape of ``opencode export``."""
    try:
        ((directory, version, parent),) = snapshot.rows(
            "SELECT directory, version, parent_id FROM session WHERE id = ?", session
        )
        messages = snapshot.rows("SELECT id, data FROM message WHERE session_id = ? ORDER BY id", session)
        parts = snapshot.rows("SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", session)
        found: dict[str, dict[str, Any]] = {name: {"info": json.loads(data), "parts": []} for name, data in messages}
        for message, data in parts:
            if message in found:
                found[message]["parts"].append(json.loads(data))
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise UnreadableRun(f"{path}!{session}", f"expected a session of opencode, found: {error}") from error
    info = {"id": session, "directory": directory, "version": version, "parentID": parent}
    return json.dumps({"info": info, "messages": [*found.values()]}).encode()


KEPT = Kept(bundles=(Bundle(endings=(".db",), runs=_sessions),))
"""What opencode keeps: many sessions in a database."""
