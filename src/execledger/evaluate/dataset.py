"""Loads the tasks of an evaluation from their source once, and stores them, so that every arm has the same."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from execledger.agents.evaluation import Instance
from execledger.errors import LedgerError, reason
from execledger.evaluate.plan import Plan, refused_value
from execledger.journal.folder import make_folder

HUB = {
    "full": "princeton-nlp/SWE-bench",
    "lite": "princeton-nlp/SWE-bench_Lite",
    "multilingual": "SWE-bench/SWE-bench_Multilingual",
    "multimodal": "princeton-nlp/SWE-bench_Multimodal",
    "verified": "princeton-nlp/SWE-bench_Verified",
}
"""Names on the Hugging Face hub of SWE-bench's datasets, by their short names."""

RESERVED = frozenset(("journals", "logs", "grading", "preds.json", "resolved.json"))
"""What the folder of an arm and trial holds beside a folder for each instance."""
_LONGEST = 120
"""Bytes of an instance's name, of which names of files and folders are made."""
_NAMES = f"a folder of the output is named after each: no slash, no dot in front, at most {_LONGEST} bytes"


def need_subset(plan: Plan) -> None:
    """Raise ``LedgerError`` if a subset can't be a short name, a name on the hub or a folder; works offline."""
    if plan.subset in HUB or Path(plan.subset).exists() or re.fullmatch(r"[\w.-]+/[\w.-]+", plan.subset):
        return
    hint = f"known are {', '.join(sorted(HUB))}; a name on the hub (OWNER/NAME); and a folder that holds SPLIT.jsonl"
    raise LedgerError(f"`{plan.subset}`: found no such subset", hint=hint)


class Tasks(NamedTuple):
    """The tasks of an evaluation, as they are stored or will be."""

    file: Path
    """File that they are stored in."""
    instances: tuple[Instance, ...]
    """The tasks."""
    unsaved: bytes = b""
    """Content that the file is to have, with every field of the rows; empty if it has it."""

    def freeze(self) -> None:
        """Store the tasks, so that later calls of ``load_tasks`` return the same."""
        if self.unsaved:
            make_folder(self.file.parent)
            beside = self.file.with_suffix(".new")
            beside.write_bytes(self.unsaved)
            os.replace(beside, self.file)


def load_tasks(plan: Plan, folder: Path, *, anew: bool = False) -> Tasks:
    """Return the tasks of a plan: as stored in ``folder``, or with ``anew`` from their source; writes nothing."""
    file = folder / f"{plan.split}.jsonl"
    if file.exists() and not anew:
        return Tasks(file, read_instances(file))
    need_subset(plan)
    rows = [_with_image(row) for row in selected(plan, list(_rows(plan)))]
    lines = "".join(json.dumps(row, default=str) + "\n" for row in rows).encode()
    return Tasks(file, _instances(lines, file), lines)


def read_instances(file: Path) -> tuple[Instance, ...]:
    """Read the tasks in a file of JSON lines."""
    try:
        return _instances(file.read_bytes(), file)
    except OSError as error:
        raise LedgerError(f"{file}: expected the tasks of an evaluation, one to a line: {reason(error)}") from error


def _instances(lines: bytes, file: Path) -> tuple[Instance, ...]:
    try:
        return tuple(msgspec.json.decode(line, type=Instance) for line in lines.splitlines())
    except msgspec.MsgspecError as error:
        raise LedgerError(f"{file}: expected the tasks of an evaluation, one to a line: {reason(error)}") from error


def selected(plan: Plan, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that a plan selects, in the order of the dataset."""
    where = f"{plan.subset}, split {plan.split}"
    for number, row in enumerate(rows, 1):
        if not isinstance(name := row.get("instance_id"), str):
            found = "no `instance_id`" if name is None else f"`instance_id` {name!r}"
            raise LedgerError(f"{where}, row {number:,}: found {found}, expected a text")
        if not _names_folder(name):
            raise LedgerError(
                f"{where}: found an instance `{name}`, expected a name that a folder can have", hint=_NAMES
            )
    names = {row["instance_id"] for row in rows}
    _refuse_alike(rows, where)
    for name in plan.instances:
        if name not in names:
            raise LedgerError(f"{where}: found no instance `{name}` among {len(rows):,}")
    chosen = [row for row in rows if not plan.instances or row["instance_id"] in plan.instances]
    if plan.slice:
        chosen = chosen[slice(*(int(part) if part else None for part in plan.slice.split(":")))]
    if not chosen:
        raise LedgerError(f"{where}: found no instances that the plan asks for")
    return chosen


def _refuse_alike(rows: list[dict[str, Any]], where: str) -> None:
    """Raise ``LedgerError`` if names are equal, or differ only in case: on macOS their folders would be the same."""
    alike: dict[str, list[str]] = {}
    for row in rows:
        alike.setdefault(row["instance_id"].casefold(), []).append(row["instance_id"])
    twice = max(alike.values(), key=len, default=[])
    if len(twice) > 1:
        listed = " and ".join(f"`{name}`" for name in dict.fromkeys(twice))
        raise LedgerError(f"{where}: found several instances {listed}, expected every name once, in any case")


def _names_folder(name: str) -> bool:
    """Whether a folder beside those of an arm and trial can have this name."""
    fits = 0 < len(name.encode("utf-8", "replace")) <= _LONGEST and name.isprintable()
    return fits and name.casefold() not in RESERVED and not name.startswith(".") and "/" not in name


def _with_image(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its image under the name that runners of agents read; SWE-bench 5 calls it ``image``."""
    named = row.get("image_name") or row.get("docker_image") or row.get("image")
    return row if not named else {**row, "image_name": named}


def _rows(plan: Plan) -> Iterable[dict[str, Any]]:
    """Load the rows of the plan's dataset."""
    source = Path(plan.subset)
    if source.is_dir() and (source / f"{plan.split}.jsonl").is_file():
        return _lines(source / f"{plan.split}.jsonl")
    if source.suffix == ".jsonl" and source.is_file():
        return _lines(source)
    try:
        from datasets import load_dataset
    except ImportError:
        hint = "pip install datasets, or name a folder that holds SPLIT.jsonl"
        raise LedgerError(f"{plan.subset}: reading it takes the package datasets", hint=hint) from None
    try:
        return list(load_dataset(HUB.get(plan.subset, plan.subset), split=plan.split))
    # The library has no common base class of its errors.
    except Exception as error:
        hint = f"expected a dataset of the Hugging Face hub, or a folder with {plan.split}.jsonl"
        raise LedgerError(f"{plan.subset}, split {plan.split}: can't be loaded: {error}", hint=hint) from error


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        row: dict[str, Any] = {}
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
            msgspec.convert(row, Instance)
        except msgspec.ValidationError as error:
            raise LedgerError(f"{file}:{number}: expected a task: {refused_value(error, row)}") from None
        except msgspec.MsgspecError as error:
            raise LedgerError(f"{file}:{number}: expected a task: {error}") from None
        yield row
