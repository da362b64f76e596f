"""A run in one line: the same numbers from a journal's events, from a replay, and from a run that is being told."""

from __future__ import annotations

from pathlib import Path

import pytest

from execledger.core.actions import Action, Observation
from execledger.core.decisions import Allow, Reuse, Shown, Step
from execledger.core.policy import Policy, Preset
from execledger.journal.events import Counts, Ended, FaultCaught
from execledger.replay import replay
from execledger.tally import Tally
from execledger.trajectories import read_run
from execledger.viewer.counting import Count, counted, run_id
from execledger.viewer.opening import reading_of
from tests.viewer.stage import DEMO, journal_bytes, shown, simulated, told


@pytest.mark.parametrize("policy", [None, Policy(preset=Preset.PAPER)])
def test_a_journal_is_counted_as_it_is_told(tmp_path: Path, policy: Policy | None) -> None:
    """The list and the run itself say the same, for what was done and for what another policy would do."""
    data = journal_bytes(simulated(tmp_path / "work", 5))
    reading = reading_of("one", data, policy, None)
    reading.read()
    line, over = counted("one", data, policy, None)
    assert (line, over) == (reading.line(), True)
    assert min(line.reuses + line.elided, line.saved_bytes, line.steps) > 0


def test_a_replay_is_counted_as_everywhere_else() -> None:
    """The numbers of ``execledger replay``."""
    run, tally = read_run("demo", DEMO.read_bytes()), Tally()
    for call in replay(run):
        tally.add(run, call)
    line, _ = counted("demo", DEMO.read_bytes(), None, None)
    assert (line.steps, line.reuses, line.elided, line.nudges, line.rereads, line.saved_bytes, line.view_bytes) == (
        tally.calls,
        tally.reuses.total(),
        tally.elided.total(),
        tally.remarks,
        tally.rereads,
        tally.saved_bytes,
        tally.view_bytes,
    )


def test_what_a_command_would_have_printed_counts_only_where_it_is_known() -> None:
    """A suppressed command saves the output of the same command; of another one nobody knows how much."""
    count, reference = Count(), Shown("reference", "[as above]", (0,))
    first = shown("cat a.py", "x" * 1000)
    again, part = (
        Step(Action(command, "/repo"), Reuse("repeat", (), (0,)), Observation("[as above]"), reference)
        for command in ("cat a.py", "head a.py")
    )
    for turn, step in enumerate((first, again, part, shown("ls"))):
        count.add(step, turn)
    assert (count.reuses, count.turns, count.saved_bytes) == (2, 4, 990 * 2)


def test_a_reference_that_points_nowhere_is_no_trouble() -> None:
    """What others wrote may name any step."""
    count = Count()
    count.add(Step(Action("ls"), Allow("new"), Observation(), Shown("reference", "x", (99,))), 0)
    assert (count.elided, count.saved_bytes) == (1, 0)


def test_the_end_of_a_journal_counts() -> None:
    """Faults, tokens, calls of the model and the last word; without an end it is not over."""
    events = told([shown("ls")])
    end = Ended(reason="Submitted", counts=Counts(), model_calls=7, input_tokens=1234)
    line, over = counted(
        "one", journal_bytes([*events, FaultCaught(where="govern", error="KeyError"), end]), None, None
    )
    assert (line.faults, line.turns, line.input_tokens, line.ended, over) == (1, 7, 1234, "Submitted", True)
    assert counted("one", journal_bytes(events), None, None)[1] is False


def test_an_id_is_a_digest_of_the_name() -> None:
    """Of any name that a file can have."""
    assert run_id("runs/a.json") == "b8e502d001601a71"
    assert len(run_id("bad \udcff name")) == 16
