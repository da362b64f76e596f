"""The output folder: what is adopted, what is refused, and who may write to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.agents.evaluation import TaskResult, held
from execledger.errors import LedgerError
from execledger.evaluate.collect import collect
from execledger.evaluate.experiment import remaining_jobs
from execledger.evaluate.plan import ArmName, Plan
from execledger.evaluate.study import Study
from execledger.runs.prices import Prices
from tests.evaluate.trials import leave, trajectory

VERSIONS = {"execledger": "1", "mini-swe-agent": "2"}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A folder that belongs to no plan yet."""
    return Study(tmp_path / "out")


def test_what_is_whole_is_adopted_and_the_rest_is_removed(study: Study) -> None:
    """A torn trajectory, one of a run that is under way, and one without a folder of its name are not finished."""
    trial = study.trial(ArmName.BASE, 1)
    work = trial.work("a")
    leave(work, "a", trajectory("a", patch="repair"))
    leave(work, "b", trajectory("b")[:-20])
    leave(work, "c", json.dumps({"info": {}, "messages": []}))
    leave(work, "d", trajectory("e"))
    (work / "preds.json").write_text('{"a": {"model_pa')
    result = TaskResult(
        instance_id="a", model_name_or_path="scripted", model_patch="repair", ended="Submitted", cost=0.25
    )
    assert trial.adopt(work) == [result]
    assert (trial.results(), work.exists()) == ({"a": result}, False)
    predictions = {"a": {"model_name_or_path": "scripted", "instance_id": "a", "model_patch": "repair"}}
    assert json.loads((trial.folder / "preds.json").read_text()) == predictions


def test_a_cost_that_is_no_number_is_unknown_and_the_task_is_finished(study: Study) -> None:
    """The agent writes ``NaN`` where its price table fails; the run is there, and must not be paid for again."""
    trial = study.trial(ArmName.BASE, 1)
    leave(trial.work("a"), "a", trajectory("a").replace("0.25", "NaN"))
    assert [(one.instance_id, one.cost) for one in trial.adopt(trial.work("a"))] == [("a", None)]


def test_results_are_read_with_the_packages_of_evaluations_alone(study: Study) -> None:
    """The proxy's, which come with other extras, may be missing: `eval` goes on after each job, grades and reports."""
    trial = study.trial(ArmName.BASE, 1)
    leave(trial.work("a"), "a", trajectory("a"))
    trial.adopt(trial.work("a"))
    program = """
import sys
sys.modules.update(dict.fromkeys(("aiohttp", "zstandard", "tree_sitter_javascript", "minisweagent")))
from pathlib import Path
from execledger.evaluate.study import Study
from execledger.evaluate.plan import ArmName
print(*Study(Path(sys.argv[1])).trial(ArmName.BASE, 1).results())
"""
    done = subprocess.run([sys.executable, "-c", program, study.root], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("a\n", "")


def test_adopting_goes_on_where_it_was_cut_off(study: Study) -> None:
    """Whatever stands in its place stays, and nothing is lost between the two."""
    trial = study.trial(ArmName.BASE, 1)
    for name in ("a", "b"):
        leave(trial.work("a"), name, trajectory(name))
    (trial.work("a") / "a").rename(trial.folder / "a")
    assert [result.instance_id for result in trial.adopt(trial.work("a"))] == ["b"]
    assert list(trial.results()) == ["a", "b"]
    assert list(json.loads((trial.folder / "preds.json").read_text())) == ["a", "b"]


def test_predictions_are_completed_where_adopting_was_cut_off_before_they_were_written(study: Study) -> None:
    """All tasks are in place and the last one is not in the predictions yet; the next call writes them."""
    trial = study.trial(ArmName.BASE, 1)
    for name in ("a", "b"):
        leave(trial.work(name), name, trajectory(name))
    trial.adopt(trial.work("a"))
    (trial.work("b") / "b").rename(trial.folder / "b")
    assert trial.adopt(trial.work("b")) == []
    assert list(json.loads((trial.folder / "preds.json").read_text())) == ["a", "b"]
    assert not trial.work("b").exists()


def test_only_what_is_not_finished_is_still_to_do(study: Study) -> None:
    """Trial by trial, and within one the arms take turns, in an order that what is finished does not change."""
    plan = Plan(arms=(ArmName.BASE, ArmName.BOTH), trials=2, batch=2, seed=2)
    for arm, number, name in ((ArmName.BASE, 1, "b"), (ArmName.BOTH, 2, "a")):
        leave(study.trial(arm, number).folder, name, trajectory(name))
    jobs = remaining_jobs(study, study.admit(plan, VERSIONS), plan, "mini-extra", ["a", "b", "c", "d"], study.root)
    assert [(job.trial, str(job.arm), job.instances) for job in jobs] == [
        (1, "base", ("a",)),
        (1, "both", ("a", "b")),
        (1, "both", ("c", "d")),
        (1, "base", ("c", "d")),
        (2, "both", ("b",)),
        (2, "base", ("a", "b")),
        (2, "base", ("c", "d")),
        (2, "both", ("c", "d")),
    ]


@pytest.mark.parametrize(("batch", "sizes"), [(1, {1}), (2, {2, 1}), (3, {3, 1}), (9, {3, 1})])
def test_another_batch_in_a_later_call_keeps_the_order(study: Study, batch: int, sizes: set[int]) -> None:
    """Jobs have other sizes, and arms take turns as planned at first, which is what reports test the order with."""
    plan = Plan(arms=(ArmName.BASE, ArmName.BOTH), trials=2, batch=3, seed=2)
    study.claim(plan, VERSIONS)
    study.dataset.mkdir()
    tasks = ({"instance_id": name, "problem_statement": "p"} for name in "abcdefg")
    (study.dataset / "test.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    recorded = study.recorded()
    assert recorded is not None
    jobs = remaining_jobs(study, recorded, replace(plan, batch=batch), "mini-extra", "abcdefg", study.root)
    assert {len(job.instances) for job in jobs} == sizes
    turns: dict[tuple[str, int], list[str]] = {}
    for job in jobs:
        for name in job.instances:
            turns.setdefault((name, job.trial), []).append(job.arm)
            leave(job.place.folder, name, trajectory(name))
    rows = [row for _, row in collect([str(study.root)], Prices("2026-01-01", {}), [])]
    assert len(rows) == 7 * 2 * 2
    assert all(turns[row.instance, row.trial].index(row.arm) == row.position for row in rows)


def test_what_ended_badly_can_be_taken_back(study: Study) -> None:
    """It is put aside and to be done again; the predictions follow."""
    trial = study.trial(ArmName.BASE, 1)
    for name, ended in (("a", "Submitted"), ("b", "AuthenticationError")):
        leave(trial.work("a"), name, trajectory(name, ended=ended))
    trial.adopt(trial.work("a"))
    assert trial.take_back("AuthenticationError") == 1
    assert list(trial.results()) == ["a"]
    assert list(json.loads((trial.folder / "preds.json").read_text())) == ["a"]
    assert trial.take_back("AuthenticationError") == 0


def test_a_folder_belongs_to_one_plan(study: Study) -> None:
    """Another plan is refused, and the difference is named; the same one, spread otherwise, is welcome."""
    study.claim(Plan(trials=2), VERSIONS)
    study.claim(Plan(trials=2, workers=7), VERSIONS)
    with pytest.raises(LedgerError) as caught:
        study.claim(Plan(trials=3), VERSIONS)
    assert caught.value.message == f"{study.root}: belongs to another plan: `trials` was 2 and is 3"


def test_other_versions_are_refused_unless_asked_for(study: Study) -> None:
    """Where they are mixed, both are recorded."""
    study.claim(Plan(), VERSIONS)
    newer = {**VERSIONS, "mini-swe-agent": "3"}
    with pytest.raises(LedgerError) as caught:
        study.claim(Plan(), newer)
    assert caught.value.message == f"{study.root}: other versions: `mini-swe-agent` was '2' and is '3'"
    study.claim(Plan(), newer, mixed=True)
    recorded = study.recorded()
    assert recorded is not None
    assert (recorded.plan, recorded.digest, recorded.versions) == (Plan(), Plan().digest(), (VERSIONS, newer))


def test_the_order_and_the_salt_are_drawn_once(study: Study) -> None:
    """Going on keeps both; a plan that names a seed has it, and another evaluation another salt."""
    study.claim(Plan(), VERSIONS)
    first = study.recorded()
    study.claim(Plan(workers=3), VERSIONS)
    study.claim(Plan(), {**VERSIONS, "mini-swe-agent": "3"}, mixed=True)
    second, other = study.recorded(), Study(study.root / "other")
    other.claim(Plan(seed=7), VERSIONS)
    named = other.recorded()
    assert first is not None and second is not None and named is not None
    assert (first.seed, first.salt, first.isolated) == (second.seed, second.salt, True)
    assert (first.seed is None, named.seed, named.salt != first.salt) == (False, 7, True)


def test_an_evaluation_from_before_arms_were_rotated_is_read_and_not_gone_on_with(study: Study) -> None:
    """Half of its runs shared a cache: whatever ran now would not be comparable."""
    study.claim(Plan(), VERSIONS)
    saved = json.loads((study.root / "plan.json").read_text())
    old = {name: saved[name] for name in ("digest", "versions")}
    plan = {name: value for name, value in saved["plan"].items() if name not in ("cache", "seed")}
    (study.root / "plan.json").write_text(json.dumps({**old, "plan": plan}))
    recorded = study.recorded()
    assert recorded is not None and (recorded.seed, recorded.isolated) == (None, False)
    with pytest.raises(LedgerError, match="was begun when arms shared the provider's cache"):
        study.claim(Plan(), VERSIONS)


def test_a_broken_record_of_the_plan_is_told(study: Study) -> None:
    """Rather than taken for a new folder."""
    study.root.mkdir()
    (study.root / "plan.json").write_text("{")
    with pytest.raises(LedgerError, match="expected the plan of an evaluation"):
        study.claim(Plan(), VERSIONS)


def test_an_evaluation_is_carried_out_by_one_process(study: Study) -> None:
    """A second one is told so."""
    with (
        study.alone(),
        pytest.raises(LedgerError, match="another `execledger eval run` is at work"),
        Study(study.root).alone(),
    ):
        pass


def test_a_jobs_folder_is_kept_by_the_process_that_works_there(tmp_path: Path) -> None:
    """Although whoever started it has let go, the next one waits until that process has ended."""
    with held(tmp_path / "work") as lock:
        os.set_inheritable(lock, True)
        worker = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock,))
    entered = threading.Event()

    def wait() -> None:
        with held(tmp_path / "work"):
            entered.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not entered.wait(0.2)
    worker.communicate(b"\n")
    waiting.join(60)
    assert entered.is_set()
