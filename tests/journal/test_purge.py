"""Deleting journals: only ours, only at rest, never through a link; and old ones under today's patterns."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.core.ledger import Ledger
from execledger.errors import LedgerError
from execledger.journal import Ended, Journal, read_journal, rebuild
from execledger.journal.codec import _ENCODER
from execledger.journal.events import Counts
from execledger.journal.locks import LOCK_FILE
from execledger.journal.open_files import MAX_OPEN
from execledger.journal.purge import FoundJournal, JournalSelection, Skipped, delete, find_journals
from execledger.journal.purge_edits import count_edits, delete_edits
from execledger.journal.rewrite import redacted_line, rewritten
from execledger.proxy.edits import EditStore, ResultEdit
from execledger.redact import redact
from tests.journal.runs import events_of, plain_step, start, written
from tests.support.simulation.sessions import simulate

END = Ended(reason="Submitted", counts=Counts(proposed=1))
KEY = "ghp" + "_" + "a1B2" * 9


def found_in(*paths: Path, now: float | None = None) -> tuple[list[FoundJournal], list[Skipped]]:
    left: list[Skipped] = []
    return list(find_journals(paths, left, now)), left


def ended(folder: Path, name: str = "one", run: str = "one") -> Path:
    return written(folder, [start(run=run), plain_step(0), END], name)


def test_journals_are_found_by_what_is_in_them(tmp_path: Path) -> None:
    """A name alone makes no journal, nor does an event of another kind, a pipe or a folder."""
    path = ended(tmp_path)
    (tmp_path / "below").mkdir()
    below = ended(tmp_path / "below")
    contents = {"text": b"dear diary\n", "empty": b"", "torn": b'{"event":"start","ver', "array": b"[" * 90_000 + b"\n"}
    for name, content in contents.items():
        (tmp_path / f"{name}.ledger.jsonl").write_bytes(content)
    (tmp_path / "folder.ledger.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.ledger.jsonl")
    (tmp_path / "one.jsonl").write_bytes(path.read_bytes())
    found, left = found_in(tmp_path)
    assert sorted(one.path for one in found) == sorted([path, below])
    assert sorted((Path(one.path).name.partition(".")[0], one.reason) for one in left) == [
        *((name, "holds no journal") for name in ("array", "empty")),
        ("pipe", "is no plain file"),
        *((name, "holds no journal") for name in ("text", "torn")),
    ]


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    """Neither to a journal elsewhere nor to a folder of them, nor as a path that is given."""
    elsewhere, state = tmp_path / "elsewhere", tmp_path / "state"
    kept = ended(elsewhere)
    state.mkdir()
    link = state / "link.ledger.jsonl"
    link.symlink_to(kept)
    (state / "folder").symlink_to(elsewhere, target_is_directory=True)
    found, left = found_in(state)
    assert (found, left) == ([], [Skipped(str(link), "is a symbolic link")])
    assert found_in(link)[0] == []


def test_a_file_that_was_swapped_is_left_alone(tmp_path: Path) -> None:
    """What was looked at is what is deleted: not another file under its name, nor one that has grown."""
    path = ended(tmp_path / "state")
    (found,), _ = found_in(tmp_path / "state")
    other = ended(tmp_path / "other")
    path.unlink()
    path.symlink_to(other)
    assert delete(found).startswith("can't be deleted") and other.exists() and path.is_symlink()
    path.unlink()
    os.rename(other, path)
    assert delete(found) == "has changed meanwhile" and path.exists()
    (found,), _ = found_in(tmp_path / "state")
    assert delete(found) == "" and not path.exists()
    assert delete(found) == "", "it is gone, whoever did it"


def test_a_journal_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    """While a process writes it, or its run may go on for all that is known."""
    journal = Journal.create(tmp_path, "open")
    journal.append(start())
    (found,), _ = found_in(tmp_path, now=time.time() + 3601)
    assert (found.busy, delete(found)) == ("is being written", "is being written")
    journal.close()
    (found,), _ = found_in(tmp_path)
    assert found.busy == "has no end, and was written to within the last hour: its run may go on"
    (found,), _ = found_in(tmp_path, now=time.time() + 3601)
    assert (found.busy, delete(found), journal.path.exists()) == ("", "", False)


def test_an_ended_journal_is_at_rest(tmp_path: Path) -> None:
    """Whoever reads it, and whoever writes other journals in its folder; one without an end that is resumed is not."""
    path, torn = ended(tmp_path), written(tmp_path, [start(), plain_step(0)], "torn")
    journal = Journal.create(tmp_path, "another")
    with path.open("rb"):
        (found,), _ = found_in(path)
        assert (found.busy, delete(found)) == ("", "")
    journal.close()
    (found,), _ = found_in(torn, now=time.time() + 3601)
    assert found.busy == ""
    journal = Journal.resume(torn)
    assert delete(found) == "is being written"
    (found,), _ = found_in(torn, now=time.time() + 3601)
    assert found.busy == "is being written"
    journal.close()
    assert delete(found) == ""


def test_resting_journals_of_a_running_session_are_left_alone(tmp_path: Path) -> None:
    """Of more journals than are kept open, each keeps every event, however long it was silent when others purged."""
    journals = [Journal.create(tmp_path, f"run-{number}") for number in range(MAX_OPEN + 3)]
    secret = plain_step(0, output=f"key {KEY}\n")
    for journal in journals:
        journal.append(start())
        with journal.path.open("ab") as file:
            file.write(_ENCODER.encode(secret) + b"\n")
        os.utime(journal.path, (1000, 1000))
    before = [journal.path.read_bytes() for journal in journals]
    for options in (("--all", "--yes"), ("--redact",)):
        purge = [sys.executable, "-m", "execledger", "purge", str(tmp_path), *options, "--json"]
        called = subprocess.run(purge, capture_output=True, text=True, check=False)
        totals = json.loads(called.stdout)
        assert [left["reason"] for left in totals["left"]] == ["is being written"] * len(journals)
        assert (called.returncode, totals["deleted"], totals["rewritten"]) == (1, 0, 0)
    assert [journal.path.read_bytes() for journal in journals] == before
    for journal in journals:
        journal.append(plain_step(1))
        journal.append(END)
        journal.close()
        run = read_journal("one", journal.path.read_bytes())
        assert (len(run.steps), run.ended) == (2, END)
    found, _ = found_in(tmp_path)
    assert [delete(one) for one in found] == [""] * len(journals)
    assert list(tmp_path.iterdir()) == [], "the lock file went with the last writer"


def test_the_lock_of_a_killed_process_ends_with_it(tmp_path: Path) -> None:
    """Its journal is at rest, and the lock file that it left serves the next one."""
    program = """
import os, sys
from pathlib import Path
from execledger.journal import Journal
journal = Journal.resume(Path(sys.argv[1]))
os.write(1, b"holding")
sys.stdin.read()
"""
    path = written(tmp_path, [start(), plain_step(0)])
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.read(7) == b"holding"
        (found,), _ = found_in(tmp_path, now=time.time() + 3601)
        assert (found.busy, delete(found)) == ("is being written", "is being written")
        process.kill()
    assert (tmp_path / LOCK_FILE).exists()
    (found,), _ = found_in(tmp_path, now=time.time() + 3601)
    assert (found.busy, delete(found), path.exists()) == ("", "", False)
    Journal.create(tmp_path, "next").close()
    assert not (tmp_path / LOCK_FILE).exists()


def test_a_journal_that_is_resumed_while_it_is_redacted_stays_as_it_is(tmp_path: Path) -> None:
    """A run that is resumed between the look and the rewriting goes on in its own file."""
    path = old_journal(tmp_path / "state")
    before = path.read_bytes() + b"\n"
    (found,), _ = found_in(tmp_path)
    journal = Journal.resume(path)
    with pytest.raises(OSError, match="it has changed meanwhile"):
        rewritten(found)
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == (before, [path.parent / LOCK_FILE, path])
    journal.close()


def test_without_locks_a_journal_without_an_end_is_left_alone(tmp_path: Path) -> None:
    """What can't be found out is not assumed, however old the journal is."""
    path = written(tmp_path, [start()])
    (tmp_path / LOCK_FILE).mkdir()
    (found,), _ = found_in(tmp_path, now=time.time() + 3601)
    assert found.busy == "has no end, and its file system does not tell whether it is being written"
    journal = Journal.resume(path)
    journal.append(END)
    journal.close()
    (found,), _ = found_in(tmp_path)
    assert (found.busy, delete(found)) == ("", "")


def test_a_folder_that_is_closed_is_named(tmp_path: Path) -> None:
    """It is not taken for an empty one."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o000)
    try:
        if os.access(folder, os.R_OK):
            pytest.skip("nothing is closed to root")
        assert found_in(tmp_path) == ([], [Skipped(str(folder), "can't be read: Permission denied")])
    finally:
        folder.chmod(0o700)


def test_journals_are_chosen_by_age_and_by_run(tmp_path: Path) -> None:
    """By the time of the last write, and by the name of the run or of the file."""
    path = ended(tmp_path, "file-name", run="run-name")
    (found,), _ = found_in(tmp_path)
    now = path.stat().st_mtime + 100
    assert JournalSelection().among([found], now) == [found]
    assert (JournalSelection(99).among([found], now), JournalSelection(100).among([found], now)) == ([found], [])
    for name in (
        "run-name",
        "file-name",
        "file-name.ledger.jsonl",
        "run",
        "file-n",
        str(path),
        f"{tmp_path}/file-name",
    ):
        assert JournalSelection(runs=(name,)).among([found], now) == [found]
    for name in ("name", "un-name", str(tmp_path / "other"), "file-name.ledger.jsonl.gz"):
        with pytest.raises(LedgerError, match=f"--run {name}: found no journal of this run"):
            JournalSelection(runs=(name,)).among([found], now)


def test_the_beginning_of_a_name_must_mean_one_run(tmp_path: Path) -> None:
    """Several are listed, so that one can be named; a whole name means its run, whatever else begins like it."""
    for name in ("mini-1", "mini-10", "mini-2"):
        ended(tmp_path, name, run=name)
    found, _ = found_in(tmp_path)
    assert [one.name for one in JournalSelection(runs=("mini-1",)).among(found, 0.0)] == ["mini-1"]
    assert [one.name for one in JournalSelection(runs=("mini-10", "mini-2")).among(found, 0.0)] == ["mini-10", "mini-2"]
    with pytest.raises(LedgerError) as caught:
        JournalSelection(runs=("mini",)).among(found, 0.0)
    assert str(caught.value) == "--run mini: 3 runs begin like this\nhint: name one of: mini-1, mini-10, mini-2"
    many = [FoundJournal(tmp_path / f"{n:02}", f"x{n}", 0, 0.0, (0, n)) for n in range(13)]
    with pytest.raises(LedgerError, match=r"13 runs begin like this\nhint: name one of: 00, .*, 09 and 3 more"):
        JournalSelection(runs=("x",)).among(many, 0.0)


def test_edits_go_only_where_they_are_ours_and_unused(tmp_path: Path) -> None:
    """A store that a proxy has open is left alone; so is a database of others, and what is no database."""
    path, left = tmp_path / "edits.sqlite3", list[Skipped]()
    assert (delete_edits(path, left), count_edits(path, left), left) == (0, None, [])
    store = EditStore(path)
    step = plain_step(0).step
    store.add(ResultEdit("chain", step.decision, step.shown))
    assert (count_edits(path, left), delete_edits(path, left)) == (1, 0)
    assert left.pop() == Skipped(str(path), "is in use by a proxy")
    store.close()
    assert (delete_edits(path, left), left, list(tmp_path.iterdir())) == (1, [], [])
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE songs (key TEXT, edit TEXT)")
    other.close()
    assert (delete_edits(path, left), path.exists()) == (0, True)
    path.write_bytes(b"no database at all, but long enough to be looked at " * 30)
    assert (delete_edits(path, left), path.exists()) == (0, True)
    assert len(left) == 2


def old_journal(folder: Path) -> Path:
    """A journal as an older version might have written it, with a key in an output, a command and a torn line."""
    steps = [
        plain_step(0, "cat a.env", f"name=x\n{'TOKEN'}_OF_MINE: {KEY}\nlast=1\n"),
        plain_step(1, f"echo {KEY}", "done\n"),
        plain_step(2, "ls", "a.env\n"),
    ]
    folder.mkdir(mode=0o700)
    path = folder / "old.ledger.jsonl"
    lines = [_ENCODER.encode(event) + b"\n" for event in (start(), *steps, END)]
    later, torn = f'{{"event":"later","said":"{KEY}"}}\n', f'{{"torn":"{KEY}'
    path.write_bytes(b"".join([*lines, later.encode(), torn.encode()]))
    os.utime(path, (1000, 1000))
    return path


def test_an_old_journal_is_rewritten_under_todays_patterns(tmp_path: Path) -> None:
    """Whole or not at all, with its times, privately; other lines keep their bytes, and a second time changes none."""
    path = old_journal(tmp_path / "state")
    before = path.read_bytes()
    (found,), _ = found_in(tmp_path)
    assert rewritten(found, dry_run=True) and path.read_bytes() == before
    assert rewritten(found)
    after = path.read_bytes()
    assert KEY.encode() not in after and after.count(b"\n") == before.count(b"\n")
    assert before.splitlines()[3] == after.splitlines()[3], "nothing was wrong with it"
    state = path.stat()
    assert (state.st_mtime, oct(state.st_mode & 0o777), list(path.parent.iterdir())) == (1000, "0o600", [path])
    run = read_journal("old", after)
    assert [step.altered for step in run.steps] == [False, True, False]
    assert [place for place, _ in run.steps[0].step.withheld] == [1], "a line of a file is known by its digest"
    (found,), _ = found_in(tmp_path)
    assert not rewritten(found)


def test_a_journal_without_secrets_keeps_its_bytes(tmp_path: Path) -> None:
    """Line by line; and it rebuilds the same ledger as before."""
    path = written(tmp_path, events_of(simulate(tmp_path, 4)))
    for line in path.read_bytes().splitlines(keepends=True):
        assert redacted_line(line) == line or redact(line.decode()) != line.decode()
    (found,), _ = found_in(tmp_path)
    rewritten(found)
    assert rebuild(read_journal("one", path.read_bytes())).mismatch is None


def test_a_rewritten_step_is_compared_like_the_live_one(tmp_path: Path) -> None:
    """The line with the key is known by its digest, so that a read with another key is not taken for it."""
    lines = "\n".join(f"line {number} of a file" for number in range(30))
    event = plain_step(0, "cat a.env", f"{lines}\nAPI: {KEY}\n")
    kept = redacted_line(_ENCODER.encode(event) + b"\n")
    path = tmp_path / "x"
    path.write_bytes(_ENCODER.encode(start()) + b"\n" + kept)
    (step,) = read_journal("x", path.read_bytes()).steps
    live, again = Ledger("t"), Ledger("t")
    live.record(event.step)
    again.record(replace(step.step, shown=replace(step.step.shown, result=live.results[0].print)))
    assert live.digest == again.digest
