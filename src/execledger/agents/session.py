"""What every adapter does with a ledger: decide about a batch of actions, complete them, and fail open.

A session belongs to one run of one agent. Whatever goes wrong inside Ledger is caught by ``guarded``, or where
the agent calls its adapter, is counted, and turns Ledger off for the rest of the run; the agent goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator
from contextlib import suppress
from typing import TypeVar

from execledger.agents.chronicle import Chronicle
from execledger.core.actions import Action, Observation
from execledger.core.batch import Batch
from execledger.core.decisions import Decision, Reuse, Step
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.rereads import Rereads
from execledger.core.step import complete
from execledger.journal.events import ViewRendered, recorded
from execledger.redact import redact
from execledger.symbols.steps import edited_symbols

T = TypeVar("T")


class Session:
    """One agent's run under a ledger."""

    def __init__(
        self, policy: Policy, task: str, chronicle: Chronicle, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """A session for ``task``; ``tell`` says, once, that Ledger is off after a fault of its own."""
        self.policy = policy
        self.ledger = Ledger(task, policy, edited_symbols)
        self.rereads = Rereads()
        self.chronicle = chronicle
        self.active = True
        self._tell = tell

    def guarded(self, where: str, work: Callable[[], T], otherwise: T) -> T:
        """The result of ``work``, or ``otherwise`` if Ledger is off or fails at it."""
        if not self.active:
            return otherwise
        try:
            return work()
        except BaseException as error:
            self.fault(where, error)
            if isinstance(error, Exception):
                return otherwise
            # An interruption is the agent's to deal with; the work that it broke off is not to be trusted any more.
            raise

    def guarded_work(self, where: str, work: Generator[int, None, T], otherwise: T) -> Generator[int, None, T]:
        """As ``guarded``, for work that is done in pieces."""
        if not self.active:
            return otherwise
        try:
            return (yield from work)
        except GeneratorExit:
            # Its caller was cancelled.
            raise
        except BaseException as error:
            self.fault(where, error)
            if isinstance(error, Exception):
                return otherwise
            raise

    def fault(self, where: str, error: BaseException) -> None:
        """Count a fault of ours, and stay out of the way from now on."""
        self.active = False
        try:
            self.chronicle.fault(where, error)
        except Exception:
            # Not even saying so may stop the agent.
            self.chronicle.summary.counts.faults += 1
        with suppress(Exception):
            self._tell(f"Ledger is off for the rest of this run, after a fault of its own in {where}: {told(error)}")

    def view(self, sealed: bool, visible: Container[int] | None = None, thread: str = "") -> str:
        """The state view for the next model call; "" if none is shown."""
        if not self.policy.inform or self.policy.shadow:
            return ""
        text = self.ledger.inform(visible, sealed, thread).text
        if text:
            self.chronicle.note(ViewRendered(index=len(self.ledger), text=text, thread=thread))
        return text

    def decide(self, actions: list[Action], sealed: bool, visible: Container[int] | None = None) -> list[Decision]:
        """One decision per action of a step; what stands behind a possible write of the same step is allowed."""
        batch = Batch(self.ledger, visible, sealed)
        return [batch.decide(action) for action in actions]

    def suppresses(self, decision: Decision) -> bool:
        """The action is not to be run."""
        return isinstance(decision, Reuse) and not self.policy.shadow

    def complete(
        self, action: Action, decision: Decision, observation: Observation | None, visible: Container[int]
    ) -> Step:
        """The completed step, not recorded yet; ``observation`` is None if the action was suppressed."""
        return complete(self.ledger, action, decision, observation, visible)

    def record(self, step: Step, turn: int = 0, sealed: bool = False, since: int = 0) -> None:
        """Take a completed step into the ledger and the journal; ``since`` is the first step that stood in view."""
        again = self.rereads.take(step, self.ledger.classify(step.action))
        self.ledger.record(step)
        self.chronicle.note(recorded(self.ledger, step, turn=turn, sealed=sealed, since=since, reread=again or "none"))


def told(error: BaseException) -> str:
    """An error for a user's eyes: its kind and its words, without what it may quote."""
    return f"{type(error).__name__}: {redact(str(error))[:200]}"
