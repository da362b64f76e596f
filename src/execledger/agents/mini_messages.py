"""mini-swe-agent's messages: what the model proposed, what it was shown, and what we wrote beside both.

``extra`` is stripped before every model call and kept in the trajectory, so ``extra.ledger`` is where our decisions
live: with them the messages alone rebuild the ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from execledger.core.actions import Action, Observation
from execledger.core.batch import UNFINISHED
from execledger.core.decisions import Allow, Shown, Step
from execledger.trajectories.mini_ledger import Answer, answer_of
from execledger.trajectories.rendered import shown as shown_in

Message: TypeAlias = dict[str, Any]

UNGOVERNED = Allow("not-governed")
"""The decision about a command that did not come from the model."""
NOT_EXECUTED = {"output": "", "returncode": -1, "exception_info": "action was not executed"}
"""The agent's own words for an action without a result: it did not run, or was interrupted, or ended the run."""
REJECTED, NEW_TASK = "UserRejection", "UserNewTask"
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


def step_of(action: Action, message: Message, answer: Answer | None) -> Step:
    """The completed step that an action and its observation make."""
    if answer is None:
        return Step(action, UNGOVERNED, observation_of(message), Shown("full"))
    bare = {**message, "content": answer.bare(text_of(message))}
    bare.pop("output", None)
    return answer.completed(action, observation_of(bare))


class Follower:
    """Walks along a growing list of messages and hands over each completed step once."""

    def __init__(
        self, record: Callable[[Step], None], recorded: Callable[[], int], cwd: Callable[[], str | None]
    ) -> None:
        """``record`` takes a step, ``recorded`` says how many there are, ``cwd`` where commands run."""
        self._record = record
        self._recorded = recorded
        self._cwd = cwd
        self._last: Message | None = None
        self._at = 0
        self._waiting: list[Message] = []
        self._place: Message = {}

    def continues(self, messages: list[Message]) -> bool:
        """The list is the one that was followed so far, perhaps longer."""
        return self._at == 0 or (len(messages) >= self._at and messages[self._at - 1] is self._last)

    def follow(self, messages: list[Message]) -> None:
        """Take in what is new."""
        for message in messages[self._at :]:
            if is_observation(message):
                self._observed(message)
            elif message.get("role") != "exit":
                self._turn(message)
            self._last = message
            self._at += 1

    def _turn(self, message: Message) -> None:
        """Something else than a result: what has none by now will get none."""
        extra = message.get("extra") or {}
        for proposed in self._waiting if extra.get("interrupt_type") != REJECTED else ():
            # What ended the run had come to its own end; anything else may have done a part, and may do the rest yet.
            ended = extra.get("interrupt_type") == NEW_TASK
            observation = Observation(exit_status=-1, failed=ended, timed_out=not ended)
            self._record(Step(self._action(proposed, None), UNFINISHED, observation, Shown("full")))
        note = extra.get("ledger") or {}
        self._waiting = list(note.get("proposed") or extra.get("actions") or ())
        self._place = note

    def _observed(self, message: Message) -> None:
        answer = answer_of((message.get("extra") or {}).get("ledger"))
        if answer is None and is_padding(message):
            return
        key = message.get("tool_call_id") or message.get("call_id")
        matching = [one for one in self._waiting if key is not None and one.get("tool_call_id") == key]
        proposed = matching[0] if matching else self._waiting[0] if self._waiting else None
        if proposed is None:
            return
        self._waiting.remove(proposed)
        if answer is None or answer.step >= self._recorded():
            self._record(step_of(self._action(proposed, answer), message, answer))

    def _action(self, proposed: Message, answer: Answer | None) -> Action:
        """The action, and where it ran: as noted beside its result, or beside the proposal, or as we know now."""
        cwd = answer.cwd if answer is not None else self._place["cwd"] if "cwd" in self._place else self._cwd()
        return Action(str(proposed.get("command", "")), cwd)
