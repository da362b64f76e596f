"""What runs came to, in numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.core.policy import Policy
from execledger.core.rereads import Reread, counted
from execledger.journal import Ended, Event, FaultCaught, ViewRendered
from execledger.journal.events import Counts
from execledger.journal.folder import journal_folder
from execledger.journal.reader import Trouble
from execledger.runs.account import MAX_NAMES, RunSummary, Totals, sentences
from execledger.session.chronicle import Chronicle
from tests.journal.runs import events_of, plain_step, retold, start, summed
from tests.support.simulation.sessions import simulate


def test_a_session_is_counted(tmp_path: Path) -> None:
    """The counts are those that the session itself kept."""
    session = simulate(tmp_path, 4)
    counts = summed(events_of(session)).counts
    assert (counts.proposed, counts.ran, counts.suppressed) == (40, 40 - session.reuses, session.reuses)
    assert (counts.elided, counts.views, counts.faults) == (session.references, 40, 0)
    assert session.reuses > 0 < session.references


def test_shadow_mode_says_what_would_have_been_done(tmp_path: Path) -> None:
    """In shadow mode everything ran, what is counted is what a live run does, and every reuse was judged."""
    session = simulate(tmp_path, 4)
    events = events_of(retold(session, Policy(shadow=True)))
    live, counts = summed(events_of(retold(session, Policy()))).counts, summed(events).counts
    assert (counts.ran, counts.suppressed, counts.elided, counts.nudged) == (40, 0, 0, 0)
    assert (counts.shadow_reuses, counts.shadow_right, counts.shadow_wrong) == (live.suppressed, live.suppressed, 0)
    assert (counts.shadow_elided, counts.shadow_nudges) == (live.elided, live.nudged)
    assert min(live.suppressed, live.elided, live.nudged) > 0
    said = f"Ledger: 40 commands, shadow: {live.suppressed} would have been reused before running, 0 of them wrongly"
    assert summed(events).sentence() == said


@pytest.mark.parametrize("word", ["", "within", "exact"])
def test_verdicts_of_the_old_definition_are_not_counted(word: str) -> None:
    """Older journals counted fewer commands as re-reads; what they say is not added to what newer ones say."""
    counts = summed([start(), replace(plain_step(0), reread=word)]).counts
    assert (counts.measured, counts.rereads) == (0, 0)


def test_every_kind_of_event_is_counted() -> None:
    """Views by their bytes, faults, re-reads where they were asked for, and model calls."""
    events: list[Event] = [
        start(),
        ViewRendered(index=0, text="ä" * 10),
        replace(plain_step(0), snippet="none"),
        replace(plain_step(1, turn=0), snippet=Reread.EXACT),
        plain_step(2, turn=1),
        FaultCaught(where="govern", error="ValueError"),
    ]
    summary = summed(events)
    again = counted([None, Reread.EXACT])
    expected = Counts(proposed=3, ran=3, measured=2, views=1, view_bytes=20, faults=1, **again)
    assert summary == RunSummary(counts=expected, turns=2)
    assert (summary.model_calls, summary.sentence()) == (
        2,
        "Ledger: 3 commands, 0 reused before running, 0 after, 0 nudged; 1 fault",
    )
    summary.add(Ended(counts=expected, model_calls=5))
    assert (summary.model_calls, summary.incomplete) == (5, False)


def test_totals_add_up_what_is_told() -> None:
    """Tokens and cost are summed over the runs that say so, and stay unknown where none does."""
    totals = Totals()
    totals.add("a", summed([start(), plain_step(0)]), Trouble())
    assert (totals.unended, totals.input_tokens, totals.cost) == (1, None, None)
    for cost in (0.5, None):
        end = Ended(counts=Counts(proposed=1), input_tokens=100, cached_tokens=60, output_tokens=7, cost=cost)
        totals.add("b", summed([start(), plain_step(0), end]), Trouble())
    totals.add("c", summed([start(), Ended(counts=Counts(proposed=9))]), Trouble(torn=True))
    assert totals == Totals(
        runs=4,
        unended=1,
        model_calls=3,
        counts=Counts(proposed=3, ran=3),
        input_tokens=200,
        cached_tokens=120,
        output_tokens=14,
        cost=0.5,
        runs_with_tokens=2,
        runs_with_cost=1,
        torn=1,
        incomplete=1,
        named=["c: the last line is torn; the end counts another number of steps than there are"],
    )


def test_names_of_files_with_trouble_are_bounded() -> None:
    """However many files are foreign, all are counted and only some are kept by name."""
    totals = Totals()
    for number in range(3 * MAX_NAMES):
        totals.skip(f"{number}: foreign")
    assert (totals.unread, len(totals.named)) == (3 * MAX_NAMES, MAX_NAMES)


def test_journals_go_to_the_platforms_state_folder() -> None:
    """The user's word comes first, then the platform's habit; a relative path in the environment is no folder."""
    chosen = {"EXECLEDGER_JOURNAL": "/j", "XDG_STATE_HOME": "/s", "HOME": "/h"}
    assert journal_folder(chosen, "linux") == Path("/j")
    assert journal_folder({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "linux") == Path("/s/execledger/journals")
    relative = {"XDG_STATE_HOME": "s", "HOME": "/h"}
    assert journal_folder(relative, "linux") == Path("/h/.local/state/execledger/journals")
    assert journal_folder(relative, "darwin") == Path("/h/Library/Application Support/execledger/journals")


def test_the_closing_lines_say_where_journals_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where they are: one that could not be written is said to be so."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", "/j")
    one = Counts(proposed=1, ran=1)
    usual, elsewhere = (RunSummary(counts=one, journal=f"{folder}/a.ledger.jsonl") for folder in ("/j", "/my j"))
    lost, silent = (
        RunSummary(counts=Counts(proposed=2), unwritten="/j: the journal can't be written: it is full"),
        RunSummary(counts=Counts(faults=1)),
    )
    done = "0 reused before running, 0 after, 0 nudged"
    unwritten = "Ledger: 1 run without a complete journal: /j: the journal can't be written: it is full"
    assert sentences([]) == []
    assert sentences([usual]) == [
        f"Ledger: 1 command, {done}",
        "Ledger: journals are in /j; `execledger stats` adds them up",
    ]
    assert sentences([lost]) == [f"Ledger: 2 commands, {done}", unwritten]
    assert sentences([silent]) == [f"Ledger: 0 commands, {done}; 1 fault"]
    assert sentences([lost, elsewhere]) == [
        f"Ledger: 2 runs, 3 commands, {done}; 0 faults",
        "Ledger: journals are in /my j; `execledger stats '/my j'` adds them up",
        unwritten,
    ]


def test_a_journal_that_can_t_be_written_is_told_with_path_and_reason(tmp_path: Path) -> None:
    """At once, and again at the end of the run; its numbers are counted all the same."""
    (tmp_path / "file").write_text("in the way")
    told: list[str] = []
    chronicle = Chronicle(tmp_path / "file" / "journals", "one", told.append)
    chronicle.note(plain_step(0))
    reason = f"{tmp_path / 'file' / 'journals'}: the journal can't be written: {tmp_path / 'file'} is no folder"
    assert told == [f"{reason}\nhint: the run goes on without it"]
    assert sentences([chronicle.summary]) == [
        "Ledger: 1 command, 0 reused before running, 0 after, 0 nudged",
        f"Ledger: 1 run without a complete journal: {reason}",
    ]
