"""Govern: judge a proposed action against the ledger and decide to allow, reuse or nudge.

Small named rules are tried in order; the first decision wins. Safeguards come before the rules that intervene, so that
an action that must be allowed never reaches these. No rule uses the action's own result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from execledger.core import references
from execledger.core.classify import provable
from execledger.core.fingerprint import alike
from execledger.core.lines import has_returns
from execledger.core.observations import Held, cover, cover_by_one, covered_lines
from execledger.core.policy import Preset
from execledger.core.safeguards import names_file
from execledger.core.seal import NOT_FOUND, stopped
from execledger.core.working_tree import is_comparable, unchanged_since
from execledger.shell.paths import known_part
from execledger.vocabulary.actions import Action, Aside, OtherTool
from execledger.vocabulary.decisions import Allow, Decision, Nudge, Reuse
from execledger.vocabulary.records import CHANGED, Category, CommandRecord, Effects, View

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger, StepRecord

OFF = Allow("govern-off")
"""The decision where govern is switched off."""
FAULT: Decision = Allow("fault", ("Ledger itself failed at judging it, or is off after faults",))
"""The decision after an internal fault."""
PENDING_WRITES = Allow("pending-writes", ("an earlier action of the same step may write",))
"""The decision about an action that follows one that may write, in the same model turn."""
UNFINISHED = Allow("unfinished", ("it was proposed, and no result came back",))
"""The decision about an action that may have run and whose result never arrived."""
MAX_FILES = 50
"""Words of a command that are compared with the files of an error."""
TEST_REACH = 40
"""How many calls back ``verified`` looks for a repeated test: all calls in between are examined, so this bounds it."""
SECOND_LOOK, SUBMISSION, NEW_ERROR = "second-look", "submission", "new-error"
"""Rules after which the result is not replaced by a reference either."""
UNCHANGED_TREE = "unchanged-tree"
"""The rule of a remark that needs a look at the working tree behind the result, too."""


class Case(Struct, frozen=True):
    """One proposed action, with the state that it is judged against."""

    ledger: Ledger
    """The state."""
    action: Action
    """What is proposed."""
    record: CommandRecord
    """What it would do."""
    visible: Container[int]
    """The steps whose results the model can see."""
    sealed: bool
    """Nothing but the agent's own commands can write."""

    @property
    def published(self) -> bool:
        """Whether the published rules apply, which use change counters."""
        return self.ledger.policy.preset is Preset.PAPER

    def shown(self, step: int) -> bool:
        """Whether the result of ``step`` itself, not a reference, is in the model's input."""
        result = self.ledger.results[step]
        return result.kind != "reference" and result.thread == self.action.thread and step in self.visible


def calls_since(ledger: Ledger, thread: str, step: int) -> float:
    """Return how many calls of ``thread`` ago ``step`` was; infinity for a step of another thread."""
    result = ledger.results[step]
    return ledger.calls(thread) - result.ordinal if result.thread == thread else math.inf


def decide(ledger: Ledger, action: Action, record: CommandRecord, visible: Container[int], sealed: bool) -> Decision:
    """Return the decision of the first rule that makes one."""
    case = Case(ledger, action, record, visible, sealed and not ledger.unsealed)
    for rule in RULES:
        decision = rule(case)
        if decision is not None:
            return decision
    if record.effects is Effects.UNKNOWN:
        return Allow("unknown-effects", tuple(f"unknown program: {name}" for name in record.unknown_programs[:3]))
    return Allow("modification" if record.effects is Effects.LISTED else "new")


# Safeguards


def opaque(case: Case) -> Decision | None:
    """A command that is not understood is always allowed."""
    return Allow("opaque", (f"reason: {case.record.opaque}",)) if case.record.opaque else None


def setup(case: Case) -> Decision | None:
    """Configuring the environment is always allowed."""
    return Allow("setup") if case.record.category is Category.SETUP else None


def submission(case: Case) -> Decision | None:
    """Producing, showing or submitting the repair is always allowed."""
    return Allow(SUBMISSION) if case.record.category is Category.SUBMIT else None


def reproduction(case: Case) -> Decision | None:
    """Reproducing the problem is always allowed; only where that fails again in an unchanged tree is there a remark."""
    if not case.record.reproduces:
        return None
    return (unchanged_tree(case) if cap(case) is None else None) or Allow("reproduction")


def cap(case: Case) -> Decision | None:
    """Interventions are capped per task."""
    limit = case.ledger.policy.max_interventions
    return (
        Allow("cap", (f"interventions: {case.ledger.interventions}",)) if case.ledger.interventions >= limit else None
    )


def second_look(case: Case) -> Decision | None:
    """After a reference, the next attempt at the same content is run and shown in full."""
    step = case.ledger.second_looks.due(case.action.thread, case.record)
    return None if step is None else Allow(SECOND_LOOK, (f"a reference stands at step {step}",))


def new_error(case: Case) -> Decision | None:
    """Looking at a file that a recent error names is always allowed."""
    followed = followed_error(case.ledger, case.action.thread, case.record)
    if followed is None:
        return None
    step, file = followed
    return Allow(NEW_ERROR, (f"the error at step {step} names {known_part(file)}",))


def followed_error(ledger: Ledger, thread: str, record: CommandRecord) -> tuple[int, str] | None:
    """Return the step of a recent error that names a file which ``record`` reads or searches, and that file."""
    if record.effects is not Effects.NONE:
        return None
    looked_at = (*((record.view.path,) if record.view is not None else ()), *record.looks_at[:MAX_FILES])
    for step, error in ledger.errors:
        if calls_since(ledger, thread, step) <= ledger.policy.error_window:
            named = next((path for path in looked_at if names_file(error, path)), None)
            if named is not None:
                return step, named
    return None


# Reuse


def seen_content(case: Case) -> Decision | None:
    """Reuse a read whose lines are all in visible reads of the unchanged file."""
    view = case.record.view
    if view is None or not case.record.literal or view.numbering == CHANGED:
        return None
    ledger = case.ledger
    if not view.path.startswith("/") or ledger.modifications.doubtful(view.path, ledger.home):
        return None
    local = ledger.modifications.local(view.path)
    seen = [one for one in ledger.observed(case.action.thread, view.path) if not one.told]
    if case.published:
        valid = [one for one in seen if one.local == local and one.clock >= 0]
        reason = f"change counter of the file: {local}, then and now"
    elif case.sealed:
        # Programs print unusual bytes differently: only a result of the same program proves what it would print.
        valid = [one for one in seen if one.clock == ledger.clock and _form(ledger, one.holder) == view.form]
        reason = f"sealed; commands that may write, then and now: {ledger.clock}"
    else:
        return None
    if view.numbering:
        # Numbers are requested: only a result that prints them contains what would be printed.
        valid = [one for one in valid if _numbered(ledger, one.holder)]
    runs = cover_by_one(view, valid, case.shown) if case.published else cover(view, valid, case.shown, ledger.policy)
    if runs is None or not (case.published or (_believable(case, view, runs) and provable(case.action, case.record))):
        return None
    steps = tuple(sorted({step for _, step in runs}))
    whole = view.ranges[0].first == 1 and view.ranges[0].last is None
    rule, proof = "whole-read" if whole else "covered-read", (f"file: {known_part(view.path)}", reason)
    return _worth_it(case, Reuse(rule, proof, steps, covered_lines(runs, steps)))


def _believable(case: Case, view: View, runs: Held) -> bool:
    """Whether each run is at its place in the result referred to, and no newer visible result shows it differently."""
    seen = case.ledger.shown_lines(case.action.thread, view.path)
    for lines, step in runs:
        shown = seen.excerpt(step, lines) if seen is not None else None
        if seen is None or shown is None:
            return False
        asked = replace(shown, numbered=bool(view.numbering))
        returns = has_returns("\n".join(shown.texts))
        since = case.ledger.since(case.action.thread, view.path, case.visible, returns=returns)
        if (lines, step) not in seen.held(asked, case.visible, since, 1):
            return False
    return True


def _form(ledger: Ledger, step: int) -> str:
    view = ledger.results[step].record.view
    return view.form if view is not None else ""


def _numbered(ledger: Ledger, step: int) -> bool:
    view = ledger.results[step].record.view
    return view is not None and bool(view.numbering)


def repeat(case: Case) -> Decision | None:
    """Reuse the result of the same inspection or search under an unchanged state."""
    record, ledger = case.record, case.ledger
    step = ledger.repeated(case.action, record)
    if step is None or record.category not in (Category.INSPECT, Category.SEARCH):
        return None
    if not (record.comparable and record.literal and case.shown(step)):
        return None
    if _looks_at_transient(case):
        return None
    result = ledger.results[step]
    if stopped(result.exit_status) or result.exit_status in NOT_FOUND:
        return None
    if case.published:
        now = ledger.modifications.everywhere
        # A truncated read is excluded: the model has not seen all of the file.
        unchanged = result.everywhere == now and (result.whole or record.view is None)
        reason = f"global change counter: {now}, then and now"
    else:
        # A truncated result does not contain all that the command prints.
        unchanged = case.sealed and result.clock == ledger.clock and result.whole and provable(case.action, record)
        view, thread = record.view, case.action.thread
        if unchanged and view is not None and ledger.rendered_otherwise(thread, step, view.path, case.visible):
            # Another tool may print the same lines without their carriage returns.
            return None
        reason = f"sealed; commands that may write, then and now: {ledger.clock}"
    return _worth_it(case, Reuse("repeat", (f"same command at step {step}", reason), (step,))) if unchanged else None


def _worth_it(case: Case, reuse: Reuse) -> Reuse | None:
    """Return the reuse if its reference is worth its price; ``paper`` has none, nor have earlier versions."""
    if not case.ledger.policy.priced:
        return reuse
    ledger, thread = case.ledger, case.action.thread
    size, text = _size(ledger, reuse), references.suppressed(ledger, case.record, reuse)
    if len(text.encode()) > size * ledger.policy.max_share:
        return None
    worth = ledger.worth(thread, case.visible, size - len(text.encode()))
    if worth is None or not worth.pays:
        return None
    return replace(reuse, proof=(*reuse.proof, f"expected saving {worth.saving}, cost {worth.cost} new tokens"))


def _size(ledger: Ledger, reuse: Reuse) -> int:
    """Return the bytes that a suppressed command would print: the earlier result, or its part of that, by lines."""
    prints = [ledger.results[step].print for step in reuse.refers_to]
    if not reuse.lines:
        return prints[0].size if prints[0] is not None else 0
    parts = ((prints[one.by], one.last - one.first + 1) for one in reuse.lines)
    return sum(count * mark.size // max(mark.lines, 1) for mark, count in parts if mark is not None)


def _looks_at_transient(case: Case) -> bool:
    """Whether it names a file whose changes the global counter may not include."""
    record = case.record
    named = (*record.looks_at, *((record.view.path,) if record.view else ()))
    return any(case.ledger.modifications.doubtful(path, case.ledger.home) for path in named)


# Nudges


def repeated_test(case: Case) -> Decision | None:
    """Nudge at a test that is repeated without an edit in between; ``verified``: without any possible write."""
    if case.record.category is not Category.TEST:
        return None
    step = case.ledger.attempted(case.action, case.record)
    return _nudge(case, "repeated-test", step) or _in_unchanged_tree(case, step)


def unchanged_tree(case: Case) -> Decision | None:
    """Nudge at a program of unknown effects that has failed before, in a working tree without a change since."""
    record, ledger = case.record, case.ledger
    if record.effects is not Effects.UNKNOWN or record.category is not Category.OTHER:
        return None
    if isinstance(case.action.call, Aside | OtherTool):
        return None
    step = ledger.attempted(case.action, record)
    failed = step is not None and ledger.results[step].exit_status not in (0, None, *NOT_FOUND)
    return _in_unchanged_tree(case, step) if failed else None


def _in_unchanged_tree(case: Case, step: int | None) -> Decision | None:
    """Nudge if ``step`` ran the same command, and no file of the working tree has changed since, as a witness found."""
    ledger, record = case.ledger, case.record
    if case.published or step is None or step not in case.visible or len(ledger) - step > TEST_REACH:
        return None
    # What a command writes on request is a part of its result, and not compared.
    if record.writes or record.background or not is_comparable(ledger.results[step]):
        return None
    if not unchanged_since(ledger, step, record):
        return None
    return _capped(case, UNCHANGED_TREE, step, "every look at the working tree since has found the same files")


def loop(case: Case) -> Decision | None:
    """Nudge at a command without effects that is repeated within a short window."""
    aside = isinstance(case.action.call, Aside)
    if case.record.effects is not Effects.NONE or case.record.category is Category.TEST or aside:
        return None
    step = case.ledger.attempted(case.action, case.record)
    near = step is not None and len(case.ledger) - step <= case.ledger.policy.repeat_window
    return _nudge(case, "loop", step) if near and step in case.visible else None


def _nudge(case: Case, rule: str, step: int | None) -> Decision | None:
    """Nudge if ``step`` ran the same command under the present state."""
    ledger = case.ledger
    if step is None:
        return None
    if case.published:
        now = ledger.modifications.everywhere
        unchanged = ledger.results[step].everywhere == now and not _looks_at_transient(case)
        reason = f"global change counter: {now}, then and now"
    else:
        comparable = ledger.results[step].sound and step in case.visible
        unchanged, reason = comparable and _nothing_wrote(ledger, step), "nothing that may write ran in between"
    return _capped(case, rule, step, reason) if unchanged else None


def _capped(case: Case, rule: str, step: int, reason: str) -> Decision:
    """Nudge, unless enough remarks were made in this task or one was made a few calls ago."""
    ledger = case.ledger
    if ledger.nudges >= ledger.policy.max_nudges:
        return Allow("nudge-cap", (f"nudges: {ledger.nudges}",))
    last = ledger.last_nudge.get(case.action.thread)
    if last is not None and calls_since(ledger, case.action.thread, last) <= ledger.policy.nudge_cooldown:
        return Allow("cool-down", (f"last nudge at step {last}",))
    return Nudge(rule, (f"same command at step {step}", reason), (step,))


def _nothing_wrote(ledger: Ledger, step: int) -> bool:
    """Whether nothing after ``step`` may have written, except tests of the same loop with an unchanged result."""
    if len(ledger) - step > TEST_REACH:
        return False
    between = ledger.results[step + 1 :]
    return all(one.record.effects is Effects.NONE or one.print is None or _in_loop(ledger, one) for one in between)


def _in_loop(ledger: Ledger, result: StepRecord) -> bool:
    """Whether it is a test that already ran in the window, with an equal result."""
    if result.record.category is not Category.TEST or result.print is None:
        return False
    same = [
        other.print
        for other in ledger.results[-ledger.policy.repeat_window :]
        if other.record.normalized == result.record.normalized and other.print is not None
    ]
    return len(same) > 1 and all(alike(result.print, other) for other in same)


RULES: tuple[Callable[[Case], Decision | None], ...] = (
    opaque,
    setup,
    submission,
    reproduction,
    cap,
    second_look,
    new_error,
    seen_content,
    repeat,
    repeated_test,
    unchanged_tree,
    loop,
)
"""The rules, in the order in which they are tried."""
