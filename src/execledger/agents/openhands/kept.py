"""The files that OpenHands keeps: folders with one file for each event, and files with one run in each line."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from msgspec import Raw

from execledger.runs.decoding import fields_of
from execledger.runs.find import Bundle, Kept, Part

_EVENT = re.compile(r"(?:event-)?(\d+)(?:-[\w-]+)?\.json")
"""The name of a file that holds one event."""
STATE = "base_state.json"
"""The file with the state of a conversation; it also has settings, which are not read."""
_FIRST_LINE = 100_000_000
"""Bytes of a file's first line that are examined: a foreign file may be one line of any length."""


def is_instance(fields: Mapping[str, Raw]) -> bool:
    """Whether these are the fields of one run of the evaluation harness, which writes many to a file."""
    return "history" in fields and bool(fields.keys() & {"instance_id", "instruction", "metrics"})


def instances(file: BinaryIO) -> Iterator[tuple[str, int, int]]:
    """Name, start and size of every run in a file with one run per line; nothing if the first line is no such run.

    A line that can't be read is named by its number; a repeated name gets a number appended.
    """
    first = fields_of(file.readline(_FIRST_LINE))
    file.seek(0)
    if not is_instance(first):
        return
    seen: Counter[str] = Counter()
    start = 0
    for number, line in enumerate(file, 1):
        if line.strip():
            name = _instance_id(line) or f"line {number}"
            seen[name] += 1
            yield name if seen[name] == 1 else f"{name}#{seen[name]}", start, len(line)
        start += len(line)


def _instance_id(line: bytes) -> str:
    """The instance that a line is about; "" if it names none."""
    told = bytes(fields_of(line).get("instance_id", b""))
    return told[1:-1].decode("utf-8", "replace") if told.startswith(b'"') and b"\\" not in told else ""


def _runs(file: BinaryIO) -> Iterator[Part]:
    """The runs in a file of the evaluation harness."""
    path = getattr(file, "name", None)
    data = None if path is not None else file.read()
    file.seek(0)
    for name, start, size in instances(file):
        if data is not None:
            yield name, partial(_piece, data, start, size)
        else:
            yield name, partial(_slice, str(path), start, size)


def _piece(data: bytes, start: int, size: int) -> bytes:
    """One line of a content."""
    return data[start : start + size]


def _slice(path: str, start: int, size: int) -> bytes:
    """One line of a file."""
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(size)


def _event_folder(folder: str, names: Sequence[str]) -> Callable[[], bytes] | None:
    """What reads a folder of events; None if it is no such folder."""
    if os.path.basename(os.path.abspath(folder)) != "events" or not names or not all(map(_EVENT.fullmatch, names)):
        return None
    return partial(_events, folder, names)


def _events(folder: str, names: Sequence[str]) -> bytes:
    """The events of a folder in their order, one to a line; behind them, tokens and status of the conversation."""
    numbered = sorted((int(found[1]), name) for name in names if (found := _EVENT.fullmatch(name)))
    parts = [Path(folder, name).read_bytes() for _, name in numbered]
    # JSON has line breaks between values only.
    return b"".join(part.replace(b"\n", b" ") + b"\n" for part in (*parts, *_state(Path(folder))))


def _state(events: Path) -> Iterator[bytes]:
    """What the CLI keeps in a file beside the folder of events, in the shape of the events that report such changes."""
    with suppress(OSError):
        state = fields_of((events.parent / STATE).read_bytes())
        for key in ("stats", "execution_status"):
            if key in state:
                value = bytes(state[key])
                yield b'{"kind": "ConversationStateUpdateEvent", "key": "%b", "value": %b}' % (key.encode(), value)


KEPT = Kept(
    bundles=(Bundle(endings=(".jsonl",), runs=_runs),),
    folders=(_event_folder,),
    # The second one repeats the events beside it.
    beside=frozenset({STATE, "event_cache"}),
)
"""What OpenHands keeps beyond one file for each run."""
