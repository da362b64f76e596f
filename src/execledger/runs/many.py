"""Files with many runs, one to a line: what OpenHands' evaluation harness writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from execledger.agents.openhands.recorded import is_instance
from execledger.runs.decoding import fields_of

_FIRST = 100_000_000
"""Bytes of the first line that are looked at: a foreign file may be one line of any length."""


def instances(file: BinaryIO) -> Iterator[tuple[str, int, int]]:
    """Name, start and size of every run; none, and nothing is read, if the file is not of this kind.

    A line that can't be read is named by its number, and a name that comes again is numbered.
    """
    first = fields_of(file.readline(_FIRST))
    file.seek(0)
    if not is_instance(first):
        return
    seen: Counter[str] = Counter()
    start = 0
    for number, line in enumerate(file, 1):
        if line.strip():
            name = _name(line) or f"line {number}"
            seen[name] += 1
            yield name if seen[name] == 1 else f"{name}#{seen[name]}", start, len(line)
        start += len(line)


def _name(line: bytes) -> str:
    """The instance that a line is about; "" if it does not tell."""
    told = bytes(fields_of(line).get("instance_id", b""))
    return told[1:-1].decode("utf-8", "replace") if told.startswith(b'"') and b"\\" not in told else ""
