"""Runs counted for the list, where nothing is kept of them but numbers; a journal is counted on where it has grown."""

from __future__ import annotations

import io
from typing import BinaryIO

from execledger.agents.formats import read_run
from execledger.core.policy import Policy
from execledger.journal.events import Started
from execledger.journal.reader import JournalReader, is_journal, valid_utf8
from execledger.runs.replay import new_ledger
from execledger.session.adapter import Resolve
from execledger.viewer.counting import Count, Origin, RunLine
from execledger.viewer.reading import told_calls


class JournalTally:
    """What a journal came to, as far as it was read."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Begin with the first line of ``file``; raises ``UnreadableRun`` if it is not the start of a journal."""
        self.lines = JournalReader(name, file)
        """How far it was read."""
        self._name = name
        self._count = Count(shadow=self.lines.start.known_policy().shadow)

    @property
    def start(self) -> Started:
        """What run it is."""
        return self.lines.start

    @property
    def over(self) -> bool:
        """Its end is recorded."""
        return self._count.over

    def read_on(self, file: BinaryIO) -> None:
        """Count what ``file`` holds behind what was read of it."""
        file.seek(self.lines.offset)
        while (found := self.lines.next(file)) is not None:
            self._count.add_event(found[1])

    def line(self) -> RunLine:
        """The run in one line."""
        return self._count.line(Origin.of_journal(self._name, self.start))


def tallied(name: str, data: bytes, policy: Policy | None, resolve: Resolve | None) -> tuple[RunLine, bool]:
    """The line of one run, and whether its end is recorded; a journal tells what happened, another run is replayed."""
    if policy is None and is_journal(data):
        journal = JournalTally(name, io.BytesIO(data))
        journal.read_on(io.BytesIO(data))
        return journal.line(), journal.over
    run = read_run(name, valid_utf8(data), resolve)
    ledger = new_ledger(run, policy)
    count = Count(shadow=ledger.policy.shadow)
    for _ in told_calls(run, ledger, count):
        pass
    return count.line(Origin.of_run(run)), True
