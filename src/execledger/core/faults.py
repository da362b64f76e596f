"""Internal faults of Ledger: the failed operation is replaced by a neutral default, counted, and the run continues.

A decision changes no state, so a fault in one does not affect the next: the action is allowed, its result is shown as
it came, there is no view for that call. A fault while a step is recorded leaves the state unknown: Ledger is off for
the rest of the run, as it is after ``MAX_FAULTS`` faults of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from execledger.redact import redact

T = TypeVar("T")
MAX_FAULTS = 5
"""Faults of one run after which Ledger is off: a few may come from unusual commands, but repeated faults are a defect,
and every further attempt costs the agent time."""

FaultListener: TypeAlias = Callable[[str, BaseException, bool], None]
"""Called with the operation that failed, the error, and whether Ledger is off after it."""


class Fault(NamedTuple):
    """One fault, as it is shown to the user."""

    where: str
    """The operation that failed."""
    error: str
    """The class of the error."""
    message: str
    """Its message, with secrets redacted."""

    def __str__(self) -> str:
        return f"{self.where}: {self.error}: {self.message}"


class Faults:
    """The faults of one run."""

    def __init__(self, tell: FaultListener = lambda *_: None) -> None:
        """No fault so far; ``tell`` is called for each."""
        self.count = 0
        """How many there were."""
        self.first: list[Fault] = []
        """The first of them, at most ``MAX_FAULTS``."""
        self.off = False
        """There were too many faults, or one that leaves the state unknown: nothing is decided or recorded any more."""
        self._tell = tell

    def guarded(self, where: str, work: Callable[[], T], otherwise: T) -> T:
        """Return the result of ``work``, which changes no state; ``otherwise`` if it fails, or if Ledger is off."""
        if self.off:
            return otherwise
        try:
            return work()
        except Exception as error:
            self.note(where, error)
            return otherwise

    def recording(self, where: str, work: Callable[[], None]) -> None:
        """Run ``work``, which changes the state, unless Ledger is off; a fault in it turns Ledger off."""
        if self.off:
            return
        try:
            work()
        except Exception as error:
            self.end(where, error)
        except BaseException:
            # The caller handles interruptions; the interrupted state is not used any more.
            self.off = True
            raise

    def note(self, where: str, error: BaseException) -> None:
        """Count a fault after which Ledger continues, unless there were too many."""
        self.count += 1
        self.off = self.off or self.count >= MAX_FAULTS
        try:
            if len(self.first) < MAX_FAULTS:
                self.first.append(Fault(where, type(error).__name__, redact(str(error))[:200]))
            self._tell(where, error, self.off)
        except Exception:
            # A fault while reporting a fault must not stop the agent either.
            return

    def end(self, where: str, error: BaseException) -> None:
        """Count a fault after which the state is unknown: Ledger is off for the rest of the run."""
        self.off = True
        self.note(where, error)
