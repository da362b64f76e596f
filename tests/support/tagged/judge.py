"""What a reader who believes a reference takes from earlier results, held against copies of the files."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.tagged.world import TAG, Snapshot, rows, tag

COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
LINES = re.compile(
    r"[Ll]ines? ([\d, -]+?) (?:of (.+?) (?:is|are) as shown )?by `(.*?)`, (\d+) commands? ago", re.DOTALL
)
OMITTED = re.compile(r"\[Ledger: lines? ([\d-]+) of (.+?) omitted, as shown by `(.*)`, (\d+) commands? ago\.\]")
"""A line in place of lines that are omitted."""
SAME = re.compile(r"same as that of `(.*?)`, (\d+) commands? ago", re.DOTALL)

Place = tuple[str, int]
"""A file, and the number of a line in it."""


@dataclass
class Result:
    """A command, what was shown of it, and all files behind it."""

    command: str
    shown: str | None
    """Its output; nothing if a reference was shown in its place."""
    status: int
    files: Snapshot
    visible: bool = True
    tags: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        shown = "\n".join(line for line in rows(self.shown or "") if not OMITTED.fullmatch(line))
        self.tags = frozenset(TAG.findall(COLOUR.sub("", shown)))


class Misled(Exception):
    """Why a reader who believes the reference is wrong."""


@dataclass
class Judge:
    """The results so far."""

    folder: Path
    results: list[Result] = field(default_factory=list)
    meddled: dict[str, int] = field(default_factory=dict)
    """When another process last changed a file."""

    def refer(self, text: str, truth: Result, reads_on: Callable[[str], bool]) -> None:
        """Hold a reference against the truth. ``reads_on``: whether the command shows what is put behind a file."""
        if any(map(OMITTED.fullmatch, rows(text))):
            self._partly(text, truth, reads_on)
        elif same := SAME.search(text):
            self._same(self._result(*same.groups()), truth)
        elif found := LINES.findall(text):
            self._lines(found, truth, reads_on, unchanged="not changed" in text)
        else:
            raise Misled("the reference can't be read")

    def _result(self, command: str, ago: str) -> int:
        """The result that a reference names."""
        number = len(self.results) - int(ago)
        if number < 0:
            raise Misled("there was no such command")
        result = self.results[number]
        begun = _plain(re.split(r"\.\.\.|…", command)[0])[:30].rstrip("?. ")
        if begun not in _plain(result.command):
            raise Misled(f"{ago} commands ago is another command: {result.command!r}")
        if not result.visible or result.shown is None:
            raise Misled("what it refers to can't be seen")
        return number

    def _same(self, number: int, truth: Result) -> None:
        result = self.results[number]
        if (result.shown, result.status) != (truth.shown, truth.status):
            raise Misled("the output is another")
        runs = [one for one in self.results if one.command == truth.command and one.visible and one.shown is not None]
        if runs and runs[-1].shown != truth.shown and self.results.index(runs[-1]) > number:
            raise Misled("the newest result of this command is another")
        places = [
            (path, place)
            for path, text in truth.files.items()
            if Path(path).name in truth.command
            for place, line in enumerate(rows(text), 1)
            if tag(line) in truth.tags
        ]
        self._newest(number, places, truth)

    def _lines(
        self, found: list[tuple[str, str, str, str]], truth: Result, reads_on: Callable[[str], bool], *, unchanged: bool
    ) -> None:
        if truth.status:
            raise Misled("it does not say that the command failed")
        path = ""
        taken: list[tuple[int, int]] = []
        for numbers, name, command, ago in found:
            path = self._path(name, truth.files) if name else path
            number = self._result(command, ago)
            taken += [(place, number) for place in _places(numbers)]
        taken.sort()
        printed = rows(truth.shown or "")
        if len(printed) != len(taken):
            raise Misled(f"{len(taken)} lines are named, {len(printed)} are printed")
        for line, (place, number) in zip(printed, taken, strict=True):
            self._line(line, path, place, self.results[number], truth)
        place, number = taken[-1]
        self._same_end(path, place, number, truth, reads_on)
        if unchanged and self.results[number].files.get(path, "") != truth.files[path]:
            raise Misled("the file has changed")
        for number in {number for _, number in taken}:
            self._newest(number, [(path, place) for place, by in taken if by == number], truth)

    def _partly(self, text: str, truth: Result, reads_on: Callable[[str], bool]) -> None:
        """Some lines are shown, and each omitted one is taken from where it is said to be shown."""
        printed, shown = rows(truth.shown or ""), rows(text)
        if text.endswith("\n") != (truth.shown or "").endswith("\n"):
            raise Misled("the end of the output is another")
        path, place = "", 0
        for line in shown:
            if reference := OMITTED.fullmatch(line):
                numbers, name, command, ago = reference.groups()
                number, path, places = self._result(command, ago), self._path(name, truth.files), _places(numbers)
                for place in places:
                    if not printed:
                        raise Misled(f"line {place} is named, and the output has ended")
                    self._line(printed.pop(0), path, place, self.results[number], truth)
                self._newest(number, [(path, place) for place in places], truth)
                if not printed:
                    self._same_end(path, place, number, truth, reads_on)
            elif not printed or printed.pop(0) != line:
                raise Misled(f"{line!r} is shown, and is not what is printed there")
            elif path:
                place += 1
                self._counted(line, path, place, truth)
        if printed:
            raise Misled(f"the output goes on with {printed[0]!r}")

    def _counted(self, printed: str, path: str, place: int, truth: Result) -> None:
        """A line behind a reference has the number that a reader counts, or another one before it."""
        lines = enumerate(rows(truth.files[path]), 1)
        places = [number for number, line in lines if tag(line) and tag(line) in printed]
        numbered = re.match(r"\s*L?(\d+)\b", printed)
        if places and place not in places and not (numbered and int(numbered[1]) in places):
            raise Misled(f"one of the lines {places} is shown where a reader counts line {place}")

    def _same_end(self, path: str, place: int, number: int, truth: Result, reads_on: Callable[[str], bool]) -> None:
        """A file that ends where the output does ended there before."""
        before, now = self.results[number].files.get(path, ""), truth.files[path]
        ends_alike = (len(rows(before)), before.endswith("\n")) == (place, now.endswith("\n"))
        if place == len(rows(now)) and not ends_alike and reads_on(path):
            raise Misled(f"the file ends with line {place}, and did not when {number} was shown")

    def _line(self, printed: str, path: str, place: int, result: Result, truth: Result) -> None:
        """One line that a reader takes from ``result``."""
        lines, before = rows(truth.files[path]), rows(result.files.get(path, ""))
        text = lines[place - 1] if place <= len(lines) else None
        if text is None or not printed.endswith(text):
            raise Misled(f"line {place} is {text!r}, {printed!r} is printed")
        if place > len(before) or before[place - 1] != text:
            raise Misled(f"line {place} was another one when {result.command!r} was run")
        shown = [line[: len(line) - len(text)] for line in rows(result.shown or "") if line.endswith(text)]
        number = rf"\s*{place}\s*[:\t| →]?\s*"
        own = printed[: len(printed) - len(text)]
        if text and not any(re.fullmatch(number if own else f"(?:{number})?", prefix) for prefix in shown):
            raise Misled(f"{result.command!r} does not show line {place} so")

    def _newest(self, number: int, places: list[Place], truth: Result) -> None:
        """No newer visible result shows another version at one of these places, in whatever form."""
        older = self.results[number].files
        for result in self.results[number + 1 :]:
            for path, place in places if result.visible else ():
                now, then = _tag_at(truth.files, path, place), _tag_at(result.files, path, place)
                if self.meddled.get(path, -1) >= number or _tag_at(older, path, place) != now:
                    # Of changes by others nothing is known; and an equal output may show other places.
                    continue
                moved = then in truth.files[path]
                if now and then and now != then and then in result.tags and not moved:
                    raise Misled(f"the newer {result.command!r} shows {then} at line {place}, where {now} is")

    def claims(self, view: str, files: Snapshot) -> Iterator[str | None]:
        """For each range that a state view calls current, why it is not; None if it is."""
        for row in re.findall(r"^- (.+)$", view.partition("\nSeen")[2], re.MULTILINE):
            name, _, body = row.partition(": ")
            for ranges, status in re.findall(r"([^;()]+) \(([^)]*)\)", body):
                if "current" in status.split(", "):
                    path = self._path(name, files)
                    yield next((f"{row}: {why}" for why in self._untrue(ranges, path, rows(files[path]))), None)

    def _untrue(self, ranges: str, path: str, lines: list[str]) -> Iterator[str]:
        """What is wrong with the claim that these lines are known."""
        whole = re.match(r"\s*whole, (\d+) lines?", ranges)
        if whole and int(whole[1]) != len(lines):
            yield f"the file has {len(lines)} lines"
        last = [
            range(max(1, len(lines) - int(count) + 1), len(lines) + 1) for count in re.findall(r"last (\d+)", ranges)
        ]
        named = re.findall(r"(?<![\d-])(\d+(?:-\d+)?)(?![\d-])", re.sub(r"last \d+", "", ranges))
        listed = [place for one in named for place in _places(one)]
        for place in (*(range(1, len(lines) + 1) if whole else listed), *(place for one in last for place in one)):
            if place > len(lines):
                yield f"line {place} is behind the end"
                return
            found = tag(lines[place - 1])
            if found and not any(
                found in one.tags and _tag_at(one.files, path, place) == found for one in self.results
            ):
                yield f"line {place} was never shown as {found}"

    def _path(self, name: str, files: Snapshot) -> str:
        """The file that a name means."""
        meant = [path for path in files if _plain(path).endswith(f"/{_plain(name.strip(chr(34)))}")]
        exact = [path for path in meant if path in (name, f"{self.folder}/{name.strip(chr(34))}")]
        if not meant:
            raise Misled(f"there is no file {name}")
        return (exact or meant)[0]


def _places(numbers: str) -> list[int]:
    """The numbers in ``3-5, 9``."""
    spans = [one.strip().partition("-") for one in numbers.split(",")]
    return [place for first, _, last in spans for place in range(int(first), int(last or first) + 1)]


@functools.lru_cache(maxsize=1_000)
def _tags(text: str) -> tuple[str, ...]:
    return tuple(map(tag, rows(text)))


def _tag_at(files: Snapshot, path: str, place: int) -> str:
    tags = _tags(files.get(path, ""))
    return tags[place - 1] if place <= len(tags) else ""


def _plain(text: str) -> str:
    """A text as a reference may spell it."""
    return re.sub(r"[^\x20-\x7e]", "?", " ".join(text.split()))
