"""Inform: the state view, rendered before each model call for the end of the model's input.

It contains a fixed task anchor, the current focus and the observation index, in a bounded number of bytes; equal states
render to equal bytes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from execledger.core.observations import NewestPart, ObservationRecord, ObservedFile
from execledger.core.policy import Preset
from execledger.core.wording import clip, printable, spans
from execledger.shell.paths import beneath
from execledger.vocabulary.status import RangeStatus, Status

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger

OPENING, CLOSING = "<execution_state>", "</execution_state>"
"""The tags around the view."""
HEADING = "Seen, most recent first:"
"""The heading of the observation index."""
UNTIL_WRITTEN = frozenset((Status.STALE, Status.POSSIBLY_STALE))
"""Statuses that an observation keeps until its file is written or read again."""
MAX_FILES = 40
"""Files that are considered for the index, newest first: more would not fit the budget."""
MAX_FOCUS = 6
"""Modified files that are listed."""
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


def render(ledger: Ledger, visible: Container[int], sealed: bool, thread: str) -> StateView:
    """Return the state view; without text if there is nothing to report."""
    budget = ledger.policy.view_budget - len(OPENING) - len(CLOSING) - 2
    lines: list[str] = []
    if task := ledger.anchor_of(thread):
        budget -= _add(lines, f"Task: {task}", budget)
    for line in _focus(ledger):
        budget -= _add(lines, line, budget)
    files = ledger.files(thread)
    index = _index(ledger, files, visible, sealed and not ledger.unsealed, budget - 60)
    if index:
        lines += [HEADING, *index]
    omitted = len(files) - len(index)
    if omitted:
        lines.append(f"Not listed: {omitted} more file{'s' if omitted > 1 else ''} seen earlier.")
    return StateView("\n".join((OPENING, *lines, CLOSING)) if lines else "", omitted)


def _index(
    ledger: Ledger, files: dict[str, ObservedFile], visible: Container[int], sealed: bool, room: int
) -> list[str]:
    """Return one line per file, most recently seen first, as many as fit."""
    index: list[str] = []
    room -= len(HEADING) + 1
    reaches_end = isinstance(visible, range) and visible.step == 1 and visible.stop >= len(ledger)
    moment = (ledger.clock, sealed, visible.start) if isinstance(visible, range) and reaches_end else None
    for path, seen in islice(reversed(files.items()), MAX_FILES):
        if moment is None or seen.moment != moment:
            _refresh(ledger, path, seen, visible, sealed, None if moment is None else moment[2])
            seen.moment = moment
        room -= len(seen.line.encode()) + 1
        if room < 0:
            break
        index.append(seen.line)
    return index


def _add(lines: list[str], line: str, budget: int) -> int:
    """Append ``line``, clipped to the budget less a reserve for the rest, and return the bytes that it takes."""
    text = clip(line, max(budget - 100, 0))
    if not text:
        return 0
    lines.append(text)
    return len(text.encode()) + 1


def _focus(ledger: Ledger) -> Iterable[str]:
    """Yield the files modified most recently, with their symbols where these are known."""
    recent = list(islice(reversed(ledger.modifications.recent.values()), MAX_FOCUS))
    if recent:
        yield "Modified, most recent first:"
    for modified in recent:
        if modified.symbols is None:
            symbols = "symbols unknown"
        else:
            symbols = ", ".join(printable(name) for name in reversed(modified.symbols[-MAX_SYMBOLS:]))
        name = ledger.name_of(modified.path)
        yield f"- {name}: {symbols}" if symbols else f"- {name}"


def _refresh(
    ledger: Ledger, path: str, seen: ObservedFile, visible: Container[int], sealed: bool, since: int | None
) -> None:
    """Update the file's line: its observed ranges, each with its status and whether it is still in context."""
    counters = ledger.modifications.counters(path)
    if since is not None and seen.settled == (counters, since):
        return
    # Files outside the working directory may change without a command: nothing is claimed about them.
    sealed = sealed and beneath(path, ledger.home)
    found = [
        RangeStatus(status(ledger, part.record, counters, sealed), in_context(ledger, part.record, visible))
        for part in seen.parts
    ]
    # What is stale or possibly stale stays so until this file is written or read again.
    seen.settled = (counters, since) if all(one.status in UNTIL_WRITTEN for one in found) else None
    if found == seen.statuses and found:
        return
    groups: dict[RangeStatus, list[NewestPart]] = {}
    for one, part in zip(found, seen.parts, strict=True):
        groups.setdefault(one, []).append(part)
    texts = [f"{_grouped(group)} ({one})" for one, group in groups.items()]
    seen.statuses, seen.line = found, f"- {seen.name}: {'; '.join(texts) or 'seen in part'}"


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
    return record.holder in visible and ledger.results[record.holder].kind != "reference"
