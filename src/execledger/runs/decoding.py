"""Typed decoding that says where in a file the trouble is.

Only the fields named in a type are built; the rest of a file, often most of it, is skipped at reading speed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from execledger.errors import UnreadableRun

T = TypeVar("T")
MAX_BYTES = 1_000_000_000
"""Bytes of a file that is taken for one run: runs are far smaller, and what is read stands in memory as a whole."""
TOO_LARGE = "does not fit into memory"
"""What is said of a file that is too much for this machine."""
FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
"""Takes an object apart into its fields, none of which is looked at."""


def decode(name: str, data: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T], where: str) -> T:
    """Decode one value of the run ``name``; ``where`` is its place there, for the message if it can't be done."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        complaint, _, path = str(error).partition(" - at `$")
        place = (where + path.rstrip("`")).removeprefix(".") or "the top"
        raise UnreadableRun(name, f"{complaint[0].lower()}{complaint[1:]}, at {place}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableRun(name, f"expected JSON, found: {error}") from error


def text_of(content: object) -> str:
    """The text of a message's content: itself, or its text parts one after the other; images and the like have none."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(map(text_of, content))
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content"))
    return ""


def lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; a last line that was not written to its end is left out."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.strip(b"\0 \t\r\n"):
            continue
        if not line.endswith(b"\n"):
            try:
                FIELDS.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                return
        yield number, line


def decode_line(name: str, number: int, line: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode one line, or a part of it; the message if it can't be done names the line."""
    try:
        return decode(name, line, decoder, "")
    except UnreadableRun as error:
        raise UnreadableRun(name, f"line {number}: {error.reason}") from error


def fields_of(line: bytes) -> dict[str, msgspec.Raw]:
    """The fields of a line that is an object; none if it is anything else."""
    try:
        return FIELDS.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def spelled(value: object) -> str:
    """One fixed spelling of a JSON value."""
    return msgspec.json.encode(value, order="sorted").decode()
