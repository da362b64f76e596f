"""The report: what is written where, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.errors import LedgerError
from execledger.evaluate.report.figures import FIGURES
from execledger.evaluate.report.write import CAPTIONS, FORMATS, write_report
from tests.evaluate.rows import experiment, row


def test_a_report_is_written_in_every_format(tmp_path: Path) -> None:
    """Tables in three files, figures in two forms, and every table for the terminal."""
    shown = write_report(experiment(), FORMATS, tmp_path / "out", notes=["Prices of 2026-11-15"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        ["report.md", "report.tex", "report.json", *(f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg"))]
    )
    assert [table.title for table in shown] == [
        "Pass@1, base → with Ledger",
        "What this evaluation shows, and what it can't",
        "Efficiency: totals over all instances",
        "Net of Ledger, the agent's behaviour held fixed",
        "Ablation: totals over the instances that every arm has, input tokens by class",
        "Paired outcomes",
        "Published by others, not comparable with the figures above",
    ]
    markdown = (tmp_path / "out" / "report.md").read_text()
    assert "Prices of 2026-11-15.\n" in markdown
    assert "![Cost and tokens of each arm](cost_and_tokens.svg)" in markdown
    latex = (tmp_path / "out" / "report.tex").read_text()
    assert latex.count(r"\includegraphics") == 4
    assert ".svg" not in latex
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    assert written["notes"] == ["Prices of 2026-11-15"]
    names = ["main", "evidence", "efficiency", "net", "ablation", "outcomes", "published"]
    assert [table["name"] for table in written["tables"]] == names


def test_only_what_is_asked_for_is_written(tmp_path: Path) -> None:
    """One format, one file; and no link to a figure that is not there."""
    write_report(experiment(), ["md"], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
    assert "![" not in (tmp_path / "report.md").read_text()


def test_a_report_is_the_same_every_time(tmp_path: Path) -> None:
    """The same rows in another order give the same texts."""
    for name, rows in (("one", experiment(2)), ("two", experiment(2)[::-1])):
        write_report(rows, ["md", "tex", "json"], tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_text() == (tmp_path / "two" / path.name).read_text()


def test_every_figure_has_a_caption() -> None:
    """A figure that is added gets a caption as well."""
    assert list(CAPTIONS) == list(FIGURES)


def test_what_cannot_be_reported_is_said(tmp_path: Path) -> None:
    """No runs, or a format that there is not."""
    with pytest.raises(LedgerError, match="no runs to report on"):
        write_report([], FORMATS, tmp_path)
    with pytest.raises(LedgerError, match="`pdf` is no format of a report\nhint: formats are: md, tex, json, png, svg"):
        write_report([row("a")], ["pdf"], tmp_path)
