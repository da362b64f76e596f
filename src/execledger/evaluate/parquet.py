"""Exports recorded runs as two Parquet files: one row per run, and one per tool call with the decision of a replay.

Rows are first written as JSON lines, which duckdb converts to Parquet with bounded memory.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, get_type_hints

import msgspec
from msgspec import Struct

from execledger.agents.formats import read_run
from execledger.core.policy import Policy
from execledger.errors import LedgerError, reason
from execledger.evaluate.collect import collect
from execledger.evaluate.metrics import Read
from execledger.evaluate.records import RunRow
from execledger.evaluate.redundancy import Redundancies
from execledger.extras import needing
from execledger.journal.clean import clean
from execledger.journal.events import Counts
from execledger.journal.folder import make_folder
from execledger.runs.caching import shown_bytes
from execledger.runs.prices import Prices, load_prices
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, new_ledger, replay
from execledger.runs.usage import Tokens, tokens_in

if TYPE_CHECKING:
    import duckdb

_MEMORY = "512MB"
_LONGEST_TEXT = 100_000
"""Maximum number of characters of a text: a command may contain a whole file, and a row has to fit into memory."""
_RENAMED = {"ran": "executed"}
"""Counts whose column has another name."""
_COLUMN_TYPES = {
    str: "VARCHAR",
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    bool | None: "BOOLEAN",
    int | None: "BIGINT",
    float | None: "DOUBLE",
    tuple[int, ...]: "BIGINT[]",
}


class CallRow(Struct, frozen=True, kw_only=True):
    """One tool call of a recorded run, with the decision of a replay."""

    run: str
    """The run."""
    index: int
    """The call, counted from 0."""
    turn: int
    """The model call that proposed it, from 0."""
    thread: str
    """The conversation that it belongs to."""
    command: str
    """What was asked for, without keys; at most its first 100,000 characters."""
    category: str
    """Its category."""
    effects: str
    """What it may change: none, listed or unknown."""
    succeeded: bool
    """It ended by itself and reported no failure."""
    exit_status: int | None
    """Its exit status; NULL where the tool has none."""
    output_tokens: int
    """Tokens of its output as the model was shown it, estimated."""
    decision: str
    """allow, reuse or nudge."""
    rule: str
    """The rule that decided."""
    compared: str
    """same, covered or different; empty if its output is not eligible."""
    shown: str
    """What the model would have been shown: full, reference, partial or remark."""
    omitted_lines: int
    """Lines of its output that partial references omit."""
    false_reuse: bool
    """A reuse that its recorded output contradicts."""
    reread: str
    """The kind of redundant snippet re-read that it is; empty if it is none."""
    redundancy: str
    """The class of redundancy that it is in; empty if none."""
    redundant_tokens: int
    """Tokens of its output that were redundant, estimated."""


class ExportSummary(Struct):
    """Summary of an export."""

    runs: int = 0
    """Number of runs written."""
    calls: int = 0
    """Number of calls written."""
    unreadable: list[str] = msgspec.field(default_factory=list)
    """Files that could not be read, with the reason."""
    partly: list[str] = msgspec.field(default_factory=list)
    """Files that were read as far as they go, with what is wrong with the rest."""
    without_journal: list[str] = msgspec.field(default_factory=list)
    """Runs with Ledger whose journal is missing."""
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    """What was passed by in folders and what was left out, with numbers, by reason."""


def export(
    paths: Iterable[str],
    folder: Path,
    prices: Prices | None = None,
    policy: Policy | None = None,
    read: Read = read_run,
) -> ExportSummary:
    """Write ``runs.parquet`` and ``calls.parquet`` for all runs under ``paths`` into ``folder``; nothing if none."""
    with needing("eval"):
        import duckdb
    exported = ExportSummary()
    found = collect(paths, prices or load_prices(), exported.unreadable, read, exported.skipped, exported.partly)
    first = next(found, None)
    if first is None:
        return exported
    try:
        make_folder(folder)
        # In the target folder, so that a result is moved into place by one rename. That folder may be among those that
        # are being read, so no temporary file is named like a recorded run.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as name:
            scratch = Path(name)
            with (scratch / "runs.rows").open("wb") as runs, (scratch / "calls.rows").open("wb") as calls:
                for run, row in chain((first,), found):
                    exported.runs += 1
                    exported.without_journal += [row.run] if row.lacks_journal else []
                    _write(runs, _flat(row))
                    exported.calls += _write_calls(calls, run, policy)
            with duckdb.connect() as database:
                for kind, columns in (("runs", _columns(RunRow)), ("calls", _columns(CallRow))):
                    _convert(database, scratch / kind, columns)
                    (scratch / f"{kind}.parquet").chmod(0o600)
                    os.replace(scratch / f"{kind}.parquet", folder / f"{kind}.parquet")
    except (OSError, duckdb.Error) as error:
        named = getattr(error, "filename", None)
        if isinstance(named, str) and not (Path(named).is_relative_to(folder) or folder.is_relative_to(named)):
            raise  # It is about what was read.
        raise LedgerError(f"{folder}: can't be written: {reason(error)}") from None
    return exported


def _write_calls(out: BinaryIO, run: Run, policy: Policy | None) -> int:
    """Write the calls of one run, and return their number."""
    ledger = new_ledger(run, policy)
    redundancies = Redundancies(run, ledger)
    count = 0
    for call in replay(run, ledger=ledger):
        _write(out, msgspec.to_builtins(_call_row(run, call, redundancies)))
        count += 1
    return count


def _call_row(run: Run, call: Replayed, redundancies: Redundancies) -> CallRow:
    line, recorded, redundant = call.line(run.name), call.recorded, redundancies.take(call)
    return CallRow(
        run=run.name,
        index=call.index,
        turn=recorded.turn,
        thread=recorded.action.thread,
        command=line.command,
        category=line.category,
        effects=line.effects,
        succeeded=recorded.observation.succeeded,
        exit_status=recorded.observation.exit_status,
        output_tokens=tokens_in(shown_bytes(recorded)),
        decision=line.decision,
        rule=line.rule,
        compared=line.compared or "",
        shown=line.shown,
        omitted_lines=sum(last - first + 1 for first, last, _ in line.elided),
        false_reuse=call.false,
        reread=call.reread or "",
        redundancy=redundant.kind.value if redundant else "",
        redundant_tokens=tokens_in(redundant.size) if redundant else 0,
    )


def _columns(row: type[Struct]) -> dict[str, str]:
    """Return the columns of a kind of row with their SQL types; each kind of tokens and each count is a column."""
    columns: dict[str, str] = {}
    for name, kind in get_type_hints(row).items():
        if kind == Tokens | None:
            columns |= dict.fromkeys(_token_columns().values(), "BIGINT")
        elif kind == Counts | None:
            columns |= dict.fromkeys(_count_columns().values(), "BIGINT")
        else:
            columns[name] = _COLUMN_TYPES[kind]
    return columns


def _token_columns() -> dict[str, str]:
    """Return the kinds of tokens with their columns."""
    return {name: f"{name}_tokens" for name in Tokens.__struct_fields__}


def _count_columns() -> dict[str, str]:
    """Return the counts with their columns, except for that of proposed commands, which is known without a journal."""
    return {name: _RENAMED.get(name, name) for name in Counts.__struct_fields__ if name != "proposed"}


def _flat(row: RunRow) -> dict[str, Any]:
    """Return a run's row with a column for each kind of tokens and each count."""
    fields: dict[str, Any] = msgspec.to_builtins(row)
    for field, columns in (("tokens", _token_columns()), ("counts", _count_columns())):
        numbers = fields.pop(field) or {}
        fields |= {column: numbers.get(name) for name, column in columns.items()}
    return fields


def _write(out: BinaryIO, fields: dict[str, Any]) -> None:
    """Write one row, redacted and without invalid characters."""
    cleaned = {
        name: clean(value)[:_LONGEST_TEXT] if isinstance(value, str) else value for name, value in fields.items()
    }
    out.write(msgspec.json.encode(cleaned) + b"\n")


def _convert(database: duckdb.DuckDBPyConnection, rows: Path, columns: dict[str, str]) -> None:
    """Convert JSON lines to Parquet."""
    types = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
    source = f"read_json($source, format='newline_delimited', columns={{{types}}})"
    database.execute(f"SET memory_limit = '{_MEMORY}'; SET threads = 1")
    database.execute(
        f"COPY (SELECT * FROM {source}) TO $target (FORMAT parquet, COMPRESSION zstd)",
        {"source": f"{rows}.rows", "target": f"{rows}.parquet"},
    )
