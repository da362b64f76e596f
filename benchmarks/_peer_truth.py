"""Which calls of a recorded run were redundant: the truth that every tool of the comparison is held against.

A call is redundant if nothing that it returned was new to the model. Each call is judged by what was recorded, with
every earlier result of its conversation in full view since the last compaction, and by no decision of any tool:

``repeat``
    A command that only looks, whose whole result is byte for byte that of an earlier call: of the same command, or of
    any other if it has at least three lines (short answers are equal by chance).
``covered``
    A read of one file whose every line was shown at the same place by earlier reads of that file, in runs of at least
    three lines, in at most three results, with its number if the command prints it, and with nothing newer against it.
``rerun``
    Any other command, of the same normal form and with the same result as the last time, durations apart, and nothing
    in between is known to have edited or installed anything: a script that fails once more in the same way.

A result of which not all was recorded proves nothing. An empty one says little: it is the same only as the last time,
with no edit in between, and nothing if the command is an edit itself. Two commands are the same if the shell would cut
them into the same words; a leading ``cd`` into a folder is no part of the command.
Shared with Ledger is only how a command is read (does it look, edit or neither, and which lines does it ask for).
"""

from __future__ import annotations

import re
import shlex
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from benchmarks.audit import Earlier, coverable, identical, placed
from execledger.core.classify import classify
from execledger.runs.recording import Recorded, Run
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.records import Category, CommandRecord, Effects

Kind: TypeAlias = Literal["", "repeat", "covered", "rerun"]
KINDS: tuple[Kind, ...] = ("repeat", "covered", "rerun")
MIN_LINES = 3
"""How many lines two results of different commands must have to be called the same one."""
_CD = re.compile(r"\s*cd\s+[^\s;&|<>()$`]+\s*(?:&&|;)\s*")
_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|sec|secs|seconds?)\b")
_LOOKS = (Category.INSPECT, Category.SEARCH)
_CHANGES = (Category.MODIFY, Category.SETUP)


class Past(Struct):
    """The earlier calls of one conversation that are still in view."""

    results: list[Earlier] = field(default_factory=list)
    """Their results."""
    last: dict[str, Earlier] = field(default_factory=dict)
    """The last result of each command, by its normal form, with nothing edited since."""
    forms: dict[int, str] = field(default_factory=dict)
    """The normal form of each call."""


def normal_form(command: str) -> str:
    """A command in one spelling; text that the shell's rules of quoting do not cut into words stays as it is."""
    bare = _CD.sub("", command, count=1) if _CD.match(command) else command
    if "\n" in bare.strip():
        return bare.strip()
    try:
        return shlex.join(shlex.split(bare))
    except ValueError:
        return bare.strip()


def empty(observation: Observation) -> bool:
    """Nothing came back."""
    return not (observation.output.strip() or observation.stderr.strip())


def looks_only(record: CommandRecord) -> bool:
    """The command is a look at something, and changes nothing."""
    return record.category in _LOOKS and record.effects is Effects.NONE and not record.background


def changes(record: CommandRecord) -> bool:
    """The command is known to change something."""
    return record.category in _CHANGES or record.effects is Effects.LISTED


def steady(observation: Observation) -> Observation:
    """A result without its durations."""
    return replace(observation, output=_DURATION.sub("", observation.output))


def judged(own: Earlier, form: str, record: CommandRecord, past: Past) -> Kind:
    """What kind of redundant a call is; "" if it is none."""
    result, before = own.observation, past.last.get(form)
    if result.truncated or (before is not None and before.observation.truncated):
        return ""
    again = before is not None and identical(steady(before.observation), steady(result))
    if empty(result) and (changes(record) or not again):
        return ""
    if not looks_only(record):
        return "rerun" if again else ""
    if empty(result) or seen_before(own, form, past):
        return "repeat"
    return "covered" if result.succeeded and coverable(own, past.results) else ""


def seen_before(own: Earlier, form: str, past: Past) -> bool:
    """The same bytes came from the same command, or are too many to be the same by chance."""
    long = len(own.observation.output.splitlines()) >= MIN_LINES
    candidates = (one for one in past.results if long or past.forms[one.index] == form)
    return any(identical(one.observation, own.observation) for one in candidates if not one.observation.truncated)


def truth(run: Run) -> tuple[Kind, ...]:
    """What every call of a run is."""
    found: list[Kind] = []
    pasts: dict[str, Past] = {}
    waiting: list[tuple[Past, Earlier, str, CommandRecord]] = []
    turn = -1
    for index, recorded in enumerate(run.steps):
        if index in run.compactions:
            pasts.clear()
            waiting.clear()
        # Calls of one turn that ran side by side were all made before any of their results was seen.
        if recorded.turn != turn or not run.parallel:
            turn = recorded.turn
            for past, own, form, record in waiting:
                remember(past, own, form, record)
            waiting.clear()
        past = pasts.setdefault(recorded.action.thread, Past())
        own, form, record = result_of(index, recorded)
        found.append("" if recorded.inherits is not None else judged(own, form, record, past))
        waiting.append((past, own, form, record))
    return tuple(found)


def result_of(index: int, recorded: Recorded) -> tuple[Earlier, str, CommandRecord]:
    """A call's result with the lines that it shows, its normal form, and what it does."""
    record = classify(recorded.action)
    return placed(index, record.view, recorded.observation), normal_form(recorded.action.command), record


def remember(past: Past, own: Earlier, form: str, record: CommandRecord) -> None:
    """Add a result to what is in view."""
    if changes(record):
        past.last.clear()
    past.results.append(own)
    past.forms[own.index] = form
    past.last[form] = own
