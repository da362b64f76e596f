"""Shims: calls without effects that a client runs in place of a suppressed call of its shell tool.

A shim is one ``echo`` of a note. The note tells a person who reads the client's own history what happened, and carries
a mark by which the proxy recognises the shim when the client sends it back.
"""

from __future__ import annotations

import re

MAX_WORDS = 160
"""Characters of the words in a note."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._/:,=+-]+")
_NOTE = re.compile(r"\[ledger:([\w-]{1,64})\] [A-Za-z0-9 ._/:,=+-]*", re.ASCII)
_ECHO = re.compile(r"echo '([^']*)'")


def note(mark: str, words: str) -> str:
    """The note with this mark; it needs no quoting in a shell or in JSON."""
    text = f"[ledger:{mark}] {_UNSAFE.sub(' ', words)[:MAX_WORDS].strip()}"
    assert _NOTE.fullmatch(text), f"no mark for a shim: {mark!r}"
    return text


def mark_in(text: str) -> str | None:
    """The mark in a text that is a note and nothing else; None in any other."""
    match = _NOTE.fullmatch(text)
    return match[1] if match else None


def echo(text: str) -> str:
    """The shell command that prints a note."""
    return f"echo '{text}'"


def echoed(command: object) -> str:
    """The text that a shell command does nothing but print; "" if it does anything else."""
    match = _ECHO.fullmatch(command) if isinstance(command, str) else None
    return match[1] if match else ""
