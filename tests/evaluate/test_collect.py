"""Rows from evaluations, folders of them, and from elsewhere: each run once, in its arm, whatever is broken."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from execledger.agents.evaluation import SUBAGENTS
from execledger.core.policy import Policy
from execledger.evaluate.collect import collect, conditions, unfinished
from execledger.evaluate.grade import GRADES
from execledger.evaluate.plan import ArmName, Cache, Plan
from execledger.evaluate.records import RunRow
from execledger.evaluate.study import Study
from execledger.journal.events import policy_fields
from execledger.runs.prices import Prices
from tests.evaluate.test_metrics import journal_of
from tests.evaluate.trials import leave, trajectory

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
    apart = "each run was isolated from the others in the provider's prompt cache by"
    shared = "the arms share the provider's prompt cache and ran in"
    behind = "a run finds cached what an earlier one sent, so that tokens and cost depend on the order"
    assert conditions(tmp_path) == [
        f"{tmp_path}/keys: each run sent a cache key of its own; the arms ran in rotated order (seed 2): a provider"
        " that follows that key isolates the runs from each other, with one that ignores it tokens and cost depend on"
        " the order",
        f"{tmp_path}/old: {shared} the order of the plan: {behind}",
        f"{tmp_path}/salts: {apart} a salt at the start of its prompt; the arms ran in rotated order (seed 1)",
        f"{tmp_path}/shared: {shared} rotated order (seed 3): {behind}",
        f"{tmp_path}/within: the task's prompt began with a salt in each run; the arms ran in rotated order (seed 4):"
        " from there on no run finds cached what another one sent; the agent's instructions and tools, which come"
        " before, may have been cached by an earlier run",
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
    assert unfinished(tmp_path / "outs") == [f"{one.root}: not finished yet: both-1 1 of 1 instances"]


def test_a_broken_plan_is_named_and_the_runs_know_their_arm(tmp_path: Path) -> None:
    """Ledger's runs are not taken for the base, and their journals not for further runs."""
    study = study_in(tmp_path / "out")
    (study.root / "plan.json").write_text('{"plan": ')
    unreadable: list[str] = []
    found = rows(unreadable, study.root)
    assert arms(found) == [("base", 1, "a"), ("both", 1, "a")]
    assert found[1].proposed > 1, "its journal was read"
    assert [sentence.partition(":")[0] for sentence in unreadable] == [
        str(study.root / "plan.json"),
        str(study.dataset / "test.jsonl"),
    ]


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
