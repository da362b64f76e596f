"""What the ledger makes of sightings: how long a look holds, and who is said to have changed a file."""

from __future__ import annotations

from functools import partial

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from execledger.core import inform
from execledger.core.cadence import VIEW_TOKENS
from execledger.core.ledger import MAX_OUTPUT, Ledger
from execledger.core.policy import Policy
from execledger.core.step import take
from execledger.core.witness import ShownRange
from execledger.vocabulary.actions import Action, Observation, Read
from execledger.vocabulary.decisions import Reuse
from execledger.vocabulary.records import Lines
from execledger.vocabulary.sightings import FileSighting, ResultSighting, SightedLines, Sighting, Verdict
from tests.core.stories import Story, source, text
from tests.support.policies import UNPRICED, WHOLE_VIEWS

TEXT = "".join(f"line {number}\n" for number in range(1, 11))


def session(*commands: str, timed_out: str = "", policy: Policy = WHOLE_VIEWS) -> Ledger:
    """A ledger that has read a file, and then run these commands."""
    ledger = Ledger("Mend it.", policy)
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


# References to other commands that printed the same


def referred(output: str) -> Story:
    """A story in which a file was written beside a print of the same text, and then read: a reference to that."""
    story = Story()
    story.do("cat a.py", text(60, 101))
    story.do("tee >(cat > a.py) < b.py", output)
    assert story.do("cat a.py", output).shown.kind == "reference"
    return story


def test_a_reference_to_another_command_tells_what_the_file_holds() -> None:
    """A witness is asked about the new lines, and the view lists these alone."""
    ledger = referred(text(60)).ledger
    (asked,) = ledger.questions()["/repo/a.py"]
    assert asked == ShownRange(2, 1, tuple(source(60)), fresh=True, listed=(Lines(1, 60),))
    found = ResultSighting(2, (SightedLines(1, 60, Verdict.SAME),))
    ledger.witness(Sighting((FileSighting("/repo/a.py", (found,), 60, "digest"),)))
    assert "\n- a.py: whole, 60 lines (current)\n" in inform.whole(ledger, range(3), False, "").text


def test_such_lines_are_no_reads_that_references_point_at() -> None:
    """Neither before a part of them is read, nor behind it."""
    story = Story(sealed=True)
    story.do("cat b.py", text(60))
    told = story.do("cat a.py", text(60))
    assert (told.shown.kind, told.shown.refers_to, told.shown.told) == ("reference", (0,), (Lines(1, 60),))
    assert not isinstance(story.ask("sed -n '5,40p' a.py"), Reuse)
    assert story.do("sed -n '5,40p' a.py", text(36, 5)).shown.kind == "full"


def test_of_an_output_that_is_too_long_to_be_kept_nothing_is_asked() -> None:
    """The view makes no claim about these lines."""
    story = referred(text(MAX_OUTPUT // 30))
    assert story.ledger.questions() == {}
    assert "(current" not in story.view().text


def test_a_journal_without_such_lines_is_read_as_before() -> None:
    """The step of an older version says nothing of them."""
    old, new = Story(), referred(text(60))
    for step in new.steps:
        old.ledger.record(replace(step, shown=replace(step.shown, told=())))
    assert old.ledger.digest == new.ledger.digest
    assert [one.step for one in old.ledger.observed("", "/repo/a.py")] == [0]


@pytest.mark.parametrize(
    ("command", "listed"), [("grep -n x b.py", True), ("make", True), ("sed -i s/1/2/ a.py", False)]
)
def test_a_focused_view_tells_of_a_change_that_no_command_is_known_to_have_made(command: str, listed: bool) -> None:
    """Whatever it costs, in the next calls; the agent's own edits are no news."""
    ledger = session(policy=Policy(view_credit=0))
    look(ledger, Verdict.SAME)
    assert ledger.inform().text == ""
    run(ledger, command)
    look(ledger, Verdict.CHANGED)
    assert ("- a.py: whole, 10 lines (changed" in ledger.inform().text) == listed
    for _ in range(3):
        run(ledger, "grep -n x b.py")
        look(ledger, Verdict.CHANGED)
    assert ledger.inform().text == ""


def test_a_view_of_a_change_by_others_is_charged() -> None:
    """Each call that it is sent with costs a view, whatever the balance; the budget counts as many as are sent."""
    ledger = session(policy=Policy(view_credit=0, caches_output=False))
    look(ledger, Verdict.SAME)
    budget, sent = ledger.views.budget, 0
    assert (budget.balance, ledger.inform().text) == (0, "")
    look(ledger, Verdict.CHANGED)
    for _ in range(4):
        sent += bool(ledger.inform().text)
        run(ledger, "grep -n x b.py")
        look(ledger, Verdict.CHANGED)
    assert (sent, budget.balance) == (3, -3 * VIEW_TOKENS)


def test_every_file_that_others_have_changed_is_told() -> None:
    """More than a focused view lists otherwise; also where another line of the same result had changed before."""
    ledger = Ledger("Mend it.", Policy(view_credit=0))
    for number in range(5):
        take(ledger, Action(f"cat f{number}.py", "/w"), lambda _: Observation(TEXT, exit_status=0), sealed=True)

    def found(*pieces: SightedLines) -> None:
        files = (FileSighting(f"/w/f{at}.py", (ResultSighting(at, pieces),), 10, str(pieces)) for at in range(5))
        ledger.witness(Sighting(tuple(files)))

    found(SightedLines(1, 4, Verdict.SAME), SightedLines(5, 5, Verdict.CHANGED), SightedLines(6, 10, Verdict.SAME))
    assert ledger.inform().text == ""
    found(SightedLines(1, 4, Verdict.SAME), SightedLines(5, 6, Verdict.CHANGED), SightedLines(7, 10, Verdict.SAME))
    assert ledger.inform().text.count("(changed") == 5


def test_a_clients_own_note_in_place_of_a_file_shows_nothing_of_it() -> None:
    """What was shown before it is referred to as before; an empty file is another matter."""
    whole, part = Read("/w/a.py"), Read("/w/a.py", 2, 40)
    kinds = []
    for between in (Observation(notice="File unchanged.", truncated=True), Observation("")):
        ledger = Ledger("Mend it.", replace(UNPRICED, partial=False))
        lines = text(40).splitlines(keepends=True)
        for call, result in ((whole, Observation(text(40))), (whole, between), (part, Observation("".join(lines[1:])))):
            step = take(ledger, Action(f"read {call.first}", "/w", call), partial(_returned, result))
        kinds.append(step.shown.kind)
    assert kinds == ["reference", "full"]
