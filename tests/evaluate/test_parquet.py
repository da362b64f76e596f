"""Runs and calls as Parquet, and the worked queries of the page about them."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.formats import find_recorded, read_run
from execledger.core.policy import Policy, Preset
from execledger.errors import LedgerError
from execledger.evaluate.metrics import measured
from execledger.evaluate.parquet import CallRow, ExportSummary, export
from execledger.evaluate.records import RunRow
from execledger.journal.events import Counts
from execledger.runs.prices import Price, Prices
from execledger.runs.replay import replay
from tests.journal.runs import events_of, retold, start, written
from tests.runs.samples import answer, encoded, trajectory, turn
from tests.support.simulation.sessions import simulate

duckdb = pytest.importorskip("duckdb")

PAGE = Path(__file__).parents[2] / "docs" / "parquet.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
PRICES = Prices("2026-01-01", {"scripted": Price(uncached=1000.0, cached=100.0, output=4000.0)})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's run, twice, and the journal of a simulated session."""
    folder = tmp_path_factory.mktemp("runs")
    data = resources.files("execledger.demo").joinpath("demo.traj.json").read_bytes()
    (folder / "one.traj.json").write_bytes(data)
    (folder / "two.traj.json").write_bytes(data + b"\n")  # The same bytes would be a copy.
    (folder / "repo").mkdir()
    policy = Policy(preset=Preset.PAPER)
    events = events_of(retold(simulate(folder / "repo", 4), policy))
    written(folder / "journals", [start(policy, model="scripted"), *events[1:]])
    return folder


@pytest.fixture(scope="module")
def exported(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that these were exported to."""
    folder = tmp_path_factory.mktemp("parquet")
    calls = sum(len(read_run(source.name, source.read()).steps) for source in find_recorded([str(recorded)]))
    done = export([str(recorded)], folder, PRICES)
    assert done == ExportSummary(3, calls, skipped=done.skipped)
    return folder


def answers(query: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a query of the page gives in ``folder``."""
    monkeypatch.chdir(folder)
    with duckdb.connect() as database:
        found = database.execute(query)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_the_page_has_three_queries() -> None:
    """Each of them is run below."""
    assert len(QUERIES) == 3


def test_costs_by_arm(recorded: Path, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first query adds up what the rows say."""
    rows = list(measured([str(recorded)], PRICES, []))
    found = answers(QUERIES[0], exported, monkeypatch)
    assert [(row["model"], row["arm"], row["runs"]) for row in found] == [
        ("scripted", "base", 2),
        ("scripted", "both", 1),
    ]
    for answer_ in found:
        own = [row for row in rows if row.arm == answer_["arm"]]
        inputs = sum(row.tokens.input or 0 for row in own if row.tokens is not None)
        cached = sum(row.tokens.cached or 0 for row in own if row.tokens is not None)
        assert (answer_["model_calls"], answer_["input_tokens"]) == (sum(row.model_calls for row in own), inputs)
        assert answer_["cache_hit_rate"] == round(cached / inputs, 3) > 0
        assert answer_["dollars"] == round(sum(row.cost or 0 for row in own), 2) > 0
        assert answer_["runs_with_estimated_tokens"] == len(own)


def test_redundancy_by_class(recorded: Path, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second query finds the classes, and every reference in one of them."""
    found = answers(QUERIES[1], exported, monkeypatch)
    runs = [read_run(source.name, source.read()) for source in find_recorded([str(recorded)])]
    references = sum(
        call.shown.kind == "reference" and call.shown.compared is not None for run in runs for call in replay(run)
    )
    assert {"exact repeat", "covered read", "overlapping read", "repeated test"} <= {row["redundancy"] for row in found}
    assert sum(row["spared"] for row in found) == references > 0
    assert 0 < sum(row["percent_of_output"] for row in found) < 100


def test_rereads_by_task(recorded: Path, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third query counts as the replay does."""
    found = answers(QUERIES[2], exported, monkeypatch)
    again: Counter[str] = Counter()
    for source in find_recorded([str(recorded)]):
        run = read_run(source.name, source.read())
        again.update(call.recorded.action.command for call in replay(run) if call.reread)
    counted: Counter[str] = Counter()
    for row in found:
        counted[row["command"]] += row["rereads"]
    assert counted == again
    assert all(row["first_turn"] <= row["last_turn"] for row in found)


def test_every_field_of_a_row_is_a_column(exported: Path) -> None:
    """Each kind of tokens and each count is a column."""
    with duckdb.connect() as database:
        columns = {
            kind: [row[0] for row in database.execute(f"DESCRIBE FROM '{exported}/{kind}.parquet'").fetchall()]
            for kind in ("runs", "calls")
        }
    tokens = ["uncached_tokens", "cached_tokens", "written_tokens", "output_tokens"]
    counts = ["executed" if name == "ran" else name for name in Counts.__struct_fields__ if name != "proposed"]
    several = {"tokens": tokens, "counts": counts}
    fields = [name for field in RunRow.__struct_fields__ for name in several.get(field, [field])]
    assert columns == {"runs": fields, "calls": list(CallRow.__struct_fields__)}


def test_rows_come_back_as_they_were_measured(recorded: Path, exported: Path) -> None:
    """Whole rows, with what is not known as NULL."""
    first = next(measured([str(recorded / "one.traj.json")], PRICES, []))
    with duckdb.connect() as database:
        found = database.execute(f"FROM '{exported}/runs.parquet' WHERE run = ?", [first.run])
        names = [column[0] for column in found.description]
        row = dict(zip(names, found.fetchone(), strict=True))
    assert (row["resolved"], row["reported_cost"], row["input_by_call"]) == (None, None, list(first.input_by_call))
    assert row["cost"] == pytest.approx(first.cost)


def keyed(command: str) -> bytes:
    """A run of one command."""
    return encoded(trajectory("mini-swe-agent-1.1", [turn(command), answer(command, "a\n")]))


def test_broken_files_are_named_and_the_rest_is_written(tmp_path: Path) -> None:
    """Nothing but the two files is left, and no key is in them."""
    key = "sk-" + "a1B2" * 10
    (tmp_path / "good.json").write_bytes(keyed(f"echo {key}"))
    (tmp_path / "cut.json").write_bytes(keyed("ls")[:-9])
    told = export([str(tmp_path)], tmp_path / "out", PRICES)
    assert (told.runs, told.calls) == (1, 1)
    assert [line.partition(": ")[0] for line in told.unreadable] == [str(tmp_path / "cut.json")]
    with duckdb.connect() as database:
        (command,) = database.execute(f"SELECT command FROM '{tmp_path}/out/calls.parquet'").fetchone()
    assert command == "echo [redacted]"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["calls.parquet", "runs.parquet"]


@pytest.mark.skipif(sys.platform == "darwin", reason="there, every file name is text")
def test_a_file_whose_name_is_no_text_joins_all_the_same(tmp_path: Path) -> None:
    """Both files name it in one way."""
    (tmp_path / os.fsdecode(b"bad\xff.json")).write_bytes(keyed("ls"))
    export([str(tmp_path)], tmp_path / "out", PRICES)
    with duckdb.connect() as database:
        joined = f"SELECT count(*) FROM '{tmp_path}/out/calls.parquet' JOIN '{tmp_path}/out/runs.parquet' USING (run)"
        assert database.execute(joined).fetchone() == (1,)


def test_without_any_run_nothing_is_written(tmp_path: Path) -> None:
    """Not even the folder."""
    (tmp_path / "none").mkdir()
    assert export([str(tmp_path / "none")], tmp_path / "out", PRICES) == ExportSummary()
    assert not (tmp_path / "out").exists()


def test_a_folder_that_can_not_be_written_is_an_error(recorded: Path, tmp_path: Path) -> None:
    """It is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="file: can't be written"):
        export([str(recorded)], tmp_path / "file", PRICES)
