"""The editor tool that several agents share, called ``str_replace_editor`` or ``file_editor``.

One command looks at a file as ``cat -n`` would, the others change it. Of a file that is too long only a part is shown;
where that is cut in the middle, the numbers behind the gap are not the file's.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.lines import split_lines
from execledger.vocabulary.actions import Call, Edit, Observation, OtherTool, Read, Write

_HEADER = re.compile(r"Here's the result of running `cat -n` on [^\n]*:\n")
_CLIPPED = re.compile(r"<response clipped>(?:<NOTE>.*?</NOTE>)?", re.DOTALL)
_ABBREVIATED = re.compile(r"<NOTE>This file is too large to display entirely\.")
_NUMBER = re.compile(r" *\d+[\t→]")


class EditorCall(Struct, frozen=True):
    """The arguments of the tool."""

    command: str
    """What to do: ``view``, ``create``, ``str_replace``, ``insert`` or ``undo_edit``."""
    path: str
    """The file, or the folder to list."""
    file_text: str | None = None
    """What a new file holds."""
    old_str: str | None = None
    """The text to replace."""
    new_str: str | None = None
    """The text to put in its place, or to insert."""
    view_range: list[int] | None = None
    """The first and the last line to show; the last may be -1, the end of the file."""


def editor_call(given: EditorCall) -> Call:
    """What the tool would do."""
    if given.command == "view":
        first, last = given.view_range if given.view_range and len(given.view_range) == 2 else (1, -1)
        if first < 1 or last < -1:
            return OtherTool()
        return Read(given.path, first, None if last == -1 else last, numbering="\t")
    if given.command == "create":
        return Write(given.path, given.file_text or "")
    if given.command in ("str_replace", "insert", "undo_edit"):
        return Edit(given.path, given.old_str or "", given.new_str or "")
    return OtherTool()


def viewed(read: Read, text: str) -> Observation:
    """What the tool shows of a file."""
    header = _HEADER.match(text)
    if header is None:
        # A folder, a picture, or a complaint.
        return Observation(text, truncated=bool(_CLIPPED.search(text)))
    body = text[header.end() :]
    if clip := _CLIPPED.search(body):
        head, rest = body[: clip.start()], body[clip.end() :]
        if rest.strip():
            return Observation(body, notice=header[0], truncated=True)
        return Observation(head, notice=header[0] + clip[0], cut=len(head), truncated=True)
    return without_phantom(read, Observation(body, notice=header[0], truncated=bool(_ABBREVIATED.search(body))))


def without_phantom(read: Read, observation: Observation, *, at_end: bool | None = None) -> Observation:
    """Without the number behind the last line: a file that ends with a line break has no such line.

    It is there only if the end of the file was reached; ``at_end`` says so, where that is known.
    """
    lines = split_lines(observation.output)
    if at_end is None:
        at_end = read.last is None or len(lines) < read.last - read.first + 1
    if observation.truncated or not lines or not at_end or not _NUMBER.fullmatch(lines[-1]):
        return observation
    return replace(observation, output="".join(line + "\n" for line in lines[:-1]))
