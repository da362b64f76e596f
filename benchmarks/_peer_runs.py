"""Recorded runs for the comparison: the same ones for every tool, in a shape that belongs to none of them."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from execledger.agents.formats import read_run
from execledger.errors import UnreadableRun
from execledger.runs.decoding import text_of
from execledger.runs.find import find_runs
from execledger.runs.recording import Run
from execledger.vocabulary.actions import Action, Command, Edit, Observation, Read, Write

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


class Call(Struct, frozen=True):
    """One tool call, as every driver reads it."""

    turn: int
    """The model call that proposed it, from 0."""
    tool: str
    """The tool: ``bash``, ``Read``, ``Edit``, ``Write``, or the name of another."""
    args: dict[str, Any]
    """Its arguments."""
    output: str
    """What came back, as one text."""
    failed: bool = False
    """It failed, by its exit status or its own word."""
    text: str = ""
    """What the model wrote beside the call, without the command itself; empty where the run does not tell."""


class NeutralRun(Struct, frozen=True):
    """A run, as every driver reads it: one line of JSON."""

    name: str
    """What it is called."""
    task: str
    """The task's text."""
    turns: int
    """How many calls of the model it made; each but the first is a request that holds earlier results."""
    calls: list[Call]
    """Its tool calls, in order."""


class Sampled(Struct, frozen=True):
    """A run and what the model wrote in each of its turns."""

    run: Run
    """The run."""
    texts: tuple[str, ...] = ()
    """One text for each turn; empty where the run does not tell."""

    def neutral(self) -> NeutralRun:
        """The run as drivers read it."""
        calls = [
            Call(
                turn=step.turn,
                tool=tool_of(step.action),
                args=arguments_of(step.action),
                output=result_text(step.observation),
                failed=not step.observation.succeeded,
                text=self.texts[step.turn] if step.turn < len(self.texts) else "",
            )
            for step in self.run.steps
        ]
        return NeutralRun(self.run.name, self.run.task, self.run.turns, calls)


class Sample(Struct):
    """The runs that are compared on."""

    runs: list[Sampled] = field(default_factory=list)
    """In a fixed order."""
    unreadable: int = 0
    """Files that are no runs, or can't be read."""


def tool_of(action: Action) -> str:
    """The name of the tool that an action uses."""
    if action.call is None or isinstance(action.call, Command):
        return "bash"
    if isinstance(action.call, Read | Edit | Write):
        return type(action.call).__name__
    return action.command.partition(" ")[0]


def arguments_of(action: Action) -> dict[str, Any]:
    """The arguments of an action, under the names that agents commonly give them."""
    call = action.call
    if isinstance(call, Read):
        limit = None if call.last is None else call.last - call.first + 1
        return {"file_path": call.path, "offset": call.first, "limit": limit}
    if isinstance(call, Edit):
        return {"file_path": call.path, "old_string": call.old, "new_string": call.new}
    if isinstance(call, Write):
        return {"file_path": call.path, "content": call.content}
    return {"command": action.command}


def result_text(observation: Observation) -> str:
    """A result as one text: what was printed, then what was printed as errors."""
    return "\n".join(part for part in (observation.output, observation.stderr) if part)


def texts_of(data: bytes, turns: int) -> tuple[str, ...]:
    """What the model wrote in each turn, where a run keeps messages or spans; nothing where the turns do not fit."""
    try:
        fields = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return ()
    if not isinstance(fields, dict):
        return ()
    messages = [one for one in fields.get("messages") or () if isinstance(one, dict)]
    spans = [one for one in fields.get("trajectory") or () if isinstance(one, dict)]
    said = [one.get("content") for one in messages if one.get("role") == "assistant"]
    said = said or [one.get("output") for one in spans if one.get("type") == "llm_call"]
    if len(said) != turns:
        return ()
    return tuple(_FENCED.sub("", _words(one)).strip() for one in said)


def _words(content: object) -> str:
    """The text of a message, without its tool calls."""
    if isinstance(content, str):
        return content
    return text_of([one for one in content if isinstance(one, dict)]) if isinstance(content, list) else ""


def sample(paths: list[str], most: int) -> Sample:
    """At most ``most`` runs, as evenly over the formats as there are runs of each.

    Within a format those with the smallest digest of their name are taken: the same ones wherever the files lie.
    """
    made, kept = Sample(), dict[str, list[tuple[str, Sampled]]]()
    for source in find_runs(paths):
        try:
            data = source.read()
            run = read_run(source.name, data)
        except UnreadableRun:
            made.unreadable += 1
            continue
        if not run.steps:
            continue
        own = kept.setdefault(run.format, [])
        own.append((rank(run.name), Sampled(run, texts_of(data, run.turns))))
        if len(own) >= 2 * most:
            own.sort(key=lambda pair: pair[0])
            del own[most:]
    made.runs = shared_out(kept, most)
    return made


def rank(name: str) -> str:
    """Where a run stands in its format: by the digest of its name, without the place that it was found at."""
    place = name.partition("!")[2] or name.rpartition("/")[2]
    return hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()


def shared_out(kept: dict[str, list[tuple[str, Sampled]]], most: int) -> list[Sampled]:
    """Runs of every format in turn, until there are enough or no more."""
    queues = [iter(sorted(kept[name], key=lambda pair: pair[0])) for name in sorted(kept)]
    taken: list[Sampled] = []
    while queues and len(taken) < most:
        for queue in list(queues):
            if len(taken) == most:
                break
            if (pair := next(queue, None)) is None:
                queues.remove(queue)
            else:
                taken.append(pair[1])
    return taken


def encoded(runs: list[Sampled]) -> Iterator[bytes]:
    """The lines that drivers read. A name that is no valid text is replaced: it is not asked for again."""
    for number, one in enumerate(runs):
        neutral = one.neutral()
        yield msgspec.json.encode(msgspec.structs.replace(neutral, name=str(number))) + b"\n"


def progress(what: str) -> None:
    """Say what is being done, on a line of its own that the next one takes; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)
