"""A small dataset in the shape of SWE-bench, for batch runners that take a local folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from execledger.demo.repository import TASK

SPLIT = "test"
"""The split that the rows belong to."""


class Instance(NamedTuple):
    """One row; the fields that a runner of agents reads, and the ones that name where a real one comes from."""

    instance_id: str
    """The row's name, which also names its image."""
    problem_statement: str
    """The task."""
    repo: str = "ledger/warehouse"
    """The repository."""
    base_commit: str = "0" * 40
    """The commit that the task begins at."""

    @property
    def image(self) -> str:
        """The image that mini-swe-agent's batch runner starts for it."""
        return f"docker.io/swebench/sweb.eval.x86_64.{self.instance_id.replace('__', '_1776_')}:latest"


def make_instances(count: int) -> tuple[Instance, ...]:
    """``count`` instances of the same task, with different numbers in the text."""
    return tuple(
        Instance(f"ledger__warehouse-{number}", f"{TASK}\n\nThis is task {number}.") for number in range(1, count + 1)
    )


def write_dataset(folder: Path, instances: Iterable[Instance]) -> Path:
    """Write a folder that ``--subset FOLDER --split test`` names, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [json.dumps(instance._asdict()) + "\n" for instance in instances]
    (folder / f"{SPLIT}.jsonl").write_text("".join(rows), encoding="utf-8")
    return folder
