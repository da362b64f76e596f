"""Rows from evaluations, folders of them, and from elsewhere: each run once, in its arm, whatever is broken."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from execledger.agents.evaluation import RECORDED, SUBAGENTS
from execledger.core.policy import Policy
from execledger.evaluate.collect import COPIED, SAME_CONTENT, collect, conditions, left_out, unfinished
from execledger.evaluate.grade import GRADES, Verdicts, keep
from execledger.evaluate.plan import ArmName, Cache, Plan
from execledger.evaluate.records import RunRow
from execledger.evaluate.study import PLAN, Study
from execledger.journal.events import policy_fields
from execledger.runs.prices import Prices
from tests.evaluate.test_metrics import journal_of
from tests.evaluate.trials import leave, trajectory
from tests.support.faults.machine import bound_by_modes

PRICES = Prices("2026-01-01", {})


def governed(name: str, journal: str, policy: Policy) -> str:
    """A trajectory of a run that Ledger took part in."""
    saved = json.loads(trajectory(name))
    saved["info"]["ledger"] = {"policy": policy_fields(policy), "journal": journal}
    return json.dumps(saved)


def study_in(root: Path) -> Study:
    """An evaluation with one run in each of two arms, one of them with a journal."""
    study = Study(root)
    study.claim(Plan(arms=(ArmName.BASE, ArmName.BOTH)), {"execledger": "1"})
    study.dataset.mkdir()
    (study.dataset / "test.jsonl").write_text('{"instance_id": "a", "problem_statement": "p"}\n')
    leave(study.trial(ArmName.BASE, 1).folder, "a", trajectory("a"))
    both = study.trial(ArmName.BOTH, 1)
    both.folder.mkdir(parents=True)
    journal = journal_of(both.folder, Policy())
    # The evaluation has been moved since.
    leave(both.folder, "a", governed("a", f"/elsewhere/journals/{Path(journal.name).name}", Policy()))
    return study


def rows(unreadable: list[str], *paths: Path) -> list[RunRow]:
    return [row for _, row in collect(map(str, paths), PRICES, unreadable)]


def arms(found: list[RunRow]) -> list[tuple[str, int, str]]:
    return [(row.arm, row.trial, row.instance) for row in found]


def test_how_arms_ran_beside_each_other_is_told(tmp_path: Path) -> None:
    """Isolated by salts, by keys if the provider follows them, from the prompt on, or on one cache by their order."""
    plans = {
        "salts": Plan(seed=1),
        "keys": Plan(seed=2, agent="codex"),
        "shared": Plan(seed=3, cache=Cache.SHARED),
        "within": Plan(seed=4, agent="claude"),
    }
    for name, plan in plans.items():
        Study(tmp_path / name).claim(plan, {"execledger": "1"})
    old = json.loads((tmp_path / "salts" / "plan.json").read_text())
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "plan.json").write_text(json.dumps({**old, "seed": None, "salt": ""}))
    apart = "by the plan, a salt at the start of its prompt isolates each run from the others in the provider's prompt"
    one_order = "the order of the plan, the same for every instance, so that arm and position can't be told apart"
    shared = "the arms share the provider's prompt cache and ran in"
    behind = "a run finds cached what an earlier one sent, so that tokens and cost depend on the order"
    assert conditions(tmp_path) == [
        f"{tmp_path}/keys: by the plan, each run sends a cache key of its own; the arms ran in rotated order (seed 2):"
        " a provider that follows that key isolates the runs from each other, with one that ignores it tokens and cost"
        " depend on the order",
        f"{tmp_path}/old: {shared} {one_order}: {behind}",
        f"{tmp_path}/salts: {apart} cache; the arms ran in rotated order (seed 1)",
        f"{tmp_path}/shared: {shared} rotated order (seed 3): {behind}",
        f"{tmp_path}/within: by the plan, the task's prompt begins with a salt in each run; the arms ran in rotated"
        " order (seed 4): from there on no run finds cached what another one sent; the agent's instructions and tools,"
        " which come before, may have been cached by an earlier run",
    ]


def test_the_sessions_of_subagents_are_part_of_a_run(tmp_path: Path) -> None:
    """Their calls, tokens and cost in every arm; their commands where no journal has counted them."""
    study = study_in(tmp_path)
    before = rows([], tmp_path)
    for arm in (ArmName.BASE, ArmName.BOTH):
        folder = study.trial(arm, 1).folder / "a" / SUBAGENTS
        folder.mkdir()
        (folder / "x.json").write_text(trajectory("x"))
    unreadable: list[str] = []
    after = rows(unreadable, tmp_path)
    assert unreadable == []
    assert [row.model_calls for row in after] == [row.model_calls + before[0].model_calls for row in before]
    assert [row.reported_cost for row in before] == [0.25, 0.25]
    assert [row.reported_cost for row in after] == [0.5, 0.5]
    assert [row.proposed for row in after] == [2 * before[0].proposed, before[1].proposed]
    (folder / "x.json").write_text("{")
    assert len(rows(unreadable, tmp_path)) == 2
    assert len(unreadable) == 1


def test_a_folder_may_hold_evaluations(tmp_path: Path) -> None:
    """Each run once, in its arm; what is no evaluation is there as well, and what was given twice counts once."""
    one, two = (study_in(tmp_path / "outs" / name) for name in ("one", "two"))
    leave(tmp_path / "outs", "z", trajectory("z"))
    unreadable: list[str] = []
    twice = [tmp_path / "outs", two.root / "both" / "..", one.root / "base"]
    of_each = [("base", 1, "a"), ("both", 1, "a")]
    assert arms(rows(unreadable, *twice)) == [*of_each, *of_each, ("base", 1, "z")]
    assert (unreadable, unfinished(tmp_path / "outs")) == ([], [])
    (one.root / "both" / "1" / "a" / "a.traj.json").unlink()
    assert unfinished(tmp_path / "outs") == [f"{one.root}: not finished yet: 1 of 1 instances of both-1"]


def test_a_copy_of_an_evaluation_is_no_further_trial(tmp_path: Path) -> None:
    """A backup beside it has the same runs, and what was run in the copy alone counts; its folder is named."""
    study = study_in(tmp_path / "out")
    shutil.copytree(study.root, tmp_path / "out-backup")
    leave(tmp_path / "out-backup" / "base" / "1", "b", trajectory("b"))
    skipped: Counter[str] = Counter()
    found = [row for _, row in collect([str(tmp_path)], PRICES, [], skipped=skipped)]
    assert sorted(arms(found)) == [("base", 1, "a"), ("base", 1, "b"), ("both", 1, "a")]
    assert left_out(skipped) == [f"left out: {COPIED}, in {tmp_path / 'out-backup'} (2)"]


def test_copies_of_an_evaluation_have_one_plan_with_the_versions_of_all(tmp_path: Path) -> None:
    """Where one of them was continued with another version, its runs are no evaluation of their own."""
    study = study_in(tmp_path / "out")
    copy = tmp_path / "out-2"
    shutil.copytree(study.root, copy)
    leave(copy / "base" / "1", "b", trajectory("b"))
    fields = json.loads((copy / PLAN).read_text())
    fields["versions"].append({**fields["versions"][0], "execledger": "9.9"})
    (copy / PLAN).write_text(json.dumps(fields))
    found = rows([], tmp_path)
    assert len(found) == 3
    assert len({(row.evaluation, row.plan) for row in found}) == 1
    assert json.loads(found[0].plan)["execledger"].endswith(" or 9.9")


@pytest.mark.parametrize("original", ["b-out", "z-out"])
def test_of_copies_of_an_evaluation_the_graded_one_counts(tmp_path: Path, original: str) -> None:
    """Whichever has the first name: the backup was made before grading."""
    study = study_in(tmp_path / original)
    shutil.copytree(study.root, tmp_path / "m-backup")
    trial = study.trial(ArmName.BASE, 1)
    keep(trial, Verdicts(resolved={"a": True}), "report.json")
    skipped: Counter[str] = Counter()
    found = [row for _, row in collect([str(tmp_path)], PRICES, [], skipped=skipped)]
    assert {row.arm: row.resolved for row in found} == {"base": True, "both": None}
    assert len(found) == 2 and all(row.run.startswith(str(study.root)) for row in found)
    assert left_out(skipped) == [f"left out: {COPIED}, in {tmp_path / 'm-backup'} (2)"]


def test_a_copy_that_was_graded_before_does_not_count(tmp_path: Path) -> None:
    """It was made by a program that gives copies the time of copying; then the repairs were graded again."""
    study = study_in(tmp_path / "out")
    trial = study.trial(ArmName.BASE, 1)
    keep(trial, Verdicts(resolved={"a": False}), "report.json")
    shutil.copytree(study.root, tmp_path / "backup", copy_function=shutil.copy)
    for file in (tmp_path / "backup").rglob("*.json"):
        os.utime(file, (file.stat().st_mtime + 60,) * 2)
    keep(trial, Verdicts(resolved={"a": True}), "report.json")
    grades = trial.folder / GRADES
    os.utime(grades, (grades.stat().st_mtime + 120,) * 2)
    skipped: Counter[str] = Counter()
    found = [row for _, row in collect([str(tmp_path)], PRICES, [], skipped=skipped)]
    assert {row.arm: row.resolved for row in found} == {"base": True, "both": None}
    assert left_out(skipped) == [f"left out: {COPIED}, in {tmp_path / 'backup'} (2)"]


def test_of_ungraded_copies_of_an_evaluation_the_newer_result_counts(tmp_path: Path) -> None:
    """A task was run again in the one that has the later name."""
    study = study_in(tmp_path / "z-out")
    shutil.copytree(study.root, tmp_path / "a-backup")
    file = study.root / "base" / "1" / "a" / "a.traj.json"
    file.write_text(trajectory("a", ended="LimitsExceeded"))
    os.utime(file, (file.stat().st_mtime + 60,) * 2)
    assert {row.arm: row.ended for row in rows([], tmp_path)} == {"base": "LimitsExceeded", "both": "Submitted"}


def test_copies_of_files_are_no_further_trials(tmp_path: Path) -> None:
    """Of plain trajectories with their journals, whatever their names; what can't be read is named each time."""
    mine = tmp_path / "mine"
    leave(mine, "a", trajectory("a"))
    journal = journal_of(mine, Policy())
    leave(mine, "b", governed("b", journal.name, Policy()))
    (mine / "broken.json").write_text("{")
    shutil.copytree(mine, tmp_path / "copies")
    skipped: Counter[str] = Counter()
    unreadable: list[str] = []
    found = [row for _, row in collect([str(mine), str(tmp_path / "copies")], PRICES, unreadable, skipped=skipped)]
    assert arms(found) == [("base", 1, "a"), ("both", 1, "b")]
    assert left_out(skipped) == [f"left out: {SAME_CONTENT} (2)"]
    assert len(unreadable) == 2


@pytest.mark.parametrize("file", ["{}/{}.traj.json", "{}/run.traj.json", "{}.traj.json", "django__django-1.{}.json"])
def test_equal_files_of_several_runs_are_no_copies(tmp_path: Path, file: str) -> None:
    """Runs that failed before their first model call have the same bytes, and their paths say which is which."""
    runs = ("run1", "run2") if file.startswith("django") else ("django__django-1", "django__django-2")
    for folder in ("mine", "copies"):
        for name in runs:
            path = tmp_path / folder / file.format(name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(trajectory(""))
    skipped: Counter[str] = Counter()
    found = [row for _, row in collect([str(tmp_path)], PRICES, [], skipped=skipped)]
    assert [file.format(name, name) in row.run for name, row in zip(runs, found, strict=True)] == [True, True]
    assert skipped[SAME_CONTENT] == 2


@pytest.mark.parametrize("first", [[], [Policy(inform=False)]], ids=["no journal", "another journal"])
def test_equal_files_with_different_journals_are_no_copies(tmp_path: Path, first: list[Policy]) -> None:
    """The journal tells the arm; a file with an equal journal is a copy, and so is one that lacks its journal."""

    def leave_in(folder: Path, *policies: Policy) -> None:
        (folder / RECORDED).mkdir(parents=True)
        (folder / RECORDED / "run.json").write_text(trajectory("a"))
        for policy in policies:
            journal_of(folder, policy)

    leave_in(tmp_path / "1", *first)
    leave_in(tmp_path / "2", Policy())
    shutil.copytree(tmp_path / "2", tmp_path / "3")
    leave_in(tmp_path / "4")
    skipped: Counter[str] = Counter()
    found = [row for _, row in collect([str(tmp_path)], PRICES, [], skipped=skipped)]
    assert [row.arm for row in found] == [*(["govern"] if first else ["base"]), "both"]
    assert skipped[SAME_CONTENT] == 2


def test_a_part_of_a_copy_has_no_other_copy(tmp_path: Path) -> None:
    """Only what is given is compared: an arm of the one, and another of the other."""
    study = study_in(tmp_path / "out")
    shutil.copytree(study.root, tmp_path / "backup")
    assert arms(rows([], tmp_path / "out" / "base", tmp_path / "backup" / "both")) == [
        ("base", 1, "a"),
        ("both", 1, "a"),
    ]


def test_a_broken_plan_is_named_and_the_runs_know_their_arm(tmp_path: Path) -> None:
    """Ledger's runs are not taken for the base, and their journals not for further runs."""
    study = study_in(tmp_path / "out")
    (study.root / "plan.json").write_text('{"plan": ')
    unreadable: list[str] = []
    found = rows(unreadable, study.root)
    assert arms(found) == [("base", 1, "a"), ("both", 1, "a")]
    assert found[1].proposed > 1, "its journal was read"
    assert [sentence.partition(":")[0] for sentence in unreadable] == [str(study.root / "plan.json")]


@pytest.mark.parametrize(
    "change", [{"info": None}, {"info": {"ledger": 5}}, {"trajectory_format": "mini-swe-agent-1.1"}]
)
def test_a_broken_trajectory_stops_nothing(tmp_path: Path, change: dict[str, object]) -> None:
    """That of a finished task in an arm with Ledger: its journal is missing, and the others are reported."""
    study = study_in(tmp_path / "out")
    file = study.root / "both" / "1" / "a" / "a.traj.json"
    (file.parent / ".result.json").write_text(
        json.dumps({"instance_id": "a", "model_name_or_path": "m", "model_patch": "", "ended": "Submitted"})
    )
    file.write_text(json.dumps({"messages": [], **change}))
    unreadable: list[str] = []
    found = rows(unreadable, study.root)
    assert ("base", 1, "a") in arms(found)
    assert [row.run for row in found if row.lacks_journal] == [str(file)]


def test_broken_grades_are_unknown_and_a_lost_dataset_is_told(tmp_path: Path) -> None:
    """Both are named, and every run is reported."""
    study = study_in(tmp_path / "out")
    (study.root / "base" / "1" / GRADES).write_text("{")
    os.remove(study.dataset / "test.jsonl")
    unreadable: list[str] = []
    assert [row.resolved for row in rows(unreadable, study.root)] == [None, None]
    assert [sentence.partition(":")[0] for sentence in unreadable] == [str(study.root / "base" / "1" / GRADES)]
    (said,) = unfinished(study.root)
    assert said.startswith(f"{study.dataset / 'test.jsonl'}: expected the tasks of an evaluation")


def test_without_its_journal_what_ledger_did_is_unknown(tmp_path: Path) -> None:
    """In an evaluation and elsewhere: no zeros, and the arm is known."""
    study = study_in(tmp_path / "out")
    leave(tmp_path / "mine", "b", governed("b", "lost.jsonl", Policy(govern=False)))
    for journal in (study.root / "both" / "1" / "journals").iterdir():
        journal.unlink()
    unreadable: list[str] = []
    _, both, mine = rows(unreadable, study.root, tmp_path / "mine")
    known = [(row.arm, row.proposed, row.counts) for row in (both, mine)]
    assert known == [("both", 1, None), ("inform", 1, None)]
    assert ([row.lacks_journal for row in (both, mine)], unreadable) == ([True, True], []), "they were read"


def test_what_cannot_be_read_costs_nothing_else(tmp_path: Path) -> None:
    """A journal and a record that are links into themselves: the run counts without the one, the other is named."""
    study = study_in(tmp_path / "out")
    journal = study.root / "both" / "1" / "journals" / "one.ledger.jsonl"
    journal.unlink()
    journal.symlink_to(journal.name)
    record = leave(study.trial(ArmName.BASE, 1).folder, "b", trajectory("b"))
    record.unlink()
    record.symlink_to(record.name)
    unreadable: list[str] = []
    found = rows(unreadable, study.root)
    assert arms(found) == [("base", 1, "a"), ("both", 1, "a")]
    assert found[1].lacks_journal
    assert unreadable == [f"{path}: Too many levels of symbolic links" for path in (record, journal)]


def test_a_broken_journal_costs_no_run(tmp_path: Path) -> None:
    """It counts as lost, in an evaluation and elsewhere, and is named."""
    study = study_in(tmp_path / "out")
    journal = study.root / "both" / "1" / "journals" / "one.ledger.jsonl"
    journal.write_text('{"journal": 99}\n')
    for place in (study.root, study.root / "both"):
        unreadable: list[str] = []
        found = rows(unreadable, place)
        assert [row.lacks_journal for row in found][-1]
        assert [sentence.partition(": ")[0] for sentence in unreadable] == [str(journal)]


@pytest.mark.parametrize("name", ["base", "base/1", "base/1/a", "base/1/a/a.traj.json", "both/1/journals", "../e/x"])
def test_without_rights_the_rest_is_reported(tmp_path: Path, name: str) -> None:
    """A folder or a file that this user may not read is named, and every run that can be read has its row."""
    study = study_in(tmp_path / "out")
    leave(tmp_path / "e", "x", trajectory("x"))
    closed = Path(os.path.normpath(study.root / name))
    mode = closed.stat().st_mode
    closed.chmod(0)
    unreadable: list[str] = []
    try:
        with bound_by_modes():
            found = rows(unreadable, tmp_path)
            said = len(unfinished(tmp_path)), len(conditions(tmp_path))
    finally:
        closed.chmod(mode)
    assert ("both", 1, "a") in arms(found)
    assert any(str(closed) in sentence and "Permission denied" in sentence for sentence in unreadable)
    assert said == (int("base" in name), 1)
