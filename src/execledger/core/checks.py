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
    from execledger.core.modifications import Modified

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
_COMPOUND = re.compile(r"[!(){}`;&|\n]")
"""What one simple command has none of: groups, loops, conditions, negations, pipes."""
LEADING_CD = re.compile(r"^\s*cd [\w./~-]+ && ")
"""A change of the directory in front of a command, which takes the room of words that tell tests apart."""


def checks(ledger: Ledger, thread: str) -> str:
    """Return the line about the last tests of ``thread``; "" if there is nothing to say about any."""
    found = list(islice(_checks(ledger, thread), MAX_CHECKS))
    return f"Checks: {'; '.join(found)}" if found else ""


def _checks(ledger: Ledger, thread: str) -> Iterator[str]:
    """Yield what is known of each test command, by its newest run; the newest first."""
    newest = max(ledger.modifications.recent.values(), key=lambda one: one.step, default=None)
    known: set[tuple[str | None, str]] = set()
    names: set[str] = set()
    for at in range(len(ledger) - 1, max(len(ledger) - WINDOW, 0) - 1, -1):
        result = ledger.results[at]
        if result.thread != thread or result.record.category is not Category.TEST or result.print is None:
            continue
        key = (result.record.cwd, result.record.normalized)
        back = ledger.calls(thread) - result.ordinal
        edited = _edited_since(ledger, newest, at, thread)
        if key not in known and back >= MIN_AGE and (edited or _outcome(result)):
            name = clip(printable(LEADING_CD.sub("", result.command)), MAX_COMMAND)
            if name in names:
                # Another test under the same words: the line could not tell them apart.
                return
            names.add(name)
            since = edited or _perhaps_changed_since(ledger, at, thread)
            yield f"`{name}` {_outcome(result) or 'ran'} {ago(back)}{since}"
        known.add(key)


def _edited_since(ledger: Ledger, edited: Modified | None, at: int, thread: str) -> str:
    """The newest edit, in words, if it is behind step ``at``; "" otherwise."""
    if edited is None or edited.step <= at:
        return ""
    name = ledger.name_of(edited.path)
    mine = ledger.results[edited.step].thread == thread
    return f", before your last edit of {name}" if mine else f", before {name} was edited"


def _perhaps_changed_since(ledger: Ledger, at: int, thread: str) -> str:
    """Whether a command behind step ``at``, or somebody else, may have written, in words."""
    test = ledger.results[at]
    # The clock of a test is unknown if it ran beside other commands or before a fork of its conversation.
    since = test.clock < 0 or test.clock + test.record.may_write < ledger.clock
    by_others = ledger.left_running or any(one.not_by_agent for one in ledger.latest_sightings(thread, contained=False))
    return ", files may have changed since" if since or by_others else ""


def _outcome(result: StepRecord) -> str:
    """How a test command ended; "" where its exit status is unknown or need not be that of the test."""
    record = result.record
    entered = LEADING_CD.match(result.command)
    words = LEADING_CD.sub("", result.command).replace("2>&1", "", 1)
    alone = record.programs == 1 and not record.background and not _COMPOUND.search(words)
    if result.exit_status is None or not alone or not result.sound:
        return ""
    if result.exit_status == 0:
        return "succeeded"
    # What stopped or was not found has not failed as a test, nor has one behind a ``cd`` that may have failed itself.
    return "failed" if result.exit_status < NOT_A_TEST and not entered else ""
