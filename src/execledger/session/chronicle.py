"""What a run leaves behind: its journal, and its summary while it happens.

A journal that can't be written is no reason to stop: the first failure is told once, and the run goes on without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from execledger.journal.events import Ended, Event, FaultCaught
from execledger.journal.writer import Journal, JournalError
from execledger.redact import redact
from execledger.runs.account import RunSummary
from execledger.runs.usage import ModelCall


class Chronicle:
    """The events of one run, told to its journal and to its summary."""

    def __init__(self, folder: Path | None, name: str, tell: Callable[[str], None]) -> None:
        """Writes to a new journal in ``folder``, or to none; ``tell`` says what went wrong with it."""
        self.summary = RunSummary()
        self._tell = tell
        self._journal: Journal | None = None
        self._ended = False
        if folder is not None:
            try:
                self._journal = Journal.create(folder, name)
                self.summary.journal = str(self._journal.path)
            except JournalError as error:
                self._unwritten(error)

    @property
    def journal(self) -> str | None:
        """The journal's file."""
        return None if self._journal is None else str(self._journal.path)

    def _unwritten(self, error: JournalError) -> None:
        """Say what went wrong with the journal: its writer does so once."""
        self.summary.journal, self.summary.unwritten = None, error.message
        self._tell(str(error))

    def note(self, event: Event) -> None:
        """Take in one event."""
        self.summary.add(event)
        if self._journal is not None:
            try:
                self._journal.append(replace(event, at=time.time()))
            except JournalError as error:
                self._unwritten(error)

    def add_call(self, call: ModelCall) -> None:
        """Count one call of the model, with what its provider reports."""
        self.summary.called += 1
        self.summary.took += call

    def fault(self, where: str, error: BaseException) -> None:
        """Note a fault of ours."""
        self.note(FaultCaught(where=where, error=type(error).__name__, message=redact(str(error))[:500]))

    def end(self, reason: str = "") -> None:
        """Close the run, once; nobody stands behind the end of a run, so what goes wrong here is only counted."""
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
