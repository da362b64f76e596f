"""What the ledger makes of sightings: how long a look holds, and who is said to have changed a file."""

from __future__ import annotations

from functools import partial

import pytest
from inline_snapshot import snapshot

from execledger.core.ledger import Ledger
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.sightings import FileSighting, ResultSighting, SightedLines, Sighting, Verdict

TEXT = "".join(f"line {number}\n" for number in range(1, 11))


def session(*commands: str, timed_out: str = "") -> Ledger:
    """A ledger that has read a file, and then run these commands."""
    ledger = Ledger("Mend it.")
    for command in ("cat a.py", *commands):
        output = TEXT if command == "cat a.py" else "x\n"
        observation = Observation(output, exit_status=0, timed_out=command == timed_out)
        take(ledger, Action(command, "/w"), partial(_returned, observation), sealed=True)
    return ledger


def _returned(observation: Observation, action: Action) -> Observation:
    return observation


def look(ledger: Ledger, verdict: Verdict, *, unrecorded_writes: bool = False) -> None:
    result = ResultSighting(0, (SightedLines(1, 10, verdict),))
    ledger.witness(
        Sighting((FileSighting("/w/a.py", (result,), 10, verdict.value),), unrecorded_writes=unrecorded_writes)
    )


def run(ledger: Ledger, command: str) -> None:
    take(ledger, Action(command, "/w"), lambda _: Observation("x\n", exit_status=0), sealed=True)


def line(ledger: Ledger, *, sealed: bool = False) -> str:
    text = ledger.inform(sealed=sealed).text
    return next(one for one in text.split("\n") if one.startswith("- a.py: ") and ")" in one)


def test_a_look_that_found_nothing_certain_is_no_agreement() -> None:
    """Behind a program that may write and a look that failed, a change is not said to be somebody else's."""
    ledger = session()
    look(ledger, Verdict.SAME)
    run(ledger, "python3 fix.py")
    look(ledger, Verdict.UNKNOWN)
    run(ledger, "ls")
    look(ledger, Verdict.CHANGED)
    assert line(ledger) == "- a.py: whole, 10 lines (changed)"


def test_a_change_without_a_command_is_somebody_elses() -> None:
    """Unless the agent may have written what the ledger does not know of."""
    ledger = session()
    look(ledger, Verdict.SAME)
    run(ledger, "ls")
    look(ledger, Verdict.CHANGED)
    assert line(ledger) == "- a.py: whole, 10 lines (changed, not by you)"
    look(ledger, Verdict.CHANGED, unrecorded_writes=True)
    assert line(ledger) == "- a.py: whole, 10 lines (changed)"


def test_a_job_in_the_background_counts_behind_any_other_program() -> None:
    """A look does not hold, and a change may be the job's, whatever had ended the seal before."""
    for command in ("sleep 9 &", "make"):
        ledger = session("python3 x.py", command, timed_out="make")
        look(ledger, Verdict.SAME)
        assert line(ledger, sealed=True) == "- a.py: whole, 10 lines (current)"
        run(ledger, "ls")
        assert "possibly stale" in line(ledger, sealed=True)
        look(ledger, Verdict.CHANGED)
        assert line(ledger) == "- a.py: whole, 10 lines (changed)"


def test_in_a_container_a_look_holds_until_something_may_have_written() -> None:
    """A reader behind it changes nothing; elsewhere a look is good for one model call."""
    ledger = session("sed -i 1d b.py")
    look(ledger, Verdict.SAME)
    run(ledger, "ls")
    assert line(ledger, sealed=True) == "- a.py: whole, 10 lines (current)"
    assert "possibly stale" in line(ledger)
    run(ledger, "sed -i 1d b.py")
    assert "possibly stale" in line(ledger, sealed=True)


@pytest.mark.parametrize("command", ["python3 x.py", "make", "sleep 9 &", "ln a.py b.py", "./run"])
def test_behind_a_program_that_may_leave_a_job_a_look_holds_for_one_call(command: str) -> None:
    """It may write later, although no other command runs."""
    ledger = session(command)
    look(ledger, Verdict.SAME)
    assert line(ledger, sealed=True) == "- a.py: whole, 10 lines (current)"
    run(ledger, "ls")
    assert "current" not in line(ledger, sealed=True)


def test_a_sighting_without_files_ends_what_was_known() -> None:
    """After a look that failed, nothing is called current any more."""
    ledger = session("python3 x.py")
    look(ledger, Verdict.SAME)
    ledger.witness(Sighting())
    assert "possibly stale" in line(ledger)


def test_after_a_compaction_modified_files_have_their_new_lines() -> None:
    """As long as the edits are in context they are not repeated; what was seen has a list of its own."""
    ledger = session("sed -i 3d a.py", "cat b.py")
    pieces = (
        SightedLines(1, 2, Verdict.SAME),
        SightedLines(3, 3, Verdict.CHANGED),
        SightedLines(4, 10, Verdict.MOVED, 3),
    )
    new = ((1, 1), (3, 2), (7, 8))
    ledger.witness(Sighting((FileSighting("/w/a.py", (ResultSighting(0, pieces),), 9, "d", new=new),)))
    assert "new lines" not in ledger.inform(range(3)).text
    assert ledger.inform(range(2, 3)).text == snapshot("""\
<execution_state>
Task: Mend it.
Modified, most recent first:
- a.py: new lines 1, 7-8; lines deleted before 3
Seen, most recent first:
- b.py: whole, 1 lines (in context)
Seen, no longer in context:
- a.py: 1-2 (current); 3 (changed); 4-10 (now at 3-9)
</execution_state>\
""")
