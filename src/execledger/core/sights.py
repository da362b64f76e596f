"""Single lines of files that a result shows with their places: hits of a search, hunks of a diff, an edit's echo.

No reference points at them, but they count as seen: what they show differently ends what an older result showed there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from execledger.core.actions import Action, Edit, Patch, Search, Write
from execledger.core.lines import MAX_RESULT

SEARCHES = re.compile(r"\b(?:\w*grep|rg|ag|ack)\b")
"""A command with a search in it."""
HIT = re.compile(r"(?:([^:]+):)?(\d{1,9}):(.*)")
"""A line of ``grep -n``."""
BESIDE = re.compile(r"(^|-)(\d{1,9})-")
"""The line number in a line of context: behind the file's name, if there is one."""
MAX_NAME = 400
"""Characters of a file's name in a line of context."""
HUNK = re.compile(r"@@ -\d{1,9}(?:,\d{1,9})? \+(?P<first>\d{1,9})(?:,\d{1,9})? @@")
"""The head of a hunk in a unified diff."""
ECHO = re.compile(r"^ *(?P<place>\d{1,9})[\t→](?P<text>.*)$", re.MULTILINE)
"""A line of the snippet that an edit tool shows of its work."""
Sight = tuple[str, int, str]
"""A file as it is named, "" if it is not; a line number; and the text that is shown there."""


def sights(action: Action, output: str) -> Iterator[Sight]:
    """The single lines that an output shows with their places."""
    if len(output) > MAX_RESULT:
        return
    if isinstance(action.call, Edit | Write | Patch):
        yield from (("", int(found["place"]), found["text"]) for found in ECHO.finditer(output))
    elif isinstance(action.call, Search) or SEARCHES.search(action.command):
        yield from _hits(output)
    if "\n@@ -" in output:
        yield from _hunks(output)


def _hits(output: str) -> Iterator[Sight]:
    """The lines of a search, and those of its context."""
    lines = output.split("\n")
    hits = [HIT.match(line) for line in lines]
    names = {found[1] or "" for found in hits if found}
    for line, hit in zip(lines, hits, strict=True):
        if hit:
            yield hit[1] or "", int(hit[2]), hit[3]
            continue
        for found in BESIDE.finditer(line, 0, MAX_NAME):
            name = line[: found.start()]
            if name in names:
                yield name, int(found[2]), line[found.end() :]


def _hunks(output: str) -> Iterator[Sight]:
    """The new side of a unified diff."""
    name, place = "", 0
    for line in output.split("\n"):
        if line.startswith("+++ "):
            name, place = line[4:].split("\t")[0].removeprefix("b/"), 0
        elif hunk := HUNK.match(line):
            place = int(hunk["first"])
        elif place and line[:1] in ("+", " "):
            yield name, place, line[1:]
            place += 1
        elif not line.startswith(("-", "\\")):
            place = 0
