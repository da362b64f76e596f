"""The witness's judgement: lines that results showed, and a file's lines now, give a verdict for each line.

The comparison is pure; adapters read the files. A definite verdict needs an earlier look that agreed with what was
shown: a file whose first look disagrees reaches the model through something that alters it, such as a conversion of
line endings, and nothing is claimed about it for the rest of the run.

Lines are followed from one look to the next by aligning the file's texts at both, so that an edit above a range moves
it, and one of two equal passages is not taken for the other.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from msgspec import Struct

from execledger.core.lines import split_lines
from execledger.core.witness_limits import MAX_ALIGNED_LINES, MAX_EQUAL_PAIRS, MAX_FOLLOWED, MAX_REPORTED_PIECES
from execledger.vocabulary.records import Lines
from execledger.vocabulary.sightings import FileSighting, ResultSighting, SightedLines, Verdict

DISAGREED = "the first look disagreed with what was shown"
"""Why a file is unknown for the rest of a run."""
UNPLACED = "something that may write ran between the result and the first look"
"""Why the lines of a result are unknown."""
NEVER_FOUND = "no earlier look has found it"
"""Why a file that does not exist is unknown."""
TOO_DIFFERENT = "the file differs in too many places for its lines to be followed"
"""Why lines that an earlier look has found are unknown."""
LOST = -1
"""The line number of lines that can't be followed any further."""

Texts: TypeAlias = Sequence[str]
FollowedRun: TypeAlias = tuple[int, int, int]
"""Consecutive lines: the first and the last, as they were shown, and the line number that the first has now; 0 if they
were changed, ``LOST`` if they can't be followed any further."""


class PossibleWrites(Struct, frozen=True):
    """What may have been written so far: where nothing can have been since a look, another one finds the same."""

    commands: int
    """How many commands that may write have run."""
    at_any_time: bool
    """Files may change at any time: a command may have left a job behind, was stopped, or others may write."""


class Alignment(Struct, frozen=True):
    """How the lines of a file at two looks correspond."""

    kept: tuple[tuple[int, int, int], ...] = ()
    """Consecutive lines that were kept: the first and the last, as numbered before, and by how much they have moved."""
    lost: bool = False
    """The other lines were too many to compare; otherwise they were changed."""


class ShownRange(Struct, frozen=True):
    """Consecutive lines of a file that one result showed."""

    step: int
    """The step whose result showed them."""
    first: int
    """The number of the first line."""
    texts: tuple[str, ...]
    """The lines."""
    fresh: bool = True
    """Nothing that may write has run since: a first look that disagrees says that the file can't be compared."""
    listed: tuple[Lines, ...] = ()
    """The parts of them that no newer result shows again, which a state view lists; all of them if it is empty."""

    def parts(self) -> Iterator[ShownRange]:
        """Each of the parts that are listed."""
        for part in self.listed or (Lines(self.first, self.first + len(self.texts) - 1),):
            first = part.first - self.first
            last = len(self.texts) if part.last is None else part.last - self.first + 1
            yield ShownRange(self.step, part.first, self.texts[first:last], self.fresh)


class _Followed:
    """Lines of one result, followed from one look to the next."""

    def __init__(self, shown: ShownRange) -> None:
        """Lines that the first look found in the file as they were shown."""
        self.shown = shown
        self._runs: list[FollowedRun] = []

    def found(self, texts: Texts, alignment: Alignment | None) -> list[SightedLines]:
        """What became of the lines in a file that holds ``texts``, which ``alignment`` compares with those before."""
        first, last = self.shown.first, self.shown.first + len(self.shown.texts) - 1
        if tuple(texts[first - 1 : last]) == self.shown.texts:
            self._runs = []
            return [SightedLines(first, last, Verdict.SAME)]
        runs = self._runs or [(first, last, first)]
        if alignment is not None:
            runs = [run for one in runs for run in _carried(one, alignment)]
        self._runs = _joined(run for one in runs for run in self._restored(one, texts))
        return [_piece(run) for run in self._runs]

    def _restored(self, run: FollowedRun, texts: Texts) -> Iterator[FollowedRun]:
        """Lines that are at their places again: an edit was undone, or the same text was written once more."""
        first, last, now = run
        if now > 0:
            yield run
            return
        for place in range(first, last + 1):
            same = place <= len(texts) and texts[place - 1] == self.shown.texts[place - self.shown.first]
            yield place, place, place if same else now


class _File:
    """What earlier looks found of one file."""

    def __init__(self, key: bytes) -> None:
        """No look was taken yet; ``key`` is that of the digests."""
        self._key = key
        self.text: str | None = None
        self.texts: Texts = ()
        self.first: Texts | None = None
        self._since_first: Alignment | None = None
        self.digest = ""
        self.followed: dict[tuple[int, int], _Followed] = {}
        self.unplaced: set[tuple[int, int]] = set()
        self.disagreed = False

    def read(self, text: str) -> Alignment | None:
        """Take in the text that the file holds now; None if it is the same as before."""
        if text == self.text:
            return None
        before, texts = self.texts, resplit(self.text or "", self.texts, text)
        self.text, self.texts, self.digest = text, texts, _sha256(text, self._key)
        if self.first is None:
            self.first = self.texts
        alignment = aligned(before, self.texts) if self.followed else Alignment()
        self._since_first = alignment if self.followed and before is self.first else None
        return alignment

    def new(self) -> tuple[tuple[int, int], ...]:
        """The lines that the file did not have at the first look; empty if too many lines differ to tell."""
        if self.first is None or self.first == self.texts or self.unplaced:
            return ()
        alignment = self._since_first = self._since_first or aligned(self.first, self.texts)
        runs = tuple(_unaligned(alignment, len(self.first), len(self.texts)))
        return runs if not alignment.lost and len(runs) <= MAX_REPORTED_PIECES else ()

    def meet(self, shown: ShownRange) -> None:
        """Compare lines with the file at their first look: whether they can be followed is decided then."""
        key = (shown.step, shown.first)
        if key in self.followed or key in self.unplaced:
            return
        if tuple(self.texts[shown.first - 1 : shown.first - 1 + len(shown.texts)]) == shown.texts:
            self.followed[key] = _Followed(shown)
            if len(self.followed) > MAX_FOLLOWED:
                # Without it, these lines are as if they were never found.
                self.unplaced.add(dropped := next(iter(self.followed)))
                del self.followed[dropped]
        elif shown.fresh:
            self.disagreed = True
        else:
            self.unplaced.add(key)

    def follows(self, shown: ShownRange) -> bool:
        """An earlier look has found these lines in the file as they were shown."""
        return not self.disagreed and (shown.step, shown.first) in self.followed


class Witnessed:
    """The looks of one run at the files that it has shown: each is judged in the light of those before it."""

    def __init__(self, key: bytes = b"") -> None:
        """No look was taken yet; sightings have digests with this ``key``."""
        self._files: dict[str, _File] = {}
        self._key = key

    def gone(self, path: str, shown: Iterable[ShownRange]) -> FileSighting:
        """The sighting of a file that does not exist; unknown for lines that no earlier look has found in it."""
        file, asked = self._files.get(path) or _File(self._key), list(shown)
        known = [one for one in asked if file.follows(one)]
        found = [(one, [_all(one, Verdict.GONE if one in known else Verdict.UNKNOWN)]) for one in asked]
        return FileSighting(path, _results(found), reason="" if len(known) == len(asked) else NEVER_FOUND)

    def read(self, path: str, shown: Iterable[ShownRange], text: str) -> FileSighting:
        """The sighting of a file that holds ``text``."""
        file, asked = self._files.setdefault(path, _File(self._key)), list(shown)
        alignment = file.read(text)
        pieces = {key: one.found(file.texts, alignment) for key, one in file.followed.items()}
        for one in asked:
            file.meet(one)
        if file.disagreed:
            return unread(path, asked, DISAGREED)
        found = []
        for one in asked:
            met = _all(one, Verdict.SAME if file.follows(one) else Verdict.UNKNOWN)
            found.append((one, pieces.get((one.step, one.first), [met])))
        results = _results(found)
        unknown = TOO_DIFFERENT if all(file.follows(one) for one in asked) else UNPLACED
        reason = unknown if has_unknown(results) else ""
        return FileSighting(path, results, len(file.texts), file.digest, reason, file.new())


class DigestedLines(Struct, frozen=True):
    """The digests of lines of a file, as ``line_digests`` makes them."""

    here: str
    """Those at the line numbers that were shown."""
    there: str = ""
    """Those at the line numbers that they would have if all that was inserted or deleted is above them; "" if the file
    is as long as when they were last found at their places."""


class WitnessedDigests:
    """The looks of one run at files of which only digests are known: ranges are the same, moved or changed as a whole.

    Lines that are found as they were shown have been compared by that; for any other verdict, an earlier look must
    have found them.
    """

    def __init__(self, key: bytes = b"") -> None:
        """No look was taken yet; sightings have digests with this ``key``."""
        self._key = key
        # The lines that looks have found at their places, by file and step: the first, the last, and how many lines the
        # file had then; those that were found last at the end.
        self._found: dict[str, dict[int, list[tuple[int, int, int]]]] = {}
        self._disagreed: set[str] = set()

    def length(self, path: str, shown: ShownRange) -> int:
        """How many lines a file had when these were last found at their places; -1 if they never were."""
        found = self._found.get(path, {}).get(shown.step, ())
        ending = shown.first + len(shown.texts) - 1
        return next((lines for first, last, lines in reversed(found) if first <= shown.first and ending <= last), -1)

    def gone(self, path: str, shown: Iterable[ShownRange]) -> FileSighting:
        """The sighting of a file that does not exist; unknown for lines that no earlier look has found in it."""
        known = [(one, path not in self._disagreed and self.length(path, one) >= 0) for one in shown]
        results = _results((one, [_all(one, Verdict.GONE if found else Verdict.UNKNOWN)]) for one, found in known)
        return FileSighting(path, results, reason=NEVER_FOUND if has_unknown(results) else "")

    def read(
        self, path: str, shown: Sequence[ShownRange], lines: int, digests: Sequence[DigestedLines]
    ) -> FileSighting:
        """The sighting of a file that has so many ``lines``, with the digests of what was shown of it."""
        found = [(one, [self._piece(path, one, seen, lines)]) for one, seen in zip(shown, digests, strict=True)]
        if path in self._disagreed:
            return unread(path, shown, DISAGREED)
        whole = _sha256(" ".join([str(lines), *(f"{seen.here} {seen.there}" for seen in digests)]), self._key)
        results = _results(found)
        return FileSighting(path, results, None, whole, UNPLACED if has_unknown(results) else "")

    def _piece(self, path: str, shown: ShownRange, seen: DigestedLines, lines: int) -> SightedLines:
        expected, before = line_digests(shown), self.length(path, shown)
        if seen.here in expected:
            self._note(path, shown, lines)
            return _all(shown, Verdict.SAME)
        if before < 0:
            if shown.fresh:
                self._disagreed.add(path)
            return _all(shown, Verdict.UNKNOWN)
        if seen.there in expected:
            now = shown.first + lines - before
            return SightedLines(shown.first, shown.first + len(shown.texts) - 1, Verdict.MOVED, now)
        return _all(shown, Verdict.CHANGED)

    def _note(self, path: str, shown: ShownRange, lines: int) -> None:
        """Note that these lines were found at their places."""
        known = self._found.setdefault(path, {}).setdefault(shown.step, [])
        first, last = shown.first, shown.first + len(shown.texts) - 1
        known[:] = [one for one in known if one[:2] != (first, last)][-MAX_FOLLOWED:]
        known.append((first, last, lines))


def line_digests(shown: ShownRange) -> tuple[str, str]:
    """The digests of lines, with and without a newline behind the last one."""
    text = "\n".join(shown.texts)
    ended = _sha256(text + "\n")
    # An empty last line without a newline is no line.
    return ended, _sha256(text) if shown.texts[-1] else ended


def _sha256(text: str, key: bytes = b"") -> str:
    """The digest of a key and a text, by the function that computes fastest and that containers have."""
    hashed = hashlib.sha256(key)
    hashed.update(text.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def has_unknown(results: Iterable[ResultSighting]) -> bool:
    """Whether nothing is known of some of the lines."""
    return any(piece.verdict is Verdict.UNKNOWN for result in results for piece in result.pieces)


def unread(path: str, shown: Iterable[ShownRange], reason: str) -> FileSighting:
    """The sighting of a file that could not be read."""
    return FileSighting(path, _results((one, [_all(one, Verdict.UNKNOWN)]) for one in shown), reason=reason)


def aligned(before: Texts, now: Texts) -> Alignment:
    """Which lines an edit kept, and where they are now.

    What is equal at both ends is kept; between the first and the last difference, the longest common passages are.
    """
    head = _alike(before, now)
    rest = min(len(before), len(now)) - head
    tail = _alike(before[len(before) - rest :][::-1], now[len(now) - rest :][::-1])
    old, new = before[head : len(before) - tail], now[head : len(now) - tail]
    blocks = [(1, head, 0)]
    counted = Counter(new)
    lost = len(old) + len(new) > MAX_ALIGNED_LINES or sum(counted[line] for line in old) > MAX_EQUAL_PAIRS
    if old and new and not lost:
        for one in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            blocks.append((head + one.a + 1, head + one.a + one.size, one.b - one.a))
    blocks.append((len(before) - tail + 1, len(before), len(now) - len(before)))
    return Alignment(tuple(block for block in blocks if block[0] <= block[1]), lost)


def _unaligned(alignment: Alignment, before: int, now: int) -> Iterator[tuple[int, int]]:
    """The lines now that none of the kept lines is: by the first and the last; where lines are missing, (n, n - 1)."""
    old = new = 1
    for first, last, shift in (*alignment.kept, (before + 1, before + 1, now - before)):
        if first > old or first + shift > new:
            yield new, first + shift - 1
        old, new = last + 1, last + shift + 1


def resplit(before: str, lines: Texts, now: str) -> Texts:
    """The lines of a text, given another one with its lines: what is equal at both ends is not split again.

    That is quicker, and quick to compare, since equal lines are mostly the same objects.
    """
    head = now.rfind("\n", 0, _alike(before, now)) + 1
    rest = min(len(before), len(now)) - head
    alike = _alike(before[len(before) - rest :][::-1], now[len(now) - rest :][::-1])
    # Behind the first newline of what is equal at the end, both have the same whole lines.
    tail = now.find("\n", len(now) - alike) + 1 or len(now)
    kept = now.count("\n", tail) + (tail < len(now) and not now.endswith("\n"))
    return [*lines[: now.count("\n", 0, head)], *split_lines(now[head:tail]), *lines[len(lines) - kept :]]


def _alike(one: Texts, other: Texts) -> int:
    """How many items are equal at the start of both."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high:
        half = (low + high + 1) // 2
        if one[low:half] == other[low:half]:
            low = half
        else:
            high = half - 1
    return low


def _carried(run: FollowedRun, alignment: Alignment) -> Iterator[FollowedRun]:
    """Where the lines of a run are now, by where they were at the look before."""
    first, last, now = run
    if now <= 0:
        yield run
        return
    ending, missing = now + last - first, LOST if alignment.lost else 0
    for low, high, shift in alignment.kept:
        if high < now or low > ending:
            continue
        start, stop = max(low, now), min(high, ending)
        if start > now:
            yield first, first + start - now - 1, missing
        yield first + start - now, first + stop - now, start + shift
        first, now = first + stop - now + 1, stop + 1
    if first <= last:
        yield first, last, missing


def _joined(runs: Iterable[FollowedRun]) -> list[FollowedRun]:
    """The same runs, neighbours joined that are behind each other in the file too, or are not in it."""
    joined: list[FollowedRun] = []
    for first, last, now in runs:
        if joined and joined[-1][1] == first - 1 and _goes_on(joined[-1], now):
            joined[-1] = (joined[-1][0], last, joined[-1][2])
        else:
            joined.append((first, last, now))
    return joined


def _goes_on(run: FollowedRun, now: int) -> bool:
    return now == (run[2] if run[2] <= 0 else run[2] + run[1] - run[0] + 1)


def _piece(run: FollowedRun) -> SightedLines:
    """What became of a run of lines."""
    first, last, now = run
    if now <= 0:
        return SightedLines(first, last, Verdict.UNKNOWN if now == LOST else Verdict.CHANGED)
    return SightedLines(first, last, Verdict.SAME) if now == first else SightedLines(first, last, Verdict.MOVED, now)


def _all(shown: ShownRange, verdict: Verdict) -> SightedLines:
    """One verdict for all of these lines."""
    return SightedLines(shown.first, shown.first + len(shown.texts) - 1, verdict)


def _results(found: Iterable[tuple[ShownRange, list[SightedLines]]]) -> tuple[ResultSighting, ...]:
    """Verdicts by the step that showed the lines, each a bounded number of pieces."""
    steps: dict[int, list[SightedLines]] = {}
    for shown, pieces in found:
        steps.setdefault(shown.step, []).extend(pieces)
    for pieces in steps.values():
        pieces.sort(key=lambda piece: piece.first)
        if len(pieces) > MAX_REPORTED_PIECES:
            pieces[MAX_REPORTED_PIECES - 1 :] = [
                SightedLines(pieces[MAX_REPORTED_PIECES - 1].first, pieces[-1].last, Verdict.UNKNOWN)
            ]
    return tuple(ResultSighting(step, tuple(pieces)) for step, pieces in steps.items())
