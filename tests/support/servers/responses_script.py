"""Scripts for the Responses server: what a model does at each turn of a conversation, and how that is sent.

A script is a function from a request to an answer. ``turns`` makes one that keeps its place in every conversation,
``by_text`` chooses one by what the user said, and ``always`` gives the same answer to everyone, encoded once.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from execledger.testing.model_dialects import Json, Usage
from tests.support.servers.responses_request import Gate, Request
from tests.support.servers.responses_stream import event_frames

SUMMARY = "The work so far, in short: see the files."
"""What a request for a compaction is answered with."""
OWN_IDS = "{conversation}_{turn}_{index}"
"""Call ids that differ from one conversation to the next."""
SHARED_IDS = "{turn}_{index}"
"""Call ids that are the same in every conversation."""

TYPICAL = Usage(1000, 0, 0, 10)
"""What an answer is said to have cost where nobody looks."""


class OffScript(Exception):
    """A request that the script has no answer for."""


class Answer(NamedTuple):
    """One answer: the items of the model's output, or a failure; and the manner in which it is sent."""

    items: Sequence[Json] = ()
    """The output items; those without an id are given one."""
    status: int = 200
    """The status; of a failure, another than 200."""
    text: str = ""
    """The body of a failure."""
    usage: Usage | None = None
    """What the client is told that it cost; estimated where nothing is given."""
    delay: float | None = 0.0
    """Seconds between two events; ``None`` sends them all at once."""
    cut_after: int | None = None
    """After so many events the connection is closed."""
    gate: Gate | None = None
    """Holds the events back from some place on."""
    gzip: bool = False
    """Whether the body is compressed."""
    strange: bool = False
    """Whether events and fields that no client knows stand in between."""
    frames: Sequence[bytes] = ()
    """The events, where they were encoded before."""


class Tries(NamedTuple):
    """A turn that goes differently when the same request comes again."""

    answers: tuple[Answer, ...]
    """The answer to the first try, the second and so on; the last one also to all others."""


Item: TypeAlias = Json
"""One output item, without ids."""
Done: TypeAlias = Item | Sequence[Item] | Answer
"""What the model does at one go; several calls at once are parallel."""
Turn: TypeAlias = Done | Tries | Callable[[Request], Done]
"""One turn of a conversation; a function decides by the request, as where an earlier result names what to wait for."""
Script: TypeAlias = Callable[[Request], Answer]
"""Decides what a request is answered with; called on the server's thread alone."""


def say(text: str) -> Item:
    """Words of the model."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content}


def call(tool: str, /, **arguments: Any) -> Item:
    """A call of a function; a name with a dot in it has its namespace before the dot."""
    namespace, _, name = tool.rpartition(".")
    place = {"namespace": namespace} if namespace else {}
    return {
        "type": "function_call",
        "status": "completed",
        "name": name,
        **place,
        "arguments": json.dumps(arguments, ensure_ascii=False),
    }


def custom(tool: str, text: str) -> Item:
    """A call of a tool that takes free text, as ``apply_patch`` does."""
    return {"type": "custom_tool_call", "status": "completed", "name": tool, "input": text}


def think(text: str) -> Item:
    """A thought; where a turn has none, one is put before it."""
    sealed = hashlib.sha256(text.encode()).hexdigest()
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": sealed}


def answer(*items: Item, **manner: Any) -> Answer:
    """A turn that is sent in some manner: see the fields of ``Answer``."""
    return Answer(items, **manner)


def refuse(status: int, text: str = '{"error": {"message": "scripted failure"}}') -> Answer:
    """A failure."""
    return Answer(status=status, text=text)


def tries(*answers: Done) -> Tries:
    """A turn that goes differently when the same request comes again: ``tries(refuse(500), say("Hello."))``."""
    return Tries(tuple(as_answer(done) for done in answers))


def as_answer(done: Done) -> Answer:
    """What the model does, sent in the usual manner unless it says otherwise."""
    if isinstance(done, Answer):
        return done
    return Answer([done] if isinstance(done, dict) else done)


def turns(*script: Turn, ids: str = OWN_IDS, thoughts: bool = True, summary: str = SUMMARY) -> Turns:
    """A script of turns, from the first for every conversation."""
    return Turns(script, ids, thoughts, summary)


class Turns:
    """Answers the turns of each conversation in order; a request that comes again gets its turn again."""

    def __init__(self, script: Sequence[Turn], ids: str, thoughts: bool, summary: str) -> None:
        self._script, self._ids, self._thoughts, self._summary = script, ids, thoughts, summary
        self._places: dict[str, dict[bytes, int]] = {}
        self._attempts: Counter[bytes] = Counter()

    def __call__(self, request: Request) -> Answer:
        """The turn that a request asks for; a compaction or a title is answered, and is no turn."""
        if request.kind != "turn":
            return self._named(side_answer(request, self._summary), request, request.kind)
        places = self._places.setdefault(request.conversation, {})
        number = places.setdefault(request.mark, len(places))
        if number >= len(self._script):
            raise OffScript(f"the script has {len(self._script)} turns, and turn {number + 1} was asked for")
        done = self._done(self._script[number], request)
        if self._thoughts and done.items and not any(item["type"] == "reasoning" for item in done.items):
            done = done._replace(items=[think(f"This is turn {number}."), *done.items])
        return self._named(done, request, str(number))

    def _done(self, turn: Turn, request: Request) -> Answer:
        """What is done in a turn; how often it was tried before is counted."""
        attempt = self._attempts[request.mark]
        self._attempts[request.mark] += 1
        if isinstance(turn, Tries):
            return turn.answers[min(attempt, len(turn.answers) - 1)]
        return as_answer(turn(request) if callable(turn) else turn)

    def _named(self, given: Answer, request: Request, turn: str) -> Answer:
        """The answer with the ids that it has in this conversation."""
        conversation = hashlib.sha256(request.conversation.encode()).hexdigest()[:8]
        names = (self._ids.format(conversation=conversation, turn=turn, index=index) for index in itertools.count())
        return given._replace(items=[with_ids(item, name) for item, name in zip(given.items, names, strict=False)])


def with_ids(item: Item, name: str) -> Item:
    """An item with ids made of a name, unless it has its own."""
    prefix = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
    kind = item["type"]
    own = {"call_id": f"call_{name}"} if kind.endswith("_call") else {}
    return {"id": f"{prefix.get(kind, 'item')}_{name}", **own, **item}


def side_answer(request: Request, summary: str = SUMMARY) -> Answer:
    """What is answered to a request that is no turn: a summary, a title, or nothing."""
    if request.kind == "thread_title":
        return Answer([say(json.dumps({"title": "Scripted work"}))])
    if request.kind != "compaction":
        return Answer()
    sealed = {"type": "compaction", "encrypted_content": summary}
    if request.wants_history:
        return Answer([*(item for item in request.input if item.get("role") == "user"), sealed])
    if request.wants_sealed_compaction:
        return Answer([sealed])
    return Answer([say(summary)])


def by_text(scripts: Mapping[str, Script]) -> Script:
    """Chooses by the latest user message that holds one of the texts; of several texts in it, the longest decides."""

    def choose(request: Request) -> Answer:
        for text in reversed(request.user_texts):
            if keys := [key for key in scripts if key in text]:
                return scripts[max(keys, key=len)](request)
        raise OffScript(f"no script for {request.user_texts[-1:]}")

    return choose


def always(*items: Item, usage: Usage = TYPICAL, model: str = "scripted", **manner: Any) -> Script:
    """The same answer to every request, encoded once: the requests' bodies are not even decoded."""
    named = [with_ids(item, str(index)) for index, item in enumerate(items)]
    frames = event_frames(named, identity="resp_0", model=model, usage=usage)
    fixed = Answer(named, usage=usage, frames=frames, **manner)
    return lambda request: fixed
