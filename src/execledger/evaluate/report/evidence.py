"""What an evaluation shows and what it can't: differences found or not, its power, and effects of the order of arms.

A difference is *found* if the p-value of the paired test over instances is below 5 % after Holm's correction. That
none was found does not mean that there is none, so the table says which difference an evaluation of this size would
have found.

The correction is over a family of tests. All differences between one arm and the base are one family: any of them,
found by chance, would be reported as an effect of that arm. The effects of the order of the arms are a family of their
own in each setting: they ask whether the runs were independent, not what Ledger does, and would take power from the
differences. Further arms are further families, since each answers its own question; a note states what several
families find by chance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.wording import quantity
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import Arm, Setting
from execledger.evaluate.report.comparison import (
    CACHED_INPUT,
    COST,
    NEW_INPUT,
    Measure,
    column,
    compare,
    gain,
    incomparable,
    not_alike,
    unpriced,
)
from execledger.evaluate.report.footnotes import ESTIMATED, against, between, isolation, pooled
from execledger.evaluate.report.table import Cell, Row, Section, Table, Unit, change_cell, interval_cell, text_cell
from execledger.evaluate.statistics import (
    LEVEL,
    POWER,
    Noise,
    holm,
    least_instances,
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
TOKENS_UNKNOWN = "tokens unknown"
"""Reason for which input is not tested where no run has any count of tokens."""
UNREPORTED = "no run reports cached tokens, so how much of the input was new is unknown"
"""Reason for which input is not tested by class."""
TESTED = ("found", "none found")
"""First words of the answer to a question that a test was made for."""
FOUND = (
    f"A difference is found if its p is below {1 - LEVEL:.2f} after Holm's correction over the {{}} tested in one"
    " comparison (corrected); p itself and all intervals are not corrected: sign-flip permutation test over instances,"
    " with the mean of all trials of each"
)
"""Rule by which differences are found; has a place for the number of tests."""
AT_LEAST = "at least"
"""First words of a number of trials that is a lower bound."""
POWERED = (
    f"Power: which difference {POWER:.0%} of such evaluations would find after that correction even if no other"
    " difference is found, given how much the outcomes of"
    " an instance vary over trials and arms, if Ledger resolves the same share of the unresolved runs of each instance;"
    " if its effect differs more between instances than the table can tell from chance, more trials are needed, or no"
    " number is enough"
)
SINGLE = (
    "At least: a single trial can't separate chance from the variance between instances' effects, which trials of the"
    " same instances don't average out; every disagreement between two arms counts as chance, so that the number of"
    " trials is a lower bound, and perhaps none is enough"
)
FEW = (
    "Not testable: with n instances no p-value of this test is below 2 / 2^n, so that with fewer than"
    f" {least_instances()}{{}}, it finds no difference of any size, with any number of trials"
)
"""Why nothing is found with few instances; has a place for what the correction adds."""
ORDERED = (
    "Order: permutation test of positions within the trials of an instance, of the change from one planned position"
    " among the arms to the next, after the differences between arms and instances are removed from both; found after"
    " Holm's correction over the effects tested in one setting"
)
UNEVEN_RATIO = 2
"""Ratio of the numbers of trials of two arms from which the table warns of skewed figures."""
UNEVEN = (
    "Unequal trials: with twice as many trials in one arm, or more, differences of skewed figures such as cost have no"
    " symmetric distribution, and are found by chance more often than one in 20: up to one in 7 in simulations"
)
NEW = "New input tokens are those not read from a cache: uncached, or written to it"


class Difference(Struct, frozen=True, kw_only=True):
    """A tested difference between an arm and the base, or an effect of the order of the arms, before the verdict."""

    said: str
    """Its size, in words."""
    value: float
    """Its size."""
    p: float
    """Its p-value, not corrected."""
    least: float
    """Smallest p-value that its test can have, however large the difference is."""
    untestable: str
    """Verdict where that is too large for any difference to be found."""
    within: str = ""
    """Its interval, in words; "" for an effect of the order."""
    remarks: str = ""
    """What is left out of it, and why, in words; "" if nothing is."""
    estimated: bool = False
    """True if it rests on estimated tokens."""


def evidence(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of what the comparisons of these settings show; None if nothing is compared."""
    compared = [(setting, arm) for setting in found if setting.base.runs for arm in _tested_arms(setting)]
    sections = [Section(_title(setting, arm), tuple(_rows(setting, arm))) for setting, arm in compared]
    if not sections:
        return None
    ordered = [
        Section(f"{setting.title}: order of the arms", _order(setting))
        for setting in found
        if setting.base.runs and setting.ledger
    ]
    families = sorted({_tests(section) for section in sections} - {0})
    conditions = {
        POWERED: any(_said(sections, "Trials needed")),
        FEW.format(_corrected_least(families)): any(_said(sections, "", "not testable")),
        SINGLE: any(_said(sections, "Trials needed", AT_LEAST)),
        UNEVEN: any(_uneven(setting.base, arm) for setting, arm in compared),
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
        notes=(
            *([FOUND.format(sizes)] if (sizes := _sizes(families)) else []),
            *(note for note, holds in conditions.items() if holds),
            *isolation(tuple(setting for setting in found if setting.base.runs and setting.ledger)),
            *_several([*sections, *ordered]),
        ),
    )


def _tested_arms(setting: Setting) -> list[Arm]:
    """Return all arms with Ledger, first those of the other tables; single paths have totals in the ablation alone."""
    return sorted(setting.ledger, key=lambda arm: arm not in setting.compared)


def _title(setting: Setting, arm: Arm) -> str:
    return f"{setting.title}: {against(setting.base, arm)}"


def _uneven(base: Arm, arm: Arm) -> bool:
    """Return whether one arm has several times as many runs of their common instances as the other."""
    common = base.runs.keys() & arm.runs.keys()
    runs = [len(side.over(common).rows) for side in (base, arm)]
    return max(runs) >= UNEVEN_RATIO * min(runs) > 0


def _tests(section: Section) -> int:
    """Return how many tests with a p-value a section has: the size of its family."""
    return sum(_said([section], "", "not testable with", *TESTED))


def _sizes(sizes: Sequence[int]) -> str:
    """Return how many differences each comparison tests, in words; "" if none is tested.

    ``sizes`` are the sizes of the families of tests, in order and without 0.
    """
    return f"{_range(sizes)} difference{'' if sizes == [1] else 's'}" if sizes else ""


def _range(numbers: Sequence[int]) -> str:
    """Return numbers, which are in order, as one number or as a range."""
    return f"{numbers[0]} to {numbers[-1]}" if numbers[0] < numbers[-1] else f"{numbers[0]}"


def _corrected_least(sizes: Sequence[int]) -> str:
    """Return what Holm's correction adds to the fewest instances that a test needs, in words; "" for single tests."""
    several = [size for size in sizes if size > 1]
    if not several:
        return ""
    fewest = _range([least_instances(size) for size in several])
    return f", or {fewest} after the correction for {_range(several)} tests"


def _several(sections: Sequence[Section]) -> Iterator[str]:
    """Yield how often several families of tests find something by chance, each of which is corrected for itself."""
    families = sum(any(_said([section], "", *TESTED)) for section in sections)
    if families > 1:
        yield (
            f"{families} families of tests (comparisons, and orders of arms) are corrected each for itself: if nothing"
            f" is real, at most about one evaluation in {round(1 / (1 - LEVEL))} finds something in a given one, and up"
            f" to about {1 - LEVEL**families:.0%} find something in any"
        )


def _said(sections: Sequence[Section], question: str, *answers: str) -> Iterator[bool]:
    """Yield for each row whether its question, and its answer if any are given, begins with these words."""
    for section in sections:
        for row in section.rows:
            yield row[0].text.startswith(question) and (not answers or row[1].text.startswith(answers))


def _rows(setting: Setting, arm: Arm) -> Iterator[Row]:
    base = setting.base
    graded = sorted(base.graded & arm.graded)
    yield _answer("Compared", _size(base, arm, graded))
    apart = between(base, arm)
    common = base.runs.keys() & arm.runs.keys()
    if told := "; ".join(one for one in (apart, pooled(side.over(common) for side in (base, arm))) if one):
        yield _answer("Evaluations", text_cell(told))
    asked = {"Pass@1": _outcome_difference(base, arm, graded)}
    asked |= {name: _measure_difference(measure, name, base, arm) for measure, name in TESTED_MEASURES}
    for name, cell in zip(asked, _verdicts(asked.values(), apart=bool(apart)), strict=True):
        yield _answer(f"Difference of {name}", cell)
    known = noise(*(_outcomes(side, graded) for side in (base, arm)))
    if known is not None:
        tests = sum(isinstance(one, Difference) for one in asked.values())
        yield from _power(replace(known, tests=tests), fmean(fmean(one) for one in _outcomes(base, graded)))


def _power(known: Noise, base: float) -> Iterator[Row]:
    """Yield what an evaluation with such noise and so many graded trials would find, and what it takes to find less.

    ``base`` is the Pass@1 of the base.
    """
    trials = known.trials
    smallest = "Smallest difference of Pass@1 that it would find"
    if not known.testable:
        fewest = least_instances(known.tests)
        yield _answer(smallest, Cell(f"none of any size: {_untestable(known.instances)}, at least {fewest} are needed"))
        return
    least = known.detectable(trials)
    room = 1 - base
    limit = f"no gain can be that large, since the base leaves {room * 100:.1f} points unresolved"
    told = f"{_bound(known, trials)}{least * 100:.1f} points" if least < 1 else "none"
    yield _answer(smallest, Cell(f"{told}; {limit}" if room < least else told, least))
    for points in POINTS:
        needed = _needed(known, points, trials) if points < room + 1e-9 else Cell(limit)
        yield _answer(f"Trials needed to find {points * 100:.0f} point{'s' if points > 0.01 else ''}", needed)


def _untestable(instances: int) -> str:
    """Return that the test can find nothing with so few instances, in words."""
    return f"not testable with {quantity(instances, 'instance')}"


def _answer(question: str, cell: Cell) -> Row:
    return text_cell(question), cell


def _size(base: Arm, arm: Arm, graded: Sequence[str]) -> Cell:
    common = base.runs.keys() & arm.runs.keys()
    trials = min(len(base.trials), len(arm.trials))
    numbers = sorted({len(side.runs[name]) for side in (base, arm) for name in common} or {trials})
    several = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
    made = f"{several} trial{'s' if numbers[-1] > 1 else ''} in each arm"
    left_out = len(base.runs.keys() | arm.runs.keys()) - len(common)
    said = [quantity(len(common), "instance"), made, f"{len(graded)} graded"]
    others = [f"{left_out} left out, not run in both"] if left_out else []
    return Cell(", ".join([*said, *others]), (len(common), trials))


def _outcomes(arm: Arm, instances: Sequence[str]) -> list[list[bool]]:
    """Return the outcomes of each instance, trial by trial."""
    return [[row.resolved for row in arm.runs[name] if row.resolved is not None] for name in instances]


def _outcome_difference(base: Arm, arm: Arm, graded: Sequence[str]) -> Difference | Cell:
    found = gain(base, arm)
    if found.difference is None:
        return Cell("unknown: nothing was graded in both arms")
    sides = [[sum(one) / len(one) for one in _outcomes(side, graded)] for side in (base, arm)]
    differences = [after - before for before, after in zip(*sides, strict=True)]
    bounds = (found.interval.low, found.interval.high) if found.interval else None
    size = f"{change_cell(found.difference, Unit.SHARE).text} points"
    return _flipped(size, interval_cell(bounds, Unit.SHARE), found.difference, differences)


def _measure_difference(measure: Measure, name: str, base: Arm, arm: Arm) -> Difference | Cell:
    if said := _unreported(measure, [*base.rows, *arm.rows]):
        return Cell(f"not tested: {said}")
    if said := incomparable(measure, base, arm):
        return Cell(f"not tested: {said}")
    apart = not_alike(measure, base, arm)
    alike = (base.runs.keys() & arm.runs.keys()) - apart.keys()
    base, arm = base.over(alike), arm.over(alike)
    found = compare(measure, base, arm)
    if found.base == 0 and found.instances:
        where = "the base, to which a change would be relative" if found.ledger else "either arm"
        return Cell(f"not tested: no {name} in {where}{_left_out(apart)}")
    if found.change is None:
        reason = unpriced(measure, [*base.rows, *arm.rows])
        return Cell(f"unknown: {reason}" if reason else "unknown")
    before, after = column(measure, base), column(measure, arm)
    differences = [after[one][0] - before[one][0] for one in sorted(before.keys() & after.keys())]
    bounds = (found.interval.low, found.interval.high) if found.interval else None
    estimated = measure.from_tokens and (base.estimated or arm.estimated)
    size, interval = change_cell(found.change, estimated=estimated), interval_cell(bounds, estimated=estimated)
    tested = _flipped(size.text, interval, found.change, differences)
    return replace(tested, remarks=_left_out(apart), estimated=estimated)


def _left_out(apart: Mapping[str, str]) -> str:
    """Return how many instances are left out since their runs count tokens in different ways; "" if none is."""
    return (
        f"; {quantity(len(apart), 'instance')} left out, whose {' or '.join(sorted(set(apart.values())))}"
        if apart
        else ""
    )


def _unreported(measure: Measure, rows: Collection[RunRow]) -> str:
    """Return why input is not tested by class: no run has tokens, or reports cached ones; "" if it is, or for cost."""
    if not measure.input_class or any(CACHED_INPUT.of(row) is not None for row in rows):
        return ""
    return TOKENS_UNKNOWN if all(row.tokens is None for row in rows) else UNREPORTED


def _flipped(size: str, interval: Cell, value: float, differences: Sequence[float]) -> Difference:
    """Return a difference with the p-value of the sign-flip test of the instances' differences."""
    within = "no interval" if interval.value is None else f"{LEVEL:.0%} interval {interval.text}"
    return Difference(
        said=size,
        value=value,
        p=paired_test(differences),
        least=2.0 ** (1 - len(differences)),
        untestable=_untestable(len(differences)),
        within=f"{within}, ",
    )


def _verdicts(found: Collection[Difference | Cell], *, apart: bool = False) -> Iterator[Cell]:
    """Yield the answers for one family of tests, each found or not after Holm's correction, with its own p-value.

    What was not tested, and so has its answer, is no part of the family. Between arms of different evaluations
    (``apart``) the answer says so.
    """
    family = [one for one in found if isinstance(one, Difference)]
    corrections = iter(holm([one.p for one in family]))
    for one in found:
        yield _verdict(one, next(corrections), len(family), apart=apart) if isinstance(one, Difference) else one


def _verdict(one: Difference, corrected: float, tests: int, *, apart: bool) -> Cell:
    """Return whether a difference is found, with its p-value and the one corrected for the number of tests."""
    word = "found" if corrected < 1 - LEVEL else "none found" if one.least * tests < 1 - LEVEL else one.untestable
    word = f"{word} between evaluations" if apart and word.endswith("found") else word
    also = f", corrected {_p(corrected)}" if tests > 1 else ""
    text = f"{word}: {one.said} ({one.within}p {_p(one.p)}{also}){one.remarks}"
    return Cell(text, (one.value, one.p, corrected), one.estimated)


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _needed(known: Noise, points: float, trials: float) -> Cell:
    number = known.trials_needed(points)
    if number is not None:
        return Cell(f"{_bound(known, number)}{number:,} with these {known.instances} instances", number)
    whole = round(trials)
    instances = known.instances_needed(points, whole)
    return Cell(f"no number with these {known.instances} instances; {whole} with {instances:,} such instances")


def _bound(known: Noise, trials: float) -> str:
    """Return the words before a figure for so many trials if it is a lower bound; for one trial it never is."""
    return f"{AT_LEAST} " if known.between is None and trials > 1 else ""


def _order(setting: Setting) -> tuple[Row, ...]:
    """Return the effect of the order of the arms on each tested measure, or why it is not tested."""
    asked = [_effect(measure, name, setting) for measure, name in TESTED_MEASURES]
    answers = zip(TESTED_MEASURES, _verdicts(asked), strict=True)
    return tuple(_answer(f"Effect on {name}", cell) for (_, name), cell in answers)


def _effect(measure: Measure, name: str, setting: Setting) -> Difference | Cell:
    rows = [row for arm in setting.arms for row in arm.rows]
    placed = [(row, row.position, arm.title) for arm in setting.arms for row in arm.rows if row.position is not None]
    if not placed:
        return Cell("not tested: the order in which the arms ran is not recorded")
    if said := _unreported(measure, rows):
        return Cell(f"not tested: {said}")
    if said := incomparable(measure, *setting.arms):
        return Cell(f"not tested: {said}")
    apart = not_alike(measure, *setting.arms)
    setting = replace(setting, arms=tuple(arm.over(arm.runs.keys() - apart.keys()) for arm in setting.arms))
    placed = [one for one in placed if one[0].instance not in apart]
    known = [(*one, value) for one in placed if (value := measure.of(one[0]))]
    none = sum(measure.of(row) == 0 for row, _, _ in placed)
    if not known and none:
        return Cell(f"not tested: no {name} in any arm{_left_out(apart)}")
    if not known:
        reason = unpriced(measure, (row for row, _, _ in placed))
        return Cell(f"not tested: {name} unknown{f', since {reason}' if reason else ''}")
    effect = order_effect(
        [value for _, _, _, value in known],
        [position for _, position, _, _ in known],
        [title for _, _, title, _ in known],
        [(row.evaluation, row.instance, row.trial) for row, _, _, _ in known],
    )
    left_out = f"; {quantity(none, 'run')} with no {name} left out" if none else ""
    remarks = f"{left_out}{_left_out(apart)}{_caution(setting)}"
    estimated = measure.from_tokens and any(row.estimated for row, _, _, _ in known)
    if effect is None:
        which = f"runs with {name}" if none else "runs"
        return Cell(f"not tested: no two {which} of an instance and trial have different positions{remarks}")
    if effect.change is None or effect.p is None or effect.least is None:
        return Cell(f"not testable: arm and position can't be told apart{remarks}")
    return Difference(
        said=f"{change_cell(effect.change, estimated=estimated).text} from one position to the next",
        value=effect.change,
        p=effect.p,
        least=effect.least,
        untestable="not testable with so few runs",
        remarks=remarks,
        estimated=estimated,
    )


def _caution(setting: Setting) -> str:
    """Return that an effect of the order would favour an arm, with the arms' mean positions; "" if these are equal.

    Positions are among the arms of one evaluation, so that each has means of its own.
    """
    positions: dict[str, dict[str, list[int]]] = {}
    for arm in setting.arms:
        for row in arm.rows:
            if row.position is not None:
                positions.setdefault(row.evaluation, {}).setdefault(arm.title, []).append(row.position)
    said = []
    for name, placed in positions.items():
        means = {title: f"{fmean(numbers):.2f}" for title, numbers in placed.items()}
        told = ", ".join(f"{title} {mean}" for title, mean in means.items())
        where = f"in {name}, " if len(positions) > 1 else ""
        said += [f"{where}the arms' mean positions differ ({told})"] if len(set(means.values())) > 1 else []
    return f"; {' and '.join(said)}, so that an effect of the order is part of their differences" if said else ""
