"""Which looks belong to which model call."""

from __future__ import annotations

from functools import partial

from execledger.core.ledger import Ledger
from execledger.core.step import take
from execledger.runs.looks import NO_LOOKS, LookHistory, verdict_words
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.sightings import FileSighting, ResultSighting, SightedLines, Sighting, Verdict
from tests.core.stories import text


def step(ledger: Ledger, command: str, output: str = "x\n", thread: str = "") -> None:
    """Run a command."""
    observation = Observation(output, exit_status=0)
    take(ledger, Action(command, "/w", thread=thread), partial(_returned, observation), sealed=True)


def _returned(observation: Observation, action: Action) -> Observation:
    return observation


def sighting(thread: str = "") -> Sighting:
    """Lines that were found."""
    result = ResultSighting(0, (SightedLines(1, 10, Verdict.SAME),))
    return Sighting((FileSighting("/w/a.py", (result,), 10, "d"),), thread=thread)


def test_a_look_belongs_to_all_calls_of_the_turn_behind_it() -> None:
    """And to no other turn; one that was taken right behind a result belongs to the next."""
    ledger, history = Ledger(), LookHistory()
    assert history.before(ledger, "", 0, sealed=False) == NO_LOOKS
    step(ledger, "cat a.py", text(10))
    history.take(ledger, sighting())
    first = history.before(ledger, "", 1, sealed=False)
    assert ([file.name for file in first.files], first.before) == (["a.py"], 1)
    step(ledger, "ls")
    history.take(ledger, Sighting(again=("/w/a.py",)))
    assert history.before(ledger, "", 1, sealed=False) == first
    second = history.before(ledger, "", 2, sealed=False)
    assert (second.before, second.files[0] is first.files[0]) == (2, True)
    step(ledger, "ls")
    assert history.before(ledger, "", 3, sealed=False) == NO_LOOKS


def test_in_a_container_a_look_belongs_to_every_turn_until_something_may_have_written() -> None:
    """It says which call it was taken before."""
    ledger, history = Ledger(), LookHistory()
    step(ledger, "cat a.py", text(10))
    history.take(ledger, sighting())
    history.before(ledger, "", 1, sealed=True)
    step(ledger, "ls")
    assert history.before(ledger, "", 2, sealed=True).before == 1
    step(ledger, "make")
    assert history.before(ledger, "", 3, sealed=True) == NO_LOOKS


def test_another_thread_does_not_end_a_look() -> None:
    """What it does between the look and the call is of a later time."""
    ledger, history = Ledger(), LookHistory()
    step(ledger, "cat a.py", text(10), "one")
    history.take(ledger, sighting("one"))
    step(ledger, "ls", thread="two")
    assert history.before(ledger, "two", 1, sealed=False) == NO_LOOKS
    assert history.before(ledger, "one", 1, sealed=False).before == 1


def test_verdicts_in_words() -> None:
    """Each with its lines; somebody else's only where something is not as it was."""
    lines = (
        SightedLines(1, 3, Verdict.SAME),
        SightedLines(4, 4, Verdict.CHANGED),
        SightedLines(5, 6, Verdict.MOVED, 8),
        SightedLines(7, 9, Verdict.UNKNOWN),
    )
    assert (
        verdict_words(lines, not_by_agent=True)
        == "1-3 same, 4 changed (not by the agent), 5-6 moved to 8-9, 7-9 unknown"
    )
    assert verdict_words(lines[:2], not_by_agent=False) == "1-3 same, 4 changed"
