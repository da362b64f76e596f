"""The chronicle of a run: writes its events to the journal, and keeps its summary while it runs.

If the journal cannot be written, the first failure is reported once, and the run continues without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from execledger.journal.events import Ended, Event, FaultCaught
from execledger.journal.writer import Journal, JournalError
from execledger.redact import redact
from execledger.runs.account import Account
from execledger.runs.usage import ModelCall


class Chronicle:
    """Writes the events of one run to its journal and adds them to its summary."""

    def __init__(self, folder: Path | None, name: str, tell: Callable[[str], None]) -> None:
        """Create a new journal in ``folder``, or none; ``tell`` is called with a message if it cannot be written."""
        self.summary = Account()
        self._tell = tell
        self._journal: Journal | None = None
        self._ended = False
        if folder is not None:
            self._create(folder, name)

    def _create(self, folder: Path, name: str) -> None:
        """Create the journal."""
        try:
            self._journal = Journal.create(folder, name)
            self.summary.journal = str(self._journal.path)
        except JournalError as error:
            self._unwritten(error)

    @property
    def journal(self) -> str | None:
        """The path of the journal; None if there is none."""
        return None if self._journal is None else str(self._journal.path)

    def _unwritten(self, error: JournalError) -> None:
        """Report that the journal cannot be written; its writer raises this once."""
        self.summary.journal, self.summary.unwritten = None, error.message
        self._tell(str(error))

    def note(self, event: Event, completed: Callable[[], Event] | None = None) -> None:
        """Add one event to the summary and write it to the journal.

        ``completed`` returns the event with the fields that are slow to compute: withheld lines, re-read kind.
        """
        event = event if completed is None else completed()
        self.summary.add(event)
        if self._journal is not None:
            try:
                self._journal.append(replace(event, at=time.time()))
            except JournalError as error:
                self._unwritten(error)

    def add_call(self, call: ModelCall) -> None:
        """Count one call of the model, with what its provider reports."""
        self.summary.add_call(call)

    def fault(self, where: str, error: BaseException) -> None:
        """Add an internal fault."""
        self.note(FaultCaught(where=where, error=type(error).__name__, message=redact(str(error))[:500]))

    def end(self, reason: str = "") -> None:
        """End the run, once; no caller handles a failure here, so it is only counted."""
        if self._ended:
            return
        self._ended = True
        tokens = self.summary.took.tokens
        try:
            self.note(
                Ended(
                    reason=reason,
                    counts=self.summary.counts,
                    model_calls=self.summary.called,
                    input_tokens=tokens.input,
                    cached_tokens=tokens.cached,
                    output_tokens=tokens.output,
                    cost=self.summary.took.cost,
                )
            )
            if self._journal is not None:
                self._journal.close()
        except Exception:
            self.summary.counts.faults += 1
