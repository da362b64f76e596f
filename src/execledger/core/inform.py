"""Inform: the state view, rendered before a model call for the end of the model's input.

- ``whole`` is the view of the cadence ``every``: a fixed task anchor, the current focus (files modified last) and the
  observation index.
- ``focused`` is that of the cadence ``focused`` (``core.cadence`` says before which calls): the files that the last
  commands have read in parts, and the checks that ran last. The task and the modified files are listed only where
  the model may have lost them. Right after a compaction the view is whole.

Both have a bounded number of bytes, and equal states render to equal bytes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.checks import checks
from execledger.core.observations import NewestPart, ObservationRecord, ObservedFile
from execledger.core.policy import Preset
from execledger.core.witness_limits import MAX_LISTED_PIECES
from execledger.core.wording import clip, printable, span, spans
from execledger.shell.paths import beneath
from execledger.shell.ranges import subtract
from execledger.vocabulary.records import Lines
from execledger.vocabulary.sightings import SightedLines, Verdict
from execledger.vocabulary.status import LookedUp, RangeStatus, Status

if TYPE_CHECKING:
    from execledger.core.ledger import LatestSighting, Ledger

OPENING, CLOSING = "<execution_state>", "</execution_state>"
"""The tags around the view."""
HEADING = "Seen, most recent first:"
"""The heading of the observation index."""
FOCUSED_HEADING = "Seen recently:"
"""The heading of the files in a focused view."""
LOST_HEADING = "Seen, no longer in context:"
"""The heading of what was seen before a compaction."""
FAR_BACK = 50_000
"""Tokens of a context from which on the task message is far back."""
AFTER_COMPACTION = 3
"""Results in a compacted context up to which the view is whole: there, nothing else tells what was done before."""
MAX_SEARCHED = 64
"""Steps among which those of one conversation are looked for, newest first: a bound on the work for one view."""
UNTIL_WRITTEN = frozenset((Status.STALE, Status.POSSIBLY_STALE))
"""Statuses that an observation keeps until its file is written or read again."""
MAX_FILES = 40
"""Files that are considered for the index, newest first: more would not fit the budget."""
MAX_FOCUS = 6
"""Modified files that are listed."""
FOUND = {
    Verdict.SAME: Status.CURRENT,
    Verdict.MOVED: Status.MOVED,
    Verdict.CHANGED: Status.CHANGED,
    Verdict.GONE: Status.GONE,
}
"""The status of lines by what a witness found."""
MAX_SYMBOLS = 4
"""Symbols that are listed for a modified file."""


class StateView(Struct, frozen=True):
    """The rendered execution state."""

    text: str
    """What the model reads."""
    omitted: int
    """Files that were seen and are not listed."""


NOTHING = StateView("", 0)
"""The view without text."""


def render(
    ledger: Ledger, visible: Container[int], sealed: bool, thread: str, embedded: Container[str] = ()
) -> StateView:
    """Return the state view of the policy's cadence; without text if none is due or there is nothing to report.

    ``embedded`` are files whose text is in the context without a result: what was seen of them is not called lost.
    """
    if not ledger.policy.focused or _just_compacted(ledger, visible, thread):
        return whole(ledger, visible, sealed, thread, embedded)
    return focused(ledger, ledger.views.due(thread), visible, sealed, thread)


def whole(
    ledger: Ledger, visible: Container[int], sealed: bool, thread: str, embedded: Container[str] = ()
) -> StateView:
    """Return the view with every part of the state."""
    budget = _room(ledger)
    lines: list[str] = []
    if task := ledger.anchor_of(thread):
        budget -= _add(lines, f"Task: {task}", budget)
    for line in _focus(ledger, visible, sealed, thread):
        budget -= _add(lines, line, budget)
    files = ledger.files(thread)
    index = _index(ledger, reversed(files.items()), visible, sealed, budget - 60 - len(HEADING) - 1, thread)
    here = {seen.name for path, seen in files.items() if path in embedded}
    lines += _sections(HEADING, [replace(seen, lost="") if seen.name in here else seen for seen in index])
    omitted = len(files) - len(index)
    if omitted:
        lines.append(f"Not listed: {omitted} more file{'s' if omitted > 1 else ''} seen earlier.")
    return _view(lines, omitted)


def focused(ledger: Ledger, paths: tuple[str, ...], visible: Container[int], sealed: bool, thread: str) -> StateView:
    """Return the view of ``paths``, which were seen on ``thread``; without text if none of them is in context."""
    if not paths:
        return NOTHING
    budget = _room(ledger)
    files = ledger.files(thread)
    lines: list[str] = []
    compacted = ledger.first(thread) not in visible
    if (task := ledger.anchor_of(thread)) and (compacted or ledger.context_tokens(thread, visible) > FAR_BACK):
        budget -= _add(lines, f"Task: {task}", budget)
    for line in _focus(ledger, visible, sealed, thread) if compacted else ():
        budget -= _add(lines, line, budget)
    index = _index(
        ledger, ((path, files[path]) for path in paths), visible, sealed, budget - len(FOCUSED_HEADING) - 1, thread
    )
    seen = [one.line for one in index if one.line]
    if not seen:
        return NOTHING
    lines += [FOCUSED_HEADING, *seen]
    tests = checks(ledger, thread)
    if tests and sum(len(line.encode()) + 1 for line in (*lines, tests)) <= _room(ledger):
        lines.append(tests)
    return _view(lines, len(files) - len(seen))


def _just_compacted(ledger: Ledger, visible: Container[int], thread: str) -> bool:
    """Whether the context was compacted, and has only few results since."""
    first = ledger.first(thread)
    if first < 0 or first in visible:
        return False
    newest = range(len(ledger) - 1, max(len(ledger) - MAX_SEARCHED, 0) - 1, -1)
    mine = islice((at for at in newest if ledger.results[at].thread == thread), AFTER_COMPACTION)
    return not all(at in visible for at in mine)


def _room(ledger: Ledger) -> int:
    """Bytes between the tags of a view."""
    return ledger.policy.view_budget - len(OPENING) - len(CLOSING) - 2


def _view(lines: list[str], omitted: int) -> StateView:
    return StateView("\n".join((OPENING, *lines, CLOSING)) if lines else "", omitted)


def _index(
    ledger: Ledger,
    files: Iterable[tuple[str, ObservedFile]],
    visible: Container[int],
    sealed: bool,
    room: int,
    thread: str,
) -> list[ObservedFile]:
    """Return the files with their lines up to date, as many as fit into ``room`` bytes."""
    index: list[ObservedFile] = []
    contained, sealed = sealed, sealed and not ledger.unsealed
    reaches_end = isinstance(visible, range) and visible.step == 1 and visible.stop >= len(ledger)
    state = (ledger.clock, sealed, visible.start) if isinstance(visible, range) and reaches_end else None
    for path, seen in islice(files, MAX_FILES):
        latest = ledger.latest_sighting(thread, path, contained)
        if latest is not None:
            _look_up(ledger, path, seen, visible, sealed, latest)
        elif state is None or seen.rendered_at != state:
            _refresh(ledger, path, seen, visible, sealed, None if state is None else state[2])
            seen.rendered_at = state
        first_lost = bool(seen.lost) and not any(one.lost for one in index)
        room -= sum(len(line.encode()) + 1 for line in (seen.line, seen.lost, first_lost * LOST_HEADING) if line)
        if room < 0:
            break
        index.append(seen)
    return index


def _sections(heading: str, files: list[ObservedFile]) -> Iterator[str]:
    """Yield the lines of the files: what is in context, then what was and is not any more."""
    for title, lines in ((heading, [seen.line for seen in files]), (LOST_HEADING, [seen.lost for seen in files])):
        if any(lines):
            yield from (title, *filter(None, lines))


def _add(lines: list[str], line: str, budget: int) -> int:
    """Append ``line``, clipped to the budget less a reserve for the rest, and return the bytes that it takes."""
    text = clip(line, max(budget - 100, 0))
    if not text:
        return 0
    lines.append(text)
    return len(text.encode()) + 1


def _focus(ledger: Ledger, visible: Container[int], sealed: bool, thread: str) -> Iterable[str]:
    """Yield the files modified most recently, with their symbols where these are known.

    After a compaction the edits themselves are out of context: what they changed is listed where a witness found it.
    """
    recent = list(islice(reversed(ledger.modifications.recent.values()), MAX_FOCUS))
    compacted = ledger.first(thread) not in visible
    if recent:
        yield "Modified, most recent first:"
    for modified in recent:
        if modified.symbols is None:
            # As published; otherwise no words without information.
            symbols = "symbols unknown" if ledger.policy.preset is Preset.PAPER else ""
        else:
            symbols = ", ".join(printable(name) for name in reversed(modified.symbols[-MAX_SYMBOLS:]))
        found = ledger.latest_sighting(thread, modified.path, sealed) if compacted else None
        details = "; ".join(filter(None, (symbols, *(_new_lines(found.file.new) if found else ()))))
        name = ledger.name_of(modified.path)
        yield f"- {name}: {details}" if details else f"- {name}"


def _new_lines(runs: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Yield in words which lines a file has that it had not when it was first seen, and where lines were deleted."""
    new = tuple(Lines(first, last) for first, last in runs if first <= last)
    deleted = [str(first) for first, last in runs if first > last]
    if new:
        yield f"new lines {spans(new, None)}"
    if deleted:
        yield f"lines deleted before {', '.join(deleted[:MAX_LISTED_PIECES])}"


def _refresh(
    ledger: Ledger, path: str, seen: ObservedFile, visible: Container[int], sealed: bool, since: int | None
) -> None:
    """Update the file's line: its observed ranges, each with its status and whether it is still in context."""
    counters = ledger.modifications.counters(path)
    if since is not None and seen.stale_at == (counters, since):
        return
    # Files outside the working directory may change without a command: nothing is claimed about them.
    sealed = sealed and beneath(path, ledger.home)
    found = [
        RangeStatus(status(ledger, part.record, counters, sealed), in_context(ledger, part.record, visible))
        for part in seen.parts
    ]
    # What is stale or possibly stale stays so until this file is written or read again.
    seen.stale_at = (counters, since) if all(one.status in UNTIL_WRITTEN for one in found) else None
    if found == seen.statuses and found:
        return
    seen.statuses = found
    _write_lines(ledger, seen, list(zip(found, seen.parts, strict=True)))


def _write_lines(ledger: Ledger, seen: ObservedFile, found: list[tuple[RangeStatus | LookedUp, NewestPart]]) -> None:
    """Set the file's lines: one of the ranges whose text is in context, one of the others; as published, one of all.

    In a focused view it goes without saying that ranges are in context.
    """
    published, brief = ledger.policy.preset is Preset.PAPER, ledger.policy.focused
    lost = [(one.claim, one, part) for one, part in found if not (one.in_context or published)]
    here = [(one.claim if brief else str(one), one, part) for one, part in found if one.in_context or published]
    seen.line = _line(seen.name, here) if here or not lost else ""
    seen.lost = _line(seen.name, lost) if lost else ""


def _line(name: str, found: Iterable[tuple[str, RangeStatus | LookedUp, NewestPart]]) -> str:
    """The line of a file: its ranges, those of equal words together."""
    groups: dict[tuple[str, str], list[NewestPart]] = {}
    for words, status_of, part in found:
        # Each of the lines that have moved has a place of its own.
        alone = part.text if isinstance(status_of, LookedUp) and status_of.place else ""
        groups.setdefault((words, alone), []).append(part)
    # Ranges without words come last: words behind them would seem to be theirs.
    ordered = sorted(groups.items(), key=lambda one: not one[0][0])
    texts = [f"{_grouped(group)} ({words})" if words else _grouped(group) for (words, _), group in ordered]
    return f"- {name}: {'; '.join(texts) or 'seen in part'}"


def _look_up(
    ledger: Ledger, path: str, seen: ObservedFile, visible: Container[int], sealed: bool, latest: LatestSighting
) -> None:
    """Make the file's line from what a witness has just found; where it found nothing certain, as without one."""
    counters = ledger.modifications.counters(path)
    sealed = sealed and beneath(path, ledger.home)
    found: list[tuple[RangeStatus | LookedUp, NewestPart]] = []
    for part in seen.parts:
        visible_now = in_context(ledger, part.record, visible)
        unknown = RangeStatus(status(ledger, part.record, counters, sealed), visible_now)
        found += _looked_up(latest, part, unknown)
    _write_lines(ledger, seen, found)
    # Without a look, the line is made anew.
    seen.rendered_at, seen.stale_at, seen.statuses = None, None, []


def _looked_up(
    latest: LatestSighting, part: NewestPart, unknown: RangeStatus
) -> Iterator[tuple[RangeStatus | LookedUp, NewestPart]]:
    """The status of each part of what a part shows; ``unknown`` is the one without a look."""
    pieces = next((one.pieces for one in latest.file.results if one.step == part.record.step), ())
    for run in part.ranges:
        within = list(_within(run, pieces))
        verdicts = {piece.verdict for piece in within}
        if len(within) > MAX_LISTED_PIECES and Verdict.CHANGED in verdicts and Verdict.UNKNOWN not in verdicts:
            # So many parts are no help for reading only what is new.
            not_by_agent = part.record.step in latest.not_by_agent
            yield LookedUp(Status.CHANGED_IN_PART, unknown.in_context, not_by_agent), _part(part.record, run, None)
            continue
        for piece in within:
            yield _found(latest, part.record, piece, unknown)
        for rest in subtract((run,), tuple(Lines(piece.first, piece.last) for piece in within)):
            yield unknown, _part(part.record, rest, part.record.end)


def _found(
    latest: LatestSighting, record: ObservationRecord, piece: SightedLines, unknown: RangeStatus
) -> tuple[RangeStatus | LookedUp, NewestPart]:
    """The status of lines with one verdict."""
    lines = Lines(piece.first, piece.last)
    if piece.verdict is Verdict.UNKNOWN:
        return unknown, _part(record, lines, record.end)
    place = "" if piece.place is None else span(Lines(piece.place, piece.place + piece.last - piece.first))
    # A whole file is called that only if it ends where it ended.
    end = record.end if latest.file.end == record.end or piece.verdict is Verdict.GONE else None
    words = LookedUp(FOUND[piece.verdict], unknown.in_context, record.step in latest.not_by_agent, place)
    return words, _part(record, lines, end)


def _part(record: ObservationRecord, lines: Lines, end: int | None) -> NewestPart:
    return NewestPart(replace(record, end=end), (lines,), spans((lines,), end))


def _within(run: Lines, pieces: Iterable[SightedLines]) -> Iterator[SightedLines]:
    """The pieces of a run of lines, cut to it; none of one that counts from the end of the file."""
    for piece in pieces if run.first > 0 else ():
        first, last = max(run.first, piece.first), min(run.last or piece.last, piece.last)
        if first <= last:
            shift = first - piece.first
            yield SightedLines(first, last, piece.verdict, None if piece.place is None else piece.place + shift)


def _grouped(group: list[NewestPart]) -> str:
    """Return the ranges of one or more parts of equal status, in words."""
    if len(group) == 1:
        return group[0].text
    return spans(tuple(run for part in group for run in part.ranges), group[0].record.end)


def status(ledger: Ledger, record: ObservationRecord, counters: tuple[int, int], sealed: bool) -> Status:
    """The status of an observation; ``counters`` are those of its file now (``Modifications.counters``)."""
    local, edits = counters
    if record.edits != edits:
        return Status.STALE
    if record.local != local or record.everywhere != ledger.modifications.everywhere:
        return Status.POSSIBLY_STALE
    if ledger.policy.preset is Preset.PAPER:
        # After a command of unknown effects counters prove nothing; tests are assumed to change no source file.
        return Status.CURRENT if record.clock >= ledger.doubted else Status.NO_CLAIM
    if record.clock != ledger.clock:
        return Status.POSSIBLY_STALE
    return Status.CURRENT if sealed else Status.NO_CLAIM


def in_context(ledger: Ledger, record: ObservationRecord, visible: Container[int]) -> bool:
    """Whether the text of an observation is still in the model's context."""
    held = record.holder in visible and ledger.results[record.holder].kind != "reference"
    # Of a file that printed what another command did, the reference has to be there as well.
    return held and (not record.told or record.step in visible)
