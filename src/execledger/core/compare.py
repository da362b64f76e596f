"""Compare after running: what the model is shown of a result.

An output is replaced by a reference only if its bytes are already visible: as one whole result (``same``), or line by
line in visible reads of the same file, at the same places (``covered``). If only some lines of a read are visible in
this way, longer runs of them are omitted, each with a reference in its place, and the rest is shown (``partial``).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from execledger.core import references
from execledger.core.fingerprint import alike, fingerprint
from execledger.core.govern import NEW_ERROR, SECOND_LOOK, SUBMISSION, UNCHANGED_TREE, followed_error
from execledger.core.lines import Returned, has_returns, split_lines
from execledger.core.observations import Held, covered_lines, cut
from execledger.core.omissions import Omission, visible_runs, worthwhile
from execledger.core.policy import Preset
from execledger.core.shown_lines import Excerpt, excerpts
from execledger.core.working_tree import still_unchanged
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Compared, Decision, Fingerprint, InFull, Nudge, Reuse, Shown
from execledger.vocabulary.records import Category, CommandRecord, Lines

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger

FULL = Shown("full")
"""A result as it came, compared with nothing."""
HeldLines: TypeAlias = list[tuple[Excerpt, Held]]
"""The contiguous ranges of lines that a read shows, each with the runs of it that visible results show."""
UNANSWERED = Shown("reference", references.NOT_ANSWERED)
"""StepRecord of a suppressed command for which no reference can be given: it asks for the command again."""


def judge(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    decision: Decision,
    observation: Observation | None,
    visible: Container[int],
) -> Shown:
    """Decide what the model is shown of a result.

    For a reuse there is an ``observation`` only in a replay, where the recording has the result of the real run.
    """
    if isinstance(decision, Reuse):
        return _reused(ledger, action, record, decision, observation)
    assert observation is not None, "only a reuse goes without a result"
    mark = fingerprint(observation, steady=record.category is Category.TEST)
    held = _held(ledger, action, record, observation, visible)
    shown = _evidence(ledger, action, record, observation, mark, visible, held)
    kept = _kept_in_full(ledger, action, record, decision)
    if kept is None and (found := _elided(ledger, record, observation, shown, held)):
        elided = mark.size - _size(found.applied(observation.output))
        worth = ledger.worth(action.thread, visible, elided)
        if worth is None or worth.pays:
            return replace(found, worth=worth, saved=elided if found.kind == "partial" else 0)
        shown, kept = replace(shown, worth=worth), "stopped" if worth.stopped else "price"
    shown = shown.in_full(kept or _without_reference(ledger, shown, mark))
    # As published, a nudge always has its message; ``verified`` claims an equal result, so it needs one.
    published = ledger.policy.preset is Preset.PAPER
    if isinstance(decision, Nudge) and (published or _borne_out(ledger, decision, mark)):
        remark = references.remark(ledger, decision.rule, decision.refers_to[0])
        return replace(shown, kind="remark", text=remark, refers_to=decision.refers_to)
    return shown


def _without_reference(ledger: Ledger, shown: Shown, mark: Fingerprint) -> InFull:
    """Return why an equal output that may be elided has no reference: its size, if no reference could replace it."""
    if mark.size < ledger.policy.min_output:
        return "short"
    if shown.kept is None or not _replaces(ledger, references.same(ledger, shown.compared_to[0]), mark.size):
        return "small"
    return shown.kept


def eligible(record: CommandRecord, observation: Observation) -> bool:
    """Whether a result may be compared: of known readers and searchers, successful, whole and not empty."""
    whole = observation.succeeded and not observation.truncated
    return record.comparable and whole and bool(observation.output.strip())


def _reused(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    decision: Reuse,
    observation: Observation | None,
) -> Shown:
    """Return the reference for a suppressed command, compared with what it refers to if a recorded result is given."""
    text = references.suppressed(ledger, record, decision)
    compared: Compared | None = None
    steps: tuple[int, ...] = ()
    # A truncated output proves nothing; a journal has no output of a call that was not run.
    if observation is not None and not observation.truncated:
        mark = fingerprint(observation, steady=False)
        steps = tuple(step for step in decision.refers_to if _digest(ledger, step) == mark.digest)
        covered = not steps and _confirms_lines(ledger, action, record, decision, observation)
        compared = "same" if steps else "covered" if covered else "different"
        steps = steps or (decision.refers_to if covered else ())
    return Shown("reference", text, decision.refers_to, compared, steps, lines=decision.lines)


def _confirms_lines(
    ledger: Ledger, action: Action, record: CommandRecord, decision: Reuse, observation: Observation
) -> bool:
    """Whether the output has the lines that the reuse names, as the results that it refers to show them there."""
    view = record.view
    seen = ledger.shown_lines(action.thread, view.path) if view is not None else None
    lines = ledger.returned(view, observation) if view is not None and eligible(record, observation) else None
    if seen is None or lines is None or not decision.lines:
        return False
    texts: list[str] = []
    ended = False
    newline: bool | None = True
    for one in decision.lines:
        shown = seen.excerpt(decision.refers_to[one.by], Lines(one.first, one.last))
        if shown is None:
            return False
        texts += shown.texts
        ended, newline = shown.end == one.last, shown.newline
    places = tuple(place for one in decision.lines for place in range(one.first, one.last + 1))
    numbers = lines.numbers[0]
    same = seen.masked(lines.texts[0]) == tuple(texts) and (numbers is None or numbers == places)
    return same and (lines.end is None or (ended and lines.newline in (None, newline)))


def _evidence(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    observation: Observation,
    mark: Fingerprint,
    visible: Container[int],
    held: HeldLines,
) -> Shown:
    """Compare a result with all visible results, and name those that are equal to it or cover it."""
    if not eligible(record, observation):
        return Shown("full", result=mark)
    lines = ledger.returned(record.view, observation) if record.view is not None else None
    end = lines.end if lines is not None else None
    equal = [step for step in reversed(ledger.same(action.thread, mark.digest)) if step in visible]
    refused: InFull | None = None
    for step in equal:
        against = _not_newest(ledger, action, record, observation, mark, visible, step)
        refused = refused or against
        if against is None:
            runs = _runs(ledger, held, frozenset((step,)))
            told = _placed(lines) if lines is not None and not runs else ()
            covered = covered_lines(runs or [], (step,))
            return Shown("full", "", (step,), "same", (step,), mark, lines=covered, end=end, told=told)
    runs = _runs(ledger, held)
    if runs is None:
        # An equal result that a newer one supersedes is not referred to, but the comparison is still "same".
        compared: Compared = "same" if equal else "different"
        return Shown("full", compared=compared, compared_to=tuple(equal[:1]), result=mark, kept=refused)
    steps = _steps(runs)
    return Shown("full", "", steps, "covered", steps, mark, lines=covered_lines(runs, steps), end=end)


def _placed(lines: Returned) -> tuple[Lines, ...]:
    """Return the lines of the file that a result shows; none if the number of one of them is unknown."""
    return lines.ranges if lines.certain and all(one.first > 0 and one.last for one in lines.ranges) else ()


def _not_newest(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    observation: Observation,
    mark: Fingerprint,
    visible: Container[int],
    step: int,
) -> InFull | None:
    """Return why ``step``, whose result is equal, is not referred to: a visible result newer than it shows or may show
    the same differently, or what files it shows is not known and they may have changed; None if nothing is against it.
    """
    repeated = ledger.repeated(action, record)
    if repeated is not None and repeated > step and repeated in visible and _digest(ledger, repeated) != mark.digest:
        return "superseded"
    path, returns = record.view.path if record.view is not None else "", has_returns(observation.output)
    seen = ledger.shown_lines(action.thread, path) if path else None
    lines = ledger.returned(record.view, observation) if record.view is not None and seen is not None else None
    if seen is not None and lines is not None and lines.certain:
        if step < ledger.since(action.thread, path, visible, returns=returns):
            return "superseded"
        return "superseded" if any(seen.contradicted(one, visible, step) for one in excerpts(lines)) else None
    if step < ledger.since_any(action.thread, path, visible, returns=returns):
        return "superseded" if path.startswith("/") else "unknown-files"
    if path.startswith("/"):
        return "superseded" if seen is not None and seen.shown_since(step, visible) else None
    if path:
        return "superseded" if _perhaps_shown_otherwise(ledger, action, record, observation, visible, step) else None
    # Without known line numbers here, a newer read may still show these lines with theirs.
    referred = ledger.results[step].record.view
    names = (*record.shows, *((referred.path,) if referred is not None else ()))
    shown = (found for name in names for found in ledger.perhaps_shown(action.thread, name))
    if any(found.shown_since(step, visible) for found in shown):
        return "superseded"
    placed = ledger.placed_by_file(action, record, observation.output)
    return "superseded" if any(found.any_contradicted(hits, visible, step) for found, hits in placed) else None


def _perhaps_shown_otherwise(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    observation: Observation,
    visible: Container[int],
    step: int,
) -> bool:
    """Whether a visible result newer than ``step`` shows, or may show, other lines of a file of this name.

    The directory is unknown: what has the same name is as likely the same file.
    """
    assert record.view is not None, "it is a read"
    lines = ledger.returned(record.view, observation)
    named = ledger.perhaps_shown(action.thread, record.view.path)
    if lines is None or not lines.certain:
        return any(seen.shown_since(step, visible) for seen in named)
    return any(seen.contradicted(one, visible, step) for seen in named for one in excerpts(lines))


def _held(
    ledger: Ledger, action: Action, record: CommandRecord, observation: Observation, visible: Container[int]
) -> HeldLines:
    """Return the lines of a read, each contiguous range with the runs that visible reads show at the same places.

    Nothing if it is no read that may be compared, or the line number of some line is unknown.
    """
    if record.view is None or not eligible(record, observation):
        return []
    seen = ledger.shown_lines(action.thread, record.view.path)
    lines = ledger.returned(record.view, observation) if seen is not None else None
    if seen is None or lines is None or not lines.certain:
        return []
    since = ledger.since(action.thread, record.view.path, visible, returns=has_returns(observation.output))
    return [(one, seen.held(one, visible, since, ledger.policy.min_run)) for one in excerpts(lines)]


def _runs(ledger: Ledger, asked: HeldLines, among: Container[int] | None = None) -> Held | None:
    """Return the output's lines as runs that visible reads show at the same places.

    Only the steps ``among`` count, if these are given. None if some lines are not shown, or only by too many results.
    """
    runs: Held = []
    for one, known in asked:
        held = known if among is None else [run for run in known if run[1] in among]
        found = cut(Lines(one.first, one.last), held, ledger.policy.min_run, alone=len(asked) == 1)
        if found is None:
            return None
        runs += found
    return runs if runs and len(_steps(runs)) <= ledger.policy.max_results else None


def _steps(runs: Held) -> tuple[int, ...]:
    return tuple(sorted({step for _, step in runs}))


def _elided(
    ledger: Ledger, record: CommandRecord, observation: Observation, shown: Shown, held: HeldLines
) -> Shown | None:
    """Return the result with a reference in its place, or in place of some lines; None if nothing is to be elided."""
    if text := _reference(ledger, record, shown):
        return replace(shown, kind="reference", text=text)
    return _partial(ledger, record, observation, shown, held)


def _reference(ledger: Ledger, record: CommandRecord, shown: Shown) -> str:
    """Return the text of the reference; "" if there is nothing to refer to or the output is too small for one."""
    size = shown.result.size if shown.result is not None else 0
    if not shown.refers_to or size < ledger.policy.min_output:
        return ""
    if shown.compared == "same":
        text = references.same(ledger, shown.refers_to[0])
    else:
        text = references.covered(ledger, record, shown.lines, shown.refers_to)
    return text if _replaces(ledger, text, size) else ""


def _replaces(ledger: Ledger, text: str, size: int) -> bool:
    """Whether a reference is short enough to replace an output of ``size`` bytes."""
    return _size(text) <= size * ledger.policy.max_share


def _size(text: str) -> int:
    """Return the bytes of a text."""
    return len(text.encode("utf-8", "surrogatepass"))


def _partial(
    ledger: Ledger, record: CommandRecord, observation: Observation, shown: Shown, held: HeldLines
) -> Shown | None:
    """Return the result with references in place of longer runs of visible lines; None if that saves too little."""
    view = record.view
    if not ledger.policy.partial or shown.compared != "different" or view is None:
        return None
    if references.MARK in observation.output and not view.numbering:
        # A reader could not tell such lines of the file from references, nor the places of the lines after them.
        return None
    chosen = worthwhile(_omissions(ledger, view.path, observation, held), ledger.policy)
    if sum(one.saved for one in chosen) < max(ledger.policy.min_output, 1):
        return None
    steps = tuple(sorted({one.step for one in chosen}))
    lines = covered_lines([(one.lines, one.step) for one in chosen], steps)
    text, cuts = "\n".join(one.text for one in chosen), tuple(one.at for one in chosen)
    returned = ledger.returned(view, observation)
    end = returned.end if returned is not None else None
    return replace(shown, kind="partial", text=text, refers_to=steps, lines=lines, end=end, cuts=cuts)


def _omissions(ledger: Ledger, path: str, observation: Observation, held: HeldLines) -> Iterator[Omission]:
    """Yield the runs of lines that could be omitted; none if a line is printed twice, or not in ascending order."""
    if any(before.last >= after.first for (before, _), (after, _) in pairwise(held)):
        return
    rows = split_lines(observation.output) if held else []
    at = 0
    for one, known in held:
        for lines, step in visible_runs(Lines(one.first, one.last), known):
            index = at + lines.first - one.first
            last = lines.last or lines.first
            size = sum(_size(row) + 1 for row in rows[index : index + last - lines.first + 1])
            text = references.omitted(ledger, path, lines.first, last, step)
            yield Omission(index, lines, step, text, size)
        at += len(one.texts)


def _kept_in_full(ledger: Ledger, action: Action, record: CommandRecord, decision: Decision) -> InFull | None:
    """Return why an equal output is not replaced by a reference; None if it may be.

    Only ``verified`` compares after running. A second look, the repair, what follows an error, and everything after
    the last allowed intervention are shown in full.
    """
    policy = ledger.policy
    if policy.preset is not Preset.VERIFIED:
        return "preset"
    if ledger.interventions >= policy.max_interventions:
        return "cap"
    if decision.rule == SUBMISSION:
        return "submission"
    # Another rule may have allowed it.
    if decision.rule == SECOND_LOOK or ledger.second_looks.due(action.thread, record) is not None:
        return "second-look"
    if decision.rule == NEW_ERROR or followed_error(ledger, action.thread, record) is not None:
        return "new-error"
    return None


def wants_tree(ledger: Ledger, record: CommandRecord, decision: Decision, observation: Observation) -> bool:
    """Whether only a look at the working tree is missing for the remark of a nudge."""
    if not isinstance(decision, Nudge) or decision.rule != UNCHANGED_TREE:
        return False
    return _equal(ledger, decision.refers_to[0], fingerprint(observation, steady=record.category is Category.TEST))


def _borne_out(ledger: Ledger, nudge: Nudge, mark: Fingerprint) -> bool:
    """Whether the result is the same one again and, where the remark says so, in the same working tree."""
    step = nudge.refers_to[0]
    return _equal(ledger, step, mark) and (nudge.rule != UNCHANGED_TREE or still_unchanged(ledger, step))


def _equal(ledger: Ledger, step: int, mark: Fingerprint) -> bool:
    earlier = ledger.results[step].print
    return earlier is not None and alike(earlier, mark)


def _digest(ledger: Ledger, step: int) -> str:
    earlier = ledger.results[step].print
    return earlier.digest if earlier is not None else ""
