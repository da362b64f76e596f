"""``read_file`` as Codex has it, written down from its source and not from Ledger's reading of it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from random import Random

from execledger.session.adapter import ToolCall
from tests.support.believer.displays import Line, Piece, Span, split

LONGEST = 500
"""Bytes of a line that are shown."""


@dataclass(frozen=True)
class FileRead:
    """One call of the tool: ``count`` lines from ``first`` on."""

    path: Path
    first: int
    count: int
    block: bool = False
    """It asks for a block of some indentation instead, and gets about as many lines around the first one."""
    spelled: bool = True
    """Both numbers are written out."""

    @property
    def call(self) -> ToolCall:
        given: dict[str, object] = {"file_path": str(self.path)}
        if self.spelled:
            given |= {"offset": self.first, "limit": self.count}
        if self.block:
            given["mode"] = "indentation"
        return ToolCall("read_file", json.dumps(given))

    @property
    def command(self) -> str:
        """The call as the model wrote it."""
        return f"read_file {json.dumps(json.loads(self.call.text), sort_keys=True, separators=(',', ':'))}"

    def answer(self) -> str:
        """What the tool says."""
        try:
            lines = split(self.path.read_bytes().decode("utf-8", "replace"))
        except OSError as error:
            return f"failed to read file: {error.strerror} (os error {error.errno})"
        if self.first > len(lines):
            return "offset exceeds file length"
        return "\n".join(f"L{number}: {_cut(_bare(lines[number - 1]))}" for number in self._chosen(len(lines)))

    def _chosen(self, total: int) -> list[int]:
        first = max(1, self.first - self.count // 2) if self.block else self.first
        return list(range(first, min(first + self.count - 1, total) + 1))

    def display(self) -> Piece:
        """Which lines of the file that shows; one that is cut is none of them."""
        text = self.path.read_bytes().decode("utf-8", "replace")
        lines = split(text)
        if self.first > len(lines):
            raise OSError("nothing is shown")
        numbers = self._chosen(len(lines))
        shown: list[Line] = []
        for number in numbers:
            said, last = _bare(lines[number - 1]), number == numbers[-1]
            end = "" if last else "\n"
            printed = f"L{number}: {_cut(said)}{end}"
            whole = said == _cut(said)
            shown.append(Line(number, said + end, number, printed, last) if whole else Line(0, "", None, printed))
        ended = not self.block and len(numbers) < self.count and shown[-1].number > 0
        selection = Span(self.first, self.first + self.count - 1)
        names = os.path.realpath(self.path), os.path.abspath(self.path)
        return Piece(names[0], tuple(shown), selection, ended, file=text, name=names[1])


def _bare(line: str) -> str:
    """A line without its end."""
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def _cut(text: str) -> str:
    """As much of a line as is shown."""
    return text.encode()[:LONGEST].decode("utf-8", "ignore")


def file_read(random: Random, path: Path, first: int, last: int) -> FileRead:
    """A call about these lines, of the forms that models write."""
    kind = random.random()
    if kind < 0.25:
        return FileRead(path, 1, 2000, spelled=False)
    if kind < 0.35:
        return FileRead(path, first, 2000)
    return FileRead(path, first, last - first + 1, block=kind > 0.93)
