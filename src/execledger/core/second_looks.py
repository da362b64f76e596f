"""Second looks: after a reference, the next attempt at the same content is run and shown in full.

A model that asks again after it was referred to an earlier result needs the text itself. Each reference stands for one
such attempt, at whatever distance.
"""

from __future__ import annotations

from collections.abc import Iterator

from execledger.shell import ranges
from execledger.vocabulary.records import Category, CommandRecord


class SecondLooks:
    """References whose free attempt has not been used yet, by thread and by what they are about."""

    def __init__(self) -> None:
        """There was no reference yet."""
        self._owed: dict[tuple[str, str], dict[int, CommandRecord]] = {}

    def owed(self, thread: str, record: CommandRecord) -> int | None:
        """The newest step whose reference is about what ``record`` looks at, and was not followed by a look yet."""
        return max((step for step, _ in self._about(thread, record)), default=None)

    def took(self, thread: str, step: int, record: CommandRecord, *, referred: bool) -> None:
        """Take in a step: one that was ``referred`` elsewhere is owed a second look, any other was one."""
        if referred:
            for name in _names(record):
                self._owed.setdefault((thread, name), {})[step] = record
            return
        for earlier, about in list(self._about(thread, record)):
            for name in _names(about):
                self._owed[thread, name].pop(earlier, None)

    def _about(self, thread: str, record: CommandRecord) -> Iterator[tuple[int, CommandRecord]]:
        for name in _names(record):
            for step, about in self._owed.get((thread, name), {}).items():
                if _touches(record, about):
                    yield step, about


def _names(record: CommandRecord) -> set[str]:
    """What a command is found by: itself, and the files that it shows."""
    return {record.normalized, *record.shows, *((record.view.path,) if record.view is not None else ())}


def _touches(record: CommandRecord, referred: CommandRecord) -> bool:
    """Both are the same command, or show overlapping lines of one file."""
    if record.normalized == referred.normalized and record.cwd == referred.cwd:
        return True
    one, other = record.view, referred.view
    if one is not None and other is not None:
        return one.path == other.path and ranges.overlap(one.ranges, other.ranges)
    both_show = record.category is referred.category is Category.INSPECT
    return both_show and not set(filter(None, record.shows)).isdisjoint(referred.shows)
