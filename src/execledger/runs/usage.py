"""The tokens of model calls in one shape, and the one parser of what providers and agents report about them.

Most reports count cached tokens among those of the input. Anthropic's own leaves out the tokens that were read from a
cache or written to one; it is recognised by its field names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from execledger.core.policy import BYTES_PER_TOKEN

INPUT = ("prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount")
"""Names for the tokens of input: OpenAI Chat and litellm, OpenAI Responses and Anthropic, camel case, Gemini."""
OUTPUT = ("completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount")
"""Names for the tokens of output."""
READ_APART = ("cache_read_input_tokens", "cacheReadInputTokens")
"""Names for the tokens read from a cache, in reports that do not count them as input."""
WRITTEN_APART = ("cache_creation_input_tokens", "cacheCreationInputTokens")
"""Names for the tokens written to a cache, in reports that do not count them as input."""
CACHED = (
    *READ_APART,
    "cached_input_tokens",
    "cached_tokens",
    "prompt_cache_hit_tokens",
    "cache_read_tokens",
    "cachedContentTokenCount",
)
"""Names for the tokens read from a cache."""
WRITTEN = (*WRITTEN_APART, "cache_write_input_tokens", "cache_creation_tokens", "cache_write_tokens")
"""Names for the tokens written to a cache."""
DETAILS = ("prompt_tokens_details", "input_tokens_details")
"""Objects within a report that hold some of these counts."""
GEMINI = "usageMetadata"
"""The object within an answer of Gemini that holds its counts."""
GEMINI_THOUGHTS = "thoughtsTokenCount"
"""Gemini's tokens of reasoning, which it does not count as output."""
_MOST = 1e15

N = TypeVar("N", int, float)


class Tokens(Struct, frozen=True, kw_only=True):
    """Tokens of one or more model calls, split by what a provider charges for; None where a count is unknown.

    The sum of two has each count over those that know it.
    """

    uncached: int | None = 0
    """Tokens of input that were neither read from a cache nor written to one at a price of its own."""
    cached: int | None = 0
    """Tokens of input that were read from a cache."""
    written: int | None = 0
    """Tokens of input that were written to a cache, where the provider charges for that."""
    output: int | None = 0
    """Tokens of output, reasoning included."""

    @classmethod
    def of(
        cls, input: int | None = None, cached: int | None = None, written: int | None = None, output: int | None = None
    ) -> Tokens:
        """The tokens of a report in which ``input`` includes cached and written tokens; what it lacks is unknown."""
        uncached = None if input is None else max(input - (cached or 0) - (written or 0), 0)
        return cls(uncached=uncached, cached=cached, written=written, output=output)

    @property
    def input(self) -> int | None:
        """All tokens of input; None where the provider did not count them."""
        return None if self.uncached is None else self.uncached + (self.cached or 0) + (self.written or 0)

    @property
    def counted(self) -> Tokens | None:
        """The same with 0 for kinds that the provider did not report; None if it did not count the input."""
        return None if self.uncached is None else Tokens() + self

    def __add__(self, other: Tokens) -> Tokens:
        """The sum of both, kind by kind."""
        return Tokens(
            uncached=_sum((self.uncached, other.uncached)),
            cached=_sum((self.cached, other.cached)),
            written=_sum((self.written, other.written)),
            output=_sum((self.output, other.output)),
        )

    def __neg__(self) -> Tokens:
        """The same with the opposite sign."""
        counts = {name: getattr(self, name) for name in self.__struct_fields__}
        return Tokens(**{name: None if count is None else -count for name, count in counts.items()})


UNKNOWN = Tokens.of()
"""Tokens of which no count is known."""


class ModelCall(Struct, frozen=True):
    """What one or more calls of the model took, as reported."""

    tokens: Tokens = UNKNOWN
    """Tokens, as the provider counted them."""
    cost: float | None = None
    """Dollars, as the agent recorded them; None where it did not."""

    def __add__(self, other: ModelCall) -> ModelCall:
        """Both together, each number over those that know it."""
        return ModelCall(self.tokens + other.tokens, _sum((self.cost, other.cost)))


def tokens_of(usage: object) -> Tokens:
    """The tokens that a usage object reports: of OpenAI (Chat, Responses), Anthropic, Gemini or litellm.

    What is not an object, or does not hold a count, gives an unknown count.
    """
    said = _fields(usage)
    total, cached, written = _count(said, INPUT), _count(said, CACHED), _count(said, WRITTEN)
    beside = (cached or 0) + (written or 0)
    if "prompt_tokens" in said:
        # Some agents exclude cached tokens even under this name: then the cached ones outnumber it.
        apart = total is not None and total < beside
    else:
        apart = any(key in said for key in (*READ_APART, *WRITTEN_APART))
    output = _sum((_count(said, OUTPUT), _count(said, (GEMINI_THOUGHTS,))))
    return Tokens.of(total + beside if total is not None and apart else total, cached, written, output)


def model_call(usage: object, cost: object = None) -> ModelCall:
    """What a usage object reports of a call; ``cost`` is what the agent recorded beside it, else its own is taken."""
    said = usage if isinstance(usage, dict) else {}
    return ModelCall(tokens_of(usage), recorded_cost(cost) or recorded_cost(said.get("cost")))


def recorded_cost(dollars: object) -> float | None:
    """Dollars as an agent recorded them; None for 0, which agents record of models whose price they do not know."""
    return _number(dollars) or None


def summed(calls: Iterable[ModelCall]) -> ModelCall | None:
    """All calls together, each count over those that report it; None if there are none."""
    known = list(calls)
    return sum(known[1:], known[0]) if known else None


def tokens_in(size: int) -> int:
    """Tokens in ``size`` bytes of text, estimated."""
    return round(size / BYTES_PER_TOKEN)


def told(calls: list[ModelCall]) -> tuple[ModelCall, ...]:
    """The calls, if any of them reports anything; otherwise none."""
    return tuple(calls) if any(call != ModelCall() for call in calls) else ()


def _fields(usage: object) -> dict[str, object]:
    """The counts of a usage object, those of its inner objects included."""
    said = dict(usage) if isinstance(usage, dict) else {}
    for key in (*DETAILS, GEMINI):
        inner = said.get(key)
        said = {**inner, **said} if isinstance(inner, dict) else said
    return said


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
