"""What a provider's prompt cache would have spared: the longest prefix of a request that was sent before."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


class PrefixCache:
    """The prompts of one conversation, as a tree of their parts, so that looking one up takes no longer with more."""

    def __init__(self) -> None:
        self._behind: dict[bytes, list[bytes]] = {}
        self._written: set[bytes] = set()

    def shared(self, parts: Sequence[bytes]) -> int:
        """Bytes that these parts begin with in common with an earlier prompt, to the byte; the prompt is kept."""
        node, common, parted = b"", 0, False
        for part in parts:
            seen = self._behind.setdefault(node, [])
            if not parted:
                common += max((_common(part, old) for old in seen), default=0)
            if part not in seen:
                seen.append(part)
                parted = True
            node = _below(node, part)
        return common

    def marked(self, parts: Sequence[bytes], marks: Sequence[bool]) -> tuple[int, int]:
        """Bytes read and bytes written where only prefixes that end in a marked part are cached, then kept."""
        node, length, read, end = b"", 0, 0, 0
        last = max((index for index, mark in enumerate(marks) if mark), default=-1)
        for part, mark in zip(parts[: last + 1], marks, strict=False):
            node, length = _below(node, part), length + len(part)
            if node in self._written:
                read = length
            if mark:
                self._written.add(node)
                end = length
        return read, end - read


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two parts begin with in common."""
    if one == other:
        return len(one)
    return next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _below(node: bytes, part: bytes) -> bytes:
    """The node that a part leads to."""
    return hashlib.sha256(node + part).digest()
