"""Groups rows by setting (an agent with a model, under one plan), arm and instance.

Evaluations whose plans or versions differ are settings of their own, each with its own base. One without a base is
compared with the base of another one: its arms are part of that setting, and named by what differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.registry import agents
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.plans import differing, labels

TITLES = {
    "base": "base",
    "inform": "inform only",
    "govern": "govern only",
    "both": "inform + govern",
    "every": "view at every call",
    "focused": "focused views",
    "shadow": "shadow",
}
ORDER = tuple(TITLES)
FULL = ("both", "every", "focused", "shadow")
"""The full system, with either cadence, and its control."""


class Arm(Struct, frozen=True, kw_only=True):
    """The runs of one arm, under one preset."""

    name: str
    """Name of the arm: one of ``TITLES``."""
    preset: str = ""
    """Ledger's preset; empty in the arm base."""
    title: str
    """Title in tables; has the preset if the setting has several, and what differs between plans if these are."""
    runs: Mapping[str, tuple[RunRow, ...]]
    """Runs by instance, in the order of their trials; empty for an arm that was not run."""

    @property
    def rows(self) -> tuple[RunRow, ...]:
        """All runs of the arm."""
        return tuple(row for runs in self.runs.values() for row in runs)

    @property
    def trials(self) -> tuple[int, ...]:
        """Numbers of its trials."""
        return tuple(sorted({row.trial for row in self.rows}))

    @property
    def evaluations(self) -> tuple[str, ...]:
        """Names of the evaluations that it has runs of; "" is among them for runs that are of none."""
        return tuple(sorted({row.evaluation for row in self.rows}))

    @property
    def plan(self) -> str:
        """The plan of its runs (``RunRow.plan``)."""
        return next((row.plan for row in self.rows), "")

    @property
    def estimated(self) -> bool:
        """Whether the tokens of any run are estimated."""
        return any(row.estimated for row in self.rows)

    @property
    def cached_told(self) -> bool:
        """Whether any run reports how many of its tokens came from a cache; True if no run has any tokens."""
        known = [row.cached_told for row in self.rows if row.tokens is not None]
        return not known or any(known)

    @property
    def graded(self) -> frozenset[str]:
        """Instances with at least one graded run."""
        return frozenset(name for name, runs in self.runs.items() if any(row.resolved is not None for row in runs))

    def trial(self, number: int) -> Arm:
        """Return the arm with the runs of one trial only."""
        picked = ((name, tuple(row for row in runs if row.trial == number)) for name, runs in self.runs.items())
        return replace(self, runs={name: runs for name, runs in picked if runs})

    def outcomes(self, trial: int) -> dict[str, bool]:
        """Return, for each graded instance of a trial, whether it was resolved."""
        runs = self.trial(trial).runs.items()
        return {instance: row.resolved for instance, (row,) in runs if row.resolved is not None}

    def over(self, instances: Collection[str]) -> Arm:
        """Return the arm with these instances only."""
        return replace(self, runs={name: runs for name, runs in self.runs.items() if name in instances})


class Setting(Struct, frozen=True, kw_only=True):
    """One agent with one model, under one plan; arms are compared within a setting."""

    agent: str
    """The agent, with its version."""
    model: str
    """The model."""
    arms: tuple[Arm, ...]
    """Arms, base first."""
    plan: str = ""
    """What tells its plan from those of other settings of the agent and model; "" if there are none."""
    renumbered: int = 0
    """Number of runs whose trial number was taken by another run of the instance; they count as further trials."""

    @property
    def title(self) -> str:
        """Title in tables: the agent, the model, and what tells its plan from others."""
        name = f"{self.agent or 'unknown agent'}, {self.model or 'unknown model'}"
        return f"{name} ({self.plan})" if self.plan else name

    @property
    def base(self) -> Arm:
        """The arm without Ledger; an arm without runs if there is none."""
        return next((arm for arm in self.arms if arm.name == "base"), Arm(name="base", title="base", runs={}))

    @property
    def ledger(self) -> tuple[Arm, ...]:
        """The arms with Ledger."""
        return tuple(arm for arm in self.arms if arm.name != "base")

    @property
    def compared(self) -> tuple[Arm, ...]:
        """Arms in the tables of results and totals: the full system and shadow; without the former, all with Ledger."""
        full = tuple(arm for arm in self.ledger if arm.name in FULL)
        return full if any(arm.name != "shadow" for arm in full) else self.ledger

    @property
    def scaffold(self) -> str:
        """The agent without its version."""
        return self.agent.partition(" ")[0]


def settings(rows: Iterable[RunRow]) -> tuple[Setting, ...]:
    """Group rows by setting, those of the first registered agent before others; duplicate rows count once."""
    first = agents()[0].name

    def setting(row: RunRow) -> tuple[bool, str, str]:
        return not row.agent.startswith(first), row.agent, row.model

    distinct = {msgspec.json.encode(row): row for row in rows}
    found = groupby(sorted(distinct.values(), key=setting), key=setting)
    return tuple(setting for (_, agent, model), group in found for setting in _by_plan(agent, model, tuple(group)))


def _by_plan(agent: str, model: str, rows: tuple[RunRow, ...]) -> Iterator[Setting]:
    """Yield a setting for each plan that has a base; all others join the one that differs least from theirs."""
    groups: dict[str, list[RunRow]] = {}
    for row in sorted(rows, key=lambda row: row.plan):
        groups.setdefault(row.plan, []).append(row)
    bases = [plan for plan, group in groups.items() if any(row.arm == "base" for row in group)] or [*groups][:1]
    joined: dict[str, list[RunRow]] = {plan: [] for plan in bases}
    for plan, group in groups.items():
        nearest = plan if plan in joined else min(bases, key=lambda base: len(differing((base, plan))))
        joined[nearest] += _in_sequence(group)
    titles = labels(bases)
    for plan, group in joined.items():
        yield replace(_setting(agent, model, group), plan=titles[plan])


def _in_sequence(rows: list[RunRow]) -> list[RunRow]:
    """Return the runs of evaluations with one plan, the trials of one after those of another that has the same arm.

    So the runs of a trial of an instance are of one evaluation, in every arm that it has.
    """
    arms: dict[tuple[str, str], set[str]] = {}
    last: dict[tuple[str, str], int] = {}
    for row in rows:
        key = _instance(row), row.evaluation
        arms.setdefault(key, set()).add(row.arm)
        last[key] = max(last.get(key, 0), row.trial)
    before: dict[tuple[str, str], int] = {}
    for _, evaluations in groupby(sorted(arms), key=lambda key: key[0]):
        done: list[tuple[str, str]] = []
        for key in evaluations:
            before[key] = max((before[one] + last[one] for one in done if arms[one] & arms[key]), default=0)
            done.append(key)
    return [replace(row, trial=row.trial + before[_instance(row), row.evaluation]) for row in rows]


def _setting(agent: str, model: str, rows: Collection[RunRow]) -> Setting:
    presets = {row.preset for row in rows if row.arm != "base"}
    plans = labels(sorted({row.plan for row in rows}), aside=("preset",))
    keys = sorted({_arm_key(row) for row in rows}, key=lambda key: (_place(key[0]), key))
    arms = []
    renumbered = 0
    for name, preset, plan in keys:
        runs, moved = _by_instance(row for row in rows if _arm_key(row) == (name, preset, plan))
        title = TITLES.get(name, name)
        told = ", ".join(word for word in (preset if len(presets) > 1 else "", plans[plan]) if word)
        shown = f"{title} ({told})" if told else title
        arms.append(Arm(name=name, preset=preset, title=shown, runs=runs))
        renumbered += moved
    return Setting(agent=agent, model=model, arms=tuple(arms), renumbered=renumbered)


def _arm_key(row: RunRow) -> tuple[str, str, str]:
    return row.arm, "" if row.arm == "base" else row.preset, row.plan


def _instance(row: RunRow) -> str:
    return row.instance or row.run


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _by_instance(rows: Iterable[RunRow]) -> tuple[dict[str, tuple[RunRow, ...]], int]:
    """Group runs by instance with distinct trial numbers, and return how many runs were renumbered for that."""
    runs: dict[str, dict[int, RunRow]] = {}
    surplus = []
    for row in sorted(rows, key=lambda row: (_instance(row), row.trial, row.run)):
        trials = runs.setdefault(_instance(row), {})
        if row.trial in trials:
            surplus.append(row)
        else:
            trials[row.trial] = row
    for row in surplus:
        trials = runs[_instance(row)]
        number = max(trials) + 1
        trials[number] = replace(row, trial=number)
    return {name: tuple(trials.values()) for name, trials in runs.items()}, len(surplus)
