"""Jobs of Harbor as arms: one row per trial, with Harbor's own outcome, tokens and cost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from execledger.evaluate.collect import collect
from execledger.evaluate.harbor_jobs import trial_remarks
from execledger.evaluate.records import RunRow
from execledger.runs.prices import Price, Prices
from execledger.runs.usage import Tokens
from tests.evaluate.trials import trajectory
from tests.support.harbor.job import with_bypass, with_records, write_job, write_trial

PRICES = Prices("2026-01-01", {"gpt-5-mini": Price(uncached=1_000_000, cached=100_000, output=0)})
"""A dollar for a token of input, ten cents if it was cached."""

USAGE = {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 900}, "completion_tokens": 7}
"""What an agent records of its only model call."""


def rows(unreadable: list[str], *paths: Path) -> list[RunRow]:
    """The rows of a report on these paths."""
    return [row for _, row in collect(map(str, paths), PRICES, unreadable)]


def test_a_job_is_an_arm(tmp_path: Path) -> None:
    """The attempts at a task are its trials; both arms have the same agent, so that they are compared."""
    without, with_ledger = (write_job(tmp_path / name) for name in ("without", "with"))
    for name in ("a", "b"):
        with_records(write_trial(without, name))
        reward = {"rewards": {"reward": 1.0 if name == "a" else 0.0}}
        trial = write_trial(with_ledger, name, agent="ledger-mini-swe-agent", verifier_result=reward)
        with_records(trial, journal=True)
    unreadable: list[str] = []
    found = rows(unreadable, without, with_ledger, without / "a")
    assert unreadable == []
    assert {(row.agent, row.model) for row in found} == {("mini-swe-agent 2.4.6", "gpt-5-mini")}
    assert [(row.arm, row.preset, row.instance, row.trial, row.resolved) for row in found] == [
        ("base", "", "fix-add", 1, True),
        ("base", "", "fix-add", 2, True),
        ("both", "verified", "fix-add", 1, True),
        ("both", "verified", "fix-add", 2, False),
    ]
    taken = (Tokens.of(input=1000, cached=400, output=50), False, 640.0, 0.25)
    assert [(row.tokens, row.estimated, row.cost, row.reported_cost) for row in found] == [taken] * 4
    assert found[0].proposed == 1 and all(row.proposed > 1 for row in found[2:]), "their journals were read"
    assert trial_remarks(without) == trial_remarks(with_ledger) == []


def test_a_failed_trial_is_no_failed_repair(tmp_path: Path) -> None:
    """It has no outcome, and its reason is reported; an agent that ran out of time has the outcome of what it did."""
    job = write_job(tmp_path / "job")
    failed = {"exception_type": "NonZeroAgentExitCodeError", "exception_message": "exit 1"}
    late = {"exception_type": "AgentTimeoutError", "exception_message": "600 seconds"}
    nothing = {"rewards": {"reward": 0.0}}
    write_trial(job, "a", exception_info=failed, verifier_result=nothing, agent_result=None)
    with_records(write_trial(job, "b", exception_info=late, verifier_result=nothing))
    with_records(write_trial(job, "c", verifier_result={"rewards": {"reward": 0.5}}))
    unreadable: list[str] = []
    found = [(row.trial, row.ended, row.resolved, row.model_calls) for row in rows(unreadable, job)]
    assert (found, unreadable) == (
        [
            (1, "NonZeroAgentExitCodeError", None, 0),
            (2, "AgentTimeoutError", False, 1),
            (3, "Submitted", False, 1),
        ],
        [],
    )
    assert trial_remarks(job) == [
        f"{job}: 1 of 3 trials failed, and count neither as resolved nor as unresolved: NonZeroAgentExitCodeError (1)",
        f"{job}: 1 trial has a reward between 0 and 1, and counts as unresolved",
    ]


def test_a_trial_that_ran_without_ledger_is_reported(tmp_path: Path) -> None:
    """It stays in the arm that it was started in, and what Ledger did is unknown."""
    job = write_job(tmp_path / "job")
    govern, paper = ["--sealed", "--no-inform"], ["--preset=paper", "--cadence=focused"]
    failed = {"exception_type": "NonZeroAgentExitCodeError", "exception_message": "exit 1"}

    def trial(name: str, told: dict[str, object], **result: Any) -> Path:
        status = {"metadata": {"execledger": told}}
        return with_records(write_trial(job, name, agent="ledger-mini-swe-agent", agent_result=status, **result))

    trial("a", {"installed": False, "reason": "it can't be installed: no network", "options": govern})
    trial("b", {"installed": True, "version": "1.2.3", "options": paper})
    bypassed = with_bypass(trial("c", {"installed": True, "version": "1.2.3", "options": govern}))
    trial("d", {"installed": True, "version": "1.2.3", "options": []}, exception_info=failed)
    trial("e", {"installed": True, "version": "1.2.3", "options": ["--journal", "off"]})
    unreadable: list[str] = []
    found = rows(unreadable, job)
    assert [(row.arm, row.preset, row.counts, row.proposed, row.model_calls) for row in found] == [
        ("govern", "verified", None, 1, 1),
        ("focused", "paper", None, 1, 1),
        ("govern", "verified", None, 1, 1),
        ("both", "verified", None, 1, 1),
        ("both", "verified", None, 1, 1),
    ]
    own = "agent/mini-swe-agent.trajectory.json"
    assert found[2].run == str(bypassed / own), "not the journal without steps"
    assert unreadable == []
    reasons = (
        "it can't be installed: no network (1), it is installed, and left no journal (1),"
        " the agent sent nothing through it (1)"
    )
    assert trial_remarks(job) == [
        f"{job}: 1 of 5 trials failed, and count neither as resolved nor as unresolved: NonZeroAgentExitCodeError (1)",
        f"{job}: 3 of 5 trials of agents with Ledger ran without it: {reasons}",
    ]


def test_the_steps_of_a_trial_have_its_tokens_and_its_exceptions(tmp_path: Path) -> None:
    """Harbor keeps both by step, and leaves a step without a verdict out of the mean that is the reward."""
    job = write_job(tmp_path / "job")
    told = {"metadata": {"execledger": {"installed": False, "reason": "no network", "options": ["--no-inform"]}}}
    took = {"n_input_tokens": 1000, "n_cache_tokens": 400, "n_output_tokens": 50, "cost_usd": 0.25, **told}
    failed = {"exception_type": "NonZeroAgentExitCodeError", "exception_message": "exit 1"}
    late = {"exception_type": "AgentTimeoutError", "exception_message": "600 seconds"}

    def trial(name: str, *steps: dict[str, Any]) -> None:
        given: dict[str, Any] = {"agent": "ledger-mini-swe-agent", "agent_result": None}
        with_records(write_trial(job, name, step_results=[{"agent_result": took} | step for step in steps], **given))

    trial("a", {}, {})
    trial("b", {}, {"exception_info": failed})
    trial("c", {"exception_info": late}, {})
    trial("d", {"exception_info": late}, {"exception_info": failed, "agent_result": None})
    trial("e", {}, {"agent_result": told})
    found = rows([], job)
    twice = Tokens.of(input=2000, cached=800, output=100)
    assert [(row.ended, row.resolved, row.arm) for row in found] == [
        ("Submitted", True, "govern"),
        ("NonZeroAgentExitCodeError", None, "govern"),
        ("AgentTimeoutError", True, "govern"),
        ("NonZeroAgentExitCodeError", None, "govern"),
        ("Submitted", True, "govern"),
    ]
    assert [(row.tokens, row.reported_cost) for row in found[:3]] == [(twice, 0.5)] * 3
    unknown = [(row.tokens, row.estimated, row.cost, row.reported_cost) for row in found[4:]]
    assert unknown == [(None, False, None, None)], "the record of the other step is not the trial's"
    assert found[3].tokens == Tokens.of(input=1000, cached=400, output=50), "its agent did not begin"
    assert trial_remarks(job) == [
        f"{job}: 2 of 5 trials failed, and count neither as resolved nor as unresolved: NonZeroAgentExitCodeError (2)",
        f"{job}: 5 of 5 trials of agents with Ledger ran without it: no network (5)",
    ]


@pytest.mark.parametrize(
    ("second", "tokens", "cost"),
    [
        (None, None, None),
        ({}, None, None),
        ({"n_input_tokens": 1000, "n_cache_tokens": 400, "n_output_tokens": 50, "cost_usd": 0}, 2000, None),
        ({"n_input_tokens": 1000, "n_cache_tokens": 400, "n_output_tokens": 50, "cost_usd": 0.25}, 2000, 0.5),
    ],
    ids=["no result", "no numbers", "no cost", "all numbers"],
)
def test_the_record_of_a_step_is_not_that_of_its_trial(
    tmp_path: Path, second: dict[str, Any] | None, tokens: int | None, cost: float | None
) -> None:
    """Where Harbor did not count the tokens or the cost of a step, those of the trial are unknown."""
    took = {"n_input_tokens": 1000, "n_cache_tokens": 400, "n_output_tokens": 50, "cost_usd": 0.25}
    execution = {"started_at": "2026-11-18T10:36:11Z", "finished_at": None}
    steps = [{"agent_result": one, "agent_execution": execution} for one in (took, second)]
    job = write_job(tmp_path / "job")
    with_records(write_trial(job, "a", agent_result=None, step_results=steps))
    (row,) = rows([], job)
    assert (row.tokens.input if row.tokens else None, row.reported_cost) == (tokens, cost)
    assert not row.estimated and (row.cost is None) == (tokens is None)


@pytest.mark.parametrize(
    ("usage", "counted", "expected"),
    [
        (USAGE, {}, (Tokens(uncached=100, cached=900, output=7), True)),
        (USAGE, {"n_output_tokens": 50}, (Tokens(uncached=100, cached=900, output=50), True)),
        (USAGE, {"n_cache_tokens": 400}, (Tokens(uncached=600, cached=400, written=None, output=7), True)),
        (USAGE, {"n_input_tokens": 2000}, (Tokens.of(input=2000), False)),
        (None, {}, (Tokens.of(input=1000), False)),
    ],
    ids=["neither", "output", "cached", "another input", "estimated"],
)
def test_kinds_of_tokens_that_harbor_did_not_count_are_those_of_the_record(
    tmp_path: Path, usage: dict[str, Any] | None, counted: dict[str, int], expected: tuple[Tokens, bool]
) -> None:
    """If the agent counted them, and as many tokens of input as Harbor."""
    trial = write_trial(write_job(tmp_path / "job"), "a", agent_result={"n_input_tokens": 1000} | counted)
    saved = json.loads(trajectory("fix-add"))
    if usage is not None:
        saved["messages"][2]["extra"]["response"] = {"usage": usage}
    (trial / "agent" / "mini-swe-agent.trajectory.json").write_text(json.dumps(saved))
    (row,) = rows([], tmp_path / "job")
    assert ((row.tokens, row.cached_told), row.estimated) == (expected, False)


def test_what_a_trial_without_a_record_took_is_unknown(tmp_path: Path) -> None:
    """Unless Harbor counted it; no dollars are not none."""
    job = write_job(tmp_path / "job")
    late = {"exception_type": "AgentTimeoutError", "exception_message": "600 seconds"}
    write_trial(job, "a", agent_result={}, exception_info=late)
    write_trial(job, "b", agent_result=None)
    write_trial(job, "c", agent_result={"n_input_tokens": 1000, "n_cache_tokens": 400, "cost_usd": 0})
    assert [(row.tokens, row.estimated, row.cost, row.reported_cost) for row in rows([], job)] == [
        (None, False, None, None),
        (None, False, None, None),
        (Tokens.of(input=1000, cached=400), False, 640.0, None),
    ]


def test_a_failed_trial_whose_empty_folders_were_lost_still_counts(tmp_path: Path) -> None:
    """Git and object stores keep no empty folder."""
    job = write_job(tmp_path / "job")
    failed = {"exception_type": "EnvironmentStartTimeoutError", "exception_message": ""}
    trial = write_trial(job, "a", exception_info=failed, verifier_result=None, agent_result=None)
    (trial / "config.json").write_text('{"task": {"path": "tasks/fix-add"}, "trial_name": "a"}')
    shutil.rmtree(trial / "agent")
    unreadable: list[str] = []
    assert [(row.ended, row.resolved) for row in rows(unreadable, job)] == [("EnvironmentStartTimeoutError", None)]
    assert "1 of 1 trials failed" in trial_remarks(job)[0]
    assert unreadable == []


def test_a_trial_that_was_killed_is_named(tmp_path: Path) -> None:
    """It is left out, with its record; a trial whose reward is no number has a row, and no outcome."""
    job = write_job(tmp_path / "job")
    trial = with_records(write_trial(job, "a"))
    (trial / "config.json").write_text('{"task": {"path": "tasks/fix-add"}, "trial_name": "a"}')
    (trial / "result.json").unlink()
    for name, rewards in (("b", {"reward": None}), ("c", {"x": 1.0, "y": None}), ("d", {"x": 1.0, "y": 0.0})):
        with_records(write_trial(job, name, verifier_result={"rewards": rewards}))
    unreadable: list[str] = []
    assert [(row.instance, row.resolved) for row in rows(unreadable, job)] == [
        ("fix-add", None),
        ("fix-add", None),
        ("fix-add", False),
    ]
    assert unreadable == [f"{trial}: found a trial of Harbor without a result, which was killed or still runs"]


def test_a_damaged_record_beside_one_that_is_read_is_named(tmp_path: Path) -> None:
    """With the reason."""
    trial = with_records(write_trial(write_job(tmp_path / "job"), "a"))
    (trial / "agent" / "trajectory.json").write_text('{"schema_version": "ATIF-v1.7", "steps": [')
    unreadable: list[str] = []
    assert [row.instance for row in rows(unreadable, tmp_path / "job")] == ["fix-add"]
    assert unreadable == [f"{trial}/agent/trajectory.json: expected JSON, found: Input data was truncated"]


def test_a_result_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """And left out with its record; it stops nothing, such as another attempt at the task."""
    job = write_job(tmp_path / "job")
    trial = with_records(write_trial(job, "a"))
    (trial / "result.json").write_text("{")
    other = with_records(write_trial(job, "b"))
    unreadable: list[str] = []
    assert [Path(row.run).is_relative_to(other) for row in rows(unreadable, job)] == [True]
    assert [said.partition(": ")[0] for said in unreadable] == [str(trial / "result.json")]
