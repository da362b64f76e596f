"""The price of a reference: what it is expected to save, against what the second looks at it are expected to cost.

An elided output is not new to the next call, and not read from the cache by later ones. If the model looks again, all
of that is lost, and one more call reads the whole context. Both are in tokens of new input; the numbers and their
reasons are in ``core.policy``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Set

from execledger.core.policy import BYTES_PER_TOKEN, CACHED_PRICE, CALL_TOKENS, LOOK_TOKENS, PROMPT_TOKENS, Policy
from execledger.vocabulary.decisions import Worth


def worth(policy: Policy, elided: int, context: float, rate: float) -> Worth:
    """Return what eliding ``elided`` bytes saves and costs.

    ``context`` is the size of the model's input in tokens, ``rate`` the share of references that are looked at again.
    """
    saving = elided / BYTES_PER_TOKEN * (1 + CACHED_PRICE * policy.later_calls)
    look = CACHED_PRICE * context + LOOK_TOKENS
    return Worth(round((1 - rate) * saving), round(rate * look))


class ContextSizes:
    """The size of each conversation, from the results that it was shown, added up step by step."""

    def __init__(self) -> None:
        """Start without results."""
        self._steps: dict[str, list[int]] = {}
        self._bytes: dict[str, list[int]] = {}

    def add(self, thread: str, step: int, size: int) -> None:
        """Add a call of ``thread`` whose result has ``size`` bytes."""
        sums = self._bytes.setdefault(thread, [0])
        sums.append(sums[-1] + size)
        self._steps.setdefault(thread, []).append(step)

    def tokens(self, thread: str, visible: Container[int]) -> float:
        """Return the estimated tokens of a request that shows the results since the first step in ``visible``."""
        steps, sums = self._steps.get(thread, []), self._bytes.get(thread, [0])
        first = bisect_left(steps, _first(visible))
        return PROMPT_TOKENS + CALL_TOKENS * (len(steps) - first) + (sums[-1] - sums[first]) / BYTES_PER_TOKEN


def _first(visible: Container[int]) -> int:
    """Return the first step in ``visible``: all later ones of a conversation are visible as well, but for a few."""
    if isinstance(visible, range):
        return visible.start
    return min(visible, default=0) if isinstance(visible, Set) else 0
