"""What a call of the model took, in every provider's words."""

from __future__ import annotations

import pytest

from execledger.runs.recording import ModelCall
from execledger.runs.usage import model_call, summed, told


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, ModelCall()),
        ("x", ModelCall()),
        ({}, ModelCall()),
        ({"prompt_tokens": 9, "completion_tokens": 2}, ModelCall(input=9, output=2)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}, "cost": 0.5},
            ModelCall(input=9, cached=5, output=2, cost=0.5),
        ),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": None, "prompt_cache_hit_tokens": 4},
            ModelCall(input=9, cached=4),
        ),
        (
            {"prompt_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3},
            ModelCall(input=9, cached=5, written=3),
        ),
        (
            {"prompt_tokens": 1, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3},
            ModelCall(input=9, cached=5, written=3),
        ),
        (
            {"input_tokens": 1, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 2},
            ModelCall(input=9, cached=5, written=3, output=2),
        ),
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 5}}, ModelCall(input=9, cached=5)),
        (
            {"input_tokens": 9, "cached_input_tokens": 5, "cache_write_input_tokens": 1},
            ModelCall(input=9, cached=5, written=1),
        ),
        ({"prompt_tokens": -1, "completion_tokens": True, "cost": "x"}, ModelCall()),
        ({"prompt_tokens": 9.0, "completion_tokens": float("nan")}, ModelCall(input=9)),
    ],
)
def test_words_of_providers(usage: object, expected: ModelCall) -> None:
    """Tokens of input include the cached ones, whether the provider counts them in or apart."""
    assert model_call(usage) == expected


def test_the_agents_own_cost_goes_first() -> None:
    """What the agent recorded stands before what the provider said."""
    assert model_call({"cost": 0.5}, 0.25) == ModelCall(cost=0.25)


def test_sums() -> None:
    """Each count is over the calls that tell it; what none of them tells stays unknown."""
    assert summed([]) is None
    assert summed([ModelCall(input=1), ModelCall(input=2, output=3, cost=0.5)]) == ModelCall(
        input=3, output=3, cost=0.5
    )


def test_calls_that_tell_nothing() -> None:
    """A list of calls none of which says anything is no list."""
    assert told([ModelCall(), ModelCall()]) == ()
    assert told([ModelCall(), ModelCall(input=1)]) == (ModelCall(), ModelCall(input=1))
