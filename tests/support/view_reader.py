"""A reader who believes every word of a state view, and checks each against the files: the oracle of the witness.

It parses the view as text. It knows which text was shown last for each line of a file, and what ran since; it is told
the lines that a file holds now. It shares no code with the package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

GROUP = re.compile(r"(?P<ranges>[^();]+?)(?: \((?P<words>[^()]*)\))?(?:; |$)")
"""Ranges of a file in the view, and what is said of them, if anything is."""
DEFINITE = ("current", "now at", "changed", "gone")
"""Words that claim something certain."""
INDEFINITE = ("possibly stale", "stale")
"""Words of the counters."""
NO_CLAIM = "no claim"
NOT_BY_YOU = "not by you"
HEADING = re.compile(r"^Seen\b.*:$", re.MULTILINE)
"""The heading of what was seen; what is no longer in context has another one behind it."""


class Claim(NamedTuple):
    """What a view says of one range."""

    name: str
    """The file."""
    first: int
    """The first line."""
    last: int
    """The last line."""
    status: str
    """The status word."""
    words: str
    """All that is said of it."""
    whole: bool
    """It is called the whole file."""


def claims(view: str) -> Iterator[Claim]:
    """All that a view says of ranges of lines."""
    found = HEADING.search(view)
    for line in view[found.end() :].split("\n") if found else ():
        name, colon, rest = line.removeprefix("- ").partition(": ")
        for group in GROUP.finditer(rest) if colon and line.startswith("- ") else ():
            words = group["words"] or ""
            status = next((word for word in (*DEFINITE, *INDEFINITE) if words.startswith(word)), NO_CLAIM)
            whole = re.fullmatch(r"whole, (\d+) lines?", group["ranges"])
            for first, last in [(1, int(whole[1]))] if whole else _places(group["ranges"]):
                yield Claim(name, first, last, status, words, whole is not None)


def _places(ranges: str) -> list[tuple[int, int]]:
    """The ranges that are named by line numbers from the start of the file."""
    found = re.findall(r"(?<![\d-])(?<!last )(\d+)(?:-(\d+))?", ranges.partition(" and ")[0])
    return [(int(first), int(last or first)) for first, last in found]


class ViewReader:
    """Believes the views of one conversation."""

    def __init__(self, *, by_range: bool = False, whole_views: bool = True) -> None:
        """Nothing was shown yet; ``by_range``: a range is called changed as a whole if one of its lines is.

        Without ``whole_views``, looks may have found lines that no view listed: whose a change is can't be judged then.
        """
        self.shown: dict[str, dict[int, str]] = {}
        """What was shown last of each line, by the file's name."""
        self._by_range, self._whole_views = by_range, whole_views
        self._now = 0
        self._found: dict[tuple[str, int], int] = {}
        self._written: dict[str, int] = {}
        self._doubted = 0
        self._left_running = False

    def showed(self, name: str, lines: Mapping[int, str], *, looked: bool) -> None:
        """Lines were shown; ``looked``: and found in the file right behind the result."""
        self.shown.setdefault(name, {}).update(lines)
        for place in lines:
            self._found[name, place] = self._now if looked else -1

    def looked(self, name: str, now: list[str] | None) -> None:
        """A file was looked at that holds these lines: those that are as they were shown were found."""
        for place, text in self.shown.get(name, {}).items():
            if _line(now or [], place) == text:
                self._found[name, place] = self._now

    def ran(self, writes: str = "", *, unknown: bool = False, left_running: bool = False) -> None:
        """The agent ran a command: the file that it may write, and whether it may write others, now or later."""
        self._now += 1
        if writes:
            self._written[writes] = self._now
        if unknown:
            self._doubted = self._now
        self._left_running = self._left_running or left_running

    def check(self, view: str, lines: Callable[[str], list[str] | None]) -> Iterator[tuple[Claim, str]]:
        """Every claim of a view with what is wrong with it, "" if it is true; ``lines`` reads a file, None if gone."""
        found = list(claims(view))
        for claim in found:
            yield claim, self._fault(claim, lines(claim.name)) or self._misattributed(claim)
        for claim in found:
            if claim.status in ("current", "now at"):
                self._found.update({(claim.name, place): self._now for place in range(claim.first, claim.last + 1)})

    def _fault(self, claim: Claim, now: list[str] | None) -> str:
        """What is wrong with a status; "" if it is true."""
        shown, asked = self.shown.get(claim.name, {}), range(claim.first, claim.last + 1)
        if any(place not in shown for place in asked):
            return "a line that was never shown"
        if claim.status == "gone":
            return "" if now is None else "the file is there"
        if claim.status not in ("current", "now at", "changed"):
            return ""
        if now is None:
            return "the file is gone"
        if claim.whole and claim.status == "current" and len(now) != claim.last:
            return f"the file has {len(now)} lines"
        shift = 0
        if claim.status == "now at":
            there = re.match(r"now at (\d+)", claim.words)
            shift = int(there[1]) - claim.first if there else 0
            if shift == 0:
                return "moved to where it was"
        here = {place: _line(now, place + shift) for place in asked}
        if claim.status != "changed":
            other = next((place for place in asked if here[place] != shown[place]), None)
            return f"line {other} was {shown[other]!r} and is {here[other]!r}" if other else ""
        same = [place for place in asked if here[place] == shown[place]]
        in_part = self._by_range or "in part" in claim.words
        return f"lines {same} are as they were shown" if (len(same) == len(asked) if in_part else same) else ""

    def _misattributed(self, claim: Claim) -> str:
        """Why a change may be the agent's own that the view calls another's; "" if it can't."""
        if NOT_BY_YOU not in claim.words or not self._whole_views:
            return ""
        found = min(self._found.get((claim.name, place), -1) for place in range(claim.first, claim.last + 1))
        if found < 0:
            return "no look has found it"
        if self._left_running:
            return "a command of the agent's may still be running"
        if self._written.get(claim.name, 0) > found:
            return "a command of the agent's wrote the file"
        return "a program of unknown effects ran" if self._doubted > found else ""


def _line(texts: list[str], place: int) -> str | None:
    return texts[place - 1] if 0 < place <= len(texts) else None
