"""Inspect's chat messages as the leaves of a conversation, and edited leaves back into messages.

Each text of a message, each of its calls, and each result is a leaf. Messages belong to the agent: they are never
changed, and an edited one is a copy. Inspect's classes are not imported here, messages are read by their attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as with_fields
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from execledger.agents.inspect_ai.tools import KEY, VIEW
from execledger.core.fingerprint import digest
from execledger.proxy.dialect import Leaf, LeafKind, marks_of
from execledger.session.adapter import ToolCall

Message: TypeAlias = Any
"""A ``ChatMessage`` of Inspect."""
_LONE = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which UTF-8 can't encode."""
_ENCODE = msgspec.json.Encoder().encode
_LEAF = msgspec.json.Decoder(Leaf)


class MessageLeaves:
    """The format of the leaves: the JSON of a ``Leaf``, a line feed, and a digest of what it does not hold."""

    def leaf(self, raw: bytes) -> Leaf:
        """The content of a leaf."""
        return _LEAF.decode(bytes(raw).partition(b"\n")[0])

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The leaf of a call, with another call of the same tool in it."""
        return _raw(replace(self.leaf(raw), call=call))

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The leaf of a result, with other text parts in it."""
        return _raw(replace(self.leaf(raw), parts=parts))

    def view_leaf(self, text: str) -> bytes:
        """A new leaf that carries a state view."""
        return _raw(Leaf("user", text=text))


LEAVES = MessageLeaves()
"""The format of the leaves."""


def _raw(leaf: Leaf, beside: str = "") -> bytes:
    return b"%b\n%b" % (_ENCODE(leaf), beside.encode("utf-8", "surrogatepass"))


class MessageRequest:
    """The messages of one model call, split into leaves."""

    def __init__(self, messages: Sequence[Message], model: str, shims: Mapping[str, Sequence[Replaced]]) -> None:
        """The input of a call of ``model``; ``shims`` has the replaced calls of Inspect's own tools, by id."""
        self.messages = messages
        self.model = model
        self.leaves: Sequence[bytes] = ()
        self._of: list[int] = []
        leaves: list[bytes] = []
        replaced: dict[str, Replaced] = {}
        for at, message in enumerate(messages):
            if message.role == "assistant":
                # Some providers give the same id to calls of several turns.
                replaced = _replaced(messages, at, shims)
            own = _leaves_of(message, replaced)
            leaves += own
            self._of += [at] * len(own)
        self.leaves = leaves

    @cached_property
    def marks(self) -> list[int]:
        """The hash of each leaf."""
        return marks_of(self.leaves)

    @property
    def instructions(self) -> str:
        """The text of the system messages before all others: the bridge makes one of each block of a request."""
        system = takewhile(lambda one: one.role == "system", self.messages)
        return "\n".join(text for one in system for text in parts_of(one.content) or ())

    def last_calls(self) -> tuple[int, list[tuple[str, ToolCall]]]:
        """The calls of the model's last message, with their ids, and the position of the first of their leaves."""
        at = next((at for at in reversed(range(len(self.messages))) if self.messages[at].role == "assistant"), None)
        if at is None:
            return len(self.leaves), []
        calls = [(call.id, call_of(call)) for call in self.messages[at].tool_calls or ()]
        return self._of.index(at), calls

    def edited(self, leaves: Sequence[bytes], view: Callable[[str], Message]) -> list[Message]:
        """The messages with these leaves; a message of which no leaf was edited is the agent's own object.

        A leaf beyond the request's own is a state view, of which ``view`` makes a message.
        """
        changed: dict[int, dict[int, Leaf]] = {}
        first = 0
        for at, (before, after) in enumerate(zip(self.leaves, leaves, strict=False)):
            if at and self._of[at] != self._of[at - 1]:
                first = at
            if before != after:
                changed.setdefault(self._of[at], {})[at - first] = LEAVES.leaf(after)
        messages = [_edited(message, changed[at]) if at in changed else message for at, message in self._numbered()]
        return messages + [view(LEAVES.leaf(raw).text) for raw in leaves[len(self.leaves) :]]

    def _numbered(self) -> list[tuple[int, Message]]:
        return list(enumerate(self.messages))


class Replaced(msgspec.Struct, frozen=True):
    """A call of one of Inspect's own tools that was replaced: the agent's history keeps the model's call beside it."""

    original: ToolCall
    """What the model asked for."""
    shim: ToolCall
    """The call without effects in its place, as an agent in a sandbox would keep it."""
    note: str
    """What the shim prints."""
    answer: str
    """What was printed: the reference itself."""

    def answered(self, parts: tuple[str, ...] | None) -> bool:
        """Whether a result is what was printed."""
        return parts is not None and "".join(parts).strip() == self.answer


def call_of(call: Any) -> ToolCall:
    """A call of the model; one that Inspect could not parse has no arguments."""
    if call.parse_error is not None:
        return ToolCall(call.function, "")
    given, custom = call.arguments, call.type == "custom"
    try:
        encoded = str(given.get("input", "")).encode() if custom else _ENCODE(given)
    except UnicodeEncodeError:
        # UTF-8 has no lone surrogates: the call has unknown effects, and is identified by a digest.
        encoded = digest(repr(given)).encode()
    return ToolCall(call.function, encoded.decode(), custom=custom)


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call, as Inspect keeps them."""
    return {"input": call.text} if call.custom else msgspec.json.decode(call.text, type=dict[str, Any])


def parts_of(content: Any) -> tuple[str, ...] | None:
    """The texts of a message; None if it holds anything else, such as an image or a lone surrogate."""
    if not isinstance(content, str) and not all(part.type == "text" for part in content):
        return None
    texts = (content,) if isinstance(content, str) else tuple(part.text for part in content)
    return None if any(map(_LONE.search, texts)) else texts


def is_view(message: Message) -> bool:
    """Whether a message carries a state view of Ledger, and nothing that Inspect has put together with it."""
    return bool(message.metadata) and message.metadata.get(KEY) == VIEW and "combined_from" not in message.metadata


def _leaves_of(message: Message, shims: Mapping[str, Replaced]) -> list[bytes]:
    """The leaves of a message. A call that was replaced is read as its shim, and its result as what that prints."""
    if message.role == "tool":
        failed = message.error is not None
        content = _read(message)
        parts = parts_of(content)
        replaced = shims.get(message.tool_call_id or "")
        if replaced is not None and replaced.answered(parts):
            parts = (replaced.note,)
        beside = digest(repr(content)) if parts is None else ""
        return [_raw(Leaf("result", message.tool_call_id or "", parts=parts, is_error=failed), beside)]
    if message.role != "assistant":
        kind: LeafKind = "user" if message.role == "user" else "context"
        given = [message.content] if isinstance(message.content, str) else [[part] for part in message.content]
        return [_text_leaf(kind, part) for part in given]
    beside = digest(repr(message.content))
    calls = [(call.id, call_of(call)) for call in message.tool_calls or ()]
    return [_raw(Leaf("model"), beside), *(_raw(Leaf("call", *_kept(one, shims))) for one in calls)]


def _text_leaf(kind: LeafKind, part: Any) -> bytes:
    """The leaf of one part of what a user or the system says; that of an image has no text."""
    texts = parts_of(part)
    return _raw(Leaf(kind), digest(repr(part))) if texts is None else _raw(Leaf(kind, text="".join(texts)))


def _kept(one: tuple[str, ToolCall], shims: Mapping[str, Replaced]) -> tuple[str, ToolCall]:
    """A call of the history, or the shim that was run in its place."""
    replaced = shims.get(one[0])
    return (one[0], replaced.shim) if replaced is not None else one


def _replaced(messages: Sequence[Message], at: int, shims: Mapping[str, Sequence[Replaced]]) -> dict[str, Replaced]:
    """The calls of a turn that were replaced, by id: of several with one id, the one that its result tells."""
    found: dict[str, Replaced] = {}
    for call in messages[at].tool_calls or ():
        same = [one for one in shims.get(call.id, ()) if one.original == call_of(call)]
        if same:
            behind = takewhile(lambda one: one.role != "assistant", messages[at + 1 :])
            results = (parts_of(_read(one)) for one in behind if one.role == "tool" and one.tool_call_id == call.id)
            parts = next(results, None)
            found[call.id] = next((one for one in same if one.answered(parts)), same[-1])
    return found


def _read(result: Message) -> Any:
    """What the model reads of a result: of a failure the message of the error, in place of the content."""
    return result.error.message if result.error is not None else result.content


def _edited(message: Message, leaves: Mapping[int, Leaf]) -> Message:
    """A copy of a message with these leaves in place of its own; the message itself if they say the same."""
    if message.role == "tool":
        return _with_parts(message, leaves[0].parts or ())
    calls = list(message.tool_calls or ())
    for at, leaf in leaves.items():
        assert leaf.call is not None, "of the model's message only calls are edited"
        if call_of(calls[at - 1]) != leaf.call:
            calls[at - 1] = with_fields(calls[at - 1], arguments=arguments_of(leaf.call))
    return message if calls == message.tool_calls else message.model_copy(update={"tool_calls": calls})


def _with_parts(message: Message, parts: tuple[str, ...]) -> Message:
    """A copy of a result with another text."""
    text = "".join(parts)
    if message.error is not None:
        return message.model_copy(update={"error": with_fields(message.error, message=text)})
    if isinstance(message.content, str):
        return message if message.content == text else message.model_copy(update={"content": text})
    own = [part.model_copy(update={"text": new}) for part, new in zip(message.content, parts, strict=False)]
    return message.model_copy(update={"content": own})
