"""The journal: one append-only file per run that holds every step, decision, view and fault.

``events`` says what is in it, ``writer`` keeps it and ``reader`` reads it and rebuilds the ledger.
"""

from execledger.journal.events import Ended, Event, FaultCaught, Started, StepRecorded, ViewRendered, recorded
from execledger.journal.folder import journal_folder
from execledger.journal.reader import JournalRun, read_journal, rebuild
from execledger.journal.writer import Journal, JournalError

__all__ = [
    "Ended",
    "Event",
    "FaultCaught",
    "Journal",
    "JournalError",
    "JournalRun",
    "Started",
    "StepRecorded",
    "ViewRendered",
    "journal_folder",
    "read_journal",
    "rebuild",
    "recorded",
]
