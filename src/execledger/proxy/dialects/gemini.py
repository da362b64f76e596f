"""The Gemini dialect: requests with ``contents``, whose parts are the leaves.

A leaf is the role of its content, a line feed, and the part without its ``thoughtSignature``, which clients add and
remove from request to request. With a Google login the request is an inner object of the body, and so are the answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import msgspec
from msgspec import Raw, Struct

from execledger.proxy.dialect import Leaf, Propose, marks_of
from execledger.proxy.dialects.answer_calls import AnswerCalls
from execledger.proxy.json_split import (
    NOT_JSON,
    compact,
    editable_fields,
    list_elements,
    list_of,
    names_of_tools,
    object_fields,
    object_of,
    object_with_list,
    text_field,
    usage_of,
    valid_text,
    with_field,
)
from execledger.proxy.split_messages import MessageSplitter, SplitMessage, joined_messages, leaves_of
from execledger.proxy.sse import data_of, with_data
from execledger.proxy.worker import Work
from execledger.runs.json_surrogates import replace_surrogates
from execledger.runs.usage import Tokens
from execledger.session.adapter import ToolCall

SIGNATURE = "thoughtSignature"
"""The field of a part that carries the model's reasoning to its next turn; it is never moved."""
WRAPPER, WRAPPED_ANSWER = "request", "response"
"""The fields that hold a request and an answer where the client has a Google login."""
NO_CALLS = frozenset(("text", "inlineData", "fileData", "functionResponse", "codeExecutionResult", "toolResponse"))
"""The fields of parts of an answer that call nothing."""
ABOUT = frozenset(("thought", SIGNATURE, "partMetadata", "mediaResolution", "videoMetadata"))
"""The fields that say something about a part."""
_NONE = (b"", b"null")
_MODEL = re.compile(r"/models/([^/:]+):")
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


# Requests


class _Content(SplitMessage, frozen=True):
    """One content, split: a leaf of each part."""

    def written(self, leaves: Sequence[bytes]) -> bytes:
        """The content with other parts, or with more of them."""
        parts = [
            part if leaf == before else _with_signature(_part(leaf), part)
            for leaf, before, part in zip(leaves, self.leaves, self.parts, strict=False)
        ]
        parts += [_part(leaf) for leaf in leaves[len(self.leaves) :]]
        return object_of({**self.fields, "parts": Raw(list_of(parts))})


class GeminiRequest:
    """A request of this dialect, split into its fields, contents and parts."""

    def __init__(
        self,
        body: bytes,
        model: str,
        outer: dict[str, Raw] | None,
        fields: dict[str, Raw],
        contents: list[_Content],
        leaves: Sequence[bytes],
    ) -> None:
        """The request ``body``; ``outer`` has the fields around the request where it is wrapped."""
        self.body = body
        self.model = model
        """The name of the requested model."""
        self.leaves = leaves
        self._outer = outer
        self._fields = fields
        self._contents = contents

    @cached_property
    def marks(self) -> list[int]:
        """The hash of each leaf."""
        return marks_of(self.leaves)

    @property
    def offers_tools(self) -> bool:
        """Whether the model may call functions, in a content of its own."""
        declared = b'"functionDeclarations"' in bytes(self._fields.get("tools", b""))
        return declared and text_field(self._contents[-1].fields, "role") in ("user", "function", "")

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the request defines."""
        return names_of_tools(self._fields.get("tools", b"[]"))

    @property
    def cache_key(self) -> str:
        """The session, which only a wrapped request names."""
        return text_field(self._fields, "session_id")

    @cached_property
    def instructions(self) -> str:
        """The system prompt."""
        content = _split_content(bytes(self._fields.get("systemInstruction", b"")))
        texts = (text_field(object_fields(part) or {}, "text") for part in content.parts) if content else ()
        return "\n".join(texts)

    def joined(self, leaves: Sequence[bytes]) -> bytes:
        """The body with other leaves; a view is one more part of the last content."""
        request = object_with_list(self._fields, "contents", joined_messages(self._contents, leaves))
        return request if self._outer is None else object_of({**self._outer, WRAPPER: Raw(request)})


class Gemini:
    """The dialect of Gemini CLI."""

    paths: tuple[str, ...] = (":streamGenerateContent", ":generateContent")
    turn_paths: tuple[str, ...] = paths

    def split(self, path: str, body: bytes) -> Work[GeminiRequest | None]:
        """The request; None if a content is of another shape."""
        outer, inner = _unwrapped(body)
        split = yield from _SPLITTER.split(inner)
        if split is None:
            return None
        fields, contents = split
        named = _MODEL.search(path)
        model = named[1] if named else text_field(outer or {}, "model")
        return GeminiRequest(body, model, outer, fields, contents, leaves_of(contents))

    def leaf(self, raw: bytes) -> Leaf:
        """The content of a part; one that can't be read is context."""
        role, _, part = bytes(raw).partition(b"\n")
        try:
            wire = _PART.decode(valid_text(part))
        except (msgspec.MsgspecError, RecursionError):
            return _leaf_with_surrogates(role, part)
        if wire.functionCall is not None:
            return Leaf("call", wire.functionCall.id or "", _call_of(wire.functionCall))
        if wire.functionResponse is not None:
            parts, is_error = _parts(wire.functionResponse)
            return Leaf("result", wire.functionResponse.id or "", parts=parts, is_error=is_error)
        if role == b"model":
            return Leaf("model")
        return Leaf("user" if role == b"user" else "context", text=wire.text or "")

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The part of a call, with other arguments in it."""
        role, _, part = bytes(raw).partition(b"\n")
        return b"%b\n%b" % (role, _with_arguments(part, compact(call.text.encode())))

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The part of a result, with other text in it: an output or an error, as before."""
        role, _, part = bytes(raw).partition(b"\n")
        fields = editable_fields(part)
        result = editable_fields(fields["functionResponse"])
        response = editable_fields(result.get("response", b"{}"))
        name = "error" if bytes(response.get("error", b"")) not in _NONE else "output"
        edited = {**result, "response": Raw(with_field(response, name, "".join(parts)))}
        return b"%b\n%b" % (role, object_of({**fields, "functionResponse": Raw(object_of(edited))}))

    def view_leaf(self, text: str) -> bytes:
        """A text part for the end of the last content."""
        return b"user\n" + _ENCODE({"text": text})

    def stream(self, propose: Propose) -> GeminiStream:
        """An editor for one streamed answer."""
        return GeminiStream(propose)

    def answer(self, body: bytes, propose: Propose) -> tuple[bytes, Tokens | None]:
        """An answer with its calls judged, and its usage.

        Of several candidates it is not known which one the client takes: they may call anything.
        """
        return _judged_answer(body, AnswerCalls(propose))


# Parts


class _Call(Struct, frozen=True):
    id: str | None = None
    name: str = ""
    args: Raw = Raw(b"")
    partialArgs: Raw = Raw(b"")
    willContinue: Raw = Raw(b"")

    @property
    def whole(self) -> bool:
        """Whether all of its arguments are in it, and not in further events."""
        return bytes(self.partialArgs) in _NONE and bytes(self.willContinue) in (*_NONE, b"false")


class _Result(Struct, frozen=True):
    id: str | None = None
    name: str = ""
    response: Raw = Raw(b"")
    parts: Raw = Raw(b"")


class _WirePart(Struct, frozen=True):
    """The fields of any part that are read."""

    text: str | None = None
    functionCall: _Call | None = None
    functionResponse: _Result | None = None


_PART = msgspec.json.Decoder(_WirePart)


def _unwrapped(body: bytes) -> tuple[dict[str, Raw] | None, bytes]:
    """The fields around a wrapped request and the request; None and the body itself if it is not wrapped."""
    if b'"%b"' % WRAPPER.encode() not in body[:100_000]:
        return None, body
    fields = object_fields(body)
    if fields is None or not bytes(fields.get(WRAPPER, b"")).startswith(b"{"):
        return None, body
    return fields, bytes(fields[WRAPPER])


def _split_content(raw: bytes) -> _Content | None:
    """One content, split; None if its parts are no list of objects."""
    fields = object_fields(raw)
    parts = list_elements(fields["parts"]) if fields is not None and "parts" in fields else None
    if fields is None or parts is None or not all(bytes(part).startswith(b"{") for part in parts):
        return None
    role = text_field(fields, "role").encode() or b"user"
    own = [bytes(part) for part in parts]
    return _Content(raw, fields, own, [b"%b\n%b" % (role, _without_signature(part)) for part in own])


_SPLITTER = MessageSplitter("contents", _split_content)


def _part(leaf: bytes) -> bytes:
    """The part of a leaf."""
    return bytes(leaf).partition(b"\n")[2]


def _without_signature(part: bytes) -> bytes:
    """A part in its normal form."""
    fields = object_fields(part)
    if fields is None:
        return part
    fields.pop(SIGNATURE, None)
    return object_of(fields)


def _with_signature(edited: bytes, part: bytes) -> bytes:
    """An edited part with the signature that ``part`` has."""
    before = object_fields(part) or {}
    signature = {SIGNATURE: before[SIGNATURE]} if SIGNATURE in before else {}
    return object_of({**editable_fields(edited), **signature})


def _call_of(call: _Call) -> ToolCall:
    return ToolCall(call.name, compact(bytes(call.args) or b"{}"))


def _with_arguments(part: bytes, arguments: str) -> bytes:
    """The part of a call with other arguments."""
    fields = editable_fields(part)
    call = {**editable_fields(fields["functionCall"]), "args": Raw(arguments.encode())}
    return object_of({**fields, "functionCall": Raw(object_of(call))})


def _leaf_with_surrogates(role: bytes, part: bytes) -> Leaf:
    """A part with lone surrogates: its kind is known, its text is neither judged nor edited."""
    try:
        wire = _PART.decode(replace_surrogates(valid_text(part)))
    except (msgspec.MsgspecError, RecursionError):
        return Leaf("model" if role == b"model" else "context")
    if wire.functionResponse is not None:
        return Leaf("result", wire.functionResponse.id or "")
    if wire.functionCall is not None:
        return Leaf("call", wire.functionCall.id or "", ToolCall(wire.functionCall.name, ""))
    return Leaf("model" if role == b"model" else "context")


def _parts(result: _Result) -> tuple[tuple[str, ...] | None, bool]:
    """The text of a result, and whether it is an error; None if it is not one text."""
    try:
        response = _DECODE(result.response) if result.response else {}
    except NOT_JSON:
        return None, False
    if not isinstance(response, dict):
        return None, False
    is_error = response.get("error") is not None
    if bytes(result.parts) not in (*_NONE, b"[]") or (is_error and response.get("output") is not None):
        # Images, or two texts.
        return None, is_error
    text = response.get("error" if is_error else "output")
    return (text,) if isinstance(text, str) else () if text is None and not response else None, is_error


def _judged_answer(body: bytes, calls: AnswerCalls) -> tuple[bytes, Tokens | None]:
    """An answer with its calls judged, and its usage; the events of a stream have the same shape."""
    outer, answer = None, object_fields(body)
    if answer is not None and "candidates" not in answer and WRAPPED_ANSWER in answer:
        outer, answer = answer, object_fields(answer[WRAPPED_ANSWER])
    listed = bytes(answer.get("candidates", b"")) if answer is not None else b""
    candidates = list_elements(listed) if listed not in _NONE else []
    if answer is None or candidates is None:
        # It may hold calls, which the client will run.
        calls.unread()
        return body, None
    tokens = usage_of(answer, "usageMetadata")
    if len(candidates) > 1:
        calls.unread()
        return body, tokens
    edited = [_judged_candidate(bytes(one), calls) for one in candidates]
    if edited == [*map(bytes, candidates)]:
        return body, tokens
    sent = object_of({**answer, "candidates": Raw(list_of(edited))})
    return sent if outer is None else object_of({**outer, WRAPPED_ANSWER: Raw(sent)}), tokens


def _judged_candidate(raw: bytes, calls: AnswerCalls) -> bytes:
    """The candidate of an answer, with other calls in place of those that are suppressed."""
    candidate = object_fields(raw)
    if candidate is None or bytes(candidate.get("index", b"0")) not in (*_NONE, b"0"):
        calls.unread()
        return raw
    own = bytes(candidate.get("content", b""))
    content = object_fields(own) if own not in _NONE else {}
    listed = bytes(content.get("parts", b"")) if content is not None else b""
    parts = list_elements(listed) if listed not in _NONE else []
    if content is None or parts is None:
        calls.unread()
        return raw
    edited = [_judged_part(bytes(part), calls) for part in parts]
    if edited == [*map(bytes, parts)]:
        return raw
    return object_of({**candidate, "content": Raw(object_of({**content, "parts": Raw(list_of(edited))}))})


def _judged_part(raw: bytes, calls: AnswerCalls) -> bytes:
    """A part of an answer, with another call in it if its own is suppressed."""
    fields = object_fields(raw)
    try:
        wire = _PART.decode(raw)
    except NOT_JSON:
        fields, wire = None, _WirePart()
    call = wire.functionCall
    if fields is None or (call is None and not _calls_nothing(fields)) or (call is not None and not call.whole):
        calls.unread()
        return raw
    if call is None:
        return raw
    swap = calls.judge(call.id or "", _call_of(call))
    return raw if swap is None else _with_arguments(raw, swap.text)


def _calls_nothing(fields: dict[str, Raw]) -> bool:
    """Whether a part is known to have no effects: code that the provider runs, and tools of the future, may have some.

    Beside known content there may be fields of the future that say something about it, but no other call.
    """
    present = {name for name, value in fields.items() if bytes(value) not in _NONE}
    acting = {name for name in present if name in ("executableCode", "toolCall", "function_call")}
    return not acting and (bool(present & NO_CALLS) or present <= ABOUT)


# Streamed answers


_READ = (b"functionCall", b"usageMetadata", b'"parts"', b"\\u00")
"""What the events contain that are read; the last begins an escape, which may spell a letter."""


class GeminiStream:
    """Edits the events of one answer: each is a whole answer with some parts, so that nothing has to be held."""

    def __init__(self, propose: Propose) -> None:
        """An editor that asks ``propose`` about every call."""
        self.tokens: Tokens | None = None
        self._judge = AnswerCalls(propose)
        self._tokens: Tokens | None = None
        """The usage so far: every event reports it, the last one that of the whole answer."""

    def feed(self, event: bytes) -> bytes:
        """The bytes to forward after the next event."""
        if not any(word in event for word in _READ):
            return event
        data = data_of(event)
        sent, tokens = _judged_answer(data, self._judge)
        self._tokens = tokens or self._tokens
        self.tokens = self._tokens if b'"finishReason"' in data else self.tokens
        return event if sent == data else with_data(event, sent)

    def skip(self, piece: bytes) -> bytes:
        """The bytes to forward after a piece of an event that is too long to be read; it may hold a call."""
        self._judge.unread()
        return piece

    def end(self) -> bytes:
        """Nothing is held."""
        self.tokens = self._tokens
        return b""
