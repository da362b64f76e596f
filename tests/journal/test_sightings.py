"""What a journal has of looks at files: enough to rebuild every state view, and nothing of what the files hold."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from execledger.agents.formats import read_run
from execledger.core.ledger import Ledger
from execledger.journal.events import Sighted, Started, StepRecorded, ViewRendered
from execledger.journal.reader import Trouble, read_events
from execledger.runs.replay import replay
from execledger.symbols.edits import edited_symbols
from tests.core.stories import text
from tests.support.knowing import Folder, Shape
from tests.support.looking import LookingSession
from tests.support.policies import UNPRICED, WHOLE_VIEWS

WORDS = ("(current)", "now at", "changed", "not by you", "gone", "no longer in context", "new lines")
"""What the views of the sessions below say, all together."""
KINDS = ("read", "read", "edit", "test", "search", "other")


def played(root: Path, journals: Path, seed: int) -> LookingSession:
    """A session in which the agent, its programs and others write, and whose context is compacted now and then."""
    chance, policy = Random(seed), WHOLE_VIEWS
    session, folder = LookingSession(root, journals, policy), Folder(root, Random(seed))
    for _ in range(20):
        shapes = [Shape(chance.choice(KINDS), chance.randrange(5), 3, 20) for _ in range(chance.choice((1, 1, 2)))]  # type: ignore[arg-type]
        session.run(*(folder.run(shape).command for shape in shapes))
        if chance.random() < 0.2:
            folder.interfere()
        if chance.random() < 0.1:
            session.compact()
    return session


def rebuilt_views(path: Path) -> list[tuple[str, str]]:
    """Every view of a journal, and the one that its events rebuild."""
    start, *events = read_events(path.name, path.read_bytes(), Trouble())
    assert isinstance(start, Started)
    ledger = Ledger(start.task, start.known_policy(), edited_symbols)
    views: list[tuple[str, str]] = []
    for at, event in enumerate(events):
        if isinstance(event, Sighted):
            ledger.witness(event.sighting)
        elif isinstance(event, StepRecorded):
            ledger.record(event.step)
        elif isinstance(event, ViewRendered):
            behind = next((one for one in events[at:] if isinstance(one, StepRecorded)), None)
            if behind is not None:
                visible = range(behind.since, len(ledger))
                views.append((event.text, ledger.inform(visible, behind.sealed, event.thread).text))
    return views


@pytest.mark.guarantee("witness-journal")
def test_a_journal_rebuilds_every_view_byte_for_byte(tmp_path: Path, figure: Callable[[str], None], full: bool) -> None:
    """From its steps and sightings alone, wherever the files are by then, and when it is replayed."""
    said: list[str] = []
    for seed in range(2, 42) if full else (2, 4, 6):
        root = tmp_path / f"work-{seed}"
        root.mkdir()
        session = played(root, tmp_path / f"journals-{seed}", seed)
        path = session.end()
        shutil.rmtree(root)
        views = rebuilt_views(path)
        assert [rebuilt for _, rebuilt in views] == [seen for seen, _ in views] == session.views
        replayed = (call.view for call in replay(read_run(path.name, path.read_bytes())))
        assert [view.text for view in replayed if view is not None] == session.views
        said += session.views
    assert all(any(word in view for view in said) for word in WORDS)
    figure(f"{len(said):,} views rebuilt from journals with sightings, byte for byte")


@pytest.mark.guarantee("witness-journal")
def test_a_reference_to_another_command_is_rebuilt(tmp_path: Path) -> None:
    """A file that holds what another command has printed: the views say that it is current, live and rebuilt."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text(text(100))
    (root / "b.py").write_text(text(100, 501))
    session = LookingSession(root, tmp_path, UNPRICED)
    for command in ("cat a.py", "tee >(cat > a.py) < b.py", "cat a.py", "sed -i 1d a.py", "ls"):
        session.run(command)
    views = rebuilt_views(session.end())
    assert [rebuilt for _, rebuilt in views] == [seen for seen, _ in views] == session.views[: len(views)]
    said = [re.findall(r"^- a.py: (.*\))$", view, re.MULTILINE) for view in session.views]
    assert said == [
        [],
        ["whole, 100 lines (current)"],
        ["whole, 100 lines (changed)"],
        ["whole, 100 lines (current)"],
        ["1 (changed); 2-100 (now at 1-99)"],
    ]


@pytest.mark.guarantee("witness-apart")
def test_sightings_change_no_decision(tmp_path: Path) -> None:
    """A ledger that has them decides as one that has not, and its state has the same digest."""
    root = tmp_path / "work"
    root.mkdir()
    path = played(root, tmp_path, 7).end()
    start, *events = read_events(path.name, path.read_bytes(), Trouble())
    assert isinstance(start, Started)
    looking, blind = (Ledger(start.task, start.known_policy()) for _ in range(2))
    decided, views = [], 0
    for event in events:
        if isinstance(event, Sighted):
            looking.witness(event.sighting)
        elif isinstance(event, ViewRendered):
            views += looking.inform() != blind.inform()
        elif isinstance(event, StepRecorded):
            # In a container too, where more is decided before running.
            for sealed in (False, True):
                visible = range(event.since, event.index)
                one, other = (ledger.govern(event.step.action, visible, sealed) for ledger in (looking, blind))
                assert one == other
                decided.append(one.rule)
            looking.record(event.step)
            blind.record(event.step)
            assert looking.digest == blind.digest == event.digest
    assert (views > 10, len(set(decided)) > 2) == (True, True)


@pytest.mark.guarantee("witness-journal", "no-secrets")
def test_a_journal_does_not_have_what_only_a_look_has_read(tmp_path: Path) -> None:
    """Neither the lines, nor a digest that says whether a guess is right; equal texts of a run have equal digests."""
    root = tmp_path / "work"
    root.mkdir()
    weak = "pass" + "word = hunter2"
    digests = []
    for journals in (tmp_path / "one", tmp_path / "two"):
        (root / "a.env").write_text(text(5) + weak + "\n")
        session = LookingSession(root, journals)
        session.run("head -n 4 a.env")
        session.run("sed -i 1s/.*/x/ a.env")
        session.run("ls")
        path = session.end()
        assert "hunter2" not in path.read_text()
        events = list(read_events(path.name, path.read_bytes(), Trouble()))
        found = [file for event in events if isinstance(event, Sighted) for file in event.sighting.files]
        digests.append([file.digest for file in found])
    assert [len(set(one)) for one in digests] == [2, 2]
    assert not set(digests[0]) & set(digests[1]), "the same texts have other digests in another run"
    plain = (root / "a.env").read_bytes()
    assert hashlib.sha256(plain).hexdigest() not in digests[1]
