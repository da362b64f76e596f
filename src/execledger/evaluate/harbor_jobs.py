"""Jobs of Harbor as arms of a report: one row per trial.

A trial's ``result.json`` has the outcome, the tokens and the cost; what the agent did is in its record
(``runs.harbor_trials`` chooses it), and what Ledger did is in its journal. The attempts at a task are its trials.

A trial that ended with an exception says nothing about the repair: its row has no outcome, and a sentence reports the
exception. If the agent ran out of time, the repair is what it had done by then, and its outcome counts.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.formats import trial_records
from execledger.agents.registry import OURS
from execledger.core.policy import Cadence, Policy, Preset
from execledger.core.wording import quantity
from execledger.errors import UnreadableRun
from execledger.evaluate.metrics import measure, priced
from execledger.evaluate.records import RunRow
from execledger.journal.reader import is_bypassed, read_journal
from execledger.runs.find import FURTHER, Source
from execledger.runs.harbor_trials import METADATA, RESULT, is_trial, journals_of
from execledger.runs.journals import FORMAT as JOURNAL
from execledger.runs.prices import Prices
from execledger.runs.recording import Run
from execledger.runs.usage import Tokens, recorded_cost

OUT_OF_TIME = "AgentTimeoutError"
"""The exception of a trial whose agent was stopped by its time limit."""
PASSED = 1.0
"""The reward of a repair that passes all tests."""
N = TypeVar("N", int, float)


class _Model(Struct, frozen=True):
    name: str = ""


class _AgentInfo(Struct, frozen=True):
    name: str = ""
    version: str | None = None
    model_info: _Model | None = None


class _AgentResult(Struct, frozen=True):
    n_input_tokens: int | None = None
    n_cache_tokens: int | None = None
    n_output_tokens: int | None = None
    cost_usd: float | None = None
    metadata: dict[str, Any] | None = None


class _Verdict(Struct, frozen=True):
    rewards: dict[str, float | None] | None = None


class _Failure(Struct, frozen=True):
    exception_type: str = ""
    exception_message: str = ""


class _Ledger(Struct, frozen=True):
    """What an agent with Ledger around it records of Ledger in a result's metadata."""

    installed: bool = False
    version: str | None = None
    reason: str = "no reason was recorded"
    options: tuple[str, ...] = ()


class _StepResult(Struct, frozen=True):
    """The result of one step of a trial that has several."""

    agent_result: _AgentResult | None = None
    exception_info: _Failure | None = None
    agent_execution: dict[str, Any] | None = None

    @property
    def began(self) -> bool:
        """Whether its agent began; False for a step that failed before that, which took no tokens."""
        return self.agent_result is not None or self.agent_execution is not None or self.exception_info is None


class TrialResult(Struct, frozen=True):
    """The part of a trial's ``result.json`` that a report needs."""

    task_name: str
    """The task."""
    trial_name: str
    """The trial."""
    started_at: str | None = None
    """The time at which it was started."""
    agent_info: _AgentInfo = _AgentInfo()
    """The agent, its version and its model."""
    agent_result: _AgentResult | None = None
    """Tokens and cost, as Harbor took them from the agent's own record."""
    verifier_result: _Verdict | None = None
    """The rewards."""
    exception_info: _Failure | None = None
    """Why it failed as a whole; None if it did not."""
    step_results: list[_StepResult] | None = None
    """The results of its steps, if it has several: then tokens and most exceptions are theirs."""

    @property
    def agent_results(self) -> list[_AgentResult]:
        """Tokens and cost of the trial, or of each of its steps whose agent began; without a number if unknown."""
        if self.step_results is None:
            return [self.agent_result or _AgentResult()]
        return [step.agent_result or _AgentResult() for step in self.step_results if step.began]

    @property
    def ended(self) -> str:
        """The exception that ended it, or one of its steps; one that leaves it without an outcome before others."""
        failed = [self.exception_info, *(step.exception_info for step in self.step_results or ())]
        found = [one.exception_type or "an exception" for one in failed if one is not None]
        return next((one for one in found if one != OUT_OF_TIME), "".join(found[:1]))

    @property
    def reward(self) -> float | None:
        """The reward, or the least of several; None if the repair was not tested."""
        rewards = (self.verifier_result or _Verdict()).rewards or {}
        given = [one for one in rewards.values() if one is not None]
        # What is no number is null in a result.
        return rewards.get("reward", min(given) if len(given) == len(rewards) > 0 else None)

    @property
    def failure(self) -> str:
        """The exception that leaves it without an outcome; "" if it has one."""
        return "" if self.ended == OUT_OF_TIME else self.ended

    @property
    def resolved(self) -> bool | None:
        """Whether the repair passes all tests; None if the trial failed or the repair was not tested."""
        return None if self.failure or self.reward is None else self.reward >= PASSED

    @property
    def ledgered(self) -> bool:
        """Whether the agent is one with Ledger around it."""
        return self.agent_info.name.startswith(OURS)

    @property
    def ledger(self) -> _Ledger | None:
        """What the agent recorded of Ledger; None if it recorded nothing."""
        noted = ((one.metadata or {}).get(METADATA) for one in self.agent_results)
        try:
            return next((msgspec.convert(status, _Ledger) for status in noted if status), None)
        except msgspec.ValidationError:
            return None

    @property
    def policy(self) -> Policy | None:
        """The policy that the options for Ledger ask for; None for an agent without Ledger."""
        return _policy((self.ledger or _Ledger()).options) if self.ledgered else None


class JobTrial(Struct, frozen=True):
    """One trial of a job."""

    folder: Path
    """Its folder."""
    result: TrialResult
    """Its result."""
    number: int
    """Which attempt at its task it is, from 1."""

    @property
    def without_ledger(self) -> str:
        """Why the agent ran without Ledger although it is one with Ledger around it; "" if it did not."""
        status, journals = self.result.ledger, journals_of(self.folder)
        if not self.result.ledgered:
            return ""
        if status is not None and not status.installed:
            return status.reason
        if journals:
            return "the agent sent nothing through it" if all(is_bypassed(str(file)) for file in journals) else ""
        # Options may send the journals elsewhere, and a trial that failed may not have come as far as its agent.
        elsewhere = status is None or any(option.partition("=")[0] == "--journal" for option in status.options)
        return "" if elsewhere or self.result.failure else "it is installed, and left no journal"


def job_trials(folders: Iterable[Path], unreadable: list[str]) -> list[JobTrial]:
    """The trials in these folders (``trial_folders``); one without a result that can be read is left out and noted."""
    found: list[tuple[Path, TrialResult]] = []
    for folder in folders:
        if not (folder / RESULT).is_file():
            unreadable.append(f"{folder}: found a trial of Harbor without a result, which was killed or still runs")
            continue
        try:
            found.append((folder, msgspec.json.decode((folder / RESULT).read_bytes(), type=TrialResult, strict=False)))
        except (OSError, msgspec.MsgspecError) as error:
            unreadable.append(f"{folder / RESULT}: found no result of a trial of Harbor: {error}")
    attempts: Counter[tuple[Path, str, str]] = Counter()
    trials = []
    for folder, result in sorted(found, key=lambda one: (one[0].parent, one[1].started_at or "", one[0].name)):
        key = (folder.parent, result.agent_info.name, result.task_name)
        attempts[key] += 1
        trials.append(JobTrial(folder, result, attempts[key]))
    return trials


def trial_folders(path: Path) -> Iterator[Path]:
    """The folders of trials at or below a path, in the order of their names."""
    if is_trial(path):
        yield path
        return
    for place, folders, _ in os.walk(path):
        trials = {name for name in folders if is_trial(Path(place, name))}
        yield from (Path(place, name) for name in sorted(trials))
        folders[:] = sorted(set(folders) - trials)


def trial_rows(
    trials: list[JobTrial], prices: Prices, unreadable: list[str], read: Callable[[str, bytes], Run]
) -> Iterator[tuple[Run, RunRow]]:
    """Yield every trial with its row, one in memory at a time; what can't be read is noted."""
    for trial in trials:
        run, row = _measured(trial, prices, unreadable, read)
        yield run, _placed(row, trial, prices)


def _measured(
    trial: JobTrial, prices: Prices, unreadable: list[str], read: Callable[[str, bytes], Run]
) -> tuple[Run, RunRow]:
    """The recorded run of a trial with what is measured of it; without a record no calls, and unknown tokens."""
    governed, model = trial.result.policy, trial.result.agent_info.model_info
    try:
        source, data = _record(trial, unreadable, read)
        run = read(source.name, data)
        journal = read_journal(source.name, data) if run.format == JOURNAL else None
    except UnreadableRun as error:
        if not trial.result.failure:
            unreadable.append(str(error))
        run = replace(_no_record(trial), model=model.name if model else "")
        return run, replace(measure(run, None, prices, governed=governed), tokens=None)
    run = replace(run, model=(model.name if model else "") or run.model)
    return run, measure(run, journal, prices, governed=governed)


def _record(trial: JobTrial, unreadable: list[str], read: Callable[[str, bytes], Run]) -> tuple[Source, bytes]:
    """The record of a trial that is read, and its content; how many further ones are not is noted."""
    records = trial_records(str(trial.folder), read)
    assert records is not None, "the folder is a trial"
    unreadable += map(str, records.damaged)
    content = records.read.read()
    if records.further:
        unreadable.append(f"{trial.folder}: {records.further:,} {FURTHER}, are not counted")
    return records.read, content


def _policy(options: Sequence[str]) -> Policy:
    """The policy that options of ``execledger run`` ask for, as far as the arm and the preset depend on it."""
    words = [word for option in options for word in option.split("=", 1)]
    given = dict(pairwise(words))
    preset, cadence = given.get("--preset", ""), given.get("--cadence", "")
    return Policy(
        preset=Preset(preset) if preset in {*Preset} else Preset.VERIFIED,
        cadence=Cadence(cadence) if cadence in {*Cadence} else Cadence.AUTO,
        inform="--no-inform" not in words,
        govern="--no-govern" not in words,
        shadow="--shadow" in words,
    )


def _no_record(trial: JobTrial) -> Run:
    return Run(name=str(trial.folder), format="harbor", agent="", model="", task="", container=False, turns=0, steps=())


def _placed(row: RunRow, trial: JobTrial, prices: Prices) -> RunRow:
    """The row of a trial with its task, outcome, tokens and cost by Harbor's own account.

    Where Harbor counted no tokens, or has no cost, those of the agent's record are taken; not for a trial of several
    steps, where a record is that of one step.
    """
    result, total = trial.result, _total(trial.result.agent_results)
    about = result.agent_info
    version = about.version if about.version not in (None, "unknown") else row.agent.rpartition(" ")[2]
    if result.step_results is not None:
        row = replace(row, tokens=None, estimated=False, reported_cost=None)
    if total.n_input_tokens is not None:
        row = _counted(row, total)
    row = replace(
        row,
        instance=result.task_name,
        trial=trial.number,
        agent=f"{about.name.removeprefix(OURS)} {version}".strip(),
        ledger_version=row.ledger_version or (result.ledger or _Ledger()).version or "",
        ended=result.ended or row.ended,
        resolved=result.resolved,
        reported_cost=total.cost_usd if total.cost_usd is not None else row.reported_cost,
    )
    return priced(row, prices)


def _counted(row: RunRow, total: _AgentResult) -> RunRow:
    """The row with the tokens that Harbor counted.

    Kinds that it did not count are taken from the agent's record, if that counts as many tokens of input.
    """
    tokens = Tokens.of(total.n_input_tokens, total.n_cache_tokens, output=total.n_output_tokens)
    told = tokens.cached is not None
    if row.tokens is not None and not row.estimated and row.tokens.input == total.n_input_tokens:
        output = row.tokens.output if tokens.output is None else tokens.output
        tokens = replace(tokens if told else row.tokens, output=output)
        told = told or row.cached_told
    return replace(row, tokens=tokens, estimated=False, cached_told=told)


def _total(results: Sequence[_AgentResult]) -> _AgentResult:
    """The tokens and the cost of all steps of a trial; those that a step does not have are unknown for the trial."""
    return _AgentResult(
        n_input_tokens=_sum([one.n_input_tokens for one in results]),
        n_cache_tokens=_sum([one.n_cache_tokens for one in results]),
        n_output_tokens=_sum([one.n_output_tokens for one in results]),
        cost_usd=_sum([recorded_cost(one.cost_usd) for one in results]),
    )


def _sum(numbers: Sequence[N | None]) -> N | None:
    """The sum; None if a number is unknown, or if there is none."""
    known = [number for number in numbers if number is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(numbers) else None


def trial_remarks(path: Path) -> list[str]:
    """Return sentences on the trials at a path that failed, ran without Ledger, or have a reward between 0 and 1."""
    said = []
    trials = job_trials(trial_folders(path), [])
    for name, kinds in (
        ("failed, and count neither as resolved nor as unresolved", Counter(one.result.failure for one in trials)),
        ("of agents with Ledger ran without it", Counter(one.without_ledger for one in trials)),
    ):
        number = sum(count for kind, count in kinds.items() if kind)
        listed = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common() if kind)
        said += [f"{path}: {number} of {len(trials)} trials {name}: {listed}"] if number else []
    partial = sum(one.result.reward is not None and 0 < one.result.reward < PASSED for one in trials)
    if partial:
        have, count = ("has", "counts") if partial == 1 else ("have", "count")
        said += [f"{path}: {quantity(partial, 'trial')} {have} a reward between 0 and 1, and {count} as unresolved"]
    return said
