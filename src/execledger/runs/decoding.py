"""What the readers of all formats share: decoding that says where an error is, names of tasks, trimmed outputs.

Only the fields named in a type are built; the rest of a file, often most of it, is skipped at reading speed. Lone
surrogates and bytes that are not UTF-8 are read as U+FFFD, and ``NaN`` and infinities as ``null``; a text is searched
for them only where it can't be decoded as it is.
"""

from __future__ import annotations

import io
import re
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from execledger.core.classify import classify
from execledger.core.lines import split_lines
from execledger.errors import ReaderFault, UnreadableRun
from execledger.journal.reader import valid_utf8
from execledger.redact import redact
from execledger.runs.json_surrogates import replace_surrogates
from execledger.shell.ranges import size
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.records import CommandRecord

T = TypeVar("T")
_TEXT_PARTS = (None, "text", "output_text", "input_text")
_LATEST = 1e11
"""Seconds since 1970 that no run reaches: a larger number is one of milliseconds."""
MAX_BYTES = 1_000_000_000
"""Bytes of a file that is taken for one run: runs are far smaller, and a file is read into memory as a whole."""
TOO_LARGE = "does not fit into memory"
"""What is said of a file that is too much for this machine."""
_SAID = 200
"""Characters of an error that are shown."""
TOO_DEEP = "found values nested too deeply"
"""What is said of a value that no decoder follows to its end."""
_NO_NUMBER = re.compile(rb'("(?:[^"\\]|\\.)*+"?)|-?(?:NaN|Infinity)', re.DOTALL)
"""A text, which stays as it is, or a number that Python writes and JSON does not have.

A torn text ends with the file: else it would be searched for anew from each quote in it.
"""
FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
"""Takes an object apart into its fields, none of which is looked at."""


class Undecodable(UnreadableRun):
    """A value of a run is no JSON, or not of the expected types."""


def decode(name: str, data: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T], where: str) -> T:
    """Decode one value of the run ``name``; ``where`` is its place there, for the message if it can't be done."""
    try:
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if isinstance(error, msgspec.ValidationError) or (text := repaired(bytes(data))) is None:
                raise
            return decoder.decode(text)
    except msgspec.ValidationError as error:
        complaint, _, path = str(error).partition(" - at `$")
        place = (where + path.rstrip("`")).removeprefix(".") or "the top"
        raise Undecodable(name, f"{complaint[0].lower()}{complaint[1:]}, at {place}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Undecodable(name, f"expected JSON, found: {error}") from error


def repaired(text: bytes) -> bytes | None:
    """A JSON text with U+FFFD for lone surrogates and for bytes that are not UTF-8, and with null for numbers that are
    none; None if it has nothing of these."""
    found = replace_surrogates(valid_utf8(text))
    if b"NaN" in found or b"Infinity" in found:
        found = _NO_NUMBER.sub(lambda match: match[1] or b"null", found)
    return found if found != text else None


def text_of(content: object) -> str:
    """The text of a message's content: itself, or its text parts one after the other; images and the like have none."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(map(text_of, content))
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content"))
    return ""


def written_text(content: object) -> str:
    """The text parts of an answer of the model, one after the other; parts of other types, such as calls, have none."""
    if not isinstance(content, list):
        return content.strip() if isinstance(content, str) else ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS)
    return joined_text(*(part.get("text") for part in parts))


def joined_text(*texts: object) -> str:
    """Texts of one answer with a blank line between them; what is empty or no text is left out."""
    return "\n\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())


def moment_of(value: object) -> float | None:
    """A time in seconds since 1970, from ISO 8601 (UTC where it names no zone), seconds or milliseconds; else None."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return seconds_of((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    # Larger numbers still are no times, and may be too large to be divided.
    milliseconds = isinstance(value, int | float) and _LATEST <= value < 1000 * _LATEST
    return seconds_of(value / 1000 if milliseconds else value)  # type: ignore[operator]


def seconds_of(value: object) -> float | None:
    """A duration in seconds; None for what is no number, and for 0, by which agents say that nothing was measured."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < _LATEST else None


def lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; a last line that was not written to its end is left out."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.strip(b"\0 \t\r\n"):
            continue
        if not line.endswith(b"\n") and not fields_of(line):
            return
        yield number, line


def read_lines(name: str, data: bytes, take: Callable[[bytes], None], lose: Callable[[], None]) -> tuple[str, ...]:
    """Read the lines of the run ``name``, those that can't be decoded left out; gives the sentence about these.

    ``take`` takes in one line, and ``lose`` notes that one is missing: what it said is unknown. If not a single line
    can be decoded, that is an error.
    """
    read, left_out, first = 0, 0, ""
    for number, line in lines_of(data):
        try:
            take(line)
        except (Undecodable, RecursionError) as error:
            reason = error.reason if isinstance(error, Undecodable) else TOO_DEEP
            first = first or f"line {number}: {reason}"
            left_out += 1
            lose()
        else:
            read += 1
    if left_out and not read:
        raise Undecodable(name, first)
    if left_out > 1:
        return (f"{left_out:,} lines can't be read and were left out, the first of them {first}",)
    return (f"one line can't be read and was left out, {first}",) if left_out else ()


def fields_of(line: bytes) -> dict[str, msgspec.Raw]:
    """The fields of a line that is an object; none if it is anything else."""
    try:
        return decode("", line, FIELDS, "")
    except (Undecodable, RecursionError):
        return {}


def is_torn(line: bytes, fields: dict[str, msgspec.Raw]) -> bool:
    """Whether a line without ``fields`` begins like one of a file with an object on each line."""
    return not fields and line.startswith(b'{"')


def reader_fault(name: str, error: Exception) -> ReaderFault:
    """The error for a run that can't be read because of ``error``, a fault of Ledger's own."""
    said = f"{type(error).__name__}: {redact(str(error))[:_SAID]}"
    for frame in traceback.extract_tb(error.__traceback__)[-1:]:
        said += f", in {'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}"
    return ReaderFault(name, f"a fault of execledger's own, please report: {said}")


def spelled(value: object) -> str:
    """One fixed spelling of a JSON value."""
    return msgspec.json.encode(value, order="sorted").decode()


_INSTANCE = re.compile(r"(?:instance_)?([A-Za-z0-9][A-Za-z0-9.-]*__(?!.*__)[A-Za-z0-9][\w.-]*-\d+)")
_ENDINGS = re.compile(r"(?:\.(?:run\w+|traj|trajectory|json|jsonl|events))+")


def instance_of(name: str, *told: object) -> str:
    """The task that a run is about: as it says itself, else by the name of its file or of a folder around it."""
    for word in told:
        if isinstance(word, str) and word:
            return word
    for part in reversed(re.split(r"[/!\\]", name)):
        stem = _ENDINGS.split(part, maxsplit=1)[0]
        if found := _INSTANCE.fullmatch(stem):
            return found[1]
    return ""


@lru_cache(maxsize=1)
def classified(action: Action) -> CommandRecord:
    """What a shell command does by its words alone; reading one result may ask more than once."""
    return classify(action)


def trimmed(action: Action, observation: Observation) -> Observation:
    """The result of a shell command whose output was trimmed, marked as cut where that leaves its lines in doubt.

    Blank lines at both ends are gone, and their number is unknown. A read to the end of a file still shows all its
    lines. One that was to stop earlier and shows fewer lines than were asked for may have met the end of the file, or
    begun or ended with blank lines: its lines were shown, but which they are is not claimed. Printed line numbers
    settle the matter by themselves.
    """
    if action.call is not None or not observation.output:
        return observation
    view = classified(action).view
    if view is None or view.numbering:
        return observation
    asked = size(view.ranges[0]) if len(view.ranges) == 1 else sum(size(lines) or 0 for lines in view.ranges)
    certain = asked is None or asked == len(split_lines(observation.output))
    if certain and not observation.truncated:
        return observation
    # A gap before all of it: the line numbers are unknown.
    return replace(observation, cut=None if observation.truncated else 0, truncated=True)
