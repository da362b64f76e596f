"""The paper's four tables (main result, efficiency, second scaffold, ablation) in two layouts.

``full_tables`` has every arm that was run, confidence intervals, sub-counts, and two further tables: outcomes by
instance, and variation over trials. ``paper_tables`` has the rows and columns that the paper prints, with backbones
side by side and the best figure in bold: the base, and one arm for each path, that of the preset ``paper`` if there is
one. Behind them it has the same statement of what the evaluation shows and can't, and the same net, as the full layout.
In both, what others published is a table of its own at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.wording import quantity
from execledger.evaluate.metrics import without_journal
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import TITLES, Arm, Setting, settings
from execledger.evaluate.report.comparison import (
    CACHE_HITS,
    CACHED_INPUT,
    COST,
    COST_PER_RESOLVED,
    DISPLACED,
    EFFICIENCY,
    INPUT,
    MODEL_CALLS,
    NET_SHARE,
    REMARK_COST,
    REMARKS_BY_CLASS,
    REREADS,
    SAVED_BY_CLASS,
    SAVED_COST,
    UNCACHED_INPUT,
    VIEW_COST,
    VIEWED,
    WRITTEN_INPUT,
    Change,
    Gain,
    Measure,
    Resolution,
    column,
    compare,
    gain,
    not_alike,
    resolution,
    sole,
)
from execledger.evaluate.report.evidence import evidence
from execledger.evaluate.report.footnotes import (
    ESTIMATED,
    HELD_FIXED,
    INTERVALS,
    MCNEMAR,
    PUBLISHED_ELSEWHERE,
    TRIALS,
    methods,
    remarks,
)
from execledger.evaluate.report.table import (
    ABSENT,
    UNKNOWN,
    Cell,
    Row,
    Section,
    Table,
    Unit,
    change_cell,
    figure_cell,
    figures_cell,
    format_count,
    further_decimals,
    interval_cell,
    p_value_cell,
    percent_cell,
    text_cell,
)
from execledger.evaluate.statistics import Interval, Spread, rru, spread
from execledger.runs.prices import ASSUMED


class Published(Struct, frozen=True):
    """Pass@1 of another method on the 500 instances of SWE-bench Verified under mini-swe-agent, as published."""

    method: str
    """The method."""
    model: str
    """The model."""
    base: float
    """Pass@1 without the method."""
    method_rate: float
    """Pass@1 with the method."""


# As Ledger's paper cites them from the papers of SWE-Pruner and LaMR; their set-ups differ from each other and from
# ours, so a table never mixes them with our own figures.
PUBLISHED = (
    Published("SWE-Pruner", "Claude Sonnet 4.5", 0.706, 0.720),
    Published("SWE-Pruner", "GLM-4.6", 0.554, 0.566),
    Published("LaMR", "Claude Sonnet 4.5", 0.706, 0.718),
    Published("LaMR", "Claude Opus 4.6", 0.756, 0.760),
)
PAPER_MEASURES = (COST, COST_PER_RESOLVED, INPUT, MODEL_CALLS, REREADS)
"""Rows of the tables of totals in the paper's layout."""
PAPER_PATHS = {"inform": "inform only", "govern": "govern only", "both": "inform+govern"}
"""The arms with Ledger, in the words and the order of the paper."""
LEDGER = "+ Ledger"
OVER_MEANS = "totals over instances, each with the mean of its trials"
"""Title of totals where an instance has several runs in an arm, which are not totals of the runs."""
ABREAST = 2
"""Backbones side by side in one table of totals, as in the paper; more backbones make more tables."""


def full_tables(rows: Iterable[RunRow]) -> tuple[Table, ...]:
    """Return every table that can be made of the rows, in the full layout."""
    found = settings(rows)
    first, others = _by_scaffold(found)
    made = (
        main(found),
        evidence(found),
        efficiency(first),
        scaffold(others),
        worth(found),
        ablation(found),
        outcomes(found),
        trials(found),
        published() if any(setting.base.runs and setting.ledger for setting in found) else None,
    )
    return tuple(table for table in made if table is not None)


def paper_tables(rows: Iterable[RunRow]) -> tuple[Table, ...]:
    """Return every table that can be made of the rows, in the paper's layout.

    Settings of which no arm is one of the paper's are left out; there are no tables if all are.
    """
    found = tuple(setting for setting in map(_as_published, settings(rows)) if setting.arms)
    first, others = _by_scaffold(found)
    made = (
        _paper_main(first),
        *_paper_efficiency(first),
        *map(_paper_scaffold, others),
        _paper_ablation(first),
        evidence(found),
        worth(found),
        published() if any(setting.base.runs and setting.ledger for setting in found) else None,
    )
    return tuple(table for table in made if table is not None)


def _by_scaffold(found: tuple[Setting, ...]) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """Split settings, which are in the order of their agents, into those of the first agent and all others."""
    first = tuple(setting for setting in found if setting.scaffold == found[0].scaffold)
    return first, found[len(first) :]


# Cells that both layouts have.


def _figure(measure: Measure, value: float | None, arm: Arm, further: int = 0) -> Cell:
    if not arm.runs:
        return ABSENT
    return figure_cell(value, measure.unit, estimated=measure.from_tokens and arm.estimated, further=further)


def _figures(measure: Measure, arms: Sequence[Arm]) -> list[Cell]:
    """Return the figures of several arms, with so many decimals that their differences are visible."""
    values = [sole(measure, arm) for arm in arms]
    further = further_decimals(values, measure.unit)
    return [_figure(measure, value, arm, further) for value, arm in zip(values, arms, strict=True)]


def _compared(measure: Measure, base: Arm, arm: Arm) -> tuple[Change, tuple[Cell, Cell, Cell]]:
    """Return the comparison of two arms, and the cells for the figure of either and its change."""
    found = compare(measure, base, arm)
    estimated = measure.from_tokens and (base.estimated or arm.estimated)
    change = change_cell(found.change, measure.unit, estimated=estimated)
    further = further_decimals((found.base, found.ledger), measure.unit)
    sides = ((found.base, base), (found.ledger, arm))
    before, after = (ABSENT if _undefined(measure, of) else _figure(measure, one, of, further) for one, of in sides)
    return found, (before, after, change)


def _undefined(measure: Measure, arm: Arm) -> bool:
    """Return whether a ratio has no value in an arm although all of it is known: what it is relative to is 0."""
    known = column(measure, arm).values()
    return len(known) == len(arm.runs) > 0 and not any(per for _, per in known)


def _graded(found: Resolution | None, show: Callable[[Resolution], Cell], arm: Arm | None = None) -> Cell:
    """Return a cell for a resolution: ``UNKNOWN`` if nothing was graded, ``ABSENT`` if ``arm`` was not run at all."""
    if found is not None:
        return show(found)
    return ABSENT if arm is not None and not arm.runs else UNKNOWN


def _resolved(found: Resolution) -> Cell:
    return Cell(f"{format_count(found.resolved)}/{found.instances}", found.resolved)


def _resolved_share(found: Resolution) -> Cell:
    return Cell(f"{format_count(found.resolved)} ({found.rate:.1%})", found.resolved)


def _unresolved(found: Resolution) -> Cell:
    return figure_cell(found.instances - found.resolved, Unit.COUNT)


def _rate(found: Resolution) -> Cell:
    return Cell(f"{found.rate * 100:.1f}", found.rate)


def _outcome_changes(found: Gain) -> tuple[Cell, Cell]:
    """Return the change of resolved instances, in percentage points, and that of unresolved ones."""
    points = change_cell(found.difference, Unit.SHARE)
    points = points if found.difference is None else replace(points, text=f"{points.text} pp")
    return points, change_cell(None if found.rru is None else -found.rru)


def _common(setting: Setting) -> tuple[set[str], set[str]]:
    """Return the instances that every arm has, and those of them that are graded in every arm that has any grade."""
    common = set.intersection(*(set(arm.runs) for arm in setting.arms))
    graded = [arm.over(common).graded for arm in setting.arms]
    return common, common.intersection(*(names for names in graded if names))


# The full layout.


def main(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of Pass@1 without and with Ledger, its difference and RRU."""
    if not found:
        return None
    own = (Section(setting.title, tuple(_main_rows(setting))) for setting in found)
    return Table(
        name="main",
        title="Pass@1, base → with Ledger",
        columns=("Method", "Resolved", "Pass@1", "Δ", "95% interval", "RRU", "p"),
        sections=tuple(own),
        notes=(*methods(found, INTERVALS, MCNEMAR), *remarks(found)),
    )


def published() -> Table:
    """Return the figures that other methods published, apart from our own."""
    rows = (_paper_main_row(entry.method, entry.model, entry.base, entry.method_rate) for entry in PUBLISHED)
    return Table(
        name="published",
        title="Published by others, not comparable with the figures above",
        columns=("Method", "Backbone", "Pass@1", "Δ", "RRU"),
        left=2,
        sections=(Section("", tuple(rows)),),
        notes=(PUBLISHED_ELSEWHERE,),
    )


def _main_rows(setting: Setting) -> Iterator[Row]:
    base = setting.base
    for arm in setting.compared:
        found = gain(base, arm)
        yield (
            text_cell("Ledger" if arm.title == TITLES["both"] else f"Ledger ({arm.title})"),
            _arrow(_graded(found.base, _resolved, base), _graded(found.ledger, _resolved, arm)),
            _arrow(_graded(found.base, _rate, base), _graded(found.ledger, _rate, arm)),
            change_cell(found.difference, Unit.SHARE),
            _interval(found.interval, Unit.SHARE),
            percent_cell(found.rru),
            p_value_cell(found.p_values),
        )
    if not setting.compared:
        figures = (_graded(resolution(base), show, base) for show in (_resolved, _rate))
        yield text_cell("base"), *figures, *[ABSENT] * 4


def _arrow(before: Cell, after: Cell) -> Cell:
    values = tuple(value if isinstance(value, float) else None for value in (before.value, after.value))
    return Cell(f"{before.text} → {after.text}", values)


def _interval(interval: Interval | None, unit: Unit, *, estimated: bool = False) -> Cell:
    return interval_cell((interval.low, interval.high) if interval else None, unit, estimated=estimated)


def efficiency(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of cost, tokens, calls and re-reads without and with Ledger."""
    return _totals("efficiency", "Efficiency", found, with_outcomes=False)


def scaffold(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of resolution and efficiency under a second agent."""
    return _totals("scaffold", "Second scaffold", found, with_outcomes=True)


def _totals(name: str, title: str, found: tuple[Setting, ...], *, with_outcomes: bool) -> Table | None:
    sections = []
    for setting in found:
        for arm in setting.compared or (Arm(name="", title="", runs={}),):
            resolved = _outcome_rows(gain(setting.base, arm), setting.base, arm) if with_outcomes else ()
            measured = (_measure_row(measure, setting.base, arm) for measure in EFFICIENCY)
            sections.append(Section(_heading(setting, arm), (*resolved, *(row for row in measured if row))))
    columns = "Totals", "base", "with Ledger", "Δ", "95% interval"
    if not sections:
        return None
    several = any(_several_runs(arm) for setting in found for arm in (setting.base, *setting.compared))
    return Table(
        name=name,
        title=f"{title}: {OVER_MEANS if several else 'totals over all instances'}",
        columns=columns,
        sections=tuple(sections),
        notes=(*methods(found, INTERVALS), *remarks(found, tokens=True)),
    )


def _several_runs(arm: Arm) -> bool:
    """Return whether any instance of an arm has several runs, so that its total is one of means."""
    return any(len(runs) > 1 for runs in arm.runs.values())


def _heading(setting: Setting, arm: Arm) -> str:
    """Return the heading of a comparison: the setting, the arm, and the number of instances.

    The number of runs follows where an instance has several in an arm.
    """
    base, own = setting.base.runs.keys(), arm.runs.keys()
    instances = base & own or base | own
    number = quantity(len(instances), "instance")
    if base and own and not base & own:
        number = f"{len(base)} and {len(own)} instances, none in both"
    if _several_runs(setting.base) or _several_runs(arm):
        runs = sum(len(side.over(instances).rows) for side in (setting.base, arm))
        number = f"{number}, {quantity(runs, 'run')}"
    return ": ".join([setting.title, ", ".join(part for part in (arm.title, number) if part)])


def _outcome_rows(found: Gain, base: Arm, arm: Arm) -> Iterator[Row]:
    points, change = _outcome_changes(found)
    sides = (found.base, base), (found.ledger, arm)
    resolved = (_graded(side, _resolved_share, of) for side, of in sides)
    yield text_cell("Resolved"), *resolved, points, _interval(found.interval, Unit.SHARE)
    unresolved = (_graded(side, _unresolved, of) for side, of in sides)
    yield text_cell("Unresolved (RRU)"), *unresolved, change, ABSENT


def _measure_row(measure: Measure, base: Arm, arm: Arm) -> Row | None:
    found, figures = _compared(measure, base, arm)
    if measure.optional and not (found.base or found.ledger):
        return None
    estimated = measure.from_tokens and (base.estimated or arm.estimated)
    return text_cell(measure.title), *figures, _interval(found.interval, measure.unit, estimated=estimated)


def worth(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of what references saved and remarks and state views cost, the agent's behaviour held fixed.

    Tokens are by class; ``written`` has columns if any run saved, or took for remarks, tokens that are written to the
    cache, and remarks have columns if they took anything.
    """
    rows = [row for setting in found for arm in setting.ledger for row in arm.rows]
    written = any(row.saved_written_tokens or row.remark_written_tokens for row in rows)
    remarked = any(row.remark_new_tokens for row in rows)
    sections = [
        Section(
            setting.title,
            tuple(row for arm in setting.ledger if (row := _worth_row(arm, written=written, remarked=remarked))),
        )
        for setting in found
    ]
    if not any(section.rows for section in sections):
        return None
    classes = ("uncached", *(["written"] if written else []), "cached", "USD")
    return Table(
        name="net",
        title="Net of Ledger, the agent's behaviour held fixed",
        columns=(
            "Arm",
            *classes,
            *(classes if remarked else ()),
            "uncached",
            "of these displaced",
            "USD",
            *classes,
            "of cost",
        ),
        groups=(
            ("", 1),
            ("Saved by references", len(classes)),
            *([("Remarks", len(classes))] if remarked else []),
            ("State views", 3),
            ("Net", len(classes) + 1),
        ),
        sections=tuple(section for section in sections if section.rows),
        notes=(HELD_FIXED, *_assumed(found), *_without_journals(found)),
    )


def _without_journals(found: tuple[Setting, ...]) -> Iterator[str]:
    """Yield how many runs have no journal: no column of the net has anything of them, their cost included."""
    if lost := sum(row.lacks_journal for setting in found for arm in setting.arms for row in arm.rows):
        yield f"{without_journal(lost)}, but not in this table"


def _assumed(found: tuple[Setting, ...]) -> Iterator[str]:
    """Yield whose price is charged for models that the price table does not have, and in runs of which models.

    A row names the model of its run, but the one without a price may be that of a sub-agent.
    """
    rows = (row for setting in found for arm in setting.ledger for row in arm.rows)
    models = sorted({row.model or "unknown" for row in rows if row.cost is None and row.charged_cost is not None})
    if models:
        yield (
            f"Dollars at the price of {ASSUMED} (assumed) for models that the price table does not have, in runs of"
            f" {', '.join(models)}: {'that model' if len(models) == 1 else 'these models'} or a sub-agent's."
            " The share of the cost depends little on it where all of a run is at that price"
        )


def _worth_row(arm: Arm, *, written: bool, remarked: bool) -> Row | None:
    """Return the totals of an arm; None if nothing is known of them, as in the arm shadow or without any journal."""
    if arm.name == "shadow" or all(row.lacks_journal for row in arm.rows):
        return None
    saved, remarks = (_by_class(arm, *measures) for measures in (SAVED_BY_CLASS, REMARKS_BY_CLASS))
    viewed, displaced = (sole(measure, arm) for measure in (VIEWED, DISPLACED))
    saved_cost, remark_cost, view_cost, share = (
        sole(measure, arm) for measure in (SAVED_COST, REMARK_COST, VIEW_COST, NET_SHARE)
    )
    left = _less(saved_cost, view_cost)
    net = saved
    if remarked:
        left = _less(left, remark_cost)
        net = tuple(map(_less, saved, remarks))
    # What a view displaces from the cache is uncached once instead of cached.
    uncached_spent = _less(viewed, _less(0.0, displaced))
    net = (_less(net[0], uncached_spent), net[1], _less(net[2], _less(0.0, displaced)))

    def cells(*tokens: float | None) -> Iterator[Cell]:
        return (figure_cell(value, Unit.TOKENS, estimated=True) for value in tokens)

    def classes(tokens: tuple[float | None, ...], cost: float | None) -> Iterator[Cell]:
        yield from cells(*(tokens if written else (tokens[0], tokens[2])))
        yield figure_cell(cost, Unit.MONEY, estimated=True)

    return (
        text_cell(arm.title),
        *classes(saved, saved_cost),
        *(classes(remarks, remark_cost) if remarked else ()),
        *cells(uncached_spent, displaced),
        figure_cell(view_cost, Unit.MONEY, estimated=True),
        *classes(net, left),
        change_cell(share, estimated=True),
    )


def _by_class(arm: Arm, new: Measure, written: Measure, cached: Measure) -> tuple[float | None, ...]:
    """Return the total tokens of an arm: uncached, written to the cache and cached."""
    total = sole(written, arm)
    return _less(sole(new, arm), total), total, sole(cached, arm)


def _less(value: float | None, other: float | None) -> float | None:
    """Return the difference; None if either is not known."""
    return None if value is None or other is None else value - other


def ablation(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of each arm's resolution and totals, over the instances that all arms of a setting have."""
    shown = tuple(setting for setting in found if len(setting.arms) > 1)
    if not shown:
        return None
    written = any(sole(WRITTEN_INPUT, arm) for setting in shown for arm in setting.arms)
    classes = (UNCACHED_INPUT, *([WRITTEN_INPUT] if written else []), CACHED_INPUT)
    titles = (measure.title.strip().capitalize() for measure in classes)
    return Table(
        name="ablation",
        title="Ablation: totals over the instances that every arm has, input tokens by class",
        columns=("Method", "Resolved", "Pass@1", "Calls", *titles, "Cache hits", "Cost"),
        sections=tuple(Section(setting.title, tuple(_ablation_rows(setting, classes))) for setting in shown),
        notes=(*_ablation_notes(shown), *remarks(shown, tokens=True)),
    )


def _ablation_rows(setting: Setting, classes: tuple[Measure, ...]) -> Iterator[Row]:
    common, graded = _common(setting)
    arms = [arm.over(common) for arm in setting.arms]
    columns = zip(*(_figures(measure, arms) for measure in (MODEL_CALLS, *classes, CACHE_HITS, COST)), strict=True)
    for arm, figures in zip(arms, columns, strict=True):
        found = resolution(arm.over(graded))
        title = arm.title if arm.name == "base" else f"+ Ledger ({arm.title})"
        yield text_cell(title), _graded(found, _resolved, arm), _graded(found, _rate, arm), *figures


def _ablation_notes(found: tuple[Setting, ...]) -> Iterator[str]:
    for setting in found:
        common, graded = _common(setting)
        if len(graded) < len(common):
            yield f"{setting.title}: Resolved and Pass@1 are over the {len(graded)} instances graded in every arm"


def outcomes(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of the instances, by name, whose outcome differs between the base and an arm with Ledger."""
    sections = [Section(setting.title, tuple(_named_outcomes(setting))) for setting in found]
    if not any(section.rows for section in sections):
        return None
    return Table(
        name="outcomes",
        title="Paired outcomes",
        columns=("Arm", "Trial", "Outcome", "Number", "Instances"),
        left=3,
        wide=True,
        sections=tuple(section for section in sections if section.rows),
    )


def _named_outcomes(setting: Setting) -> Iterator[Row]:
    for arm in setting.ledger:
        for trial, pair in gain(setting.base, arm).pairs.items():
            head = text_cell(arm.title), Cell(str(trial), trial)
            for what, names in (("recovered", pair.recovered), ("regressed", pair.regressed)):
                listed = Cell(", ".join(names) or "none", names)
                yield *head, text_cell(what), Cell(str(len(names)), len(names)), listed
            for what, number in (("resolved in both", pair.both), ("resolved in neither", pair.neither)):
                yield *head, text_cell(what), Cell(str(number), number), ABSENT


def trials(found: tuple[Setting, ...]) -> Table | None:
    """Return the table of the variation of resolution and efficiency over the trials of each arm."""
    sections = [
        Section(setting.title, tuple(row for arm in setting.arms for row in _trial_rows(arm))) for setting in found
    ]
    if not any(section.rows for section in sections):
        return None
    return Table(
        name="trials",
        title="Variation over trials",
        columns=("Arm", "Measure", "By trial", "Mean", "SD"),
        left=3,
        sections=tuple(section for section in sections if section.rows),
        notes=(TRIALS, *([ESTIMATED] if any(arm.estimated for setting in found for arm in setting.arms) else [])),
    )


def _trial_rows(arm: Arm) -> Iterator[Row]:
    if len(arm.trials) < 2:
        return
    found = resolution(arm)
    if found and found.trials:
        yield text_cell(arm.title), text_cell("Pass@1"), *_spread(found.trials, Unit.SHARE, estimated=False)
    by_trial = [arm.trial(number) for number in arm.trials]
    if any(trial.runs.keys() != arm.runs.keys() for trial in by_trial):
        return
    for measure in (COST, INPUT, MODEL_CALLS, REREADS):
        totals = [value for trial in by_trial if (value := _trial_total(measure, trial)) is not None]
        if len(totals) == len(by_trial):
            figures = _spread(spread(totals), measure.unit, estimated=measure.from_tokens and arm.estimated)
            yield text_cell(arm.title), text_cell(measure.title), *figures


def _trial_total(measure: Measure, trial: Arm) -> float | None:
    """Return the total of a trial; None unless the measure is known for each of its runs."""
    return None if any(measure.of(row) is None for row in trial.rows) else sole(measure, trial)


def _spread(found: Spread, unit: Unit, *, estimated: bool) -> tuple[Cell, Cell, Cell]:
    mean, deviation = (figure_cell(value, unit, estimated=estimated) for value in (found.mean, found.sd))
    return figures_cell(found.values, unit, estimated=estimated), mean, deviation


# The paper's layout.


def _as_published(setting: Setting) -> Setting:
    """Return the setting with its base and one arm per path: that of the preset ``paper``, of the base's evaluation."""
    own = setting.base.evaluations
    ranked = sorted(setting.arms, key=lambda arm: (arm.preset == "paper", arm.evaluations == own))
    arms = {arm.name: arm for arm in ranked}
    return replace(setting, arms=tuple(arms[name] for name in ("base", *PAPER_PATHS) if name in arms))


def _full_system(setting: Setting) -> Arm:
    """Return the arm with both paths; an arm without runs if it was not run."""
    return next((arm for arm in setting.arms if arm.name == "both"), Arm(name="both", title="", runs={}))


def _backbone(setting: Setting, among: Sequence[Setting]) -> str:
    """Return the name of the model, with the agent in front if several settings have a model of that name."""
    name = setting.model.rpartition("/")[2]
    twice = sum(one.model.rpartition("/")[2] == name for one in among) > 1
    return setting.title if twice else name or "unknown model"


def _paper_notes(found: tuple[Setting, ...], *, tokens: bool = True) -> tuple[str, ...]:
    presets = sorted({arm.preset for setting in found for arm in setting.ledger})
    other = () if presets in ([], ["paper"]) else (f"Ledger ran under the preset {' and '.join(presets)}",)
    return (*other, *remarks(found, tokens=tokens))


def _paper_main(found: tuple[Setting, ...]) -> Table | None:
    if not found:
        return None
    own = []
    for at, setting in enumerate(found):
        both = gain(setting.base, _full_system(setting))
        rates = (one.rate if one is not None else None for one in (both.base, both.ledger))
        own.append(_paper_main_row("" if at else "Ledger", _backbone(setting, found), *rates))
    return Table(
        name="main",
        title="Reported Pass@1, shown as base → method",
        columns=("Method", "Backbone", "Pass@1", "Δ", "RRU"),
        left=2,
        sections=(Section("", tuple(own)),),
        notes=_paper_notes(found, tokens=False),
    )


def _paper_main_row(method: str, backbone: str, before: float | None, after: float | None) -> Row:
    shown = [UNKNOWN.text if rate is None else f"{rate * 100:.1f}" for rate in (before, after)]
    both = Cell(" → ".join(shown), (before, after))
    if before is None or after is None:
        return text_cell(method), text_cell(backbone), both, ABSENT, ABSENT
    change = change_cell(after - before, Unit.SHARE)
    return text_cell(method), text_cell(backbone), both, change, percent_cell(rru(before, after))


def _paper_efficiency(found: tuple[Setting, ...]) -> Iterator[Table]:
    for at in range(0, len(found), ABREAST):
        name = f"efficiency-{at // ABREAST + 1}" if at else "efficiency"
        yield _side_by_side(found[at : at + ABREAST], found, name)


def _side_by_side(shown: tuple[Setting, ...], among: tuple[Setting, ...], name: str) -> Table:
    rows = []
    for measure in PAPER_MEASURES:
        sides = [_paper_totals(measure, setting) for setting in shown]
        rows.append((text_cell(measure.title), *(cell for side in sides for cell in side)))
    numbers = {_compared_instances(setting) for setting in shown}
    over = f"Totals over {numbers.pop()} instances" if len(numbers) == 1 else "Totals over all instances"
    return Table(
        name=name,
        title=f"Efficiency totals on {shown[0].scaffold}",
        columns=(over, *("base", LEDGER, "Δ") * len(shown)),
        groups=(("", 1), *((_backbone(setting, among), 3) for setting in shown)),
        sections=(Section("", tuple(rows)),),
        notes=_paper_notes(shown),
    )


def _compared_instances(setting: Setting) -> int:
    """Return the number of instances that the base and the full system are compared over."""
    base, full = setting.base.runs.keys(), _full_system(setting).runs.keys()
    return len(base & full or base | full)


def _paper_totals(measure: Measure, setting: Setting) -> tuple[Cell, Cell, Cell]:
    return _compared(measure, setting.base, _full_system(setting))[1]


def _paper_scaffold(setting: Setting) -> Table:
    totals = ((text_cell(measure.title), *_least(_paper_totals(measure, setting))) for measure in PAPER_MEASURES)
    name = setting.scaffold.capitalize() or "Unknown agent"
    return Table(
        name=setting.scaffold or "scaffold",
        title=f"Integrating Ledger with {name}, {_backbone(setting, (setting,))}",
        columns=(f"{name}: totals over {_compared_instances(setting)}", "base", LEDGER, "Δ"),
        sections=(Section("", (*_paper_outcomes(gain(setting.base, _full_system(setting))), *totals)),),
        notes=_paper_notes((setting,)),
    )


def _paper_outcomes(found: Gain) -> Iterator[Row]:
    both, (points, change) = (found.base, found.ledger), _outcome_changes(found)
    resolved = [_graded(one, _resolved_share) for one in both]
    unresolved = [_graded(one, _unresolved) for one in both]
    yield text_cell("Resolved"), *_best((*resolved, points), most=True)
    yield text_cell("Unresolved (RRU)"), *_best((*unresolved, change), most=False)


def _least(row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Return a row with the smaller figure in bold; none where there is no change, since the figures differ in kind."""
    return row if row[-1].value is None else _best(row, most=False)


def _best(row: tuple[Cell, ...], *, most: bool) -> tuple[Cell, ...]:
    """Return a row of two figures and their change with the better figure in bold."""
    *figures, change = row
    return (*_in_bold(figures, most=most), change)


def _in_bold(figures: list[Cell], *, most: bool) -> list[Cell]:
    """Return figures with the best, and whatever has the same text, in bold; none in bold if one is not known."""
    values = [one.value for one in figures if isinstance(one.value, int | float)]
    if len(values) < max(len(figures), 2):
        return figures
    best = figures[values.index(max(values) if most else min(values))]
    return [replace(one, best=one.text == best.text) for one in figures]


def _paper_ablation(found: tuple[Setting, ...]) -> Table | None:
    shown = tuple(setting for setting in found if len(setting.arms) > 1)
    if not shown:
        return None
    return Table(
        name="ablation",
        title=f"Ablation results using {shown[0].scaffold}, over the instances that every arm has",
        columns=("Method", "Resolved", "Pass@1", "Calls", "In. tok.", "Cost"),
        sections=tuple(Section(_backbone(setting, shown), _paper_ablation_rows(setting)) for setting in shown),
        notes=_paper_notes(shown),
    )


def _paper_ablation_rows(setting: Setting) -> tuple[Row, ...]:
    common, graded = _common(setting)
    arms = [arm.over(common) for arm in setting.arms]
    found = [resolution(arm.over(graded)) for arm in arms]
    titles = [
        text_cell(f"{LEDGER} ({PAPER_PATHS[arm.name]})" if arm.name in PAPER_PATHS else setting.scaffold)
        for arm in arms
    ]
    columns = [
        _in_bold([_graded(one, _resolved) for one in found], most=True),
        _in_bold([_graded(one, _rate) for one in found], most=True),
        _in_bold([_calls_in_thousands(arm) for arm in arms], most=False),
        _figures(INPUT, arms),
        _figures(COST, arms) if not_alike(COST, *arms) else _in_bold(_figures(COST, arms), most=False),
    ]
    return tuple(zip(titles, *columns, strict=True))


def _calls_in_thousands(arm: Arm) -> Cell:
    """Return the number of model calls, in thousands from 1,000 on."""
    calls = sole(MODEL_CALLS, arm)
    return _figure(MODEL_CALLS, calls, arm) if calls is None or calls < 1000 else Cell(f"{calls / 1000:.1f}K", calls)
