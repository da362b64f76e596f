"""What a request of Codex tells about itself: who asks, what for, where, and what the task is."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from execledger.session.adapter import Asked

_SESSION = ("session-id", "x-codex-parent-thread-id", "session_id", "conversation_id", "thread-id")
_THREAD = ("thread-id", "conversation_id", "session_id", "session-id")
"""Headers that name the session and the conversation; newer versions first."""
_METADATA = "x-codex-turn-metadata"
_SUBAGENT = "x-openai-subagent"
_HELPERS = frozenset(("compact", "guardian", "memory_consolidation"))
"""Sub-agents that do not work on the task: they sum up, judge approvals, or tidy Codex's memories."""
_COMPACTION = "You are performing a CONTEXT CHECKPOINT COMPACTION"
"""How the request for a summary begins, in the versions that don't say so otherwise."""
_VERSION = re.compile(r"codex(?:(?!codex)[\w-])*+/(\d[\w.+-]*)")
_PLACE = re.compile(r"\s*(?:# AGENTS\.md instructions.*?</INSTRUCTIONS>\s*)?<environment_context>", re.DOTALL)
"""How the message begins in which Codex tells where it is; words of the user that quote one do not."""
_TAGGED = re.compile(r"\s*<(?:\w+_(?:context|instructions|notification|mode|command)|turn_aborted|permissions|skill)\b")
"""The tags of Codex's own messages; a task in a tag of its own is a task."""
_EDITOR = "## My request for Codex:"
"""What an editor's extension puts between what it adds and what the user typed."""
_OWN = ("# AGENTS.md instructions", "Another language model started to solve this problem", _COMPACTION)
"""How messages begin that Codex itself puts into the user's mouth."""


class _Metadata(Struct):
    """The fields of a turn's metadata that we look at."""

    request_kind: str = "turn"
    thread_source: str | None = None


def asked(headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
    """Who asks: from the request's headers, its cache key, and the text of its last item if a user says it."""
    named = _first(headers, _SESSION)
    session = named or cache_key
    thread = _first(headers, _THREAD) or session
    version = _VERSION.search(headers.get("user-agent", ""))
    turn = _asks_to_act(headers.get(_METADATA, "")) and not last.startswith(_COMPACTION)
    agent = f"codex {version[1]}" if version else "codex"
    return Asked(session, thread, turn, agent, headers.get(_SUBAGENT) in _HELPERS, named=bool(named))


def task_of(text: str) -> str:
    """The task that words of the user state; "" if these are Codex's own."""
    own = text.lstrip().startswith(_OWN) or _TAGGED.match(text)
    return "" if own else text.partition(_EDITOR)[2].strip() or text


def cwd_of(text: str) -> str | None:
    """Where commands start from here on, if this message is one that tells."""
    start = text.find("<cwd>") if _PLACE.match(text) else -1
    end = text.find("</cwd>", start)
    return text[start + len("<cwd>") : end].strip() or None if 0 <= start < end else None


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := headers.get(name))), "")


def _asks_to_act(metadata: str) -> bool:
    """The request is a turn of the agent, and not one for a summary or a title; one that does not say is a turn."""
    if not metadata:
        return True
    try:
        told = msgspec.json.decode(metadata, type=_Metadata)
    except msgspec.MsgspecError:
        return True
    return told.request_kind == "turn" and told.thread_source != "thread_title"
