"""The words of references and remarks.

A reference names its target in words that the model can resolve (the command, how many commands ago, how it begins) and
stands in brackets with our name, so that it can't be mistaken for file content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from execledger.core.plain import clip, printable
from execledger.core.records import CommandRecord, Lines

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger, Result

MARK = "[Ledger: "
"""How every reference and remark begins."""
NOT_ANSWERED = f"{MARK}this command was not run. Please repeat it.]"
"""The answer to a suppressed command whose reference can't be given any more."""


def span(lines: Lines) -> str:
    """A run of lines in words."""
    if lines.first < 0:
        return f"last {-lines.first}"
    if lines.last is None:
        return f"{lines.first}-end"
    return str(lines.first) if lines.first == lines.last else f"{lines.first}-{lines.last}"


def ago(count: int) -> str:
    """How far back a step lies, in words."""
    return "1 command ago" if count == 1 else f"{count} commands ago"


def _target(ledger: Ledger, step: int, record: CommandRecord, width: int) -> str:
    """One earlier result: its command, how long ago, and how it begins."""
    result: Result = ledger.results[step]
    back = ago(ledger.calls(result.thread) - result.ordinal)
    begins = clip(printable(result.begins).strip("\"'` "), 28)
    hint = f', beginning "{begins}"' if begins and width > 40 else ""
    if result.record.exact == record.exact and result.record.cwd == record.cwd:
        return f"this same command, {back}{hint}"
    return f"`{clip(printable(result.command), width)}`, {back}{hint}"


def suppressed(ledger: Ledger, record: CommandRecord, steps: tuple[int, ...]) -> str:
    """The reference that answers a command that was not run."""
    result = ledger.results[steps[0]]
    targets = " and ".join(_target(ledger, step, record, 60 if len(steps) == 1 else 36) for step in steps)
    status = f" Exit status {result.exit_status}." if result.exit_status not in (0, None) else ""
    return f"{MARK}not run, its output still stands above, unchanged: {targets}.{status} Repeat it to see it again.]"


def same(ledger: Ledger, record: CommandRecord, step: int) -> str:
    """The reference for an output that one visible result already has, byte for byte."""
    return f"{MARK}ran; the output is the same as above: {_target(ledger, step, record, 60)}.]"


def covered(ledger: Ledger, record: CommandRecord, steps: tuple[int, ...], lines: int) -> str:
    """The reference for lines of a file that already stand in visible reads of it."""
    width = 60 if len(steps) == 1 else 36
    targets = " and ".join(_target(ledger, step, record, width) for step in steps)
    return f"{MARK}ran; all {lines} lines already stand above, unchanged: {targets}.]"


def remark(ledger: Ledger, rule: str, step: int) -> str:
    """The remark behind the result of a repeated command."""
    what = "test" if rule == "repeated-test" else "command"
    result = ledger.results[step]
    back = ago(ledger.calls(result.thread) - result.ordinal)
    return f"{MARK}the same {what} gave the same result {back}, and nothing was changed in between.]"
