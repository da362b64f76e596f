"""Ledger's own journals as recorded runs, so that they can be replayed like any other.

A run that Ledger took part in does not hold every true output any more. What is shown in full is known. An output that
was elided after running is known by its fingerprint: where the results that the reference points at hold text with that
very fingerprint, that is the output; otherwise nothing is claimed. Where only some lines were omitted, they are taken
from these results, and the whole must have that fingerprint. What a suppressed call would have returned nobody
knows: nothing is claimed. The same goes for a text that is not what its fingerprint says, because it was redacted.
Nothing claimed means an observation that is marked as truncated, in an unknown place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import accumulate, pairwise

from msgspec.structs import replace

from execledger.core.classify import classify
from execledger.core.fingerprint import fingerprint
from execledger.core.lines import returned
from execledger.journal.events import Ended
from execledger.journal.reader import JournalRun, read_journal
from execledger.runs.decoding import instance_of
from execledger.runs.recording import Governed, Recorded, Run
from execledger.runs.usage import ModelCall, Tokens, recorded_cost
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Fingerprint, Step
from execledger.vocabulary.records import View
from execledger.vocabulary.sightings import Sighting

FORMAT = "execledger-journal"
"""The name of the format."""


def read_as_run(name: str, data: bytes) -> Run:
    """The recorded run that a journal holds; steps behind a gap are left out: the state before them is unknown."""
    journal = read_journal(name, data)
    results: list[Observation] = []
    start, steps, sightings = journal.start, journal.steps, _sightings(journal)
    taken = [event.step for event in steps]
    for step in taken:
        results.append(_result(step, taken, results))
    ended = journal.ended
    told = ended.model_calls if ended is not None else None
    return Run(
        name=name,
        format=FORMAT,
        agent=start.agent,
        model=start.model,
        task=start.task,
        container=all(event.sealed for event in steps) if steps else start.sealed,
        turns=max(max((event.turn + 1 for event in steps), default=0), told or 0),
        steps=tuple(
            Recorded(
                event.step.action,
                result,
                event.turn,
                Governed(event.step, event.sealed, event.since, view, sightings.get(event.index, ())),
                event.step.inherits,
                event.at,
            )
            for event, result, view in zip(steps, results, _views(journal), strict=True)
        ),
        compactions=_compactions(journal),
        totals=_totals(ended) if ended is not None else None,
        instance=instance_of(f"{name}/{start.run}"),
        ended=ended.reason if ended is not None else "",
        trouble=journal.trouble.sentences(),
        policy=start.known_policy(),
    )


def _totals(ended: Ended) -> ModelCall | None:
    """What all calls of the model took together, as far as the end tells."""
    tokens = Tokens.of(input=ended.input_tokens, cached=ended.cached_tokens, output=ended.output_tokens)
    whole = ModelCall(tokens, recorded_cost(ended.cost))
    return whole if whole != ModelCall() else None


def _views(journal: JournalRun) -> Iterator[str]:
    """The view that the model read before each step: the last one of its conversation, if it belongs to that turn."""
    latest: dict[str, tuple[int | None, str]] = {}
    views = deque(journal.views)
    for event in journal.steps:
        while views and views[0].index <= event.index:
            view = views.popleft()
            latest[view.thread] = (None, view.text)
        thread = event.step.action.thread
        turn, text = latest.get(thread, (None, ""))
        # A view is read in one turn; the first step behind it tells which.
        if turn is None:
            latest[thread] = (event.turn, text)
        yield text if turn in (None, event.turn) else ""


def _sightings(journal: JournalRun) -> dict[int, tuple[Sighting, ...]]:
    """What a witness found before each step, in order."""
    found: dict[int, tuple[Sighting, ...]] = {}
    for event in journal.sightings:
        found[event.index] = (*found.get(event.index, ()), event.sighting)
    return found


def _compactions(journal: JournalRun) -> tuple[int, ...]:
    """The steps before which earlier results went out of view; a replay then takes it that all of them did."""
    since = [0, *(event.since for event in journal.steps)]
    return tuple(index for index, (before, now) in enumerate(pairwise(since)) if now > before)


def _result(step: Step, steps: list[Step], earlier: list[Observation]) -> Observation:
    """What is known of the true result."""
    mark, shown = step.shown.result, step.observation
    if step.shown.kind == "partial":
        return _put_together(step, steps, earlier) or Observation(exit_status=shown.exit_status, truncated=True)
    if step.shown.kind != "reference":
        altered = mark is not None and fingerprint(shown, steady=False).digest != mark.digest
        return replace(shown, truncated=True, cut=None) if altered else shown
    holders = [earlier[at] for at in step.shown.refers_to if at < len(earlier)]
    found = _standing(mark, holders, shown.exit_status) if mark is not None else None
    if found is None:
        return Observation(exit_status=shown.exit_status, truncated=True)
    return replace(found, reminders=shown.reminders)


def _put_together(step: Step, steps: list[Step], earlier: list[Observation]) -> Observation | None:
    """The output of which references omit some lines, if what they point at makes it whole again; else None."""
    shown, mark, view = step.shown, step.shown.result, classify(step.action).view
    if mark is None or view is None or not shown.refers_to:
        return None
    first, *rest = shown.pieces(step.observation.output)
    sample = next((row for piece in (first, *rest) for row in piece.split("\n") if row), "")
    rows = first
    for run, piece in zip(shown.lines, rest, strict=True):
        at = shown.refers_to[run.by]
        known = _lines_by_place(steps[at], earlier[at])
        places = range(run.first, run.last + 1)
        if not known.keys() >= set(places):
            return None
        ended = bool(piece) or step.observation.output.endswith("\n")
        rows += "\n".join(_printed(view, place, known[place], sample) for place in places) + "\n" * ended + piece
    found = replace(step.observation, output=rows)
    return found if fingerprint(found, steady=False).digest == mark.digest else None


def _lines_by_place(step: Step, result: Observation) -> dict[int, str]:
    """The lines of the file that a step read, by their numbers."""
    view = classify(step.action).view
    lines = returned(view, result) if view is not None else None
    placed = lines.placed() if lines is not None else ()
    return {first + at: text for first, texts in placed for at, text in enumerate(texts)}


def _printed(view: View, place: int, text: str, sample: str) -> str:
    """A line as the read prints it; the width of printed numbers is that of ``sample``, another line of the output."""
    if not view.numbering:
        return text
    column = sample.partition(view.numbering)[0]
    number = f"{view.prefix}{place}"
    return f"{number.rjust(len(column)) if column.startswith(' ') else number}{view.numbering}{text}"


def _standing(mark: Fingerprint, holders: list[Observation], status: int | None) -> Observation | None:
    """The result with this fingerprint, if one of ``holders`` is it or shows it in one piece."""
    for holder in holders:
        if fingerprint(holder, steady=False).digest == mark.digest:
            return holder
        for text in _passages(holder.output, mark):
            candidate = Observation(text, exit_status=status)
            if fingerprint(candidate, steady=False).digest == mark.digest:
                return candidate
    return None


def _passages(output: str, mark: Fingerprint) -> list[str]:
    """The runs of whole lines in ``output`` that are as long as the fingerprint says, in lines and in bytes."""
    lines = output.split("\n")
    ends = list(accumulate((len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines), initial=0))
    found: list[str] = []
    for first in range(len(lines) - mark.lines + 1):
        size = ends[first + mark.lines] - ends[first]
        if size - mark.size in (0, 1):
            text = "\n".join(lines[first : first + mark.lines])
            found.append(text if size > mark.size else text + "\n")
    return found
