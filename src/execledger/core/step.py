"""The whole of Ledger on one page: what happens around one action.

    action -> classify -> govern -> (run) -> compare -> record -> inform

``take`` is that loop for one step; adapters and the replay call its parts with their own way to run an action. What
fails inside Ledger is counted in ``ledger.faults`` and not raised; what ``run`` raises is its caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from msgspec.structs import replace

from execledger.core.compare import FULL, UNANSWERED
from execledger.core.ledger import Ledger
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Reuse, Shown, Step


def take(
    ledger: Ledger,
    action: Action,
    run: Callable[[Action], Observation],
    visible: Container[int] | None = None,
    sealed: bool = False,
) -> Step:
    """Decide about ``action``, run it unless its result is reused, compare, record, and return the completed step."""
    decision = ledger.govern(action, visible, sealed)
    suppressed = isinstance(decision, Reuse) and not ledger.policy.shadow
    observation = None if suppressed else run(action)
    step = complete(ledger, action, decision, observation, visible)
    ledger.record(step)
    return step


def complete(
    ledger: Ledger,
    action: Action,
    decision: Decision,
    observation: Observation | None,
    visible: Container[int] | None = None,
) -> Step:
    """The step that ``decision`` and ``observation`` make; with a switch off, the output is shown as it came."""
    if observation is not None and not ledger.policy.govern:
        return Step(action, decision, observation, Shown("full"))
    shown = ledger.compare(action, decision, observation, visible)
    if ledger.policy.shadow:
        assert observation is not None, "in shadow mode every action runs"
        instead = None if shown.kind == "full" else shown.kind
        shown = replace(shown, kind="full", text="", refers_to=(), lines=(), end=None, instead=instead)
    if shown.kind == "reference":
        observation = _answered(ledger, decision, observation, shown)
    assert observation is not None
    return Step(action, decision, observation, shown)


def as_it_came(action: Action, decision: Decision, observation: Observation | None) -> Step:
    """The step where nothing could be compared; for an action that did not run it asks to repeat that."""
    if observation is not None:
        return Step(action, decision, observation, FULL)
    return Step(action, decision, Observation(UNANSWERED.text), UNANSWERED)


def _answered(ledger: Ledger, decision: Decision, observation: Observation | None, shown: Shown) -> Observation:
    """What the model sees where a reference stands: the reference, with the result's own exit status."""
    if observation is None or isinstance(decision, Reuse):
        status = ledger.results[shown.refers_to[0]].exit_status if shown.refers_to else None
        return Observation(shown.text, exit_status=status)
    return Observation(shown.text, exit_status=observation.exit_status)
