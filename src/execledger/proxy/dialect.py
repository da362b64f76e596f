"""What every wire dialect can do: split a request into items, read and edit an item, edit the calls of a stream.

Items are byte strings until somebody has to look inside, so that a long history costs one pass over its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from execledger.proxy.worker import Work
from execledger.session.adapter import ToolCall

Kind: TypeAlias = Literal["call", "result", "model", "user", "context"]
"""A tool call, its result, something else that the model made, words of the user, anything else."""
Propose: TypeAlias = Callable[[str, ToolCall], ToolCall | None]
"""Asked about each proposed call, by its id: the call that takes its place, or None to leave it."""


class Item(Struct, frozen=True):
    """One item of a conversation, as far as Ledger cares."""

    kind: Kind
    """What it is."""
    call_id: str = ""
    """Which call it is or answers."""
    call: ToolCall | None = None
    """The call."""
    parts: tuple[str, ...] | None = None
    """The result's text; None if it holds anything else than text."""
    text: str = ""
    """The words of the user or of the context."""


class Tokens(Struct, frozen=True):
    """What the provider says that one answer took."""

    input: int | None = None
    """Tokens of input, cached ones included."""
    cached: int | None = None
    """Those read from a cache."""
    output: int | None = None
    """Tokens of output."""


class Request(Protocol):
    """One request, split."""

    body: bytes
    """Its own bytes."""
    items: Sequence[bytes]
    """The conversation, item by item, each as its own JSON text."""

    @property
    def marks(self) -> Sequence[int]:
        """The hash of each item, by which it is known again."""
        ...

    @property
    def offers_tools(self) -> bool:
        """The model may call tools; a request for a summary or a title offers none."""
        ...

    @property
    def cache_key(self) -> str:
        """What the client wants the prompt to be cached under; "" if it does not say."""
        ...

    def field(self, name: str) -> str:
        """A field of the request that is a text; "" if it is not there."""
        ...

    def joined(self, items: Sequence[bytes]) -> bytes:
        """The request with these items in place of its own; everything else is as it came."""
        ...


class CallStream(Protocol):
    """The events of one answer on their way to the client; only those of a proposed call are held."""

    tokens: Tokens | None
    """What the answer took, once it is complete."""

    def feed(self, event: bytes) -> bytes:
        """What may be sent on now."""
        ...

    def skip(self, piece: bytes) -> bytes:
        """What is sent on for a piece of an event that is too long to be read."""
        ...

    def end(self) -> bytes:
        """What was still held when the stream ended, as it came."""
        ...


class Dialect(Protocol):
    """One wire format."""

    turns: str
    """How the path ends where a model is asked to act."""
    paths: tuple[str, ...]
    """How the paths end whose requests hold a conversation."""

    def split(self, body: bytes) -> Work[Request | None]:
        """The request; None if it is of a shape that is passed on untouched."""
        ...

    def item(self, raw: bytes) -> Item:
        """Read one item."""
        ...

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        """The item with another call in it."""
        ...

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        """The item with another result in it."""
        ...

    def tail(self, text: str) -> bytes:
        """The item that carries a state view."""
        ...

    def stream(self, propose: Propose) -> CallStream:
        """An editor for the events of one answer."""
        ...
