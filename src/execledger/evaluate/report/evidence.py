"""What an evaluation shows and what it can't: differences found or not, its power, and effects of the order of arms.

A difference is *found* if the p-value of the paired test over instances is below 5 %. That none was found does not
mean that there is none, so the table says which difference an evaluation of this size would have found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from statistics import fmean

from msgspec.structs import replace

from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import Arm, Setting
from execledger.evaluate.report.comparison import CACHED_INPUT, COST, NEW_INPUT, Measure, column, compare, gain
from execledger.evaluate.report.footnotes import ESTIMATED
from execledger.evaluate.report.table import Cell, Row, Section, Table, Unit, change_cell, interval_cell, text_cell
from execledger.evaluate.statistics import (
    LEAST_INSTANCES,
    LEVEL,
    POWER,
    Noise,
    OrderEffect,
    noise,
    order_effect,
    paired_test,
)

POINTS = (0.01, 0.03, 0.05)
"""Differences of Pass@1 whose necessary number of trials is stated."""
TESTED_MEASURES = ((COST, "cost"), (NEW_INPUT, "new input tokens"), (CACHED_INPUT, "cached input tokens"))
"""Measures whose differences and effects of the order are tested, with their names.

Input is tested by class, since a sum of cached and new tokens has no meaning without a price.
"""
UNREPORTED = "no run reports cached tokens, so how much of the input was new is unknown"
"""Reason for which input is not tested by class."""
TESTED = ("found", "none found")
"""First words of the answer to a question that a test was made for."""
FOUND = (
    f"A difference is found if p is below {1 - LEVEL:.2f}: sign-flip permutation test over instances, with the mean of"
    " all trials of each"
)
AT_LEAST = "at least"
"""First words of a number of trials that is a lower bound."""
POWERED = (
    f"Power: which difference {POWER:.0%} of such evaluations would find at that level, given how much the outcomes of"
    " an instance vary over trials and arms"
)
SINGLE = (
    "At least: a single trial can't separate chance from the variance between instances' effects, which trials of the"
    " same instances don't average out; every disagreement between two arms counts as chance, so that the number of"
    " trials is a lower bound, and perhaps none is enough"
)
FEW = (
    "Not testable: with n instances no p-value of this test is below 2 / 2^n, so that with fewer than"
    f" {LEAST_INSTANCES} it finds no difference of any size, with any number of trials"
)
ORDERED = (
    "Order: permutation test of positions within the trials of an instance, of the change from one planned position"
    " among the arms to the next, after the differences between arms and instances are removed from both"
)
NEW = "New input tokens are those not read from a cache: uncached, or written to it"


def evidence(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of what the comparisons of these settings show; None if nothing is compared."""
    compared = [(setting, arm) for setting in found if setting.base.runs for arm in setting.compared]
    sections = [Section(_title(setting, arm), tuple(_rows(setting, arm))) for setting, arm in compared]
    if not sections:
        return None
    ordered = [
        Section(f"{setting.title}: order of the arms", _order(setting))
        for setting in found
        if setting.base.runs and setting.compared
    ]
    conditions = {
        POWERED: any(_said(sections, "Trials needed")),
        FEW: any(_said(sections, "", "not testable")),
        SINGLE: any(_said(sections, "Trials needed", AT_LEAST)),
        ORDERED: any(_said(ordered, "", "not testable", *TESTED)),
        NEW: any(_said(sections, "Difference of new input tokens", "not testable", *TESTED)),
        ESTIMATED: any(cell.estimated for section in (*sections, *ordered) for row in section.rows for cell in row),
    }
    return Table(
        name="evidence",
        title="What this evaluation shows, and what it can't",
        columns=("Question", "Answer"),
        left=1,
        wide=True,
        sections=(*sections, *ordered),
        notes=(FOUND, *(note for note, holds in conditions.items() if holds), *_many(sections)),
    )


def _title(setting: Setting, arm: Arm) -> str:
    return f"{setting.title}: {arm.title} against base"


def _many(sections: Sequence[Section]) -> Iterator[str]:
    """Yield how many tests were made, if there are several: each may find a difference by chance."""
    tests = sum(_said(sections, "", *TESTED))
    if tests > 1:
        yield f"{tests} differences were tested; without any, about one in {round(1 / (1 - LEVEL))} is found by chance"


def _said(sections: Sequence[Section], question: str, *answers: str) -> Iterator[bool]:
    """Yield for each row whether its question, and its answer if any are given, begins with these words."""
    for section in sections:
        for row in section.rows:
            yield row[0].text.startswith(question) and (not answers or row[1].text.startswith(answers))


def _rows(setting: Setting, arm: Arm) -> Iterator[Row]:
    base = setting.base
    graded = sorted(base.graded & arm.graded)
    yield _answer("Compared", _size(base, arm, graded))
    yield _answer("Difference of Pass@1", _outcome_difference(base, arm, graded))
    for measure, name in TESTED_MEASURES:
        yield _answer(f"Difference of {name}", _measure_difference(measure, base, arm))
    known = noise(*(_outcomes(side, graded) for side in (base, arm)))
    if known is not None:
        yield from _power(known, min(len(base.trials), len(arm.trials)))


def _power(known: Noise, trials: int) -> Iterator[Row]:
    """Yield what an evaluation with such noise and so many trials would find, and what it takes to find less."""
    smallest = "Smallest difference of Pass@1 that it would find"
    if not known.testable:
        yield _answer(
            smallest, Cell(f"none of any size: {_untestable(known.instances)}, at least {LEAST_INSTANCES} are needed")
        )
        return
    least = known.detectable(trials)
    told = f"{_bound(known, trials)}{least * 100:.1f} points" if least < 1 else "none: too few instances"
    yield _answer(smallest, Cell(told, least))
    for points in POINTS:
        yield _answer(
            f"Trials needed to find {points * 100:.0f} point{'s' if points > 0.01 else ''}",
            _needed(known, points, trials),
        )


def _untestable(instances: int) -> str:
    """Return that the test can find nothing with so few instances, in words."""
    number = f"{instances} instance{'s' if instances > 1 else ''}"
    return f"not testable with {number}"


def _answer(question: str, cell: Cell) -> Row:
    return text_cell(question), cell


def _size(base: Arm, arm: Arm, graded: Sequence[str]) -> Cell:
    common = len(base.runs.keys() & arm.runs.keys())
    trials = min(len(base.trials), len(arm.trials))
    left_out = len(base.runs.keys() | arm.runs.keys()) - common
    said = [f"{common} instances", f"{trials} trial{'s' if trials > 1 else ''} in each arm", f"{len(graded)} graded"]
    return Cell(", ".join([*said, *([f"{left_out} left out, not run in both"] if left_out else [])]), (common, trials))


def _outcomes(arm: Arm, instances: Sequence[str]) -> list[list[bool]]:
    """Return the outcomes of each instance, trial by trial."""
    return [[row.resolved for row in arm.runs[name] if row.resolved is not None] for name in instances]


def _outcome_difference(base: Arm, arm: Arm, graded: Sequence[str]) -> Cell:
    found = gain(base, arm)
    if found.difference is None:
        return Cell("unknown: nothing was graded in both arms")
    sides = [[sum(one) / len(one) for one in _outcomes(side, graded)] for side in (base, arm)]
    differences = [after - before for before, after in zip(*sides, strict=True)]
    bounds = (found.interval.low, found.interval.high) if found.interval else None
    size = f"{change_cell(found.difference, Unit.SHARE).text} points"
    return _verdict(size, interval_cell(bounds, Unit.SHARE).text, found.difference, differences)


def _measure_difference(measure: Measure, base: Arm, arm: Arm) -> Cell:
    found = compare(measure, base, arm)
    if not _reported(measure, [*base.rows, *arm.rows]):
        return Cell(f"not tested: {UNREPORTED}")
    if found.change is None:
        return Cell("unknown")
    before, after = column(measure, base), column(measure, arm)
    differences = [after[name][0] - before[name][0] for name in sorted(before.keys() & after.keys())]
    bounds = (found.interval.low, found.interval.high) if found.interval else None
    estimated = measure.from_tokens and (base.estimated or arm.estimated)
    size, interval = change_cell(found.change, estimated=estimated), interval_cell(bounds, estimated=estimated)
    return replace(_verdict(size.text, interval.text, found.change, differences), estimated=estimated)


def _reported(measure: Measure, rows: Collection[RunRow]) -> bool:
    """Return whether the measure is told apart from others: classes of input are if any run reports cached tokens."""
    return measure not in (NEW_INPUT, CACHED_INPUT) or any(CACHED_INPUT.of(row) for row in rows)


def _verdict(size: str, interval: str, difference: float, differences: Sequence[float]) -> Cell:
    """Return whether a difference is found, by the test of the instances' differences."""
    p = paired_test(differences)
    word = "found" if p < 1 - LEVEL else "none found"
    if len(differences) < LEAST_INSTANCES:
        word = _untestable(len(differences))
    return Cell(f"{word}: {size} ({LEVEL:.0%} interval {interval}, p {_p(p)})", (difference, p))


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _needed(known: Noise, points: float, trials: int) -> Cell:
    number = known.trials_needed(points)
    if number is not None:
        return Cell(f"{_bound(known, number)}{number:,} with these {known.instances} instances", number)
    instances = known.instances_needed(points, trials)
    return Cell(f"no number with these {known.instances} instances; {trials} with {instances:,} such instances")


def _bound(known: Noise, trials: int) -> str:
    """Return the words before a figure for so many trials if it is a lower bound; for one trial it never is."""
    return f"{AT_LEAST} " if known.between is None and trials > 1 else ""


def _order(setting: Setting) -> tuple[Row, ...]:
    """Return the effect of the order of the arms on each tested measure, or why it is not tested."""
    return tuple(_answer(f"Effect on {name}", _effect(measure, name, setting)) for measure, name in TESTED_MEASURES)


def _effect(measure: Measure, name: str, setting: Setting) -> Cell:
    rows = [row for arm in setting.arms for row in arm.rows]
    placed = [(row, row.position) for row in rows if row.position is not None]
    if not placed:
        return Cell("not tested: the order in which the arms ran is not recorded")
    if not _reported(measure, rows):
        return Cell(f"not tested: {UNREPORTED}")
    known = [(row, position, value) for row, position in placed if (value := measure.of(row))]
    if not known:
        return Cell(f"not tested: {name} unknown")
    effect = order_effect(
        [value for _, _, value in known],
        [position for _, position, _ in known],
        [f"{row.arm} {row.preset}" for row, _, _ in known],
        [(row.instance, row.trial) for row, _, _ in known],
    )
    estimated = measure.from_tokens and any(row.estimated for row, _, _ in known)
    cell = _ordered(effect, estimated=estimated)
    none = sum(measure.of(row) == 0 for row, _ in placed)
    left_out = f"; {none} run{'s' if none > 1 else ''} with no {name} left out" if none else ""
    return replace(cell, text=f"{cell.text}{left_out}{_caution(setting)}")


def _ordered(effect: OrderEffect | None, *, estimated: bool) -> Cell:
    if effect is None:
        return Cell("not tested: no two runs of an instance and trial have different positions")
    if effect.change is None or effect.p is None:
        return Cell("not testable: arm and position can't be told apart")
    word = "found" if effect.p < 1 - LEVEL else "none found" if effect.testable else "not testable with so few runs"
    size = f"{change_cell(effect.change, estimated=estimated).text} from one position to the next"
    return Cell(f"{word}: {size} (p {_p(effect.p)})", (effect.change, effect.p), estimated)


def _caution(setting: Setting) -> str:
    """Return that an effect of the order would favour an arm, with the arms' mean positions; "" if these are equal."""
    positions = [(arm.title, [row.position for row in arm.rows if row.position is not None]) for arm in setting.arms]
    means = {title: f"{fmean(placed):.2f}" for title, placed in positions if placed}
    if len(set(means.values())) < 2:
        return ""
    told = ", ".join(f"{title} {mean}" for title, mean in means.items())
    return f"; the arms' mean positions differ ({told}), so that an effect of the order is part of their differences"
