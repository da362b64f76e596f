"""Faults of the machine, injected: a disk without room, a clock that jumps, a file that goes away.

Each lasts as long as its block, needs no rights, and works for every user.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

DAY = 86_400.0


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """No file of this process can grow beyond ``size`` bytes; Python ignores the signal that goes with it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def jumping_clock(seed: int) -> Iterator[None]:
    """The time of day jumps at each look, up to years back and forth; a clock that only runs on is left alone."""
    chance, true = random.Random(seed), time.time

    def jumped() -> float:
        return true() + chance.choice((0.0, -1.0, 3600.0, -DAY, 365 * DAY, -3650 * DAY, -2 * true()))

    time.time = jumped
    try:
        yield
    finally:
        time.time = true


CAPABILITIES = 0x20080522
"""The version of Linux's interface to the capabilities of a thread: two sets of 32 each."""
READ_ALL = 1 << 1 | 1 << 2
"""``CAP_DAC_OVERRIDE`` and ``CAP_DAC_READ_SEARCH``, by which the superuser opens files and folders whatever their mode.
"""


@contextmanager
def bound_by_modes() -> Iterator[None]:
    """The modes of files hold in this thread, also for the superuser; ``os.access`` still follows the user alone.

    Raises ``OSError`` where the superuser's rights can't be put down, which is so on macOS.
    """
    if os.geteuid() != 0:
        yield
        return
    system = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    if not hasattr(system, "capset") or system.capget(header, sets):
        raise OSError("the superuser's rights can't be put down here")
    # Of the first set those in force; they may be taken up again, since they stay permitted.
    before = sets[0]
    sets[0] = before & ~READ_ALL
    system.capset(header, sets)
    try:
        yield
    finally:
        sets[0] = before
        system.capset(header, sets)


def deleted(path: Path) -> None:
    """The file is gone."""
    path.unlink()


def replaced(path: Path) -> None:
    """Another file has taken its place."""
    beside = path.with_name("another")
    beside.write_text("not a journal\n")
    beside.replace(path)


def moved(path: Path) -> None:
    """It has another name."""
    path.rename(path.with_name(f"moved-{path.name}"))


def folder_deleted(path: Path) -> None:
    """Its folder is gone with all that was in it."""
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()


def torn(path: Path) -> None:
    """Its last bytes are missing."""
    os.truncate(path, max(path.stat().st_size - 7, 0))


MEDDLING: tuple[Callable[[Path], None], ...] = (deleted, replaced, moved, folder_deleted, torn)
"""What may happen to a file that is being written."""
