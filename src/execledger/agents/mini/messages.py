"""mini-swe-agent's messages: what the model proposed, what it was shown, and what we wrote beside both.

``extra`` is stripped before every model call and kept in the trajectory, so ``extra.ledger`` is where our decisions
live: with them the messages alone rebuild the ledger.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from execledger.agents.mini.extra import Answer
from execledger.agents.mini.rendered import shown as shown_in
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Allow

Message: TypeAlias = dict[str, Any]

UNGOVERNED = Allow("not-governed")
"""The decision about a command that did not come from the model."""
NOT_EXECUTED = {"output": "", "returncode": -1, "exception_info": "action was not executed"}
"""The agent's own words for an action without a result: it did not run, or was interrupted, or ended the run."""
REJECTED, NEW_TASK, SUBMITTED = "UserRejection", "UserNewTask", "Submitted"
"""How the agent calls the ends of a step that were no interruption of a command: nothing ran, or the last one ended."""


def text_of(message: Message) -> str:
    """The text that the model reads in a message."""
    content = message.get("output", message.get("content"))
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def append_text(message: Message, text: str) -> None:
    """Put ``text`` behind what the model reads in a message."""
    key = "output" if "output" in message else "content"
    content = message.get(key)
    if isinstance(content, list) and content and isinstance(content[-1], dict) and "text" in content[-1]:
        content[-1]["text"] += text
    elif isinstance(content, str):
        message[key] = content + text


def content_of(message: Message) -> object:
    """What the model is shown in a message, in its own shape."""
    return message.get("output", message.get("content"))


def put_content(message: Message, content: object) -> None:
    """Put other content into a result, in the shape that its own had."""
    key = "output" if "output" in message else "content"
    listed = isinstance(message.get(key), list) and isinstance(content, str)
    message[key] = [{"type": "text", "text": content}] if listed else content


def call_of(message: Message) -> str | None:
    """The call that a result answers; None where the format has no names for calls."""
    return message.get("tool_call_id") or message.get("call_id")


def is_from_model(message: Message) -> bool:
    """The model has said it."""
    return message.get("role") == "assistant" or message.get("object") == "response"


def is_observation(message: Message) -> bool:
    """It is the result of an action."""
    return "returncode" in (message.get("extra") or {})


def is_padding(message: Message) -> bool:
    """It stands where a result would, for an action that has none."""
    extra = message["extra"]
    return all(extra.get(key) == NOT_EXECUTED[key] for key in ("returncode", "exception_info"))


def observation_of(message: Message) -> Observation:
    """What the model was shown, from the rendered message."""
    extra = message["extra"]
    raw = extra.get("raw_output")
    part = shown_in(text_of(message), raw if isinstance(raw, str) else None)
    status = extra.get("returncode")
    timed_out = extra.get("exception_type") == "TimeoutExpired" or "timed out" in str(extra.get("exception_info") or "")
    return Observation(
        output=part.output,
        exit_status=status if isinstance(status, int) else None,
        failed=status == -1 and not timed_out,
        cut=part.cut,
        truncated=part.truncated,
        timed_out=timed_out,
    )


def noted(message: Message, answer: Answer) -> None:
    """Write ``answer`` beside an observation."""
    message.setdefault("extra", {})["ledger"] = msgspec.to_builtins(answer)


def acts(message: Message) -> bool:
    """Commands are proposed in it."""
    return bool((message.get("extra") or {}).get("actions"))
