"""The made-up long session: as long and as large as it is asked for, the same each time, and a sound journal."""

from __future__ import annotations

from pathlib import Path

from execledger.journal import read_journal, rebuild
from tests.support.long_journal import long_events, write_long_run


def test_a_long_run_is_a_sound_journal(tmp_path: Path) -> None:
    """Its digests are those of the ledger that its steps make, and its size is about what was asked for."""
    path = tmp_path / "long.ledger.jsonl"
    write_long_run(path, steps=300, size=1_500_000)
    run = read_journal("long", path.read_bytes())
    assert (len(run.steps), run.trouble.sentences(), rebuild(run).mismatch) == (300, (), None)
    assert 750_000 < path.stat().st_size < 3_000_000
    assert {event.step.shown.kind for event in run.steps} == {"full", "partial", "reference"}


def test_a_seed_is_a_whole_session() -> None:
    """The same one twice, and another one for another seed."""
    first, second, other = (list(long_events(20, 20_000, seed)) for seed in (1, 1, 2))
    assert first == second != other
