"""What the process that finds and counts runs is told, and what it tells."""

from __future__ import annotations

import os
from typing import TypeAlias

from msgspec import Struct

from execledger.core.policy import Policy
from execledger.viewer.counting import RunLine

Stamp: TypeAlias = tuple[int, int, int]
"""What tells one state of a file from another: time of change, size, inode."""


NO_FILE: Stamp = (0, 0, 0)
"""The state of a file that is not there."""


class Errand(Struct, frozen=True, kw_only=True):
    """What is to be looked for."""

    paths: tuple[str, ...]
    """Files, folders and archives."""
    policy: Policy | None = None
    """What runs are replayed under; None is their own, and journals are told as they are."""
    newer: float = 0.0
    """Runs that began before this moment are left out, and files that were last written before it."""
    without: tuple[str, ...] = ()
    """Runs that are named and not counted."""


class Begun(Struct, frozen=True):
    """A new look begins."""


class Found(Struct, frozen=True):
    """A run may be there."""

    name: str
    """Its name."""
    file: str
    """The file, archive or folder that it is in."""
    stamp: Stamp
    """The state of that."""


class Counting(Struct, frozen=True):
    """A run is being counted: if nothing comes after this, it was the last that the process did."""

    name: str
    """Its name."""


class Counted(Struct, frozen=True):
    """A run was counted."""

    name: str
    """Its name."""
    line: RunLine
    """What it came to."""
    over: bool
    """Its end is recorded."""


class Unread(Struct, frozen=True):
    """A run can't be read."""

    name: str
    """Its name."""
    reason: str
    """Why."""


class Listed(Struct, frozen=True):
    """Everything that is there was named."""


class Done(Struct, frozen=True):
    """A look is over."""

    rest: int = 0
    """Runs that are still to be counted: so many that it is better to look for new ones first."""


Note: TypeAlias = Begun | Found | Counting | Counted | Unread | Listed | Done


def stamp_of(file: str) -> Stamp:
    """The state of a file; ``NO_FILE`` if it is gone."""
    try:
        state = os.stat(file)
    except OSError:
        return NO_FILE
    return (state.st_mtime_ns, state.st_size, state.st_ino)
