"""The messages of a request, split into leaves; those that an earlier request began with are not split again.

A client sends its whole history with every request. What a request has in common with an earlier one is found by
comparing bytes: up to there its fields and messages are known, and only what follows is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Raw, Struct, field

from execledger.proxy.json_split import has_too_many_values, opening_of_list, split_list, split_rest
from execledger.proxy.limits import MAX_REMEMBERED, MAX_REQUESTS, MAX_SPLIT
from execledger.proxy.worker import LIGHTER, Work

AT_ONCE = 50_000
"""Bytes of messages that are split between two pauses of the work."""
COMPARED = 1_000
"""Messages that are compared between two pauses of the work."""
REWRITTEN = 4
"""Messages at the end that a client may send otherwise with the next request, such as without a cache breakpoint."""
_GAP = re.compile(rb"\s*+,\s*+")


class SplitMessage(Struct, frozen=True):
    """A message that was split."""

    raw: bytes
    """Its bytes as the client sent them."""
    fields: dict[str, Raw]
    """Its fields."""
    parts: list[bytes]
    """Its parts as the client sent them: content blocks, or calls."""
    leaves: list[bytes]
    """Its leaves."""
    shown: dict[tuple[bytes, ...], bytes] = field(default_factory=dict)
    """The message with the leaves that were last put in place of its own: with every request they are the same."""

    def joined(self, leaves: Sequence[bytes]) -> bytes:
        """The message with these leaves in place of its own; any beyond them are appended."""
        if leaves == self.leaves:
            return self.raw
        key = tuple(leaves)
        joined = self.shown.get(key)
        if joined is None:
            joined = self.written(leaves)
            self.shown.clear()
            self.shown[key] = joined
        return joined

    def written(self, leaves: Sequence[bytes]) -> bytes:
        """The message, written anew with these leaves."""
        raise NotImplementedError


M = TypeVar("M", bound=SplitMessage)


class _Known(Struct, Generic[M], frozen=True, eq=False):
    """The beginning of a request."""

    head: bytes
    """All that precedes the first message."""
    fields: dict[str, Raw]
    """The fields in it, the list itself among them."""
    gap: bytes
    """The bytes between two messages."""
    messages: list[M]
    """The messages."""
    size: int
    """The bytes of all of it."""


class MessageSplitter(Generic[M]):
    """Splits the requests of one dialect, and remembers the messages of the last ones."""

    def __init__(self, name: str, split: Callable[[bytes], M | None], most: int = MAX_REMEMBERED) -> None:
        """``name`` is the field of the messages; ``split`` splits one, and depends on its bytes alone."""
        self._name = name
        self._split = split
        self._most = most
        self._known: list[_Known[M]] = []
        """What is remembered, the last request at the end."""
        self._size = 0
        # Requests are split on the event loop and on the thread of the worker.
        self._lock = Lock()

    def cache_clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known, self._size = [], 0

    def split(self, body: bytes) -> Work[tuple[dict[str, Raw], list[M]] | None]:
        """The fields of a request and its messages; None if it has none, or if one is of another shape."""
        if (yield from has_too_many_values(body)):
            return None
        known, count, at = yield from self._longest(body)
        pieces = (yield from split_rest(body, self._name, known.fields, at)) if known is not None else None
        if pieces is None:
            known, count = None, 0
            pieces = yield from split_list(body, self._name)
        if pieces is None or not 0 < count + len(pieces[1]) <= MAX_SPLIT:
            return None
        fields, elements = pieces
        messages = known.messages[:count] if known is not None else []
        size = 0
        for raw in elements:
            size += len(raw)
            if size > AT_ONCE:
                yield size // LIGHTER
                size = 0
            message = self._split(bytes(raw))
            if message is None:
                return None
            messages.append(message)
        self._remember(body, known, count, messages)
        return fields, messages

    def _longest(self, body: bytes) -> Work[tuple[_Known[M] | None, int, int]]:
        """The request that this one begins like, how many of its messages are here, and where the next one begins."""
        yield 0
        best: tuple[_Known[M] | None, int, int] = (None, 0, 0)
        with self._lock:
            candidates = self._known[::-1]
        for known in candidates:
            if not body.startswith(known.head):
                continue
            count, at = 0, len(known.head)
            for message in known.messages:
                if count % COMPARED == COMPARED - 1:
                    yield AT_ONCE // LIGHTER
                end = at + len(message.raw)
                if not (body.startswith(message.raw, at) and body.startswith(known.gap, end)):
                    break
                count, at = count + 1, end + len(known.gap)
            if count > best[1]:
                best = known, count, at
            if count > REWRITTEN and count >= len(known.messages) - REWRITTEN:
                break
        return best

    def _remember(self, body: bytes, known: _Known[M] | None, count: int, messages: list[M]) -> None:
        """Remember a request; if it goes on where ``known`` ended, in the place of that one."""
        if known is not None:
            head, fields, gap = known.head, known.fields, known.gap
        else:
            opening = opening_of_list(body, self._name)
            if opening is None or not body.startswith(messages[0].raw, opening[1]):
                return
            fields, start = opening
            between = _GAP.match(body, start + len(messages[0].raw))
            head, gap = body[:start], between[0] if between else b","
        size = len(head) + sum(len(message.raw) for message in messages)
        with self._lock:
            if known is not None and known in self._known and count >= len(known.messages) - REWRITTEN:
                self._known.remove(known)
                self._size -= known.size
            self._known.append(_Known(head, fields, gap, messages, size))
            self._size += size
            while self._size > self._most or len(self._known) > MAX_REQUESTS:
                self._size -= self._known.pop(0).size


def leaves_of(messages: Sequence[SplitMessage]) -> list[bytes]:
    """The leaves of all messages."""
    return [leaf for message in messages for leaf in message.leaves]


def joined_messages(messages: Sequence[SplitMessage], leaves: Sequence[bytes]) -> list[bytes]:
    """The messages with these leaves; those beyond their own are appended to the last one."""
    pieces: list[bytes] = []
    at = 0
    for message in messages:
        end = at + len(message.leaves) if len(pieces) + 1 < len(messages) else len(leaves)
        pieces.append(message.joined(leaves[at:end]))
        at = end
    return pieces
