"""Jobs of Harbor as arms: one row per trial, with Harbor's own outcome, tokens and cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from execledger.evaluate.collect import collect
from execledger.evaluate.harbor_jobs import trial_remarks
from execledger.evaluate.records import RunRow
from execledger.runs.prices import Price, Prices
from execledger.runs.usage import Tokens
from tests.support.harbor.job import with_bypass, with_records, write_job, write_trial

PRICES = Prices("2026-01-01", {"gpt-5-mini": Price(uncached=1_000_000, cached=100_000, output=0)})
"""A dollar for a token of input, ten cents if it was cached."""


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
        f"{job}: 1 trials have a reward between 0 and 1, and count as unresolved",
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


def test_a_result_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """And stops nothing."""
    job = write_job(tmp_path / "job")
    trial = with_records(write_trial(job, "a"))
    (trial / "result.json").write_text("{")
    unreadable: list[str] = []
    assert [row.instance for row in rows(unreadable, job)] == ["fix-add"]
    assert [said.partition(": ")[0] for said in unreadable] == [str(trial / "result.json")]
