"""Tables beside the paper's four: what became of each instance by name, and how figures vary over trials."""

from __future__ import annotations

from collections.abc import Iterator

from execledger.evaluate.arms import Arm, Setting
from execledger.evaluate.report import cells
from execledger.evaluate.report.cells import ABSENT, Cell, Unit, words
from execledger.evaluate.report.comparison import COST, INPUT, MODEL_CALLS, REREADS, Measure, gain, resolution, sole
from execledger.evaluate.report.footnotes import ESTIMATED, TRIALS
from execledger.evaluate.report.rendering import Row, Section, Table
from execledger.evaluate.statistics import Spread, spread


def outcomes(found: tuple[Setting, ...]) -> Table | None:
    """What became of each instance with Ledger that was otherwise without it, by name."""
    sections = [Section(setting.title, tuple(_outcomes(setting))) for setting in found]
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


def _outcomes(setting: Setting) -> Iterator[Row]:
    for arm in setting.ledger:
        for trial, pair in gain(setting.base, arm).pairs.items():
            head = words(arm.title), Cell(str(trial), trial)
            for what, names in (("recovered", pair.recovered), ("regressed", pair.regressed)):
                yield *head, words(what), Cell(str(len(names)), len(names)), Cell(", ".join(names) or "none", names)
            for what, number in (("resolved in both", pair.both), ("resolved in neither", pair.neither)):
                yield *head, words(what), Cell(str(number), number), ABSENT


def trials(found: tuple[Setting, ...]) -> Table | None:
    """How resolution and efficiency vary over the trials of each arm."""
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
        yield words(arm.title), words("Pass@1"), *_spread(found.trials, Unit.SHARE, estimated=False)
    by_trial = [arm.trial(number) for number in arm.trials]
    if any(trial.runs.keys() != arm.runs.keys() for trial in by_trial):
        return
    for measure in (COST, INPUT, MODEL_CALLS, REREADS):
        totals = [value for trial in by_trial if (value := _whole(measure, trial)) is not None]
        if len(totals) == len(by_trial):
            estimated = measure.from_tokens and arm.estimated
            yield words(arm.title), words(measure.title), *_spread(spread(totals), measure.unit, estimated=estimated)


def _whole(measure: Measure, trial: Arm) -> float | None:
    """The total of a trial, if each of its runs knows the measure."""
    return None if any(measure.of(row) is None for row in trial.rows) else sole(measure, trial)


def _spread(found: Spread, unit: Unit, *, estimated: bool) -> tuple[Cell, Cell, Cell]:
    mean, deviation = (cells.figure(value, unit, estimated=estimated) for value in (found.mean, found.sd))
    return cells.figures(found.values, unit, estimated=estimated), mean, deviation
