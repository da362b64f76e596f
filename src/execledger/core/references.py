"""The words of references and remarks.

A reference names what it replaces in words that the model can resolve (the lines and the file, the command that
showed them, how many commands ago) in brackets with our name, so that it can't be mistaken for file content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from execledger.core.policy import Preset
from execledger.core.wording import ago, clip, printable, span
from execledger.shell.ranges import union
from execledger.vocabulary.decisions import CoveredLines, Reuse
from execledger.vocabulary.records import Category, CommandRecord, Lines

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger, StepRecord

MARK = "[Ledger: "
"""The beginning of every reference and remark."""
NO_CHANGE, ASIDE = "no change of a file was recorded", "scratch files aside"
"""What an unchanged global change counter proves, in words."""
NO_FILE = "no file of the working tree has changed since, caches aside"
"""What equal digests of the working tree prove, in words."""
NOT_ANSWERED = f"{MARK}this command was not run. Please repeat it.]"
"""The answer to a suppressed command for which no reference can be given any more."""


def _target(ledger: Ledger, step: int, width: int) -> str:
    """Name an earlier result by its command and how long ago it was."""
    result: StepRecord = ledger.results[step]
    back = ago(ledger.calls(result.thread) - result.ordinal)
    return f"`{clip(printable(result.command), width)}`, {back}"


def _named(ledger: Ledger, path: str) -> str:
    """Return a file's name, in quotes if it has spaces."""
    name = ledger.name_of(path)
    return f'"{name}"' if " " in name else name


def _shown_by(ledger: Ledger, path: str, lines: tuple[CoveredLines, ...], steps: tuple[int, ...]) -> str:
    """Say which lines of a file are as shown by which results."""
    runs: dict[int, list[Lines]] = {}
    for one in lines:
        runs.setdefault(one.by, []).append(Lines(one.first, one.last))
    parts: list[str] = []
    for by, group in runs.items():
        joined = union((), tuple(group))
        single = len(joined) == 1 and joined[0].first == joined[0].last
        spans = ", ".join(map(span, joined))
        target = _target(ledger, steps[by], 60 if len(runs) == 1 else 36)
        if parts:
            parts.append(f"{'line' if single else 'lines'} {spans} by {target}")
        else:
            subject, verb = ("Line", "is") if single else ("Lines", "are")
            parts.append(f"{subject} {spans} of {_named(ledger, path)} {verb} as shown by {target}")
    return ", and ".join(parts)


def suppressed(ledger: Ledger, record: CommandRecord, decision: Reuse) -> str:
    """Return the reference that answers a suppressed command; counters only prove that no change was recorded."""
    result = ledger.results[decision.refers_to[0]]
    published = ledger.policy.preset is Preset.PAPER
    status = f" Exit status {result.exit_status}." if result.exit_status not in (0, None) else ""
    if record.view is not None and decision.lines:
        path = record.view.path
        # Lines that a later run has confirmed may be in a result that is older than a change elsewhere in the file.
        confirmed = any(ledger.results[step].clock != ledger.clock for step in decision.refers_to)
        unchanged = "its output is known" if confirmed else f"{_named(ledger, path)} has not changed"
        reason = f"no change of {_named(ledger, path)} was recorded" if published else unchanged
        claim = _shown_by(ledger, path, decision.lines, decision.refers_to)
    else:
        reason = f"{NO_CHANGE} since, {ASIDE}" if published else "nothing has changed since"
        claim = f"Its output is the same as that of {_target(ledger, decision.refers_to[0], 60)}"
    return f"{MARK}not run, {reason}. {claim}.{status} Repeat it to see it again.]"


def same(ledger: Ledger, step: int) -> str:
    """Return the reference for an output that equals a visible result byte for byte."""
    return f"{MARK}output omitted. It is the same as that of {_target(ledger, step, 60)}.]"


def covered(ledger: Ledger, record: CommandRecord, lines: tuple[CoveredLines, ...], steps: tuple[int, ...]) -> str:
    """Return the reference for lines of a file that visible reads show at the same places."""
    assert record.view is not None, "only lines of one file are covered"
    return f"{MARK}output omitted. {_shown_by(ledger, record.view.path, lines, steps)}.]"


def omitted(ledger: Ledger, path: str, first: int, last: int, step: int) -> str:
    """Return the line that replaces a run of lines in an output of which the rest is shown."""
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return f"{MARK}{lines} of {_named(ledger, path)} omitted, as shown by {_target(ledger, step, 60)}.]"


def remark(ledger: Ledger, rule: str, step: int) -> str:
    """Return the remark after the result of a repeated command; it claims only what the ledger has recorded."""
    result = ledger.results[step]
    tree = rule == "unchanged-tree"
    test = result.record.category is Category.TEST if tree else rule == "repeated-test"
    what = "test" if test else "command"
    back = ago(ledger.calls(result.thread) - result.ordinal)
    if ledger.policy.preset is Preset.PAPER:
        return f"{MARK}this may repeat earlier work. The same {what} ran {back}, and {NO_CHANGE} in between, {ASIDE}.]"
    unchanged = NO_FILE if tree else "you have edited no file in between"
    return f"{MARK}the same {what} gave the same result {back}, and {unchanged}.]"
