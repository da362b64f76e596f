"""The request as mini-swe-agent's model is asked it: cache markers, the place of the view, and what a call took."""

from __future__ import annotations

from typing import Any

from execledger.agents.mini.messages import Message, append_text
from execledger.runs.usage import ModelCall, model_call


def marked(messages: list[Message], cache: str | None) -> list[Message]:
    """The messages with the cache marker where the agent would have put it: on the last one that stays."""
    if not cache or not messages:
        return messages
    from minisweagent.models.utils.cache_control import set_cache_control

    bare = [{key: value for key, value in one.items() if key != "extra"} for one in messages]
    done: list[Message] = set_cache_control(bare, mode=cache)
    return done


def inside(messages: list[Message], placement: str, model: Any) -> bool:
    """The view goes into the last message: asked for, or two user turns in a row would not do."""
    if placement != "auto" or not messages:
        return placement == "inside" and bool(messages)
    settings = getattr(getattr(model, "config", None), "model_kwargs", None)
    thinks = isinstance(settings, dict) and "thinking" in settings
    textual = "textbased" in type(model).__name__.lower()
    return (thinks or textual) and len(messages) > 2


def with_view_inside(messages: list[Message], text: str, cache: str | None) -> list[Message]:
    """The messages with the view in a copy of the last one."""
    if cache and messages[-1].get("role") == "tool":
        # The marker of a tool's message covers all of it, and nothing may be cached that holds the view.
        return [*marked(messages[:-1], cache), _with_text(messages[-1], text)]
    prefix = marked(messages, cache)
    return [*prefix[:-1], _with_text(prefix[-1], text)]


def _with_text(message: Message, text: str) -> Message:
    """A copy of ``message`` with ``text`` behind its own."""
    copy = {key: value for key, value in message.items() if key != "extra"}
    content = copy.get("content")
    if isinstance(content, list):
        copy["content"] = [*content, {"type": "text", "text": text}]
    else:
        append_text(copy, "\n\n" + text)
    return copy


def usage_of(message: Message) -> ModelCall:
    """What the provider reports of the call that gave a message: tokens, and dollars."""
    extra = message.get("extra") or {}
    usage = message.get("usage") or (extra.get("response") or {}).get("usage")
    return model_call(usage, extra.get("cost"))
