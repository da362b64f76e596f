"""Footnotes of tables: the methods of comparison, and what is unknown, left out, estimated or averaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from execledger.core.wording import quantity
from execledger.evaluate.metrics import without_journal
from execledger.evaluate.plan import Cache
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import Arm, Setting
from execledger.evaluate.report.comparison import COST, INPUT, Measure, column, unpriced
from execledger.evaluate.report.plans import differing, values_of
from execledger.evaluate.statistics import LEVEL, RESAMPLES

PUBLISHED_ELSEWHERE = (
    "Published figures are other papers' own, as Ledger's paper cites them, and not comparable directly"
)
INTERVALS = (
    f"{LEVEL:.0%} intervals: paired bootstrap over instances, {RESAMPLES:,} resamples, trials kept together, expanded"
    " percentiles"
)
MCNEMAR = "p: McNemar's exact two-sided test, one for each trial"
HELD_FIXED = (
    "Estimated from bytes, as if the agent would have done the same without Ledger; what it did differently shows in"
    " the totals. Written tokens are written to the cache; displaced ones are uncached once instead of cached, and part"
    " of the net in both classes. Tokens of different classes are not added up: only their prices make them comparable"
)
TRIALS = "Trials are shown where each of them has the same instances; SD is the standard deviation of the sample"
UNCOMPARED = (
    "nothing is compared with the base: there is no run without Ledger that has the same agent, version and model"
)

ESTIMATED = "~ marks figures that rest on estimated tokens, not on the provider's count"

CACHE_EFFECT = "may come from what one run finds cached of another one"


def against(base: Arm, arm: Arm) -> str:
    """Return the title of a comparison of an arm with the base."""
    return f"{arm.title} against {base.title}"


def between(base: Arm, arm: Arm) -> str:
    """Return of which evaluations two arms are and what differs between these; "" if they are of the same.

    It is about the instances that both have, if there are any.
    """
    if common := base.runs.keys() & arm.runs.keys():
        base, arm = base.over(common), arm.over(common)
    if base.evaluations == arm.evaluations:
        return ""
    differ = ", ".join(f"`{name}` ({', '.join(values)})" for name, values in differing((base.plan, arm.plan)).items())
    said, causes = f"their plans differ in {differ}", "time, provider, versions or plan"
    if base.plan == arm.plan:
        said, causes = "their plans and versions are the same", "time or provider"
    elif not base.plan or not arm.plan:
        said = "no plan is known of one of them"
    return f"the base is of {_named(base)}, the arm of {_named(arm)}, and {said}: {causes} may explain a difference"


def _named(arm: Arm) -> str:
    return " and ".join(name or "no evaluation" for name in arm.evaluations)


def pooled(arms: Iterable[Arm]) -> str:
    """Return which evaluations are pooled in any of these arms, plan by plan; "" if none are."""
    names: dict[str, set[str]] = {}
    for arm in arms:
        if len(arm.evaluations) > 1:
            names.setdefault(arm.plan, set()).update(arm.evaluations)
    told = (f"{len(one)} evaluations with one plan are pooled: {', '.join(sorted(one))}" for one in names.values())
    return "; ".join(told)


def isolation(found: tuple[Setting, ...]) -> tuple[str, ...]:
    """Return sentences about arms whose runs were not, or may not have been, isolated in the prompt cache.

    Where ``eval run`` did not start them, the versions of Ledger that their records name are part of it.
    """
    return _in_settings(found, _isolation)


def _isolation(setting: Setting) -> Iterator[str]:
    modes = [(arm, values_of(arm.plan).get("cache")) for arm in setting.arms]
    unknown = [arm for arm, mode in modes if mode is None]
    if unknown:
        yield (
            f"Prompt cache: no plan of `eval run` is known of the runs of {_titles(unknown)}: whether they were"
            " isolated from each other in the provider's prompt cache is not known, and differences of cost, and of"
            f" cached and new input tokens, {CACHE_EFFECT}"
        )
    if shared := [arm for arm, mode in modes if mode == Cache.SHARED]:
        yield (
            f"Prompt cache: the runs of {_titles(shared)} were not isolated from each other in the provider's prompt"
            f" cache: differences of cost, and of cached and new input tokens, {CACHE_EFFECT}"
        )
    versions = [(arm.title, sorted({row.ledger_version for row in arm.rows} - {""})) for arm in unknown]
    if told := ", ".join(f"{' and '.join(named)} in {title}" for title, named in versions if named):
        yield f"Versions of Ledger, as recorded: {told}"


def _titles(arms: Iterable[Arm]) -> str:
    return ", ".join(arm.title for arm in arms)


def methods(found: tuple[Setting, ...], *sentences: str) -> tuple[str, ...]:
    """Return the sentences about methods if any setting has a base to compare with; else none."""
    return sentences if any(setting.base.runs and setting.ledger for setting in found) else ()


def remarks(found: tuple[Setting, ...], *, tokens: bool = False) -> tuple[str, ...]:
    """Return sentences about what is unknown, left out, estimated or averaged in these settings.

    Sentences about tokens are added if the table has ``tokens``. A sentence that does not hold for all settings names
    those that it holds for.
    """
    return _in_settings(found, lambda setting: _remarks(setting, tokens=tokens))


def _in_settings(found: tuple[Setting, ...], sentences: Callable[[Setting], Iterator[str]]) -> tuple[str, ...]:
    """Return the sentences of all settings, each once, with the titles of those that it holds for if not for all."""
    said: dict[str, list[str]] = {}
    for setting in found:
        for text in sentences(setting):
            said.setdefault(text, []).append(setting.title)
    return tuple(text if len(titles) == len(found) else f"{'; '.join(titles)}: {text}" for text, titles in said.items())


def _remarks(setting: Setting, *, tokens: bool) -> Iterator[str]:
    rows = [row for arm in setting.arms for row in arm.rows]
    if setting.ledger and not setting.base.runs:
        yield UNCOMPARED
    if setting.base.runs:
        apart: dict[str, list[str]] = {}
        for arm in setting.ledger:
            apart.setdefault(between(setting.base, arm), []).append(arm.title)
        yield from (f"{', '.join(arms)} against {setting.base.title}: {told}" for told, arms in apart.items() if told)
    if told := pooled(setting.arms):
        yield told
    if all(_ungraded(row) for row in rows):
        yield "the resolution of every run is unknown"
    elif ungraded := sum(map(_ungraded, rows)):
        yield (
            f"the resolution of {ungraded} of {len(rows)} runs is unknown{_by_arm(setting, _ungraded, ' ({})')}:"
            " they count neither as resolved nor as unresolved"
        )
    yield from _failures(setting, len(rows))
    every = {name for arm in setting.arms for name in arm.runs}
    common = set.intersection(*(set(arm.runs) for arm in setting.arms))
    if len(common) < len(every):
        missing = len(every) - len(common)
        yield f"{missing} of {len(every)} instances lack a run in some arm; a comparison leaves them out"
    if setting.renumbered:
        yield (
            "several runs of a task and arm have the same trial number, or none of their own: all but one of each are"
            f" counted as further trials ({setting.renumbered:,})"
        )
    if any(len(arm.trials) > 1 for arm in setting.arms):
        yield "an instance counts with the mean of its trials"
    if tokens:
        if any(row.resolved is not None for row in rows) and (without := sum(row.resolved is None for row in rows)):
            yield f"the cost per resolved instance leaves out what the {quantity(without, 'run')} without a grade cost"
        yield from _about_tokens(setting.arms)
    yield from _troubles(setting.arms)


def _ungraded(row: RunRow) -> bool:
    return row.resolved is None and not row.machine_failure


def _failures(setting: Setting, of: int) -> Iterator[str]:
    """Sentences about failures that are not the repair's: of the machine that graded, and of runs."""
    number, kinds = _counted(setting, lambda row: row.machine_failure)
    if number:
        yield (
            f"{number} of {of} runs could not be graded because the machine failed, not the repair ({kinds}):"
            " they count neither as resolved nor as unresolved"
        )
    number, kinds = _counted(setting, lambda row: row.ambiguous_failure)
    if number:
        yield f"{number} unresolved runs have signs of a failure that may be the machine's or the repair's ({kinds})"
    number, kinds = _counted(setting, lambda row: row.failure.partition(":")[0])
    if number:
        yield f"{number} of {of} runs were ended by a failure, not by the agent ({kinds})"


def _counted(setting: Setting, kind: Callable[[RunRow], str]) -> tuple[int, str]:
    """Return the number of runs that have a failure of such a kind; and in words their kinds, and their arms."""
    found = Counter(kind(row) for arm in setting.arms for row in arm.rows if kind(row))
    told = ", ".join(f"{name} {count}" for name, count in sorted(found.items(), key=lambda one: (-one[1], one[0])))
    return found.total(), told + _by_arm(setting, lambda row: bool(kind(row)), "; {}")


def _by_arm(setting: Setting, which: Callable[[RunRow], bool], form: str) -> str:
    """Return how many such runs each arm has, in this form, since what only one arm lacks biases a comparison.

    "" where there is a single arm.
    """
    told = ", ".join(f"{arm.title} {sum(map(which, arm.rows))}" for arm in setting.arms)
    return form.format(told) if len(setting.arms) > 1 else ""


NOTHING_LEFT = "where none is left, there is no change, and the totals are of all"
"""What tables have where runs of no instance can be compared."""


def _about_tokens(arms: tuple[Arm, ...]) -> Iterator[str]:
    if any(arm.estimated for arm in arms):
        yield ESTIMATED
    numbers = {arm.title: (sum(row.estimated for row in arm.rows), len(arm.rows)) for arm in arms}
    if len({number / of for number, of in numbers.values()}) > 1:
        told = ", ".join(f"{number} of {of} runs in {title}" for title, (number, of) in numbers.items())
        yield (
            f"tokens are estimated in {told}: estimates are low, so that these arms' tokens and cost differ by that,"
            " and changes (Δ), with the totals beside them, leave out instances with estimates in some runs only;"
            f" {NOTHING_LEFT}"
        )
    untold = [arm.title for arm in arms if not arm.cached_told]
    if untold:
        rest = ", so that it is compared with other arms neither by class nor by cost"
        yield (
            f"no run in {', '.join(untold)} reports cached tokens: how much of its input was cached is unknown, and its"
            f" cost charges all of it as uncached{rest if len(untold) < len(arms) else ''}"
        )
    partly = {arm.title: sum(not row.cached_told for row in arm.rows) for arm in arms if arm.cached_told}
    if any(partly.values()):
        told = ", ".join(f"{number} in {title}" for title, number in partly.items())
        yield (
            f"some runs report no cached tokens ({told}): how much of their input was cached is unknown, and left out"
            " of cached and uncached tokens and the cache-hit rate; their cost charges all of it as uncached, and"
            " changes (Δ) of cost, with the totals beside them, leave out instances of which some runs are such and"
            f" others are not; {NOTHING_LEFT}"
        )
    for measure, what in ((COST, "cost"), (INPUT, "tokens")):
        yield from _unknown(measure, what, arms)


def _unknown(measure: Measure, what: str, arms: tuple[Arm, ...]) -> Iterator[str]:
    """Yield how many instances of each arm lack a measure, with the reason if it is a missing price."""
    missing = {arm.title: (len(arm.runs) - len(column(measure, arm)), len(arm.runs)) for arm in arms}
    if not any(number for number, _ in missing.values()):
        return
    why = unpriced(measure, (row for arm in arms for row in arm.rows))
    if all(number == of for number, of in missing.values()):
        yield f"{what} unknown for all instances{f': {why}' if why else ''}"
        return
    short = ", ".join(
        f"{'all ' if number == of > 1 else ''}{number} in {title}" for title, (number, of) in missing.items() if number
    )
    yield f"{what} unknown for some instances, which are left out there: {short}{f' ({why})' if why else ''}"


def _troubles(arms: tuple[Arm, ...]) -> Iterator[str]:
    if untold := sum(row.lacks_journal for arm in arms for row in arm.rows):
        yield without_journal(untold)
    for what, number in (
        ("false reuses", sum(row.false_reuses or 0 for arm in arms for row in arm.rows)),
        ("faults of Ledger's own", sum(row.count("faults") or 0 for arm in arms for row in arm.rows)),
    ):
        if number:
            yield f"{number} {what}"
