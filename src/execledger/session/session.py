"""What every adapter does with a ledger: decide about a batch of actions, complete them, and fail open.

A session belongs to one run of one agent. Whatever goes wrong inside Ledger is caught here, or where the agent calls
its adapter, and is counted. A fault while deciding costs that decision: the action is allowed, its result is shown as
it came, there is no view. A fault while steps are taken in turns Ledger off for the rest of the run, as many others do.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator
from functools import partial
from typing import TypeVar

from execledger.core.faults import Faults
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.rereads import Rereads
from execledger.core.step import Proposal, complete, propose, suppresses
from execledger.journal.events import ViewRendered, recorded
from execledger.redact import redact
from execledger.session.chronicle import Chronicle
from execledger.symbols.edits import edited_symbols
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Step

T = TypeVar("T")


class Session:
    """One agent's run under a ledger."""

    def __init__(
        self, policy: Policy, task: str, chronicle: Chronicle, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """A session for ``task``; ``tell`` says what went wrong inside Ledger."""
        self.policy = policy
        self.faults = Faults(partial(_tell_fault, chronicle, tell))
        self.ledger = Ledger(task, policy, edited_symbols, self.faults)
        self.rereads: Rereads | None = Rereads()
        self.chronicle = chronicle

    @property
    def active(self) -> bool:
        """Ledger is not off after faults of its own."""
        return not self.faults.off

    def following(self, where: str, work: Generator[int, None, T], otherwise: T) -> Generator[int, None, T]:
        """The result of ``work``, which takes in steps piece by piece; after a fault in it Ledger is off."""
        if not self.active:
            return otherwise
        try:
            return (yield from work)
        except GeneratorExit:
            # Its caller was cancelled.
            raise
        except BaseException as error:
            self.faults.end(where, error)
            if isinstance(error, Exception):
                return otherwise
            # An interruption is the agent's to deal with; the work that it broke off is not to be trusted any more.
            raise

    def view(self, sealed: bool, visible: Container[int] | None = None, thread: str = "") -> str:
        """The state view for the next model call; "" if none is shown."""
        if not self.policy.inform or self.policy.shadow:
            return ""
        return self.faults.guarded("inform", lambda: self._view(sealed, visible, thread), "")

    def _view(self, sealed: bool, visible: Container[int] | None, thread: str) -> str:
        text = self.ledger.inform(visible, sealed, thread).text
        if text:
            self.chronicle.note(ViewRendered(index=len(self.ledger), text=text, thread=thread))
        return text

    def propose(self, actions: list[Action], sealed: bool, visible: Container[int] | None = None) -> list[Proposal]:
        """Judge the actions of one model turn in order, before any of them runs."""
        proposals: list[Proposal] = []
        for action in actions:
            pending = bool(proposals) and proposals[-1].pending
            proposals.append(propose(self.ledger, action, visible, sealed, pending))
        return proposals

    def suppresses(self, decision: Decision) -> bool:
        """Whether an action with this decision is not to be run."""
        return suppresses(self.ledger, decision)

    def complete(
        self, action: Action, decision: Decision, observation: Observation | None, visible: Container[int]
    ) -> Step:
        """Return the completed step, not recorded yet; ``observation`` is None if the action was suppressed."""
        return complete(self.ledger, action, decision, observation, visible)

    def record(self, step: Step, turn: int = 0, sealed: bool = False, since: int = 0) -> None:
        """Take a completed step into the ledger and the journal; ``since`` is the first step that stood in view."""
        again = self._reread(step)
        self.ledger.record(step)
        if self.active:
            self.chronicle.note(recorded(self.ledger, step, turn=turn, sealed=sealed, since=since, snippet=again))

    def _reread(self, step: Step) -> str | None:
        """Whether a step is a redundant re-read, as the journal holds it; after a fault in that, none is judged."""
        rereads, self.rereads = self.rereads, None
        if rereads is None:
            return None
        record = self.ledger.classify(step.action)
        found: str | None = self.faults.guarded("measure", lambda: rereads.take(step, record) or "none", None)
        self.rereads = rereads if found is not None else None
        return found


def _tell_fault(chronicle: Chronicle, tell: Callable[[str], None], where: str, error: BaseException, off: bool) -> None:
    """Write a fault to the journal and count it, and tell the user."""
    try:
        chronicle.fault(where, error)
    except Exception:
        chronicle.summary.counts.faults += 1
    now = "is off for the rest of this run" if off else "goes on"
    tell(f"Ledger {now}, after a fault of its own in {where}: {error_text(error)}")


def error_text(error: BaseException) -> str:
    """An error for a user's eyes: its kind and its words, without what it may quote."""
    return f"{type(error).__name__}: {redact(str(error))[:200]}"
