"""From the output of a command back to lines of files: which lines it shows, and at which line numbers.

- ``returned`` reads a command that shows lines of one file and nothing else (a ``View``): the lines that were really
  returned, with a hole where the middle of the output was left out.
- ``lines_shown`` does the same for an output in which references may replace some lines.
- ``placed_lines`` reads outputs that show single lines with their numbers: hits of a search, hunks of a diff, the echo
  of an edit. No reference points at them, but they contradict older results that show another text at that place.
- A journal keeps no secrets. A line that it withholds is known by its digest: ``with_marks`` puts a mark in its place,
  and the same line gets the same mark wherever it occurs, so that a ledger that was rebuilt from a journal compares
  lines as the live one did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, count

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.fingerprint import digest
from execledger.shell import ranges
from execledger.vocabulary.actions import Action, Command, Edit, Observation, Patch, Search, Write
from execledger.vocabulary.decisions import Shown
from execledger.vocabulary.records import CHANGED, Category, CommandRecord, Lines, View

COMPLAINT = re.compile(
    r"^[\w./ -]+: .*(?:No such file or directory|(?:Is|Not) a directory|Permission denied|cannot open|can't read"
    r"|not found|Not found|binary file matches|invalid option|warning: setlocale)|^Binary file .* matches$"
    r"|^[\w./ -]+: (?:line \d+: )?cd: ",
    re.MULTILINE,
)
"""An error message of a reader; in a pipeline it can occur in the output of a command that reports success."""


MAX_NUMBER = 18
"""Characters of a line number; longer digits are not one."""
MAX_INDEXED = 200_000
"""Characters of an output beyond which its lines are not indexed: it neither covers nor is covered."""


class Returned(Struct, frozen=True):
    """Lines of one file that a result shows."""

    texts: tuple[tuple[str, ...], ...]
    """The lines as they are in the file, one tuple per contiguous piece of output."""
    numbers: tuple[tuple[int, ...] | None, ...]
    """The printed line numbers of each piece; None if it prints none."""
    ranges: tuple[Lines, ...]
    """The lines of the file that were certainly returned, ascending; negative ones count from the end."""
    end: int | None
    """The number of the file's last line, if the result shows it."""
    withheld: frozenset[str] = frozenset()
    """The marks in ``texts`` that replace withheld lines."""

    newline: bool | None = True
    """The output ends with a newline; None if that says nothing about the file, as with tools that join lines."""

    def placed(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield runs of lines whose numbers are known: the number of the first line, and the texts."""
        for index, (texts, numbers) in enumerate(zip(self.texts, self.numbers, strict=True)):
            if numbers is not None:
                yield from _by_number(texts, numbers)
            elif index == 0:
                yield from self._by_range(texts)

    @property
    def certain(self) -> bool:
        """Whether the number of every line is known."""
        if None not in self.numbers:
            return True
        return sum(len(texts) for _, texts in self.placed()) == sum(map(len, self.texts))

    def _by_range(self, texts: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
        at = 0
        for lines in self.ranges:
            if lines.first < 0 or lines.last is None:
                return
            count = lines.last - lines.first + 1
            yield lines.first, texts[at : at + count]
            at += count


def _by_number(texts: tuple[str, ...], numbers: tuple[int, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    if _are_consecutive(numbers):
        yield numbers[0], texts
        return
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            yield numbers[start], texts[start:at]
            start = at


def _are_consecutive(numbers: tuple[int, ...]) -> bool:
    """Whether there are numbers, each one more than the one before."""
    return bool(numbers) and numbers == tuple(range(numbers[0], numbers[0] + len(numbers)))


def split_lines(text: str) -> list[str]:
    """Return the lines of an output; a final newline ends the last one."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def returned(view: View, observation: Observation) -> Returned | None:
    """Return the lines that ``observation`` shows of ``view``; None if it failed, is ambiguous, or lacks parts."""
    if not observation.succeeded or not observation.output or not observation.pieces:
        return None
    if len(observation.output) > MAX_INDEXED or view.numbering == CHANGED:
        return None
    if _complains(view, observation):
        return None
    rows = printed_lines(observation)
    found = _whole(view, rows[0]) if len(rows) == 1 else _elided(view, rows[0], rows[1])
    newline = None if view.joined else observation.output.endswith("\n")
    return replace(found, newline=newline) if found is not None else None


def printed_lines(observation: Observation) -> tuple[list[str], ...]:
    """Return the whole lines of an output as they were printed, for each piece of it; those that ``returned`` reads.

    If the middle was left out, only whole lines at both ends count, since the cut may split a line.
    """
    head, *rest = observation.pieces
    if not rest:
        return (split_lines(head),)
    return head.split("\n")[:-1], split_lines(rest[0].partition("\n")[2])


def lines_shown(view: View, observation: Observation, shown: Shown) -> Returned | None:
    """Return the lines that ``observation``, a result as ``shown`` to the model, shows of ``view``."""
    return _shown_in_part(view, observation, shown) if shown.kind == "partial" else returned(view, observation)


def _shown_in_part(view: View, observation: Observation, shown: Shown) -> Returned | None:
    """Return the lines that ``observation`` shows of ``view`` beside the references of ``shown``; None if that fails.

    The output is read with empty lines in place of those that are omitted, and these are then left out.
    """
    pieces = shown.pieces(observation.output)
    rows = split_lines(pieces[0])
    hidden: set[int] = set()
    for run, piece in zip(shown.lines, pieces[1:], strict=True):
        count = run.last - run.first + 1
        hidden.update(range(len(rows), len(rows) + count))
        rows += [f"{view.prefix}{run.first + at}{view.numbering}" if view.numbering else "" for at in range(count)]
        rows += split_lines(piece)
    found = _whole(view, rows)
    if found is None or not found.certain:
        return None
    kept = [at for at in range(len(rows)) if at not in hidden]
    places = [first + at for first, texts in found.placed() for at in range(len(texts))]
    last = len(rows) - 1 not in hidden
    newline = observation.output.endswith("\n") if last else True
    return Returned(
        (tuple(found.texts[0][at] for at in kept),),
        (None if found.numbers[0] is None else tuple(places[at] for at in kept),),
        tuple(_consecutive(places[at] for at in kept)),
        found.end if last else None,
        newline=None if view.joined else newline,
    )


def _consecutive(places: Iterable[int]) -> Iterator[Lines]:
    """Yield runs of consecutive line numbers."""
    first = last = 0
    for place in places:
        if first and place == last + 1:
            last = place
            continue
        if first:
            yield Lines(first, last)
        first = last = place
    if first:
        yield Lines(first, last)


def _complains(view: View, observation: Observation) -> bool:
    """Whether a reader or a ``cd`` reports a failure although the command as a whole succeeded."""
    start = observation.output[:2000]
    last = observation.output.rstrip("\n").rpartition("\n")[2]
    if COMPLAINT.match(start) or COMPLAINT.match(last[:500]) or COMPLAINT.search(observation.stderr[:2000]):
        return True
    return view.path.rpartition("/")[2] in start and bool(COMPLAINT.search(start))


def _whole(view: View, lines: list[str]) -> Returned | None:
    if view.numbering:
        numbered = split_numbers(lines, view.numbering, view.prefix)
        return None if numbered is None else _numbered(view, (numbered,))
    texts = (tuple(lines),)
    if view.floating:
        tail = len(view.ranges) == 1 and view.ranges[0].first < 0 and view.ranges[0].last is None
        return Returned(texts, (None,), (Lines(-len(lines)),) if tail and lines else (), None)
    found: list[Lines] = []
    left = len(lines)
    end: int | None = None
    for asked in view.ranges:
        size = ranges.size(asked)
        if left == 0 or end is not None:
            # The file ends before this range; only a range that was cut short shows where.
            break
        taken = left if size is None else min(size, left)
        found.append(Lines(asked.first, asked.first + taken - 1))
        left -= taken
        if size is None or taken < size:
            end = asked.first + taken - 1
    # More lines than were requested: the output contains something else.
    return None if left else Returned(texts, (None,), tuple(found), end)


def _numbered(view: View, pieces: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]) -> Returned | None:
    """Read lines by their printed numbers; None unless they are lines that were requested."""
    runs: list[Lines] = []
    for _, numbers in pieces:
        if not runs and _are_consecutive(numbers):
            runs.append(Lines(numbers[0], numbers[-1]))
            continue
        for number in numbers:
            if runs and runs[-1].last == number - 1:
                runs[-1] = Lines(runs[-1].first, number)
            elif runs and (runs[-1].last or 0) >= number:
                return None
            else:
                runs.append(Lines(number, number))
    asked = tuple(lines for lines in view.ranges if lines.first > 0)
    if not view.floating and not all(ranges.covers(asked, run, None) for run in runs):
        return None
    # The end is seen only if the last piece holds a whole line.
    end = _end_of(view, runs[-1].last) if runs and pieces[-1][1] else None
    return Returned(tuple(texts for texts, _ in pieces), tuple(numbers for _, numbers in pieces), tuple(runs), end)


def _end_of(view: View, last: int | None) -> int | None:
    """Return ``last`` as the end of the file if the requested range continues after it; else None."""
    for asked in view.ranges:
        if last is not None and 0 < asked.first <= last and (asked.last is None or last < asked.last):
            return last if asked.last is None or not view.floating else None
    return last if view.ranges[-1].first < 0 and view.ranges[-1].last is None else None


def _elided(view: View, before: list[str], after: list[str]) -> Returned | None:
    """Read the lines before and after the hole of an output whose middle was left out."""
    if view.numbering:
        first, last = (split_numbers(lines, view.numbering, view.prefix) for lines in (before, after))
        return None if first is None or last is None else _numbered(view, (first, last))
    found: tuple[Lines, ...] = ()
    if not view.floating and before:
        asked = view.ranges[0]
        size = ranges.size(asked)
        found = (Lines(asked.first, asked.first + min(len(before), size or len(before)) - 1),)
    if view.ranges[-1].last is None and after:
        found = (*found, Lines(-len(after)))
    return Returned((tuple(before), tuple(after)), (None, None), found, None)


def split_numbers(lines: list[str], separator: str, prefix: str = "") -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """Split lines such as ``    <prefix>12<separator>text`` into texts and numbers; None if one has no number."""
    texts: list[str] = []
    numbers: list[int] = []
    for line in lines:
        before, found, text = line.lstrip(" ").partition(separator)
        number = before.removeprefix(prefix)
        if (
            not found
            or not before.startswith(prefix)
            or len(number) > MAX_NUMBER
            or not (number.isascii() and number.rstrip(" ").isdigit())
        ):
            return None
        texts.append(text)
        numbers.append(int(number))
    return tuple(texts), tuple(numbers)


SEARCHES = re.compile(r"\b(?:\w*grep|rg|ag|ack)\b")
"""A command that contains a search."""
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\$`]|\\.)*\"")
"""A quoted word in which the shell replaces nothing."""
PLAIN_SEARCH = re.compile(
    r"(?:cd [\w./-]+ && )?(?:git )?[ef]?grep(?=.* -\w*n)"
    r"(?: -[nrRiIEFGPwxHs]+| -[ABC] ?\d+| --(?:include|exclude|exclude-dir)=[\w./-]+| (?!-)[\w./,:=@%+-]+)+"
    r"(?: 2>/dev/null)?(?: \| (?:head|tail)(?: -n)?(?: -?\d+)?)?"
)
"""One search that prints whole lines with their numbers, the quoted words in it replaced by plain ones."""
SHOWS_LINES = re.compile(r"\b(?:\w*grep|rg|ag|ack|git|diff|cmp|comm)\b")
"""A command that contains a program which shows lines of files and is not a plain reader."""
WITHOUT_NAMES = re.compile(r" -\w*[hI]| --no-filename")
"""An option of a search that omits file names."""
HIT = re.compile(r"(?:([^:]+):)?(\d{1,9}):(.*)")
"""A line of ``grep -n``."""
BESIDE = re.compile(r"(^|-)(\d{1,9})-")
"""The line number in a context line, after the file's name if there is one."""
MAX_NAME = 400
"""Characters of a file's name in a context line."""
HUNK = re.compile(r"@@ -\d{1,9}(?:,\d{1,9})? \+(?P<first>\d{1,9})(?:,\d{1,9})? @@")
"""The head of a hunk in a unified diff."""
ECHO = re.compile(r"^ *(?P<place>\d{1,9})[\t→](?P<text>.*)$", re.MULTILINE)
"""A numbered line of the snippet that an edit tool prints."""
PlacedLine = tuple[str, int, str]
"""The file as the output names it ("" if it does not), the line number, and the text."""


def placed_lines(action: Action, output: str) -> Iterator[PlacedLine]:
    """Yield the single lines that an output shows with their numbers."""
    if len(output) > MAX_INDEXED:
        return
    if isinstance(action.call, Edit | Write | Patch):
        yield from (("", int(found["place"]), found["text"]) for found in ECHO.finditer(output))
    elif is_search(action):
        yield from _hits(output)
    if "\n@@ -" in output:
        yield from _hunks(output)


def is_search(action: Action) -> bool:
    """Whether it is a search, or a command that contains one."""
    return isinstance(action.call, Search) or bool(SEARCHES.search(action.command))


def has_returns(output: str) -> bool:
    """Whether lines of an output end with CR LF; a last line without a newline has its CR from any tool."""
    return "\r\n" in output


def may_show_unnamed_files(action: Action, record: CommandRecord) -> bool:
    """Whether it may show lines of files that neither its words nor its output name."""
    looks = record.category in (Category.SEARCH, Category.INSPECT) and SHOWS_LINES.search(action.command)
    if not looks or not (action.call is None or isinstance(action.call, Command)):
        return False
    return not record.literal or bool(WITHOUT_NAMES.search(action.command))


def all_lines_placed(action: Action, output: str) -> bool:
    """Whether every line of the output is a hit of one plain search, so that ``placed_lines`` yields all of it."""
    command = " ".join(QUOTED.sub("q", action.command).split())
    plain = action.call is None and PLAIN_SEARCH.fullmatch(command)
    if len(output) > MAX_INDEXED or not (plain or isinstance(action.call, Search)):
        return False
    lines = [line for line in output.split("\n") if line and line != "--"]
    hits = list(map(HIT.match, lines))
    # Among lines of context of several files, the boundary between name and text is ambiguous.
    alike = len({bool(hit and hit[1]) for hit in hits}) == 1
    return alike and (all(hits) or sum(1 for _ in _hits(output)) == len(lines))


def _hits(output: str) -> Iterator[PlacedLine]:
    """Yield the hits of a search and their context lines."""
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


def _hunks(output: str) -> Iterator[PlacedLine]:
    """Yield the lines of the new side of a unified diff."""
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


_SIGN = "\n"
"""The prefix of a mark; no line contains it."""


def withheld_mark(line: str) -> str:
    """Return the mark that replaces a withheld line."""
    return line if line.startswith(_SIGN) else _SIGN + digest(line)


def withheld_digests(shown: Returned, kept: Returned) -> tuple[tuple[int, str], ...]:
    """Return the index and digest of each line that the kept result does not have as it was shown."""
    lines = zip(chain(*shown.texts), chain(*kept.texts), strict=True)
    return tuple((at, digest(line)) for at, (line, other) in enumerate(lines) if line != other)


def with_marks(kept: Returned, withheld: tuple[tuple[int, str], ...]) -> Returned:
    """Return ``kept`` with marks in place of the withheld lines."""
    marks = {at: _SIGN + known for at, known in withheld}
    place = count()
    texts = tuple(tuple(marks.get(next(place), line) for line in piece) for piece in kept.texts)
    return replace(kept, texts=texts, withheld=frozenset(marks.values()))
