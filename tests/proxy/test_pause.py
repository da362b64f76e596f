"""``execledger off`` in a running session: from then on nothing is added, and nothing shown is taken back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from execledger.agents.codex import tools as codex
from execledger.core.policy import Cadence, Policy, Preset
from execledger.journal.pause import Pause, begin_pause, end_pause, pause_file
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from tests.proxy.talk import FILES, Talk

READ = "cat a.py"


@pytest.mark.parametrize("preset", ["paper", "verified"])
def test_a_paused_session_keeps_what_was_shown_and_adds_nothing(preset: str) -> None:
    """Requests grow throughout; references come before and after the pause, and none in between."""
    paused = False
    rules = Rules(policy=Policy(preset=Preset(preset), cadence=Cadence.EVERY), sealed=True)
    talk = Talk(Passage(Book(rules, codex, EditStore(None)), paused=lambda: paused))
    talk.turn(READ)
    (before,) = talk.turn(READ)
    assert "[Ledger: " in before and talk.view
    paused = True
    assert FILES["/repo/a.py"] in talk.turn(READ)[0]
    assert FILES["/repo/b.py"] in talk.turn("cat b.py")[0]
    assert not talk.view
    assert talk.results(talk.sent[-1])[1] == before
    paused = False
    talk.turn("cat b.py")
    assert talk.view and talk.grows()
    # The commands that ran during the pause were not seen when they were proposed: nothing is suppressed from here on.
    assert talk.ran[-1] == "cat b.py"


def test_a_write_during_a_pause_is_not_overlooked() -> None:
    """What was read before it is not taken for current behind it."""
    paused = False
    files = dict(FILES)
    rules = Rules(policy=Policy(), sealed=True)
    talk = Talk(Passage(Book(rules, codex, EditStore(None)), paused=lambda: paused))
    talk.run = lambda command: files.get(f"/repo/{command.removeprefix('cat ')}", "")
    talk.turn(READ)
    paused = True
    files["/repo/a.py"] = files["/repo/b.py"]
    talk.turn("python3 rewrite.py")
    paused = False
    talk.request()
    assert talk.turn(READ)[0].endswith(files["/repo/b.py"])
    assert talk.ran[-1] == READ and talk.grows()


def test_a_pause_is_for_what_runs_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that starts later is not paused by it; the end of a pause is for all."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    running = Pause()
    assert not running()
    begin_pause()
    later = time.time() + 10
    os.utime(pause_file(), (later, later))
    assert running()
    assert (pause_file().stat().st_mode & 0o777, pause_file().parent.stat().st_mode & 0o777) == (0o600, 0o700)
    monkeypatch.setattr(time, "time", lambda: later + 1)
    assert not Pause()()
    assert (end_pause(), end_pause(), running()) == (True, False, False)
