"""A provider's prompt cache: what of a request begins as an earlier one did, whichever conversation that was of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

BLOCK = 512
"""Bytes that are cached together: 128 tokens, the step in which OpenAI's cache grows. There is no least length."""


class PrefixCache:
    """The prompts of all conversations that share a cache; looking one up takes no longer with more of them."""

    def __init__(self) -> None:
        self._blocks: set[bytes] = set()
        self._written: set[bytes] = set()

    def shared(self, parts: Sequence[bytes]) -> int:
        """Bytes that a prompt begins with in common with an earlier one, in whole blocks; the prompt is kept."""
        prompt, node, common, parted = b"".join(parts), b"", 0, False
        for start in range(0, len(prompt) - BLOCK + 1, BLOCK):
            node = _below(node, prompt[start : start + BLOCK])
            parted = parted or node not in self._blocks
            common += 0 if parted else BLOCK
            self._blocks.add(node)
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


def _below(node: bytes, part: bytes) -> bytes:
    """The node that a part leads to."""
    return hashlib.sha256(node + part).digest()
