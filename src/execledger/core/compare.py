"""Compare after running: what the model is shown of a result.

An output is replaced by a reference only if its bytes are already visible: as one whole result (``same``), or line by
line in visible reads of the same file (``covered``).
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from execledger.core import references
from execledger.core.actions import Action, Observation
from execledger.core.decisions import Compared, Decision, Fingerprint, Nudge, Reuse, Shown
from execledger.core.fingerprint import fingerprint
from execledger.core.govern import SECOND_LOOK, SUBMISSION
from execledger.core.policy import Preset
from execledger.core.records import Category, CommandRecord
from execledger.core.seen import Run

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger


def judge(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    decision: Decision,
    observation: Observation | None,
    visible: Container[int],
) -> Shown:
    """What to show; for a reuse, ``observation`` is there only where a recording tells what would have come."""
    if isinstance(decision, Reuse):
        return _reused(ledger, action, record, decision, observation)
    assert observation is not None, "only a reuse goes without a result"
    mark = fingerprint(observation, steady=record.category is Category.TEST)
    compared, steps, plain = _evidence(ledger, action, record, observation, mark, visible)
    text = _reference(ledger, record, compared, steps, mark) if plain else ""
    if text and _may_elide(ledger, decision):
        return Shown("reference", text, steps, compared, steps, mark)
    if isinstance(decision, Nudge) and _equal(ledger, decision.refers_to[0], mark):
        remark = references.remark(ledger, decision.rule, decision.refers_to[0])
        return Shown("remark", remark, decision.refers_to, compared, steps, mark)
    return Shown("full", "", (), compared, steps, mark)


def eligible(record: CommandRecord, observation: Observation) -> bool:
    """Only known readers and searchers, and only a result that succeeded, is whole and is not empty."""
    whole = observation.succeeded and not observation.truncated
    return record.comparable and whole and bool(observation.output.strip())


def _reused(
    ledger: Ledger, action: Action, record: CommandRecord, decision: Reuse, observation: Observation | None
) -> Shown:
    """The reference for a command that was not run; judged against what it refers to where a recording allows that."""
    text = references.suppressed(ledger, record, decision.refers_to)
    compared: Compared | None = None
    steps: tuple[int, ...] = ()
    # By an output that is not whole nothing can be judged; a journal keeps none of a call that was not run.
    if observation is not None and not observation.truncated:
        mark = fingerprint(observation, steady=False)
        steps = tuple(step for step in decision.refers_to if _digest(ledger, step) == mark.digest)
        runs = None if steps else _runs(ledger, action, record, observation, frozenset(decision.refers_to), alone=True)
        compared = "same" if steps else "different" if runs is None else "covered"
        steps = steps or _steps(runs)
    return Shown("reference", text, decision.refers_to, compared, steps)


def _evidence(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    observation: Observation,
    mark: Fingerprint,
    visible: Container[int],
) -> tuple[Compared | None, tuple[int, ...], bool]:
    """How a result compares with everything visible, what bears that out, and whether a reference may say so."""
    if not eligible(record, observation):
        return None, (), False
    for step in reversed(ledger.same(action.thread, mark.digest)):
        if step in visible:
            return "same", (step,), True
    runs = _runs(ledger, action, record, observation, visible)
    if runs is None:
        return "different", (), False
    return "covered", _steps(runs), _tells_all(ledger, action, record, observation, runs)


def _runs(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    observation: Observation,
    visible: Container[int],
    *,
    alone: bool = False,
) -> list[Run] | None:
    """The output's lines as runs that stand in visible reads of the file; None if they don't, or not in few results."""
    if record.view is None or not eligible(record, observation):
        return None
    seen = ledger.seen(action.thread, record.view.path)
    lines = ledger.returned(record.view, observation) if seen is not None else None
    if seen is None or lines is None or len(lines.texts) != 1:
        return None
    # Judged against named results, their lines are looked up in an index of their own.
    runs = (seen.of(visible) if alone else seen).cut(lines, visible, ledger.policy.min_run)
    return runs if runs and len(_steps(runs)) <= ledger.policy.max_results else None


def _steps(runs: list[Run] | None) -> tuple[int, ...]:
    return tuple(sorted({run.step for run in runs or ()}))


def _tells_all(
    ledger: Ledger, action: Action, record: CommandRecord, observation: Observation, runs: list[Run]
) -> bool:
    """A reference would hide nothing: neither a gap where lines were removed or moved, nor another answer than before.

    That every line stands above is true either way, but a model that looks at its own edit must see what it did.
    """
    view = record.view
    lines = ledger.returned(view, observation) if view is not None else None
    if view is None or lines is None or (len(runs) > 1 and not all(run.in_place for run in runs)):
        return False
    ends = {one.end for one in ledger.observed(action.thread, view.path) if one.step in _steps(runs)}
    moved = lines.end is not None and not ends <= {None, lines.end}
    holders = [ledger.results[run.step] for run in runs]
    answers = {
        one.print.lines for one in holders if one.print and one.record.view and one.record.view.ranges == view.ranges
    }
    return not moved and answers <= {len(lines.texts[0])}


def _reference(
    ledger: Ledger, record: CommandRecord, compared: Compared | None, steps: tuple[int, ...], mark: Fingerprint
) -> str:
    """The reference, if there is something to refer to and it is worth the detour."""
    if compared not in ("same", "covered") or mark.size < ledger.policy.min_output:
        return ""
    if compared == "same":
        text = references.same(ledger, record, steps[0])
    else:
        text = references.covered(ledger, record, steps, mark.lines)
    return text if len(text.encode()) <= mark.size * ledger.policy.max_share else ""


def _may_elide(ledger: Ledger, decision: Decision) -> bool:
    """Only ``verified`` compares after running; a second look, the repair and a spent budget show all of it."""
    policy = ledger.policy
    spent = ledger.interventions >= policy.max_interventions
    return policy.preset is Preset.VERIFIED and decision.rule not in (SECOND_LOOK, SUBMISSION) and not spent


def _equal(ledger: Ledger, step: int, mark: Fingerprint) -> bool:
    earlier = ledger.results[step].print
    return earlier is not None and earlier.steady == mark.steady


def _digest(ledger: Ledger, step: int) -> str:
    earlier = ledger.results[step].print
    return earlier.digest if earlier is not None else ""
