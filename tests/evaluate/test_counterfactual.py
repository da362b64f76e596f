"""What Ledger would have cost and saved, worked out by hand."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from execledger.agents.formats import read_run
from execledger.core.policy import Policy
from execledger.evaluate.counterfactual import Amount, Counterfactual, CounterfactualRun, RedundancyClass
from execledger.evaluate.redundancy import Kind
from execledger.runs.account import Account
from execledger.runs.caching import text_bytes
from execledger.runs.prices import Price, Prices, shipped
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, new_ledger, replay
from execledger.runs.usage import ModelCall, Tokens, tokens_in
from tests.core.stories import text
from tests.runs.test_replay import READ, run
from tests.support.policies import WHOLE_VIEWS
from tests.support.recorder import record

PRICES = Prices("2026-01-01", {"model": Price(uncached=1_000_000, cached=250_000, written=2_000_000, output=0)})
"""A dollar for a token, a quarter if it was cached, two dollars for writing it to the cache."""
LIST = ("ls", "a\n")


def account(recorded: Run, policy: Policy | None = None, prices: Prices = PRICES) -> Counterfactual:
    """The counterfactual of a run."""
    ledger = new_ledger(recorded, policy)
    account, made = Account.of_run(recorded, ledger.policy), CounterfactualRun(recorded, ledger)
    for call in replay(recorded, ledger=ledger):
        made.add(call, account.add_replayed(call))
    return made.close(prices)


def calls_of(recorded: Run, policy: Policy | None = None) -> list[Replayed]:
    return list(replay(recorded, policy))


def test_a_reference_saves_its_output_at_every_later_call() -> None:
    """New to the next call, cached in the one behind it; the reference is charged in the same way."""
    recorded = run(READ, READ, LIST)
    whole, short = tokens_in(len(READ[1])), tokens_in(len(calls_of(recorded)[1].shown.text))
    there, saved = Tokens(uncached=whole, cached=whole), Tokens(uncached=whole - short, cached=whole - short)
    assert account(recorded).classes[Kind.REPEAT] == RedundancyClass(
        1, Amount(there, 1.25 * whole), 1, Amount(saved, 1.25 * (whole - short))
    )


def test_what_is_there_and_not_ours_is_counted_and_not_saved() -> None:
    """Half of an overlapping read stood in view, and no reference says so."""
    recorded = run(("sed -n '1,10p' a.py", text(10)), ("sed -n '6,15p' a.py", text(10, 6)), LIST)
    half = tokens_in(len(text(5, 6)))
    found = account(recorded).classes[Kind.OVERLAPPING]
    assert found == RedundancyClass(1, Amount(Tokens(uncached=half, cached=half), 1.25 * half))


def test_views_are_uncached_at_every_call_and_keep_what_was_written_out_of_the_cache() -> None:
    """The last call proposed nothing, and is charged with the view before it."""
    recorded = run(READ, LIST)
    sizes = [tokens_in(text_bytes(call.view.text)) for call in calls_of(recorded, WHOLE_VIEWS) if call.view]
    total = account(recorded, WHOLE_VIEWS)
    views = sizes[0] + 2 * sizes[1]
    late = sum(tokens_in(len(step.action.command)) for step in recorded.steps)
    assert (total.views, total.repeated_views) == (Amount(Tokens(uncached=views), views), sizes[1])
    assert total.kept_out == Amount(Tokens(uncached=late, cached=-late), 0.75 * late)
    assert total.net.dollars == -views - 0.75 * late


def test_without_views_nothing_is_charged_for_them() -> None:
    """Nor is anything kept out of the cache."""
    total = account(run(READ, READ, LIST), Policy(inform=False))
    assert (total.views, total.kept_out, total.net) == (Amount(), Amount(), total.saved)


def test_a_remark_is_charged() -> None:
    """It is new once, and cached later."""
    test = ("python -m pytest", "1 failed\n")
    recorded = run(test, test, LIST)
    size = tokens_in(len(calls_of(recorded)[1].shown.text))
    total = account(recorded)
    assert total.remarks == Amount(Tokens(uncached=size, cached=size), 1.25 * size)
    assert (total.classes[Kind.TEST].calls, total.classes[Kind.TEST].spared) == (1, 0)


def test_a_false_reuse_saves_nothing() -> None:
    """What was not shown should have been."""
    assert account(run(READ, ("cat a.py", text(20, 200)), LIST)).saved == Amount()


@pytest.mark.parametrize(("again", "known"), [(READ, True), (("head -n 5 a.py", text(5)), False)])
def test_a_suppressed_call_saves_what_the_same_command_returned(again: tuple[str, str], known: bool) -> None:
    """A journal keeps no output of it; of another command nothing is claimed."""
    recorded = run(READ, again, LIST)
    unknown = replace(recorded.steps[1].observation, output="", truncated=True)
    steps = (recorded.steps[0], replace(recorded.steps[1], observation=unknown), recorded.steps[2])
    found = account(replace(recorded, steps=steps))
    assert (found.unclassified.spared, found.saved == account(run(READ, READ, LIST)).saved) == (int(known), known)


def test_where_writing_is_charged_new_text_is_written() -> None:
    """Dearer to send, so worth more to spare; and nothing that the model wrote could have been cached."""
    calls = tuple(
        ModelCall(Tokens.of(input=1000 * turn, cached=1000 * (turn - 1), written=1000, output=5), 0.1)
        for turn in range(1, 5)
    )
    total = account(replace(run(READ, READ, LIST), model_calls=calls))
    saved = total.classes[Kind.REPEAT].saved.tokens
    assert (saved.uncached, saved.written, saved.written == saved.cached) == (0, saved.written, True)
    assert (total.kept_out.tokens, total.estimated) == (Tokens(), 0)
    assert total.own == Amount(Tokens(cached=6000, written=4000, output=20), 9500.0)


def test_a_model_without_a_price_is_given_the_assumed_one() -> None:
    """And that is told."""
    total = account(run(READ, READ, LIST), prices=Prices("2026-01-01", {}))
    assert total.priced == {"gpt-5 (assumed)": 1}
    assert total.saved.dollars == pytest.approx(shipped().models["gpt-5"].cost(total.saved.tokens))


def test_what_it_is_worth_in_three_numbers() -> None:
    """Remarks are spent, as state views are, and so is what views keep out of the cache."""
    total = account(run(READ, READ, LIST))
    total.remarks = Amount(Tokens(uncached=7), 0.25)
    worth = total.worth()
    assert (worth.own, worth.prices) == (total.own.dollars, {"model": "2026-01-01"})
    assert (worth.saved, worth.saved_tokens) == (total.saved.dollars, total.saved.tokens)
    assert worth.spent == 0.25 + total.views.dollars + total.kept_out.dollars
    assert worth.net == pytest.approx(total.net.dollars)
    assert min(worth.saved, worth.spent) > 0


def test_a_share_without_reports_of_cached_tokens_is_called_a_lower_bound() -> None:
    """The runs' own cost is then that of uncached tokens, and what was sent again is taken for cached all the same."""
    recorded = run(READ, READ, LIST)
    calls = [ModelCall(Tokens.of(input=900, output=9))] * recorded.turns
    untold, told = (
        account(replace(recorded, model_calls=tuple(one))) for one in (calls, [*calls[1:], ModelCall(Tokens.of(9, 0))])
    )
    assert "1 of 1 run has no report of cached tokens" in untold.caveat and "a lower bound" in untold.caveat
    assert (told.caveat, account(recorded).caveat) == ("", "")


def test_a_run_that_ended_before_its_first_model_call_is_no_part_of_what_runs_took() -> None:
    """Its record says nothing of its tokens; a run without an error took none, and those with calls are counted."""
    took = replace(run(READ), model_calls=(ModelCall(Tokens.of(input=10, cached=0)),) * 2)
    ended = replace(run(), turns=0)
    found = Counterfactual()
    for one in (took, ended, replace(ended, failed=True)):
        found.add(account(one))
    assert (found.runs, found.unknown, found.estimated, found.worth().runs) == (3, 1, 0, 2)
    assert found.counted("run") == ("The tokens of 2 of 3 runs were counted by the provider; of 1 nothing is known")
    alone = account(replace(ended, failed=True))
    assert (alone.unknown, alone.worth().own) == (1, None)


def test_runs_add_up() -> None:
    """Every count, class by class."""
    one, other = account(run(READ, READ, LIST)), account(run(("python -m pytest", "x\n"), LIST))
    both = Counterfactual()
    both.add(one)
    both.add(other)
    assert (both.runs, both.priced, both.estimated) == (2, {"model": 2}, 2)
    assert msgspec.json.decode(msgspec.json.encode(both), type=Counterfactual) == both, "other processes can send it"
    assert both.own.tokens == one.own.tokens + other.own.tokens
    assert both.net.tokens == one.net.tokens + other.net.tokens
    assert both.classes[Kind.REPEAT] == one.classes[Kind.REPEAT]


def test_every_reference_of_a_real_session_is_in_a_class() -> None:
    """What is saved is the sum over the classes, so none may be missing."""
    recorded = read_run("demo", record())
    references = sum(call.shown.kind == "reference" for call in replay(recorded))
    assert references == sum(found.spared for found in account(recorded).classes.values()) > 0
