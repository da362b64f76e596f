"""``execledger purge`` as a user calls it."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from execledger.journal import Ended, Journal
from execledger.journal.events import Counts
from execledger.proxy.edits import EditStore, ResultEdit
from tests.cli.conftest import Execledger
from tests.journal.runs import plain_step, start, written

DAY = 86_400


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder with two journals at rest, one of them old, one that is being written, and a foreign file."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("EXECLEDGER_JOURNAL", raising=False)
    folder = tmp_path / "execledger" / "journals"
    for name in ("new", "old"):
        end = Ended(counts=Counts(proposed=1))
        path = written(folder, [start(run=name), plain_step(0, output="OPENAI_KEY 1\n"), end], name)
    os.utime(path, (path.stat().st_mtime - 40 * DAY,) * 2)
    journal = Journal.create(folder, "open")
    journal.append(start(run="open"))
    journal.close()
    (folder / "diary.ledger.jsonl").write_text("dear diary\n")
    store = EditStore(tmp_path / "execledger" / "edits.sqlite3")
    step = plain_step(0).step
    store.add(ResultEdit("chain", step.decision, step.shown))
    store.close()
    return folder


def names(folder: Path) -> set[str]:
    return {path.name.partition(".")[0] for path in folder.iterdir()}


def test_old_journals_go_and_others_stay(execledger: Execledger, state: Path) -> None:
    """By age; what is no journal is named, and is no failure."""
    called = execledger("purge", "--older-than", "30d", "--yes")
    assert called.status == 0
    assert called.out.startswith("1 journal deleted (") and called.out.endswith(" bytes); 2 kept; 1 left alone\n")
    assert called.err == f"execledger: left alone: {state / 'diary.ledger.jsonl'} holds no journal\n"
    assert names(state) == {"new", "open", "diary"}


def test_all_takes_the_edits_too_and_leaves_what_is_written(execledger: Execledger, state: Path) -> None:
    """A journal whose run may go on is named, stays, and makes the status 1."""
    called = execledger("purge", "--all", "--yes", "--json")
    totals = json.loads(called.out)
    assert (called.status, totals["deleted"], totals["edits"], totals["kept"]) == (1, 2, 1, 0)
    assert "open.ledger.jsonl has no end" in called.err
    assert names(state) == {"open", "diary"} and not (state.parent / "edits.sqlite3").exists()


def test_a_dry_run_changes_nothing(execledger: Execledger, state: Path) -> None:
    """It says the same, and asks nothing."""
    before = {path: path.read_bytes() for path in state.iterdir()}
    called = execledger("purge", "--all", "--dry-run")
    assert called.out.startswith("2 journals would be deleted (")
    assert "1 edit would be deleted" in called.out
    assert {path: path.read_bytes() for path in state.iterdir()} == before


@pytest.mark.parametrize(
    ("answer", "left"), [("y\n", {"new", "open", "diary"}), ("n\n", {"new", "old", "open", "diary"})]
)
def test_it_asks_first(
    execledger: Execledger, state: Path, monkeypatch: pytest.MonkeyPatch, answer: str, left: set[str]
) -> None:
    """And does nothing without a yes."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    called = execledger("purge", "--run", "old")
    assert (called.status, names(state)) == (0, left)
    assert "Delete 1 journal, " in called.err


def test_nobody_to_ask_is_an_error(execledger: Execledger, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is deleted then."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    called = execledger("purge", "--all")
    assert (called.status, names(state)) == (2, {"new", "old", "open", "diary"})
    assert "found nobody to ask, nothing was deleted" in called.err and "--yes" in called.err


def test_a_folder_that_is_named_is_all_that_is_looked_at(execledger: Execledger, state: Path, tmp_path: Path) -> None:
    """The edits are not there."""
    other = tmp_path / "other"
    written(other, [start(), Ended(counts=Counts())])
    called = execledger("purge", other, "--all", "--yes")
    assert called.out.startswith("1 journal deleted") and called.out.endswith("; 0 kept; 0 left alone\n")
    assert names(state) == {"new", "old", "open", "diary"} and (state.parent / "edits.sqlite3").exists()


def test_redact_deletes_nothing(execledger: Execledger, state: Path) -> None:
    """It takes out what is known as a secret now."""
    path = state / "new.ledger.jsonl"
    key = "ghp" + "_" + "a1B2" * 9
    path.write_bytes(path.read_bytes().replace(b"OPENAI_KEY 1", key.encode()))
    assert execledger("purge", "--redact", "--run", "new", "--dry-run").out.startswith("1 journal would be rewritten")
    assert key in path.read_text()
    called = execledger("purge", "--redact")
    assert called.out == "1 journal rewritten without secrets; 1 kept; 2 left alone\n"
    assert key not in path.read_text() and names(state) == {"new", "old", "open", "diary"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "found nothing to say which journals"),
        (["--older-than", "soon"], "found 'soon', expected a number with h, d or w, such as 30d"),
        (["--all", "--run", "x"], "--all: found with --older-than or --run"),
        (["nowhere", "--all"], "nowhere: found nothing there"),
        (["--run", "old", "--run", "typo", "--yes"], "--run typo: found no journal of this run in "),
        (["--run", "new", "--older-than", "1d", "--yes"], "older than 1d"),
    ],
)
def test_what_makes_no_sense_is_said(execledger: Execledger, state: Path, arguments: list[str], words: str) -> None:
    """With status 2, and nothing is touched."""
    called = execledger("purge", *arguments)
    assert (called.status, words in called.err) == (2, True), called.err
    assert names(state) == {"new", "old", "open", "diary"}


def test_a_folder_that_is_not_there_yet_is_empty(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first run there is nothing to delete."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("EXECLEDGER_JOURNAL", raising=False)
    called = execledger("purge", "--all")
    assert (called.status, called.out) == (0, "0 journals deleted (0 bytes); 0 kept; 0 left alone\n")


def test_what_was_named_and_left_alone_makes_the_status_1(execledger: Execledger, tmp_path: Path) -> None:
    """A foreign file is meant if it is named, and so is a link; a folder with a foreign file in it is another thing."""
    notes, folder = tmp_path / "notes.txt", tmp_path / "folder"
    notes.write_text("dear diary\n")
    folder.mkdir()
    (folder / "diary.ledger.jsonl").write_text("dear diary\n")
    (tmp_path / "link.ledger.jsonl").symlink_to(notes)
    os.mkfifo(tmp_path / "pipe")
    for named in (notes, tmp_path / "link.ledger.jsonl", folder / "diary.ledger.jsonl", tmp_path / "pipe"):
        called = execledger("purge", "--all", "--yes", named)
        assert (called.status, f"left alone: {named} " in called.err) == (1, True)
    assert execledger("purge", "--all", "--yes", folder).status == 0
    assert notes.read_text() == (folder / "diary.ledger.jsonl").read_text() == "dear diary\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_named_folder_that_can_not_be_read_makes_the_status_1(execledger: Execledger, tmp_path: Path) -> None:
    """Nobody knows what is in it."""
    (tmp_path / "closed").mkdir(mode=0)
    called = execledger("purge", "--all", "--yes", tmp_path / "closed")
    assert (called.status, "closed can't be read: Permission denied" in called.err) == (1, True)
