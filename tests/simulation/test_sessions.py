"""Seeded sessions in a real folder with a real shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.simulation.sessions import refold, simulate


@pytest.mark.parametrize("seed", range(12))
def test_a_sealed_session_keeps_every_invariant(tmp_path: Path, seed: int) -> None:
    """A reuse equals a fresh run, a reference points at what stands there, a current record is current."""
    session = simulate(tmp_path, seed)
    assert refold(session).digest == session.ledger.digest


@pytest.mark.parametrize("seed", range(100, 108))
def test_a_session_with_hostile_writers_is_never_reused_before_running(tmp_path: Path, seed: int) -> None:
    """With somebody else writing between the steps, only what ran and was compared is referred to."""
    session = simulate(tmp_path, seed, hostile=True)
    assert session.reuses == 0


def test_sessions_reach_the_decisions_that_they_check(tmp_path: Path) -> None:
    """The simulation is worth its name: it meets reuses before running and references after."""
    sessions = []
    for seed in range(8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        sessions.append(simulate(folder, seed, hostile=seed % 2 == 1))
    assert sum(session.reuses for session in sessions) > 5
    assert sum(session.references for session in sessions) > 5


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1250))
def test_many_sessions_keep_every_invariant(tmp_path: Path, seed: int) -> None:
    """The same over many seeds, half of them with hostile writers."""
    session = simulate(tmp_path, seed, length=80, hostile=seed % 2 == 1)
    assert refold(session).digest == session.ledger.digest
