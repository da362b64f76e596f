"""What views say behind the proxy where it may read the agent's files, and that a look can't harm a conversation."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from execledger.core.witness import ShownRange
from execledger.core.witness_limits import LookLimits
from execledger.proxy.worker import PORTION, Work, Worker
from execledger.session.witness import STUCK, LocalWitness
from tests.guarantees.drivers import codex
from tests.proxy.talk import Json, Talk, new_passage
from tests.support.faults.sabotage import call_sites, sabotaged

TEXT = "".join(f"value_{number} = {number}\n" for number in range(1, 31))
COMMANDS = (
    "sed -n '5,20p' a.py",
    "cat b.py",
    "python3 -S -c 'print(1)'",
    "sed -i 1d a.py",
    "sed -i 7d a.py && sed -i '30i more' b.py",
    "rm b.py",
    "grep -c value a.py",
)
"""Work in which lines are current, moved, changed and gone; no output is shown twice, so none is replaced."""


def conversation(folder: Path, *, local_files: bool = True) -> Talk:
    """A conversation about two files, in a folder of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    talk = codex(folder, local_files=local_files)
    for name in ("a.py", "b.py"):
        (folder / name).write_text(TEXT)
    for command in COMMANDS:
        talk.turn(command)
    talk.passage.book.close()
    return talk


def views(talk: Talk) -> list[str]:
    """The lines about ``a.py`` in each request."""
    texts = [item["content"][0]["text"] for shown in talk.sent for item in shown[-1:] if item["type"] == "message"]
    return [line for text in texts for line in text.split("\n") if line.startswith("- a.py: ") and ")" in line]


def bare(talk: Talk) -> list[list[Json]]:
    """The requests without their views."""
    return [[item for item in one if "<execution_state>" not in str(item)] for one in talk.sent]


def test_the_views_say_what_the_files_hold(tmp_path: Path) -> None:
    """Behind programs of unknown effects lines are current; edits move and change them."""
    assert views(conversation(tmp_path / "work")) == [
        "- a.py: 5-20 (current)",
        "- a.py: 5-20 (current)",
        "- a.py: 5-20 (current)",
        "- a.py: 5-20 (now at 4-19)",
        *["- a.py: 5-7 (now at 4-6); 8 (changed); 9-20 (now at 7-18)"] * 3,
    ]


def test_a_change_between_two_requests_is_not_the_agents(tmp_path: Path) -> None:
    """A person edits a file while the model thinks."""
    talk = codex(tmp_path / "work", local_files=True)
    path = tmp_path / "work" / "a.py"
    path.write_text(TEXT)
    talk.turn("cat a.py")
    path.write_text(TEXT.replace("value_7 ", "theirs "))
    talk.turn("ls src")
    assert views(talk)[-1] == "- a.py: 1-6, 8-30 (current); 7 (changed, not by you)"


@pytest.mark.faults
@pytest.mark.guarantee("fail-open")
def test_a_fault_at_any_call_of_a_look_changes_no_conversation(
    tmp_path: Path, full: bool, figure: Callable[[str], None]
) -> None:
    """Each call fails that is made with a witness and not without, or one in four: the model is shown the same."""
    folder = tmp_path / "work"
    plain = conversation(folder, local_files=False)
    clean = conversation(folder)
    assert (clean.ran, bare(clean)) == (plain.ran, bare(plain))
    without = call_sites(lambda: conversation(folder, local_files=False))
    reached = {site: times for site, times in call_sites(lambda: conversation(folder)).items() if site not in without}
    assert {"LocalWitness.look", "Session.look", "Ledger.witness"} <= {site.callee.co_qualname for site in reached}
    planted = 0
    for site, times in [*reached.items()][:: 1 if full else 4]:
        for occurrence in {1, times} if full else {1}:
            planted += 1
            with sabotaged(site, occurrence) as trap:
                talk = conversation(folder)
            where = f"{site}, time {occurrence}"
            assert trap.sprung, where
            assert (talk.ran, bare(talk)) == (plain.ran, bare(plain)), where
            faults = [run.counts.faults for run in talk.passage.book.summaries]
            assert len(faults) == 1 and sum(faults) <= 2, where
            # Without the guard itself, the conversation goes on without Ledger.
            assert len(views(talk)) >= len(views(clean)) - 1 or site.callee.co_name == "guarded", where
    figure(f"{planted} faults in looks (the proxy): 0 changed conversations")


@pytest.fixture
def dead_mount(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A file system that does not answer until the test is over; the event says that it was asked."""
    asked, over = threading.Event(), threading.Event()

    def blocked(path: str, most: int) -> bytes:
        asked.set()
        over.wait()
        raise OSError

    monkeypatch.setattr("execledger.session.witness.LookLimits", LookLimits)
    monkeypatch.setattr("execledger.session.witness.read_regular", blocked)
    yield asked
    over.set()


def test_conversations_go_on_beside_a_read_that_does_not_return(tmp_path: Path, dead_mount: threading.Event) -> None:
    """Requests are forwarded, of this session and of others; nothing is claimed about files that were not looked at."""
    folder = tmp_path / "work"
    passage = new_passage(local_files=True)
    for name in ("one", "two"):
        talk = codex(folder, name, passage=passage)
        (folder / "a.py").write_text(TEXT)
        for command in ("cat a.py", "ls src", "ls docs"):
            talk.turn(command)
        assert views(talk)[-1] == "- a.py: whole, 30 lines (in context)"
    assert dead_mount.is_set()


def test_the_proxys_worker_ends_beside_a_read_that_does_not_return(dead_mount: threading.Event) -> None:
    """Its one thread is free again when the time of the look is over, so that it can close."""

    def look() -> Work[str]:
        yield PORTION + 1
        (found,) = LocalWitness().look({"/a": (ShownRange(0, 1, ("one",)),)}).files or []
        return found.reason

    async def work() -> str:
        worker = Worker()
        try:
            return await worker.run(look())
        finally:
            await worker.close()

    assert asyncio.run(work()) == STUCK
