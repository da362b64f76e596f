"""What every adapter does with a ledger: decide about a batch of actions, complete them, and fail open.

A session belongs to one run of one agent. Whatever goes wrong inside Ledger is caught by ``guarded``, counted, and
turns Ledger off for the rest of the run; the agent goes on as if it were not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from execledger.core.actions import Action, Observation
from execledger.core.decisions import Allow, Decision, Reuse, Step
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.records import Effects
from execledger.core.step import OFF, complete
from execledger.symbols.steps import edited_symbols

T = TypeVar("T")

NOT_ANSWERED = "[Ledger: this command was not run. Please repeat it.]"
"""The answer to a suppressed command whose reference can't be given any more."""
PENDING = Allow("pending-writes", ("an earlier action of the same step may write",))
"""The decision about an action that stands behind one that may write, in the same step."""


class Counts(Struct):
    """What a session did, in numbers."""

    model_calls: int = 0
    """Calls of the model."""
    proposed: int = 0
    """Actions that the model proposed."""
    suppressed: int = 0
    """Actions that were not run, because their result was proven to be visible."""
    elided: int = 0
    """Outputs replaced by a reference after running."""
    remarked: int = 0
    """Outputs with a remark behind them."""
    view_bytes: int = 0
    """Bytes of state views."""
    saved_bytes: int = 0
    """Bytes of output that references stand for, each counted once."""
    faults: int = 0
    """Faults of ours that were caught."""


class Session:
    """One agent's run under a ledger."""

    def __init__(
        self, policy: Policy, task: str = "", report: Callable[[str, BaseException], None] | None = None
    ) -> None:
        """A session for ``task``; ``report`` is told about every fault."""
        self.policy = policy
        self.ledger = Ledger(task, policy, edited_symbols)
        self.counts = Counts()
        self.active = True
        self._report = report

    def guarded(self, where: str, work: Callable[[], T], otherwise: T) -> T:
        """The result of ``work``, or ``otherwise`` if Ledger is off or fails at it."""
        if not self.active:
            return otherwise
        try:
            return work()
        except Exception as error:
            self.fault(where, error)
            return otherwise

    def fault(self, where: str, error: BaseException) -> None:
        """Count a fault of ours, and stay out of the way from now on."""
        self.active = False
        self.counts.faults += 1
        if self._report is not None:
            try:
                self._report(where, error)
            except Exception:
                self.counts.faults += 1

    def view(self, sealed: bool) -> str:
        """The state view for the next model call; "" if inform is off."""
        self.counts.model_calls += 1
        if not self.policy.inform or self.policy.shadow:
            return ""
        text = self.ledger.inform(sealed=sealed).text
        self.counts.view_bytes += len(text.encode())
        return text

    def decide(self, actions: list[Action], sealed: bool) -> list[Decision]:
        """One decision per action of a step; what stands behind a possible write of the same step is allowed."""
        decisions: list[Decision] = []
        pending = False
        for action in actions:
            self.counts.proposed += 1
            decision: Decision = OFF
            if self.policy.govern:
                decision = PENDING if pending else self.ledger.govern(action, sealed=sealed)
            decisions.append(decision)
            record = self.ledger.classify(action)
            pending = pending or record.effects is not Effects.NONE or record.background
        return decisions

    def suppresses(self, decision: Decision) -> bool:
        """The action is not to be run."""
        return isinstance(decision, Reuse) and not self.policy.shadow

    def complete(self, action: Action, decision: Decision, observation: Observation | None, visible: range) -> Step:
        """The completed step, not recorded yet; ``observation`` is None if the action was suppressed."""
        return complete(self.ledger, action, decision, observation, visible)

    def record(self, step: Step, size: int) -> None:
        """Take a completed step into the ledger; ``size`` is the weight of the true output where one came."""
        self.ledger.record(step)
        if step.shown.kind == "reference":
            reused = isinstance(step.decision, Reuse)
            self.counts.suppressed += reused
            self.counts.elided += not reused
            self.counts.saved_bytes += max(size - len(step.shown.text.encode()), 0)
        elif step.shown.kind == "remark":
            self.counts.remarked += 1
