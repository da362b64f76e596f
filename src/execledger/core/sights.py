"""Single lines of files that a result shows with their places: hits of a search, hunks of a diff, an edit's echo.

No reference points at them, but they count as seen: what they show differently ends what an older result showed there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from execledger.core.lines import MAX_RESULT
from execledger.vocabulary.actions import Action, Edit, Patch, Search, Write
from execledger.vocabulary.records import Category, CommandRecord

SEARCHES = re.compile(r"\b(?:\w*grep|rg|ag|ack)\b")
"""A command with a search in it."""
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\$`]|\\.)*\"")
"""A quoted word in which the shell replaces nothing."""
PLAIN_SEARCH = re.compile(
    r"(?:cd [\w./-]+ && )?(?:git )?[ef]?grep(?=.* -\w*n)"
    r"(?: -[nrRiIEFGPwxHs]+| -[ABC] ?\d+| --(?:include|exclude|exclude-dir)=[\w./-]+| (?!-)[\w./,:=@%+-]+)+"
    r"(?: 2>/dev/null)?(?: \| (?:head|tail)(?: -n)?(?: -?\d+)?)?"
)
"""One search that prints whole lines with their numbers, the quoted words in it replaced by plain ones."""
SHOWS_LINES = re.compile(r"\b(?:\w*grep|rg|ag|ack|git|diff|cmp|comm)\b")
"""A command with a program in it that shows lines of files and is no plain reader."""
WITHOUT_NAMES = re.compile(r" -\w*[hI]| --no-filename")
"""An option of a search that leaves the names of files out."""
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
    elif searches(action):
        yield from _hits(output)
    if "\n@@ -" in output:
        yield from _hunks(output)


def searches(action: Action) -> bool:
    """It is a search, or a command with one in it."""
    return isinstance(action.call, Search) or bool(SEARCHES.search(action.command))


def nameless(action: Action, record: CommandRecord) -> bool:
    """It may show lines of files that neither its words nor its output name."""
    looks = record.category in (Category.SEARCH, Category.INSPECT) and SHOWS_LINES.search(action.command)
    if not looks or action.call is not None:
        return False
    return not record.literal or bool(WITHOUT_NAMES.search(action.command))


def all_placed(action: Action, output: str) -> bool:
    """Every line of the output is a hit of one plain search, so ``sights`` accounts for all of it."""
    command = " ".join(QUOTED.sub("q", action.command).split())
    plain = action.call is None and PLAIN_SEARCH.fullmatch(command)
    if len(output) > MAX_RESULT or not (plain or isinstance(action.call, Search)):
        return False
    lines = [line for line in output.split("\n") if line and line != "--"]
    hits = list(map(HIT.match, lines))
    # Among lines of context of several files, the boundary between name and text is ambiguous.
    alike = len({bool(hit and hit[1]) for hit in hits}) == 1
    return alike and (all(hits) or sum(1 for _ in _hits(output)) == len(lines))


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
