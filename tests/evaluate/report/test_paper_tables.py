"""The tables as the paper prints them, from its own counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.errors import LedgerError
from execledger.evaluate.records import RunRow
from execledger.evaluate.report.footnotes import PUBLISHED_ELSEWHERE
from execledger.evaluate.report.rendering import to_latex, to_markdown
from execledger.evaluate.report.table import Table
from execledger.evaluate.report.tables import full_tables, paper_tables
from execledger.evaluate.report.write import write_report
from tests.evaluate.report.paper import ABLATION_PRINTED, CODEX, GPT, MINIMAX, ablation_rows, compared_rows
from tests.evaluate.rows import experiment, row


@pytest.fixture(scope="module")
def rows() -> list[RunRow]:
    compared = [row for it in (GPT, MINIMAX, CODEX) for row in compared_rows(it)]
    return [*compared, *ablation_rows(GPT), *ablation_rows(MINIMAX)]


@pytest.fixture(scope="module")
def tables(rows: list[RunRow]) -> dict[str, Table]:
    return {table.name: table for table in paper_tables(rows)}


def texts(table: Table) -> list[tuple[str, ...]]:
    return [tuple(f"*{cell.text}*" if cell.best else cell.text for cell in row) for row in table.rows]


def test_the_tables_stand_in_the_papers_order(tables: dict[str, Table]) -> None:
    """Behind them, what they show and can't, and last what others published."""
    assert list(tables) == ["main", "efficiency", "codex", "ablation", "evidence", "net", "published"]


def test_the_main_table(tables: dict[str, Table]) -> None:
    """A column for the backbone; a method is named once."""
    assert tables["main"].columns == ("Method", "Backbone", "Pass@1", "Δ", "RRU")
    assert [section.title for section in tables["main"].sections] == [""]
    assert "SWE-bench" not in tables["main"].title, "our runs may be of any tasks"
    assert tables["main"].notes == ()
    assert tables["published"].notes == (PUBLISHED_ELSEWHERE,)
    assert texts(tables["main"]) == [
        ("Ledger", "GPT-5 mini", "56.2 → 64.2", "+8.0", "18.3%"),
        ("", "MiniMax M2.5", "75.8 → 81.0", "+5.2", "21.5%"),
    ]


def test_what_an_evaluation_shows_and_its_net_are_in_the_papers_layout_too() -> None:
    """The same tables as in the full layout; published figures come last."""
    net = {"view_tokens": 5_000, "view_cost": 0.05, "saved_new_tokens": 20_000, "saved_cost": 0.03}
    rows = [replace(one, **net, charged_cost=one.cost) if one.arm == "both" else one for one in experiment(2)]
    own, full = ({table.name: table for table in made(rows)} for made in (paper_tables, full_tables))
    assert list(own) == ["main", "efficiency", "ablation", "evidence", "net", "published"]
    assert [own[name] for name in ("evidence", "net", "published")] == [
        full[name] for name in ("evidence", "net", "published")
    ]


def test_the_efficiency_table(tables: dict[str, Table]) -> None:
    """Both backbones side by side, each over three columns."""
    table = tables["efficiency"]
    assert table.groups == (("", 1), ("GPT-5 mini", 3), ("MiniMax M2.5", 3))
    assert table.columns == ("Totals over 500 instances", *("base", "+ Ledger", "Δ") * 2)
    assert texts(table) == [
        ("Total cost (USD)", *GPT.cost, *MINIMAX.cost),
        ("Cost per resolved instance", *GPT.cost_per_resolved, *MINIMAX.cost_per_resolved),
        ("Input tokens", *GPT.input_tokens[:2], "-", *MINIMAX.input_tokens[:2], "-"),
        ("Model calls", *GPT.model_calls, *MINIMAX.model_calls),
        ("Redundant snippet re-reads", *GPT.rereads, *MINIMAX.rereads),
    ]


def test_costs_that_can_not_be_compared_rank_no_arm() -> None:
    """One arm reports no cached tokens, so that all its input is charged as uncached: neither cost is the best."""
    told, untold = row("a", cost=0.2), row("a", "both", cost=0.1, cached_told=False)
    tables = {table.name: table for table in paper_tables([told, untold, row("a", "inform", cost=0.3)])}
    costs = [line[-1] for line in tables["ablation"].rows]
    totals = [line for line in tables["codex"].rows if "ost" in line[0].text] if "codex" in tables else []
    assert [cell.text for cell in costs] == ["$0.20", "$0.30", "$0.10"]
    assert not any(cell.best for line in (costs, *totals) for cell in line)


def test_more_backbones_than_fit_have_tables_of_their_own() -> None:
    """Two side by side, as printed; models of one name are distinguished."""
    models = ("openai/gpt-5", "azure/gpt-5", "gpt-5-mini")
    tables = paper_tables([replace(row("a"), model=model, agent="mini 2") for model in models])
    totals = [table for table in tables if table.name.startswith("efficiency")]
    assert [(table.name, [name for name, _ in table.groups[1:]]) for table in totals] == [
        ("efficiency", ["mini 2, azure/gpt-5", "gpt-5-mini"]),
        ("efficiency-2", ["mini 2, openai/gpt-5"]),
    ]


def test_the_table_of_the_second_scaffold(tables: dict[str, Table]) -> None:
    """The better of two figures is in bold."""
    assert tables["codex"].columns == ("Codex: totals over 500", "base", "+ Ledger", "Δ")
    assert texts(tables["codex"]) == [
        ("Resolved", "374 (74.8%)", "*391 (78.2%)*", "+3.4 pp"),
        ("Unresolved (RRU)", "126", "*109*", "-13.5%"),
        ("Total cost (USD)", "$30.18", "*$22.82*", "-24.4%"),
        ("Cost per resolved instance", "$0.081", "*$0.058*", "-27.7%"),
        ("Input tokens", "636.5M", "425.6M", "-"),
        ("Model calls", "25,271", "*20,736*", "-17.9%"),
        ("Redundant snippet re-reads", "5,097", "*4,784*", "-6.1%"),
    ]


def test_the_ablation(tables: dict[str, Table]) -> None:
    """The best of each column is in bold, and whatever reads the same; sums of classes of input rank nothing."""
    table = tables["ablation"]
    assert table.columns == ("Method", "Resolved", "Pass@1", "Calls", "In. tok.", "Cost")
    assert [section.title for section in table.sections] == list(ABLATION_PRINTED)
    assert {
        section.title: [(row[1].text, row[2].text, row[4].text, row[5].text) for row in section.rows]
        for section in table.sections
    } == ABLATION_PRINTED
    assert [row[0] for row in texts(table)[:4]] == [
        "mini-swe-agent",
        "+ Ledger (inform only)",
        "+ Ledger (govern only)",
        "+ Ledger (inform+govern)",
    ]
    bold = [[cell.text for cell in column if cell.best] for column in zip(*table.sections[0].rows, strict=True)]
    assert [bold[column] for column in (1, 2, 4, 5)] == [["321/500"] * 2, ["64.2"] * 2, [], ["$15.67"]]
    base, _, _, full = table.sections[1].rows
    assert (base[3].text, full[3].text) == ("30.2K", "20.6K")
    assert [cell.best for cell in full] == [False, True, True, False, False, True]


def test_markdown_and_latex(tables: dict[str, Table]) -> None:
    """Bold in both; groups over their columns in LaTeX, in front of each heading in Markdown."""
    markdown, latex = to_markdown(tables["efficiency"]), to_latex(tables["efficiency"])
    assert "| Totals over 500 instances | GPT-5 mini: base | GPT-5 mini: + Ledger | GPT-5 mini: Δ |" in markdown
    assert r"\multicolumn{1}{c}{} & \multicolumn{3}{c}{GPT-5 mini} & \multicolumn{3}{c}{MiniMax M2.5} \\" in latex
    assert r"\cmidrule(lr){2-4} \cmidrule(lr){5-7}" in latex
    assert "| Unresolved (RRU) | 126 | **109** | -13.5% |" in to_markdown(tables["codex"])
    assert r"Unresolved (RRU) & 126 & \textbf{109} & $-$13.5\% \\" in to_latex(tables["codex"])


def test_the_published_preset_goes_before_another(rows: list[RunRow]) -> None:
    """Beside the arms of ``paper`` others are left out; without it they are shown, and the preset is named."""
    other = [replace(one, preset="verified", resolved=True) for one in compared_rows(GPT) if one.arm == "both"]
    assert paper_tables([*rows, *other])[0].rows[0][2].text == "56.2 → 64.2"
    alone = paper_tables([*(one for one in compared_rows(GPT) if one.arm == "base"), *other])
    assert alone[0].rows[0][2].text == "56.2 → 100.0"
    assert "Ledger ran under the preset verified" in alone[0].notes


def test_settings_without_an_arm_of_the_paper_are_left_out(rows: list[RunRow], tmp_path: Path) -> None:
    """Their runs, here in shadow mode, are in the full layout; a report of nothing else is refused."""
    shadow = replace(row("a"), model="another/model", arm="shadow")
    assert paper_tables([*rows, shadow]) == paper_tables(rows)
    with pytest.raises(LedgerError, match="no arm that the layout `paper` has, only of: shadow"):
        write_report([shadow], ["md"], tmp_path, layout="paper")


def test_what_is_not_known_is_not_in_bold() -> None:
    """These runs are not graded, and one arm was not run."""
    tables = {table.name: table for table in paper_tables([row("a", resolved=None), row("b", resolved=None)])}
    assert list(tables) == ["main", "efficiency"]
    assert texts(tables["main"])[0][2:] == ("unknown → unknown", "-", "-")
    assert texts(tables["efficiency"])[0][1:] == ("$1.00", "-", "-")


def test_both_layouts_stand_in_one_folder(tmp_path: Path) -> None:
    """Files of the paper's layout have a name of their own."""
    shown = [
        len(write_report(experiment(), ["md", "tex", "json"], tmp_path, layout=layout)) for layout in ("full", "paper")
    ]
    assert shown == [7, 6]
    names = [f"{name}.{kind}" for name in ("paper", "report") for kind in ("json", "md", "tex")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
