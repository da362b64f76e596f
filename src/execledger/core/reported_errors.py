"""Which files an error message names: to follow a new error is never a repetition."""

from __future__ import annotations

import re

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


def named_files(output: str, *, searched: bool = False) -> frozenset[str]:
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


def names(error: frozenset[str], path: str) -> bool:
    """One of the files in ``error`` is ``path``: the same, or relative to a folder that we don't know."""
    return any(path == name or path.endswith("/" + name.removeprefix("./")) for name in error)
