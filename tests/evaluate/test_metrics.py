"""One row per run: each metric where its definition says it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.agents.formats import read_run
from execledger.core.ledger import Ledger
from execledger.core.policy import Cadence, Policy, Preset
from execledger.core.rereads import COUNTS, counted, judged
from execledger.core.step import take
from execledger.evaluate.metrics import arm, measure, measured
from execledger.evaluate.records import RunRow
from execledger.journal import Ended, Event, FaultCaught, JournalRun, ViewRendered, read_journal
from execledger.journal.events import Counts
from execledger.runs.account import Account
from execledger.runs.prices import Price, Prices, load_prices
from execledger.runs.recording import Recorded
from execledger.runs.usage import ModelCall, Tokens
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Step
from tests.core.stories import text
from tests.journal.runs import TASK, events_of, retold, returning, summed, written
from tests.runs.samples import answer, encoded, trajectory, turn
from tests.runs.test_replay import READ, run
from tests.support.simulation.checks import Session as Simulated
from tests.support.simulation.sessions import simulate

PRICES = Prices("2026-01-01", {"model": Price(uncached=1_000_000, cached=100_000, output=0)})
"""A dollar for a token of input, ten cents if it was cached."""


def journal_of(folder: Path, policy: Policy, change: list[Event] | None = None) -> JournalRun:
    """The journal of a session under ``policy``, its end replaced by ``change``."""
    (folder / "repo").mkdir()
    events = events_of(retold(simulate(folder / "repo", 4), policy))
    path = written(folder / "journals", [*events[:-1], *change] if change else events)
    return read_journal(str(path), path.read_bytes())


def test_a_run_without_ledger_is_base() -> None:
    """All that was proposed ran; re-reads are found by folding it, as nothing was suppressed."""
    calls = tuple(ModelCall(Tokens.of(input=100 * turn, cached=80 * turn, output=7), 0.5) for turn in range(1, 5))
    recorded = replace(run(READ, READ, ("ls", "")), model_calls=calls, instance="a__b-1", ended="Submitted")
    assert measure(recorded, None, PRICES) == RunRow(
        run="run.json",
        instance="a__b-1",
        agent="agent",
        model="model",
        ended="Submitted",
        model_calls=4,
        proposed=3,
        counts=Counts(proposed=3, ran=3, measured=3, rereads=1, covered_rereads=1, exact_rereads=1),
        tokens=Tokens(uncached=200, cached=800, output=28),
        cost=280.0,
        charged_cost=280.0,
        reported_cost=2.0,
        input_by_call=(100, 200, 300, 400),
    )


def test_without_usage_tokens_are_estimated_and_the_row_says_so() -> None:
    """From the texts of the run."""
    row = measure(run(READ, READ), None, PRICES)
    size, task, said = len(READ[1]) // 4, 2, 2
    sent = (task, task + said + size, task + said + size + said + size)
    assert (row.estimated, row.reported_cost) == (True, None)
    assert row.input_by_call == pytest.approx(sent, abs=2)
    assert row.tokens is not None and row.tokens.cached == pytest.approx(sent[0] + sent[1] + 2 * said, abs=2)


def test_what_the_agent_added_up_itself_goes_before_a_sum() -> None:
    """Of dollars, and of tokens where the calls do not tell theirs."""
    totals = ModelCall(Tokens.of(input=1000, cached=400, output=50), 0.75)
    row = measure(replace(run(READ), model_calls=(ModelCall(cost=0.5),), totals=totals), None, PRICES)
    assert (row.tokens, row.estimated) == (Tokens(uncached=600, cached=400, output=50), False)
    assert (row.reported_cost, row.cost, row.input_by_call) == (0.75, 640.0, ())


def test_a_model_without_a_price_has_no_cost() -> None:
    """None, and not zero."""
    assert measure(replace(run(READ), model="other"), None, PRICES).cost is None


def test_a_run_with_ledger_is_told_by_its_journal(tmp_path: Path) -> None:
    """Counts, arm and preset."""
    journal = journal_of(tmp_path, Policy(preset=Preset.PAPER))
    counts = summed([*journal.views, *journal.steps]).counts
    row = measure(replace(run(READ), ended=""), journal, PRICES)
    assert (row.arm, row.preset, row.ended) == ("both", "paper", "Submitted")
    known = replace(counts, **{name: row.count(name) for name in COUNTS}, measured=row.count("measured"))
    assert (row.counts, row.proposed) == (known, counts.proposed)
    assert counts.suppressed and counts.ran and counts.ran + counts.suppressed == row.proposed
    assert row.view_tokens == sum(round(len(view.text.encode()) / 4) for view in journal.views)


@pytest.mark.parametrize("policy", [Policy(), Policy(preset=Preset.PAPER), Policy(shadow=True)])
def test_rereads_are_counted_alike_with_and_without_ledger(tmp_path: Path, policy: Policy) -> None:
    """The same commands have the same re-reads, whether they ran or were answered with references."""
    (tmp_path / "repo").mkdir()
    told = retold(simulate(tmp_path / "repo", 4), policy)
    steps = tuple(Recorded(step.action, truth, 0) for step, truth in zip(told.steps, told.outputs, strict=True))
    path = written(tmp_path / "journals", events_of(told))
    without = measure(replace(run(READ), steps=steps), None, PRICES)
    with_ledger = measure(run(READ), read_journal(str(path), path.read_bytes()), PRICES)
    assert with_ledger.count("rereads") == without.count("rereads")
    assert without.count("rereads")


def test_the_live_count_is_that_of_the_report() -> None:
    """What is counted while a run happens is what its journal comes to, command by command."""
    chronicle = Chronicle(None, "", print)
    session = Session(Policy(), "", chronicle)
    steps: list[Step] = []
    for command, output in (READ, READ, ("grep -rn value .", "x\n"), READ, READ):
        (proposal,) = session.propose([Action(command, "/repo")], sealed=True)
        observation = None if proposal.suppressed else Observation(output, exit_status=0)
        steps.append(session.complete(proposal.action, proposal.decision, observation, range(len(steps))))
        session.record(steps[-1])
    counts = chronicle.summary.counts
    assert {name: getattr(counts, name) for name in COUNTS} == counted(judged(steps, Ledger()))
    assert (counts.measured, counts.rereads, counts.suppressed > 0) == (5, 3, True)


def test_the_end_of_a_journal_tells_tokens_where_the_calls_do_not(tmp_path: Path) -> None:
    """And the cost as the agent recorded it; faults are counted."""
    fault = FaultCaught(where="inform", error="ValueError")
    end = Ended(counts=summed([]).counts, model_calls=2, input_tokens=90, cached_tokens=60, output_tokens=5, cost=0.25)
    row = measure(run(READ), journal_of(tmp_path, Policy(), [fault, end]), PRICES)
    assert (row.tokens, row.estimated, row.input_by_call) == (Tokens(uncached=30, cached=60, output=5), False, ())
    assert (row.reported_cost, row.cost, row.count("faults")) == (0.25, 36.0, 1)


def test_saved_and_spent_are_those_of_the_journals_own_account(tmp_path: Path) -> None:
    """As `stats` counts them: views at a dollar a token, and what they displace at 90 cents more than if cached."""
    journal = journal_of(tmp_path, Policy(preset=Preset.PAPER))
    row = measure(run(READ), journal, PRICES)
    own = Account()
    own.add(journal.start)
    for number, step in enumerate(journal.steps):
        for view in journal.views:
            if view.index == number:
                own.add(view)
        own.add(step)
    net = replace(own, model="model").net(PRICES)
    saved = (net.saved_tokens.uncached, net.saved_tokens.cached)
    assert (row.saved_new_tokens, row.saved_cached_tokens) == saved
    assert (row.saved_cost, row.remark_cost, row.view_cost) == pytest.approx((net.saved, net.remarks, net.views))
    remarks = (net.remark_tokens.uncached, net.remark_tokens.cached)
    assert (row.remark_new_tokens, row.remark_cached_tokens) == remarks and all(remarks)
    assert row.view_cost == pytest.approx((row.view_tokens or 0) + 0.9 * (row.displaced_tokens or 0))
    assert all((*saved, row.view_tokens, row.displaced_tokens))


def test_a_model_without_a_price_is_given_the_assumed_one_as_in_stats(tmp_path: Path) -> None:
    """Its cost is unknown; what Ledger saved and spent, and the whole that it is a share of, are at one price."""
    journal = journal_of(tmp_path, Policy(preset=Preset.PAPER))
    row = measure(replace(run(READ), model="unheard-of"), journal, load_prices())
    price = load_prices().price("gpt-5")
    assert price is not None and row.cost is None and row.tokens is not None
    viewed, displaced = row.view_tokens or 0, row.displaced_tokens or 0
    saved = Tokens(uncached=row.saved_new_tokens or 0, cached=row.saved_cached_tokens or 0)
    spent = Tokens(uncached=viewed + displaced, cached=-displaced)
    dollars = [price.cost(tokens) for tokens in (saved, spent, row.tokens)]
    assert [row.saved_cost, row.view_cost, row.charged_cost] == pytest.approx(dollars)
    assert all(dollars)


def test_a_view_displaces_what_the_model_wrote_as_the_provider_counted_it(tmp_path: Path) -> None:
    """In a run with views nobody knows how far the cache would have reached without them: all of it is charged."""
    journal = journal_of(tmp_path, Policy(preset=Preset.PAPER))
    calls = tuple(ModelCall(Tokens.of(input=1000 * turn, cached=0, output=7)) for turn in range(1, 41))
    row = measure(replace(run(READ), model_calls=calls), journal, PRICES)
    assert row.displaced_tokens == 7 * (len({view.index for view in journal.views}) - 1)


def test_an_estimate_holds_the_views_as_well(tmp_path: Path) -> None:
    """An agent's own record does not hold them, and the model read them."""
    journal = replace(journal_of(tmp_path, Policy()), views=(ViewRendered(index=0, text="x" * 400),))
    with_view, without = (measure(run(READ), told, PRICES).tokens for told in (journal, None))
    assert with_view is not None and without is not None
    assert with_view == without + Tokens(uncached=100)


def test_a_shadow_run_tells_its_false_reuses(tmp_path: Path) -> None:
    """It is base, since nothing was changed; what would have been wrong is known."""
    session = Simulated(Ledger(TASK))
    for command, output in (("cat a.py", text(20)), ("./build", ""), ("cat a.py", text(20, 100))):
        truth = Observation(output, exit_status=0)
        session.took(take(session.ledger, Action(command, "/repo"), returning(truth)), truth)
    path = written(tmp_path, events_of(retold(session, Policy(shadow=True, preset=Preset.PAPER))))
    row = measure(run(READ), read_journal(str(path), path.read_bytes()), PRICES)
    assert (row.arm, row.preset, row.count("suppressed"), row.false_reuses) == ("shadow", "paper", 0, 1)


def test_arms_are_named_by_their_switches() -> None:
    """As in a plan: a cadence that was asked for is not the default's arm, and the control is not the base."""
    policies = [Policy(), Policy(govern=False), Policy(inform=False), Policy(inform=False, govern=False)]
    policies += [Policy(shadow=True), Policy(cadence=Cadence.EVERY), Policy(cadence=Cadence.FOCUSED)]
    assert [arm(policy) for policy in policies] == ["both", "inform", "govern", "base", "shadow", "every", "focused"]


def test_a_journal_is_a_run_of_its_own(tmp_path: Path) -> None:
    """Read both as a run and as a journal."""
    journal_of(tmp_path, Policy(preset=Preset.PAPER))
    unreadable: list[str] = []
    (row,) = measured([str(tmp_path / "journals")], PRICES, unreadable)
    assert (row.arm, row.agent, row.estimated, unreadable) == ("both", "an agent 2", True, [])
    assert row.tokens is not None and (row.tokens.uncached or 0) > (row.view_tokens or 0) > 0


def test_broken_files_among_a_thousand_are_named_and_the_rows_still_come(tmp_path: Path) -> None:
    """Empty, truncated, foreign and no text at all: each with its reason."""
    good = encoded(trajectory("mini-swe-agent-1.1", [turn("ls"), answer("ls", "a\n")]))
    for number in range(996):
        (tmp_path / f"{number:04}.traj.json").write_bytes(good)
    broken = {"x-cut": good[:-40], "x-empty": b"", "x-foreign": json.dumps({"a": 1}).encode(), "x-noise": b"\xff\x00"}
    for name, data in broken.items():
        (tmp_path / f"{name}.json").write_bytes(data)
    unreadable: list[str] = []
    assert sum(1 for _ in measured([str(tmp_path)], PRICES, unreadable)) == 996
    assert [Path(line.partition(".json: ")[0]).name for line in unreadable] == list(broken)
    assert ["expected" in line for line in unreadable] == [True] * 4


def test_the_same_run_gives_the_same_row() -> None:
    """Nothing depends on when or how often it is measured."""
    data = encoded(trajectory("mini-swe-agent-1.1", [turn("cat a"), answer("cat a", "a\n")]))
    assert len({str(measure(read_run("r", data), None, PRICES)) for _ in range(3)}) == 1


def test_a_line_that_was_left_out_is_told(tmp_path: Path) -> None:
    """Its session counts with the other lines."""
    said = {"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "bash", "arguments": {}}]}
    head = {"type": "session", "version": 3, "id": "x", "cwd": "/w"}
    lines = [json.dumps(head), "{torn", json.dumps({"type": "message", "id": "1", "message": said})]
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n")
    unreadable: list[str] = []
    assert sum(1 for _ in measured([str(tmp_path)], PRICES, unreadable)) == 1
    (told,) = unreadable
    assert told.startswith(f"{tmp_path / 's.jsonl'}: one line can't be read and was left out, line 2: ")
