"""The lines of files that results have shown, by line number, and which of these results may still be referred to.

A model that is referred to an earlier result takes line *p* of the file from what that result shows as line *p*. So a
result covers a line only if it shows the same text at the same place, and no newer visible result shows that place
differently (``ShownLines``). The work is bounded: a fixed number of excerpts is kept per file, and each is compared
once.

Most results show lines in another form: a test prints a traceback, ``git blame`` annotates, a script prints what it
likes. Such a result can differ from an older read while that read is right again only if the file was changed before
it and changed again after it. So a file that was changed, possibly shown, and changed once more is referred to only in
results that are newer than the first change (``Recency``).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Container, Iterable, Iterator
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.lines import Returned, withheld_mark
from execledger.core.observations import Held
from execledger.vocabulary.records import Lines

MAX_EXCERPTS = 64
"""Excerpts kept per file, newest last; dropped ones cover nothing any more."""
MAX_DIFFERING = 8
"""Excerpts that are compared line by line for one result; older ones are not examined."""
MAX_CONTRADICTIONS = 16
"""Differing lines of one result; with more, the result supersedes all older ones of the file."""


class Excerpt(Struct, frozen=True):
    """Consecutive lines of a file that one result shows."""

    step: int
    """The step that showed them."""
    first: int
    """The line number of the first one; 0 for lines with unknown numbers."""
    texts: tuple[str, ...]
    """The lines."""
    numbered: bool = False
    """Their line numbers are printed."""
    end: int | None = None
    """The number of the file's last line, if the result shows it."""
    newline: bool | None = True
    """The output ends with a newline; None if that says nothing about the file."""
    holds: bool = True
    """A reference may point here; others, such as hits of a search, only contradict."""

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.first + len(self.texts) - 1


class ShownLines:
    """The lines of one file that were shown on one thread, oldest result first."""

    __slots__ = ("_dropped", "_excerpts", "_withheld")

    def __init__(self) -> None:
        """Start without lines."""
        self._excerpts: list[Excerpt] = []
        self._dropped = -1
        self._withheld: frozenset[str] = frozenset()

    def add(self, step: int, shown: Returned, *, holds: bool = True) -> None:
        """Add the lines that ``step`` showed; a reference may point at them if it ``holds``."""
        if not shown.withheld <= self._withheld:
            self._withheld |= shown.withheld
            self._excerpts = [replace(one, texts=self.masked(one.texts)) for one in self._excerpts]
        if not shown.certain:
            self.supersede(step)
        found = excerpts(shown, step)
        self._keep([replace(one, texts=self._shared(one.first, self.masked(one.texts)), holds=holds) for one in found])

    def supersede(self, step: int) -> None:
        """Record that ``step`` may show any line of the file: no older result is referred to while it is visible."""
        if self._excerpts:
            self._keep((Excerpt(step, 0, ()),))

    def contradict(self, step: int, hits: Iterable[tuple[int, str]]) -> None:
        """Record single lines that ``step`` shows, as a search does, if an older result shows them differently."""
        found = [Excerpt(step, place, self.masked((text,)), holds=False) for place, text in hits]
        found = [one for one in found if self._differs(one)]
        if len(found) > MAX_CONTRADICTIONS:
            self.supersede(step)
        else:
            self._keep(found)

    def shows(self, place: int) -> bool:
        """Whether some result shows this line, or where the file ends."""
        return any(one.end is not None or one.first <= place < one.first + len(one.texts) for one in self._excerpts)

    def held(self, asked: Excerpt, visible: Container[int], since: int, min_run: int) -> Held:
        """Return which visible results from step ``since`` on show these lines at their places, newest result first.

        Runs of fewer than ``min_run`` lines are left out, unless they are all that is asked for.
        """
        texts, count = self.masked(asked.texts), len(asked.texts)
        # Lines that a newer visible result shows differently, and whether none shows another end of the file.
        closed, ended, differing = bytearray(count), True, 0
        found: Held = []
        for one in reversed(self._excerpts):
            if one.step not in visible:
                continue
            if one.step < since or one.first == 0 or 0 not in closed or differing == MAX_DIFFERING:
                break
            low, high = max(asked.first, one.first), min(asked.last, one.last)
            mine = texts[low - asked.first : high - asked.first + 1]
            theirs = one.texts[low - one.first : high - one.first + 1]
            if low <= high and mine != theirs:
                differing += 1
                for at, (new, old) in enumerate(zip(mine, theirs, strict=True), low - asked.first):
                    closed[at] |= new != old
            if low <= high and one.holds and (one.numbered or not asked.numbered):
                until = high if high < asked.last or _ends_alike(asked, one, ended) else high - 1
                runs = _open_runs(closed, low - asked.first, until - asked.first + 1, min(min_run, count))
                found += [(Lines(asked.first + a, asked.first + b), one.step) for a, b in runs]
            ended = ended and not _ends_elsewhere(asked, one)
            if one.end is not None and one.end < asked.last:
                gone = max(one.end + 1 - asked.first, 0)
                closed[gone:] = b"\1" * (count - gone)
        return found

    def shown_since(self, step: int, visible: Container[int]) -> bool:
        """Whether a visible result newer than ``step`` shows or may show lines of the file."""
        return step < self._dropped or any(one.step > step and one.step in visible for one in self._excerpts)

    def contradicted(self, asked: Excerpt, visible: Container[int], step: int) -> bool:
        """Whether a visible result newer than ``step`` shows or may show these lines, or the next, differently."""
        if step < self._dropped:
            return True
        texts = self.masked(asked.texts)
        for one in reversed(self._excerpts):
            if one.step <= step:
                break
            if one.step not in visible:
                continue
            low, high = max(asked.first, one.first), min(asked.last, one.last)
            mine = texts[low - asked.first : high - asked.first + 1] if low <= high else ()
            theirs = one.texts[low - one.first : high - one.first + 1] if low <= high else ()
            beyond = one.end is not None and one.end < asked.last
            if one.first == 0 or mine != theirs or beyond or _ends_elsewhere(asked, one):
                return True
        return False

    def differs_since(self, step: int, visible: Container[int]) -> bool:
        """Whether a visible result newer than ``step`` shows, or may show, some line differently than that does."""
        if step <= self._dropped:
            # The lines of this or of a newer result are no longer known, so nothing proves that they are the same.
            return True
        mine = [one for one in self._excerpts if one.step == step and one.first]
        newer = [one for one in self._excerpts if one.step > step and one.first and one.step in visible]
        for one, other in product(mine, newer):
            low, high = max(one.first, other.first), min(one.last, other.last) + 1
            if (
                low < high
                and one.texts[low - one.first : high - one.first]
                != (other.texts[low - other.first : high - other.first])
            ):
                return True
        return False

    def any_contradicted(self, hits: list[tuple[int, str]], visible: Container[int], step: int) -> bool:
        """The same for any of these single lines, each with its number, in one pass over the excerpts."""
        if not hits or step < self._dropped:
            return bool(hits)
        newer = [one for one in self._excerpts if one.step > step and one.step in visible]
        ordered = sorted(hits) if newer else []
        places, texts = [place for place, _ in ordered], self.masked(tuple(text for _, text in ordered))
        for one in newer:
            beyond = one.end is not None and one.end < places[-1]
            among = range(bisect_left(places, one.first), bisect_right(places, one.last))
            if one.first == 0 or beyond or any(one.texts[places[at] - one.first] != texts[at] for at in among):
                return True
        return False

    def excerpt(self, step: int, lines: Lines) -> Excerpt | None:
        """Return what ``step`` showed of these lines; None if it did not show all of them."""
        assert lines.last is not None
        for one in reversed(self._excerpts):
            if one.step == step and one.holds and 0 < one.first <= lines.first and lines.last <= one.last:
                texts = one.texts[lines.first - one.first : lines.last - one.first + 1]
                found = replace(one, first=lines.first, texts=texts)
                return found if lines.last == one.last else replace(found, end=None, newline=True)
        return None

    def _keep(self, excerpts: Iterable[Excerpt]) -> None:
        self._excerpts += excerpts
        if len(self._excerpts) > MAX_EXCERPTS:
            self._dropped = self._excerpts[-MAX_EXCERPTS // 2 - 1].step
            del self._excerpts[: -MAX_EXCERPTS // 2]

    def _shared(self, first: int, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Return ``texts``, with the same objects for lines that the newest excerpt of these places has as well.

        So the text of a range that is read again is in memory once.
        """
        last = first + len(texts) - 1
        for one in reversed(self._excerpts):
            low, high = max(first, one.first), min(last, one.last)
            if low <= high:
                known = one.texts[low - one.first : high - one.first + 1]
                found = texts[low - first : high - first + 1]
                if known != found:
                    known = tuple(old if old == new else new for old, new in zip(known, found, strict=True))
                return known if known == texts else (*texts[: low - first], *known, *texts[high - first + 1 :])
        return texts

    def _differs(self, hit: Excerpt) -> bool:
        """Whether an older excerpt shows another text at the line of ``hit``, or a file that ends before it."""
        return any(
            one.texts[hit.first - one.first] != hit.texts[0]
            if one.first <= hit.first <= one.last
            else one.end is not None and one.end < hit.first
            for one in self._excerpts
            if one.first
        )

    def masked(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Return lines as they are compared here: with marks in place of withheld ones."""
        if not self._withheld:
            return texts
        return tuple(known if (known := withheld_mark(text)) in self._withheld else text for text in texts)


def excerpts(shown: Returned, step: int = -1) -> list[Excerpt]:
    """Return the excerpts that a result shows, in order."""
    found = [
        Excerpt(step, first, texts, numbered=shown.numbers[0] is not None) for first, texts in shown.placed() if texts
    ]
    if found and shown.certain:
        found[-1] = replace(found[-1], end=shown.end, newline=shown.newline)
    return found


def _ends_alike(asked: Excerpt, one: Excerpt, ended: bool) -> bool:
    """Whether both have the same after the last line of ``asked``: a newline or none, the file's end or not."""
    if asked.end is not None:
        return ended and one.end == asked.end and asked.newline in (None, one.newline)
    if not asked.newline:
        # If the tool never ends its output with a newline, a missing one proves nothing.
        return asked.newline is None or one.newline is False
    return bool(one.newline) or asked.last < one.last


def _ends_elsewhere(asked: Excerpt, one: Excerpt) -> bool:
    """Whether ``one`` shows another end of the file than ``asked``, or a line after it."""
    if asked.end is None:
        return False
    told = None not in (one.newline, asked.newline)
    other = one.end is not None and (one.end != asked.end or (told and one.newline != asked.newline))
    return other or one.last > asked.end


def _open_runs(closed: bytearray, start: int, stop: int, shortest: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each run of at least ``shortest`` places that are not closed."""
    while start < stop:
        until = closed.find(1, start, stop)
        until = stop if until < 0 else until
        if until - start >= shortest:
            yield start, until - 1
        start = until + 1


COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
"""A terminal escape sequence, as ``grep --color`` prints around names."""
WORD = re.compile(r"\w+(?:\.\w+)*", re.ASCII)
"""A word of a file name; a hyphen ends it, because ``grep -A1`` prints ``a.py-12-text``."""
PLAIN = re.compile(r"[\w.-]+", re.ASCII)
"""A name that programs print unchanged; others are quoted and escaped in many ways."""
MAX_RENDERINGS = 512
"""Results of one kind of line ends whose commands are kept per thread; any file may be shown by a dropped one."""
MAX_LOOKS = 64
"""Results before the last change that are examined for visibility: if none of these is visible, no older one is."""
ANY = ""
"""Placeholder path: any file."""
ODD = "?"
"""The key of all files whose names may be printed in escaped form: every text may name them."""


class Recency:
    """The steps that changed a file, and those whose results may show lines of it without their numbers.

    Names in a text are recorded once for all files of a key, so that the cost of a step does not grow with the number
    of files of one name.
    """

    def __init__(self) -> None:
        """Start without files."""
        self._paths: dict[str, dict[str, None]] = {}
        self._changes: dict[str, list[int]] = {}
        self._every_change: list[int] = []
        self._looks: dict[tuple[str, str], list[int]] = {}
        self._results: dict[str, list[int]] = {}
        self._renderings: dict[tuple[str, bool], deque[tuple[int, str]]] = {}
        self._dropped: dict[tuple[str, bool], int] = {}

    def follow(self, path: str) -> None:
        """Let ``named`` find ``path``, of which a result has shown lines."""
        self._paths.setdefault(key_of(path), {})[path] = None

    def change(self, step: int, target: str) -> None:
        """Record that ``step`` wrote ``target``, a file or folder, or may have written files of that key or ``ANY``."""
        for steps in (self._changes.setdefault(target, []), self._every_change):
            if steps[-1:] != [step]:
                steps.append(step)

    def result(self, step: int, thread: str) -> None:
        """Record that ``step`` printed something."""
        self._results.setdefault(thread, []).append(step)

    def look(self, step: int, thread: str, key: str) -> None:
        """Record that the result of ``step`` may show lines of the files of ``key``, or of ``ANY`` file."""
        self._looks.setdefault((thread, key), []).append(step)

    def render(self, step: int, thread: str, command: str, *, returns: bool) -> None:
        """Record that the result of ``step`` may show lines without their numbers; ``returns``: they end with CR LF."""
        kept = self._renderings.setdefault((thread, returns), deque())
        kept.append((step, command))
        if len(kept) > MAX_RENDERINGS:
            self._dropped[thread, returns] = kept.popleft()[0]

    def rendered_otherwise(self, thread: str, path: str, visible: Container[int], *, returns: bool) -> int:
        """Return the newest visible step that may show lines of ``path`` with other line ends; -1 if there is none.

        Some tools print the lines of a file without their carriage returns. To a reader these are other lines, also if
        the file has not changed.
        """
        kept = self._renderings.get((thread, not returns))
        if kept is None:
            return -1
        key = key_of(path)
        for step, command in reversed(kept):
            if step in visible and (key == ODD or (key in command and key in WORD.findall(command))):
                return step
        dropped = self._dropped.get((thread, not returns), -1)
        return dropped if dropped in visible else -1

    def named(self, text: str) -> list[str]:
        """Return the keys of the files whose lines were shown and that ``text`` may name."""
        if not self._paths:
            return []
        words = set(WORD.findall(COLOUR.sub("", text) if "\x1b" in text else text))
        return [key for key in (*sorted(words), ODD) if key in self._paths]

    def spelled(self, text: str) -> list[str]:
        """Return the files whose lines were shown and whose whole path is in ``text``."""
        return [path for key in self.named(text) for path in self._paths[key] if path in text]

    def since(self, thread: str, path: str, visible: Container[int]) -> int:
        """Return the oldest step that may be referred to for lines of ``path`` with known numbers; -1 if any may."""
        looks = (self._looks.get((thread, key_of(path)), []), self._looks.get((thread, ANY), []))
        return _since(self._changed(path), looks, visible)

    def since_any(self, thread: str, path: str, visible: Container[int]) -> int:
        """The same for lines without known numbers, of ``path`` or ``ANY`` file: any result may differ."""
        changes = self._changed(path) if path else [self._every_change]
        return _since(changes, (self._results.get(thread, []),), visible)

    def _changed(self, path: str) -> list[list[int]]:
        """Return the steps that changed ``path`` itself, a folder above it, files of its key, or any file."""
        found = [self._changes.get(ANY, []), self._changes.get(key_of(path), [])]
        at = len(path)
        while at > 0:
            found.append(self._changes.get(path[:at], []))
            at = path.rfind("/", 0, at)
        return found


def _since(changes: list[list[int]], looks: tuple[list[int], ...], visible: Container[int]) -> int:
    """Return the newest change before a visible result that another change followed; all lists ascend."""
    last = max((steps[-1] for steps in changes if steps), default=-1)
    before = [steps[max(at - MAX_LOOKS, 0) : at] for steps in looks if (at := bisect_left(steps, last))]
    newest = max((step for steps in before for step in steps if step in visible), default=-1)
    earlier = [steps[at - 1] for steps in changes if (at := bisect_right(steps, newest))]
    return max(earlier, default=-1)


def key_of(path: str) -> str:
    """Return the word by which a file is found in a text; ``ODD`` for a name that may be printed in escaped form."""
    name = path.rpartition("/")[2]
    words = WORD.findall(name)
    return words[-1] if words and PLAIN.fullmatch(name) else ODD
