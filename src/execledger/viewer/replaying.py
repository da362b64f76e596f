"""A replay, told step by step and counted on the way: the same for the list as for the run's own page."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from execledger.core.ledger import Ledger
from execledger.evaluate.counterfactual import Account
from execledger.runs.prices import load_prices
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import INHERITED, Replayed, replay
from execledger.viewer.counting import Count
from execledger.vocabulary.decisions import Decision, Shown, Step


class Call(Struct, frozen=True):
    """What a replay makes of one call."""

    decision: Decision
    """What is decided."""
    shown: Shown
    """What the model would be shown."""
    view: str
    """The state view that the model would read before it; "" if there is none."""

    def step(self, recorded: Recorded) -> Step:
        """The step that it makes of a recorded call."""
        return Step(recorded.action, self.decision, recorded.observation, self.shown, inherits=recorded.inherits)


BORN_WITH = Call(INHERITED, Shown("full"), "")
"""What stands for a call that a conversation was born with."""


def told_calls(run: Run, ledger: Ledger, count: Count) -> Iterator[Call]:
    """Every call of ``run`` in order, replayed in ``ledger`` and added to ``count``."""
    count.add_run(run)
    account, prices = Account(run, ledger), load_prices()
    views: dict[str, tuple[int, str]] = {}
    told = 0
    for replayed in replay(run, ledger=ledger):
        # Calls that a conversation was born with are taken in on the way to the next one.
        yield from _born_with(run, told, replayed.index, count)
        call = Call(replayed.decision, replayed.shown, _view(replayed, views, count))
        recorded = replayed.recorded
        count.add(call.step(recorded), recorded.turn, recorded.observation, again=replayed.reread is not None)
        account.add(replayed)
        told = replayed.index + 1
        yield call
    yield from _born_with(run, told, len(run.steps), count)
    if not ledger.policy.shadow:
        count.worth = account.close(prices).worth(prices.date)


def _born_with(run: Run, first: int, end: int, count: Count) -> Iterator[Call]:
    for recorded in run.steps[first:end]:
        count.add(BORN_WITH.step(recorded), recorded.turn, recorded.observation)
        yield BORN_WITH


def _view(replayed: Replayed, views: dict[str, tuple[int, str]], count: Count) -> str:
    """The view that the model would have read: the one before its turn."""
    thread, turn = replayed.recorded.action.thread, replayed.recorded.turn
    if replayed.view is not None:
        views[thread] = (turn, replayed.view.text)
        count.add_view(replayed.view.text)
    of_turn, text = views.get(thread, (-1, ""))
    return text if of_turn == turn else ""
