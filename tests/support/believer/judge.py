"""A reader that believes every reference, and a record of the truth to hold its beliefs against."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.support.believer.displays import Chosen, Last, Line, Piece, Span, split
from tests.support.believer.words import MARK, Claim, Reference, Target, begins, names, read_claims, read_reference

Belief = list[tuple[int, Line, "Result"]]
"""Lines that a reader takes from earlier results: the number, the line as it was shown, and where."""


@dataclass
class Result:
    """One command, and what its reader has before his eyes."""

    command: str
    status: int
    shown: str | None
    """The output as it was shown; nothing if a reference was shown in its place."""
    pieces: tuple[Piece, ...] = ()
    """The lines of files that were really shown."""
    believed: tuple[Piece, ...] = ()
    """The lines of files that a true reference replaces."""
    cwd: str = ""
    visible: bool = True


@dataclass
class Truth:
    """What a command really printed, or would have printed."""

    command: str
    output: str
    status: int
    pieces: tuple[Piece, ...] | None
    """What of it is which line of which file; nothing if only its text is known."""
    harmless: bool = True
    ran: bool = True
    cwd: str = ""
    """The folder in which it ran, if that is not the agent's own."""
    cut: tuple[int, int] | None = None
    """The characters of the output that were left out when it was shown."""

    @property
    def lines(self) -> list[tuple[Piece, Line]]:
        return [(piece, line) for piece in self.pieces or () for line in piece.lines]


class Misled(Exception):
    """What a reader believes is not so: in which way, and a message that says what."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


@dataclass
class Reader:
    """The results so far, and what a believer makes of the next one."""

    folder: Path
    results: list[Result] = field(default_factory=list)
    elsewhere: int = 0
    """References to an equal output that shows other lines, or another file."""

    def hide(self, gone: Container[int]) -> None:
        """These results leave the request, as by compaction or blanking."""
        for number, result in enumerate(self.results):
            result.visible &= number not in gone

    def show(self, truth: Truth) -> None:
        """A result is shown as it came."""
        pieces, output = truth.pieces or (), truth.output
        if truth.cut:
            first, last = truth.cut
            pieces, output = tuple(_clipped(pieces, first, last)), output[:first] + output[last:]
        self.results.append(Result(truth.command, truth.status, output, pieces, cwd=truth.cwd))

    def refer(self, truth: Truth, text: str) -> Misled | None:
        """A result is shown as ``text``, with references in it; returns why that misleads, if it does."""
        try:
            shown = self._read(truth, text)
        except Misled as why:
            self.results.append(Result(truth.command, truth.status, None, cwd=truth.cwd))
            return why
        result = Result(truth.command, truth.status, None, tuple(shown), truth.pieces or (), truth.cwd)
        self.results.append(result)
        return None

    def _read(self, truth: Truth, text: str) -> Iterator[Piece] | tuple[Piece, ...]:
        """Hold a text with references against the truth; returns the lines that it shows itself."""
        if not (truth.ran or truth.harmless):
            raise Misled("suppressed", "a command that changes files was not run")
        elements = split(text)
        references = [element for element in elements if element.startswith(MARK)]
        if not references:
            raise Misled("unreadable", "the reference cannot be read")
        if len(elements) == 1:
            self._whole(truth, self._understood(text, truth))
            return ()
        return tuple(self._partly(truth, elements))

    def _understood(self, text: str, truth: Truth) -> Reference:
        """The reference, each of its targets found."""
        reference = read_reference(text)
        if not reference.targets:
            raise Misled("unreadable", "the reference cannot be read")
        for target in reference.targets:
            self._result(target, truth)
        return reference

    def _result(self, target: Target, truth: Truth) -> Result:
        """The result that a target means."""
        if not 1 <= target.ago <= len(self.results):
            raise Misled("distance", f"there was no command {target.ago} commands ago")
        result = self.results[-target.ago]
        if not names(target, result.command, truth.command):
            raise Misled("distance", f"{target.ago} commands ago is another command: {result.command!r}")
        if "same command" in target.name and result.cwd != truth.cwd:
            raise Misled("distance", f"{target.ago} commands ago, the same command ran in another folder")
        if not result.visible:
            raise Misled("hidden", "what it refers to is no longer visible")
        if result.shown is None and not result.pieces:
            raise Misled("hidden", "what it refers to was itself a reference")
        if result.shown is not None and not begins(target, result.shown):
            raise Misled("distance", "what it refers to begins otherwise")
        return result

    def _whole(self, truth: Truth, reference: Reference) -> None:
        """One reference replaces the whole output."""
        first = self._result(reference.targets[0], truth)
        unnamed = not any(target.lines for target in reference.targets)
        same = (first.command, first.cwd) == (truth.command, truth.cwd) or "same command" in reference.targets[0].name
        if unnamed and (reference.whole or same) and len(reference.targets) == 1:
            if first.shown is None:
                raise Misled("hidden", "what it refers to was shown in part only")
            if (first.shown, first.status) != (truth.output, truth.status):
                raise Misled(
                    "output", f"the output is not the same: {_differ(split(first.shown), split(truth.output))}"
                )
            if why := self._newer(truth, [first]):
                raise Misled("newer", why)
            shown = {(piece.path, line.number) for piece in first.pieces for line in piece.lines}
            self.elsewhere += not shown.issuperset((piece.path, line.number) for piece, line in truth.lines)
            return
        if truth.status and "status" not in reference.text and "exit" not in reference.text:
            raise Misled("status", f"it does not say that the command failed with status {truth.status}")
        belief = self._named(truth, reference) if not unnamed else self._asked(truth, reference)
        self._believe(truth, truth.lines, belief, reference)
        if truth.pieces is None:
            text = "".join(line.text for _, line, _ in belief)
            if text != truth.output:
                raise Misled("output", f"the output is another: {_differ(split(text), split(truth.output))}")

    def _partly(self, truth: Truth, elements: Sequence[str]) -> Iterator[Piece]:
        """References replace some of the lines, others are shown; yields those."""
        rest = truth.lines
        if truth.pieces is None:
            raise Misled("output", "only a part of an output that is no plain read is shown")
        place: int | None = None
        for element in elements:
            if element.startswith(MARK):
                reference = self._understood(element, truth)
                belief = self._named(truth, reference)
                if not belief:
                    raise Misled("unreadable", "it does not say which lines are left out")
                self._believe(truth, rest[: len(belief)], belief, reference)
                rest = rest[len(belief) :]
                place = belief[-1][0]
                continue
            while element:
                if not rest or not element.startswith(rest[0][1].printed):
                    raise Misled(
                        "output", f"shows {element!r} where the output has {rest[0][1].printed if rest else ''!r}"
                    )
                (piece, line), *rest = rest
                element = element.removeprefix(line.printed)
                place = _inferred(piece, line, place)
                if place != line.number:
                    raise Misled("place", f"line {line.number} is shown where a reader counts line {place}")
                ended = piece.ended and line is piece.lines[-1]
                yield replace(piece, lines=(line,), ended=ended)
        if rest:
            raise Misled("end", f"the output goes on: {rest[0][1].printed!r}")

    def _named(self, truth: Truth, reference: Reference) -> Belief:
        """The lines that a reference names, as the named results show them."""
        belief = []
        for target in reference.targets:
            result = self.results[-target.ago]
            path = self._meant(target.file, truth)
            for number in target.lines:
                line = self._find(result, path, number)
                if line is None:
                    raise Misled("absent", f"line {number} is not in the result of {result.command!r}")
                belief.append((number, line, result))
        return belief

    def _asked(self, truth: Truth, reference: Reference) -> Belief:
        """No lines are named: the reader looks for those that he asked for, in the newest result named first."""
        if truth.pieces is None:
            raise Misled("unreadable", "it does not name the lines that it replaces")
        results = sorted(reference.targets, key=lambda target: target.ago)
        belief: Belief = []
        for piece in truth.pieces:
            found: dict[int, tuple[Line, Result]] = {}
            ended = False
            for target in results:
                result = self.results[-target.ago]
                for shown in self._pieces(result, piece.path):
                    ended |= shown.ended
                    for key in shown.places():
                        line = shown.find(key)
                        assert line is not None
                        found.setdefault(key, (line, result))
            numbers = sorted(found)
            match piece.selection:
                case Span(first, last):
                    numbers = [one for one in numbers if first <= one <= (last or one)]
                case Last(count) if ended:
                    numbers = numbers[-count:]
                case Chosen() as chosen if ended and numbers == list(range(1, len(numbers) + 1)):
                    numbers = chosen.choose([found[number][0].text for number in numbers])
                case _:
                    raise Misled("unreadable", "it does not name the lines that it replaces")
            belief += ((number, *found[number]) for number in numbers)
        return belief

    def _believe(self, truth: Truth, lines: Sequence[tuple[Piece, Line]], belief: Belief, reference: Reference) -> None:
        """Hold believed lines against the real ones."""
        if truth.pieces is None:
            return
        if [number for number, _, _ in belief] != [line.number for _, line in lines]:
            belief.sort(key=lambda one: one[0])
        for (piece, line), (number, shown, result) in zip(lines, belief, strict=False):
            if line.number != number:
                raise Misled("place", f"line {line.number} is meant, line {number} is named")
            if not _same(line, shown, piece):
                raise Misled("content", f"line {number} reads {line.text!r}, the reader takes {shown.text!r}")
            if line.label is not None and shown.label != line.label:
                raise Misled("numbers", f"the number {line.label} is printed, {result.command!r} shows {shown.label}")
        if len(lines) > len(belief):
            raise Misled("absent", f"line {lines[len(belief)][1].number} is not in what it refers to")
        if len(lines) < len(belief):
            raise Misled("end", f"the output ends before line {belief[len(lines)][0]}, which the reader takes as there")
        files = {self._meant(target.file, truth) for target in reference.targets if target.file}
        if wrong := files - {piece.path for piece, _ in lines}:
            raise Misled("file", f"names another file: {wrong.pop()}")
        self._ends(lines, belief)
        self._unchanged(lines, belief, reference)
        if why := self._newer(Truth(truth.command, "", 0, _regrouped(lines)), [result for _, _, result in belief]):
            raise Misled("newer", why)

    def _ends(self, lines: Sequence[tuple[Piece, Line]], belief: Belief) -> None:
        """Where the output shows that the file ends, what it refers to must not go on."""
        for (piece, line), (_, _, result) in zip(lines, belief, strict=True):
            if not piece.ended or line is not piece.lines[-1]:
                continue
            beyond = [key for shown in self._pieces(result, piece.path) for key in shown.places() if key > line.number]
            if beyond:
                raise Misled(
                    "end", f"the file ends with line {line.number}, {result.command!r} shows line {max(beyond)}"
                )

    def _unchanged(self, lines: Sequence[tuple[Piece, Line]], belief: Belief, reference: Reference) -> None:
        """A file that is called unchanged has the contents that it had, also outside the lines that were asked for."""
        if "not changed" not in reference.text:
            return
        for (piece, _), (_, _, result) in zip(lines, belief, strict=True):
            if any(shown.path == piece.path and shown.file != piece.file for shown in result.pieces):
                raise Misled("changed", f"the file has changed since {result.command!r}")

    def _newer(self, truth: Truth, sources: Sequence[Result]) -> str | None:
        """Whether a visible result newer than the one referred to shows a place differently."""
        lines = truth.lines
        if len(sources) != len(lines):
            sources = [sources[0]] * len(lines)
        order = {id(result): position for position, result in enumerate(self.results)}
        for (piece, line), source in zip(lines, sources, strict=True):
            if not piece.path:
                continue
            for result in self.results[order[id(source)] + 1 :]:
                if not result.visible:
                    continue
                for shown in result.pieces:
                    if (shown.path, shown.name) != (piece.path, piece.name):
                        continue
                    for other in shown.lines:
                        if other.number == line.number and not _agrees(line, other, piece, shown):
                            return f"line {line.number} is {other.text!r} in the newer {result.command!r}"
                    if shown.ended and shown.lines and shown.lines[-1].number < line.number:
                        return f"line {line.number} is behind the end that the newer {result.command!r} shows"
        return None

    def _pieces(self, result: Result, path: str) -> list[Piece]:
        """What a result shows of a file; of whatever file, if it shows one only."""
        own = [piece for piece in result.pieces if piece.path == path]
        if not own and len({piece.path for piece in result.pieces if piece.path}) == 1:
            own = [piece for piece in result.pieces if piece.path]
        return own

    def _find(self, result: Result, path: str, number: int) -> Line | None:
        for piece in reversed(self._pieces(result, path)):
            if line := piece.find(number):
                return line
        return None

    def _meant(self, name: str, truth: Truth) -> str:
        """The file that a name in a reference means: one that the command reads, if that has such a name."""
        paths = self._paths(name, truth.cwd) if name else []
        read = [piece.path for piece in truth.pieces or () if piece.path in paths]
        return (read or paths or [""])[0]

    def _paths(self, name: str, cwd: str = "") -> list[str]:
        """The files that a name can mean: in the command's folder, in the agent's, or one seen before."""
        found = [os.path.realpath(os.path.join(folder, name)) for folder in (cwd, str(self.folder)) if folder]
        known = {piece.path for result in self.results for piece in (*result.pieces, *result.believed) if piece.path}
        ends = [one for one in sorted(known) if one.endswith(f"/{name.lstrip('./')}")]
        return [*(path for path in found if os.path.exists(path)), *ends] or found

    def claims(self, view: str) -> Iterator[tuple[Claim, Misled | None]]:
        """Each claim of a state view that something is current, and why it is false, if it is."""
        for claim in read_claims(view):
            faults = [self._claim(claim, path) for path in self._paths(claim.file)]
            yield claim, None if None in faults else faults[0]

    def _claim(self, claim: Claim, path: str) -> Misled | None:
        try:
            self._check(claim, path)
        except Misled as why:
            return why
        return None

    def _check(self, claim: Claim, path: str) -> None:
        """Hold a claim against the file and against what was shown of it."""
        if not os.path.isfile(path):
            raise Misled("gone", "the file does not exist")
        lines = split(Path(path).read_bytes().decode("utf-8", "replace"))
        numbers = [number for first, last in claim.ranges for number in range(first, last + 1)]
        if claim.whole is not None:
            if claim.whole != len(lines):
                raise Misled("end", f"the file has {len(lines)} lines")
            numbers = list(range(1, len(lines) + 1))
        elif claim.last is not None:
            numbers = list(range(max(1, len(lines) - claim.last + 1), len(lines) + 1))
        elif not numbers:
            raise Misled("unreadable", "the claim cannot be read")
        sights = self._sights(path, claim.visible)
        for number in numbers:
            if number > len(lines):
                raise Misled("end", f"the file ends with line {len(lines)}")
            if number not in sights:
                raise Misled("absent", f"line {number} was never shown as such")
            # Some tools show no carriage return at the end of a line.
            if sights[number].rstrip("\r\n") != lines[number - 1].rstrip("\r\n"):
                raise Misled(
                    "content", f"line {number} reads {lines[number - 1]!r}, it was shown as {sights[number]!r}"
                )

    def _sights(self, path: str, visible: bool) -> dict[int, str]:
        """The newest text that was shown of each line of a file."""
        sights: dict[int, str] = {}
        for result in self.results:
            for piece in (*result.pieces, *result.believed):
                if piece.path == path and (result.visible or not visible):
                    sights |= {line.number: line.text for line in piece.lines}
        return sights


def _same(line: Line, shown: Line, piece: Piece) -> bool:
    """Whether a real line is what a reader takes; a newline that a program adds or leaves out says nothing about the
    file, and one that other lines follow has it."""
    if line.text == shown.text or (line.unended and shown.text == f"{line.text}\n"):
        return True
    if shown.unended and line is not piece.lines[-1]:
        return line.text == f"{shown.text}\n"
    return (
        line is piece.lines[-1] and line.text == f"{shown.text}\n" and line.printed.endswith("\n") and piece.completes
    )


def _agrees(line: Line, other: Line, piece: Piece, shown: Piece) -> bool:
    """Whether another result shows a line as it is."""
    if other.unended and line.text == f"{other.text}\n":
        return True
    return _same(line, other, piece) or (shown.completes and other.text == f"{line.text}\n")


def _inferred(piece: Piece, line: Line, before: int | None) -> int | None:
    """The number that a reader takes a shown line to have: the printed one, or one more than the line before it."""
    if line.label is not None:
        return line.label
    if isinstance(piece.selection, Chosen) and piece.selection.counted:
        return line.number
    if line is not piece.lines[0]:
        return None if before is None else before + 1
    return piece.selection.first if isinstance(piece.selection, Span) else None


def _regrouped(lines: Sequence[tuple[Piece, Line]]) -> tuple[Piece, ...]:
    """Each line as a piece of its own."""
    return tuple(replace(piece, lines=(line,), ended=False) for piece, line in lines)


def _clipped(pieces: Sequence[Piece], first: int, last: int) -> Iterator[Piece]:
    """Pieces without the lines that lose some of their characters."""
    start = 0
    for piece in pieces:
        kept = []
        for line in piece.lines:
            end = start + len(line.printed)
            if end <= first or start >= last:
                kept.append(line)
            start = end
        ended = piece.ended and kept[-1:] == list(piece.lines[-1:])
        yield Piece(piece.path, tuple(kept), piece.selection, ended, piece.completes, piece.file)


def _differ(believed: Sequence[str], real: Sequence[str]) -> str:
    """The first difference of two texts."""
    for number, (one, other) in enumerate(zip(believed, real, strict=False), 1):
        if one != other:
            return f"line {number} of it is {other!r}, not {one!r}"
    return f"{len(real)} lines, not {len(believed)}"
