"""Typed decoding that says where in a file the trouble is.

Only the fields named in a type are built; the rest of a file, often most of it, is skipped at reading speed.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from execledger.errors import UnreadableRun

T = TypeVar("T")


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
