"""The events of tool calls in a streamed answer, held back until each call is complete and judged."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from msgspec import Struct, field

from execledger.proxy.limits import MAX_CALL, MAX_HELD

K = TypeVar("K", bound=Hashable)


class _Held(Struct):
    """A call that is not complete yet."""

    events: list[bytes] = field(default_factory=list)
    """Its events so far."""
    size: int = 0
    """Their size in bytes."""


class HeldCalls(Generic[K]):
    """Held events by the key of their call, such as its index in the answer; bounded in bytes."""

    def __init__(self) -> None:
        """Nothing is held."""
        self._held: dict[K, _Held] = {}
        self.size = 0
        """The bytes that are held."""
        self._unjudged: set[K] = set()

    def __bool__(self) -> bool:
        """Whether any call is held."""
        return bool(self._held)

    def __contains__(self, key: K) -> bool:
        """Whether a call is held."""
        return key in self._held

    def begin(self, key: K) -> bytes:
        """Hold the events of a call from now on; what was held under its key is to be forwarded."""
        before = self.release(key)
        self._held[key] = _Held()
        return before

    def hold(self, key: K, event: bytes) -> bytes:
        """Hold one more event of a call; the events to forward if a limit is exceeded, else none."""
        held = self._held[key]
        held.events.append(event)
        held.size += len(event)
        self.size += len(event)
        if held.size > MAX_CALL:
            self._unjudged.add(key)
            return self.release(key)
        if self.size > MAX_HELD:
            self._unjudged.update(self._held)
            return self.end()
        return b""

    def events(self, key: K) -> list[bytes]:
        """The held events of a call."""
        held = self._held.get(key)
        return held.events if held is not None else []

    def forwarded(self, key: K) -> bool:
        """Whether events of a call were forwarded because it exceeded a limit: it can't be edited any more."""
        return key in self._unjudged

    def release(self, key: K) -> bytes:
        """The held events of a call, unchanged, which are not held any longer."""
        held = self._held.pop(key, None)
        self.size -= held.size if held is not None else 0
        return b"" if held is None else b"".join(held.events)

    def end(self) -> bytes:
        """The events of all calls that are still held, unchanged."""
        rest = b"".join(event for held in self._held.values() for event in held.events)
        self._held.clear()
        self.size = 0
        return rest
