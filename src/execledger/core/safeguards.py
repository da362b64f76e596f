"""The state behind two safeguards of govern: second looks, and newly reported errors.

- After a reference, the next attempt at the same content is run and shown in full, at whatever distance: a model that
  asks again needs the text itself.
- Looking at a file that a recent error message names is always allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from execledger.shell import ranges
from execledger.vocabulary.records import Category, CommandRecord


class SecondLooks:
    """References that have not been followed by a second look yet, by thread and content."""

    def __init__(self) -> None:
        """Start without references."""
        self._due: dict[tuple[str, str], dict[int, CommandRecord]] = {}

    def due(self, thread: str, record: CommandRecord) -> int | None:
        """Return the newest step whose reference is to what ``record`` shows and awaits a second look."""
        return max((step for step, _ in self._about(thread, record)), default=None)

    def record(self, thread: str, step: int, record: CommandRecord, *, referred: bool) -> None:
        """Record a step: after a reference (``referred``) a second look is due; any other step uses it up."""
        if referred:
            for name in _keys(record):
                self._due.setdefault((thread, name), {})[step] = record
            return
        for earlier, about in list(self._about(thread, record)):
            for name in _keys(about):
                self._due[thread, name].pop(earlier, None)

    def _about(self, thread: str, record: CommandRecord) -> Iterator[tuple[int, CommandRecord]]:
        for name in _keys(record):
            for step, about in self._due.get((thread, name), {}).items():
                if _same_content(record, about):
                    yield step, about


def _keys(record: CommandRecord) -> set[str]:
    """Return the keys of a command: its normal form, and the files that it shows."""
    return {record.normalized, *record.shows, *((record.view.path,) if record.view is not None else ())}


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
    """Whether one of the files in ``error`` is ``path``: equal, or relative to an unknown folder."""
    return any(path == name or path.endswith("/" + name.removeprefix("./")) for name in error)
