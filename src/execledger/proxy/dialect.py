"""The interface of a wire dialect: the format in which a client sends a conversation to a model's API.

A request is a frame around leaves. A leaf is one text block, tool call or tool result. The frame is everything around
the leaves: message boundaries, cache breakpoints, signatures, tool definitions, sampling parameters. ``split``
separates the two, and ``joined`` puts leaves back into the frame, which is otherwise unchanged.

The bytes of a leaf are the dialect's own. They hold what its content depends on, the role of its message included, and
nothing of the frame: a leaf has the same bytes in every request that repeats it, whatever moves around it. Leaves stay
byte strings until their content is needed, so that a long history costs one pass over its bytes.

A dialect is one module in ``dialects/`` and one line in its table ``DIALECTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from execledger.proxy.worker import Work
from execledger.runs.usage import Tokens
from execledger.session.adapter import ToolCall

LeafKind: TypeAlias = Literal["call", "result", "model", "user", "context"]
"""A tool call, its result, other output of the model, text of the user, anything else."""
Propose: TypeAlias = Callable[[str, ToolCall], ToolCall | None]
"""Judges a proposed call, given its id: returns the call to put in its place, or None to forward it unchanged."""

UNREAD = ToolCall("unread", "")
"""Proposed, with no id, in place of calls that could not be read: the client may run anything."""


class Leaf(Struct, frozen=True):
    """The content of one leaf, in the same shape for all dialects."""

    kind: LeafKind
    """What it is."""
    call_id: str = ""
    """The id of the call that it is or answers; "" in dialects whose calls may have none."""
    call: ToolCall | None = None
    """The call, if it is one."""
    parts: tuple[str, ...] | None = None
    """The text parts of a result; None if it contains anything else, such as an image."""
    is_error: bool = False
    """The client marked the result as an error."""
    text: str = ""
    """The text of the user or of the context."""


class TurnRequest(Protocol):
    """What a conversation needs of one request."""

    leaves: Sequence[bytes]
    """The leaves of the conversation in their order."""

    @property
    def marks(self) -> Sequence[int]:
        """The hash of each leaf, see ``marks_of``."""
        ...

    @property
    def model(self) -> str:
        """The name of the requested model; "" if the request has none."""
        ...

    @property
    def instructions(self) -> str:
        """The system prompt, where it is not among the leaves; some clients state the working directory there."""
        ...


class SplitRequest(TurnRequest, Protocol):
    """One request, split into its frame and its leaves."""

    body: bytes
    """The bytes of the request, decoded."""

    @property
    def offers_tools(self) -> bool:
        """Whether the model may call tools; requests for a summary or a title offer none."""
        ...

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the request defines."""
        ...

    @property
    def cache_key(self) -> str:
        """The key under which the client asks for the prompt to be cached; "" without one."""
        ...

    def joined(self, leaves: Sequence[bytes]) -> bytes:
        """The body with these leaves in place of its own, and the frame unchanged.

        A leaf beyond the request's own is a state view, and goes to the end of the conversation.
        """
        ...


class StreamEditor(Protocol):
    """Edits the events of one streamed answer; only the events of incomplete calls are held back."""

    tokens: Tokens | None
    """The usage of the answer, once it is known."""

    def feed(self, event: bytes) -> bytes:
        """The bytes to forward after the next event."""
        ...

    def skip(self, piece: bytes) -> bytes:
        """The bytes to forward after a piece of an event that is too long to be read."""
        ...

    def end(self) -> bytes:
        """The events that are still held when the stream ends, unchanged."""
        ...


class LeafFormat(Protocol):
    """Reads and edits leaves; all that a conversation needs of a dialect."""

    def leaf(self, raw: bytes) -> Leaf:
        """The content of a leaf; one that can't be read is context."""
        ...

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The leaf of a call, with another call of the same tool in it."""
        ...

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The leaf of a result, with other text parts in it."""
        ...

    def view_leaf(self, text: str) -> bytes:
        """A new leaf that carries a state view."""
        ...


class Dialect(LeafFormat, Protocol):
    """One wire format."""

    paths: tuple[str, ...]
    """Endings of the request paths whose bodies hold a conversation."""
    turn_paths: tuple[str, ...]
    """Those of them at which the model may propose tool calls."""

    def split(self, path: str, body: bytes) -> Work[SplitRequest | None]:
        """The request, split; None if its shape is not supported, and it is to be forwarded unchanged."""
        ...

    def stream(self, propose: Propose) -> StreamEditor:
        """An editor for one streamed answer that asks ``propose`` about every complete call."""
        ...

    def answer(self, body: bytes, propose: Propose) -> tuple[bytes, Tokens | None]:
        """The body of an answer that is not streamed, its calls judged by ``propose``, and its usage if it has one."""
        ...


def marks_of(leaves: Sequence[bytes]) -> list[int]:
    """The hash of each leaf's bytes, for comparisons within this process: Python keys it anew for each."""
    return [hash(bytes(raw)) for raw in leaves]
