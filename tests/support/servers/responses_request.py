"""One request to the Responses server as it came, and what can be told from it; and a gate that holds answers back."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from execledger.testing.model_dialects import Json

CONVERSATION_HEADERS = ("thread-id", "session_id", "conversation_id", "session-id")
"""Headers that tell conversations apart, the surest first: sub-agents share all but the first."""
METADATA = "x-codex-turn-metadata"
"""The header, or the field of ``client_metadata``, in which newer clients say what a request is for."""
CHECKPOINT = "You are performing a CONTEXT CHECKPOINT COMPACTION"
"""How the request for a summary begins, in versions that do not say what a request is for."""


@dataclass(frozen=True)
class Request:
    """One request."""

    path: str
    """Where it was sent to."""
    headers: Mapping[str, str]
    """Its headers by lower-case name, those with secrets left out."""
    authorized: bool
    """Whether it came with an authorization."""
    raw: bytes
    """Its body, byte for byte as it came."""
    plain: bytes
    """Its body, decompressed."""

    @cached_property
    def body(self) -> Json:
        """What the body says; decoded when it is first asked for."""
        found: Json = msgspec.json.decode(self.plain)
        return found

    @property
    def input(self) -> list[Json]:
        """The history that it holds."""
        items: list[Json] = self.body["input"]
        return items

    @cached_property
    def conversation(self) -> str:
        """Which conversation it belongs to; an empty text where nothing says so."""
        found = next((self.headers[name] for name in CONVERSATION_HEADERS if name in self.headers), None)
        return found or str(self.body.get("prompt_cache_key") or "")

    @cached_property
    def mark(self) -> bytes:
        """Tells the turns of a conversation apart: what users and tools have said, of which a new turn has more.

        A client that tries again repeats that exactly, but may add what it had received of the model's words.
        """
        said = [item for item in self.input if item.get("type") != "reasoning" and item.get("role") != "assistant"]
        return hashlib.sha256(self.conversation.encode() + b"\0" + msgspec.json.encode(said)).digest()

    @cached_property
    def metadata(self) -> Json:
        """What the client says about the request, as far as it does."""
        own = self.body.get("client_metadata") or {}
        text = self.headers.get(METADATA) or own.get(METADATA) or "{}"
        return {**own, **msgspec.json.decode(text, type=dict[str, Any])}

    @cached_property
    def kind(self) -> str:
        """What it is for: ``turn``, ``compaction``, ``thread_title``, or another word of the client's."""
        if (
            self.wants_history
            or self.wants_sealed_compaction
            or (self.user_texts and self.user_texts[-1].startswith(CHECKPOINT))
        ):
            return "compaction"
        if self.metadata.get("thread_source") == "thread_title":
            return "thread_title"
        return str(self.metadata.get("request_kind") or "turn")

    @property
    def wants_history(self) -> bool:
        """Whether it asks the server for a whole shorter history, as older versions ask OpenAI's own."""
        return self.path.endswith("/compact")

    @property
    def wants_sealed_compaction(self) -> bool:
        """Whether it asks for a summary that only the server can read."""
        return any(item.get("type") == "compaction_trigger" for item in self.input[-1:])

    @cached_property
    def user_texts(self) -> list[str]:
        """What users, and agents that started this one, have said; one text for each message."""
        return ["\n".join(_texts(item)) for item in self.input if _from_user(item)]


def _from_user(item: Json) -> bool:
    return item.get("role") == "user" or item.get("type") == "agent_message"


def _texts(item: Json) -> Iterator[str]:
    """The texts of a message; what another agent sends comes sealed, which a script doesn't mind."""
    content = item.get("content") or ()
    if isinstance(content, str):
        yield content
        return
    for part in content:
        yield str(part.get("text") or part.get("encrypted_content") or "")


class Gate:
    """Holds an answer back before one of its events, until a test opens it; before the first, even the status waits."""

    def __init__(self, after: int = 0) -> None:
        self.after = after
        """How many events are sent before."""
        self.reached = threading.Event()
        """Set when an answer stands before the gate."""
        self._opened: Future[None] = Future()

    def open(self) -> None:
        """Let the answer go on, and every later one."""
        if not self._opened.done():
            self._opened.set_result(None)

    async def passed(self) -> None:
        """Wait until the gate is open."""
        self.reached.set()
        # Another answer may stand here still when a client of this one has gone.
        await asyncio.shield(asyncio.wrap_future(self._opened))
