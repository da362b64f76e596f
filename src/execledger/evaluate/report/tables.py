"""The paper's four tables, for whatever arms were run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from execledger.evaluate.arms import TITLES, Arm, Setting, settings
from execledger.evaluate.records import RunRow
from execledger.evaluate.report import cells
from execledger.evaluate.report.cells import ABSENT, UNKNOWN, Cell, Unit, words
from execledger.evaluate.report.comparison import (
    CACHE_HITS,
    COST,
    EFFICIENCY,
    INPUT,
    MODEL_CALLS,
    Gain,
    Measure,
    Resolution,
    compare,
    gain,
    resolution,
    sole,
)
from execledger.evaluate.report.footnotes import INTERVALS, MCNEMAR, PUBLISHED_ELSEWHERE, methods, remarks
from execledger.evaluate.report.outcomes import outcomes, trials
from execledger.evaluate.report.published import PUBLISHED, Published
from execledger.evaluate.report.rendering import Row, Section, Table
from execledger.evaluate.statistics import Interval, rru


def tables(rows: Iterable[RunRow]) -> tuple[Table, ...]:
    """Every table that the rows have something for, the paper's four first."""
    found = settings(rows)
    first = tuple(setting for setting in found if setting.scaffold == found[0].scaffold)
    others = found[len(first) :]
    made = (main(found), efficiency(first), scaffold(others), ablation(found), outcomes(found), trials(found))
    return tuple(table for table in made if table is not None)


def main(found: tuple[Setting, ...]) -> Table | None:
    """Pass@1 without and with Ledger, its difference and RRU, beside what others published for theirs."""
    if not found:
        return None
    published = Section("published by others", tuple(_published(entry) for entry in PUBLISHED))
    own = (Section(setting.title, tuple(_main_rows(setting))) for setting in found)
    return Table(
        name="main",
        title="Pass@1, base → with Ledger",
        columns=("Method", "Resolved", "Pass@1", "Δ", "95% interval", "RRU", "p"),
        sections=(published, *own),
        notes=(PUBLISHED_ELSEWHERE, *methods(found, INTERVALS, MCNEMAR), *remarks(found)),
    )


def _published(entry: Published) -> Row:
    difference = entry.method_rate - entry.base
    return (
        words(f"{entry.method}, {entry.model} (published)"),
        ABSENT,
        Cell(f"{entry.base * 100:.1f} → {entry.method_rate * 100:.1f}", (entry.base, entry.method_rate)),
        cells.changed(difference, Unit.SHARE),
        ABSENT,
        cells.percent(rru(entry.base, entry.method_rate)),
        ABSENT,
    )


def _main_rows(setting: Setting) -> Iterator[Row]:
    base = setting.base
    for arm in setting.compared:
        found = gain(base, arm)
        yield (
            words("Ledger" if arm.title == TITLES["both"] else f"Ledger ({arm.title})"),
            _arrow(_graded(found.base, base, _resolved), _graded(found.ledger, arm, _resolved)),
            _arrow(_graded(found.base, base, _rate), _graded(found.ledger, arm, _rate)),
            cells.changed(found.difference, Unit.SHARE),
            _between(found.interval, Unit.SHARE),
            cells.percent(found.rru),
            cells.p_value(found.p_values),
        )
    if not setting.compared:
        figures = (_graded(resolution(base), base, show) for show in (_resolved, _rate))
        yield words("base"), *figures, *[ABSENT] * 4


def _arrow(before: Cell, after: Cell) -> Cell:
    values = tuple(value if isinstance(value, float) else None for value in (before.value, after.value))
    return Cell(f"{before.text} → {after.text}", values)


def _graded(found: Resolution | None, arm: Arm, show: Callable[[Resolution], Cell]) -> Cell:
    """What there is to show of a resolution; an arm that nobody graded stays unknown."""
    if found is None:
        return UNKNOWN if arm.runs else ABSENT
    return show(found)


def _resolved(found: Resolution) -> Cell:
    return Cell(f"{cells.count(found.resolved)}/{found.instances}", found.resolved)


def _resolved_share(found: Resolution) -> Cell:
    return Cell(f"{cells.count(found.resolved)} ({found.rate:.1%})", found.resolved)


def _unresolved(found: Resolution) -> Cell:
    return Cell(cells.count(found.instances - found.resolved), found.instances - found.resolved)


def _rate(found: Resolution) -> Cell:
    return Cell(f"{found.rate * 100:.1f}", found.rate)


def _between(interval: Interval | None, unit: Unit, *, estimated: bool = False) -> Cell:
    return cells.between((interval.low, interval.high) if interval else None, unit, estimated=estimated)


def efficiency(found: tuple[Setting, ...]) -> Table | None:
    """What the runs took without and with Ledger."""
    return _totals("efficiency", "Efficiency: totals over all instances", found, with_outcomes=False)


def scaffold(found: tuple[Setting, ...]) -> Table | None:
    """Resolution and efficiency under another agent."""
    return _totals("scaffold", "Second scaffold: totals over all instances", found, with_outcomes=True)


def _totals(name: str, title: str, found: tuple[Setting, ...], *, with_outcomes: bool) -> Table | None:
    sections = []
    for setting in found:
        for arm in setting.compared or (Arm(name="", title="", runs={}),):
            resolved = _outcome_rows(gain(setting.base, arm), setting.base, arm) if with_outcomes else ()
            measured = (_measure_row(measure, setting.base, arm) for measure in EFFICIENCY)
            sections.append(Section(_head(setting, arm), (*resolved, *(row for row in measured if row))))
    columns = "Totals", "base", "with Ledger", "Δ", "95% interval"
    if not sections:
        return None
    return Table(
        name=name,
        title=title,
        columns=columns,
        sections=tuple(sections),
        notes=(*methods(found, INTERVALS), *remarks(found, tokens=True)),
    )


def _head(setting: Setting, arm: Arm) -> str:
    """What is compared, and over how many instances."""
    instances = setting.base.runs.keys() & arm.runs.keys() or {*setting.base.runs, *arm.runs}
    number = f"{len(instances)} instance{'s' if len(instances) > 1 else ''}"
    return ": ".join([setting.title, ", ".join(part for part in (arm.title, number) if part)])


def _outcome_rows(found: Gain, base: Arm, arm: Arm) -> Iterator[Row]:
    change = cells.changed(found.difference, Unit.SHARE)
    points = change if found.difference is None else Cell(f"{change.text} pp", change.value)
    sides = (found.base, base), (found.ledger, arm)
    resolved = (_graded(*side, _resolved_share) for side in sides)
    yield words("Resolved"), *resolved, points, _between(found.interval, Unit.SHARE)
    unresolved = (_graded(*side, _unresolved) for side in sides)
    yield words("Unresolved (RRU)"), *unresolved, cells.changed(None if found.rru is None else -found.rru), ABSENT


def _measure_row(measure: Measure, base: Arm, arm: Arm) -> Row | None:
    found = compare(measure, base, arm)
    if measure.optional and not (found.base or found.ledger):
        return None
    estimated = measure.from_tokens and (base.estimated or arm.estimated)
    return (
        words(measure.title),
        _figure(measure, found.base, base),
        _figure(measure, found.ledger, arm),
        cells.changed(found.change, measure.unit, estimated=estimated),
        _between(found.interval, measure.unit, estimated=estimated),
    )


def _figure(measure: Measure, value: float | None, arm: Arm) -> Cell:
    if not arm.runs:
        return ABSENT
    return cells.figure(value, measure.unit, estimated=measure.from_tokens and arm.estimated)


def ablation(found: tuple[Setting, ...]) -> Table | None:
    """Each arm's resolution and totals, over the instances that all arms of the setting have."""
    shown = tuple(setting for setting in found if len(setting.arms) > 1)
    if not shown:
        return None
    return Table(
        name="ablation",
        title="Ablation: totals over the instances that every arm has",
        columns=("Method", "Resolved", "Pass@1", "Calls", "In. tok.", "Cache hits", "Cost"),
        sections=tuple(Section(setting.title, tuple(_ablation_rows(setting))) for setting in shown),
        notes=(*_ablation_notes(shown), *remarks(shown, tokens=True)),
    )


def _ablation_rows(setting: Setting) -> Iterator[Row]:
    common, graded = _common(setting)
    for arm in (arm.over(common) for arm in setting.arms):
        found = resolution(arm.over(graded))
        figures = [_figure(measure, sole(measure, arm), arm) for measure in (MODEL_CALLS, INPUT, CACHE_HITS, COST)]
        title = "base" if arm.name == "base" else f"+ Ledger ({arm.title})"
        yield words(title), _graded(found, arm, _resolved), _graded(found, arm, _rate), *figures


def _common(setting: Setting) -> tuple[set[str], set[str]]:
    """The instances that every arm has, and those of them that are graded in every arm of which any is."""
    common = set.intersection(*(set(arm.runs) for arm in setting.arms))
    graded = [arm.over(common).graded for arm in setting.arms]
    return common, common.intersection(*(names for names in graded if names))


def _ablation_notes(found: tuple[Setting, ...]) -> Iterator[str]:
    for setting in found:
        common, graded = _common(setting)
        if len(graded) < len(common):
            yield f"{setting.title}: Resolved and Pass@1 are over the {len(graded)} instances graded in every arm"
