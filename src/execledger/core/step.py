"""The loop that runs around every action of an agent, in two halves, because the agent runs the action itself.

                 +--------------- propose ---------------+                 +--------- settle ---------+
    action ----> | classify -> pending writes? -> govern | --> (run) ----> | compare -> Step -> record| ----> Step
                 +---------------------------------------+  observation    +--------------------------+
                        |                    ^                                           |
                        v                    |                                           v
                     Proposal             Ledger  <----------------------------------  Ledger

- ``propose`` judges an action before it runs and returns a ``Proposal``: run it, or suppress it because an earlier
  result is still visible and still true. The calls of one model turn are proposed in order before any of them has run;
  what follows a possible write of the same turn is allowed, because the ledger cannot know that write's outcome yet.
- ``settle`` compares the result with what the model can see, completes the step (the result as it came, a reference in
  its place or in place of some of its lines, or the result with a remark) and records it in the ledger.
- ``take`` composes the two for callers that can run the action in between.

The replay of recorded runs and the simulated sessions of the tests call both halves as they are. Live adapters call
them through ``session.session.Session``, which adds the journal. They deliver results to the model between the two
parts of ``settle``, so they call these one by one: ``complete``, which changes no state, and then ``Ledger.record``.
Before the next model call, ``Ledger.inform`` renders the state view from what was recorded.

Ledger fails open: what fails inside it is counted in ``ledger.faults`` and never raised; what ``run`` raises is left
to its caller.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.compare import FULL, UNANSWERED
from execledger.core.govern import FAULT, PENDING_WRITES
from execledger.core.ledger import Ledger
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Reuse, Shown, Step


class Proposal(Struct, frozen=True):
    """An action that was judged and has not run yet."""

    action: Action
    """The action."""
    decision: Decision
    """The decision about it."""
    suppressed: bool = False
    """It is not to be run: the decision is a reuse, and the policy is not in shadow mode."""
    concurrent: bool = False
    """It follows, or runs beside, something that may write and has not been recorded yet."""
    may_write: bool = True
    """It may write itself."""
    visible: Container[int] | None = None
    """The steps whose results the model can see; None for all of them."""

    @property
    def pending(self) -> bool:
        """Whether the next call of the same turn follows a possible write."""
        return self.concurrent or self.may_write


def propose(
    ledger: Ledger,
    action: Action,
    visible: Container[int] | None = None,
    sealed: bool = False,
    pending: bool = False,
) -> Proposal:
    """Judge ``action`` against the ledger without running it.

    ``visible`` names the steps whose results the model can see, ``sealed`` says that nothing but the agent's own
    commands can write, and ``pending`` that something that may write is under way: the ``pending`` of the proposal
    before this one, for the calls of one turn.
    """
    judge = partial(_judged, ledger, action, visible, sealed, pending)
    return ledger.faults.guarded("govern", judge, Proposal(action, FAULT, concurrent=pending, visible=visible))


def _judged(ledger: Ledger, action: Action, visible: Container[int] | None, sealed: bool, pending: bool) -> Proposal:
    may_write = ledger.classify(action).may_write
    held = pending and ledger.policy.govern
    decision = PENDING_WRITES if held else ledger.govern(action, visible, sealed)
    return Proposal(action, decision, suppresses(ledger, decision), pending, may_write, visible)


def suppresses(ledger: Ledger, decision: Decision) -> bool:
    """Whether an action with this decision is not to be run."""
    return isinstance(decision, Reuse) and not ledger.policy.shadow


def settle(ledger: Ledger, proposal: Proposal, observation: Observation | None) -> Step:
    """Compare the result of a proposed action, complete the step, record it in the ledger, and return it.

    ``observation`` is None if the action was suppressed; a replay has the recorded result all the same, and compares
    the reuse with it.
    """
    step = complete(ledger, proposal.action, proposal.decision, observation, proposal.visible)
    step = replace(step, concurrent=proposal.concurrent)
    ledger.record(step)
    return step


def complete(
    ledger: Ledger,
    action: Action,
    decision: Decision,
    observation: Observation | None,
    visible: Container[int] | None = None,
) -> Step:
    """Return the step that an action, its decision and its result make, without recording it.

    If that fails, the result is shown as it came; a suppressed action is answered with a text that asks to repeat it.
    """
    if observation is None:
        otherwise = Step(action, decision, Observation(UNANSWERED.text), UNANSWERED)
    else:
        otherwise = Step(action, decision, observation, FULL)
    compare = partial(_completed, ledger, action, decision, observation, visible)
    return ledger.faults.guarded("compare", compare, otherwise)


def _completed(
    ledger: Ledger, action: Action, decision: Decision, observation: Observation | None, visible: Container[int] | None
) -> Step:
    """The step; with govern off or in shadow mode, its output is shown as it came."""
    if observation is not None and not ledger.policy.govern:
        return Step(action, decision, observation, FULL)
    shown = ledger.compare(action, decision, observation, visible)
    if ledger.policy.shadow:
        assert observation is not None, "in shadow mode every action runs"
        instead = None if shown.kind == "full" else shown.kind
        # Which lines would have been omitted says what a second look would have been.
        lines = shown.lines if instead == "partial" else ()
        shown = replace(shown.in_full(shown.kept), lines=lines, instead=instead)
    if shown.kind == "reference":
        observation = Observation(shown.text, exit_status=_exit_status(ledger, decision, observation, shown))
    elif shown.kind == "partial" and observation is not None:
        observation = replace(observation, output=shown.applied(observation.output))
    assert observation is not None
    return Step(action, decision, observation, shown)


def _exit_status(ledger: Ledger, decision: Decision, observation: Observation | None, shown: Shown) -> int | None:
    """The exit status beside a reference: the result's own, or for a reuse that of the result it refers to."""
    if observation is not None and not isinstance(decision, Reuse):
        return observation.exit_status
    return ledger.results[shown.refers_to[0]].exit_status if shown.refers_to else None


def take(
    ledger: Ledger,
    action: Action,
    run: Callable[[Action], Observation],
    visible: Container[int] | None = None,
    sealed: bool = False,
) -> Step:
    """Propose ``action``, run it unless it is suppressed, settle its result, and return the completed step."""
    proposal = propose(ledger, action, visible, sealed)
    return settle(ledger, proposal, None if proposal.suppressed else run(action))
