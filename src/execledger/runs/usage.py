"""What a call of the model took, from the words that providers and agents have for it.

Most count cached tokens among those of the input. Anthropic's own count leaves them out, and those written to the cache
too; it is known by its names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from execledger.runs.recording import ModelCall, Run

BYTES_PER_TOKEN = 4
"""Bytes of text that are taken for one token, wherever the provider did not count."""
INPUT = ("prompt_tokens", "input_tokens", "inputTokens")
"""Tokens of input."""
OUTPUT = ("completion_tokens", "output_tokens", "outputTokens")
"""Tokens of output."""
READ_APART = ("cache_read_input_tokens", "cacheReadInputTokens")
"""Tokens read from a cache, where they are counted apart."""
WRITTEN_APART = ("cache_creation_input_tokens", "cacheCreationInputTokens")
"""Tokens written to a cache, where they are counted apart."""
CACHED = (*READ_APART, "cached_input_tokens", "cached_tokens", "prompt_cache_hit_tokens", "cache_read_tokens")
"""Tokens read from a cache."""
WRITTEN = (*WRITTEN_APART, "cache_write_input_tokens", "cache_creation_tokens", "cache_write_tokens")
"""Tokens written to a cache."""
DETAILS = ("prompt_tokens_details", "input_tokens_details")
"""Where some of this stands by itself."""
_MOST = 1e15

N = TypeVar("N", int, float)


class Tokens(Struct, frozen=True, kw_only=True):
    """Tokens of one or more model calls, split by what a provider charges for."""

    uncached: int = 0
    """Tokens of input that were neither read from a cache nor written to one at a price of its own."""
    cached: int = 0
    """Tokens of input that were read from a cache."""
    written: int = 0
    """Tokens of input that were written to a cache, where the provider charges for that."""
    output: int = 0
    """Tokens of output, reasoning included."""

    @property
    def input(self) -> int:
        """All tokens of input."""
        return self.uncached + self.cached + self.written

    def __add__(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(
            uncached=self.uncached + other.uncached,
            cached=self.cached + other.cached,
            written=self.written + other.written,
            output=self.output + other.output,
        )


def model_call(usage: object, cost: object = None) -> ModelCall:
    """What a provider's ``usage`` says; nothing where it is not an object, or does not say."""
    said = dict(usage) if isinstance(usage, dict) else {}
    for key in DETAILS:
        details = said.get(key)
        said = {**details, **said} if isinstance(details, dict) else said
    whole, cached, written = _count(said, INPUT), _count(said, CACHED), _count(said, WRITTEN)
    beside = (cached or 0) + (written or 0)
    if "prompt_tokens" in said:
        # Some count the cached tokens apart even so: then there are more of them than of all.
        apart = whole is not None and whole < beside
    else:
        apart = any(key in said for key in (*READ_APART, *WRITTEN_APART))
    return ModelCall(
        input=whole + beside if whole is not None and apart else whole,
        cached=cached,
        written=written,
        output=_count(said, OUTPUT),
        cost=_number(cost if cost is not None else said.get("cost")),
    )


def summed(calls: list[ModelCall]) -> ModelCall | None:
    """All calls together, each count over those that tell it; None if there are none."""
    if not calls:
        return None
    return ModelCall(
        input=_sum(call.input for call in calls),
        cached=_sum(call.cached for call in calls),
        written=_sum(call.written for call in calls),
        output=_sum(call.output for call in calls),
        cost=_sum(call.cost for call in calls),
    )


def provider_total(run: Run) -> ModelCall | None:
    """What a run took as the provider counted: call by call if every call tells, else in all, else as far as told."""
    whole = len(run.model_calls) >= run.turns and all(call.input is not None for call in run.model_calls)
    if run.totals is not None and run.totals.input is not None and not whole:
        return run.totals
    return summed(list(run.model_calls)) or run.totals


def tokens_in(size: int) -> int:
    """Tokens in ``size`` bytes of text, estimated."""
    return round(size / BYTES_PER_TOKEN)


def told(calls: list[ModelCall]) -> tuple[ModelCall, ...]:
    """The calls, if any of them tells anything; otherwise none."""
    return tuple(calls) if any(call != ModelCall() for call in calls) else ()


def _count(said: dict[str, object], names: tuple[str, ...]) -> int | None:
    """The first of these counts that is there."""
    numbers = (_number(said.get(name)) for name in names)
    return next((int(number) for number in numbers if number is not None), None)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST else None


def _sum(values: Iterable[N | None]) -> N | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None
