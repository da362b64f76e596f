"""Choosing the reader of a recorded run by what is in it, never by its name."""

from __future__ import annotations

from typing import NoReturn

from msgspec import Raw
from msgspec.json import Decoder

from execledger.errors import UnreadableRun
from execledger.trajectories.codex import Resolve, is_rollout, read_rollout
from execledger.trajectories.decoding import decode
from execledger.trajectories.journal import is_journal, read_as_run
from execledger.trajectories.mini_swe_agent import read_list, read_trajectory
from execledger.trajectories.recording import Run
from execledger.trajectories.spans import read_spans

_FIELDS = Decoder(dict[str, Raw])
_KEYS_SHOWN = 8
_EXPECTED = "a trajectory of mini-swe-agent, a rollout of Codex or spans of Vorflux"


def read_run(source_name: str, data: bytes, resolve: Resolve | None = None) -> Run:
    """Read one recorded run; raises ``UnreadableRun``, and nothing else, for whatever can't be read.

    ``resolve`` knows the calls that shims in a rollout stand for.
    """
    try:
        return _read(source_name, data, resolve)
    except RecursionError as error:
        raise UnreadableRun(source_name, "found values nested too deeply, expected a recorded run") from error


def _read(source_name: str, data: bytes, resolve: Resolve | None) -> Run:
    """Read a run of any known format."""
    if not data.strip():
        raise UnreadableRun(source_name, "found an empty file, expected a recorded run")
    if data.lstrip().startswith(b"["):
        return read_list(source_name, data)
    if is_journal(data):
        return read_as_run(source_name, data)
    if is_rollout(data):
        return read_rollout(source_name, data, resolve)
    fields = decode(source_name, data, _FIELDS, "")
    if "messages" in fields and ("trajectory_format" in fields or "info" in fields):
        return read_trajectory(source_name, fields)
    if "trajectory" in fields and ("trajectory_entries" in fields or "total_spans" in fields):
        return read_spans(source_name, fields)
    _unknown(source_name, fields)


def _unknown(name: str, fields: dict[str, Raw]) -> NoReturn:
    """Say what was found where no format fits."""
    keys = ", ".join(sorted(fields)[:_KEYS_SHOWN]) + (", ..." if len(fields) > _KEYS_SHOWN else "")
    found = f"an object with the keys {keys}" if keys else "an empty object"
    raise UnreadableRun(name, f"found {found}, expected {_EXPECTED}")
