"""Codex's own tools that look at files: ``read_file``, ``grep_files`` and ``list_dir``.

Older versions have them, for models whose entry in the catalog lists them as ``experimental_supported_tools``: the
first two up to 0.116, the last one up to 0.128. ``read_file`` answers ``L12: text`` for each line, cut at 500 bytes and
joined with newlines, ``grep_files`` the paths of files, ``list_dir`` a folder and what is in it. Any other answer is a
complaint.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from execledger.agents.codex.commands import arguments
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Aside, Call, Observation, Read, Search

READ, GREP, LIST = "read_file", "grep_files", "list_dir"
LOOKS = frozenset((READ, GREP, LIST))
"""The tools: they change nothing."""
LONGEST_LINE = 500
"""Bytes of a line that ``read_file`` shows; a character that would go beyond is left out whole."""
CERTAIN = LONGEST_LINE - 4
"""A line of at most so many bytes was not cut."""

_ANSWERS = {
    READ: re.compile(r"L\d{1,18}: "),
    GREP: re.compile(r"No matches found\.\Z|(?:/[^\n]*(?:\n|\Z))+\Z"),
    LIST: re.compile(r"Absolute path: /"),
}
"""What an answer begins with, or is, if it is no complaint."""
_NOTED = {READ: "file_path", GREP: "path", LIST: "dir_path"}
"""The argument of each tool that a note is put into."""

Count: TypeAlias = Annotated[int, Meta(ge=1, le=2**53)]
"""A number from 1 on; others are refused by the tools, or are no sensible number."""


class _ReadFile(Struct, frozen=True, forbid_unknown_fields=True):
    file_path: str
    offset: Count = 1
    limit: Count = 2000
    mode: Literal["slice", "indentation"] = "slice"
    indentation: Any = None


class _GrepFiles(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    include: str | None = None
    path: str | None = None
    limit: Count = 100


class _ListDir(Struct, frozen=True, forbid_unknown_fields=True):
    dir_path: str
    offset: Count = 1
    limit: Count = 25
    depth: Count = 2


def look_of(call: ToolCall) -> Call:
    """What a call of these tools looks at; an aside if its arguments are not all known and right."""
    if call.name == READ and (read := arguments(call.text, _ReadFile)) is not None:
        return _read(read)
    if call.name == GREP and (grep := arguments(call.text, _GrepFiles)) is not None:
        return Search(grep.path or "") if grep.pattern.strip() else Aside()
    if call.name == LIST and (listed := arguments(call.text, _ListDir)) is not None:
        return Search(listed.dir_path) if listed.dir_path.startswith("/") else Aside()
    return Aside()


def _read(given: _ReadFile) -> Call:
    """The lines that are asked for; which ones a block of some indentation has, only the file tells."""
    if not given.file_path.startswith("/"):
        return Aside()
    if given.mode == "indentation" or given.indentation is not None:
        return Search(given.file_path, shows=True)
    last = given.offset + given.limit - 1
    return Read(given.file_path, given.offset, last, numbering=": ", prefix="L", form=READ)


def looked(call: ToolCall, shown: Observation) -> Observation:
    """The answer to a call of these tools: a complaint is a failure, and lines that may have been cut are left out."""
    if shown.truncated and shown.cut is None:
        return shown
    if not _ANSWERS[call.name].match(shown.output):
        return replace(shown, failed=True)
    return _without_cut_lines(shown) if call.name == READ else shown


def _without_cut_lines(shown: Observation) -> Observation:
    """Marked as cut behind the one line that may have been; with more such lines, the place of the gap is unknown."""
    gaps: list[int] = []
    at = 0
    for line in shown.output.split("\n"):
        at += len(line)
        if len(line.partition(": ")[2].encode("utf-8", "surrogatepass")) > CERTAIN:
            gaps.append(at)
        at += 1
    if not gaps:
        return shown
    return replace(shown, cut=gaps[0] if shown.cut is None and len(gaps) == 1 else None, truncated=True)


def noted(name: str, note: str) -> dict[str, object]:
    """Arguments that the tool refuses before it looks at anything, and that hold ``note``."""
    return {"pattern": "", _NOTED[name]: note} if name == GREP else {_NOTED[name]: note}


def note_in(name: str, given: dict[str, object]) -> str:
    """The note in such arguments; "" if they are others."""
    note = given.get(_NOTED[name])
    return note if isinstance(note, str) and given == noted(name, note) else ""
