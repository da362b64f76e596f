"""What runs came to, in numbers."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.core.rereads import Reread, counted
from execledger.journal import Ended, Event, FaultCaught, ViewRendered
from execledger.journal.events import Counts
from execledger.journal.folder import journal_folder
from execledger.runs.account import Account, Net, dollars, sentences, signed_share, weighed
from execledger.runs.prices import Price, Prices, shipped
from execledger.runs.usage import Tokens
from execledger.session.chronicle import Chronicle
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Reuse, Shown, Step
from tests.journal.runs import events_of, plain_step, retold, start, summed
from tests.support.policies import UNPRICED
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
    events = events_of(retold(session, replace(UNPRICED, shadow=True)))
    live, counts = summed(events_of(retold(session, UNPRICED))).counts, summed(events).counts
    assert (counts.ran, counts.suppressed, counts.elided, counts.nudged) == (40, 0, 0, 0)
    assert (counts.shadow_reuses, counts.shadow_right, counts.shadow_wrong) == (live.suppressed, live.suppressed, 0)
    assert (counts.shadow_elided, counts.shadow_nudges) == (live.elided, live.nudged)
    assert min(live.suppressed, live.elided, live.nudged) > 0
    done = f"{live.suppressed} reused before running, {live.elided} after, {live.nudged} nudged"
    said = f"Ledger: 40 commands, shadow: nothing changed; would have been {done}; 0 of the first wrongly"
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
    assert (summary.counts, summary.turns) == (expected, 2)
    assert (summary.model_calls, summary.sentence()) == (
        2,
        "Ledger: 3 commands, 0 reused before running, 0 after, 0 nudged; 1 fault",
    )
    summary.add(Ended(counts=expected, model_calls=5))
    assert (summary.model_calls, summary.incomplete) == (5, False)


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
    usual, elsewhere = (Account(counts=one, journal=f"{folder}/a.ledger.jsonl") for folder in ("/j", "/my j"))
    lost, silent = (
        Account(counts=Counts(proposed=2), unwritten="/j: the journal can't be written: it is full"),
        Account(counts=Counts(faults=1)),
    )
    done = "0 reused before running, 0 after, 0 nudged"
    unwritten = "Ledger: 1 run without a complete journal: /j: the journal can't be written: it is full"
    assert sentences([]) == []
    assert sentences(deque([usual])) == [
        f"Ledger: 1 command, {done}",
        "Ledger: journals are in /j; `execledger stats` adds them up",
    ]
    assert sentences([lost]) == [f"Ledger: 2 commands, {done}", unwritten]
    assert sentences([silent]) == [f"Ledger: 0 commands, {done}; 1 fault"]
    assert sentences(deque([lost, elsewhere])) == [
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


PRICES = Prices(
    "2026-01-01",
    {name: Price(uncached=1_000_000, cached=100_000, written=2_000_000, output=0) for name in ("model", "claude")},
)
"""A dollar for a token, ten cents if it was cached, two dollars for writing it to the cache."""
COMMAND = "c" * 40
SHOWN = Step(Action(COMMAND), Allow("new"), Observation("x" * 400), Shown("full"))
REFERENCE = Step(Action(COMMAND), Reuse("repeat", (), (0,)), Observation("r" * 40), Shown("reference", "r" * 40, (0,)))


def balance(turns: int, model: str = "model", *, view: str = "") -> Account:
    """An output of 100 tokens, then a reference of 10 in the place of the same, then further calls of the model."""
    found = Account(model=model)
    for turn, step in enumerate((SHOWN, REFERENCE)):
        if view:
            found.add_view(view)
        found.add_step(step, turn)
    found.add(Ended(counts=Counts(), model_calls=turns, input_tokens=1000, cached_tokens=900))
    return found


@pytest.mark.parametrize(("turns", "saved"), [(2, 0.0), (3, 90.0), (4, 107.1), (5, 124.2)])
def test_what_is_kept_out_is_new_once_and_then_cached(turns: int, saved: float) -> None:
    """In nine of ten tokens, as the provider counted; behind the last call nothing is sent any more, or saved."""
    found = balance(turns).net(PRICES)
    assert (found.saved, found.spent, found.own) == pytest.approx((saved, 0.0, 190.0))
    assert found.prices == {"model": "2026-01-01"}


def test_the_end_of_a_run_states_saved_spent_and_net() -> None:
    """In tokens by class and in dollars; a run in which neither happened says nothing of it."""
    (_, net) = sentences([balance(4, "gpt-5", view="v" * 200)])
    assert net == (
        "Ledger: References saved 99 uncached and 81 cached tokens ($0.00013); state views cost 100 uncached tokens"
        " ($0.00013); net -1 uncached and +81 cached tokens, $0.0000089, +3.7% of the $0.00024 that the run cost at"
        " table prices. Prices of 2026-11-15 for gpt-5; tokens of both are estimated from bytes."
    )
    assert len(sentences([Account(counts=Counts(proposed=1, ran=1))])) == 1


def test_what_the_runs_cost_is_a_fact_only_at_a_known_price() -> None:
    """One run at the assumed price makes an estimate of the sum."""
    (_, known), (_, assumed) = (sentences([balance(4, model, view="v" * 200)]) for model in ("gpt-5", "unheard-of"))
    assert "that the run cost at table prices." in known
    estimated = "that the run is estimated to have cost at table prices."
    assert f"{estimated} Prices of 2026-11-15 for gpt-5 (assumed)" in assumed
    both = [balance(4, model, view="v" * 200) for model in ("gpt-5", "unheard-of")]
    assert "that the runs are estimated to have cost at table prices." in sentences(both)[1]


def test_small_sums_keep_their_sign_and_size_and_rounding_errors_have_none() -> None:
    """Two significant digits of money at least; a share of it that is rounded to nothing has no sign."""
    assert [dollars(value) for value in (-0.00001, -0.0001, 0.0, -2.5, 1000)] == [
        "-$0.000010",
        "-$0.00010",
        "$0.00",
        "-$2.50",
        "$1,000.00",
    ]
    assert [signed_share(value) for value in (-0.00001, 0.00001, 0.0, -0.01, 0.1)] == [
        "0.00%",
        "0.00%",
        "0.00%",
        "-1.0%",
        "+10.0%",
    ]
    assert [signed_share(value) for value in (-0.0005, 0.0007, 0.0015)] == ["-0.05%", "+0.07%", "+0.15%"]


def test_views_are_never_cached_and_keep_what_the_model_wrote_out_of_the_cache() -> None:
    """Two views of 50 tokens, and behind each a command of 10 that the next call sends uncached instead of cached."""
    assert balance(3, view="v" * 200).net(PRICES).spent == pytest.approx(2 * 50 + 2 * 10 * 0.9)
    assert balance(2, view="v" * 200).net(PRICES).spent == pytest.approx(2 * 50 + 10 * 0.9)


def test_where_writing_is_charged_what_is_new_is_written() -> None:
    """And a view keeps nothing out: what the model wrote would not have been cached."""
    found = balance(4, "claude", view="v" * 200).net(PRICES)
    assert (found.saved, found.spent) == pytest.approx((90 * 2 + 81 * 0.1 + 9 * 2, 100.0))


def test_an_unknown_model_has_the_assumed_price() -> None:
    """A table without that one is helped out by the shipped one."""
    found = weighed(Tokens(uncached=1_000_000), Tokens(), Tokens(), None, "nobody", Prices("2026-01-01", {}))
    assert (found.saved, found.prices, found.own) == (1.25, {"gpt-5 (assumed)": shipped().date}, None)


def test_runs_add_up_and_are_told_in_a_sentence() -> None:
    """Each class of tokens by itself; what the runs cost is known only if it is of all."""
    read, viewed = Tokens(uncached=1_000, cached=9_000), Tokens(uncached=500, cached=-20)
    one = Net(
        saved=1.5,
        views=2.0,
        saved_tokens=read,
        view_tokens=viewed,
        own=10.0,
        prices={"b": "2026-01-01"},
    )
    both = one + Net(
        saved=0.25, saved_tokens=Tokens(written=7), own=15.0, prices={"a": "2026-01-01", "b": "2026-01-01"}
    )
    assert both == Net(
        saved=1.75,
        views=2.0,
        saved_tokens=Tokens(uncached=1_000, cached=9_000, written=7),
        view_tokens=viewed,
        own=25.0,
        runs=2,
        prices={"a": "2026-01-01", "b": "2026-01-01"},
    )
    assert both.net_tokens == Tokens(uncached=500, cached=9_020, written=7)
    assert both.sentence() == (
        "References saved 1,000 uncached and 7 written to the cache and 9,000 cached tokens ($1.75); state views cost"
        " 500 uncached tokens, 20 of which would have been cached ($2.00); net +500 uncached and +7 written to the"
        " cache and +9,020 cached tokens, -$0.2500, -1.0% of the $25.00 that the"
        " runs cost at table prices. Prices of 2026-01-01 for a, b; tokens of both are estimated from bytes."
    )
    unknown = Net(views=2.0, prices={"b": "2026-01-01"}) + one
    assert unknown.sentence(would=True) == (
        "References would have saved 1,000 uncached and 9,000 cached tokens ($1.50); state views would have cost"
        " 500 uncached tokens, 20 of which would have been cached ($4.00); net +500 uncached and +9,020"
        " cached tokens, -$2.50. "
        "Prices of 2026-01-01 for b; tokens of both are estimated from bytes."
    )


def test_what_remarks_took_is_no_part_of_what_references_saved() -> None:
    """Without a reference nothing was saved, whatever remarks took: they are stated by themselves, and in the net."""
    remarked = Net(remarks=0.5, remark_tokens=Tokens(uncached=52, cached=208), own=2.0, prices={"b": "2026-01-01"})
    assert remarked.sentence(would=True) == (
        "References would have saved 0 tokens ($0.00); remarks would have cost 52 uncached and 208 cached tokens"
        " ($0.5000); state views would have cost 0 tokens ($0.00); net -52 uncached and -208 cached tokens, -$0.5000,"
        " -25.0% of the $2.00 that the run cost at table prices."
        " Prices of 2026-01-01 for b; tokens of all three are estimated from bytes."
    )


def test_references_that_are_longer_than_what_they_replaced_saved_nothing() -> None:
    """Under ``paper``, which asks no size: what they took is not called saved."""
    longer = Net(saved=-0.5, saved_tokens=Tokens(uncached=-5, cached=-20), prices={"b": "2026-01-01"})
    took = "5 uncached and 20 cached tokens more than what they replaced ($0.5000); state views"
    assert longer.sentence().startswith(f"References took {took} cost")
    assert longer.sentence(would=True).startswith(f"References would have taken {took} would have cost")


def test_each_price_has_its_own_day() -> None:
    """Of models in two tables; one day with several models is named once."""
    net = sum((Net(prices={name: day}) for name, day in (("b", "2026-02-02"), ("c", "2026-01-01"))), Net())
    both = net + Net(prices={"a": "2026-02-02"})
    assert (
        both.basis == "Prices of 2026-01-01 for c and of 2026-02-02 for a, b; tokens of both are estimated from bytes."
    )


def test_shadow_runs_have_no_part_in_the_cost_that_the_net_is_a_share_of() -> None:
    """Nothing was saved or spent in them; they are counted apart, and what they cost need not be known."""
    live, shadow, unknown = balance(4, view="v" * 200), balance(4), Account(model="unheard-of", shadow=True)
    shadow.shadow = True
    net = live.net(PRICES)
    assert sum((one.net(PRICES) for one in (shadow, unknown)), net) == replace(net, shadow=2)
    (said,) = (f"{net.sentence().partition(' at table prices')[0]} at table prices; 2 shadow runs apart.",)
    assert replace(net, shadow=2).sentence().startswith(said)
    assert shadow.net(PRICES).sentence() == (
        "References saved 0 tokens ($0.00); state views cost 0 tokens ($0.00); net 0 tokens, $0.00; 1 shadow run apart."
    )


def test_small_sums_are_told_from_nothing() -> None:
    """By more digits."""
    assert [dollars(value) for value in (0.0, 1234.5, -0.00012, 0.5)] == ["$0.00", "$1,234.50", "-$0.00012", "$0.5000"]
    assert [dollars(value) for value in (-0.000004321, 0.00002, 1e-17, -1e-17)] == [
        "-$0.0000043",
        "$0.000020",
        "$0.00",
        "$0.00",
    ]
