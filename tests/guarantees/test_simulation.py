"""Seeded sessions with hostile writers: every reuse, every reference and every word of the view is checked for real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.simulation.checks import Session
from tests.support.simulation.sessions import besiege, refold

SHORT, LONG = 1_000, 100_000
"""Steps of the short and of the long form."""
TELLING = (38, 40, 71, 80, 83, 89)
"""Seeds that find something wrong where a job may outlive its command, or a volatile file may be reused."""


@pytest.mark.guarantee("false-reuse", "visibility", "pitfall-1", "pitfall-2", "pitfall-6", "pitfall-9", "pitfall-19")
def test_sessions_under_siege(tmp_path: Path, full: bool, figure: Callable[[str], None]) -> None:
    """Nothing that is reused, referred to or called current differs from what a real run and the real file show."""
    steps = reuses = references = claims = 0
    seed = 0
    while steps < (LONG if full else SHORT):
        session = kept(tmp_path, seed)
        steps += len(session.steps)
        reuses += session.reuses
        references += session.references
        claims += session.claims
        seed += 1
    # The simulation is worth its name: it meets what it checks.
    assert min(reuses, references, claims) > steps // 100
    figure(f"0 false of {reuses:,} reuses, {references:,} references and {claims:,} claims in {steps:,} steps")


@pytest.mark.guarantee("false-reuse", "visibility")
@pytest.mark.parametrize("seed", TELLING)
def test_seeds_that_found_something(tmp_path: Path, seed: int) -> None:
    """They stay found."""
    kept(tmp_path, seed)


def kept(place: Path, seed: int) -> Session:
    """One session with all that must hold in it; a failure names its seed."""
    try:
        session = besiege(place, seed)
    except AssertionError as failure:
        failure.add_note(f"seed {seed}")
        raise
    assert refold(session).digest == session.ledger.digest, f"seed {seed}: the recorded steps fold to another state"
    return session
