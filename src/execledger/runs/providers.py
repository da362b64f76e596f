"""What is known of the providers of models, by the names of these: what they cache, and what a history may not lose."""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.core.policy import Policy

_CHARGES_WRITES = re.compile("claude|anthropic|sonnet|opus|haiku", re.IGNORECASE)
"""Models whose providers charge for writing to the cache, and keep nothing in it that was not sent."""
_CACHES_INPUT_ALONE = re.compile(r"gemini|gpt-|codex|(?:^|/)o\d\b", re.IGNORECASE)
"""Models whose providers keep nothing in the cache that was not sent either: in recorded runs of Gemini 3 Pro and
GPT-5, 1 to 2 tokens of an answer were read from the cache in the next call; with DeepSeek it is nearly all of them."""

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", re.IGNORECASE)
"""The version in the name of a Claude model; what may follow is a date."""
_BINDING = (5, 1)
"""The first version of Claude whose reasoning is valid only behind the very messages that it was written behind."""


def charges_for_writes(model: str) -> bool:
    """The provider of a model is known to charge for writing to its cache."""
    return bool(_CHARGES_WRITES.search(model))


def caches_output(model: str) -> bool:
    """The provider of a model may also cache what the model writes: all but those that are known not to."""
    return not (charges_for_writes(model) or _CACHES_INPUT_ALONE.search(model))


def binds_reasoning(model: str) -> bool:
    """The provider rejects or drops the reasoning of a model if anything that preceded it has gone, as a view has."""
    found = _VERSION.search(model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= _BINDING


def for_model(policy: Policy, model: str) -> Policy:
    """The policy of a run with ``model``.

    Views cost less where they keep nothing out of the cache. None is sent where reasoning is bound to what precedes it.
    """
    return replace(
        policy,
        caches_output=policy.caches_output and caches_output(model),
        inform=policy.inform and not binds_reasoning(model),
    )
