"""The state behind two safeguards of govern: second looks, and newly reported errors.

- After a reference, the next attempt at the same content is run and shown in full, at whatever distance: a model that
  asks again needs the text itself. Attempts within a few calls are counted: their rate is part of the price of
  references, and if it is too high, nothing is elided for the rest of the run.
- Looking at a file that a recent error message names is always allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.modifications import Modifications
from execledger.core.policy import LOOK_WINDOW, MIN_REFERENCES, RATE_WEIGHT, Policy
from execledger.shell import ranges
from execledger.shell.paths import known_part
from execledger.vocabulary.records import Category, CommandRecord


class _Reference(Struct, frozen=True):
    """A reference that a second look may still follow."""

    ordinal: int
    """Which call of its conversation it answers, from 0."""
    record: CommandRecord
    """What was requested."""
    changes: int
    """How many changes of that content had been recorded."""


class SecondLooks:
    """References that have not been followed by a second look yet, by thread and content, and the rate of those that
    were within ``LOOK_WINDOW`` calls."""

    def __init__(self, policy: Policy) -> None:
        """Start without references."""
        self._due: dict[tuple[str, str], dict[int, CommandRecord]] = {}
        self._in_part: set[int] = set()
        """The steps of partial references, whose content is the lines that they omit."""
        self._policy = policy
        self._recent: dict[str, list[_Reference]] = {}
        self.settled = 0
        """References that were looked at again, or whose window is over."""
        self.looked = 0
        """Those that were looked at again."""
        self.stopped: tuple[int, int] | None = None
        """``looked`` and ``settled`` when eliding was stopped; None while it goes on."""

    @property
    def rate(self) -> float:
        """The expected share of references that are looked at again: the policy's, and more and more the run's own."""
        return (RATE_WEIGHT * self._policy.second_look_rate + self.looked) / (RATE_WEIGHT + self.settled)

    def count(
        self,
        thread: str,
        ordinal: int,
        record: CommandRecord,
        modifications: Modifications,
        about: CommandRecord | None,
    ) -> int:
        """Count a call; if references replace its output or a part of it, ``about`` is what they replace.

        Return how many recent references it is a second look at. A request for content that was changed since is none.
        """
        recent = self._recent.setdefault(thread, [])
        again: list[_Reference] = []
        rest: list[_Reference] = []
        for one in recent:
            looked = _same_content(record, one.record) and one.changes == _changes(modifications, one.record)
            (again if looked else rest).append(one)
        recent[:] = [one for one in rest if ordinal - one.ordinal < LOOK_WINDOW]
        if about is not None:
            recent.append(_Reference(ordinal, about, _changes(modifications, about)))
        self.looked += len(again)
        self.settled += len(again) + sum(ordinal - one.ordinal >= LOOK_WINDOW for one in rest)
        many = self.looked > self._policy.max_second_looks * self.settled
        if self._policy.priced and self.stopped is None and many and self.settled >= MIN_REFERENCES:
            self.stopped = (self.looked, self.settled)
        return len(again)

    def due(self, thread: str, record: CommandRecord) -> int | None:
        """Return the newest step whose reference is to what ``record`` shows and awaits a second look."""
        return max((step for step, _ in self._about(thread, record)), default=None)

    def record(self, thread: str, step: int, record: CommandRecord, about: CommandRecord | None) -> None:
        """Record a step: after a reference, a second look at what it is ``about`` is due; any other step uses it up.

        After a partial reference, a look at some of the omitted lines leaves that at the others due.
        """
        if about is not None:
            self._owe(thread, step, about)
            if about.view != record.view:
                self._in_part.add(step)
            return
        for earlier, owed in list(self._about(thread, record)):
            for name in _keys(owed):
                self._due[thread, name].pop(earlier, None)
            if earlier in self._in_part and (left := _left(owed, record)) is not None:
                self._owe(thread, earlier, left)

    def _owe(self, thread: str, step: int, about: CommandRecord) -> None:
        for name in _keys(about):
            self._due.setdefault((thread, name), {})[step] = about

    def _about(self, thread: str, record: CommandRecord) -> Iterator[tuple[int, CommandRecord]]:
        for name in _keys(record):
            for step, about in self._due.get((thread, name), {}).items():
                if _same_content(record, about):
                    yield step, about


def _keys(record: CommandRecord) -> set[str]:
    """Return the keys of a command: its normal form, and the files that it shows."""
    return {record.normalized, *record.shows, *((record.view.path,) if record.view is not None else ())}


def _changes(modifications: Modifications, record: CommandRecord) -> int:
    """Return how often what ``record`` requests was changed: the file of a read, or anything."""
    return modifications.everywhere if record.view is None else modifications.local(record.view.path)


def _left(owed: CommandRecord, record: CommandRecord) -> CommandRecord | None:
    """Return the rest of ``owed``, lines of a file, that ``record`` does not show; None if it may show all of them."""
    if owed.view is None or record.view is None or owed.normalized == record.normalized:
        return None
    seen = sorted(record.view.ranges, key=lambda lines: lines.first)
    if owed.view.path != record.view.path or record.view.floating or any(lines.first < 0 for lines in seen):
        return None
    left = ranges.subtract(owed.view.ranges, tuple(seen))
    return replace(owed, view=replace(owed.view, ranges=left)) if left else None


def _same_content(record: CommandRecord, referred: CommandRecord) -> bool:
    """Whether both are the same command, or show overlapping lines of one file."""
    if record.normalized == referred.normalized and record.cwd == referred.cwd:
        return True
    one, other = record.view, referred.view
    if one is not None and other is not None:
        return one.path == other.path and ranges.overlap(one.ranges, other.ranges)
    both_show = record.category is referred.category is Category.INSPECT
    return both_show and not set(filter(None, record.shows)).isdisjoint(referred.shows)


MARKS = ("Traceback", "rror", "FAIL", "panicked", "warning:")
"""Texts that occur in error messages; an output without any of them reports no error."""
NAMED = re.compile(
    r'File "([^"\n]{1,300})", line \d+|^[^\S\n]*+(?:--> |at .{0,200}\()?([\w./+-]{1,300}\.\w{1,8})[:(]\d+', re.MULTILINE
)
"""A file and line, as tracebacks and compilers print them."""
MAX_FILES = 50
"""Files that are taken from one output."""
REACH = 4_000
"""Characters at either end of an output that are examined: errors come first or last."""


def files_in_errors(output: str, *, searched: bool = False) -> frozenset[str]:
    """Return the files that tracebacks and compiler messages in ``output`` name, as they spell them.

    In the output of a search only tracebacks count: its hits look like a compiler's messages.
    """
    text = output if len(output) <= 2 * REACH else f"{output[:REACH]}\n{output[-REACH:]}"
    if "Traceback" not in text if searched else not any(mark in text for mark in MARKS):
        return frozenset()
    found: dict[str, None] = {}
    for match in NAMED.finditer(text):
        if match[1] or not searched:
            found[match[1] or match[2]] = None
        if len(found) >= MAX_FILES:
            break
    return frozenset(found)


def names_file(error: frozenset[str], path: str) -> bool:
    """Whether one of the files in ``error`` is ``path``: equal, or one of both is relative to an unknown folder."""
    relative = known_part(path)
    return any(
        path == name
        or path.endswith("/" + name.removeprefix("./"))
        or (relative != path and name.endswith(f"/{relative}"))
        for name in error
    )
