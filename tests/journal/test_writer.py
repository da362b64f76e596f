"""Writing journals, with real files, processes and limits."""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from execledger.errors import LedgerError
from execledger.journal import Event, FaultCaught, Journal, JournalError, ViewRendered, read_journal
from execledger.journal.codec import encode
from execledger.journal.events import Counts, Ended
from execledger.journal.locks import CLOCK_SECONDS, LOCK_FILE, LOCKS, may_be_written
from execledger.journal.open_files import FILES, MAX_OPEN
from execledger.journal.reader import Trouble
from tests.journal.runs import digits, plain_step, start, written
from tests.support.faults.machine import deleted, replaced

WRITER = """
import sys
from pathlib import Path
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Shown, Step
from execledger.journal import Journal, StepRecorded
journal = Journal.resume(Path(sys.argv[1]))
for index in range(int(sys.argv[2])):
    output = f"{sys.argv[3]} " + "x" * (index % 7 * 3000)
    step = Step(Action("true"), Allow("new"), Observation(output), Shown("full"))
    journal.append(StepRecorded(index=index, turn=index, step=step, sealed=True, since=0, digest=""))
    print(index, flush=True)
"""


def writer(path: Path, count: int, mark: str, **options: int) -> subprocess.Popen[str]:
    """A process that appends ``count`` steps and says after each that it stands."""
    command = [sys.executable, "-c", WRITER, str(path), str(count), mark]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return]


def test_a_journal_is_private(tmp_path: Path) -> None:
    """The file and the folder that is made for it are the user's alone, whatever the umask."""
    before = os.umask(0)
    try:
        path = written(tmp_path / "new", [start()])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_no_planted_secret_reaches_the_file(tmp_path: Path) -> None:
    """Keys in the task, a view, a command, an output and a fault stay out of the file, and the rest stays in it."""
    secrets = [
        f"{kind}{number}0123456789abcdef" for number, kind in enumerate(("sk-" + "ant-", "ghp" + "_", "hf" + "_"))
    ]
    events: list[Event] = []
    for secret in secrets:
        events += [
            start(task=f"Use {secret} to fix it."),
            ViewRendered(index=0, text=f"Task: Use {secret} to fix it."),
            plain_step(0, f"curl -u {secret}: https://x.example", f"no such key: {secret}\n"),
            FaultCaught(where="govern", error="ValueError", message=f"in {secret}"),
        ]
    data = written(tmp_path, events).read_text()
    assert [secret for secret in secrets if secret in data] == []
    assert data.count("[redacted]") == 5 * len(secrets)
    assert data.count("Use [redacted] to fix it.") == 2 * len(secrets)


def test_names_are_unique_and_harmless(tmp_path: Path) -> None:
    """A name that is taken gets a number, and no name leaves the folder."""
    names = ["a/b", "a/b", "../../x", "", "." * 9, "y" * 999]
    paths = [written(tmp_path, [start()], name) for name in names]
    assert [path.name for path in paths[:5]] == [
        "a_b.ledger.jsonl",
        "a_b-2.ledger.jsonl",
        "_.._x.ledger.jsonl",
        "run.ledger.jsonl",
        "run-2.ledger.jsonl",
    ]
    assert {path.parent for path in paths} == {tmp_path}


def test_an_existing_file_is_never_written_over(tmp_path: Path) -> None:
    """Neither a file nor a link that stands in the way is followed."""
    (tmp_path / "one.ledger.jsonl").write_text("mine")
    (tmp_path / "one-2.ledger.jsonl").symlink_to(tmp_path / "elsewhere")
    assert written(tmp_path, [start()]).name == "one-3.ledger.jsonl"
    assert (tmp_path / "one.ledger.jsonl").read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_kill_9_loses_at_most_the_line_in_flight(tmp_path: Path) -> None:
    """A process killed at random moments leaves every event whose append had returned."""
    random_ = random.Random(7)
    for number in range(6):
        path = written(tmp_path, [start()], f"killed-{number}")
        with writer(path, 100_000, "a") as process:
            assert process.stdout is not None
            said = [process.stdout.readline()]
            time.sleep(random_.random() * 0.03)
            process.send_signal(signal.SIGKILL)
            said += process.stdout.readlines()
        told = [line for line in said if line.endswith("\n")]
        run = read_journal("killed", path.read_bytes())
        assert [step.index for step in run.steps] == list(range(len(run.steps)))
        assert len(told) <= len(run.steps) <= len(told) + 1
        assert run.ended is None and run.trouble.damaged == 0


def test_eight_writers_tear_no_line(tmp_path: Path) -> None:
    """Eight processes that append to one file, lines of very different lengths, lose and tear none."""
    path = written(tmp_path, [start()])
    count = 150
    processes = [writer(path, count, f"w{number}") for number in range(8)]
    for process in processes:
        process.communicate(timeout=120)
    data = path.read_bytes()
    read = read_journal("many", data)
    assert read.trouble == Trouble(lost=8 * count - len(read.steps))
    for number in range(8):
        assert data.count(b'"output":"w%d ' % number) == count


def test_a_torn_line_is_ended_before_more_is_written(tmp_path: Path) -> None:
    """Writing on after a crash does not join the new line to the torn one."""
    path = written(tmp_path, [start(), plain_step(0)])
    with path.open("ab") as file:
        file.write(b'{"event":"step","ind')
    journal = Journal.resume(path)
    journal.append(plain_step(1))
    journal.close()
    run = read_journal("resumed", path.read_bytes())
    assert (run.steps, run.trouble) == ((plain_step(0), plain_step(1)), Trouble(damaged=1))


def test_a_full_disk_is_told_once() -> None:
    """The first write that fails raises the one error; later ones are counted, and nothing is raised."""
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    descriptor = os.open("/dev/full", os.O_WRONLY | os.O_APPEND)
    journal = Journal(Path("/dev/full"), descriptor)
    with pytest.raises(JournalError, match="/dev/full: the journal can't be written: No space left on device"):
        journal.append(start())
    assert journal.broken
    journal.append(plain_step(0))
    journal.close()
    assert journal.dropped == 2


LIMITED = """
import resource, sys
from pathlib import Path
from execledger.journal import FaultCaught, Journal, JournalError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
journal = Journal.resume(Path(sys.argv[1]))
for number in range(50):
    try:
        journal.append(FaultCaught(where="here", error="E", message="x" * 90))
    except JournalError:
        print(number)
print(journal.dropped)
"""


def test_a_line_without_room_is_taken_back(tmp_path: Path) -> None:
    """Where a limit cuts a line, the piece is removed, the error is raised once, and the rest stays readable."""
    path = written(tmp_path, [start()])
    said = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    failed, dropped = digits(said.stdout)
    run = read_journal("limited", path.read_bytes())
    assert (len(run.faults), dropped, run.trouble) == (failed, 50 - failed, Trouble())
    assert path.stat().st_size <= 1000


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    """A file where the folder should be, or a folder without the right to write, is a ``JournalError``."""
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="can't be written"):
        Journal.create(tmp_path / "file" / "journals", "one")
    assert issubclass(JournalError, LedgerError)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_one_error(tmp_path: Path) -> None:
    """A folder without the right to write is a ``JournalError``."""
    tmp_path.chmod(0o500)
    with pytest.raises(JournalError, match="Permission denied"):
        Journal.create(tmp_path, "one")
    tmp_path.chmod(0o700)


def test_a_deleted_folder_is_noticed(tmp_path: Path) -> None:
    """A journal whose file is gone says so once, rather than writing into nothing."""
    journal = Journal.create(tmp_path / "gone", "one")
    shutil.rmtree(tmp_path / "gone")
    with pytest.raises(JournalError, match="deleted"):
        journal.append(start())
    journal.append(start())
    assert journal.dropped == 2


def test_an_event_that_cannot_be_encoded_is_one_error(tmp_path: Path) -> None:
    """Our own mistake, too, reaches the caller as the one error that it expects."""
    journal = Journal.create(tmp_path, "one")
    with pytest.raises(JournalError, match="TypeError"):
        journal.append(FaultCaught(where="here", error=object()))  # type: ignore[arg-type]
    assert journal.broken


def test_what_comes_after_the_end_is_counted(tmp_path: Path) -> None:
    """A closed journal takes no more, and may be closed again."""
    journal = Journal.create(tmp_path, "one")
    journal.close()
    journal.close()
    journal.append(start())
    assert (journal.dropped, journal.path.read_bytes()) == (1, b"")


def test_more_journals_than_files_lose_nothing(tmp_path: Path) -> None:
    """Of many journals only some are open at once; each has every one of its events, in order."""
    journals = [Journal.create(tmp_path, f"run-{number}") for number in range(MAX_OPEN + 20)]
    for index in range(3):
        for journal in journals:
            journal.append(start() if index == 0 else plain_step(index - 1, "true", f"{journal.path.name}\n"))
    assert sum(journal._descriptor is not None for journal in journals) <= MAX_OPEN
    for journal in journals:
        journal.close()
        run = read_journal("x", journal.path.read_bytes())
        assert [step.step.observation.output for step in run.steps] == [f"{journal.path.name}\n"] * 2
        assert run.trouble == Trouble()


def test_a_journal_that_was_replaced_while_closed_is_left_alone(tmp_path: Path) -> None:
    """A file that has taken its name is not written to, and one that was deleted is not made again."""
    for meddle in (deleted, replaced):
        journal = Journal.create(tmp_path, "one")
        journal.append(start())
        assert journal._rest()
        meddle(journal.path)
        before = journal.path.read_bytes() if journal.path.exists() else None
        with pytest.raises(JournalError, match="can't be written"):
            journal.append(plain_step(0, "true", ""))
        assert (journal.path.read_bytes() if journal.path.exists() else None) == before


def test_a_forked_child_writes_nothing_to_the_journal_of_its_parent(tmp_path: Path) -> None:
    """Its events are counted and dropped; the parent writes on."""
    journal = Journal.create(tmp_path, "one")
    journal.append(start())
    child = os.fork()
    if child == 0:
        journal.append(plain_step(0, "true", "child\n"))
        os._exit(journal.dropped)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    journal.append(plain_step(0, "true", "parent\n"))
    journal.close()
    (step,) = read_journal("x", journal.path.read_bytes()).steps
    assert step.step.observation.output == "parent\n"


def test_an_event_that_comes_with_the_end_is_counted_and_opens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal that another thread closes while an event is encoded takes no more, and keeps no descriptor."""
    journal = Journal.create(tmp_path, "one")

    def encode_and_close(event: Event) -> bytes:
        journal.close()
        return encode(event)

    monkeypatch.setattr("execledger.journal.writer.encode", encode_and_close)
    journal.append(start())
    assert (journal.dropped, journal._descriptor, journal.path.read_bytes()) == (1, None, b"")


def test_a_child_forked_while_locks_are_held_waits_for_none_of_them(tmp_path: Path) -> None:
    """It can close what it inherits, and write a journal of its own."""
    journal = Journal.create(tmp_path, "parent")
    journal.append(start())
    with journal._lock, FILES._lock, LOCKS._mutex:
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            journal.append(start())
            journal.close()
            own = Journal.create(tmp_path, "child")
            own.append(start())
            os._exit(journal.dropped)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    journal.append(plain_step(0))
    journal.close()
    kept = {path.name: path.read_bytes().count(b"\n") for path in tmp_path.glob("*.jsonl")}
    assert kept == {"parent.ledger.jsonl": 2, "child.ledger.jsonl": 1}


def test_a_journal_can_be_ended_by_a_finalizer_at_any_moment(tmp_path: Path) -> None:
    """Also in a thread that is at work on other journals, or is closing this one's file for others."""
    journal = Journal.create(tmp_path, "one")
    journal.append(start())

    def finalized() -> None:
        with journal._lock, FILES._lock, LOCKS._mutex:
            assert journal._rest()
            journal.append(plain_step(0))
            journal.close()

    thread = threading.Thread(target=finalized, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    Journal.create(tmp_path, "two").close()
    kept = {path.name: path.read_bytes().count(b"\n") for path in tmp_path.iterdir()}
    assert kept == {"one.ledger.jsonl": 2, "two.ledger.jsonl": 0}, "the lock file is gone"


def test_a_folder_that_is_made_again_is_locked_again(tmp_path: Path) -> None:
    """The journals of before, whose folder is gone, hide nothing; the lock is held until the last writer is done."""
    folder = tmp_path / "journals"
    lost = Journal.create(folder, "one")
    shutil.rmtree(folder)
    first = Journal.create(folder, "one")
    second = Journal.resume(first.path)
    lost.close()
    first.close()
    assert may_be_written(second.path) and (folder / LOCK_FILE).exists()
    second.close()
    assert not may_be_written(second.path) and not (folder / LOCK_FILE).exists()


def test_a_journal_from_before_the_lock_belongs_to_no_writer(tmp_path: Path) -> None:
    """What a killed process left can go while others write in the folder, unless it is written on."""
    left = written(tmp_path, [start()])
    journal = Journal.create(tmp_path, "two")
    later = time.time() + CLOCK_SECONDS + 1
    os.utime(tmp_path / LOCK_FILE, (later, later))
    assert not may_be_written(left)
    os.utime(tmp_path / LOCK_FILE)
    assert may_be_written(left)
    journal.close()


def test_an_ended_journal_takes_no_more(tmp_path: Path) -> None:
    """So an ended journal is at rest, whoever writes others beside it."""
    path = written(tmp_path, [start(), Ended(counts=Counts())])
    before = path.read_bytes()
    with pytest.raises(JournalError, match="the journal can't be written: its run has ended"):
        Journal.resume(path)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def test_a_journal_is_found_again_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path means what it meant when the journal was opened."""
    monkeypatch.chdir(tmp_path)
    journal = Journal.create(Path("journals"), "one")
    assert journal._rest()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    journal.append(start())
    journal.close()
    assert [path.name for path in (tmp_path / "journals").iterdir()] == ["one.ledger.jsonl"]
