"""The store of edits: what is added once is found for ever."""

from __future__ import annotations

import stat
from pathlib import Path

from execledger.proxy.edits import CallEdit, EditStore, ResultEdit
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
