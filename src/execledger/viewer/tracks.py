"""What became known of each file, step by step: collected while the ledger is folded once, for queries at any step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct, field

from execledger.core.inform import status
from execledger.core.ledger import Ledger
from execledger.core.observations import ObservationRecord, absolute
from execledger.core.policy import Policy, Preset
from execledger.core.wording import shown_name
from execledger.runs.looks import NO_LOOKS, LookedFile, Looks
from execledger.shell.paths import known_part
from execledger.shell.ranges import subtract, union
from execledger.symbols.edits import edited_symbols
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Step
from execledger.vocabulary.records import CommandRecord, Lines, Scope
from execledger.vocabulary.sightings import Verdict

Span: TypeAlias = tuple[int, int, str, int]
"""A range of lines on the map: first and last line, their status, and the step that showed them."""
Event: TypeAlias = (
    tuple[int, str]
    | tuple[int, str, tuple[tuple[int, int], ...]]
    | tuple[int, str, tuple[str, ...]]
    | tuple[int, str, tuple[Span, ...]]
)
"""What happened to a file:

- ``(step, "seen", ranges)``: lines were shown;
- ``(step, "apart", ranges)``: lines of unknown numbers were shown: they are counted from the file's end, as -1;
- ``(step, "changed", symbols)``: it was written;
- ``(step, "suspect")``: something ran that may have written to it;
- ``(step, "untold")``: something may write at any moment, or in ``paper`` something of unknown effects ran: nothing is
  claimed of the lines but that they were seen;
- ``(step, "looked", spans)``: before the model call of this step, a look found these lines so. That holds until the
  file is written, or something has run that may have written to it;
- ``(step, "unlooked")``: what earlier looks found does not count any more.
"""
FOUND = {Verdict.SAME: "current", Verdict.MOVED: "moved", Verdict.CHANGED: "changed", Verdict.GONE: "gone"}
"""The status of lines by what a look found; other lines keep the status that they have without one."""


class FileTrack(Struct, frozen=True):
    """One file, as the page reads it."""

    path: str
    """The file."""
    name: str
    """Its short name."""
    lines: int
    """The highest line number that is known."""
    events: list[Event]
    """What happened to it, in order, within one step too."""


class SeenLines(Struct, frozen=True):
    """An observation record with its lines counted from the start of the file."""

    record: ObservationRecord
    """The ledger's record."""
    ranges: tuple[Lines, ...]
    """Its lines, ascending, without those of unknown numbers."""


class Track(Struct):
    """What is known of one file."""

    path: str
    """The file."""
    name: str
    """Its short name."""
    lines: int = 0
    """The highest line number that is known."""
    events: list[Event] = field(default_factory=list)
    """What happened to it."""
    glimpses: list[SeenLines] = field(default_factory=list)
    """The observation records, oldest first, of every thread."""
    counters: list[tuple[int, tuple[int, int]]] = field(default_factory=list)
    """Its change counters at first and after every step that advanced one, with the step."""
    looks: list[tuple[int, tuple[Span, ...]]] = field(default_factory=list)
    """What looks have found, with the step before whose model call they were taken; nothing where that has ended."""

    def found(self, at: int) -> tuple[Span, ...]:
        """What is known of its lines from looks after step ``at``."""
        place = bisect_right(self.looks, at, key=lambda look: look[0]) - 1
        return self.looks[place][1] if place >= 0 else ()

    def counter(self, at: int) -> tuple[int, int]:
        """Its change counters after step ``at``."""
        return self.counters[bisect_right(self.counters, at, key=lambda moved: moved[0]) - 1][1]

    def end(self, local: int) -> int | None:
        """Its last line while its counter was ``local``, if a result showed that."""
        ends = (one.record.end for one in reversed(self.glimpses) if one.record.local == local)
        return next((end for end in ends if end is not None), None)


class WatchedLedger(Ledger):
    """A ledger that calls ``tell`` after each recorded step."""

    def __init__(
        self,
        task: str,
        policy: Policy | None,
        symbols: Callable[[CommandRecord, Action, Observation], dict[str, tuple[str, ...]]],
        tell: Callable[[Step], None],
    ) -> None:
        """An empty ledger for ``task``."""
        super().__init__(task, policy, symbols)
        self._tell = tell

    def record(self, step: Step) -> None:
        """Record a completed step, and pass it to ``tell``."""
        super().record(step)
        self._tell(step)


class Tracks:
    """The files of one run."""

    def __init__(self, task: str, policy: Policy | None) -> None:
        """No step is recorded yet."""
        self.ledger = WatchedLedger(task, policy, self._named, self._taken)
        """The ledger that is being folded."""
        self.files: dict[str, Track] = {}
        """The files that were seen or changed, in the order in which they came up."""
        self._clocks: list[int] = []
        self._everywheres: list[int] = []
        self._doubts: list[int] = []
        self._disturbed: int | None = None
        self._current: dict[str, Track] = {}
        self._looked: dict[str, Track] = {}
        self._looks = NO_LOOKS
        self._symbols: dict[str, tuple[str, ...]] = {}

    def map_at(self, at: int) -> dict[str, list[Span]]:
        """The status of every line that was seen up to step ``at``, in the words of the state view.

        What a look found before the model call of step ``at`` counts, unless that step may have written. Other lines
        are current as far as the agent's own commands go, whether or not others could write.
        """
        moment = Ledger(policy=self.ledger.policy)
        moment.clock, moment.doubted = self._clocks[at], self._doubts[at]
        moment.modifications.everywhere = self._everywheres[at]
        calm = self._disturbed is None or at < self._disturbed
        return {track.path: spans for track in self.files.values() if (spans := _spans(moment, track, at, calm))}

    def look(self, looks: Looks) -> None:
        """Take in what was known from looks at the model call of the step that is recorded next."""
        if looks is self._looks:
            # An earlier call of the same turn: what has run since is not looked at yet.
            return
        self._looks, at = looks, len(self.ledger)
        found = {file.path: _found(file) for file in looks.files}
        for path in [path for path in self._looked if not found.get(path)]:
            self.files[path].events.append((at, "unlooked"))
            self._unlooked(at, path)
        for path, spans in found.items():
            known = self._looked.get(path)
            if spans and path in self.files and (known is None or known.looks[-1][1] != spans):
                track = self._looked[path] = self.files[path]
                track.looks.append((at, spans))
                track.events.append((at, "looked", spans))

    def free(self) -> None:
        """Free what only the fold needs, such as the texts of all results: the run is complete."""
        self.ledger = WatchedLedger("", self.ledger.policy, self._named, self._taken)

    def since(self, step: int) -> list[FileTrack]:
        """The files with events from ``step`` on, with these events."""
        grown: list[FileTrack] = []
        for track in self.files.values():
            if track.events and track.events[-1][0] >= step:
                new = track.events[bisect_left(track.events, step, key=lambda event: event[0]) :]
                grown.append(FileTrack(known_part(track.path), track.name, track.lines, new))
        return grown

    def _named(self, record: CommandRecord, action: Action, observation: Observation) -> dict[str, tuple[str, ...]]:
        self._symbols = edited_symbols(record, action, observation)
        return self._symbols

    def _taken(self, step: Step) -> None:
        """Record what one step showed and changed, in the order in which the ledger counts them."""
        ledger = self.ledger
        at = len(ledger) - 1
        record = ledger.results[at].record
        if ledger.unsealed and self._disturbed is None:
            self._disturbed = at
        if step.inherits is None:
            self._look(at, step.action.thread, record)
        clock, everywhere = (self._clocks[-1], self._everywheres[-1]) if at else (0, 0)
        if ledger.clock != clock:
            self._change(at, record)
        counts = everywhere != ledger.modifications.everywhere
        if counts or (ledger.clock != clock and ledger.policy.preset is not Preset.PAPER):
            self._suspect(at)
        doubted = self._doubts[-1] if at else 0
        published = ledger.policy.preset is Preset.PAPER
        if ledger.doubted != doubted if published else self._disturbed == at:
            for track in self._current.values():
                if track.events[-1][1] != "untold":
                    track.events.append((at, "untold"))
        self._clocks.append(ledger.clock)
        self._doubts.append(ledger.doubted)
        self._everywheres.append(ledger.modifications.everywhere)
        self._symbols = {}

    def _look(self, at: int, thread: str, record: CommandRecord) -> None:
        """Record the lines that the step showed, or found unchanged."""
        path = record.view.path if record.view is not None else ""
        for observed in self.ledger.observed(thread, path):
            if observed.step == at:
                self._seen(at, path, observed)

    def _seen(self, at: int, path: str, observed: ObservationRecord) -> None:
        """Add one observation record of the step."""
        track = self._track(path, (observed.local, observed.edits))
        end = observed.end or track.end(observed.local)
        ranges = union((), tuple(filter(None, (absolute(run, end) for run in observed.ranges))))
        if apart := tuple((run.first, run.last or -1) for run in observed.ranges if run.first < 0 and end is None):
            track.events.append((at, "apart", apart))
        if not ranges:
            return
        track.glimpses.append(SeenLines(observed, ranges))
        track.lines = max(track.lines, observed.end or 0, *(run.last or 0 for run in ranges))
        track.events.append((at, "seen", tuple((run.first, run.last or run.first) for run in ranges)))
        if observed.clock < 0:
            # Something that may write ran in parallel: their order is unknown.
            track.events.append((at, "suspect"))
            return
        self._current[path] = track
        if self.ledger.unsealed and self._disturbed != at and self.ledger.policy.preset is not Preset.PAPER:
            track.events.append((at, "untold"))

    def _change(self, at: int, record: CommandRecord) -> None:
        """Record the files that the step has written, including those that were never seen."""
        if not record.writes and record.scope is not Scope.TREE:
            return
        changes = self.ledger.modifications
        for path in record.writes:
            written = changes.recent.get(path)
            if written is not None and written.step == at and path.startswith("/"):
                self._track(path, (0, 0))
        for track in self.files.values():
            before, now = track.counter(at), changes.counters(track.path)
            if now != before:
                track.counters.append((at, now))
                looked = self._unlooked(at, track.path)
                current = self._current.pop(track.path, None) or looked
                if now[1] != before[1]:
                    track.events.append((at, "changed", self._symbols.get(track.path, ())))
                elif current is not None:
                    track.events.append((at, "suspect"))

    def _suspect(self, at: int) -> None:
        """Mark all current and all looked-up files: something ran that may have written to any of them."""
        for track in {**self._current, **self._looked}.values():
            track.events.append((at, "suspect"))
            self._unlooked(at, track.path)
        self._current.clear()

    def _unlooked(self, at: int, path: str) -> Track | None:
        """End what looks have found of a file; the file, if they had found something."""
        track = self._looked.pop(path, None)
        if track is not None:
            track.looks.append((at, ()))
        return track

    def _track(self, path: str, counters: tuple[int, int]) -> Track:
        """The track of a file; a new one begins with the change counters ``counters``."""
        track = self.files.get(path)
        if track is None:
            track = self.files[path] = Track(path, shown_name(path, self.ledger.home), counters=[(-1, counters)])
        return track


def _spans(moment: Ledger, track: Track, at: int, calm: bool) -> list[Span]:
    """The ranges of one file; a newer observation hides an older one of the same lines."""
    counters = track.counter(at)
    hidden: tuple[Lines, ...] = ()
    spans: list[Span] = []
    for glimpse in _newest_first(track, at):
        left = subtract(glimpse.ranges, hidden)
        if left:
            hidden = union(hidden, left)
            state = status(moment, glimpse.record, counters, sealed=calm).value
            spans += [(run.first, run.last or run.first, state, glimpse.record.step) for run in left]
    found = track.found(at)
    return sorted(part for span in spans for part in _looked_up(span, found))


def _looked_up(span: Span, found: tuple[Span, ...]) -> Iterator[Span]:
    """A range of lines in parts, each with the status by which a look found it, if one did."""
    first, last, state, step = span
    for begin, end, verdict, shown in found:
        begin, end = max(first, begin), min(last, end)
        if shown == step and begin <= end:
            if first < begin:
                yield first, begin - 1, state, step
            yield begin, end, verdict, step
            first = end + 1
    if first <= last:
        yield first, last, state, step


def _found(file: LookedFile) -> tuple[Span, ...]:
    """What a look has found for certain of the lines of a file."""
    lines = ((one, result.step) for result in file.results for one in result.lines)
    return tuple((one.first, one.last, FOUND[one.verdict], step) for one, step in lines if one.verdict in FOUND)


def _newest_first(track: Track, at: int) -> Iterator[SeenLines]:
    until = bisect_right(track.glimpses, at, key=lambda glimpse: glimpse.record.step)
    return (track.glimpses[place] for place in range(until - 1, -1, -1))
