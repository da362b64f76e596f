"""mini-swe-agent's OpenRouter model with another address and without a price, for scripted runs.

It speaks Chat Completions without litellm, whose import takes longer than everything else in a scripted run.
"""

from __future__ import annotations

from typing import Any

from minisweagent.models.openrouter_model import OpenRouterModel


class LoopbackModel(OpenRouterModel):  # type: ignore[misc]
    """The model at ``model_kwargs.api_base``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        base = self.config.model_kwargs.pop("api_base")
        self._api_url = f"{base}/chat/completions"
