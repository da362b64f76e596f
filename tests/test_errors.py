"""Errors for the user: one family, a sentence and a hint."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from execledger.errors import BadPolicy, LedgerError, UnreadableRun, reason
from execledger.journal.folder import make_folder


def test_a_hint_stands_on_its_own_line() -> None:
    """Without a hint the message is all."""
    assert str(BadPolicy("found x", hint="try y")) == "found x\nhint: try y"
    assert str(LedgerError("found x")) == "found x"


def test_an_unreadable_run_keeps_its_name_and_reason() -> None:
    """The message joins the two."""
    error = UnreadableRun("run.json", "expected JSON", "look at it")
    assert (error.name, error.reason, str(error)) == (
        "run.json",
        "expected JSON",
        "run.json: expected JSON\nhint: look at it",
    )


def test_errors_survive_the_way_between_processes() -> None:
    """A batch over several processes can report them."""
    for error in (UnreadableRun("run.json", "broken", "h"), BadPolicy("m", "h"), LedgerError("m")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_only_a_folder_that_cannot_be_made_is_said_to_be_a_file(tmp_path: Path) -> None:
    """A file that is there although it must be new is another matter."""
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as in_the_way:
        make_folder(tmp_path / "file")
    with pytest.raises(FileExistsError) as there, (tmp_path / "file").open("x"):
        pass
    assert (reason(in_the_way.value), reason(there.value)) == ("found a file, expected a folder", "File exists")
