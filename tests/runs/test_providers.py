"""What is known of providers by the names of their models."""

from __future__ import annotations

import pytest

from execledger.core.policy import Policy
from execledger.runs.providers import binds_reasoning, for_model


@pytest.mark.parametrize(
    "model,bound",
    [
        ("claude-fable-5-1", True),
        ("anthropic/claude-fable-5.1", True),
        ("claude-mythos-5-1-20260901", True),
        ("us.anthropic.claude-opus-6-v1:0", True),
        ("claude-opus-5", False),
        ("claude-opus-5-20260701", False),
        ("claude-opus-4-8", False),
        ("claude-sonnet-4.5", False),
        ("claude-3-5-sonnet-20241022", False),
        ("gpt-5.1", False),
        ("", False),
    ],
)
def test_models_whose_reasoning_is_bound_are_sent_no_views(model: str, bound: bool) -> None:
    """A date is no version; other providers bind nothing."""
    assert (binds_reasoning(model), for_model(Policy(), model).inform) == (bound, not bound)
