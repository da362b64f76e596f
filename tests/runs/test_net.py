"""What was saved, spent and is left: each kind of tokens at its own price, from a journal as it grows."""

from __future__ import annotations

import pytest

from execledger.journal.events import Counts, Ended
from execledger.runs.net import Balance, Net, dollars, weighed
from execledger.runs.prices import Price, Prices
from execledger.runs.usage import Tokens
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Reuse, Shown, Step

PRICES = Prices(
    "2026-01-01",
    {name: Price(uncached=1_000_000, cached=100_000, written=2_000_000, output=0) for name in ("model", "claude")},
)
"""A dollar for a token, ten cents if it was cached, two dollars for writing it to the cache."""
COMMAND = "c" * 40
SHOWN = Step(Action(COMMAND), Allow("new"), Observation("x" * 400), Shown("full"))
REFERENCE = Step(Action(COMMAND), Reuse("repeat", (), (0,)), Observation("r" * 40), Shown("reference", "r" * 40, (0,)))


def balance(turns: int, model: str = "model", *, view: str = "") -> Balance:
    """An output of 100 tokens, then a reference of 10 in the place of the same, then further calls of the model."""
    found = Balance()
    found.model = model
    for turn, step in enumerate((SHOWN, REFERENCE)):
        if view:
            found.add_view(view)
        found.add(step, turn)
    found.add_event(Ended(counts=Counts(), model_calls=turns, input_tokens=1000, cached_tokens=900))
    return found


@pytest.mark.parametrize(("turns", "saved"), [(2, 0.0), (3, 90.0), (4, 99.0), (5, 108.0)])
def test_what_is_kept_out_is_new_once_and_then_cached(turns: int, saved: float) -> None:
    """Behind the last call nothing is sent any more, so nothing is saved."""
    assert balance(turns).net(PRICES) == Net(saved=saved, own=190.0, models=("model",), date="2026-01-01")


def test_views_are_never_cached_and_keep_what_the_model_wrote_out_of_the_cache() -> None:
    """Two views of 50 tokens, and behind each a command of 10 that the next call sends uncached instead of cached."""
    assert balance(3, view="v" * 200).net(PRICES).spent == pytest.approx(2 * 50 + 2 * 10 * 0.9)
    assert balance(2, view="v" * 200).net(PRICES).spent == pytest.approx(2 * 50 + 10 * 0.9)


def test_where_writing_is_charged_what_is_new_is_written() -> None:
    """And a view keeps nothing out: what the model wrote would not have been cached."""
    found = balance(4, "claude", view="v" * 200).net(PRICES)
    assert (found.saved, found.spent) == (90 * 2 + 90 * 0.1, 100.0)


def test_an_unknown_model_has_the_assumed_price() -> None:
    """A table without that one is helped out by the shipped one."""
    found = weighed(Tokens(uncached=1_000_000), Tokens(), None, "nobody", Prices("2026-01-01", {}))
    assert (found.saved, found.models, found.own) == (1.25, ("gpt-5 (assumed)",), None)


def test_runs_add_up_and_are_told_in_a_sentence() -> None:
    """What the runs cost is known only if it is of all."""
    one = Net(saved=1.5, spent=2.0, own=10.0, models=("b",), date="2026-01-01")
    both = one + Net(saved=0.25, spent=0.0, own=15.0, models=("a", "b"), date="2026-01-01")
    assert both == Net(saved=1.75, spent=2.0, own=25.0, models=("a", "b"), date="2026-01-01")
    assert both.sentence() == (
        "References saved $1.75; state views cost $2.00; net -$0.2500, -1.0% of the $25.00 that the runs cost. "
        "Prices of 2026-01-01 for a, b; tokens of both are estimated from bytes."
    )
    unknown = one + Net(models=("b",), date="2026-01-01")
    assert unknown.sentence(would=True) == (
        "References would have saved $1.50; state views would have cost $2.00; net -$0.5000. "
        "Prices of 2026-01-01 for b; tokens of both are estimated from bytes."
    )


def test_small_sums_are_told_from_nothing() -> None:
    """By more digits."""
    assert [dollars(value) for value in (0.0, 1234.5, -0.00012, 0.5)] == ["$0.00", "$1,234.50", "-$0.0001", "$0.5000"]
