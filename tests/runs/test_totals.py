"""Sums over many runs: replays and journals."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from execledger.core.policy import Policy
from execledger.journal import Ended
from execledger.journal.events import Counts
from execledger.journal.reader import Trouble
from execledger.runs.account import Account
from execledger.runs.recording import Run
from execledger.runs.replay import new_ledger, replay
from execledger.runs.totals import MAX_NAMES, Tally, Totals
from execledger.runs.usage import Tokens, tokens_in
from execledger.vocabulary.actions import Observation
from tests.core.stories import text
from tests.journal.runs import plain_step, start, summed
from tests.runs.test_replay import READ, run


def tallied(*runs: Run, policy: Policy | None = None) -> Tally:
    tally = Tally()
    for recorded in runs:
        ledger = new_ledger(recorded, policy)
        account = Account.of_run(recorded, ledger.policy)
        for call in replay(recorded, ledger=ledger):
            tally.classified(recorded, call)
            account.add_replayed(call)
        tally.add(recorded, account)
    return tally


def test_calls_are_counted_by_what_they_are() -> None:
    """Opaque calls by reason, unknown ones beside them, programs one by one."""
    tally = tallied(run(("cat a.py | head", "x\n"), ("eval $X", ""), ("frobnicate", ""), ("frobnicate; ls", "")))
    assert (tally.runs, tally.counts.proposed, tally.turns) == (1, 4, 5)
    assert tally.categories == Counter({"inspect": 1, "other": 3})
    assert (tally.opaque, tally.unknown) == (Counter({"eval": 1}), 2)
    assert tally.unknown_programs == Counter({"frobnicate": 2})


def test_decisions_are_counted_by_rule() -> None:
    """Reuses, references after running, nudges and remarks each in their place."""
    test = ("python -m pytest", "1 failed\n")
    tally = tallied(run(READ, READ, test, test, ("git show HEAD:a.py", text(20))))
    assert (tally.reuses, tally.elided) == (Counter({"whole-read": 1}), Counter({"same": 1}))
    assert (tally.nudges, tally.counts.nudged) == (Counter({"repeated-test": 1}), 1)
    assert (tally.counts.rereads, tally.counts.exact_rereads, tally.counts.search_rereads) == (2, 1, 1)


def test_a_nudge_with_another_result_is_no_remark() -> None:
    """It is counted as a nudge all the same."""
    tally = tallied(run(("python -m pytest", "1 failed\n"), ("python -m pytest", "1 passed\n")))
    assert (tally.nudges, tally.counts.nudged) == (Counter({"repeated-test": 1}), 0)


def test_false_reuses_are_listed() -> None:
    """By run, index and command."""
    assert tallied(run(READ, ("cat a.py", text(20, 2)))).false == ["run.json 1: 'cat a.py'"]


def test_bytes_count_once_for_every_later_model_call() -> None:
    """An output is read again by each call after it; the view is charged once per call."""
    recorded = run(READ, READ, ("ls", "a\n"))
    calls = list(replay(recorded))
    size = len(text(20))
    reference = len(calls[1].shown.text)
    tally = tallied(recorded)
    assert recorded.turns == 4
    assert tally.read_bytes == size * 3 + size * 2 + 2
    assert tally.saved_bytes == (size - reference) * 2
    assert tally.counts.view_bytes == sum(len(call.view.text.encode()) for call in calls if call.view)


def test_a_remark_costs_what_it_weighs() -> None:
    """It is charged to us, and references still save nothing: what they saved is never negative for a remark."""
    test = ("python -m pytest", "1 failed\n")
    recorded = run(test, test, ("ls", "a\n"))
    remark = list(replay(recorded))[1].shown.text
    assert tallied(recorded).saved_bytes == 0
    account = Account.of_run(recorded, Policy())
    for call in replay(recorded):
        account.add_replayed(call)
    net = account.net()
    assert (net.saved, net.saved_tokens) == (0.0, Tokens())
    assert net.remark_tokens.input == 2 * tokens_in(len(remark))
    assert net.net == -net.spent < -net.views


def test_runs_add_up() -> None:
    """Each run has a ledger of its own: what one has seen another has not."""
    tally = tallied(run(READ), run(READ))
    assert (tally.runs, tally.counts.proposed, tally.reuses.total(), tally.elided.total()) == (2, 2, 0, 0)


def test_an_output_that_is_not_known_is_left_out() -> None:
    """It is not among the bytes read; its reference saves what the same command returned before, as in ``stats``."""
    known = run(READ, READ, ("ls", "a\n"))
    unknown = replace(known.steps[1], observation=Observation(exit_status=0, truncated=True))
    recorded = replace(known, steps=(known.steps[0], unknown, known.steps[2]))
    calls, tally = list(replay(recorded)), tallied(recorded)
    assert (tally.reuses.total(), tally.untold, tally.false) == (1, 1, [])
    saved = len(text(20)) - len(calls[1].shown.text.encode())
    assert (tally.read_bytes, tally.saved_bytes) == (len(text(20)) * 3 + 2, saved * 2)


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
