"""Footnotes of tables: the methods of comparison, and what is unknown, left out, estimated or averaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from execledger.evaluate.metrics import without_journal
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import Arm, Setting
from execledger.evaluate.report.comparison import COST, INPUT, column
from execledger.evaluate.statistics import LEVEL, RESAMPLES

PUBLISHED_ELSEWHERE = (
    "Published figures are other papers' own, as Ledger's paper cites them, and not comparable directly"
)
INTERVALS = f"{LEVEL:.0%} intervals: paired bootstrap over instances, {RESAMPLES:,} resamples, trials kept together"
MCNEMAR = "p: McNemar's exact two-sided test, one for each trial"
HELD_FIXED = (
    "Estimated from bytes, as if the agent would have done the same without Ledger; what it did differently shows in"
    " the totals. New tokens are uncached or written to the cache; displaced ones are uncached once instead of cached."
    " Tokens of different classes are not added up: only their prices make them comparable"
)
TRIALS = "Trials are shown where each of them has the same instances; SD is the standard deviation of the sample"

ESTIMATED = "~ marks figures that rest on estimated tokens, not on the provider's count"


def methods(found: tuple[Setting, ...], *sentences: str) -> tuple[str, ...]:
    """Return the sentences about methods if any setting has a base to compare with; else none."""
    return sentences if any(setting.base.runs and setting.ledger for setting in found) else ()


def remarks(found: tuple[Setting, ...], *, tokens: bool = False) -> tuple[str, ...]:
    """Return sentences about what is unknown, left out, estimated or averaged in these settings.

    Sentences about tokens are added if the table has ``tokens``. A sentence that does not hold for all settings names
    those that it holds for.
    """
    said: dict[str, list[str]] = {}
    for setting in found:
        for text in _remarks(setting, tokens=tokens):
            said.setdefault(text, []).append(setting.title)
    return tuple(text if len(titles) == len(found) else f"{'; '.join(titles)}: {text}" for text, titles in said.items())


def _remarks(setting: Setting, *, tokens: bool) -> Iterator[str]:
    rows = [row for arm in setting.arms for row in arm.rows]
    ungraded = sum(row.resolved is None and not row.machine_failure for row in rows)
    if ungraded:
        what = "the resolution of every run is unknown" if ungraded == len(rows) else _ungraded(ungraded, len(rows))
        yield what
    yield from _failures(rows)
    every = {name for arm in setting.arms for name in arm.runs}
    common = set.intersection(*(set(arm.runs) for arm in setting.arms))
    if len(common) < len(every):
        missing = len(every) - len(common)
        yield f"{missing} of {len(every)} instances lack a run in some arm; a comparison leaves them out"
    if setting.renumbered:
        yield f"{setting.renumbered} runs bore the number of a trial that was there, and count as further trials"
    if any(len(arm.trials) > 1 for arm in setting.arms):
        yield "an instance counts with the mean of its trials"
    if tokens:
        yield from _about_tokens(setting.arms)
    yield from _troubles(setting.arms)


def _ungraded(number: int, of: int) -> str:
    return f"the resolution of {number} of {of} runs is unknown: they count neither as resolved nor as unresolved"


def _failures(rows: list[RunRow]) -> Iterator[str]:
    """Sentences about failures that are not the repair's: of the machine that graded, and of runs."""
    machine = Counter(row.machine_failure for row in rows if row.machine_failure)
    if machine:
        count = machine.total()
        yield (
            f"{count} of {len(rows)} runs could not be graded because the machine failed, not the repair"
            f" ({_counted(machine)}): they count neither as resolved nor as unresolved"
        )
    ambiguous = Counter(row.ambiguous_failure for row in rows if row.ambiguous_failure)
    if ambiguous:
        yield (
            f"{ambiguous.total()} unresolved runs have signs of a failure that may be the machine's or the repair's"
            f" ({_counted(ambiguous)})"
        )
    failed = Counter(row.failure.partition(":")[0] for row in rows if row.failure)
    if failed:
        yield f"{failed.total()} of {len(rows)} runs were ended by a failure, not by the agent ({_counted(failed)})"


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _about_tokens(arms: tuple[Arm, ...]) -> Iterator[str]:
    if any(arm.estimated for arm in arms):
        yield ESTIMATED
    for measure, what in ((COST, "cost"), (INPUT, "tokens")):
        missing = {arm.title: len(arm.runs) - len(column(measure, arm)) for arm in arms}
        short = ", ".join(f"{number} in {title}" for title, number in missing.items() if number)
        if short:
            yield f"{what} unknown for some instances, which are left out there: {short}"


def _troubles(arms: tuple[Arm, ...]) -> Iterator[str]:
    if untold := sum(row.lacks_journal for arm in arms for row in arm.rows):
        yield without_journal(untold)
    for what, number in (
        ("false reuses", sum(row.false_reuses or 0 for arm in arms for row in arm.rows)),
        ("faults of Ledger's own", sum(row.count("faults") or 0 for arm in arms for row in arm.rows)),
    ):
        if number:
            yield f"{number} {what}"
