"""Runs counted for the list, where nothing is kept of them but numbers; a journal is counted on where it has grown."""

from __future__ import annotations

import io
from typing import BinaryIO

from execledger.agents.formats import read_run
from execledger.core.policy import Policy
from execledger.journal.events import Started
from execledger.journal.reader import JournalReader, is_journal, valid_utf8
from execledger.runs.account import Account
from execledger.runs.replay import new_ledger
from execledger.session.adapter import Resolve
from execledger.viewer.counting import Origin, RunLine, run_line
from execledger.viewer.reading import told_calls


class JournalTally:
    """What a journal came to, as far as it was read."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Begin with the first line of ``file``; raises ``UnreadableRun`` if it is not the start of a journal."""
        self.lines = JournalReader(name, file)
        """How far it was read."""
        self._name = name
        self._account = Account()
        self._account.add(self.lines.start)

    @property
    def start(self) -> Started:
        """What run it is."""
        return self.lines.start

    @property
    def over(self) -> bool:
        """Its end is recorded."""
        return self._account.over

    def read_on(self, file: BinaryIO) -> None:
        """Count what ``file`` holds behind what was read of it."""
        file.seek(self.lines.offset)
        while (found := self.lines.next(file)) is not None:
            self._account.add(found[1])

    def line(self) -> RunLine:
        """The run in one line."""
        return run_line(self._account, Origin.of_journal(self._name, self.start))


def tallied(name: str, data: bytes, policy: Policy | None, resolve: Resolve | None) -> tuple[RunLine, bool]:
    """The line of one run, and whether its end is recorded; a journal tells what happened, another run is replayed."""
    if policy is None and is_journal(data):
        journal = JournalTally(name, io.BytesIO(data))
        journal.read_on(io.BytesIO(data))
        return journal.line(), journal.over
    run = read_run(name, valid_utf8(data), resolve)
    ledger = new_ledger(run, policy)
    account = Account.of_run(run, ledger.policy)
    for _ in told_calls(run, ledger, account):
        pass
    return run_line(account, Origin.of_run(run)), True
