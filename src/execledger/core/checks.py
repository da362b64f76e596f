"""Checks: the test commands that ran last, how they ended, and whether a file was or may have been changed since."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from execledger.core.wording import ago, clip, printable
from execledger.vocabulary.records import Category

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger, StepRecord

MAX_CHECKS = 2
"""Test commands that are listed."""
MIN_AGE = 3
"""Commands since a test ran: the results of newer ones are the last thing that the model has read."""
WINDOW = 40
"""Results that are searched for tests, newest first: the bound on the work for one view."""
MAX_COMMAND = 48
"""Bytes of a command."""
NOT_A_TEST = 124
"""The exit status of a time limit; the statuses above it are of commands that were not found or ended by a signal."""
_SIMPLE = re.compile(r"[^!(){}`;&|\n]*(?:2>&1)?[^!(){}`;&|\n]*")
"""One simple command: no group, loop, condition, negation or pipe."""
LEADING_CD = re.compile(r"^\s*cd [\w./~-]+ && ")
"""A change of the directory in front of a command, which takes the room of words that tell tests apart."""


def checks(ledger: Ledger, thread: str) -> str:
    """Return the line about the last tests of ``thread``; "" if there is nothing to say about any."""
    found = list(islice(_checks(ledger, thread), MAX_CHECKS))
    return f"Checks: {'; '.join(found)}" if found else ""


def _checks(ledger: Ledger, thread: str) -> Iterator[str]:
    """Yield what is known of each test command, by its newest run; the newest first."""
    known: set[tuple[str | None, str]] = set()
    names: set[str] = set()
    for at in range(len(ledger) - 1, max(len(ledger) - WINDOW, 0) - 1, -1):
        result = ledger.results[at]
        if result.thread != thread or result.record.category is not Category.TEST or result.print is None:
            continue
        key = (result.record.cwd, result.record.normalized)
        back = ledger.calls(thread) - result.ordinal
        edited = _edited_since(ledger, at, thread)
        if key not in known and back >= MIN_AGE and (edited or _outcome(result)):
            name = clip(printable(LEADING_CD.sub("", result.command)), MAX_COMMAND)
            if name in names:
                # Another test under the same words: the line could not tell them apart.
                return
            names.add(name)
            yield f"`{name}` {_outcome(result) or 'ran'} {ago(back)}{edited or _perhaps_changed_since(ledger, at)}"
        known.add(key)


def _edited_since(ledger: Ledger, at: int, thread: str) -> str:
    """The newest edit behind step ``at``, in words; "" if there is none."""
    edited = max(ledger.modifications.recent.values(), key=lambda one: one.step, default=None)
    if edited is None or edited.step <= at:
        return ""
    name = ledger.name_of(edited.path)
    mine = ledger.results[edited.step].thread == thread
    return f", before your last edit of {name}" if mine else f", before {name} was edited"


def _perhaps_changed_since(ledger: Ledger, at: int) -> str:
    """Whether a command behind step ``at`` may have written, in words."""
    behind = ledger.results[at + 1].clock if at + 1 < len(ledger) else ledger.clock
    return ", files may have changed since" if behind < ledger.clock else ""


def _outcome(result: StepRecord) -> str:
    """How a test command ended; "" where its exit status is unknown or need not be that of the test."""
    record = result.record
    entered = LEADING_CD.match(result.command)
    alone = record.programs == 1 and not record.background and _SIMPLE.fullmatch(LEADING_CD.sub("", result.command))
    if result.exit_status is None or not alone or not result.sound:
        return ""
    if result.exit_status == 0:
        return "succeeded"
    # What stopped or was not found has not failed as a test, nor has one behind a ``cd`` that may have failed itself.
    return "failed" if result.exit_status < NOT_A_TEST and not entered else ""
