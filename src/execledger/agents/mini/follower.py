"""Follows the agent's messages: hands over each completed step once, and knows which results are still visible.

An agent of a user's own may blank, shorten, drop or reorder messages between two calls of its model. What counts is
the request: a result that is not in it, or not as it was, is not visible. A reference to such a result is replaced by
what it referred to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from execledger.agents.mini.messages import (
    NEW_TASK,
    REJECTED,
    SUBMITTED,
    UNGOVERNED,
    Answer,
    Message,
    answer_of,
    call_of,
    content_of,
    is_from_model,
    is_observation,
    is_padding,
    observation_of,
    partly_shown,
    put_content,
    text_of,
    with_output,
)
from execledger.core.fingerprint import fingerprint
from execledger.core.govern import UNFINISHED
from execledger.core.references import NOT_ANSWERED
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Reuse, Shown, Step

_Key: TypeAlias = tuple[str | None, object]
"""The call that a message answers, and what it says."""
NOWHERE = -1
"""The target of a reference whose targets are not known: it is never visible."""


class Standing:
    """The results of one run, and the messages that showed them."""

    def __init__(self) -> None:
        """Nothing was shown yet."""
        self._keys: dict[int, _Key] = {}
        self._times: Counter[_Key] = Counter()
        self._references: dict[int, tuple[tuple[int, ...], object]] = {}

    def showed(self, step: int, message: Message) -> None:
        """The result of ``step`` is shown by ``message``, as that reads now."""
        key = self._keys[step] = _key(message)
        self._times[key] += 1

    def refers(self, step: int, targets: tuple[int, ...], instead: object = NOT_ANSWERED) -> None:
        """``step`` is shown as a reference; without its targets, ``instead`` is the content of its message."""
        self._references[step] = (targets, instead)

    def knows(self, messages: Iterable[Message]) -> bool:
        """Whether one of the results is part of ``messages``."""
        return any(_key(message) in self._times for message in messages if not is_from_model(message))

    def visible(self, messages: Iterable[Message]) -> frozenset[int]:
        """Steps whose results are part of ``messages``; references to others are replaced by the outputs."""
        found: dict[_Key, list[Message]] = {}
        for message in messages:
            if not is_from_model(message):
                found.setdefault(_key(message), []).append(message)
        # Where fewer messages say the same than did before, and no call tells them apart, which one is gone is unknown.
        standing = {step for step, key in self._keys.items() if len(found.get(key, ())) >= self._times[key]}
        for step, (targets, instead) in self._references.items():
            if step in standing and not standing.issuperset(targets):
                for message in found[self._keys[step]]:
                    put_content(message, instead)
                standing.discard(step)
        return frozenset(standing)


def _key(message: Message) -> _Key:
    """What a message is known by; texts are compared by identity first, so that one that stayed costs nothing."""
    content = content_of(message)
    if isinstance(content, list):
        return call_of(message), tuple(_piece(part) for part in content)
    return call_of(message), content if isinstance(content, str) else repr(content)


def _piece(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else repr(part)


def step_of(action: Action, message: Message, answer: Answer | None, index: int) -> Step:
    """The completed step that an action and its observation make, as step ``index`` of the run."""
    if answer is None:
        return Step(action, UNGOVERNED, observation_of(message), Shown("full"))
    bare = {**message, "content": answer.bare(text_of(message))}
    bare.pop("output", None)
    step = answer.completed(action, observation_of(bare))
    if answer.step == index and step.valid_at(index) and _as_shown(step, message):
        return step
    # Messages before it are missing, or it was changed itself: what was noted beside it holds no longer.
    kept = replace(step.observation, truncated=True, cut=None)
    return Step(action, UNGOVERNED, kept, Shown("full"))


def _as_shown(step: Step, message: Message) -> bool:
    """The result reads as it did when it was noted; of a reference, the words were noted themselves."""
    mark = step.shown.result
    if step.shown.kind == "partial":
        return step.observation.output == partly_shown(message)
    if step.shown.kind == "reference" or mark is None:
        return True
    return fingerprint(step.observation, steady=False).digest == mark.digest


class Follower:
    """Walks along a growing list of messages and hands over each completed step once.

    Messages behind the last one that was followed are new. Agents of somebody's own may change the
    list before it, or send copies; nothing of that is taken for new.
    """

    def __init__(
        self, record: Callable[[Step], None], recorded: Callable[[], int], cwd: Callable[[], str | None]
    ) -> None:
        """``record`` takes a step, ``recorded`` says how many there are, ``cwd`` where commands run."""
        self.standing = Standing()
        """The results that are still visible."""
        self._record = record
        self._recorded = recorded
        self._cwd = cwd
        self._known: dict[int, Message] = {}
        self._tail: list[Message] = []
        self._at = 0
        self._waiting: list[Message] = []
        self._lost: set[int] = set()
        """Steps whose messages do not show what was noted beside them: a reference of that time does not mean them."""
        self._place: Message = {}
        self.ended = False
        """The last command ended the run."""

    def continues(self, messages: list[Message]) -> bool:
        """The list goes on from where it was followed to, whatever became of the messages before."""
        return self._at == 0 or self._behind(messages) > 0 or self.standing.knows(messages)

    def _behind(self, messages: list[Message]) -> int:
        """Where the new messages begin; 0 if none of the list is known."""
        if not self._at or (len(messages) >= self._at and messages[self._at - 1] is self._tail[-1]):
            return self._at
        places = range(len(messages), 0, -1)
        known = next((at for at in places if id(messages[at - 1]) in self._known), 0)
        # Copies of messages are known by what the last two say.
        last = [_mark(message) for message in self._tail]
        return known or next((at for at in places if [_mark(one) for one in messages[max(at - 2, 0) : at]] == last), 0)

    def follow(self, messages: list[Message]) -> None:
        """Take in what is new."""
        behind = self._behind(messages)
        for message in messages[behind:]:
            self.ended = (message.get("extra") or {}).get("exit_status") == SUBMITTED
            if is_observation(message):
                self._observed(message)
            elif message.get("role") != "exit":
                self._turn(message)
            # Holding the message keeps its identity from being given to another.
            self._known[id(message)] = message
        self._tail = messages[max(len(messages) - 2, 0) :]
        self._at = len(messages)

    def left(self) -> list[Step]:
        """What was proposed last and has no result: it may go on, unless it is what ended the run."""
        return [self._unfinished(proposed, ended=self.ended) for proposed in self._waiting]

    def _turn(self, message: Message) -> None:
        """Something else than a result: what has none by now will get none."""
        extra = message.get("extra") or {}
        for proposed in self._waiting if extra.get("interrupt_type") != REJECTED else ():
            # What ended the run had come to its own end; anything else may have done a part, and may do the rest yet.
            self._record(self._unfinished(proposed, ended=extra.get("interrupt_type") == NEW_TASK))
        note = extra.get("ledger") or {}
        self._waiting = list(note.get("proposed") or extra.get("actions") or ())
        self._place = note

    def _unfinished(self, proposed: Message, *, ended: bool) -> Step:
        observation = Observation(exit_status=None if ended else -1, failed=ended, timed_out=not ended)
        return Step(self._action(proposed, None), UNFINISHED, observation, Shown("full"))

    def _observed(self, message: Message) -> None:
        answer = answer_of((message.get("extra") or {}).get("ledger"))
        if answer is None and is_padding(message):
            return
        key = call_of(message)
        matching = [one for one in self._waiting if key is not None and one.get("tool_call_id") == key]
        proposed = matching[0] if matching else self._waiting[0] if self._waiting else None
        if proposed is None:
            return
        self._waiting.remove(proposed)
        index = self._recorded()
        if answer is None or answer.step >= index:
            step = step_of(self._action(proposed, answer), message, answer, index)
            self._record(step)
            self.standing.showed(index, message)
            if answer is not None:
                self._noted(index, step, answer, message)

    def _noted(self, index: int, step: Step, answer: Answer, message: Message) -> None:
        """Find out whether the note about a result holds, and keep what replaces a reference that loses its targets."""
        holds = step.decision is answer.decision
        if not holds:
            self._lost.add(index)
        if answer.shown.refers and (instead := _instead(answer, message)) is not None:
            # Where messages are missing, steps are counted otherwise than in the note: its targets are not known.
            known = holds and self._lost.isdisjoint(step.shown.refers_to)
            self.standing.refers(index, step.shown.refers_to if known else (NOWHERE,), instead)

    def _action(self, proposed: Message, answer: Answer | None) -> Action:
        """The action, and where it ran: as noted beside its result, or beside the proposal, or as we know now."""
        cwd = answer.cwd if answer is not None else self._place["cwd"] if "cwd" in self._place else self._cwd()
        return Action(str(proposed.get("command", "")), cwd)


def _mark(message: Message) -> tuple[object, ...]:
    """What identifies a message and its copies."""
    proposed = (message.get("extra") or {}).get("actions") or ()
    called = tuple((one.get("tool_call_id"), one.get("command")) for one in proposed)
    return message.get("role"), call_of(message), text_of(message), called


def _instead(answer: Answer, message: Message) -> object:
    """The content that replaces a reference of another process: as the output would have been rendered.

    None if the message does not show the reference any more.
    """
    raw = message["extra"].get("raw_output")
    shown = partly_shown(message) if answer.shown.kind == "partial" else answer.shown.text
    if isinstance(answer.decision, Reuse) or not isinstance(raw, str):
        return NOT_ANSWERED if shown is not None and with_output(message, shown, "") is not None else None
    return with_output(message, shown, raw) if shown is not None else None
