"""The focused cadence: before which model calls a state view is sent, and which files it lists.

A view costs its tokens, uncached, and with providers that also cache what the model writes it keeps the next answer out
of the cache, whatever it says. So a view lists only what the next command may well read again, and is sent only while
the views of a run cost less than its references have saved, and a small credit; but always when a look has found lines
changed that no command of the agent's is known to have written. Such a view is charged like any other.

``FocusedCadence`` is a fold over the recorded steps and sightings and asks nothing else, so every adapter
and a journal that is read back have the same views at the same places; a replay, which has no looks at files, has those
that the steps cause.
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
"""Results that are several."""
RECENT = 20
"""Commands within which a file must have been read that the last one does not name: visible lines of files read longer
ago are read again by 0.3 to 3 of a hundred next commands of recorded runs."""
NEWS = 3
"""Commands for which a change is listed that a look has found: a turn may have several."""
QUIET = frozenset((Category.TEST, Category.SETUP, Category.SUBMIT))
"""Commands after which visible lines are rarely read again: by 0 to 1.6 % of the next commands in three of four sets of
recorded runs (in the smallest set, by 2 of the 44 behind a test)."""
RESERVE = 12
"""Further views that must be affordable before one is sent although the last command names none of the files."""
VIEW_TOKENS = 35
"""Tokens of a focused view; the means of four sets of recorded runs are 35 to 59, the larger ones with long paths."""
ANSWER = 1.5
"""Tokens of an answer for each of its command: 1.2 and 1.9 in recorded runs that keep their answers in the cache."""
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
        """What the next view costs: its tokens, and those of an average answer if it keeps them out of the cache."""
        average = ANSWER * self._written / (self._calls * BYTES_PER_TOKEN) if self._calls else 0.0
        return VIEW_TOKENS + (1 - CACHED_PRICE) * average * self._policy.caches_output

    def record(self, step: Step) -> None:
        """Take in a completed step."""
        # Redacted texts have the same size in a journal.
        self._written += _size(step.action.command)
        self._calls += 1
        self.balance += _omitted(step) * (1 + CACHED_PRICE * self._policy.later_calls)

    def pay(self, *, likely: bool) -> bool:
        """Charge a view if the balance allows it; one that is not ``likely`` to help, only with a reserve."""
        if self.balance < self.price * (1 if likely else 1 + RESERVE):
            return False
        self.charge()
        return True

    def charge(self) -> None:
        """Charge a view; the balance may become negative by one that is sent whatever it costs."""
        self.balance -= self.price


class FocusedCadence:
    """Decides with each recorded step whether the model call behind it has a view."""

    def __init__(self, policy: Policy) -> None:
        """Start without a view due."""
        self.budget = Budget(policy)
        self._due: dict[str, tuple[str, ...]] = {}
        self._changed: dict[tuple[str, str], int] = {}

    def due(self, thread: str) -> tuple[str, ...]:
        """Return the files that a view before the next model call of ``thread`` lists; none if no view is due."""
        changed = tuple(path for one, path in self._changed if one == thread)
        others = (path for path in self._due.get(thread, ()) if path not in changed)
        return (*changed, *islice(others, max(MAX_FILES - len(changed), 0)))

    def tell_changed(self, ledger: Ledger, thread: str, path: str) -> None:
        """List a file whose lines a look found changed although no command wrote it, whatever the view costs."""
        if not self.due(thread):
            self.budget.charge()
        self._changed[thread, path] = ledger.calls(thread)

    def record(self, ledger: Ledger, step: Step) -> None:
        """Take in a step that ``ledger`` has just recorded.

        Where several calls of one turn are recorded, each of them pays for a view although only one is sent: steps do
        not say where a turn ends.
        """
        thread = step.action.thread
        self._due.pop(thread, None)
        self._changed = {key: at for key, at in self._changed.items() if ledger.calls(key[0]) - at < NEWS}
        self.budget.record(step)
        files, likely = focus(ledger, thread)
        if files and self.budget.pay(likely=likely):
            self._due[thread] = files
        elif any(told == thread for told, _ in self._changed):
            self.budget.charge()


def focus(ledger: Ledger, thread: str) -> tuple[tuple[str, ...], bool]:
    """Return the files that a view lists after the step that was recorded last, and whether that step names one.

    Of the files read last, they are those that the last command names, and those read within the last commands. What a
    single result shows needs no index while it is the last one, or if no command names the file.
    """
    last = ledger.results[-1]
    if last.record.category in QUIET:
        return (), False
    command, calls = redact(last.command), ledger.calls(thread)
    files: list[str] = []
    likely = False
    for path, seen in islice(reversed(ledger.files(thread).items()), MAX_FILES):
        age, named = calls - _read(ledger, thread, path), path.rpartition("/")[2] in command
        several = len(seen.parts) >= MIN_RESULTS
        if (named and (several or age > 1)) or (several and age <= RECENT):
            files.append(path)
            likely |= named
    return tuple(files), likely


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
