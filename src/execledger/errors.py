"""The exceptions that Ledger raises for its users.

- LedgerError: the environment or an input is not as required; the message is for the user
  - BadPolicy: a setting can't be understood or is out of range
  - JournalError: a journal can't be written any more; raised once, and the run goes on without it
  - UnreadableRun: one recorded run is broken or of an unknown format; the others can still be read
    - ReaderFault: a fault of Ledger's own while one was read

A message says what was found, where, and what was expected; a hint, if there is one, follows on a second line.
"""

from __future__ import annotations


class LedgerError(Exception):
    """A problem outside of Ledger; shown to the user without a traceback."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        """What was found, where, and what was expected."""
        self.hint = hint
        """What the user can do about it; may be empty."""

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


def reason(error: Exception) -> str:
    """The message of an error without the number and the path of an ``OSError``, for messages that name the path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class BadPolicy(LedgerError):
    """A policy of the user is invalid."""


class UnreadableRun(LedgerError):
    """One recorded run can't be read; useful where the rest of a batch should go on."""

    def __init__(self, name: str, reason: str, hint: str = "") -> None:
        super().__init__(f"{name}: {reason}", hint)
        self.args = (name, reason, hint)  # Pickling calls the class with these, on its way between processes.
        self.name = name
        """The run, as its source names it."""
        self.reason = reason
        """What was found in it, and where."""


class ReaderFault(UnreadableRun):
    """One recorded run can't be read because of a fault of Ledger's own, which costs no other run."""
