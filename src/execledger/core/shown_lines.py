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
from collections.abc import Container, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.lines import Returned, withheld_mark
from execledger.core.observations import Held
from execledger.vocabulary.records import Lines

MAX_EXCERPTS = 64
"""Passages that are kept per file, newest last. Those that are let go of cover nothing any more."""
MAX_DIFFERING = 8
"""Passages that are compared line by line for one result: beyond that, older ones are not asked."""
MAX_CONTRADICTIONS = 16
"""Differing lines of one result beyond which all older results of the file are in doubt."""


class Excerpt(Struct, frozen=True):
    """Consecutive lines of a file that one result shows."""

    step: int
    """The step that showed them."""
    first: int
    """The place of the first one: its line number in the file. 0 for lines at places that are not known."""
    texts: tuple[str, ...]
    """The lines."""
    numbered: bool = False
    """Their line numbers are printed."""
    end: int | None = None
    """The file's last line, if the result tells it."""
    newline: bool | None = True
    """The output ends with a newline; None if that tells nothing about the file."""
    holds: bool = True
    """A reference may point here; not so at the hits of a search, which only contradict."""

    @property
    def last(self) -> int:
        """The place of the last line."""
        return self.first + len(self.texts) - 1


class ShownLines:
    """The lines of one file that were shown on one thread, oldest result first."""

    __slots__ = ("_dropped", "_excerpts", "_withheld")

    def __init__(self) -> None:
        """Nothing was shown yet."""
        self._excerpts: list[Excerpt] = []
        self._dropped = -1
        self._withheld: frozenset[str] = frozenset()

    def add(self, step: int, shown: Returned) -> None:
        """Take in the lines that ``step`` showed."""
        if not shown.withheld <= self._withheld:
            self._withheld |= shown.withheld
            self._excerpts = [replace(one, texts=self.masked(one.texts)) for one in self._excerpts]
        if not shown.certain:
            self.supersede(step)
        self._keep(replace(one, texts=self.masked(one.texts)) for one in excerpts(shown, step))

    def supersede(self, step: int) -> None:
        """``step`` may show lines of the file at any place: no older result is referred to while it is visible."""
        if self._excerpts:
            self._keep((Excerpt(step, 0, ()),))

    def contradict(self, step: int, hits: Iterable[tuple[int, str]]) -> None:
        """``step`` shows single lines, as a search does; kept where an older result shows that place differently."""
        found = [Excerpt(step, place, self.masked((text,)), holds=False) for place, text in hits]
        found = [one for one in found if self._differs(one)]
        if len(found) > MAX_CONTRADICTIONS:
            self.supersede(step)
        else:
            self._keep(found)

    def shows(self, place: int) -> bool:
        """Some result shows this place, or where the file ends."""
        return any(one.first <= place <= one.last or one.end is not None for one in self._excerpts)

    def held(self, asked: Excerpt, visible: Container[int], since: int, min_run: int) -> Held:
        """Which visible results from step ``since`` on show these lines at their places, newest result first.

        Runs of fewer than ``min_run`` lines are left out, unless they are all that is asked for.
        """
        texts, count = self.masked(asked.texts), len(asked.texts)
        # Places that a newer visible result shows differently; and whether none shows another end of the file.
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
        """A visible result newer than ``step`` shows or may show lines of the file."""
        return step < self._dropped or any(one.step > step and one.step in visible for one in self._excerpts)

    def contradicted(self, asked: Excerpt, visible: Container[int], step: int) -> bool:
        """A visible result newer than ``step`` shows or may show these lines, or what is behind them, differently."""
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

    def any_contradicted(self, hits: list[tuple[int, str]], visible: Container[int], step: int) -> bool:
        """The same for any of these single lines, each with its place; the excerpts are walked once for all of them."""
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
        """What ``step`` showed at these places; None if it did not show all of them."""
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

    def _differs(self, hit: Excerpt) -> bool:
        """An older passage shows another text at the place of ``hit``, or no such place."""
        return any(
            one.texts[hit.first - one.first] != hit.texts[0]
            if one.first <= hit.first <= one.last
            else one.end is not None and one.end < hit.first
            for one in self._excerpts
            if one.first
        )

    def masked(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Lines as they are compared here: a mark takes the place of one whose text was withheld."""
        if not self._withheld:
            return texts
        return tuple(known if (known := withheld_mark(text)) in self._withheld else text for text in texts)


def excerpts(shown: Returned, step: int = -1) -> list[Excerpt]:
    """The excerpts that a result shows, in order."""
    found = [
        Excerpt(step, first, texts, numbered=shown.numbers[0] is not None) for first, texts in shown.placed() if texts
    ]
    if found and shown.certain:
        found[-1] = replace(found[-1], end=shown.end, newline=shown.newline)
    return found


def _ends_alike(asked: Excerpt, one: Excerpt, ended: bool) -> bool:
    """The last line of ``asked`` is followed by the same in ``one``: a newline or none, the end of the file or not."""
    if asked.end is not None:
        return ended and one.end == asked.end and asked.newline in (None, one.newline)
    if not asked.newline:
        # Where no output ends with a newline, its absence means nothing.
        return asked.newline is None or one.newline is False
    return bool(one.newline) or asked.last < one.last


def _ends_elsewhere(asked: Excerpt, one: Excerpt) -> bool:
    """``one`` shows another end of the file than ``asked``, or a line behind it."""
    if asked.end is None:
        return False
    told = None not in (one.newline, asked.newline)
    other = one.end is not None and (one.end != asked.end or (told and one.newline != asked.newline))
    return other or one.last > asked.end


def _open_runs(closed: bytearray, start: int, stop: int, shortest: int) -> Iterator[tuple[int, int]]:
    """Runs of at least ``shortest`` places that are not closed: the first and the last of each."""
    while start < stop:
        until = closed.find(1, start, stop)
        until = stop if until < 0 else until
        if until - start >= shortest:
            yield start, until - 1
        start = until + 1


COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
"""An escape sequence of a terminal, as ``grep --color`` prints them around names."""
WORD = re.compile(r"\w+(?:\.\w+)*", re.ASCII)
"""What the name of a file is made of; a hyphen ends it, for ``grep -A1`` prints ``a.py-12-text``."""
PLAIN = re.compile(r"[\w.-]+", re.ASCII)
"""A name that programs print as it is. They quote and escape others in many ways."""
MAX_LOOKS = 64
"""Results before the last change that are asked whether they are visible: if none of these is, no older one is."""
ANY = ""
"""Placeholder path: any file."""
ODD = "?"
"""The key of all files whose names may be printed in other letters: every text may name them."""


class Recency:
    """The steps that changed a file, and those whose results may show lines of it at places that are not known.

    What a text names is noted once for all files of a key, so that a step costs no more where many have the same name.
    """

    def __init__(self) -> None:
        """No file was read yet."""
        self._paths: dict[str, dict[str, None]] = {}
        self._changes: dict[str, list[int]] = {}
        self._every_change: list[int] = []
        self._looks: dict[tuple[str, str], list[int]] = {}
        self._results: dict[str, list[int]] = {}

    def follow(self, path: str) -> None:
        """From now on ``named`` knows ``path``, of which a result has shown lines."""
        self._paths.setdefault(key_of(path), {})[path] = None

    def change(self, step: int, target: str) -> None:
        """``step`` wrote the file or folder ``target``, or may have written files of that key or ``ANY`` file."""
        for steps in (self._changes.setdefault(target, []), self._every_change):
            if steps[-1:] != [step]:
                steps.append(step)

    def result(self, step: int, thread: str) -> None:
        """``step`` printed something, of whatever kind."""
        self._results.setdefault(thread, []).append(step)

    def look(self, step: int, thread: str, key: str) -> None:
        """The result of ``step`` may show lines of the files of ``key``, or of ``ANY`` file."""
        self._looks.setdefault((thread, key), []).append(step)

    def named(self, text: str) -> list[str]:
        """The keys of the files whose lines were shown and that ``text`` may name."""
        if not self._paths:
            return []
        words = set(WORD.findall(COLOUR.sub("", text) if "\x1b" in text else text))
        return [key for key in (*sorted(words), ODD) if key in self._paths]

    def spelled(self, text: str) -> list[str]:
        """The files whose lines were shown and whose whole path is in ``text``."""
        return [path for key in self.named(text) for path in self._paths[key] if path in text]

    def since(self, thread: str, path: str, visible: Container[int]) -> int:
        """The oldest step whose result may be referred to for lines of ``path`` at known places; -1 if any may."""
        looks = (self._looks.get((thread, key_of(path)), []), self._looks.get((thread, ANY), []))
        return _since(self._changed(path), looks, visible)

    def since_any(self, thread: str, path: str, visible: Container[int]) -> int:
        """The same for what has no places, of ``path`` or of ``ANY`` files: every result may show it differently."""
        changes = self._changed(path) if path else [self._every_change]
        return _since(changes, (self._results.get(thread, []),), visible)

    def _changed(self, path: str) -> list[list[int]]:
        """The steps that changed ``path`` itself, a folder above it, files of its key, or any file."""
        found = [self._changes.get(ANY, []), self._changes.get(key_of(path), [])]
        at = len(path)
        while at > 0:
            found.append(self._changes.get(path[:at], []))
            at = path.rfind("/", 0, at)
        return found


def _since(changes: list[list[int]], looks: tuple[list[int], ...], visible: Container[int]) -> int:
    """The newest change before a visible look that another change followed; all lists ascend."""
    last = max((steps[-1] for steps in changes if steps), default=-1)
    before = [steps[max(at - MAX_LOOKS, 0) : at] for steps in looks if (at := bisect_left(steps, last))]
    newest = max((step for steps in before for step in steps if step in visible), default=-1)
    earlier = [steps[at - 1] for steps in changes if (at := bisect_right(steps, newest))]
    return max(earlier, default=-1)


def key_of(path: str) -> str:
    """The word by which a file is found in a text; ``ODD`` for a name that may be printed in other letters."""
    name = path.rpartition("/")[2]
    words = WORD.findall(name)
    return words[-1] if words and PLAIN.fullmatch(name) else ODD
