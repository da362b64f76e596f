"""Sightings: what a look of a witness found in files, of lines that results showed.

A sighting has line numbers, verdicts and digests, and never a file's contents.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field


class Verdict(StrEnum):
    """What became of lines that a result showed."""

    SAME = "same"
    """They are in the file, at the same line numbers."""
    MOVED = "moved"
    """They are in the file, at other line numbers."""
    CHANGED = "changed"
    """The file has other text at their line numbers, and they were not found to have moved."""
    GONE = "gone"
    """The file does not exist any more."""
    UNKNOWN = "unknown"
    """They were not compared, or a comparison would prove nothing."""


class SightedLines(Struct, frozen=True, array_like=True):
    """Consecutive lines with one verdict."""

    first: int
    """The number of the first line, as it was shown."""
    last: int
    """The number of the last line, as it was shown."""
    verdict: Verdict
    """What became of them."""
    place: int | None = None
    """The number that the first line has now, if they have moved."""


class ResultSighting(Struct, frozen=True):
    """What became of the lines that one result showed."""

    step: int
    """The step whose result showed them."""
    pieces: tuple[SightedLines, ...]
    """The lines in ascending order, each in one piece."""


class FileSighting(Struct, frozen=True):
    """What one look at a file found."""

    path: str
    """The file."""
    results: tuple[ResultSighting, ...]
    """The results that showed lines of it."""
    end: int | None = None
    """The number of its last line; None if it was not read."""
    digest: str = ""
    """The digest of its text, with a key that is not kept: equal for equal texts of one run. "" if it was not read."""
    reason: str = ""
    """Why some or all of its verdicts are unknown; "" if none is."""
    new: tuple[tuple[int, int], ...] = ()
    """Its lines that it did not have at the first look, in ascending order: the first and the last of each run. A run
    that ends before it begins is a place where lines were deleted. Empty if there are none, and if that is unknown."""


class TreeSighting(Struct, frozen=True):
    """What one look at the working tree as a whole found, taken behind the result of a step."""

    step: int
    """The step; nothing else of the agent's that may write has run between its result and the look."""
    folders: tuple[str, ...] = ()
    """The folders that make up the working tree."""
    digest: str = ""
    """The digest of their files, caches aside: equal digests of one run show that no file is another one. "" if
    it is unknown."""
    reason: str = ""
    """Why it is unknown; "" if it is not."""


class Sighting(Struct, frozen=True):
    """What one look found: at the files of a thread, or at the working tree.

    With neither, nothing is known of the thread's files any more.
    """

    files: tuple[FileSighting, ...] = ()
    """The files that were looked at, and of which something else was found than by the look before."""
    again: tuple[str, ...] = ()
    """The files of which the same was found as by the look before."""
    thread: str = ""
    """The conversation whose results showed them."""
    unrecorded_writes: bool = field(default=False, name="unsettled")
    """The agent may have written what its ledger does not know of: nothing is said about who has changed a file. The
    name in a journal is that of the first journals with sightings."""
    tree: TreeSighting | None = None
    """The working tree, if it was looked at."""
