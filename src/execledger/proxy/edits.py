"""What was edited in conversations, remembered for ever: the same request is always rewritten in the same way.

Edits are only ever added. They outlive the process, so that a resumed session, also one that was forked or that meets
another proxy, is shown the same history. A call's edit is found by the mark in its shim, a result's by the chain of
everything that was called and answered up to it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from execledger.core.fingerprint import fingerprint
from execledger.errors import LedgerError, reason
from execledger.journal.folder import private_folder
from execledger.journal.migrate import pending
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Decision, Shown

BUSY_SECONDS = 0.5
"""How long another process may keep us from writing; after that the edit is not made, and the call is allowed."""

RECENT = 4096
"""Edits that are also kept in memory, so that a conversation goes on as it was when the file is lost under it."""


class CallEdit(Struct, frozen=True, tag="call"):
    """A proposed call that was not to run, and the shim that took its place."""

    mark: str
    """What is written into the shim; no two edits have the same."""
    original: ToolCall
    """What the model asked for."""
    shim: ToolCall
    """What the client was told to run."""
    decision: Decision
    """Why."""
    reference: str
    """What the model is shown as the result."""
    targets: tuple[str, ...] = ()
    """The chains of the results that the reference points at."""
    call_id: str = ""
    """Which call it is: the same words in another call are somebody else's; "" in edits of the first version."""

    def made(self, call_id: str, call: ToolCall) -> bool:
        """``call`` is the shim itself, and no copy of it."""
        return call.repeats(self.shim) and self.call_id in ("", call_id)


class ResultEdit(Struct, frozen=True, tag="result"):
    """A result that is shown otherwise than it came."""

    chain: str
    """Everything called and answered up to this result; with the result itself, it makes what is shown."""
    decision: Decision
    """What was decided before it ran."""
    shown: Shown
    """How it is shown, with the words of the reference or remark; its targets are in ``targets``."""
    targets: tuple[str, ...] = ()
    """The chains of the results that it refers to."""

    def fits(self, result: Observation) -> bool:
        """Whether it can be applied to ``result``, as the adapter reads it now.

        References in place of some lines are positions in a text: in another text they would replace other lines.
        """
        made_for = self.shown.result
        whole = self.shown.kind != "partial"
        return whole or (made_for is not None and made_for.digest == fingerprint(result, steady=False).digest)


Edit: TypeAlias = CallEdit | ResultEdit

_DECODER: msgspec.json.Decoder[Edit] = msgspec.json.Decoder(Edit)


def _create_table(file: sqlite3.Connection) -> None:
    """Version 1: the table, which files of version 0 have as well, and the version in ``PRAGMA user_version``."""
    file.execute("CREATE TABLE IF NOT EXISTS edits (key TEXT PRIMARY KEY, edit BLOB NOT NULL) WITHOUT ROWID")


def _allow_partial(_: sqlite3.Connection) -> None:
    """Version 2: results may be shown in part, a kind that earlier versions do not know."""


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create_table, _allow_partial)
"""The migrations of the database of edits."""


def _migrate(file: sqlite3.Connection) -> None:
    """Bring a database up to date in one transaction; raises ``NewerVersion``."""
    if not pending("stored edits", _version(file), MIGRATIONS):
        return
    file.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it meanwhile.
        for migration in pending("stored edits", _version(file), MIGRATIONS):
            migration(file)
        file.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        file.execute("COMMIT")
    except BaseException:
        file.execute("ROLLBACK")
        raise


def _version(file: sqlite3.Connection) -> int:
    """The version of a database; 0 where none was set."""
    return int(file.execute("PRAGMA user_version").fetchone()[0])


def open_edits(path: Path | None, tell: Callable[[str], None]) -> EditStore:
    """Open the store in ``path``; if that fails, ``tell`` the user why and keep the edits of this run in memory."""
    try:
        if path is not None:
            private_folder(path.parent)
        return EditStore(path)
    except Exception as error:
        why = error.message if isinstance(error, LedgerError) else reason(error)
        tell(f"Ledger can't keep its edits in {path}, a later run won't know them: {why}")
        return EditStore(None)


class EditStore:
    """The edits of every conversation on this machine, in one private file."""

    def __init__(self, path: Path | None) -> None:
        """Open the store in ``path``, created if it does not exist; None keeps it in memory.

        Raises ``OSError`` or ``sqlite3.Error`` if that fails, ``NewerVersion`` if a newer execledger has written it.
        """
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._recent: dict[str, Edit] = {}
        self._lock = threading.Lock()
        """Held for each question and each write: the store is used on the event loop and on the worker's thread."""
        self._file = sqlite3.connect(
            path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _migrate(self._file)
            # Readers never wait for a writer, and a write survives the death of the process, if not a power cut.
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            self._file.close()
            raise

    def add(self, edit: Edit) -> Edit | None:
        """Remember an edit; the one that counts from now on, which may have been there before, or None."""
        key = edit.mark if isinstance(edit, CallEdit) else edit.chain
        row = (key, msgspec.json.encode(edit))
        with self._lock:
            return self._added(key, row, edit)

    def _added(self, key: str, row: tuple[str, bytes], edit: Edit) -> Edit | None:
        try:
            added = self._file.execute("INSERT OR IGNORE INTO edits VALUES (?, ?)", row).rowcount
        except sqlite3.Error:
            return None
        if not added:
            return self._find(key)
        self._recent[key] = edit
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return edit

    def call(self, mark: str) -> CallEdit | None:
        """The edit whose shim has this mark."""
        with self._lock:
            edit = self._find(mark)
        return edit if isinstance(edit, CallEdit) else None

    def result(self, chain: str) -> ResultEdit | None:
        """The edit of the result at this point of a conversation."""
        with self._lock:
            edit = self._find(chain)
        return edit if isinstance(edit, ResultEdit) else None

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _find(self, key: str) -> Edit | None:
        if recent := self._recent.get(key):
            return recent
        try:
            row = self._file.execute("SELECT edit FROM edits WHERE key = ?", (key,)).fetchone()
            return None if row is None else _DECODER.decode(row[0])
        except (sqlite3.Error, msgspec.MsgspecError):
            # The file was damaged or removed: edits that are only in it are lost.
            return None
