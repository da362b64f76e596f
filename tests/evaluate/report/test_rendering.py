"""One table in four forms."""

from __future__ import annotations

import json
import re
from collections import Counter
from io import StringIO

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace
from rich.console import Console

from execledger.evaluate.records import RunRow
from execledger.evaluate.report.rendering import (
    latex_document,
    latex_escape,
    to_json,
    to_latex,
    to_markdown,
    to_terminal,
)
from execledger.evaluate.report.table import ABSENT, UNKNOWN, Cell, Section, Table, text_cell
from execledger.evaluate.report.tables import full_tables, paper_tables
from tests.evaluate.report.paper import GPT, compared_rows
from tests.evaluate.rows import experiment, row

TABLE = Table(
    name="small",
    title="Totals, base → Ledger",
    columns=("Totals", "base", "Δ"),
    sections=(
        Section("gpt_5 & co", ((text_cell("Cost"), Cell("~$0.50", 0.5, estimated=True), Cell("-28.9%", -0.289)),)),
        Section("", ((text_cell("  of which a|b"), UNKNOWN, ABSENT),)),
    ),
    notes=("p: <0.001", "100% of x_1"),
)


def test_the_terminal_shows_every_cell() -> None:
    """Title, headings, sections, rows and notes, and nothing that rich would take for its own markup."""
    out = StringIO()
    Console(file=out, width=60).print(to_terminal(TABLE))
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "Totals, base → Ledger",
        "",
        " Totals             base       Δ",
        " ────────────────────────────────",
        " gpt_5 & co",
        " Cost             ~$0.50  -28.9%",
        "",
        "   of which a|b  unknown       -",
        "",
        "p: <0.001",
        "100% of x_1",
    ]


def test_no_figure_is_lost_in_a_narrow_terminal() -> None:
    """The paper's tables fit into 80 columns, by wrapping between words."""
    for table in full_tables(compared_rows(GPT)):
        out = StringIO()
        Console(file=out, width=80).print(to_terminal(table))
        shown = set(re.split(r"[\s│]+", out.getvalue()))
        figures = {word for line in table.rows for cell in line[1:] for word in cell.text.split()}
        assert figures <= shown


def wide_rows(*models: str) -> list[RunRow]:
    """Runs of every arm, with large and estimated figures, long names, many trials and a net of Ledger."""
    names = {name: f"astropy__astropy-1234{name}" for name in "abcd"}
    net = {"saved_new_tokens": 1_234, "saved_cached_tokens": 12_345, "saved_cost": 0.00099, "charged_cost": 1.0}
    spent = {"view_tokens": 1_234, "displaced_tokens": 12_345, "view_cost": 0.0123}
    return [
        replace(
            one,
            model=model,
            cost=1e4 * (one.cost or 0),
            instance=names[one.instance],
            estimated=True,
            **net,
            **spent,
        )
        for model in models
        for one in experiment(5)
    ]


MODELS = ("openai/gpt-5-mini-2025-08-07", "anthropic/claude-sonnet-4-5")


@pytest.mark.parametrize("models", [MODELS[:1], MODELS])
@pytest.mark.parametrize("width", [80, 50])
def test_no_figure_or_heading_is_cut_or_broken(width: int, models: tuple[str, ...]) -> None:
    """Where columns do not fit beside each other, tables are turned, or lines longer than the terminal is wide."""
    rows = wide_rows(*models)
    for table in (*full_tables(rows), *paper_tables(rows)):
        out = StringIO()
        Console(file=out, width=80).print(to_terminal(table, width), crop=False)
        shown = set(out.getvalue().split())
        figures = [cell.text for line in table.rows for cell in line[table.left : -1 if table.wide else None]]
        words = {word for text in (*figures, *table.headings) for word in text.split()}
        assert words <= shown, table.name
        assert width < 80 or max(map(len, out.getvalue().splitlines())) <= 80
        texts = [*table.notes, *(cell.text for line in table.rows for cell in line[table.left :])]
        signs, printed = Counter("".join("".join(texts).split())), Counter(out.getvalue())
        assert {sign: number - printed[sign] for sign, number in signs.items() if number > printed[sign]} == {}


def test_a_table_that_is_too_wide_is_turned() -> None:
    """The net of Ledger has eleven columns: at 80 characters its headings are the first of fewer columns."""
    (table,) = (one for one in full_tables(wide_rows(MODELS[0])) if one.name == "net")
    out = StringIO()
    Console(file=out, width=80).print(to_terminal(replace(table, notes=()), 80), crop=False)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == snapshot(
        [
            "Net of Ledger, the agent's behaviour held fixed",
            "",
            " Arm                                 inform only  govern only  inform + govern",
            " ──────────────────────────────────────────────────────────────────────────────",
            " mini-swe-agent 2.4.6,",
            " openai/gpt-5-mini-2025-08-07",
            " Saved by references: uncached            ~4,936       ~4,936           ~4,936",
            " Saved by references: cached              ~49.4K       ~49.4K           ~49.4K",
            " Saved by references: USD               ~$0.0040     ~$0.0040         ~$0.0040",
            " State views: uncached                    ~54.3K       ~54.3K           ~54.3K",
            " State views: of these displaced          ~49.4K       ~49.4K           ~49.4K",
            " State views: USD                        ~$0.049      ~$0.049          ~$0.049",
            " Net: uncached                           ~-49.4K      ~-49.4K          ~-49.4K",
            " Net: cached                              ~98.8K       ~98.8K           ~98.8K",
            " Net: USD                               ~-$0.045     ~-$0.045         ~-$0.045",
            " Net: of cost                             ~-1.1%       ~-1.1%           ~-1.1%",
            "",
        ]
    )


def test_markdown() -> None:
    """A heading, a table whose figures are aligned to the right, and the notes as a list."""
    assert to_markdown(TABLE) == (
        "## Totals, base → Ledger\n"
        "\n"
        "| Totals | base | Δ |\n"
        "| --- | ---: | ---: |\n"
        "| *gpt_5 & co* |  |  |\n"
        "| Cost | ~$0.50 | -28.9% |\n"
        "| &nbsp;&nbsp;of which a\\|b | unknown | - |\n"
        "\n"
        "- p: <0.001\n"
        "- 100% of x_1\n"
    )


def test_latex() -> None:
    """A float with booktabs rules, everything special escaped, the notes in the caption."""
    assert to_latex(TABLE).splitlines() == [
        r"\begin{table}[htbp]",
        r"\centering",
        r"\footnotesize\setlength{\tabcolsep}{4pt}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"Totals & base & $\Delta$ \\",
        r"\midrule",
        r"\multicolumn{3}{l}{\emph{gpt\_5 \& co}} \\",
        r"Cost & $\sim$\$0.50 & $-$28.9\% \\",
        r"\midrule",
        r"\quad of which a|b & unknown & - \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{Totals, base $\rightarrow$ Ledger. p: $<$0.001. 100\% of x\_1.}",
        r"\label{tab:small}",
        r"\end{table}",
    ]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("django__django-123", r"django\_\_\allowbreak{}django-123"),
        ("-5.0 to -1.0", "$-$5.0 to $-$1.0"),
        ("~-5%", r"$\sim$$-$5\%"),
        ("-$0.02", r"$-$\$0.02"),
        ("a\\b{c}^d#$", r"a\textbackslash{}b\{c\}\textasciicircum{}d\#\$"),
        ("naïve 模型", "naïve ??"),
        ("two\nlines", "two lines"),
    ],
)
def test_what_is_special_to_latex_is_escaped(text: str, escaped: str) -> None:
    """Text is set as it stands, whatever signs it has."""
    assert latex_escape(text) == escaped


def whole(document: str) -> list[str]:
    """What would keep LaTeX from compiling a document: unbalanced braces, environments or columns, bare signs."""
    faults = []
    plain = re.sub(r"\\[{}$&%#_\\]", "", document)
    if plain.count("{") != plain.count("}"):
        faults.append("braces")
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", document):
        if kind == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            faults.append(f"end of {name}")
    for body in re.findall(r"\\begin\{(?:tabular|longtable)\}(.*?)\\end\{(?:tabular|longtable)\}", plain, re.DOTALL):
        columns = len(re.sub(r"p\{.*?linewidth\}", "p", body.splitlines()[0]).strip("{}"))
        lines = [line for line in body.splitlines()[1:] if "&" in line]
        spans = [sum(int(one) - 1 for one in re.findall(r"\\multicolumn\{(\d+)\}", line)) for line in lines]
        faults += [line for line, more in zip(lines, spans, strict=True) if line.count("&") + more != columns - 1]
    faults += [line for line in plain.splitlines() if line.count("$") % 2 or re.search(r"(?<!\\)[#%]", line)]
    return [*faults, *opened]


def test_a_latex_document_is_whole() -> None:
    """Braces, environments, columns and mathematics are balanced in a document with every table."""
    rows = [
        *experiment(trials=2),
        row("x_y%{", "base", agent="codex_1", resolved=True),
        row("x_y%{", "both", agent="codex_1"),
    ]
    document = latex_document(map(to_latex, full_tables(rows)), ["100% & more"])
    assert whole(document) == []
    assert document.startswith("\\documentclass{article}\n")
    assert document.endswith("\\end{document}\n")
    assert document.count(r"\begin{tabular}") == 7
    assert document.count(r"\begin{longtable}") == 2


def test_a_broken_latex_document_is_seen() -> None:
    """The check above can fail: a cell too many, an open environment, a bare percent sign."""
    good = to_latex(TABLE)
    assert whole(good) == []
    for bad in (good.replace("Cost &", "Cost & &"), good.replace(r"\end{table}", ""), good.replace(r"\%", "%")):
        assert whole(bad) != []


def test_json() -> None:
    """Every cell has its text and the number behind it; what is not known is null."""
    (table,) = json.loads(to_json([TABLE]))["tables"]
    assert table["columns"] == ["Totals", "base", "Δ"]
    assert [section["rows"] for section in table["sections"]] == [
        [
            [
                {"text": "Cost", "value": "Cost", "estimated": False, "best": False},
                {"text": "~$0.50", "value": 0.5, "estimated": True, "best": False},
                {"text": "-28.9%", "value": -0.289, "estimated": False, "best": False},
            ]
        ],
        [
            [
                {"text": "  of which a|b", "value": "  of which a|b", "estimated": False, "best": False},
                {"text": "unknown", "value": None, "estimated": False, "best": False},
                {"text": "-", "value": None, "estimated": False, "best": False},
            ]
        ],
    ]
