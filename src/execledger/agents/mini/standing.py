"""Which results stand in the messages that are really sent, word for word as the model was first shown them.

An agent of somebody's own may blank, shorten, drop or reorder messages between two calls of its model. What counts is
the request: a result that is not in it, or not as it was, is not visible. A reference that points at such a result is
taken back, and what it stood for takes its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from execledger.agents.mini.messages import Message, call_of, content_of, is_from_model, put_content
from execledger.core.references import NOT_ANSWERED

_Key: TypeAlias = tuple[str | None, object]
"""The call that a message answers, and what it says."""


class Standing:
    """The results of one run, and the messages that showed them."""

    def __init__(self) -> None:
        """Nothing was shown yet."""
        self._keys: dict[int, _Key] = {}
        self._times: Counter[_Key] = Counter()
        self._references: dict[int, tuple[tuple[int, ...], object]] = {}

    def showed(self, step: int, message: Message) -> None:
        """The result of ``step`` is shown by ``message``, as that reads now."""
        key = self._keys[step] = _key(message)
        self._times[key] += 1

    def refers(self, step: int, targets: tuple[int, ...], instead: object = NOT_ANSWERED) -> None:
        """``step`` is shown as a reference; without its targets, ``instead`` is the content of its message."""
        self._references[step] = (targets, instead)

    def knows(self, messages: Iterable[Message]) -> bool:
        """One of the results stands in ``messages``."""
        return any(_key(message) in self._times for message in messages if not is_from_model(message))

    def visible(self, messages: Iterable[Message]) -> frozenset[int]:
        """The steps whose results stand in ``messages``; references to others are taken back, where they stand."""
        found: dict[_Key, list[Message]] = {}
        for message in messages:
            if not is_from_model(message):
                found.setdefault(_key(message), []).append(message)
        # Where fewer messages say the same than did before, and no call tells them apart, which one is gone is unknown.
        standing = {step for step, key in self._keys.items() if len(found.get(key, ())) >= self._times[key]}
        for step, (targets, instead) in self._references.items():
            if step in standing and not standing.issuperset(targets):
                for message in found[self._keys[step]]:
                    put_content(message, instead)
                standing.discard(step)
        return frozenset(standing)


def _key(message: Message) -> _Key:
    """What a message is known by; texts are compared by identity first, so that one that stayed costs nothing."""
    content = content_of(message)
    if isinstance(content, list):
        return call_of(message), tuple(_piece(part) for part in content)
    return call_of(message), content if isinstance(content, str) else repr(content)


def _piece(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else repr(part)
