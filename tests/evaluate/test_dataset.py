"""The tasks of an evaluation: which are taken, and that they stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from execledger.agents.evaluation import Instance
from execledger.errors import LedgerError
from execledger.evaluate.dataset import load_tasks, selected
from execledger.evaluate.plan import Plan
from tests.support.agents.swebench import make_instances, write_dataset


def names(instances: tuple[Instance, ...]) -> list[str]:
    return [instance.instance_id[-1] for instance in instances]


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ({}, ["1", "2", "3", "4"]),
        ({"slice": "1:3"}, ["2", "3"]),
        ({"instances": ["ledger__warehouse-4", "ledger__warehouse-1"]}, ["1", "4"]),
        ({"instances": ["ledger__warehouse-4", "ledger__warehouse-1"], "slice": ":1"}, ["1"]),
    ],
)
def test_a_plan_chooses_its_tasks(tmp_path: Path, asked: dict[str, Any], chosen: list[str]) -> None:
    """All, some by name, and of these a slice, in the order of the dataset."""
    source = write_dataset(tmp_path / "source", make_instances(4))
    assert names(load_tasks(Plan.from_values({"subset": str(source), **asked}), tmp_path / "kept").instances) == chosen


def test_the_tasks_stay_as_they_were(tmp_path: Path) -> None:
    """What became of the source later makes no difference, and every field of a row is kept."""
    source = write_dataset(tmp_path / "source", make_instances(2))
    plan = Plan(subset=str(source))
    before = load_tasks(plan, tmp_path / "kept")
    assert not (tmp_path / "kept").exists(), "loading stores nothing"
    before.freeze()
    rows = (source / "test.jsonl").read_text()
    (source / "test.jsonl").unlink()
    assert load_tasks(plan, tmp_path / "kept") == before._replace(unsaved=b"")
    assert (tmp_path / "kept" / "test.jsonl").read_text() == rows


@pytest.mark.parametrize(
    ("rows", "asked", "said"),
    [
        ("{}\n", {}, "test.jsonl:1: expected a task: object missing required field `instance_id`"),
        ('{"instance_id": 3}\n', {}, "test.jsonl:1: expected a task: `instance_id` is 3, expected a text"),
        ("x\n", {}, "test.jsonl:1: expected a task: JSON is malformed"),
        *(
            (
                f'{{"instance_id": "{name}", "problem_statement": ""}}\n',
                {},
                f"found an instance `{name}`, expected a name",
            )
            for name in ("", "..", "../a", "a/b", ".a", "journals", "Journals", "a" * 121)
        ),
        ('{"instance_id": "a", "problem_statement": ""}\n' * 2, {}, "found several instances `a`, expected every name"),
        (
            '{"instance_id": "A", "problem_statement": ""}\n{"instance_id": "a", "problem_statement": ""}\n',
            {},
            "found several instances `A` and `a`, expected every name once, in any case",
        ),
        ('{"instance_id": "a", "problem_statement": "b"}\n', {"instances": ["c"]}, "found no instance `c` among 1"),
        ('{"instance_id": "a", "problem_statement": "b"}\n', {"slice": "5:"}, "found no instances"),
    ],
)
def test_tasks_that_are_not_there_are_told(tmp_path: Path, rows: str, asked: dict[str, Any], said: str) -> None:
    """And nothing is kept."""
    (tmp_path / "test.jsonl").write_text(rows)
    with pytest.raises(LedgerError, match=said):
        load_tasks(Plan.from_values({"subset": str(tmp_path), **asked}), tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("row", "found"), [({}, "no `instance_id`"), ({"instance_id": 3}, "`instance_id` 3"), ({"id": "a"}, "no `inst")]
)
def test_rows_of_a_hub_without_a_name_are_refused(row: dict[str, Any], found: str) -> None:
    """With the number of the row; no file of ours has checked them before."""
    rows = [{"instance_id": "a", "problem_statement": ""}, row, row]
    with pytest.raises(LedgerError, match=f"^verified, split test, row 2: found {found}.*, expected a text$"):
        selected(Plan(), rows)


def test_an_image_is_the_rows_own_or_the_benchmarks() -> None:
    """The benchmark's images are called after the instance."""
    plain = Instance(instance_id="astropy__astropy-12907", problem_statement="")
    assert plain.image == "docker.io/swebench/sweb.eval.x86_64.astropy_1776_astropy-12907:latest"
    assert Instance(instance_id="a", problem_statement="", docker_image="mine:1").image == "mine:1"
