"""A run in one line: the same numbers from a journal's events, from a replay, and from a run that is being told."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.agents.formats import read_run
from execledger.core.policy import Policy, Preset
from execledger.evaluate.counterfactual import CounterfactualRun
from execledger.journal.events import Counts, Ended, FaultCaught, StepRecorded
from execledger.runs.account import Account
from execledger.runs.caching import provider_total, usage
from execledger.runs.prices import shipped
from execledger.runs.replay import new_ledger, replay
from execledger.runs.totals import Tally
from execledger.runs.usage import ModelCall, Tokens
from execledger.viewer.counting import Origin, PriceBasis, RunLine, run_id, run_line, tallied, task_in_short, totals
from execledger.viewer.runs import reading_of
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Reuse, Shown, Step
from tests.journal.runs import start
from tests.viewer.stage import DEMO, journal_bytes, shown, simulated, told


@pytest.mark.parametrize("policy", [None, Policy(preset=Preset.PAPER)])
def test_a_journal_is_counted_as_it_is_told(tmp_path: Path, policy: Policy | None) -> None:
    """The list and the run itself say the same, for what was done and for what another policy would do."""
    data = journal_bytes(simulated(tmp_path / "work", 5))
    reading = reading_of("one", data, policy, None)
    reading.read()
    line, over = tallied("one", data, policy, None)
    assert (line, over) == (reading.line(), True)
    assert min(line.reuses + line.elided, line.saved_bytes, line.steps) > 0


@pytest.mark.parametrize("model", ["gpt-5", "claude-sonnet-4-5", "claude-fable-5-1", "gemini-3-pro", "deepseek-chat"])
def test_a_run_is_replayed_on_its_page_as_by_the_command(model: str) -> None:
    """Which views there would have been depends on the model's provider."""
    data = DEMO.read_bytes().replace(b'"scripted"', f'"{model}"'.encode())
    reading = reading_of("demo", data, None, None)
    reading.read()
    run = read_run("demo", data)
    views = [call.view.text if call.view is not None else "" for call in replay(run)]
    assert (run.model, [reading.step(at).view for at in range(len(views))]) == (model, views)
    assert tallied("demo", data, None, None)[0] == reading.line()


def test_damage_is_counted_as_it_is_told() -> None:
    """Lines that are no events, a step that refers to nowhere, a gap, and a last line without its end."""
    start, *steps, last = [journal_bytes([event]) for event in told([shown("ls"), shown("pwd"), shown("id")])]
    nowhere = Step(Action("ls"), Reuse("repeat", (), (9,)), Observation(), Shown("full"))
    evil = journal_bytes(
        [replace(one, step=nowhere) for one in told([shown("ls")])[1:] if isinstance(one, StepRecorded)]
    )
    for data in (
        start + steps[0] + b"no event\n" + steps[1] + last,
        start + evil + steps[1],
        start + steps[0] + last,
        start + steps[0] + steps[1].rstrip(b"\n"),
        start + steps[0].replace(b"ls", b"\xff\xfe") + steps[1],
    ):
        reading = reading_of("one", data, None, None)
        reading.read()
        assert tallied("one", data, None, None)[0] == reading.line()


def test_calls_that_a_thread_was_born_with_are_counted_as_they_are_told() -> None:
    """In a replay of a journal with two conversations."""
    first = shown("cat a.py", "a\n" * 200)
    data = journal_bytes(told([first, shown("cat a.py", "a\n" * 200, "child", inherits=0), shown("ls", "", "child")]))
    reading = reading_of("one", data, Policy(), None)
    reading.read()
    assert tallied("one", data, Policy(), None)[0] == reading.line()
    assert reading.line().steps == 2


def test_the_task_is_its_anchor() -> None:
    """What it is about, on one line: not the tags, and not what an agent puts in front of it."""
    task = "You are an agent.\n\n<issue>\n# Broken\nIt fails \x1b[2J when\n empty.\n</issue>\nFollow the rules."
    line, _ = tallied("one", journal_bytes([start(task=task)]), None, None)
    assert line.task == "It fails ?[2J when empty."


def test_tokens_are_the_providers_where_it_counted() -> None:
    """In a recorded run and at the end of a journal, cached ones apart; what was saved is estimated."""
    count, run = Account(), read_run("demo", DEMO.read_bytes())
    count.add_run(
        replace(
            run,
            model_calls=(
                ModelCall(Tokens.of(input=10, cached=4, output=1)),
                ModelCall(Tokens.of(input=20, cached=5, output=2)),
            ),
            turns=2,
        )
    )
    line = run_line(count, Origin.of_run(run))
    assert (line.input_tokens, line.cached_tokens, line.output_tokens, line.estimated) == (30, 9, 3, False)
    assert line.run_cost == shipped().models["gpt-5"].cost(Tokens(uncached=21, cached=9, output=3))
    end = Ended(reason="", counts=Counts(), input_tokens=70, cached_tokens=20, output_tokens=7, cost=0.5)
    line, _ = tallied("one", journal_bytes([*told([shown("ls")]), end]), None, None)
    assert (line.input_tokens, line.cached_tokens, line.output_tokens, line.run_cost) == (70, 20, 7, 0.5)


def test_tokens_that_no_provider_counted_are_estimated() -> None:
    """As ``execledger replay`` estimates them, and the cost by them; what the agent recorded as cost is kept."""
    data = DEMO.read_bytes()
    own = usage(read_run("demo", data)).total
    cost = shipped().models["gpt-5"].cost(own)
    line, _ = tallied("demo", data, None, None)
    assert (line.uncached_tokens, line.cached_tokens, line.output_tokens) == (own.uncached, own.cached, own.output)
    assert (line.estimated, line.run_cost, line.assumed_price) == (True, cost, True)
    assert (line.price_date, line.priced_as) == (shipped().date, "gpt-5 (assumed)")
    run = replace(read_run("demo", data), totals=ModelCall(cost=0.5))
    line = run_line(Account.of_run(run, Policy()), Origin.of_run(run))
    assert (line.estimated, line.run_cost) == (True, 0.5)


def test_what_is_saved_can_be_set_against_the_same_runs() -> None:
    """Of runs of which some do not know their tokens or cost, the totals have those that know them apart."""
    first = RunLine(id="1", name="a", saved_cached_tokens=3, net_cost=0.25, uncached_tokens=7, run_cost=2.0)
    others = replace(first, uncached_tokens=None, run_cost=None), replace(first, uncached_tokens=None, cost=1.0)
    (found,) = totals((first, *others, replace(first, estimated=True)))
    assert found.prices == PriceBasis(date="", models=[""], assumed=0, recorded=1, assumed_costs=0)
    assert (found.runs, found.known["uncached_tokens"], found.known["run_cost"]) == (4, 2, 3)
    assert (found.sums["saved_cached_tokens"], found.beside["uncached_tokens"]["saved_cached_tokens"]) == (12, 6)
    assert (found.sums["net_cost"], found.beside["run_cost"]["net_cost"]) == (1.0, 0.75)
    assert found.estimated == {"uncached_tokens": 1, "run_cost": 1}


def test_runs_in_shadow_mode_are_not_added_to_those_that_ledger_changed() -> None:
    """Whether their journals tell of them or they are replayed under such a policy; nothing was changed in them."""
    line = RunLine(id="1", name="a")
    shadow = replace(line, shadow=True)
    kinds = (line, shadow, replace(line, replayed=True), replace(shadow, replayed=True))
    found = [(one.shadow, one.replayed, one.took_part, one.runs) for one in totals(kinds)]
    assert found == [(False, False, False, 1), (True, False, False, 2), (False, True, False, 1)]


def test_a_cost_at_an_assumed_price_is_an_estimate() -> None:
    """Also where the tokens were counted by the provider; one that the agent recorded is none."""
    known = RunLine(id="1", name="a", priced_as="gpt-5-mini", price_date="2026-11-15", run_cost=2.0, uncached_tokens=7)
    assumed = replace(known, priced_as="gpt-5 (assumed)", assumed_price=True)
    unknown = replace(assumed, run_cost=None, uncached_tokens=None)
    (found,) = totals((known, assumed, unknown, replace(assumed, cost=2.0)))
    assert found.estimated == {"uncached_tokens": 0, "run_cost": 1}
    assert found.prices == PriceBasis(
        date="2026-11-15", models=["gpt-5 (assumed)", "gpt-5-mini"], assumed=3, recorded=1, assumed_costs=1
    )


def test_the_net_is_in_tokens_by_class() -> None:
    """Each class is what references saved less what remarks and state views took of it, as ``replay`` has it."""
    run = read_run("demo", DEMO.read_bytes())
    ledger = new_ledger(run)
    account = Account.of_run(run, ledger.policy)
    for call in replay(run, ledger=ledger):
        account.add_replayed(call)
    net = account.net().net_tokens
    line, _ = tallied("demo", DEMO.read_bytes(), None, None)
    found = Tokens(uncached=line.net_uncached_tokens, written=line.net_written_tokens, cached=line.net_cached_tokens)
    assert found == net
    assert line.net_uncached_tokens == line.saved_uncached_tokens - line.remark_uncached_tokens - line.view_tokens
    assert line.net_cached_tokens == line.saved_cached_tokens - line.remark_cached_tokens + line.displaced_tokens
    assert line.nudges and line.remark_uncached_tokens > 0


@pytest.mark.parametrize(
    ("calls", "in_all", "told_input"),
    [
        ((ModelCall(Tokens.of(input=3)), ModelCall(Tokens.of(input=4))), ModelCall(Tokens.of(input=9)), 7),
        ((ModelCall(Tokens.of(input=3)), ModelCall()), ModelCall(Tokens.of(input=9)), 9),
        ((ModelCall(Tokens.of(input=3)),), None, 3),
        ((), ModelCall(Tokens.of(input=9)), 9),
        ((), None, None),
    ],
)
def test_what_a_run_took_is_told_by_calls_or_in_all(
    calls: tuple[ModelCall, ...], in_all: ModelCall | None, told_input: int | None
) -> None:
    """The calls if all of them tell, then the totals, then what is told at all."""
    run = replace(read_run("demo", DEMO.read_bytes()), turns=2, model_calls=calls, totals=in_all)
    total = provider_total(run)
    assert (None if total is None else total.tokens.input) == told_input


@pytest.mark.parametrize(
    ("calls", "in_all", "cost"),
    [
        ((ModelCall(Tokens.of(input=3)), ModelCall(Tokens.of(input=4))), ModelCall(cost=0.5), 0.5),
        ((ModelCall(Tokens.of(input=3), 0.25), ModelCall(Tokens.of(input=4), 0.5)), None, 0.75),
        ((ModelCall(Tokens.of(input=3), 0.25), ModelCall()), ModelCall(Tokens.of(input=9)), 0.25),
    ],
)
def test_a_run_cost_what_the_agent_recorded(
    calls: tuple[ModelCall, ...], in_all: ModelCall | None, cost: float
) -> None:
    """In all, beside calls that have counts and no cost, as mini-swe-agent has it; else call by call."""
    run = replace(read_run("demo", DEMO.read_bytes()), turns=2, model_calls=calls, totals=in_all)
    line = run_line(Account.of_run(run, Policy()), Origin.of_run(run))
    assert (line.cost, line.run_cost) == (cost, cost)


def test_a_replay_is_counted_as_everywhere_else() -> None:
    """The numbers of ``execledger replay``, dollars included."""
    run, tally = read_run("demo", DEMO.read_bytes()), Tally()
    ledger = new_ledger(run)
    account, priced = Account.of_run(run, ledger.policy), CounterfactualRun(run, ledger)
    for call in replay(run, ledger=ledger):
        priced.add(call, account.add_replayed(call))
    tally.add(run, account)
    worth = priced.close(shipped()).worth()
    line, _ = tallied("demo", DEMO.read_bytes(), None, None)
    assert (line.steps, line.reuses, line.elided, line.nudges, line.rereads, line.saved_bytes, line.view_bytes) == (
        tally.counts.proposed,
        tally.reuses.total(),
        tally.elided.total(),
        tally.counts.nudged,
        tally.counts.rereads,
        tally.saved_bytes,
        tally.counts.view_bytes,
    )
    assert (line.saved_cost, line.spent_cost, line.net_cost) == pytest.approx((worth.saved, worth.spent, worth.net))
    assert (line.view_cost, line.remark_cost) == pytest.approx((worth.views, worth.remarks))


def test_what_a_command_would_have_printed_counts_only_where_it_is_known() -> None:
    """A suppressed command saves the output of the same command; of another one nobody knows how much."""
    count, reference = Account(), Shown("reference", "[as above]", (0,))
    first = shown("cat a.py", "x" * 1000)
    again, part = (
        Step(Action(command, "/repo"), Reuse("repeat", (), (0,)), Observation("[as above]"), reference)
        for command in ("cat a.py", "head a.py")
    )
    for turn, step in enumerate((first, again, part, shown("ls"))):
        count.add_step(step, turn)
    assert (count.counts.suppressed, count.turns, count.saved_bytes) == (2, 4, 990 * 2)


def test_a_reference_that_points_nowhere_is_no_trouble() -> None:
    """What others wrote may name any step."""
    count = Account()
    count.add_step(Step(Action("ls"), Allow("new"), Observation(), Shown("reference", "x", (99,))), 0)
    assert (count.counts.elided, count.saved_bytes) == (1, 0)


def test_the_end_of_a_journal_counts() -> None:
    """Faults, tokens, calls of the model and the last word; without an end it is not over."""
    events = told([shown("ls")])
    end = Ended(reason="Submitted", counts=Counts(), model_calls=7, input_tokens=1234)
    line, over = tallied(
        "one", journal_bytes([*events, FaultCaught(where="govern", error="KeyError"), end]), None, None
    )
    assert (line.faults, line.turns, line.input_tokens, line.ended, over) == (1, 7, 1234, "Submitted", True)
    assert tallied("one", journal_bytes(events), None, None)[1] is False


def test_an_id_is_a_digest_of_the_name() -> None:
    """Of any name that a file can have."""
    assert run_id("runs/a.json") == "b8e502d001601a71"
    assert len(run_id("bad \udcff name")) == 16


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("Fix this GitHub issue.\n\n## Issue\n\nSums are off\n\nBy one.", "Sums are off"),
        ("<issue>Sums are off\n\nBy one.</issue>", "Sums are off By one."),
        ("Sums are off\nby one.\n\nRun the tests.", "Sums are off by one."),
        ("", ""),
    ],
)
def test_a_task_in_short_is_about_the_task(task: str, told: str) -> None:
    """Two issues behind the same first paragraph can be told apart by what the list chooses tasks by."""
    assert task_in_short(task, 200) == told
