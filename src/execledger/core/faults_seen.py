"""Which files an error message names: to follow a new error is never a repetition."""

from __future__ import annotations

import re

MARKS = ("Traceback", "rror", "FAIL", "panicked", "warning:")
"""An output without any of these names no error."""
NAMED = re.compile(
    r'File "([^"\n]{1,300})", line \d+'
    r"|^\s*(?:-->\s*|at .{0,200}\()?((?:[\w.+-]|(?<=.)/|(?<!.)/){1,300}\.\w{1,8})[:(]\d+",
    re.MULTILINE,
)
"""A traceback's or compiler's way to name a file and line."""
MAX_FILES = 50
"""Files that are taken from one output."""


def named_files(output: str) -> frozenset[str]:
    """The files that tracebacks and compiler messages in ``output`` name, as they spell them."""
    if not any(mark in output for mark in MARKS):
        return frozenset()
    found: dict[str, None] = {}
    for match in NAMED.finditer(output, 0, 200_000):
        found[match[1] or match[2]] = None
        if len(found) >= MAX_FILES:
            break
    return frozenset(found)


def names(error: frozenset[str], path: str) -> bool:
    """One of the files in ``error`` is ``path``: the same, or relative to a folder that we don't know."""
    return any(path == name or path.endswith("/" + name.removeprefix("./")) for name in error)
