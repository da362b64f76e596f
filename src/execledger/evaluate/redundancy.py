"""Which calls of a replayed run were redundant, and in which way: each call is in one class at most.

The classes tell what is there, whether Ledger would have spared it or not.
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from execledger.core.fingerprint import alike
from execledger.core.ledger import Ledger
from execledger.core.lines import printed_lines
from execledger.runs.caching import text_bytes
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, output_bytes
from execledger.vocabulary.actions import Edit, Patch
from execledger.vocabulary.decisions import Fingerprint
from execledger.vocabulary.records import Category


class Kind(StrEnum):
    """The classes of redundancy."""

    REPEAT = "exact repeat"
    """An inspection whose output is byte for byte that of a visible result: of the same command, or a long one."""
    COVERED = "covered read"
    """A read of one file all of whose lines are part of visible reads of it."""
    OVERLAPPING = "overlapping read"
    """A read of one file of whose lines some, in runs of three, are part of visible reads of it."""
    SEARCH = "repeated search"
    """A search whose output is byte for byte that of a visible result: of the same command, or a long one."""
    TEST = "repeated test"
    """The same test command again with an equal result, and no recognised write in between."""
    STALE = "stale read acted upon"
    """An edit that failed, of a file that was read and then changed, and not read again."""


_EDITORS = re.compile(r"(?:patch|git apply|sed|perl|ed|ex|apply_patch)\b")
"""Programs that change a part of a file: they fail where it is not what they were told."""
LONG = 300
"""Bytes of output from which two different commands do not print the same by chance."""
_NOT_STARTED = (126, 127)
"""Exit statuses of a program that could not be run at all."""


class Redundant(Struct, frozen=True):
    """What is redundant in a call."""

    kind: Kind
    """In which way."""
    size: int
    """Bytes of its output that were redundant: of an overlapping read only lines visible before, as printed."""


class _Tested(Struct, frozen=True):
    """A test that ran."""

    index: int
    changes: int
    result: Fingerprint


class Redundancies:
    """Finds the redundant calls of one run; to be told of each call in order, just behind the replay."""

    def __init__(self, run: Run, ledger: Ledger) -> None:
        """For ``run``, which is being replayed with ``ledger``."""
        self.blind_edits = 0
        """Edits of a file that was read and then changed, and not read again, whether they failed or not."""
        self._ledger = ledger
        self._compactions = frozenset(run.compactions)
        self._since = 0
        self._commands: dict[tuple[str, str | None, str], int] = {}
        self._lines: dict[tuple[str, str], dict[tuple[str, str, str], int]] = {}
        self._tests: dict[tuple[str, str | None, str], _Tested] = {}
        self._read: dict[tuple[str, str], int] = {}
        self._written: dict[str, int] = {}

    def take(self, call: Replayed) -> Redundant | None:
        """What is redundant in the next call; None if nothing is, or if that is unknown."""
        if call.index in self._compactions:
            self._since = call.index
        again, overlap = self._again(call), self._overlap(call)
        tested, stale = self._tested(call), self._stale(call)
        compared, size = call.shown.compared, output_bytes(call.recorded.observation)
        if compared == "same" and (again or size >= LONG):
            return Redundant(Kind.SEARCH if call.record.category is Category.SEARCH else Kind.REPEAT, size)
        if compared == "covered" or (compared == "same" and call.record.view is not None):
            return Redundant(Kind.COVERED, size)
        if call.false or compared == "same":
            return None
        if overlap:
            return Redundant(Kind.OVERLAPPING, min(overlap, size))
        if tested or stale:
            return Redundant(Kind.TEST if tested else Kind.STALE, size)
        return None

    def _again(self, call: Replayed) -> bool:
        """The same command is visible; by chance, short outputs are the same of others as well."""
        key = (call.recorded.action.thread, call.record.cwd, call.record.normalized)
        before = self._commands.get(key, -1)
        self._commands[key] = call.index
        return before >= self._since

    def _overlap(self, call: Replayed) -> int:
        """Bytes, as printed, of lines that visible reads of the file show, in runs of three; the others are noted."""
        view = call.record.view
        shown = self._ledger.returned(view, call.recorded.observation) if view is not None else None
        if view is None or shown is None or not view.path.startswith("/"):
            return 0
        places = self._lines.setdefault((call.recorded.action.thread, view.path), {})
        size = 0
        for texts, printed in zip(shown.texts, printed_lines(call.recorded.observation), strict=True):
            runs = list(zip(texts, texts[1:], texts[2:], strict=False))
            stood = bytearray(len(texts))
            for at, run in enumerate(runs):
                if places.get(run, -1) >= self._since:
                    stood[at : at + 3] = b"\1\1\1"
            size += sum(text_bytes(row) + 1 for row, old in zip(printed, stood, strict=True) if old)
            if call.shown.kind != "reference":
                places.update(dict.fromkeys(runs, call.index))
        return size

    def _tested(self, call: Replayed) -> bool:
        """The same test ran before, nothing recognised has written since, and the result is the same."""
        record, result = call.record, self._ledger.results[call.index]
        if record.category is not Category.TEST or result.print is None or result.everywhere < 0:
            return False
        key = (result.thread, record.cwd, record.normalized)
        now = _Tested(call.index, result.everywhere, result.print)
        before = self._tests.get(key)
        self._tests[key] = now
        return (
            before is not None
            and before.index >= self._since
            and before.changes == now.changes
            and alike(before.result, now.result)
        )

    def _stale(self, call: Replayed) -> bool:
        """A failed edit of a file that was looked into before its last change, and not since."""
        record, observation, thread = call.record, call.recorded.observation, call.recorded.action.thread
        blind = _edits(call) and any(self._changed_since_read(thread, path) for path in record.writes)
        self.blind_edits += blind
        if observation.succeeded:
            # By what the agent really read: in a replay, the text may have been a reference.
            looked = (*(one.path for one in record.reads), *record.looks_at)
            self._read.update({(thread, path): call.index for path in looked})
            self._written.update(dict.fromkeys(record.writes, call.index))
        stopped = observation.timed_out or observation.exit_status in _NOT_STARTED
        return blind and not observation.succeeded and not stopped

    def _changed_since_read(self, thread: str, path: str) -> bool:
        return -1 < self._read.get((thread, path), -1) < self._written.get(path, -1)


def _edits(call: Replayed) -> bool:
    """It changes a part of a file and does nothing else, so its failure is the edit's."""
    if isinstance(call.recorded.action.call, Edit | Patch):
        return True
    record = call.record
    alone = record.category is Category.MODIFY and record.programs == 1
    return alone and _EDITORS.match(record.normalized) is not None
