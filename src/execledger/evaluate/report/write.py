"""Writes a report (tables and figures) into a folder in several formats, and prepares its tables for the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from execledger.errors import LedgerError
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import settings
from execledger.evaluate.report.rendering import WIDTH, latex_document, to_json, to_latex, to_markdown, to_terminal
from execledger.evaluate.report.table import Table
from execledger.evaluate.report.tables import full_tables, paper_tables
from execledger.extras import needing
from execledger.journal.folder import make_folder

if TYPE_CHECKING:
    from rich.table import Table as RichTable

FIGURE_FORMATS = ("png", "svg")
FORMATS = ("md", "tex", "json", *FIGURE_FORMATS)
LAYOUTS = {"full": ("report", full_tables), "paper": ("paper", paper_tables)}
"""For each layout, the stem of the files' names and the function that makes the tables."""
CAPTIONS = {
    "cost_and_tokens": "Cost and tokens of each arm",
    "paired_outcomes": "Instances that were resolved only with Ledger, and only without",
    "input_over_calls": "Input tokens so far, cached and new together, by call; a run that has ended keeps its total",
    "rereads_per_instance": "Share of runs with at least so many redundant snippet re-reads",
}


def write_report(
    rows: Iterable[RunRow],
    formats: Collection[str],
    folder: Path,
    *,
    notes: Iterable[str] = (),
    width: int = WIDTH,
    layout: str = "full",
) -> tuple[RichTable, ...]:
    """Write a report about the rows into the folder in each format, and return its tables for the terminal.

    ``notes`` are sentences about the report as a whole, such as the date of the prices; ``width`` is the number of
    columns of the terminal. Files are named after the ``layout``, so one folder can hold both.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise LedgerError(f"`{unknown[0]}` is no format of a report", hint=f"formats are: {', '.join(FORMATS)}")
    found = tuple(rows)
    if not found:
        raise LedgerError("found no runs to report on")
    name, lay_out = LAYOUTS[layout]
    made, remarks = lay_out(found), tuple(notes)
    if not made:
        arms = ", ".join(sorted({row.arm for row in found}))
        raise LedgerError(
            f"found runs of no arm that the layout `{layout}` has, only of: {arms}", hint="use --layout full"
        )
    make_folder(folder)
    figures = _figures(found, formats, folder)
    texts = {"md": _markdown, "tex": _latex}
    for kind, text in ((kind, texts[kind]) for kind in texts if kind in formats):
        (folder / f"{name}.{kind}").write_text(text(made, figures, remarks), encoding="utf-8")
    if "json" in formats:
        (folder / f"{name}.json").write_text(to_json(made, remarks), encoding="utf-8")
    return tuple(to_terminal(table, width) for table in made)


def _figures(rows: tuple[RunRow, ...], formats: Collection[str], folder: Path) -> tuple[Path, ...]:
    kinds = [kind for kind in FIGURE_FORMATS if kind in formats]
    if not kinds:
        return ()
    with needing("eval"):
        from execledger.evaluate.report.figures import write_figures  # matplotlib is the slowest import.

    return write_figures(settings(rows), folder, kinds)


def _markdown(made: tuple[Table, ...], figures: tuple[Path, ...], notes: tuple[str, ...]) -> str:
    head = ["# Report", "", *(f"{note}.\n" for note in notes)]
    # PNG and SVG show the same figure; of both, the SVG is linked since it scales.
    chosen = {path.stem: path.name for path in figures}
    shown = [f"## {CAPTIONS[name]}\n\n![{CAPTIONS[name]}]({file})\n" for name, file in chosen.items()]
    return "\n".join([*head, *(to_markdown(table) for table in made), *shown])


def _latex(made: tuple[Table, ...], figures: tuple[Path, ...], notes: tuple[str, ...]) -> str:
    pictures = [_latex_figure(path) for path in figures if path.suffix == ".png"]  # LaTeX does not read SVG.
    return latex_document([*(to_latex(table) for table in made), *pictures], notes)


def _latex_figure(path: Path) -> str:
    size = r"[width=\linewidth,height=0.9\textheight,keepaspectratio]"
    lines = [r"\begin{figure}[htbp]", r"\centering", rf"\includegraphics{size}{{{path.name}}}"]
    return "\n".join([*lines, rf"\caption{{{CAPTIONS[path.stem]}.}}", r"\end{figure}", ""])
