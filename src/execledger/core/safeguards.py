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
    """References whose free attempt has not been used yet, by thread and by what they are about."""

    def __init__(self) -> None:
        """There was no reference yet."""
        self._due: dict[tuple[str, str], dict[int, CommandRecord]] = {}

    def due(self, thread: str, record: CommandRecord) -> int | None:
        """The newest step whose reference is about what ``record`` looks at, and was not followed by a look yet."""
        return max((step for step, _ in self._about(thread, record)), default=None)

    def record(self, thread: str, step: int, record: CommandRecord, *, referred: bool) -> None:
        """Take in a step: one that was ``referred`` elsewhere is owed a second look, any other was one."""
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
    """What a command is found by: itself, and the files that it shows."""
    return {record.normalized, *record.shows, *((record.view.path,) if record.view is not None else ())}


def _same_content(record: CommandRecord, referred: CommandRecord) -> bool:
    """Both are the same command, or show overlapping lines of one file."""
    if record.normalized == referred.normalized and record.cwd == referred.cwd:
        return True
    one, other = record.view, referred.view
    if one is not None and other is not None:
        return one.path == other.path and ranges.overlap(one.ranges, other.ranges)
    both_show = record.category is referred.category is Category.INSPECT
    return both_show and not set(filter(None, record.shows)).isdisjoint(referred.shows)


MARKS = ("Traceback", "rror", "FAIL", "panicked", "warning:")
"""An output without any of these names no error."""
NAMED = re.compile(
    r'File "([^"\n]{1,300})", line \d+|^[^\S\n]*+(?:--> |at .{0,200}\()?([\w./+-]{1,300}\.\w{1,8})[:(]\d+', re.MULTILINE
)
"""A traceback's or compiler's way to name a file and line."""
MAX_FILES = 50
"""Files that are taken from one output."""
REACH = 4_000
"""Characters at either end of an output that are looked at: errors come first or last."""


def files_in_errors(output: str, *, searched: bool = False) -> frozenset[str]:
    """The files that tracebacks and compiler messages in ``output`` name, as they spell them.

    Behind a search only tracebacks count: its hits look like a compiler's messages.
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
    """One of the files in ``error`` is ``path``: the same, or relative to a folder that we don't know."""
    return any(path == name or path.endswith("/" + name.removeprefix("./")) for name in error)
