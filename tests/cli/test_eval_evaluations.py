"""What ``execledger eval report`` says of several evaluations: pooled if their plans are the same, else told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execledger.evaluate.plan import ArmName, Cache
from execledger.evaluate.study import PLAN
from tests.cli.conftest import Execledger
from tests.cli.test_eval_evidence import store
from tests.support.harbor.job import with_records, write_job, write_trial

BASE, BOTH = ArmName.BASE, ArmName.BOTH
LIMITS = {"step_limit": 50}, {"step_limit": 100}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of evaluations have short names."""
    monkeypatch.chdir(tmp_path)


def reported(execledger: Execledger, *arguments: str) -> dict[str, Any]:
    """The report as JSON."""
    called = execledger("eval", "report", *arguments, "--json")
    assert called.status == 0, called.err
    found: dict[str, Any] = json.loads(called.out)
    return found


def table(report: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in report["tables"] if one["name"] == name)
    return dict(found)


def evidence(report: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The answers of the table of evidence, by section and question."""
    sections = table(report, "evidence")["sections"]
    return {one["title"]: {row[0]["text"]: row[1]["text"] for row in one["rows"]} for one in sections}


def test_a_comparison_of_two_evaluations_says_so_and_names_what_differs(execledger: Execledger) -> None:
    """The base is of one plan and the arm with Ledger of another: no difference of theirs is plainly found."""
    store(Path("a"), 1, arms=(BASE,), trials=1, reasoning_effort="low", own=LIMITS[0])
    plan: dict[str, Any] = {"reasoning_effort": "high", "own": LIMITS[1], "cache": Cache.SHARED}
    store(Path("b"), 1, arms=(BOTH,), trials=1, cheaper=0.5, **plan)
    report = reported(execledger, "a", "b")
    setting = "mini-swe-agent 2.4.6, gpt-5-mini"
    compared = f"{setting}: inform + govern (reasoning_effort=high) against base (reasoning_effort=low)"
    answers = evidence(report)
    assert list(answers) == [compared, f"{setting}: order of the arms"]
    said = (
        "the base is of a, the arm of b, and their plans differ in `reasoning_effort` (low, high),"
        " `cache` (isolated, shared), `step_limit` (50, 100): time, provider, versions or plan may explain a difference"
    )
    assert answers[compared]["Evaluations"] == said
    assert answers[compared]["Difference of cost"].startswith("found between evaluations: -")
    assert answers[compared]["Difference of Pass@1"].startswith(("found between", "none found between"))
    untested = "not tested: no two runs of an instance and trial have different positions"
    assert set(answers[f"{setting}: order of the arms"].values()) == {untested}
    noted = f"inform + govern (reasoning_effort=high) against base (reasoning_effort=low): {said}"
    assert all(noted in table(report, name)["notes"] for name in ("main", "efficiency", "ablation"))
    (shared,) = (note for note in table(report, "evidence")["notes"] if note.startswith("Prompt cache: "))
    assert shared == (
        "Prompt cache: the runs of inform + govern (reasoning_effort=high) were not isolated from each other in the"
        " provider's prompt cache: differences of cost, and of cached and new input tokens, may come from what one run"
        " finds cached of another one"
    )


def test_evaluations_with_other_plans_are_no_further_trials(execledger: Execledger) -> None:
    """Two whole evaluations with different efforts: each arm is compared with the base of its own evaluation."""
    for name, effort in (("a", "low"), ("b", "high")):
        store(Path(name), 1, trials=1, reasoning_effort=effort)
    report = reported(execledger, "a", "b")
    titles = [section["title"] for section in table(report, "main")["sections"]]
    settings = [f"mini-swe-agent 2.4.6, gpt-5-mini (reasoning_effort={effort})" for effort in ("high", "low")]
    assert titles == settings
    found = evidence(report)
    for setting in settings:
        answers = found[f"{setting}: inform + govern against base"]
        assert answers["Compared"] == "36 instances, 1 trial in each arm, 36 graded"
        assert "Evaluations" not in answers
        assert "between" not in answers["Difference of cost"]
    assert "pooled" not in json.dumps(report)


def test_other_versions_are_told_apart_as_other_plans_are(execledger: Execledger) -> None:
    """As ``eval run`` refuses to mix them in one folder."""
    for name, version in (("a", "0.1.0"), ("b", "0.2.0")):
        store(Path(name), 1, trials=1)
        fields = json.loads(Path(name, PLAN).read_text())
        Path(name, PLAN).write_text(json.dumps(fields | {"versions": [{"execledger": version}]}))
    titles = [section["title"] for section in table(reported(execledger, "a", "b"), "main")["sections"]]
    assert titles == [f"mini-swe-agent 2.4.6, gpt-5-mini (execledger={one})" for one in ("0.1.0", "0.2.0")]


def test_evaluations_with_one_plan_are_pooled_and_it_is_said(execledger: Execledger) -> None:
    """Trials of the second follow those of the first, in every arm; workers and seed may differ."""
    store(Path("a"), 1, trials=1, workers=3)
    store(Path("b"), 2, trials=1)
    report = reported(execledger, "a", "b")
    (answers, order) = evidence(report).values()
    assert answers["Compared"] == "36 instances, 2 trials in each arm, 36 graded"
    pooled = "2 evaluations with one plan are pooled: a, b"
    assert answers["Evaluations"] == pooled
    assert "between" not in answers["Difference of cost"]
    assert pooled in table(report, "main")["notes"]
    assert not any("same trial number" in note for note in table(report, "main")["notes"])
    assert all("mean positions" not in said for said in order.values()), "they are equal in each evaluation"


def test_evaluations_are_pooled_with_those_of_their_own_plan_only(execledger: Execledger) -> None:
    """The arm of a comparison has two evaluations of one plan, its base two of another."""
    for seed, name in enumerate("abcd"):
        other: dict[str, Any] = {"arms": (BOTH,), "reasoning_effort": "high"} if name in "cd" else {}
        store(Path(name), seed, trials=1, **other)
    notes = table(reported(execledger, *"abcd"), "main")["notes"]
    pooled = "2 evaluations with one plan are pooled: "
    assert any(f"{pooled}a, b; {pooled}c, d" in note for note in notes)
    assert not any("4 evaluations" in note for note in notes)


def test_the_base_of_another_evaluation_is_compared_with_and_it_is_said(execledger: Execledger) -> None:
    """As docs/reproduce.md says: the second preset without a base of its own."""
    store(Path("a"), 1, trials=1, preset="paper")
    store(Path("b"), 2, trials=1, arms=(BOTH,), preset="verified")
    report = reported(execledger, "a", "b")
    setting = "mini-swe-agent 2.4.6, gpt-5-mini"
    answers = evidence(report)
    own, other = (answers[f"{setting}: inform + govern ({one}) against base"] for one in ("paper", "verified"))
    assert "Evaluations" not in own
    assert own["Difference of cost"].startswith("none found: ")
    assert other["Difference of cost"].startswith(("found between", "none found between"))
    assert other["Evaluations"] == (
        "the base is of a, the arm of b, and their plans differ in `preset` (paper, verified):"
        " time, provider, versions or plan may explain a difference"
    )
    paper = reported(execledger, "a", "b", "--layout", "paper")
    assert f"{setting}: inform + govern (paper) against base" in evidence(paper)


def test_mean_positions_are_those_within_one_evaluation(execledger: Execledger) -> None:
    """The second evaluation lacks an arm, so that its positions are no others' in the first."""
    store(Path("a"), 1, trials=2, preset="paper")
    store(Path("b"), 2, trials=2, arms=(BOTH,), preset="verified")
    order = evidence(reported(execledger, "a", "b"))["mini-swe-agent 2.4.6, gpt-5-mini: order of the arms"]
    assert all("mean positions" not in said and "tested" not in said for said in order.values())
    runs = sorted(Path("a", "base", "1").glob("made__up-*"))[:7]
    for folder in runs:
        folder.rename(Path(f"gone-{folder.name}"))
    order = evidence(reported(execledger, "a", "b"))["mini-swe-agent 2.4.6, gpt-5-mini: order of the arms"]
    assert all("; in a, the arms' mean positions differ (base 0." in said for said in order.values())


def test_jobs_of_harbor_say_that_isolation_is_not_known(execledger: Execledger) -> None:
    """One job may have found cached what the other one sent; the versions that their records have are named."""
    plain, governed = (write_job(Path(name)) for name in ("without", "with"))
    for number in range(8):
        task, status = f"task-{number}", {"execledger": {"installed": True, "version": "1.2.3"}}
        took = {"n_input_tokens": 20_000 + number, "n_output_tokens": 500}
        with_records(write_trial(plain, task, task=task, agent_result=took | {"n_cache_tokens": 10_000}))
        result = took | {"n_cache_tokens": 16_000, "metadata": status}
        trial = write_trial(governed, task, task=task, agent="ledger-mini-swe-agent", agent_result=result)
        # The first one has lost its journal, and its result names the version that was installed.
        with_records(trial, journal=number > 0)
    report = reported(execledger, "without", "with")
    notes = table(report, "evidence")["notes"]
    assert (
        "Prompt cache: no plan of `eval run` is known of the runs of base, inform + govern: whether they were isolated"
        " from each other in the provider's prompt cache is not known, and differences of cost, and of cached and new"
        " input tokens, may come from what one run finds cached of another one"
    ) in notes
    assert [note for note in notes if note.startswith("Version")] == [
        "Versions of Ledger, as recorded: 0.1.0 and 1.2.3 in inform + govern"
    ]


def test_runs_without_a_plan_are_no_trials_of_an_evaluation(execledger: Execledger) -> None:
    """Nothing is known of how they ran."""
    store(Path("a"), 1, trials=1)
    loose = Path("loose")
    loose.mkdir()
    first = sorted(Path("a", "base", "1").glob("made__up-*/*.traj.json"))[0]
    saved = json.loads(first.read_text())
    saved["messages"][1]["content"] = "Repair something else."
    (loose / first.name).write_text(json.dumps(saved))
    titles = [section["title"] for section in table(reported(execledger, "a", "loose"), "main")["sections"]]
    setting = "mini-swe-agent 2.4.6, gpt-5-mini"
    assert titles == [f"{setting} (no plan)", setting]


def test_an_order_that_did_not_rotate_is_told_alike_everywhere(execledger: Execledger) -> None:
    """Evaluations from before arms were rotated: each arm always had the same position."""
    store(Path("a"), 1, trials=1)
    fields = json.loads(Path("a", PLAN).read_text())
    Path("a", PLAN).write_text(json.dumps(fields | {"seed": None}))
    report = reported(execledger, "a")
    (note,) = (one for one in report["notes"] if one.startswith("a: the arms"))
    assert note == (
        "a: the arms share the provider's prompt cache and ran in the order of the plan, the same for every instance,"
        " so that arm and position can't be told apart: a run finds cached what an earlier one sent, so that tokens and"
        " cost depend on the order"
    )
    *_, order = evidence(report).values()
    assert all(said.startswith("not testable: arm and position can't be told apart") for said in order.values())
    (shared,) = (one for one in table(report, "evidence")["notes"] if one.startswith("Prompt cache: "))
    assert shared.startswith("Prompt cache: the runs of base, inform + govern were not isolated")
