"""The status of an observed range of lines, in the words that the state view and the web page use.

A status says whether the lines still are in the file as they were shown: as a witness has just found them, or as far as
the ledger can tell from counters.
Whether the text itself is still in the model's context is a second, independent fact.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """Whether lines that were shown are still in the file as they were shown."""

    CURRENT = "current"
    """A witness has just found them in the file; without one, nothing that may have changed it has run since."""
    POSSIBLY_STALE = "possibly stale"
    """Something that may have changed the file has run since."""
    STALE = "stale"
    """The file itself was edited since."""
    MOVED = "now at"
    """A witness found them at other line numbers."""
    CHANGED = "changed"
    """A witness found other text in their place."""
    CHANGED_IN_PART = "changed in part"
    """A witness found other text in place of many of them."""
    GONE = "gone"
    """A witness found that the file does not exist any more."""
    NO_CLAIM = "no claim"
    """Nothing is known; the state view says only that the lines were seen."""


IN_CONTEXT, OUT_OF_CONTEXT = "in context", "seen, no longer in context"
"""How the state view says whether the text of an observation is still in the model's context."""


class RangeStatus(NamedTuple):
    """The status of an observed range, and whether its text is still in the model's context."""

    status: Status
    """Whether the lines are still as they were shown."""
    in_context: bool
    """The result that shows them is part of the model's input, and is not itself a reference."""

    def __str__(self) -> str:
        """The words in the state view; a range without a claim has only those about its context."""
        context = IN_CONTEXT if self.in_context else OUT_OF_CONTEXT
        return f"{self.claim}, {context}" if self.claim else context

    @property
    def claim(self) -> str:
        """The words without those about the context; "" if nothing is claimed."""
        return "" if self.status is Status.NO_CLAIM else self.status.value


class LookedUp(NamedTuple):
    """The status of a range that a witness has just looked up."""

    status: Status
    """What it found."""
    in_context: bool
    """The result that shows the lines is part of the model's input; of lines that have changed, this is not said."""
    not_by_agent: bool = False
    """Nothing of the agent's own can have changed them since they were last found."""
    place: str = ""
    """Where the lines are now, if they have moved."""

    def __str__(self) -> str:
        """The words in the state view; that looked-up lines are in context goes without saying."""
        known = self.status in (Status.CURRENT, Status.MOVED)
        return f"{self.claim}, {OUT_OF_CONTEXT}" if known and not self.in_context else self.claim

    @property
    def claim(self) -> str:
        """The words without those about the context."""
        if self.status in (Status.CURRENT, Status.MOVED):
            return f"{self.status.value} {self.place}" if self.place else self.status.value
        return f"{self.status.value}, not by you" if self.not_by_agent else self.status.value
