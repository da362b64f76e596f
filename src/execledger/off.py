"""The environment variable ``EXECLEDGER``, which switches Ledger off for every entry point."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import suppress

VARIABLE = "EXECLEDGER"
ON = ("on", "1", "true", "yes")
OFF = ("off", "0", "false", "no")
SWITCHED_OFF = f"{VARIABLE} is off"
"""The reason for which calls are left alone if Ledger was switched off on purpose."""


def is_off() -> bool:
    """Whether the environment switches Ledger off.

    An unknown value means off, which is the safe reading; it is reported once, on standard error.
    """
    word = _word()
    if unknown := unknown_word():
        _warn(unknown)
    return word not in ("", *ON)


def is_on() -> bool:
    """Whether the environment switches Ledger on, whatever the files of settings say."""
    return _word() in ON


def is_switched_off() -> bool:
    """Whether the variable says off in one of the words for it: on purpose, and not by a missing or unknown value."""
    return _word() in OFF


def unknown_word() -> str:
    """The value of the variable if it means neither on nor off; "" otherwise."""
    word = _word()
    return "" if word in ("", *ON, *OFF) else word


def _word() -> str:
    return os.environ.get(VARIABLE, "").strip().lower()


@functools.cache
def _warn(word: str) -> None:
    """Report an unknown value; a closed standard error is ignored."""
    with suppress(OSError, ValueError):
        print(f"execledger: {explained(word)}", file=sys.stderr)


def explained(word: str) -> str:
    """The message about an unknown value."""
    return f"{VARIABLE}={word[:40]!r} is taken as off, expected {', '.join(ON)}, or {', '.join(OFF)}"
