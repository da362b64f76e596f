"""Versions of stored formats, and the numbered migrations that bring what older versions wrote up to date.

A format has a list of small functions, each of which upgrades by one version; its version is their number, and what
names no version is version 0. To change a format: append a function here and a sample file of the version before to
the tests. Journals are migrated line by line while they are read; the file itself keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from execledger.errors import LedgerError

T = TypeVar("T")
Fields: TypeAlias = dict[str, Any]
"""One JSON object."""


class NewerVersion(LedgerError):
    """A file was written by a newer execledger, in a version of its format that this one does not know."""

    def __init__(self, what: str, found: int, expected: int) -> None:
        """``what`` names the format, such as ``a journal``."""
        super().__init__(
            f"found {what} of version {found}, expected at most {expected}", hint="a newer execledger reads it"
        )


def pending(what: str, found: int, migrations: Sequence[T]) -> Sequence[T]:
    """The migrations that version ``found`` of a format still needs; raises ``NewerVersion`` if it is too new."""
    if found > len(migrations):
        raise NewerVersion(what, found, len(migrations))
    return migrations[found:]


def _write_version(event: Fields) -> Fields:
    """Version 1: the first event of a journal names the version."""
    return {**event, "version": 1} if event.get("event") == "start" else event


JOURNAL: tuple[Callable[[Fields], Fields], ...] = (_write_version,)
"""The migrations of journals; each takes one event."""
VERSION = len(JOURNAL)
"""The version of journals that is written; readers also skip events and fields that they do not know."""
