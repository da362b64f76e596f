"""The paper's four tables as it prints them: the same rows and columns, backbones side by side, the best in bold.

They show the base and the arms of the preset ``paper``; arms of another preset replace those that were not run.
Everything else that is known, with intervals and sub-counts, is in the full form (``tables``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from execledger.evaluate.arms import Arm, Setting, settings
from execledger.evaluate.records import RunRow
from execledger.evaluate.report import cells
from execledger.evaluate.report.cells import ABSENT, UNKNOWN, Cell, Unit, words
from execledger.evaluate.report.comparison import (
    COST,
    COST_PER_RESOLVED,
    INPUT,
    MODEL_CALLS,
    REREADS,
    Gain,
    Measure,
    Resolution,
    compare,
    gain,
    resolution,
    sole,
)
from execledger.evaluate.report.footnotes import remarks
from execledger.evaluate.report.published import PUBLISHED
from execledger.evaluate.report.rendering import Row, Section, Table
from execledger.evaluate.statistics import rru

MEASURES = (COST, COST_PER_RESOLVED, INPUT, MODEL_CALLS, REREADS)
"""The rows of the tables of totals."""
PATHS = {"inform": "inform only", "govern": "govern only", "both": "inform+govern"}
"""The arms with Ledger, in the words and the order of the paper."""
LEDGER = "+ Ledger"
ABREAST = 2
"""Backbones side by side in one table of totals, as many as the paper has; of more, there are more tables."""


def printed_tables(rows: Iterable[RunRow]) -> tuple[Table, ...]:
    """The tables that the rows have something for."""
    found = tuple(_as_published(setting) for setting in settings(rows))
    first = tuple(setting for setting in found if setting.scaffold == found[0].scaffold)
    others = found[len(first) :]
    made = (_main(first), *_efficiency(first), *map(_scaffold, others), _ablation(first))
    return tuple(table for table in made if table is not None)


def _as_published(setting: Setting) -> Setting:
    """The setting with its base, and one arm for each path: that of the preset ``paper`` if there is one."""
    arms = {arm.name: arm for arm in sorted(setting.arms, key=lambda arm: arm.preset == "paper")}
    return replace(setting, arms=tuple(arms[name] for name in ("base", *PATHS) if name in arms))


def _full(setting: Setting) -> Arm:
    """The full system; without runs where it was not run."""
    return next((arm for arm in setting.arms if arm.name == "both"), Arm(name="both", title="", runs={}))


def _backbone(setting: Setting, among: tuple[Setting, ...]) -> str:
    """The model, with the agent in front where another setting has one of the same name."""
    name = setting.model.rpartition("/")[2]
    twice = sum(one.model.rpartition("/")[2] == name for one in among) > 1
    return setting.title if twice else name or "unknown model"


def _notes(found: tuple[Setting, ...], *, tokens: bool = True) -> tuple[str, ...]:
    presets = sorted({arm.preset for setting in found for arm in setting.ledger})
    other = () if presets in ([], ["paper"]) else (f"Ledger ran under the preset {' and '.join(presets)}",)
    return (*other, *remarks(found, tokens=tokens))


def _main(found: tuple[Setting, ...]) -> Table | None:
    if not found:
        return None
    prior = []
    for at, entry in enumerate(PUBLISHED):
        method = entry.method if not at or PUBLISHED[at - 1].method != entry.method else ""
        prior.append(_main_row(method, entry.model, entry.base, entry.method_rate))
    own = []
    for at, setting in enumerate(found):
        both = gain(setting.base, _full(setting))
        rates = (one.rate if one is not None else None for one in (both.base, both.ledger))
        own.append(_main_row("" if at else "Ledger", _backbone(setting, found), *rates))
    return Table(
        name="main",
        title="Reported Pass@1 on SWE-bench Verified, shown as base → method",
        columns=("Method", "Backbone", "Pass@1", "Δ", "RRU"),
        left=2,
        sections=(Section("Results reported in prior work", tuple(prior)), Section("Our results", tuple(own))),
        notes=_notes(found, tokens=False),
    )


def _main_row(method: str, backbone: str, before: float | None, after: float | None) -> Row:
    shown = [UNKNOWN.text if rate is None else f"{rate * 100:.1f}" for rate in (before, after)]
    both = Cell(" → ".join(shown), (before, after))
    if before is None or after is None:
        return words(method), words(backbone), both, ABSENT, ABSENT
    change = cells.changed(after - before, Unit.SHARE)
    return words(method), words(backbone), both, change, cells.percent(rru(before, after))


def _efficiency(found: tuple[Setting, ...]) -> Iterator[Table]:
    for at in range(0, len(found), ABREAST):
        yield _side_by_side(found[at : at + ABREAST], found, f"efficiency-{at // ABREAST + 1}" if at else "efficiency")


def _side_by_side(shown: tuple[Setting, ...], among: tuple[Setting, ...], name: str) -> Table:
    rows = []
    for measure in MEASURES:
        sides = [_totals(measure, setting) for setting in shown]
        rows.append((words(measure.title), *(cell for side in sides for cell in side)))
    numbers = {_instances(setting) for setting in shown}
    over = f"Totals over {numbers.pop()} instances" if len(numbers) == 1 else "Totals over all instances"
    return Table(
        name=name,
        title=f"Efficiency totals on {shown[0].scaffold}",
        columns=(over, *("base", LEDGER, "Δ") * len(shown)),
        groups=(("", 1), *((_backbone(setting, among), 3) for setting in shown)),
        sections=(Section("", tuple(rows)),),
        notes=_notes(shown),
    )


def _instances(setting: Setting) -> int:
    """The instances that are compared."""
    base, full = setting.base.runs.keys(), _full(setting).runs.keys()
    return len(base & full or base | full)


def _totals(measure: Measure, setting: Setting) -> tuple[Cell, Cell, Cell]:
    base, full = setting.base, _full(setting)
    found = compare(measure, base, full)
    estimated = measure.from_tokens and (base.estimated or full.estimated)
    return (
        _figure(measure, found.base, base),
        _figure(measure, found.ledger, full),
        cells.changed(found.change, measure.unit, estimated=estimated),
    )


def _figure(measure: Measure, value: float | None, arm: Arm) -> Cell:
    if not arm.runs:
        return ABSENT
    return cells.figure(value, measure.unit, estimated=measure.from_tokens and arm.estimated)


def _scaffold(setting: Setting) -> Table:
    outcomes = _outcomes(gain(setting.base, _full(setting)))
    totals = ((words(measure.title), *_best(_totals(measure, setting), most=False)) for measure in MEASURES)
    name = setting.scaffold.capitalize() or "Unknown agent"
    return Table(
        name=setting.scaffold or "scaffold",
        title=f"Integrating Ledger with {name}, {_backbone(setting, (setting,))}",
        columns=(f"{name}: totals over {_instances(setting)}", "base", LEDGER, "Δ"),
        sections=(Section("", (*outcomes, *totals)),),
        notes=_notes((setting,)),
    )


def _outcomes(found: Gain) -> Iterator[Row]:
    both = (found.base, found.ledger)
    points = cells.changed(found.difference, Unit.SHARE)
    points = points if found.difference is None else replace(points, text=f"{points.text} pp")
    change = cells.changed(None if found.rru is None else -found.rru)
    yield words("Resolved"), *_best((*map(_resolved, both), points), most=True)
    yield words("Unresolved (RRU)"), *_best((*map(_unresolved, both), change), most=False)


def _resolved(found: Resolution | None) -> Cell:
    return UNKNOWN if found is None else Cell(f"{cells.count(found.resolved)} ({found.rate:.1%})", found.resolved)


def _unresolved(found: Resolution | None) -> Cell:
    left = None if found is None else found.instances - found.resolved
    return cells.figure(left, Unit.COUNT)


def _best(row: tuple[Cell, ...], *, most: bool) -> tuple[Cell, ...]:
    """A row of two figures and their difference, the better figure in bold."""
    *figures, change = row
    return (*_in_bold(figures, most=most), change)


def _in_bold(figures: list[Cell], *, most: bool) -> list[Cell]:
    """The best of these figures in bold, and whatever reads the same; none where one of them is not known."""
    values = [one.value for one in figures if isinstance(one.value, int | float)]
    if len(values) < max(len(figures), 2):
        return figures
    best = figures[values.index(max(values) if most else min(values))]
    return [replace(one, best=one.text == best.text) for one in figures]


def _ablation(found: tuple[Setting, ...]) -> Table | None:
    shown = tuple(setting for setting in found if len(setting.arms) > 1)
    if not shown:
        return None
    return Table(
        name="ablation",
        title=f"Ablation results using {shown[0].scaffold}, over the instances that every arm has",
        columns=("Method", "Resolved", "Pass@1", "Calls", "In. tok.", "Cost"),
        sections=tuple(Section(_backbone(setting, shown), _ablation_rows(setting)) for setting in shown),
        notes=_notes(shown),
    )


def _ablation_rows(setting: Setting) -> tuple[Row, ...]:
    common = set.intersection(*(set(arm.runs) for arm in setting.arms))
    arms = [arm.over(common) for arm in setting.arms]
    graded = common.intersection(*(arm.graded for arm in arms if arm.graded))
    found = [resolution(arm.over(graded)) for arm in arms]
    titles = [words(f"{LEDGER} ({PATHS[arm.name]})" if arm.name in PATHS else setting.scaffold) for arm in arms]
    columns = [
        _in_bold([_share(one) for one in found], most=True),
        _in_bold([UNKNOWN if one is None else Cell(f"{one.rate * 100:.1f}", one.rate) for one in found], most=True),
        _in_bold([_thousands(arm) for arm in arms], most=False),
        *(
            _in_bold([_figure(measure, sole(measure, arm), arm) for arm in arms], most=False)
            for measure in (INPUT, COST)
        ),
    ]
    return tuple(zip(titles, *columns, strict=True))


def _share(found: Resolution | None) -> Cell:
    return UNKNOWN if found is None else Cell(f"{cells.count(found.resolved)}/{found.instances}", found.resolved)


def _thousands(arm: Arm) -> Cell:
    """Model calls, in thousands where there are as many."""
    calls = sole(MODEL_CALLS, arm)
    return _figure(MODEL_CALLS, calls, arm) if calls is None or calls < 1000 else Cell(f"{calls / 1000:.1f}K", calls)
