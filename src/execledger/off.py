"""The switch that turns Ledger off from outside, for every entry point alike: the variable ``EXECLEDGER``."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import suppress

VARIABLE = "EXECLEDGER"
ON = ("on", "1", "true", "yes")
OFF = ("off", "0", "false", "no")


def is_off() -> bool:
    """Ledger is switched off from outside.

    An unknown word means off: who sets the variable most likely wants that, and nothing is changed that should not be.
    It is reported once, on standard error.
    """
    word = _word()
    if unknown := unknown_word():
        _warn(unknown)
    return word not in ("", *ON)


def unknown_word() -> str:
    """What the variable says, if it is neither a word for on nor one for off; "" otherwise."""
    word = _word()
    return "" if word in ("", *ON, *OFF) else word


def _word() -> str:
    return os.environ.get(VARIABLE, "").strip().lower()


@functools.cache
def _warn(word: str) -> None:
    """Report an unknown word; an agent whose standard error is closed runs all the same."""
    with suppress(OSError, ValueError):
        print(f"execledger: {explained(word)}", file=sys.stderr)


def explained(word: str) -> str:
    """What an unknown word is taken for."""
    return f"{VARIABLE}={word[:40]!r} is taken as off, expected {', '.join(ON)}, or {', '.join(OFF)}"
