"""The calls of one model turn, judged one after the other before any of them has run.

What stands behind a possible write of the same turn is allowed: the ledger can't know that write's outcome yet.
"""

from __future__ import annotations

from collections.abc import Container

from execledger.core.ledger import Ledger
from execledger.vocabulary.actions import Action
from execledger.vocabulary.decisions import Allow, Decision

PENDING = Allow("pending-writes", ("an earlier action of the same step may write",))
"""The decision about an action that stands behind one that may write, in the same step."""
UNFINISHED = Allow("unfinished", ("it was proposed, and no result came back",))
"""The decision about an action that may have run, and of which nothing was heard again."""


class Batch:
    """One turn's calls, in order."""

    def __init__(
        self, ledger: Ledger, visible: Container[int] | None = None, sealed: bool = False, pending: bool = False
    ) -> None:
        """A turn against ``ledger``; ``pending`` says that something that may write is under way already."""
        self.pending = pending
        """Something that may write stands before the next call, or is under way."""
        self.sealed = sealed
        """Nothing but the agent's own commands can write, as far as is known now."""
        self._ledger = ledger
        self._visible = visible

    def decide(self, action: Action) -> Decision:
        """Judge the next call of the turn."""
        before, self.pending = self.pending, True
        held = before and self._ledger.policy.govern
        decision = PENDING if held else self._ledger.govern(action, self._visible, self.sealed)
        # Cleared only here: if a statement above fails, later calls are treated as following a write.
        self.pending = before or self._ledger.classify(action).may_write
        return decision
