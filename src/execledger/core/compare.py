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
    compared, steps = _evidence(ledger, action, record, observation, mark, visible)
    text = _reference(ledger, record, compared, steps, mark)
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
    # A journal keeps no output of a call that was not run: nothing can be judged by it.
    if observation is not None and (observation.output or not observation.truncated):
        mark = fingerprint(observation, steady=False)
        compared = "different"
        if any(_digest(ledger, step) == mark.digest for step in decision.refers_to):
            compared = "same"
        elif _runs(ledger, action, record, observation, frozenset(decision.refers_to)) is not None:
            compared = "covered"
    steps = decision.refers_to if compared in ("same", "covered") else ()
    return Shown("reference", text, decision.refers_to, compared, steps)


def _evidence(
    ledger: Ledger,
    action: Action,
    record: CommandRecord,
    observation: Observation,
    mark: Fingerprint,
    visible: Container[int],
) -> tuple[Compared | None, tuple[int, ...]]:
    """How a result compares with everything visible."""
    if not eligible(record, observation):
        return None, ()
    for step in reversed(ledger.same(action.thread, mark.digest)):
        if step in visible:
            return "same", (step,)
    steps = _runs(ledger, action, record, observation, visible)
    return ("different", ()) if steps is None else ("covered", steps)


def _runs(
    ledger: Ledger, action: Action, record: CommandRecord, observation: Observation, visible: Container[int]
) -> tuple[int, ...] | None:
    """The steps in whose visible reads of the file every line of the output stands."""
    if record.view is None or not eligible(record, observation):
        return None
    seen = ledger.seen(action.thread, record.view.path)
    lines = ledger.returned(record.view, observation) if seen is not None else None
    if seen is None or lines is None or len(lines.texts) != 1:
        return None
    runs = seen.cut(lines.texts[0], lines.numbers[0], visible, ledger.policy.min_run)
    steps = tuple(sorted({run.step for run in runs})) if runs else ()
    return steps if 0 < len(steps) <= ledger.policy.max_results else None


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
