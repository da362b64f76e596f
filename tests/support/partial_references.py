"""Partial references, resolved as their reader would: each by the lines that an earlier result showed."""

from __future__ import annotations

import re

_OMITTED = re.compile(r"^\[Ledger: lines (\d+)-(\d+) of \S+ omitted, as shown by `[^`]*`, \d+ commands? ago\.\]$", re.M)


def expanded(text: str, shown: str) -> str:
    """A text with the lines of ``shown``, a whole file, in place of each reference to some of them."""
    lines = shown.split("\n")
    return _OMITTED.sub(lambda match: "\n".join(lines[int(match[1]) - 1 : int(match[2])]), text)
