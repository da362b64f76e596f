"""The store of edits: what is added once is found for ever."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from execledger.journal.migrate import NewerVersion
from execledger.proxy.edits import MIGRATIONS, CallEdit, EditStore, ResultEdit, open_edits
from execledger.session.adapter import ToolCall
from execledger.vocabulary.decisions import Allow, Fingerprint, Reuse, Shown

CALL = CallEdit("m1", ToolCall("t", "{}"), ToolCall("t", "shim"), Reuse("repeat", ("fact",), (0,)), "[text]", ("c0",))
RESULT = ResultEdit("c1", Allow("new"), Shown("reference", "r", result=Fingerprint("d", "s", 9, 1)), ("c0",))


def test_edits_outlive_the_store(tmp_path: Path) -> None:
    """A store opened again has what was added, in a private file."""
    path = tmp_path / "state" / "edits.sqlite3"
    first = EditStore(path)
    first.add(CALL)
    first.add(RESULT)
    second = EditStore(path)
    assert (second.call("m1"), second.result("c1")) == (CALL, RESULT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in path.parent.iterdir())


def test_an_edit_never_changes() -> None:
    """What was remembered first stays, and what is of another kind is not found."""
    store = EditStore(None)
    store.add(RESULT)
    store.add(ResultEdit("c1", Allow("new"), Shown("remark", "x")))
    assert store.result("c1") == RESULT
    assert store.call("c1") is None
    assert store.result("unknown") is None


def test_two_proxies_share_a_store(tmp_path: Path) -> None:
    """What one writes, the other finds at once."""
    one, other = EditStore(tmp_path / "e"), EditStore(tmp_path / "e")
    one.add(CALL)
    assert other.call("m1") == CALL
    other.add(RESULT)
    assert one.result("c1") == RESULT


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_stores_of_every_version_are_opened(tmp_path: Path, version: int) -> None:
    """What was remembered is found, more can be added, and the file has the current version from then on."""
    path = tmp_path / "edits.sqlite3"
    shutil.copy(Path(__file__).with_name("samples") / f"version-{version}.sqlite3", path)
    assert version_of(path) == version
    for _ in range(2):
        store = EditStore(path)
        call, result = store.call("mark-1"), store.result("chain-1")
        assert call is not None and (call.original.text, call.call_id) == ('{"cmd": "cat a.py"}', "call-1")
        assert result is not None and (result.shown.text, result.targets) == ("[Ledger: same]", ("chain-0",))
        partly = store.result("chain-2")
        assert (partly is None) == (version < 2)
        assert partly is None or (partly.shown.kind, partly.shown.cuts, partly.targets) == (
            "partial",
            (0,),
            ("chain-0",),
        )
        assert store.add(CALL) == CALL
        store.close()
        assert version_of(path) == len(MIGRATIONS)


def version_of(path: Path) -> int:
    """The version that a database has."""
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("PRAGMA user_version").fetchone()[0])


def newer_store(path: Path) -> bytes:
    """A store as a later execledger may leave it; its bytes."""
    EditStore(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode=DELETE")
        file.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    return path.read_bytes()


def test_a_newer_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """Both versions are named, and no byte of the file changes."""
    path = tmp_path / "edits.sqlite3"
    before = newer_store(path)
    with pytest.raises(NewerVersion) as caught:
        EditStore(path)
    found = f"found stored edits of version {len(MIGRATIONS) + 1}, expected at most {len(MIGRATIONS)}"
    assert (caught.value.message, path.read_bytes(), list(tmp_path.iterdir())) == (found, before, [path])


def test_with_a_newer_store_a_proxy_keeps_the_edits_of_its_own_run(tmp_path: Path) -> None:
    """The agent is served as ever, and the user reads which versions there are."""
    path, said = tmp_path / "edits.sqlite3", list[str]()
    newer_store(path)
    store = open_edits(path, said.append)
    assert store.add(RESULT) == RESULT and store.result("c1") == RESULT
    expected = f"found stored edits of version {len(MIGRATIONS) + 1}, expected at most {len(MIGRATIONS)}"
    assert said == [f"Ledger can't keep its edits in {path}, a later run won't know them: {expected}"]
