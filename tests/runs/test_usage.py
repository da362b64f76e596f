"""What a call of the model took, in every provider's words."""

from __future__ import annotations

import msgspec
import pytest

from execledger.agents.formats import read_run
from execledger.agents.mini.messages import usage_of
from execledger.proxy.dialects.responses import ResponsesStream
from execledger.runs.usage import ModelCall, Tokens, model_call, summed, told


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, ModelCall()),
        ("x", ModelCall()),
        ({}, ModelCall()),
        ({"prompt_tokens": 9, "completion_tokens": 2}, ModelCall(Tokens.of(input=9, output=2))),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}, "cost": 0.5},
            ModelCall(Tokens.of(input=9, cached=5, output=2), 0.5),
        ),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": None, "prompt_cache_hit_tokens": 4},
            ModelCall(Tokens.of(input=9, cached=4)),
        ),
        (
            {"prompt_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3},
            ModelCall(Tokens.of(input=9, cached=5, written=3)),
        ),
        (
            {"prompt_tokens": 1, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3},
            ModelCall(Tokens.of(input=9, cached=5, written=3)),
        ),
        (
            {"input_tokens": 1, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 2},
            ModelCall(Tokens.of(input=9, cached=5, written=3, output=2)),
        ),
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 5}}, ModelCall(Tokens.of(input=9, cached=5))),
        (
            {"input_tokens": 9, "cached_input_tokens": 5, "cache_write_input_tokens": 1},
            ModelCall(Tokens.of(input=9, cached=5, written=1)),
        ),
        (
            {
                "usageMetadata": {
                    "promptTokenCount": 9,
                    "cachedContentTokenCount": 5,
                    "candidatesTokenCount": 2,
                    "thoughtsTokenCount": 3,
                    "totalTokenCount": 14,
                }
            },
            ModelCall(Tokens.of(input=9, cached=5, output=5)),
        ),
        ({"promptTokenCount": 9, "candidatesTokenCount": 2}, ModelCall(Tokens.of(input=9, output=2))),
        ({"prompt_tokens": -1, "completion_tokens": True, "cost": "x"}, ModelCall()),
        ({"prompt_tokens": 9.0, "completion_tokens": float("nan")}, ModelCall(Tokens.of(input=9))),
    ],
)
def test_words_of_providers(usage: object, expected: ModelCall) -> None:
    """Tokens of input include the cached ones, whether the provider counts them in or apart."""
    assert model_call(usage) == expected


def test_an_anthropic_report_counts_the_same_live_and_recorded() -> None:
    """The live adapter, the recorded runs of two agents and the proxy give one number for the same usage object."""
    usage = {
        "input_tokens": 504,
        "cache_read_input_tokens": 4000,
        "cache_creation_input_tokens": 123,
        "output_tokens": 7,
    }
    tokens = Tokens(uncached=504, cached=4000, written=123, output=7)
    live = usage_of({"role": "assistant", "extra": {"response": {"usage": usage}}})
    message = {"role": "assistant", "content": "Done.", "extra": {"response": {"usage": usage}}}
    mini = {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": [message]}
    said = {"role": "assistant", "id": "m", "model": "claude", "content": [], "stop_reason": "end_turn", "usage": usage}
    claude = {"type": "assistant", "sessionId": "s", "uuid": "u", "message": said}
    (recorded,) = read_run("a.traj.json", msgspec.json.encode(mini)).model_calls
    (logged,) = read_run("a.jsonl", msgspec.json.encode(claude) + b"\n").model_calls
    stream = ResponsesStream(lambda *_: None)
    stream.feed(b'data: {"type":"response.completed","response":{"usage":' + msgspec.json.encode(usage) + b"}}\n\n")
    assert [live.tokens, recorded.tokens, logged.tokens, stream.tokens] == [tokens] * 4
    assert tokens.input == 4627


def test_the_agents_own_cost_goes_first() -> None:
    """What the agent recorded stands before what the provider said."""
    assert model_call({"cost": 0.5}, 0.25) == ModelCall(cost=0.25)


def test_a_cost_of_nothing_is_unknown() -> None:
    """Agents record 0 for the calls of a model whose price they do not know."""
    assert model_call({"input_tokens": 9, "cost": 0.0}).cost is None
    assert model_call({"input_tokens": 9}, 0).cost is None
    assert model_call({"cost": 0.5}, 0).cost == 0.5, "the provider says it"


def test_sums() -> None:
    """Each count is over the calls that tell it; what none of them tells stays unknown."""
    assert summed([]) is None
    assert summed([ModelCall(Tokens.of(input=1)), ModelCall(Tokens.of(input=2, output=3), 0.5)]) == ModelCall(
        Tokens.of(input=3, output=3), 0.5
    )


def test_calls_that_tell_nothing() -> None:
    """A list of calls none of which says anything is no list."""
    assert told([ModelCall(), ModelCall()]) == ()
    assert told([ModelCall(), ModelCall(Tokens.of(input=1))]) == (ModelCall(), ModelCall(Tokens.of(input=1)))
