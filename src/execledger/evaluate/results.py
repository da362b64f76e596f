"""What one finished task left: the repair, and how the run ended; and the predictions of many, as graders take them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

_Kind = TypeVar("_Kind")

STORED = ".result.json"
"""The file in a task's folder that says that it is finished."""
PREDICTIONS = "preds.json"
"""The file that graders read."""


class Result(Struct, frozen=True, kw_only=True):
    """A finished task."""

    instance_id: str
    """The task."""
    model_name_or_path: str
    """The model, as predictions name it."""
    model_patch: str
    """The repair; empty if there is none."""
    ended: str
    """How the run ended, in the agent's own word."""
    cost: float | None = None
    """Dollars, where the agent or the price table tells."""

    @property
    def mark(self) -> str:
        """A short name for the repair: a grade belongs to it, and not to another one of the same task."""
        return hashlib.sha256(self.model_patch.encode()).hexdigest()[:16]


class _Stats(Struct, frozen=True):
    instance_cost: float | None = None


class _Named(Struct, frozen=True):
    model_name: str = ""


class _Config(Struct, frozen=True):
    model: _Named = _Named()


class _Info(Struct, frozen=True):
    exit_status: str | None = None
    submission: str | None = None
    model_stats: _Stats = _Stats()
    config: _Config = _Config()


class _Trajectory(Struct, frozen=True):
    """What mini-swe-agent's batch runner saves when a task has ended, and not before."""

    instance_id: str
    info: _Info


def finished(folder: Path) -> Result | None:
    """What a task's folder holds; None where the task is not finished, or what it left was torn."""
    return _decoded(folder / STORED, Result) or _of_trajectory(folder)


def _of_trajectory(folder: Path) -> Result | None:
    saved = _decoded(folder / f"{folder.name}.traj.json", _Trajectory)
    if saved is None or saved.instance_id != folder.name:
        return None
    return Result(
        instance_id=saved.instance_id,
        model_name_or_path=saved.info.config.model.model_name,
        model_patch=saved.info.submission or "",
        ended=saved.info.exit_status or "",
        cost=saved.info.model_stats.instance_cost,
    )


def _decoded(path: Path, kind: type[_Kind]) -> _Kind | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def store(folder: Path, result: Result) -> None:
    """Say in a task's folder that it is finished."""
    write_whole(folder / STORED, msgspec.json.encode(result))


def write_predictions(folder: Path, results: Iterable[Result]) -> None:
    """Write the predictions of these results, in the form that SWE-bench reads."""
    predictions = {
        one.instance_id: {
            "model_name_or_path": one.model_name_or_path,
            "instance_id": one.instance_id,
            "model_patch": one.model_patch,
        }
        for one in sorted(results, key=lambda result: result.instance_id)
    }
    write_whole(folder / PREDICTIONS, json.dumps(predictions, indent=2).encode())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader, at whatever moment, finds the old one or the new one."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(data)
    os.replace(beside, path)
