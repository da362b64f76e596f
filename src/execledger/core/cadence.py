"""The focused cadence: before which model calls a state view is sent, and which files it lists.

A view costs its tokens, uncached, and with providers that also cache what the model writes it keeps the next answer out
of the cache, whatever it says. So a view lists only what the next command may well read again, and is sent only while
the views of a run cost less than its references have saved, and a small credit.

``FocusedCadence`` is a fold over the recorded steps and asks nothing else, so a replay, every adapter and a journal
that is read back have the same views at the same places.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from execledger.core.policy import BYTES_PER_TOKEN, CACHED_PRICE, Policy
from execledger.redact import redact
from execledger.vocabulary.decisions import Step
from execledger.vocabulary.records import Category

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger

MAX_FILES = 3
"""Files that a focused view lists: nearly all reads of visible lines are of one of the three files read last."""
MIN_RESULTS = 2
"""Results that must have shown lines of a file: what a single one shows needs no index."""
RECENT = 10
"""Commands within which it must have been read, unless the last command names it. In recorded runs, visible lines of
files read longer ago are read again by 0.3 to 3 of a hundred next commands, of these by 2 to 5, and after a command
that names one of them by 2 to 12."""
QUIET = frozenset((Category.TEST, Category.SETUP, Category.SUBMIT))
"""Commands after which visible lines are rarely read again: by 0 to 1.6 % of the next commands in three of four sets of
recorded runs (in the smallest set, by 2 of the 44 behind a test)."""
RESERVE = 12
"""Further views that must be affordable before one is sent although the last command names none of the files."""
VIEW_TOKENS = 35
"""Tokens of a focused view; the means of four sets of recorded runs are 35 to 59, the larger ones with long paths."""
REFERENCE_TOKENS = 35
"""Tokens of a reference; the means of four sets of recorded runs are 37 to 44."""


class Budget:
    """What references have saved and views have cost so far, in tokens of new input."""

    def __init__(self, policy: Policy) -> None:
        """Start with the credit of ``policy``."""
        self.balance = float(policy.view_credit)
        """What views may still cost."""
        self._policy = policy
        self._written = 0
        self._calls = 0

    @property
    def price(self) -> float:
        """What the next view costs: its tokens, and those of an average command if it keeps them out of the cache."""
        average = self._written / (self._calls * BYTES_PER_TOKEN) if self._calls else 0.0
        return VIEW_TOKENS + (1 - CACHED_PRICE) * average * self._policy.caches_output

    def record(self, step: Step) -> None:
        """Take in a completed step."""
        # Redacted texts have the same size in a journal.
        self._written += _size(step.action.command)
        self._calls += 1
        self.balance += _omitted(step) * (1 + CACHED_PRICE * self._policy.later_calls)

    def pay(self, *, likely: bool) -> bool:
        """Pay for a view if the balance allows it; for one that is not ``likely`` to help, only with a reserve."""
        price = self.price
        if self.balance < price * (1 if likely else 1 + RESERVE):
            return False
        self.balance -= price
        return True


class FocusedCadence:
    """Decides with each recorded step whether the model call behind it has a view."""

    def __init__(self, policy: Policy) -> None:
        """Start without a view due."""
        self.budget = Budget(policy)
        self._due: dict[str, tuple[str, ...]] = {}

    def due(self, thread: str) -> tuple[str, ...]:
        """Return the files that a view before the next model call of ``thread`` lists; none if no view is due."""
        return self._due.get(thread, ())

    def record(self, ledger: Ledger, step: Step) -> None:
        """Take in a step that ``ledger`` has just recorded.

        Where several calls of one turn are recorded, each of them pays for a view although only one is sent: steps do
        not say where a turn ends.
        """
        thread = step.action.thread
        self._due.pop(thread, None)
        self.budget.record(step)
        files, likely = focus(ledger, thread)
        if files and self.budget.pay(likely=likely):
            self._due[thread] = files


def focus(ledger: Ledger, thread: str) -> tuple[tuple[str, ...], bool]:
    """Return the files that a view lists after the step that was recorded last, and whether that step names one.

    They are those of the last files read of which several results show lines, if they were read recently or the last
    command names them.
    """
    last = ledger.results[-1]
    if last.record.category in QUIET:
        return (), False
    command = redact(last.command)
    in_parts = {
        path: path.rpartition("/")[2] in command
        for path, seen in islice(reversed(ledger.files(thread).items()), MAX_FILES)
        if len(seen.parts) >= MIN_RESULTS
    }
    calls = ledger.calls(thread)
    listed = (path for path, named in in_parts.items() if named or calls - _read(ledger, thread, path) <= RECENT)
    return tuple(listed), any(in_parts.values())


def _read(ledger: Ledger, thread: str, path: str) -> int:
    """The ordinal of the newest step that showed lines of a file."""
    return ledger.results[ledger.files(thread)[path].records[-1].step].ordinal


def _omitted(step: Step) -> float:
    """Tokens that references keep out of a result, less their own."""
    shown = step.shown
    if shown.result is None or shown.kind in ("full", "remark"):
        return 0.0
    left = REFERENCE_TOKENS * BYTES_PER_TOKEN if shown.kind == "reference" else _size(step.observation.output)
    return max(shown.result.size - left, 0) / BYTES_PER_TOKEN


def _size(text: str) -> int:
    return len(redact(text).encode("utf-8", "replace"))
